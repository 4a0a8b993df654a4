"""What becomes of a block whose agent could not be started where it was: another worker may be able to.

An agent that locks its index, say, starts in one worker and in no other. Whoever cannot start it must not speak for those who can,
however long these take to be ready.
"""

from __future__ import annotations

from dataclasses import replace

from searchmark.running.scaling.block import BlockResult, CaseBlock

MOST_STARTS = 3  # for one block while nobody has been ready, wherever that was
MOST_STARTS_ELSEWHERE_READY = 20  # the same where somebody is, at the least: everybody gets his turn twice
LONGEST_PAUSE = 5.0


def pause_before_start(failed: int) -> float:
    """Seconds that a worker waits before it starts an agent again, so that others who are ready get the block that comes next."""
    return min(LONGEST_PAUSE, 0.1 * 2 ** min(failed - 1, 10)) if failed else 0.0


class Starts:
    """Holds blocks whose agent could not be started until a worker that can start it is free, or until it is known that none can.

    While nobody has been ready, the first block that has no answer decides: it is the agent that cannot be started, once all that
    were on their way when the first block was held have been tried too.
    """

    def __init__(self) -> None:
        self._out: set[int] = set()  # blocks on their way, by their places
        self._untried: set[int] = set()  # those of them that nobody has tried yet
        self._awaited: set[int] = set()  # those of these that may still show that the agent can be started
        self._held: dict[int, tuple[CaseBlock, BlockResult]] = {}

    def hand_out(self, block: CaseBlock) -> CaseBlock:
        """The block, which is on its way from here on."""
        self._out.add(block.place)
        self._untried.add(block.place)
        return block

    def done(self, block: CaseBlock) -> None:
        """It is known what became of its cases, or of some of them."""
        self._out.discard(block.place)
        self._tried(block)

    def _tried(self, block: CaseBlock) -> None:
        self._untried.discard(block.place)
        self._awaited.discard(block.place)

    def unable(self, block: CaseBlock, result: BlockResult, *, ready: bool, able: int, slots: int) -> list[CaseBlock]:
        """The block, to be handed out again; none if it is held.

        ``ready``: the agent was, somewhere, if only before this run was resumed. ``able``: how many of these workers can start it.
        """
        self._tried(block)
        again = replace(block, in_vain=block.in_vain + 1, parcels=())
        if again.in_vain >= (max(MOST_STARTS_ELSEWHERE_READY, 2 * slots) if able else MOST_STARTS):
            if ready:
                return [replace(again, forced=True)]
        elif not able:
            return [again]
        if not self._held:
            self._awaited = set(self._untried)
        self._out.discard(block.place)
        self._held[block.place] = again, result
        return []

    def released(self, able: int) -> list[CaseBlock]:
        """Blocks that were held, no more than there are workers who are able and have nothing else to do."""
        free = max(1, able) - len(self._out)
        places = sorted(self._held)[: max(0, free)]
        self._out.update(places)
        return [self._held.pop(place)[0] for place in places]

    @property
    def hopeless(self) -> tuple[CaseBlock, BlockResult] | None:
        """The first block and what was said when it was tried last, if nobody is left who could show that the agent starts."""
        first = min((*self._held, *self._out), default=None)
        return None if first is None or self._awaited else self._held.get(first)
