"""One case, asked in this process: the agent prints where the program prints, and a debugger stops where it is told to.

It is asked as in a run, by the same code. But nothing protects the program from it: it has no process of its own, no deadline,
no sandbox, and every environment variable. Whatever it raises is raised here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from searchmark.options.run_options import RunOptions
from searchmark.records import Suite
from searchmark.running.corpus_inspector import open_inspector
from searchmark.running.entrant import Entrant
from searchmark.running.plan import Step, ordered
from searchmark.running.request import Ran
from searchmark.running.run_builder import assembled
from searchmark.running.session import answered
from searchmark.running.settling import settled
from searchmark.running.worker.server import Server


def debug_case(entrant: Entrant, suite: Suite, options: RunOptions, on_error: Callable[[BaseException], None]) -> Ran:
    """Ask the only case of a suite once; ``on_error`` is called with what the agent raises, before the agent is closed."""
    (step,) = ordered(suite, entrant.locations, options.seed)
    server = Server(entrant.spec)
    with open_inspector(suite, [entrant.locations]) as inspector:
        existence = inspector.prefetch(step)()
        try:
            reply = _asked(server, step, options)
        except BaseException as error:
            on_error(error)
            with suppress(Exception):  # it has failed already
                server.perform({"op": "close"})
            raise
        entry = settled(step, answered(reply), existence, frozenset())
        return Ran(suite, (assembled(entrant.label, suite.table.ids, {step.case: entry}),), inspector.survey)


def _asked(server: Server, step: Step, options: RunOptions) -> dict[str, Any]:
    """The reply to the one search; the agent is closed after it."""
    allowed = {"memory_limit_mb": None, "foreign": not options.no_exec, "network": options.network}
    server.perform({"op": "load", "agent": None, **allowed})
    server.perform({"op": "prepare", "location": step.location.to_plain()})
    server.perform({"op": "reset"})
    request = {"request": step.request} if step.request else {}
    reply = server.perform({"op": "search", "query": step.query, "depth": options.depth, **request})
    server.perform({"op": "close"})
    return reply
