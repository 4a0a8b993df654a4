"""The unit of work: some cases of one agent that follow each other in one history, and what comes home of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path

from searchmark.agents.agent import AgentSpec
from searchmark.corpora.locations import Commit, Location
from searchmark.options.run_options import RunOptions
from searchmark.records import Environment, Printed, RunLabel, Suite
from searchmark.running.plan import Step
from searchmark.shipping.installed import Installed
from searchmark.shipping.supplies import NO_SUPPLIES, Parcel, Supplies

ROUNDS = 4  # blocks that each worker gets at least, if there are cases enough: so the last ones end at nearly the same time


@dataclass(frozen=True)
class Assignment:
    """What all blocks of one agent have in common.

    ``run`` tells this run from others, and from itself once it is resumed: an agent stays alive between the blocks of one.
    ``specs`` are all agents that take part. ``code`` is the digest that its code must have, ``installed`` what the machine must
    have of ours, and ``corpora`` the digests of what is searched. ``hidden`` are files that a sandboxed agent must not see.
    ``folder`` is the working directory, where it exists.
    """

    run: str
    label: RunLabel
    spec: AgentSpec
    specs: tuple[AgentSpec, ...]
    options: RunOptions
    code: str | None
    installed: Installed
    hidden: tuple[Path, ...] = ()
    folder: Path | None = None
    supplies: Supplies = NO_SUPPLIES
    corpora: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseBlock:
    """Some cases to be asked one after the other; ``place`` is that of the first one in the order of all.

    ``suite`` holds these cases alone, ``parcels`` what the machine has said it lacks. ``forced``: the agent was
    tried often enough, so that one that cannot be started here fails in these cases. ``in_vain``: how often it could not be so far.
    """

    assignment: Assignment
    place: int
    suite: Suite = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    forced: bool = False
    in_vain: int = 0
    parcels: tuple[tuple[Parcel, bytes], ...] = field(default=(), repr=False)

    def rest(self, asked: int) -> CaseBlock:
        """What is left of it when so many cases have been asked."""
        return replace(self, place=self.place + asked, steps=self.steps[asked:], in_vain=0, parcels=())


@dataclass(frozen=True)
class BlockResult:
    """What came home: answers and events as lines of JSON, in their order, for the first ``asked`` cases of the block.

    ``environment`` is the machine, ``worker`` who it was there. ``unable``: the agent could not be started, and nothing was asked.
    ``missing``: this machine lacks that, and nothing was asked. ``printed`` is what it has printed since the block before.
    ``changed`` says what others have changed meanwhile.
    """

    environment: Environment
    worker: str
    asked: int = 0
    lines: bytes = field(default=b"", repr=False)
    unable: str | None = None
    missing: tuple[Parcel, ...] = ()
    sandbox: str | None = None
    printed: tuple[Printed, ...] = ()
    changed: tuple[str, ...] = ()


def block_size(cases: int, slots: int | None, largest: int) -> int:
    """How many cases a block has: few enough that every worker gets some, as far as they are known, and not more than asked for."""
    return max(1, min(largest, cases // (slots * ROUNDS))) if slots else largest


def stretches(steps: Iterable[tuple[int, Step]], size: int) -> Iterator[list[tuple[int, Step]]]:
    """Stretches of at most this size, drawn when they are wanted; none of them leaves its history, where an index can follow."""
    for _, alike in groupby(steps, lambda placed: _history(placed[1].location)):
        while stretch := list(islice(alike, size)):
            yield stretch


def _history(location: Location) -> object:
    return location.history if isinstance(location, Commit) else type(location)


def suite_of(suite: Suite, steps: Sequence[Step]) -> Suite:
    """The cases of some steps, as far as a worker needs to know them: what they bring along is in their locations."""
    rows = [suite.table.index[step.case] for step in steps]
    cases = replace(suite.table.of_rows(rows), documents=None)
    return Suite(suite.name, cases, suite.judgments.of_cases(rows), suite.defaults)


def steps_here(supplies: Supplies, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps with their locations on this machine; locations that are one stay one."""
    known: dict[Location, Location] = {}
    placed = []
    for step in steps:
        if step.location not in known:
            known[step.location] = supplies.here(step.location)
        placed.append(replace(step, location=known[step.location]))
    return tuple(placed)
