"""``--dry-run``: what a run would be like, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from searchmark.cli._heartbeat import duration
from searchmark.cli._output import harmless, show
from searchmark.cli._progress import progress_bars
from searchmark.errors import EXIT_OK
from searchmark.records import display_names
from searchmark.records.shown import counted, listed

if TYPE_CHECKING:
    from searchmark.experiments import Experiment
    from searchmark.running.scaling.planning import AgentPlan, PlannedMachine, RunPlan

SHOWN = 10  # repositories, machines
FEW_SECONDS = 10
MB, GB = 1 << 20, 1 << 30


def show_plan(experiment: Experiment) -> int:
    """Make the plan, with progress while agents are asked, and print it."""
    with progress_bars(experiment.labels, together=True) as report:
        plan = experiment.plan(report)
    show("".join(f"{harmless(line)}\n" for line in plan_lines(plan)))
    return EXIT_OK


def plan_lines(plan: RunPlan) -> Iterator[str]:
    """The plan, line by line."""
    names = display_names([agent.label for agent in plan.agents])
    cases = sum(agent.cases for agent in plan.agents)
    yield f"{counted(cases, 'case')} in {counted(plan.blocks, 'block')} of at most {plan.largest_block}, on {plan.executor}"
    for name, agent in zip(names, plan.agents, strict=True):
        yield f"  {name}: {'; '.join(_agent(agent))}"
    yield from _where(plan)
    yield from _estimate(plan)


def _agent(agent: AgentPlan) -> Iterator[str]:
    repositories = [f"{name} {counted(blocks, 'block')}" for name, blocks in agent.blocks.items()]
    yield f"{counted(agent.cases, 'case')}, {listed(repositories, SHOWN)}"
    if agent.case_seconds is None:
        yield f"no time is known, since none of {counted(agent.sampled, 'sampled case')} was answered"
        return
    failed = f", {agent.failed} of them failed" if agent.failed else ""
    yield f"{_seconds(agent.case_seconds)} per case ({counted(agent.sampled, 'case')} sampled{failed})"
    yield f"{_seconds(agent.start_seconds)} to start a worker and build its index"
    if agent.memory_bytes is not None:
        yield f"{_bytes(agent.memory_bytes)} per worker"


def _where(plan: RunPlan) -> Iterator[str]:
    if not plan.machines:
        yield "where: not known before the run"
        return
    workers = sum(machine.workers for machine in plan.machines)
    yield f"where: {counted(workers, 'worker')} on {counted(len(plan.machines), 'host')}"
    shares = Counter({number: machine.workers for number, machine in enumerate(plan.machines)})
    for number, machine in list(enumerate(plan.machines))[:SHOWN]:
        blocks = round(plan.blocks * shares[number] / workers)
        yield f"  {_machine(machine)}: {counted(machine.workers, 'worker')}, about {counted(blocks, 'block')}"
    if len(plan.machines) > SHOWN:
        yield f"  and {len(plan.machines) - SHOWN} more"


def _machine(machine: PlannedMachine) -> str:
    found = machine.environment
    facts = [
        f"{found.cores} cores" if found.cores else None,
        _bytes(found.memory_bytes) if found.memory_bytes else None,
    ]
    return f"{found.host or 'this machine'} ({', '.join(filter(None, facts))})"


def _estimate(plan: RunPlan) -> Iterator[str]:
    if plan.work_seconds is None:
        yield "how long it takes cannot be told: an agent answered none of its sampled cases"
        return
    together = "" if plan.seconds is None else f", about {_seconds(plan.seconds)} with {counted(plan.slots or 1, 'worker')}"
    yield f"estimated: {_seconds(plan.work_seconds)} of work{together}"
    if plan.worker_bytes is None:
        return
    yield f"memory: {_bytes(plan.worker_bytes)} per worker with all agents alive"
    for machine in plan.machines:
        needed, there = plan.worker_bytes * machine.workers, machine.environment.memory_bytes
        if there is not None and needed > there:
            yield f"  {_machine(machine)} would need {_bytes(needed)}: use fewer workers there"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < FEW_SECONDS else duration(seconds)


def _bytes(size: int) -> str:
    return f"{size / GB:.1f} GB" if size >= GB else f"{size / MB:.0f} MB"
