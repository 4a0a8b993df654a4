"""A value per case and measure, and means that say what they are means of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.measures.catalogue import DEFINITIONS
from searchmark.measures.common import gains_by_grade
from searchmark.measures.grammar import (
    AnyMeasure,
    CaseTraits,
    Traits,
    computed_nan_reason,
    parse_measure,
    parse_measures,
    undefined_cases,
    undefined_reason,
)
from searchmark.records.answers import NOT_RUN, OK, STATUSES
from searchmark.records.columns import Floats, HasFrame, Texts, constant_columns, distinct, null_column, number_column, text_column
from searchmark.records.sentences import fit_line, list_first, quote_name
from searchmark.records.suite import CaseTable, Suite, SuiteKind
from searchmark.scoring.match import MatchedRun, cases_about_lines, why_no_range
from searchmark.scoring.statistics import Clusters, mean_intervals
from searchmark.scoring.trust import Distrust, reasons_for_distrust

if TYPE_CHECKING:
    import polars as pl


# Which cases a measure can speak about, and why not about the others.


def traits_of(matched: MatchedRun) -> Traits:
    return (
        matched.complete,
        matched.answerable,
        matched.has_paths,
        matched.graded,
        matched.about_lines,
        matched.lines_counted,
    )


def case_reason(matched: MatchedRun, measure: AnyMeasure, row: int) -> str | None:
    if matched.status[row] == NOT_RUN:
        return "the case was not run"
    return undefined_reason(measure, CaseTraits(*(bool(column[row]) for column in traits_of(matched))))


def range_reason(matched: MatchedRun, measure: AnyMeasure, row: int) -> str | None:
    return why_no_range(matched.suite, matched.run, row) if uses_scores(measure) else None


def uses_scores(measure: AnyMeasure) -> bool:
    """Whether the scores of hits decide on it, and not their order alone."""
    return any(part.definition.by_scores for part in measure.parts)


def kinds_of_cases(matched: MatchedRun) -> NDArray[np.int64]:
    """A number for every case: what decides on whether a measure can speak about it, so cases that are alike share it."""
    columns = (matched.status == NOT_RUN, *traits_of(matched))
    weights = 1 << np.arange(len(columns))
    return np.asarray(np.column_stack(columns) @ weights)


# Measures that are one number for all cases: the geometric mean of what each case has of another measure.

LEAST = 1e-5  # what trec_eval counts a smaller value as, since one 0 would make 0 of all


def values_behind(measure: AnyMeasure, matched: MatchedRun) -> Floats:
    """What goes into it, case by case; NaN where a case has no value of that."""
    (part,) = measure.parts
    values = np.where(matched.status == OK, measure.compute(matched.hits), 0.0)
    undefined = undefined_cases(parse_measure(part.definition.over_cases), traits_of(matched)) | (matched.status == NOT_RUN)
    return np.where(undefined, np.nan, values)


def geometric_mean(values: Floats) -> float:
    """Of the values that are defined; NaN without any."""
    defined_values = values[~np.isnan(values)]
    return float(np.exp(np.mean(np.log(np.maximum(defined_values, LEAST))))) if len(defined_values) else float("nan")


# Whether a table of gains fits the judgments that it is for.


def refuse_unpaid_grades(measures: Iterable[AnyMeasure], suite: Suite) -> None:
    """A table that leaves out a grade of the suite would pay nothing for it, and one beside fractional gains contradicts them."""
    for part in (part for measure in measures for part in measure.parts):
        table = str(part.options.get("gains") or "")
        if not table:
            continue
        judgments, whose = suite.judgments, f"the judgments of {suite.name!r}"
        if judgments.gains is not None:
            raise UsageError(f"{whose} have gains of their own, which {part.name} would replace; leave gains= out")
        grades = set(distinct(judgments.grades[judgments.grades > 0]).tolist())
        unpaid_grades = sorted(grades - set(gains_by_grade(table)))
        if unpaid_grades:
            raise UsageError(
                f"{part.name} says nothing about the grade {unpaid_grades[0]}, which {whose} have; add {unpaid_grades[0]}:GAIN"
            )


# Values of measures as a frame.


def score_frame(
    run: Mapping[str, str | None],
    cases: CaseTable,
    status: Texts,
    measures: Texts,
    values: Floats,
    reasons: Sequence[Sequence[str | None]],
) -> pl.DataFrame:
    """One row per case and measure, case by case; ``reasons`` has a column for each measure."""
    import polars as pl

    count, width = values.shape
    case, measure = np.repeat(np.arange(count), width), np.tile(np.arange(width), count)
    category = null_column(str, count) if cases.categories is None else text_column(cases.categories)
    flat = values.ravel()
    return pl.DataFrame(
        {
            **constant_columns(run, len(flat)),
            "case": text_column(cases.ids).gather(case),
            "category": category.gather(case),
            "status": text_column(status).gather(case),
            "measure": text_column(measures).gather(measure),
            "value": number_column(flat, np.isnan(flat)),
            "reason": text_column(list(chain.from_iterable(zip(*reasons, strict=True)))),
        }
    )


# From judged hits to numbers: a value per case and measure, then means that say what they are means of.

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@10", "P@5", "Success@5", "Judged@10")


MEASURES_OF: Mapping[SuiteKind, tuple[str, ...]] = {
    "gold-set": ("nDCG@10", "RR", "R@10", "F1@10", "F1"),
    "case-list": ("P@5", "R@5", "RR@5", "Relevance"),
    "labels": ("nDCG@10", "R@10", "P@10", "RR@10"),
    "symbols": ("P@5", "P@10", "RR@10", "Success@5"),
}


# Of a gold set of lines: a hit on a whole file meets one of its ranges, so that recall of ranges says little.
MEASURES_OF_LINES = ("LineR(tokens=4000)", "Efficiency(tokens=4000)", "LineR(lines=200)", "RR", "Success@5")

SPLIT_BY_DEFAULT = ("category", "tag")


@dataclass(frozen=True)
class Summary:
    """One measure over many cases. None is undefined; ``cases`` is what the mean was divided by."""

    mean: float | None
    median: float | None
    std: float | None
    low: float | None
    high: float | None
    cases: int
    answered_mean: float | None
    undefined: int
    definition: str | None = None


@dataclass(frozen=True, eq=False)
class Scores(HasFrame):
    """The table of values: one row per case of the suite, one column per measure, NaN where undefined."""

    matched: MatchedRun
    measures: tuple[AnyMeasure, ...]
    values: Floats

    @property
    def names(self) -> list[str]:
        return [measure.name for measure in self.measures]

    @cached_property
    def distrust(self) -> tuple[Distrust, ...]:
        """Every reason not to rely on these scores."""
        return tuple(reasons_for_distrust(self.matched))

    @property
    def why_untrusted(self) -> str:
        """The same in words; empty where they can be relied on."""
        return "; ".join(reason.message for reason in self.distrust)

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended with each status."""
        return dict(zip(STATUSES, np.bincount(self.matched.status, minlength=len(STATUSES)).tolist(), strict=True))

    def mean(self, measure: str) -> float:
        """The mean of one measure, by any of its names, over the cases where it is defined; NaN if it is defined nowhere.

        Of a measure that is one number for all cases (GMAP) that number.
        """
        column = self.column_of(measure)
        if not self.measures[column].per_case:
            return geometric_mean(self.behind(column))
        values = self.values[:, column]
        return float(np.mean(values[~np.isnan(values)])) if not np.isnan(values).all() else float("nan")

    def behind(self, column: int) -> Floats:
        """What of every case goes into a measure that is one number for all of them; NaN where nothing does."""
        return values_behind(self.measures[column], self.matched)

    def means(self) -> dict[str, float]:
        return {name: self.mean(name) for name in self.names}

    def column_of(self, measure: str) -> int:
        """The column of a measure, by any of its names (``MRR``, ``Precision@5``), also where the depth of the answers cut it."""
        try:
            name = measure if measure in self.names else self.known_as(parse_measure(measure))
        except UsageError:  # whatever else it is, it is none of these
            name = None
        if name is None:
            raise UsageError(f"the measure {quote_name(measure)} was not computed; available: {', '.join(self.names) or 'none'}")
        return self.names.index(name)

    def known_as(self, measure: AnyMeasure) -> str | None:
        """The name under which a measure is in the table, also where the depth of the answers has cut it; None if it is not."""
        name = measure.resolve(self.matched.suite.defaults).name
        return next((each.name for each in self.measures if name in (each.name, each.requested.name)), None)

    def reason(self, row: int, column: int) -> str | None:
        """Why this value is undefined; None if it is not."""
        if not np.isnan(self.values[row, column]):
            return None
        measure = self.measures[column]
        reason = case_reason(self.matched, measure, row) or range_reason(self.matched, measure, row)
        return reason or computed_nan_reason(measure)

    def reasons(self, column: int) -> list[str | None]:
        """Why the values of a measure are undefined, case by case; cases that are alike share their reason."""
        undefined = np.flatnonzero(np.isnan(self.values[:, column]))
        kinds = undefined if uses_scores(self.measures[column]) else kinds_of_cases(self.matched)[undefined]
        _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
        distinct_reasons = [self.reason(row, column) for row in undefined[first].tolist()]
        reasons: list[str | None] = [None] * len(self.values)
        for row, each in zip(undefined.tolist(), kind.tolist(), strict=True):
            reasons[row] = distinct_reasons[each]
        return reasons

    def frame(self) -> pl.DataFrame:
        """One row per case and measure; ``value`` is null where it is undefined, and ``reason`` says why."""
        status = [STATUSES[each] for each in self.matched.status.tolist()]
        reasons = [self.reasons(column) for column in range(len(self.measures))]
        return score_frame(self.matched.run.named, self.matched.suite.table, status, self.names, self.values, reasons)

    def __repr__(self) -> str:
        means = list_first([f"{name} {mean:.4f}" for name, mean in self.means().items()], 3)
        return fit_line(f"Scores({quote_name(self.matched.run.name)} on {quote_name(self.matched.suite.name)}: {means})")

    def summaries(self, rows: NDArray[np.intp] | None = None) -> dict[str, Summary]:
        """Every measure over all cases, or over some of them, with its interval."""
        matched = self.matched
        rows = np.arange(len(matched.suite)) if rows is None else rows
        rows = rows[matched.status[rows] != NOT_RUN]
        ranges = [(measure.low, measure.high) for measure in self.measures]
        intervals = mean_intervals(self.values[rows], clusters_of(matched.suite, rows), ranges)
        return {
            measure.name: self._summary(measure, self.values[rows, column], rows, interval)
            if measure.per_case
            else self._over_cases(self.behind(column)[rows], rows)
            for column, (measure, interval) in enumerate(zip(self.measures, intervals, strict=True))
        }

    def _over_cases(self, values: Floats, rows: NDArray[np.intp]) -> Summary:
        """The summary of a measure that no case has a value of: nothing that tells how the values of cases differ.

        There is no interval either: one case at 0 in fifty moves a mean of logarithms further than cases without it can show.
        """
        defined, answered = ~np.isnan(values), self.matched.status[rows] == OK
        return Summary(
            mean=geometric_mean(values) if defined.any() else None,
            median=None,
            std=None,
            low=None,
            high=None,
            cases=int(defined.sum()),
            answered_mean=geometric_mean(values[answered]) if (defined & answered).any() else None,
            undefined=int((~defined & self.matched.answerable[rows]).sum()),
        )

    def _summary(
        self, measure: AnyMeasure, values: Floats, rows: NDArray[np.intp], interval: tuple[float, float] | None
    ) -> Summary:
        defined = ~np.isnan(values)
        case_values = values[defined]
        only_unanswerable = any(part.definition.unanswerable for part in measure.parts)
        answered_values = values[defined & (self.matched.status[rows] == OK)]
        applies = self.matched.answerable[rows] != only_unanswerable
        expression = getattr(measure, "expression", None)
        with np.errstate(over="ignore"):  # exponential gains of absurd grades: infinite is the truth then
            deviation = float(np.std(case_values, ddof=1)) if len(case_values) > 1 else None
        return Summary(
            mean=float(np.mean(case_values)) if len(case_values) else None,
            median=float(np.median(case_values)) if len(case_values) else None,
            std=deviation,
            low=interval[0] if interval else None,
            high=interval[1] if interval else None,
            cases=len(case_values),
            answered_mean=float(np.mean(answered_values)) if len(answered_values) and not only_unanswerable else None,
            undefined=int((~defined & applies).sum()),
            definition=None if expression == measure.name else expression,
        )


