"""The one who hands out blocks and takes answers home: order, retries and completion are its business, and nobody else's.

Answers are written down as their blocks come home, so that whatever ends this process, what came is kept. In the end they are what
one worker would have got that asks case after case, whoever asked them, where, and in which order they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from secrets import token_hex

from searchmark.errors import SearchmarkError
from searchmark.executors.choice import ExecutorChoice
from searchmark.executors.completion import Completion, TaskLost
from searchmark.executors.opening import opened
from searchmark.executors.pool import Lost, TaskPool
from searchmark.files.private_folders import private_folder
from searchmark.records import RunLabel
from searchmark.running.agent_record import AgentRecord
from searchmark.running.cache_guarding import Caches, guarded_caches
from searchmark.running.corpus_inspector import CorpusInspector, open_inspector
from searchmark.running.plan import turns
from searchmark.running.progress import Progress
from searchmark.running.request import Ran, RunRequest, open_journals
from searchmark.running.sandbox.launch import sandbox_of
from searchmark.running.scaling.agent_blocks import AgentBlocks
from searchmark.running.scaling.block import BlockResult, CaseBlock
from searchmark.running.scaling.hosting import end_run, get_ready, run_block
from searchmark.running.scaling.machines import MachineCheck, MachineReport, check_machine, refuse_secrets
from searchmark.running.worker.process_tree import not_dumpable
from searchmark.shipping.installed import installed
from searchmark.shipping.lacks import refuse_lacks
from searchmark.shipping.sending import Sender, commits_in


@dataclass(frozen=True, eq=False)
class Coordination:
    """A run that is about to begin: its agents are loaded, its journals open, and its machines have what they need.

    ``machines`` are those that are known now, one report for each of their workers; None where an executor cannot be asked.
    """

    pool: TaskPool
    agents: Mapping[RunLabel, AgentBlocks]
    inspector: CorpusInspector
    machines: Sequence[MachineReport] | None
    caches: Caches


def run_on_executor(request: RunRequest, executor: ExecutorChoice, report: Callable[[Progress], None]) -> Ran:
    """Ask every agent every case on an executor; the answers come in the order of the suite."""
    with coordinated(request, executor, report) as run:
        hand_out(run.pool, run.agents)
        run.inspector.find_changes()
        tampering = run.caches.tampering()
        return Ran(request.suite, tuple(agent.result(tampering) for agent in run.agents.values()), run.inspector.survey)


@contextmanager
def coordinated(
    request: RunRequest, executor: ExecutorChoice, report: Callable[[Progress], None], *, ask_machines: bool = False
) -> Iterator[Coordination]:
    """Get everything ready. ``ask_machines``: also those of this machine are asked what they are."""
    with ExitStack() as until_the_end:
        until_the_end.enter_context(not_dumpable())
        inspector = until_the_end.enter_context(open_inspector(request.suite, [each.locations for each in request.entrants]))
        folder = until_the_end.enter_context(private_folder())
        sandbox = sandbox_of(request.options.sandbox, request.out_of_sight)
        caches = until_the_end.enter_context(guarded_caches([each.spec for each in request.entrants], sandbox))
        pool = until_the_end.enter_context(opened(executor))
        for _ in range(pool.slots or 0) if pool.same_machine else ():
            pool.submit(get_ready, installed())  # while agents are loaded here; what it says the first block will say again
        locations = list({id(each): each for entrant in request.entrants for each in entrant.locations.values()}.values())
        sender = Sender(request.delivery, commits_in(locations), request.options.network, folder)
        agents: dict[RunLabel, AgentBlocks] = {}
        run = token_hex(8)  # not the id of the record: agents of a run that was killed are not asked by the one that resumes it
        for entrant in request.entrants:
            record = AgentRecord(entrant, request, inspector, report)
            until_the_end.callback(record.let_go)
            agents[entrant.label] = AgentBlocks(run, record, request, inspector, pool, sender)
        for agent in agents.values():
            agent.load(alone=len(agents) == 1)
        open_journals(
            request, lambda label, path, resume: agents[label].record.open_journal(path, resume=resume, retry=request.retry)
        )
        if not pool.same_machine:
            refuse_secrets(entrant.spec for entrant in request.entrants)
            sender.send(pool)
        asked = ask_machines or not pool.same_machine
        check = MachineCheck.of([agent.assignment() for agent in agents.values() if agent.record.broken is None], locations)
        yield Coordination(pool, agents, inspector, check_machines(pool, check) if asked else None, caches)


def check_machines(pool: TaskPool, check: MachineCheck) -> list[MachineReport] | None:
    """Every machine that is known now must have what the run needs; one that comes later says so with its first block."""
    found = pool.everywhere(check_machine, check)
    refuse_lacks(pool, (sentence for report in found or () for sentence in report.lacks), "the run")
    return found


def hand_out(pool: TaskPool, agents: Mapping[RunLabel, AgentBlocks], work: Callable[[CaseBlock], BlockResult] = run_block) -> None:
    """Hand out blocks until every case has its answer, and end all agents, wherever they live."""
    completion: Completion[CaseBlock, BlockResult] = Completion(pool, work, in_turns(agents))
    for outcome in completion:
        agent = agents[outcome.task.assignment.label]
        again = agent.lost(outcome) if isinstance(outcome, TaskLost) else agent.home(outcome.task, outcome.result)
        for block in again:
            completion.add(block, block.in_vain)
    for run in {agent.run for agent in agents.values()}:
        for label, said in _last_words(pool, run):
            agents[label].take(said, None)


def _last_words(pool: TaskPool, run: str) -> Iterator[tuple[RunLabel, BlockResult]]:
    """End all agents of a run, wherever they live, in this process too, where threads may have asked them."""
    yield from end_run(run)
    with suppress(SearchmarkError, Lost):  # all answers are home: a worker that is gone has nothing more to say
        for ended in pool.everywhere(end_run, run) or ():
            yield from ended


def in_turns(agents: Mapping[RunLabel, AgentBlocks]) -> Iterator[CaseBlock]:
    """One block of each agent after the other, each coming first equally often, until none has any left."""
    waiting = {label: agent.blocks() for label, agent in agents.items()}
    for number in count():
        labels: Sequence[RunLabel] = [label for label in agents if label in waiting]
        if not labels:
            return
        for label in turns(labels, number):
            block = next(waiting[label], None)
            if block is None:
                del waiting[label]
            else:
                yield block
