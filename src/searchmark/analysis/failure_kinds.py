"""The failures of a run by their kind: which cases each cost, and where in the agent's code the first one arose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from searchmark.records import STATUSES, AnswerDetails, Run, Status

KINDS_KEPT = 20
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

    @property
    def cost_a_case(self) -> bool:
        """Whether its cases score 0; one that was not run has no score."""
        return self.status != "not_run"


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
    return tuple(sorted(kinds, key=lambda kind: -len(kind.cases)))


def most_costly(kinds: Sequence[FailureKind]) -> tuple[FailureKind, ...]:
    """The kinds that cost the most cases, and one for all others: no case is left out."""
    if len(kinds) <= KINDS_KEPT:
        return tuple(kinds)
    rest = kinds[KINDS_KEPT - 1 :]
    cases = tuple(case for kind in rest for case in kind.cases)
    return (*kinds[: KINDS_KEPT - 1], FailureKind(rest[0].status, f"failures of {len(rest)} more kinds", cases))


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
