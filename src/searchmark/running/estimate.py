"""The verb's --plan: a small sample says what a run would take in time, memory and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from searchmark.executors.pool import process_pool
from searchmark.formats.corpora.locations import Commit
from searchmark.records.provenance import Environment, RunLabel
from searchmark.running.blocks import block_size, split_by_history
from searchmark.running.plan import Step, order_cases
from searchmark.running.request import AgentJob, RunProgress, RunRequest
from searchmark.running.run_builder import environment
from searchmark.running.runner import PreparedRun, hand_out, prepare_run
from searchmark.running.session import WorkerEvent, peak_memory

SAMPLED_CASES = 8  # cases that each agent is asked


@dataclass(frozen=True)
class AgentEstimate:
    """What the sample says of one agent; None where it says nothing."""

    label: RunLabel
    blocks: Mapping[str, int]  # by repository
    cases: int
    sampled: int
    case_seconds: float | None  # for the searches of a case, and for following the history to it
    start_seconds: float  # for starting a worker and building its first index
    memory_bytes: int | None  # of one worker
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
class RunEstimate:
    """What would be run by whom."""

    executor: str
    slots: int | None
    largest_block: int
    agents: tuple[AgentEstimate, ...]
    machines: tuple[PlannedMachine, ...]  # none if they are not known before the run

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
        sizes = [agent.memory_bytes for agent in self.agents]
        return None if None in sizes else sum(each for each in sizes if each is not None)

    @property
    def _busy(self) -> int:
        return max(1, min(self.slots or 1, self.blocks))


def estimate_run(request: RunRequest, report: Callable[[RunProgress], None]) -> RunEstimate:
    """Ask each agent a few cases where all would be asked, and count the rest; nothing is written down."""
    executor = request.executor or process_pool(1)
    with prepare_run(_sample_request(request), executor, report) as run:
        hand_out(run.pool, run.agents)
        slots = None if request.executor is None else run.pool.slots  # this process does not cut what it asks
        size = block_size(len(request.suite), slots, request.options.block)
        agents = tuple(_estimate_agent(job, request, size, run) for job in request.agents)
        name = "this process" if request.executor is None else run.pool.name
        return RunEstimate(name, run.pool.slots, size, agents, _group_machines(run.pool.everywhere(_machine, None) or ()))


def _sample_request(request: RunRequest) -> RunRequest:
    """The request with the first few cases along the history, for all agents alike."""
    first = request.agents[0]
    steps = order_cases(request.suite, first.locations, request.options.seed, shuffled=request.options.randomize_order)[
        :SAMPLED_CASES
    ]
    cases = {step.case for step in steps}
    agents = tuple(
        replace(each, locations={case: where for case, where in each.locations.items() if case in cases}) for each in request.agents
    )
    return replace(request, suite=request.suite.only(cases), agents=agents, journals={}, resume=False, retry=False, shard=None)


def _estimate_agent(job: AgentJob, request: RunRequest, size: int, run: PreparedRun) -> AgentEstimate:
    builder = run.agents[job.label].builder
    steps = order_cases(request.suite, job.locations, request.options.seed, shuffled=request.options.randomize_order)
    blocks = Counter(_repository_name(stretch[0][1]) for stretch in split_by_history(enumerate(steps), size))
    answers = builder.answers.values()
    answered = [entry for entry in answers if entry.outcome.details.cold_ms]
    ms = [sum(each.outcome.details.cold_ms) + sum(each.outcome.details.warm_ms) for each in answered]
    updates = _event_seconds(builder.events, "updated")
    starts = [event.seconds for event in builder.events if event.event == "started" and event.seconds is not None]
    return AgentEstimate(
        job.label,
        dict(blocks),
        len(steps),
        len(builder.answers),
        mean(ms) / 1e3 + (sum(updates) / len(answered)) if answered else None,
        (mean(starts) if starts else 0.0) + max(_event_seconds(builder.events, "initialised"), default=0.0),
        peak_memory(builder.events),
        sum(entry.outcome.status not in ("ok", "empty") for entry in answers),
    )


def _event_seconds(events: Iterable[WorkerEvent], how: str) -> list[float]:
    return [event.seconds or 0.0 for event in events if event.event == "prepared" and event.how == how]


def _repository_name(step: Step) -> str:
    """What a block is about."""
    location = step.location
    return location.name if isinstance(location, Commit) else getattr(location, "name", location.kind)


def _machine(_: None) -> Environment:
    """That of a worker."""
    return environment()


def _group_machines(environments: Sequence[Environment]) -> tuple[PlannedMachine, ...]:
    by_text = {repr(each): each for each in environments}
    counts = Counter(map(repr, environments))
    return tuple(PlannedMachine(by_text[text], workers) for text, workers in counts.items())
