"""The numbers that a bound may be about: means of measures, percentiles of latency, cost, index, memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, isnan
from typing import Protocol

import numpy as np

from searchmark.analysis.hosts import not_pooled, on_several_hosts
from searchmark.analysis.latencies import latencies_in
from searchmark.analysis.over_cases import geometric_mean
from searchmark.analysis.scores import Scores
from searchmark.gates.segments import Rows
from searchmark.measures.grammar import AnyMeasure
from searchmark.measures.words import named
from searchmark.records import OK, AnswerDetails

_SECONDS = " s"
MOST_CASES = 20  # that are named as the cause
_TIMES: dict[str, Callable[[AnswerDetails], Sequence[float]]] = {
    "cold": lambda each: each.cold_ms,
    "warm": lambda each: each.warm_ms,
    "first_hit": lambda each: () if each.first_hit_ms is None else (each.first_hit_ms,),
    "index_only": lambda each: each.index_warm_ms or (() if each.index_cold_ms is None else (each.index_cold_ms,)),
}
_ONLY_WITH_HITS = ("first_hit", "index_only")  # an answer without hits has no first one, and may have asked no index


class GatedNumber(Protocol):
    """A number of a run."""

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """What must be computed for it."""

    @property
    def unit(self) -> str: ...

    def subject(self, scores: Scores | None) -> str:
        """What it is called."""

    def words(self, scores: Scores | None) -> str:
        """What it is called in a sentence."""

    def value(self, scores: Scores, rows: Rows) -> float | None:
        """The number over some cases; None if the run does not have it."""

    def why_missing(self, scores: Scores) -> str: ...

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        """The cases that speak most against the run."""


@dataclass(frozen=True)
class MeanOf:
    """The mean of a measure; ``asked`` is the word that the user has for it."""

    measure: AnyMeasure
    asked: str
    unit: str = ""

    @property
    def measures(self) -> tuple[AnyMeasure]:
        return (self.measure,)

    @property
    def low(self) -> float:
        return self.measure.low

    @property
    def high(self) -> float:
        return self.measure.high

    def subject(self, scores: Scores | None) -> str:
        if scores is None:
            return self.measure.name
        return scores.known_as(self.measure) or self.measure.resolve(scores.judged.suite.defaults).name

    def words(self, scores: Scores | None) -> str:
        return named(self.asked, self.subject(scores))

    def value(self, scores: Scores, rows: Rows) -> float | None:
        values = self._values(scores, rows)
        defined = values[~np.isnan(values)]
        if not self.measure.per_case:
            return geometric_mean(defined) if len(defined) else None
        return fsum(defined.tolist()) / len(defined) if len(defined) else None

    def why_missing(self, scores: Scores) -> str:
        name = scores.known_as(self.measure)
        reason = None if name is None or not len(scores.values) else scores.reason(0, scores.names.index(name))
        return reason or "it is defined for none of these cases"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        """Those that are no better than the mean, from the worst on."""
        values, mean = self._values(scores, rows), self.value(scores, rows)
        if mean is None:
            return ()
        badness = values if high_is_bad else -values
        bad = [row for row in np.argsort(-badness, kind="stable") if badness[row] >= (mean if high_is_bad else -mean)]
        return tuple(scores.judged.suite.table.ids[rows[row]] for row in bad[:MOST_CASES])

    def _values(self, scores: Scores, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        name = scores.known_as(self.measure)
        if name is None:
            return np.full(len(rows), np.nan)
        column = scores.names.index(name)
        return (scores.values[:, column] if self.measure.per_case else scores.behind(column))[rows]


@dataclass(frozen=True)
class LatencyOf:
    """A percentile of one kind of latency, in milliseconds; there is none of a run that was measured on several hosts."""

    kind: str
    percentile: str
    unit: str = " ms"
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return f"latency {self.kind}.{self.percentile}"

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        if on_several_hosts(scores.judged.run):
            return None
        expected = self._timed(scores, rows)
        found = latencies_in(details_at(scores, rows)).get(self.kind)
        if found is None or self._known(expected) < len(expected):
            return None
        return float(getattr(found, self.percentile))

    def _timed(self, scores: Scores, rows: Rows) -> list[AnswerDetails]:
        """The answers that should have such a time."""
        return details_at(scores, rows[scores.judged.status[rows] == OK] if self.kind in _ONLY_WITH_HITS else rows)

    def _known(self, details: Sequence[AnswerDetails]) -> int:
        """How many answers have such a time; a search that failed need not have one."""
        return sum(bool(_TIMES[self.kind](each)) or each.failure is not None for each in details)

    def why_missing(self, scores: Scores) -> str:
        if on_several_hosts(scores.judged.run):
            return f"it was {not_pooled(scores.judged.run)}"
        details = self._timed(scores, np.arange(len(scores.judged.suite)))
        name = f"{self.kind.replace('_', ' ')} latency"
        known = self._known(details)
        return f"it is known for {known} of {len(details)} answers" if known else f"this run has no {name}"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: max(_TIMES[self.kind](each), default=None), high_is_bad)


@dataclass(frozen=True)
class CostOf:
    """What answers have cost, where the agent says so: all together, or one of them."""

    part: str
    unit: str = ""
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return "cost per query" if self.part == "per_query" else "total cost"

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        details = details_at(scores, rows)
        costs = [each.cost for each in details if each.cost is not None]
        if not costs or len(costs) < len(details):
            return None
        return fsum(costs) / (len(costs) if self.part == "per_query" else 1)

    def why_missing(self, scores: Scores) -> str:
        details = scores.judged.run.details or ()
        known = sum(each.cost is not None for each in details)
        return f"it is known for {known} of {len(details)} answers" if known else "the agent does not say what its answers cost"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.cost, high_is_bad)


@dataclass(frozen=True)
class WholeRun:
    """A number of the run as a whole: size or time of its index, its memory."""

    name: str
    unit: str
    number: Callable[[Scores], float | None]
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return self.name

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        whole = len(rows) == len(scores.judged.suite)
        return self.number(scores) if whole else None

    def why_missing(self, scores: Scores) -> str:
        if self.unit == _SECONDS and on_several_hosts(scores.judged.run):
            return f"it was {not_pooled(scores.judged.run)}"
        return f"this run does not know its {self.name}, or not for some of the cases alone"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:  # noqa: ARG002  # no single case
        return ()


def index_bytes(scores: Scores) -> float | None:
    index = scores.judged.run.provenance.index
    return None if index is None or index.bytes is None else float(index.bytes)


def index_seconds(scores: Scores) -> float | None:
    index = scores.judged.run.provenance.index
    return None if index is None else index.seconds


def memory_bytes(scores: Scores) -> float | None:
    known = scores.judged.run.provenance.memory_bytes
    return None if known is None else float(known)


def details_at(scores: Scores, rows: Rows) -> list[AnswerDetails]:
    """The details of the answers to some cases."""
    run, ids = scores.judged.run, scores.judged.suite.table.ids
    if run.details is None:
        return []
    return [run.details[run.index[case]] for row in rows if (case := ids[row]) in run.index]


def extreme_cases(scores: Scores, rows: Rows, value: Callable[[AnswerDetails], float | None], high_is_bad: bool) -> tuple[str, ...]:
    run, ids = scores.judged.run, scores.judged.suite.table.ids
    details = run.details or ()
    known = {ids[row]: found for row in rows if details and (found := value(details[run.index[ids[row]]])) is not None}
    ordered = sorted(known, key=lambda case: -known[case] if high_is_bad else known[case])
    return tuple(case for case in ordered if not isnan(known[case]))[:MOST_CASES]
