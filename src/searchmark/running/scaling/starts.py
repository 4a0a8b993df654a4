"""What becomes of a block whose agent could not be started where it was: another worker may be able to.

An agent that locks its index, say, starts in one worker and in no other. Whoever cannot start it must not speak for those who can,
however long these take to be ready.
"""

from __future__ import annotations

from dataclasses import replace

from searchmark.running.scaling.block import BlockResult, CaseBlock

MOST_STARTS = 3  # for one block while nobody has been ready, wherever that was
MOST_STARTS_ELSEWHERE_READY = 20  # the same once somebody has been, who will take the block when he is free
LONGEST_PAUSE = 5.0


def pause_before_start(failed: int) -> float:
    """Seconds that a worker waits before it starts an agent again, so that others who are ready get the block that comes next."""
    return min(LONGEST_PAUSE, 0.1 * 2 ** min(failed - 1, 10)) if failed else 0.0


class Starts:
    """Hands out blocks again whose agent could not be started, and holds them until it is known whether it can be at all.

    While nobody has been ready, blocks that were tried often enough are held. The first one decides: it is the agent that cannot be
    started once all that were on their way have been tried too.
    """

    def __init__(self) -> None:
        self._first: int | None = None
        self._untried: set[int] = set()  # blocks that nobody has tried yet, by their places
        self._awaited: set[int] = set()  # those of them that the first one waits for
        self._held: dict[int, tuple[CaseBlock, BlockResult]] = {}

    def hand_out(self, block: CaseBlock) -> CaseBlock:
        """The block, which is on its way from here on."""
        self._first = block.place if self._first is None else self._first
        self._untried.add(block.place)
        return block

    def tried(self, block: CaseBlock) -> None:
        """Whatever became of it, nobody needs to wait for it any more."""
        self._untried.discard(block.place)
        self._awaited.discard(block.place)

    def unable(self, block: CaseBlock, result: BlockResult, *, ready_elsewhere: bool) -> list[CaseBlock]:
        """The block, to be handed out again; none if it is held."""
        again = replace(block, in_vain=block.in_vain + 1)
        if ready_elsewhere:
            return [replace(again, forced=again.in_vain >= MOST_STARTS_ELSEWHERE_READY)]
        if again.in_vain < MOST_STARTS:
            return [again]
        self._held[block.place] = again, result
        if block.place == self._first:
            self._awaited = set(self._untried)
        return []

    def released(self) -> list[CaseBlock]:
        """All blocks that were held: somebody was ready."""
        held, self._held = self._held, {}
        return [block for block, _ in held.values()]

    @property
    def hopeless(self) -> tuple[CaseBlock, BlockResult] | None:
        """The first block and what was said when it was tried last, if nobody is left who could show that the agent starts."""
        return None if self._first is None or self._awaited else self._held.get(self._first)
