"""Blocks of cases for executors: how cases are split, what a machine must have, and when an agent is started again elsewhere."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path

from searchmark.agents.registry import register_secrets_of
from searchmark.config.agents import AgentSpec
from searchmark.config.run import RunSettings
from searchmark.errors import UsageError
from searchmark.formats.corpora.locations import Commit, Folder, Location
from searchmark.io.secrets import secrets_in
from searchmark.records.provenance import Environment, RunLabel, WorkerOutput
from searchmark.records.sentences import list_first
from searchmark.records.suite import Suite
from searchmark.running.distribution import (
    MACHINES_SHOWN,
    NO_SUPPLIES,
    InstalledVersion,
    Look,
    Supplies,
    commits_in,
    lacking_error,
    refuse_missing_repository,
)
from searchmark.running.plan import Step
from searchmark.running.sandbox.launch import Launch
from searchmark.running.sandbox.view import needs_of
from searchmark.running.session import Session

# The unit of work: some cases of one agent that follow each other in one history, and what comes home of them.

BLOCKS_PER_SLOT = 4  # for each worker at least, if there are cases enough: so the last blocks end at nearly the same time


@dataclass(frozen=True)
class Assignment:
    """What all blocks of one agent have in common."""

    run: str  # new for each start, also of a resumed run: an agent stays alive only between the blocks of one
    label: RunLabel
    spec: AgentSpec
    specs: tuple[AgentSpec, ...]  # of all agents that take part
    options: RunSettings
    code: str | None  # the digest that the agent's code must have
    installed: InstalledVersion  # the Searchmark that the machine must have
    hidden: tuple[Path, ...] = ()  # files that a sandboxed agent must not see
    folder: Path | None = None  # the working directory, where it exists
    supplies: Supplies = NO_SUPPLIES
    corpora: Mapping[str, str] = field(default_factory=dict)  # digests of what is searched, by name


@dataclass(frozen=True)
class CaseBlock:
    """Some cases to be asked one after the other."""

    assignment: Assignment
    place: int  # of its first case, in the order of all
    suite: Suite = field(repr=False)  # with these cases alone
    steps: tuple[Step, ...] = field(repr=False)
    forced: bool = False  # the agent was tried often enough: if it cannot be started here, these cases fail
    in_vain: int = 0  # how often it could not be started so far

    def rest(self, count: int) -> CaseBlock:
        """What is left of it when so many cases have been asked."""
        return replace(self, place=self.place + count, steps=self.steps[count:], in_vain=0)


@dataclass(frozen=True)
class BlockResult:
    """What came home of a block."""

    environment: Environment  # the machine
    worker: str  # the thread of a process there
    asked: int = 0  # the first so many cases
    lines: bytes = field(default=b"", repr=False)  # their answers and events as JSON, in their order
    unable: str | None = None  # why the agent could not be started, so that nothing was asked
    sandbox: str | None = None
    printed: tuple[WorkerOutput, ...] = ()  # by the agent since the block before
    changed: tuple[str, ...] = ()  # what others have changed meanwhile


def block_size(cases: int, slots: int | None, largest: int) -> int:
    """How many cases a block has: few enough that every worker gets some, as far as they are known, and not more than asked for."""
    return max(1, min(largest, cases // (slots * BLOCKS_PER_SLOT))) if slots else largest


def split_by_history(steps: Iterable[tuple[int, Step]], size: int) -> Iterator[list[tuple[int, Step]]]:
    """Stretches of at most this size, drawn when they are wanted; none of them leaves its history, where an index can follow."""
    for _, alike in groupby(steps, lambda pair: _history_of(pair[1].location)):
        while stretch := list(islice(alike, size)):
            yield stretch


def _history_of(location: Location) -> object:
    return location.history if isinstance(location, Commit) else type(location)


def suite_of_steps(suite: Suite, steps: Sequence[Step]) -> Suite:
    """The cases of some steps, as far as a worker needs to know them: their own documents are in their locations."""
    rows = [suite.table.index[step.case] for step in steps]
    cases = replace(suite.table.of_rows(rows), documents=None)
    return Suite(suite.name, cases, suite.judgments.of_cases(rows), suite.defaults)


def localize_steps(supplies: Supplies, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps with their locations on this machine; locations that are one stay one."""
    locations: dict[Location, Location] = {}
    local_steps = []
    for step in steps:
        if step.location not in locations:
            locations[step.location] = supplies.here(step.location)
        local_steps.append(replace(step, location=locations[step.location]))
    return tuple(local_steps)


# What every machine must have before the run: those that lack something say what.


def looks_at_machine(supplies: Supplies, assignments: Sequence[Assignment], locations: Sequence[Location]) -> Iterator[Look]:
    """Whether it has what this one has: what is searched, commits of cases, and each agent with its code, files and variables."""
    for path in dict.fromkeys(each.path for each in locations if isinstance(each, Folder)):
        yield partial(supplies.path, path, shipped=False)
    for path, commits in commits_in(locations).items():
        yield partial(refuse_missing_repository, supplies, path, commits)
    needs = [needs_of(each.spec) for each in assignments]
    files = dict.fromkeys(path.absolute() for each in needs for path in each.files if path.exists())
    variables = dict.fromkeys(name for each in needs for name in sorted(each.variables) if os.environ.get(name))
    yield partial(_refuse_missing_files, tuple(files))
    yield partial(_refuse_missing_variables, tuple(variables))
    for assignment in assignments:
        yield partial(refuse_unloadable_agent, assignment)


