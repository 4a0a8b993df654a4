"""What a run would be like, before it is made: its blocks, where they would go, and what a small sample says of time and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from searchmark.corpora.locations import Commit, Location
from searchmark.executors.choice import ProcessChoice
from searchmark.records import Environment, RunLabel
from searchmark.running.agent_record import AgentRecord
from searchmark.running.entrant import Entrant
from searchmark.running.events import WorkerEvent, peak_memory
from searchmark.running.plan import Step, ordered
from searchmark.running.progress import Progress
from searchmark.running.request import RunRequest
from searchmark.running.scaling.block import block_size, stretches
from searchmark.running.scaling.coordinator import Coordination, coordinated, hand_out
from searchmark.running.scaling.machines import MachineReport

SAMPLE = 8  # cases that each agent is asked


@dataclass(frozen=True)
class AgentPlan:
    """One agent: its blocks by repository, and what the sample says: seconds, and bytes of one worker; None where it does not.

    ``case_seconds`` are for the searches of a case and for following the history to it, ``start_seconds`` for starting a worker and
    building its first index.
    """

    label: RunLabel
    blocks: Mapping[str, int]
    cases: int
    sampled: int
    case_seconds: float | None
    start_seconds: float
    memory_bytes: int | None
    failed: int

    def seconds(self, workers: int) -> float | None:
        """Of work in all, where so many workers are started."""
        return None if self.case_seconds is None else self.cases * self.case_seconds + workers * self.start_seconds


@dataclass(frozen=True)
class PlannedMachine:
    """A machine, and how many workers it has."""

    environment: Environment
    workers: int


@dataclass(frozen=True)
class RunPlan:
    """What would be run by whom. ``machines`` is empty where that is not known before the run."""

    executor: str
    slots: int | None
    largest_block: int
    agents: tuple[AgentPlan, ...]
    machines: tuple[PlannedMachine, ...]

    @property
    def blocks(self) -> int:
        return sum(sum(agent.blocks.values()) for agent in self.agents)

    @property
    def work_seconds(self) -> float | None:
        """Of all agents, on all workers; None where one of them could not be measured."""
        seconds = [agent.seconds(self._busy) for agent in self.agents]
        return None if None in seconds else sum(each for each in seconds if each is not None)

    @property
    def seconds(self) -> float | None:
        """From the first block to the last, if nobody waits."""
        return None if self.work_seconds is None or self.slots is None else self.work_seconds / self._busy

    @property
    def worker_bytes(self) -> int | None:
        """What one worker needs with all agents alive, as they are between their blocks."""
        known = [agent.memory_bytes for agent in self.agents]
        return None if None in known else sum(each for each in known if each is not None)

    @property
    def _busy(self) -> int:
        return max(1, min(self.slots or 1, self.blocks))


def plan_run(request: RunRequest, report: Callable[[Progress], None]) -> RunPlan:
    """Ask each agent a few cases where all would be asked, and count the rest; nothing is written down."""
    executor = request.executor or ProcessChoice(1)
    with coordinated(_sample(request), executor, report, ask_machines=True) as run:
        hand_out(run.pool, run.agents)
        slots = None if request.executor is None else run.pool.slots  # this process does not cut what it asks
        size = block_size(len(request.suite), slots, request.options.block)
        agents = tuple(_planned(entrant, request, size, run) for entrant in request.entrants)
        name = "this process" if request.executor is None else run.pool.name
        return RunPlan(name, run.pool.slots, size, agents, _machines(run.machines or ()))


def _sample(request: RunRequest) -> RunRequest:
    """The request with the first few cases along the history, for all agents alike."""
    first = request.entrants[0]
    steps = ordered(request.suite, first.locations, request.options.seed, shuffled=request.options.randomize_order)[:SAMPLE]
    cases = {step.case for step in steps}
    entrants = tuple(replace(each, locations=_only(each.locations, cases)) for each in request.entrants)
    return replace(request, suite=request.suite.only(cases), entrants=entrants, journals={}, resume=False, retry=False, shard=None)


def _only(locations: Mapping[str, Location], cases: set[str]) -> dict[str, Location]:
    return {case: location for case, location in locations.items() if case in cases}


def _planned(entrant: Entrant, request: RunRequest, size: int, run: Coordination) -> AgentPlan:
    record = run.agents[entrant.label].record
    steps = ordered(request.suite, entrant.locations, request.options.seed, shuffled=request.options.randomize_order)
    blocks = Counter(_repository(stretch[0][1]) for stretch in stretches(enumerate(steps), size))
    answers = record.answers.values()
    searched = [entry for entry in answers if entry.outcome.details.cold_ms]
    ms = [sum(each.outcome.details.cold_ms) + sum(each.outcome.details.warm_ms) for each in searched]
    updates = _seconds(record.events, "updated")
    return AgentPlan(
        entrant.label,
        dict(blocks),
        len(steps),
        len(record.answers),
        mean(ms) / 1e3 + (sum(updates) / len(searched)) if searched else None,
        _start_seconds(record),
        peak_memory(record.events),
        sum(entry.outcome.status not in ("ok", "empty") for entry in answers),
    )


def _start_seconds(record: AgentRecord) -> float:
    """To start a worker and to build an index from nothing."""
    started = [event.seconds for event in record.events if event.event == "started" and event.seconds is not None]
    built = _seconds(record.events, "initialised")
    return (mean(started) if started else 0.0) + (max(built) if built else 0.0)


def _seconds(events: Iterable[WorkerEvent], how: str) -> list[float]:
    return [event.seconds or 0.0 for event in events if event.event == "prepared" and event.how == how]


def _repository(step: Step) -> str:
    """What a block is about."""
    location = step.location
    return location.name if isinstance(location, Commit) else getattr(location, "name", location.kind)


def _machines(reports: Sequence[MachineReport]) -> tuple[PlannedMachine, ...]:
    counted = Counter(repr(report.environment) for report in reports)
    known = {repr(report.environment): report.environment for report in reports}
    return tuple(PlannedMachine(known[key], workers) for key, workers in counted.items())
