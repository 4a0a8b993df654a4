"""``evaluate --debug``: one case in the foreground, and a debugger where the agent fails."""

from __future__ import annotations

import sys
import traceback
from bdb import BdbQuit
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from searchmark.cli._output import harmless, show, tell
from searchmark.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNTRUSTED, SearchmarkError, UsageError

if TYPE_CHECKING:
    from searchmark.experiments import Experiment
    from searchmark.running.request import Ran

HITS_SHOWN = 10
NOT_ISOLATED = "the agent runs in this process: it is not isolated, has no time limit, and sees every environment variable"


def refuse_with_debug(outputs: Sequence[str], save_run: str | None, runs: Sequence[str]) -> None:
    """What --debug cannot do, since it measures nothing."""
    given = {"-o": outputs, "--save-run": save_run, "--run": runs}
    name = next((name for name, value in given.items() if value), None)
    if name is not None:
        raise UsageError(f"--debug asks an agent one case and writes nothing; leave out {name}")


def debugged(experiment: Experiment, measures: Sequence[object]) -> int:
    """Ask one case; an error is shown with its traceback, and on a terminal the debugger opens where it arose."""
    if experiment.options.sandbox != "off":
        raise UsageError("--debug runs the agent in this process, which cannot be sandboxed; leave out --sandbox")
    case = experiment.first_case
    tell(f"debugging the case {case.id!r}: {case.query}")
    tell(NOT_ISOLATED)
    try:
        ran = experiment.debug(_show_error)
    except BdbQuit:
        tell("searchmark: the debugger was left")
        return EXIT_INTERRUPTED
    except (Exception, SystemExit) as error:
        if _of_the_agent(error) is None:
            raise
        return EXIT_UNTRUSTED
    show("".join(f"{harmless(line)}\n" for line in _lines(ran, measures)))
    return EXIT_OK


def _of_the_agent(error: BaseException) -> BaseException | None:
    """What came out of somebody's code; a sentence of ours about it is shown as such."""
    from searchmark.running.worker.tracebacks import place_of

    found = error.__cause__ if isinstance(error, SearchmarkError) else error
    return found if found is not None and place_of(found) is not None else None


def _show_error(raised: BaseException) -> None:
    """The traceback of what the agent raised; on a terminal the debugger opens there."""
    from searchmark.running.worker.tracebacks import from_their_code

    error = None if isinstance(raised, BdbQuit | KeyboardInterrupt) else _of_the_agent(raised)
    if error is None:
        return
    calls = error.__traceback__
    shown = error.with_traceback(from_their_code(calls))
    for text in traceback.format_exception(shown):
        for line in text.rstrip("\n").split("\n"):
            tell(line)
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty():
        import pdb  # which is what was asked for

        pdb.post_mortem(calls)


def _lines(ran: Ran, measures: Sequence[object]) -> Iterator[str]:
    """What came, and what was expected."""
    from searchmark.experiments import evaluate_run
    from searchmark.reports.layout import expected_text

    report = evaluate_run(ran.suite, ran.runs, measures, corpus=ran.survey)  # type: ignore[arg-type]  # as the verb has them
    (agent,) = report.agents.values()
    (case,) = agent.cases.values()
    yield f"hits: {len(ran.runs[0].ids)}"
    for rank, hit in enumerate(case.hits[:HITS_SHOWN], 1):
        score = "" if hit.score is None else f"  {hit.score:.6g}"
        yield f"{rank:>3}  {hit.id}{score}"
    yield f"expected: {expected_text(case.expected)}"
    for name, value in case.measures.items():
        yield f"{name}: {'undefined' if value is None else f'{value:.4f}'}"
