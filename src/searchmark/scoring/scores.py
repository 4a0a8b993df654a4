"""From judged hits to numbers: a value per case and measure, then means that say what they are means of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.case_traits import by_score, case_reason, kinds_of_cases, range_reason, traits_of, undefined_cases
from searchmark.analysis.distrust import Distrust, broken, most_frequent_failure
from searchmark.analysis.intervals import Clusters, mean_intervals
from searchmark.analysis.over_cases import geometric_mean, values_behind
from searchmark.analysis.paid_grades import refuse_unpaid_grades
from searchmark.analysis.score_frames import score_frame
from searchmark.errors import UsageError
from searchmark.judging.judge import Judged
from searchmark.judging.line_reading import about_lines
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure, parse_measure, parse_measures
from searchmark.measures.undefined import computed_nan_reason
from searchmark.records import ERROR, NOT_RUN, OK, STATUSES, TIMEOUT, CaseTable, Suite, SuiteKind
from searchmark.records.frames import Framed
from searchmark.records.shown import listed, on_a_line, quoted

if TYPE_CHECKING:
    import polars as pl

DEFAULT_MEASURES = ("nDCG@10", "RR", "R@10", "P@5", "Success@5", "Judged@10")
MEASURES_OF: Mapping[SuiteKind, tuple[str, ...]] = {
    "gold-set": ("nDCG@10", "RR", "R@10", "F1@10", "F1"),
    "case-list": ("P@5", "R@5", "RR@5", "Relevance"),
    "labels": ("nDCG@10", "R@10", "P@10", "RR@10"),
    "symbols": ("P@5", "P@10", "RR@10", "Success@5"),
}
# Of a gold set of lines: a hit on a whole file meets one of its ranges, so that recall of ranges says little.
MEASURES_OF_LINES = ("LineR(tokens=4000)", "Efficiency(tokens=4000)", "LineR(lines=200)", "RR", "Success@5")
ERROR_LIMIT = 0.05
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
class Scores(Framed):
    """The table of values: one row per case of the suite, one column per measure, NaN where undefined."""

    judged: Judged
    measures: tuple[AnyMeasure, ...]
    values: Floats

    @property
    def names(self) -> list[str]:
        return [measure.name for measure in self.measures]

    @property
    def counts(self) -> dict[str, int]:
        """How many cases ended with each status."""
        return dict(zip(STATUSES, np.bincount(self.judged.status, minlength=len(STATUSES)).tolist(), strict=True))

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
        return values_behind(self.measures[column], self.judged)

    def means(self) -> dict[str, float]:
        return {name: self.mean(name) for name in self.names}

    def column_of(self, measure: str) -> int:
        """The column of a measure, by any of its names (``MRR``, ``Precision@5``), also where the depth of the answers cut it."""
        try:
            name = measure if measure in self.names else self.known_as(parse_measure(measure))
        except UsageError:  # whatever else it is, it is none of these
            name = None
        if name is None:
            raise UsageError(f"the measure {quoted(measure)} was not computed; available: {', '.join(self.names) or 'none'}")
        return self.names.index(name)

    def known_as(self, measure: AnyMeasure) -> str | None:
        """The name under which a measure is in the table, also where the depth of the answers has cut it; None if it is not."""
        name = measure.resolve(self.judged.suite.defaults).name
        return next((each.name for each in self.measures if name in (each.name, each.asked.name)), None)

    def reason(self, row: int, column: int) -> str | None:
        """Why this value is undefined; None if it is not."""
        if not np.isnan(self.values[row, column]):
            return None
        measure = self.measures[column]
        reason = case_reason(self.judged, measure, row) or range_reason(self.judged, measure, row)
        return reason or computed_nan_reason(measure)

    def reasons(self, column: int) -> list[str | None]:
        """Why the values of a measure are undefined, case by case; cases that are alike share their reason."""
        undefined = np.flatnonzero(np.isnan(self.values[:, column]))
        kinds = undefined if by_score(self.measures[column]) else kinds_of_cases(self.judged)[undefined]
        _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
        known = [self.reason(row, column) for row in undefined[first].tolist()]
        reasons: list[str | None] = [None] * len(self.values)
        for row, each in zip(undefined.tolist(), kind.tolist(), strict=True):
            reasons[row] = known[each]
        return reasons

    def frame(self) -> pl.DataFrame:
        """One row per case and measure; ``value`` is null where it is undefined, and ``reason`` says why."""
        status = [STATUSES[each] for each in self.judged.status.tolist()]
        reasons = [self.reasons(column) for column in range(len(self.measures))]
        return score_frame(self.judged.run.named, self.judged.suite.table, status, self.names, self.values, reasons)

    def __repr__(self) -> str:
        means = listed([f"{name} {mean:.4f}" for name, mean in self.means().items()], 3)
        return on_a_line(f"Scores({quoted(self.judged.run.name)} on {quoted(self.judged.suite.name)}: {means})")

    def summaries(self, rows: NDArray[np.intp] | None = None) -> dict[str, Summary]:
        """Every measure over all cases, or over some of them, with its interval."""
        judged = self.judged
        rows = np.arange(len(judged.suite)) if rows is None else rows
        rows = rows[judged.status[rows] != NOT_RUN]
        ranges = [(measure.low, measure.high) for measure in self.measures]
        intervals = mean_intervals(self.values[rows], clusters_of(judged.suite, rows), ranges)
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
        defined, answered = ~np.isnan(values), self.judged.status[rows] == OK
        return Summary(
            mean=geometric_mean(values) if defined.any() else None,
            median=None,
            std=None,
            low=None,
            high=None,
            cases=int(defined.sum()),
            answered_mean=geometric_mean(values[answered]) if (defined & answered).any() else None,
            undefined=int((~defined & self.judged.answerable[rows]).sum()),
        )

    def _summary(
        self, measure: AnyMeasure, values: Floats, rows: NDArray[np.intp], interval: tuple[float, float] | None
    ) -> Summary:
        defined = ~np.isnan(values)
        kept = values[defined]
        only_unanswerable = any(part.definition.unanswerable for part in measure.parts)
        answered = values[defined & (self.judged.status[rows] == OK)]
        applies = self.judged.answerable[rows] != only_unanswerable
        expression = getattr(measure, "expression", None)
        with np.errstate(over="ignore"):  # exponential gains of absurd grades: infinite is the truth then
            deviation = float(np.std(kept, ddof=1)) if len(kept) > 1 else None
        return Summary(
            mean=float(np.mean(kept)) if len(kept) else None,
            median=float(np.median(kept)) if len(kept) else None,
            std=deviation,
            low=interval[0] if interval else None,
            high=interval[1] if interval else None,
            cases=len(kept),
            answered_mean=float(np.mean(answered)) if len(answered) and not only_unanswerable else None,
            undefined=int((~defined & applies).sum()),
            definition=None if expression == measure.name else expression,
        )


def score(judged: Judged, measures: Iterable[str | AnyMeasure] | None = None) -> Scores:
    """Compute measures for every case, by name; without names those that suit the suite."""
    wanted = parse_measures(default_measures(judged.suite) if measures is None else measures, judged.suite.defaults)
    values = np.empty((len(judged.suite), len(wanted)))
    refuse_unpaid_grades(wanted, judged.suite)
    not_run, traits = judged.status == NOT_RUN, traits_of(judged)
    for column, measure in enumerate(wanted):
        values[:, column] = measure.compute(judged.hits)
        values[not_run | undefined_cases(measure, traits), column] = np.nan
    return Scores(judged, tuple(wanted), values)


def default_measures(suite: Suite) -> list[str]:
    """Those that the suite names as its own, or the usual ones of its kind and those that its judgments ask for."""
    if suite.defaults.measures:
        return list(suite.defaults.measures)
    by_line = suite.kind == "gold-set" and bool(about_lines(suite).any())
    names = list(MEASURES_OF_LINES if by_line else DEFAULT_MEASURES if suite.kind is None else MEASURES_OF[suite.kind])
    if suite.table.unanswerable is not None:
        names.append("Abstain")
    if suite.judgments.ranks is not None:
        names.append("Tau")
    if suite.judgments.has_ranges:
        names.append("InRange")
    return names


def clusters_of(suite: Suite, rows: NDArray[np.intp]) -> Clusters:
    """What each case is one observation with: the cases of its origin or targets, or only itself; None if all stand alone."""
    return None if suite.clusters is None else suite.clusters[rows]


def distrust(scores: Scores, error_limit: float = ERROR_LIMIT) -> Iterator[Distrust]:
    """Every reason not to rely on these scores."""
    status, ids = scores.judged.status, scores.judged.suite.table.ids
    not_run = tuple(ids[row] for row in np.flatnonzero(status == NOT_RUN))
    if not_run:
        yield Distrust("cases_not_run", f"{len(not_run)} of {len(status)} cases were not run", not_run)
    for event in sorted(scores.judged.run.provenance.trust, key=lambda event: (event.kind, event.message)):
        if event.spoils:
            yield Distrust(event.kind, event.message)
    failed = tuple(ids[row] for row in np.flatnonzero(np.isin(status, (ERROR, TIMEOUT))))
    if len(failed) > error_limit * len(status):
        message = f"{len(failed)} of {len(status)} cases ended in an error or a time-out, more than {error_limit:.0%}"
        yield Distrust("too_many_failures", f"{message}{most_frequent_failure(scores.judged)}", failed)
    yield from broken(scores.judged)


def untrusted_because(scores: Scores, error_limit: float = ERROR_LIMIT) -> list[str]:
    """Why these scores cannot be relied on, in sentences; empty if they can."""
    return [reason.message for reason in distrust(scores, error_limit)]


def segment_rows(suite: Suite, by: str) -> dict[str, NDArray[np.intp]]:
    """The cases of every value of ``category``, ``tag``, ``origin`` or a field of the cases; tags may overlap."""
    rows: dict[str, list[int]] = {}
    for row, values in enumerate(_segment_values(suite.table, by)):
        for value in dict.fromkeys(values):
            rows.setdefault(value, []).append(row)
    if not rows:
        known = ", ".join(segment_names(suite)) or "none"
        raise UsageError(f"no case of the suite {suite.name!r} has a field {by!r}; it can be split by: {known}")
    return {value: np.array(rows[value], np.intp) for value in sorted(rows)}


def category_name(suite: Suite, wanted: str | int) -> str:
    """The name of a category that may be given by its number."""
    categories = suite.table.categories or ()
    if str(wanted) in categories:
        return str(wanted)
    for category, fields in zip(categories, suite.table.fields or (), strict=False):
        if str(fields.get("category_number")) == str(wanted):
            return category or str(wanted)
    return str(wanted)


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