def score(matched: MatchedRun, measures: Iterable[str | AnyMeasure] | None = None) -> Scores:
    """Compute measures for every case, by name; without names those that suit the suite."""
    parsed_measures = parse_measures(default_measures(matched.suite) if measures is None else measures, matched.suite.defaults)
    values = np.empty((len(matched.suite), len(parsed_measures)))
    refuse_unpaid_grades(parsed_measures, matched.suite)
    not_run, traits = matched.status == NOT_RUN, traits_of(matched)
    for column, measure in enumerate(parsed_measures):
        values[:, column] = measure.compute(matched.hits)
        values[not_run | undefined_cases(measure, traits), column] = np.nan
    return Scores(matched, tuple(parsed_measures), values)


def default_measures(suite: Suite) -> list[str]:
    """Those that the suite names as its own, or the usual ones of its kind and those that its judgments ask for."""
    if suite.defaults.measures:
        return list(suite.defaults.measures)
    by_line = suite.kind == "gold-set" and bool(cases_about_lines(suite).any())
    names = list(MEASURES_OF_LINES if by_line else DEFAULT_MEASURES if suite.kind is None else MEASURES_OF[suite.kind])
    return names + [each.name for each in DEFINITIONS.values() if each.asked_by is not None and each.asked_by(suite)]


