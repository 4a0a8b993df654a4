"""Suite and agents become runs: every case of every agent is asked, judged by nobody, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from searchmark.running.agent_run import AgentRun
from searchmark.running.cache_guarding import guarded_caches
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.plan import turns
from searchmark.running.progress import Progress
from searchmark.running.request import Ran, RunRequest, open_journals, refuse_duplicates, refuse_without_isolation
from searchmark.running.sandbox.launch import sandbox_of
from searchmark.running.worker.process_tree import not_dumpable


def run_agents(request: RunRequest, report: Callable[[Progress], None] = lambda _: None) -> Ran:
    """Ask every agent every case, the agents taking turns; the answers come in the order of the suite."""
    refuse_without_isolation()
    refuse_duplicates(request.labels)
    if request.executor is not None:
        from searchmark.running.scaling.coordinator import run_on_executor

        return run_on_executor(request, request.executor, report)
    options = request.options
    sandbox = sandbox_of(options.sandbox, request.out_of_sight)
    with ExitStack() as until_the_end:
        until_the_end.enter_context(not_dumpable())
        inspector = until_the_end.enter_context(open_inspector(request.suite, [entrant.locations for entrant in request.entrants]))
        caches = until_the_end.enter_context(guarded_caches([each.spec for each in request.entrants], sandbox))
        agent_runs = {}
        for entrant in request.entrants:
            agent_runs[entrant.label] = AgentRun(entrant, request, inspector, report, sandbox, caches.guard)
            until_the_end.callback(agent_runs[entrant.label].abandon)
        for agent_run in agent_runs.values():
            agent_run.load(alone=len(agent_runs) == 1)
        open_journals(request, lambda label, path, resume: agent_runs[label].open_journal(path, resume=resume, retry=request.retry))
        for number in range(-(-len(request.suite) // options.block)):
            for label in turns(request.labels, number):
                agent_runs[label].run(number)
        for agent_run in agent_runs.values():
            agent_run.close()
        inspector.find_changes()
        tampering = caches.tampering()
        return Ran(request.suite, tuple(agent_run.result(tampering) for agent_run in agent_runs.values()), inspector.survey)
