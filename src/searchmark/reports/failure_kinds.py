"""The failures of a run by their kind: how many cases each cost, and where in the agent's code the first one arose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from searchmark.errors import shortened
from searchmark.findings.sentences import counted
from searchmark.records import STATUSES, AnswerDetails, Run, Status
from searchmark.records.shown import listed

KINDS_KEPT = 20
KINDS_SHOWN = 3  # on a screen
CASES_SHOWN = 5
CALLS_SHOWN = 6  # the innermost ones, on a screen
PRINTED_SHOWN = 3  # lines, on a screen
LONGEST_REASON = 240
NOT_STARTED = "the agent could not be started"  # only the case that was asked first knows where
_ERROR = re.compile(r"\A([A-Za-z_][\w.]*)(?::|\Z)")
_OWN = re.compile(r"\d+|'[^']*'|\"[^\"]*\"")  # numbers and quotations: what differs between two failures of one kind


@dataclass(frozen=True)
class FailureKind:
    """Failures of one kind: the same error from the same line, or the same sentence but for numbers and names.

    ``reason``, ``traceback`` and ``printed`` are those of the first case that has them, in the order of the suite: why there is no
    answer, the calls in the agent's code, and the end of what it printed meanwhile.
    """

    status: Status
    reason: str
    cases: tuple[str, ...]
    traceback: str | None = None
    printed: str | None = None


def failure_kinds(run: Run, order: Mapping[str, int]) -> tuple[FailureKind, ...]:
    """The kinds of failures of a run, those that cost the most cases first."""
    found: dict[tuple[int, str], list[tuple[str, AnswerDetails]]] = {}
    statuses = run.status.tolist()
    rows = sorted(range(len(run.details or ())), key=lambda row: order.get(run.case_ids[row], len(order)))
    for row in rows:
        details = run.details_of(row)
        if details.failure is not None and run.case_ids[row] in order:
            found.setdefault((statuses[row], _kind(details)), []).append((run.case_ids[row], details))
    kinds = [_of_kind(STATUSES[status], failed) for (status, _), failed in found.items()]
    return tuple(sorted(kinds, key=lambda kind: -len(kind.cases))[:KINDS_KEPT])


def _kind(details: AnswerDetails) -> str:
    """What failures of one kind have in common."""
    reason = details.failure or ""
    error = _ERROR.match(reason)
    if error is not None and details.traceback is not None and not reason.startswith(NOT_STARTED):
        return f"{error[1]} {details.traceback.rpartition(chr(10))[2]}"
    return _OWN.sub("", reason)


def _of_kind(status: Status, failed: Sequence[tuple[str, AnswerDetails]]) -> FailureKind:
    first = next((details for _, details in failed if details.traceback is not None), failed[0][1])
    return FailureKind(status, first.whole_failure or "", tuple(case for case, _ in failed), first.traceback, first.printed)


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
        yield from (f"  {line}" for line in _last(said, printed, "line"))


def _last(lines: Sequence[str], most: int | None, what: str) -> Iterator[str]:
    if most is not None and len(lines) > most:
        yield f"({counted(len(lines) - most, f'{what} before')} in the JSON report)"
        lines = lines[-most:]
    yield from lines
