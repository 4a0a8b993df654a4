"""Which cases failed, and why: precision below 0.8 of what is possible, or the first relevant hit below the second rank.

A case with one target cannot reach more than P@5 0.2, so its precision is held against the highest that its judgments allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from searchmark.errors import UsageError
from searchmark.gates.sentences import ROUNDING
from searchmark.measures.grammar import UNANSWERABLE, AnyMeasure, Measure, parse_measure
from searchmark.reports.case_records import CaseSummary, ExpectedTarget
from searchmark.reports.report import Report

LOWEST_PRECISION = 0.8  # of the highest possible
LOWEST_RECIPROCAL_RANK = 0.5
FAILED_SHOWN = 100
COUNTED = ("id", "path", "lines")  # a glob or a symbol may be met by any number of hits


@dataclass(frozen=True)
class FailedCase:
    """A case that failed, and why."""

    id: str
    case: CaseSummary
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Criteria:
    """The measures that decide whether a case failed: the first precision and the first reciprocal rank.

    A case that has neither is judged by the first Success, else by the first other measure, each with the lowest value that it
    can have.
    """

    precision: Measure | None
    reciprocal_rank: str | None
    otherwise: tuple[tuple[str, float], ...]


@lru_cache(maxsize=256)
def criteria_of(names: tuple[str, ...]) -> Criteria:
    """What decides, among the measures of a report."""
    known = {name: _parsed(name) for name in names}
    plain = [each for each in known.values() if isinstance(each, Measure)]
    precision = next((each for each in plain if each.definition.name == "P" and each.options["credit"] == "exact"), None)
    reciprocal = next((each.name for each in plain if each.definition.name == "RR"), None)
    deciding = (None if precision is None else precision.name, reciprocal)
    rest = [name for name, each in known.items() if name not in deciding and _tells(each)]
    rest.sort(key=lambda name: not name.startswith("Success"))
    return Criteria(precision, reciprocal, tuple((name, getattr(known[name], "low", 0.0)) for name in rest))


def _parsed(name: str) -> AnyMeasure | None:
    """The measure of this name; None for a formula that is only known by its label."""
    try:
        return parse_measure(name)
    except UsageError:
        return None


def _tells(measure: AnyMeasure | None) -> bool:
    """Whether more of it is better for a case that has an answer."""
    return measure is None or (measure.tells_quality and not any(part.definition.unanswerable for part in measure.parts))


def failed_because(case: CaseSummary, rel: int) -> tuple[str, ...]:
    """Why a case failed; empty if it did not, or was not measured. ``rel`` is the lowest relevant grade of the suite."""
    if case.status in ("error", "timeout"):
        reason = (case.details.failure or "").strip()
        return (f"{case.status}: {reason}" if reason else case.status,)
    if case.status == "not_run":
        return ()
    if is_unanswerable(case):
        return ("something was returned, though nothing is right",) if case.measures.get("Abstain") == 0 else ()
    return tuple(_ranked_badly(case, rel))


def is_unanswerable(case: CaseSummary) -> bool:
    """Whether a case is marked as one without an answer: only then Abstain is defined and all else is not."""
    return case.measures.get("Abstain") is not None or UNANSWERABLE in case.undefined.values()


def _ranked_badly(case: CaseSummary, rel: int) -> Iterator[str]:
    if case.status == "empty":
        yield "nothing was returned"
        return
    criteria = criteria_of(tuple(case.measures))
    precision = None if criteria.precision is None else case.measures[criteria.precision.name]
    reciprocal = case.measures.get(criteria.reciprocal_rank or "")
    if precision is None and reciprocal is None:
        yield from _otherwise(case, criteria)
        return
    found = [
        *_precision_reason(case.expected, criteria.precision, precision),
        *([] if reciprocal is None or reciprocal >= LOWEST_RECIPROCAL_RANK - ROUNDING else [f"RR {reciprocal:.2f}"]),
    ]
    if found and not any(each.grade >= rel for each in case.expected):
        found = [f"it can only score 0: no target has grade {rel} or higher"]
    yield from found


def _precision_reason(expected: Sequence[ExpectedTarget], measure: Measure | None, value: float | None) -> Iterator[str]:
    if measure is None or value is None:
        return
    best = best_precision(expected, measure)
    if value == 0 or value < LOWEST_PRECISION * best - ROUNDING:
        yield f"{measure.name} {value:.2f} of {best:.2f} possible" if best else f"{measure.name} {value:.2f}"


def best_precision(expected: Sequence[ExpectedTarget], measure: Measure) -> float:
    """The highest precision that the targets of a case allow; 0 if that cannot be counted."""
    relevant = [each.match for each in expected if each.grade >= int(measure.options["rel"])]
    if not all(match in COUNTED for match in relevant):
        return 0.0
    return min(len(relevant), measure.cutoff) / measure.cutoff if measure.cutoff else float(bool(relevant))


def _otherwise(case: CaseSummary, criteria: Criteria) -> Iterator[str]:
    """The verdict of the first measure that the case has a value of, where it has neither precision nor reciprocal rank."""
    for name, lowest in criteria.otherwise:
        value = case.measures[name]
        if value is not None:
            if value <= lowest + ROUNDING:
                yield f"{name} {value:.2f} (neither P nor RR was measured)"
            return


def failed_cases(report: Report, run: str, most: int | None = FAILED_SHOWN) -> tuple[FailedCase, ...]:
    """The first cases of a run that failed, in the order of the suite; ``count_failed`` says how many there are."""
    return tuple(islice(_failed(report, run), most))


def count_failed(report: Report, run: str) -> int:
    """How many cases of a run failed."""
    return sum(1 for _ in _failed(report, run))


def _failed(report: Report, run: str) -> Iterator[FailedCase]:
    for name, case in report.agents[run].cases.items():
        reasons = failed_because(case, report.suite.rel)
        if reasons:
            yield FailedCase(name, case, reasons)
