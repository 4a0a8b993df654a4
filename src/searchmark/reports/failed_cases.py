"""Which cases failed and why, and kinds of failures in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from searchmark.errors import shortened
from searchmark.gates.quantities import ROUNDING
from searchmark.measures.common import ABSTENTION, PRECISION, RECIPROCAL_RANK, SUCCESS
from searchmark.measures.grammar import AnyMeasure, Measure
from searchmark.records.answers import EMPTY, ERROR, NOT_RUN, TIMEOUT
from searchmark.records.columns import Floats
from searchmark.records.judgments import MATCHES
from searchmark.records.sentences import list_first, plain_count
from searchmark.reports.cases import CaseArrays, CaseSummary, ExpectedTarget, Marks, arrays_of, is_unanswerable
from searchmark.reports.report import Report, known_measure
from searchmark.scoring.trust import FailureKind

# Which cases failed, and why: precision below 0.8 of what is possible, or the first relevant hit below the second rank.
#
# A case with one target cannot reach more than P@5 0.2, so its precision is compared with the highest that its judgments allow.

LOWEST_PRECISION = 0.8  # of the highest possible

LOWEST_RECIPROCAL_RANK = 0.5

FAILED_SHOWN = 100

COUNTED = ("id", "path", "lines", "text")  # a glob or a symbol may be met by any number of hits


@dataclass(frozen=True)
class FailedCase:
    """A case that failed, and why."""

    id: str
    case: CaseSummary
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Criteria:
    """The measures that decide whether a case failed: the first precision and the first reciprocal rank."""

    precision: Measure | None
    reciprocal_rank: str | None
    otherwise: tuple[tuple[str, float], ...]  # for a case that has neither: Success before others, each with its lowest value


@lru_cache(maxsize=256)
def criteria_of(names: tuple[str, ...]) -> Criteria:
    """What decides, among the measures of a report."""
    measures = {name: known_measure(name) for name in names}
    plain = [each for each in measures.values() if isinstance(each, Measure)]
    precision = next((each for each in plain if each.definition is PRECISION and each.options["credit"] == "exact"), None)
    reciprocal = next((each.name for each in plain if each.definition is RECIPROCAL_RANK), None)
    deciding = (None if precision is None else precision.name, reciprocal)
    rest = [name for name, each in measures.items() if name not in deciding and _is_quality(each)]
    rest.sort(key=lambda name: getattr(measures[name], "definition", None) is not SUCCESS)
    return Criteria(precision, reciprocal, tuple((name, getattr(measures[name], "low", 0.0)) for name in rest))


def _is_quality(measure: AnyMeasure | None) -> bool:
    """Whether more of it is better for a case that has an answer."""
    return measure is None or (measure.decides and not any(part.definition.unanswerable for part in measure.parts))


def failure_reasons(case: CaseSummary, rel: int) -> tuple[str, ...]:
    """Why a case failed; empty if it did not, or was not measured. ``rel`` is the lowest relevant grade of the suite."""
    if case.status in ("error", "timeout"):
        reason = (case.details.whole_failure or "").strip()
        return (f"{case.status}: {reason}" if reason else case.status,)
    if case.status == "not_run":
        return ()
    if is_unanswerable(case):
        return ("something was returned, though nothing is right",) if case.measures.get(ABSTENTION.name) == 0 else ()
    return tuple(_ranked_badly(case, rel))


def _ranked_badly(case: CaseSummary, rel: int) -> Iterator[str]:
    if case.status == "empty":
        yield "nothing was returned"
        return
    criteria = criteria_of(tuple(case.measures))
    precision = None if criteria.precision is None else case.measures[criteria.precision.name]
    reciprocal = case.measures.get(criteria.reciprocal_rank or "")
    if precision is None and reciprocal is None:
        yield from _other_measure_reason(case, criteria)
        return
    reasons = [
        *_precision_reason(case.expected, criteria.precision, precision),
        *([] if reciprocal is None or reciprocal >= LOWEST_RECIPROCAL_RANK - ROUNDING else [f"RR {reciprocal:.2f}"]),
    ]
    if reasons and not any(each.grade >= rel for each in case.expected):
        deciding = [None if criteria.precision is None else criteria.precision.name, criteria.reciprocal_rank]
        reasons = [f"no target has grade {rel} or higher, so it can only score 0 in {', '.join(filter(None, deciding))}"]
    yield from reasons


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


def _other_measure_reason(case: CaseSummary, criteria: Criteria) -> Iterator[str]:
    """The verdict of the first measure that the case has a value of, where it has neither precision nor reciprocal rank."""
    for name, lowest in criteria.otherwise:
        value = case.measures[name]
        if value is not None:
            if value <= lowest + ROUNDING:
                yield f"{name} {value:.2f} (neither P nor RR was measured)"
            return


def failed_cases(report: Report, run: str, most: int = FAILED_SHOWN) -> tuple[FailedCase, ...]:
    """The first cases of a run that failed, in the order of the suite; ``count_failed`` says how many there are."""
    cases = report.agents[run].cases
    arrays = arrays_of(cases)
    first = ((name, cases[name]) for name in islice(arrays.named(failed_marks(arrays)), most))
    return tuple(FailedCase(name, case, failure_reasons(case, report.suite.rel)) for name, case in first)


def count_failed(report: Report, run: str) -> int:
    """How many cases of a run failed."""
    return int(failed_marks(arrays_of(report.agents[run].cases)).sum())


def failed_marks(cases: CaseArrays) -> Marks:
    """Which cases have a reason to be called failed, all at once."""
    ended: Marks = np.isin(cases.status, (ERROR, TIMEOUT))
    finished = ~ended & (cases.status != NOT_RUN)
    returned_something = cases.column(ABSTENTION.name) == 0
    ranked_badly = (cases.status == EMPTY) | _ranked_badly_of(cases)
    bad: Marks = ended | (finished & np.where(cases.unanswerable, returned_something, ranked_badly))
    return bad


def _ranked_badly_of(cases: CaseArrays) -> Marks:
    criteria = criteria_of(cases.names)
    precision = cases.column(None if criteria.precision is None else criteria.precision.name)
    reciprocal = cases.column(criteria.reciprocal_rank)
    lacking = reciprocal < LOWEST_RECIPROCAL_RANK - ROUNDING
    if criteria.precision is not None:
        best = _best_precisions(cases, criteria.precision)
        lacking |= (precision == 0) | (precision < LOWEST_PRECISION * best - ROUNDING)
    open_cases = np.isnan(precision) & np.isnan(reciprocal)
    for name, lowest in criteria.otherwise:
        values = cases.column(name)
        lacking |= open_cases & (values <= lowest + ROUNDING)
        open_cases &= np.isnan(values)
    return lacking


def _best_precisions(cases: CaseArrays, measure: Measure) -> Floats:
    relevant = cases.grades >= int(measure.options["rel"])
    case, counted = cases.case_of_target, np.isin(cases.match, [MATCHES.index(match) for match in COUNTED])
    count = np.bincount(case[relevant], minlength=len(cases.ids))
    best = np.minimum(count, measure.cutoff) / measure.cutoff if measure.cutoff else np.minimum(count, 1)
    best[np.bincount(case[relevant & ~counted], minlength=len(cases.ids)) > 0] = 0
    return best.astype(np.float64)


# A kind of failure in words: how many cases it cost, why, and where in the agent's code the first one arose.

KINDS_SHOWN = 3  # on a screen

CASES_SHOWN = 5

CALLS_SHOWN = 6  # the innermost ones, on a screen

PRINTED_SHOWN = 3  # lines, on a screen

LONGEST_REASON = 240

LONGEST_LINE = 200  # of what was printed, on a screen


def kind_sentence(kind: FailureKind) -> str:
    """How many cases failed in this way, why, and which."""
    ending = {"not_run": "not run", "timeout": "timed out"}.get(kind.status, "failed")
    reason = shortened(kind.reason, LONGEST_REASON)
    return f"{plain_count(len(kind.cases), 'case')} {ending}: {reason} ({list_first(list(kind.cases), CASES_SHOWN)})"


def kind_lines(kind: FailureKind, calls: int | None = None, output_lines: int | None = None) -> Iterator[str]:
    """The calls that led to the first failure, the innermost last, and what the agent printed; so many lines of each at most."""
    trace = (kind.traceback or "").splitlines()
    yield from _last(trace, calls, "call")
    output = (kind.printed or "").splitlines()
    if output:
        yield "printed meanwhile:"
        whole = output_lines is None
        yield from (f"  {line if whole else shortened(line, LONGEST_LINE)}" for line in _last(output, output_lines, "line"))


def _last(lines: Sequence[str], most: int | None, what: str) -> Iterator[str]:
    if most is not None and len(lines) > most:
        yield f"({plain_count(len(lines) - most, f'{what} before')} in the JSON report)"
        lines = lines[-most:]
    yield from lines
