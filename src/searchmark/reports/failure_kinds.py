"""A kind of failure in words: how many cases it cost, why, and where in the agent's code the first one arose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from searchmark.analysis.failure_kinds import FailureKind
from searchmark.errors import shortened
from searchmark.findings.sentences import counted
from searchmark.records.shown import listed

KINDS_SHOWN = 3  # on a screen
CASES_SHOWN = 5
CALLS_SHOWN = 6  # the innermost ones, on a screen
PRINTED_SHOWN = 3  # lines, on a screen
LONGEST_REASON = 240
LONGEST_LINE = 200  # of what was printed, on a screen


def kind_sentence(kind: FailureKind) -> str:
    """How many cases failed in this way, why, and which."""
    ended = {"not_run": "not run", "timeout": "timed out"}.get(kind.status, "failed")
    reason = shortened(kind.reason, LONGEST_REASON)
    return f"{counted(len(kind.cases), 'case')} {ended}: {reason} ({listed(list(kind.cases), CASES_SHOWN)})"


def kind_lines(kind: FailureKind, calls: int | None = None, printed: int | None = None) -> Iterator[str]:
    """The calls that led to the first failure, the innermost last, and what the agent printed; so many lines of each at most."""
    trace = (kind.traceback or "").splitlines()
    yield from _last(trace, calls, "call")
    said = (kind.printed or "").splitlines()
    if said:
        yield "printed meanwhile:"
        whole = printed is None
        yield from (f"  {line if whole else shortened(line, LONGEST_LINE)}" for line in _last(said, printed, "line"))


def _last(lines: Sequence[str], most: int | None, what: str) -> Iterator[str]:
    if most is not None and len(lines) > most:
        yield f"({counted(len(lines) - most, f'{what} before')} in the JSON report)"
        lines = lines[-most:]
    yield from lines