def clusters_of(suite: Suite, rows: NDArray[np.intp]) -> Clusters:
    """What each case is one observation with: the cases of its origin or targets, or only itself; None if all stand alone."""
    return None if suite.clusters is None else suite.clusters[rows]


def segment_rows(suite: Suite, by: str) -> dict[str, NDArray[np.intp]]:
    """The cases of every value of ``category``, ``tag``, ``origin`` or a field of the cases; tags may overlap."""
    rows: dict[str, list[int]] = {}
    for row, values in enumerate(_segment_values(suite.table, by)):
        for value in dict.fromkeys(values):
            rows.setdefault(value, []).append(row)
    if not rows:
        names = ", ".join(segment_names(suite)) or "none"
        raise UsageError(f"no case of the suite {suite.name!r} has a field {by!r}; it can be split by: {names}")
    return {value: np.array(rows[value], np.intp) for value in sorted(rows)}


def category_name(suite: Suite, name_or_number: str | int) -> str:
    """The name of a category that may be given by its number."""
    categories = suite.table.categories or ()
    if str(name_or_number) in categories:
        return str(name_or_number)
    for category, fields in zip(categories, suite.table.fields or (), strict=False):
        if str(fields.get("category_number")) == str(name_or_number):
            return category or str(name_or_number)
    return str(name_or_number)


def _segment_values(table: CaseTable, by: str) -> Iterable[tuple[str, ...]]:
    if by == "category":
        return ((category,) if category else () for category in table.categories or ())
    if by in ("tag", "tags"):
        return table.tags or ()
    if by == "origin":
        return ((origin,) if origin else () for origin in table.origins or ())
    return (_as_values(fields.get(by)) for fields in table.fields or ())


def _as_values(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    return (str(value),)


def default_splits(suite: Suite) -> list[str]:
    """What most suites are split by, as far as this one has it."""
    return [name for name in segment_names(suite) if name in SPLIT_BY_DEFAULT]


def segment_names(suite: Suite) -> list[str]:
    """What the cases of this suite can be split by."""
    table = suite.table
    columns = (("category", table.categories), ("tag", table.tags), ("origin", table.origins))
    names = [name for name, column in columns if column is not None]
    fields: Iterable[Mapping[str, object]] = table.fields or ()
    return names + sorted({key for row in fields for key in row})