def _refuse_missing_files(files: Iterable[Path]) -> None:
    if absent := [str(path) for path in files if not path.exists()]:
        raise lacking_error(f"files that agents are configured with: {list_first(absent, MACHINES_SHOWN)}")


def _refuse_missing_variables(names: Iterable[str]) -> None:
    if unset := [name for name in names if not os.environ.get(name)]:
        shown = list_first(unset, MACHINES_SHOWN)
        raise lacking_error(f"environment variables: {shown}; set them where its worker is started")


def refuse_unloadable_agent(assignment: Assignment) -> None:
    """Load the agent in a worker, and end it: one that is not there, or has other code, is refused."""
    register_secrets_of(assignment.specs)
    launch = Launch.of(assignment.spec, {}).with_code(assignment.spec, assignment.supplies.code(), assignment.folder)
    session = Session(assignment.spec, assignment.options, "", lambda _: None, launch)  # in no sandbox: nothing is searched
    try:
        refuse_other_code(assignment, session.load())
    finally:
        session.abandon()


def refuse_other_code(assignment: Assignment, code: str | None) -> None:
    if code != assignment.code:
        raise UsageError(
            f"{socket.gethostname()} has other code of the agent {assignment.spec.name!r} than the machine that started the run"
        )


def refuse_missing_secrets(specs: Iterable[AgentSpec]) -> None:
    """Secrets do not travel: every machine has its own, in the environment of its workers."""
    for spec in specs:
        if secrets_in(spec.options):
            raise UsageError(
                f"the config of the agent {spec.name!r} holds a secret, which is not sent to other machines; "
                "set a variable where the workers are started, and write ${NAME} or, for an agent of your own, read it there"
            )


# What becomes of a block whose agent could not be started where it was: another worker may be able to.
#
# An agent that locks its index, say, starts in one worker and in no other. A worker that cannot start it must not decide for those
# that can, however long these take to be ready.

MOST_STARTS = 3  # of one block while no worker has been ready anywhere

MAX_STARTS_WHILE_OTHERS_READY = 20  # the same where somebody is, at the least: every worker gets its turn twice

LONGEST_PAUSE = 5.0


def pause_before_start(failures: int) -> float:
    """Seconds that a worker waits before it starts an agent again, so that others who are ready get the block that comes next."""
    return min(LONGEST_PAUSE, 0.1 * 2 ** min(failures - 1, 10)) if failures else 0.0


class StartRetries:
    """Keeps blocks whose agent could not be started until a worker that can start it is free, or until it is known that none can.

    While nobody has been ready, the first block that has no answer decides: it is the agent that cannot be started, once all that
    were on their way when the first block was held have been tried too.
    """

    def __init__(self) -> None:
        self._out: set[int] = set()  # blocks on their way, by their places
        self._untried: set[int] = set()  # those of them that no worker has tried yet
        self._awaited: set[int] = set()  # those of these that may still show that the agent can be started
        self._waiting: dict[int, tuple[CaseBlock, BlockResult]] = {}

    def hand_out(self, block: CaseBlock) -> CaseBlock:
        """The block, which is on its way from here on."""
        self._out.add(block.place)
        self._untried.add(block.place)
        return block

    def done(self, block: CaseBlock) -> None:
        """It is known what became of its cases, or of some of them."""
        self._out.discard(block.place)
        self._note_try(block)

    def _note_try(self, block: CaseBlock) -> None:
        self._untried.discard(block.place)
        self._awaited.discard(block.place)

    def unable(self, block: CaseBlock, result: BlockResult, *, ready: bool, able: int, slots: int) -> list[CaseBlock]:
        """The block, to be handed out again; none if it is held.

        ``ready``: the agent was, somewhere, if only before this run was resumed. ``able``: how many of these workers can start it.
        """
        self._note_try(block)
        again = replace(block, in_vain=block.in_vain + 1)
        if again.in_vain >= (max(MAX_STARTS_WHILE_OTHERS_READY, 2 * slots) if able else MOST_STARTS):
            if ready:
                return [replace(again, forced=True)]
        elif not able:
            return [again]
        if not self._waiting:
            self._awaited = set(self._untried)
        self._out.discard(block.place)
        self._waiting[block.place] = again, result
        return []

    def released(self, able: int) -> list[CaseBlock]:
        """Blocks that were held, no more than there are workers who are able and have nothing else to do."""
        free = max(1, able) - len(self._out)
        places = sorted(self._waiting)[: max(0, free)]
        self._out.update(places)
        return [self._waiting.pop(place)[0] for place in places]

    @property
    def hopeless(self) -> tuple[CaseBlock, BlockResult] | None:
        """The first block and what was said when it was tried last, if nobody is left who could show that the agent starts."""
        first = min((*self._waiting, *self._out), default=None)
        return None if first is None or self._awaited else self._waiting.get(first)
