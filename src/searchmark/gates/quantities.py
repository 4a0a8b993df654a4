"""The numbers that a bound may be about, of which cases, and how they are written beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, isnan
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from searchmark.config.gates import GATE_POLICIES, FixtureMetric, NumberBound
from searchmark.formats.detection import snake_case
from searchmark.formats.suites.fixtures import BaselineCase
from searchmark.formats.suites.source import as_whole
from searchmark.measures.catalogue import both_names
from searchmark.measures.grammar import AnyMeasure, Measure, parse_measure
from searchmark.measures.hits import GradedHits
from searchmark.records.answers import OK, AnswerDetails
from searchmark.records.columns import Ints
from searchmark.records.judgments import NO_RANK
from searchmark.records.sentences import count_of
from searchmark.records.suite import Defaults, Suite
from searchmark.scoring.comparability import depth_reached
from searchmark.scoring.costs import is_on_several_hosts, latencies_in, tokens_in, usage_in, why_not_pooled
from searchmark.scoring.match import MatchedRun
from searchmark.scoring.scores import Scores, category_name, geometric_mean, segment_names, segment_rows

# Which cases a rule is about: all of them, or those with one value of a field.

Rows = NDArray[np.intp]


class CaseSegment(NamedTuple):
    """A field of the cases and one of its values; without a field all cases."""

    by: str | None = None
    value: str = ""

    @property
    def where(self) -> dict[str, str]:
        return {} if self.by is None else {self.by: self.value}

    @property
    def words(self) -> str:
        """As it stands in a sentence, after the number that it is about."""
        return "" if self.by is None else f" in {self.by} {self.value}"


EVERYTHING = CaseSegment()


def segment_of(where: Mapping[str, str | int] | None) -> CaseSegment:
    """The segment that a rule names."""
    if not where:
        return EVERYTHING
    ((by, value),) = where.items()
    return CaseSegment(by, str(value))


def segment_of_suite(suite: Suite, segment: CaseSegment) -> CaseSegment:
    """The segment under the name that the suite has for it: categories may be given by number."""
    if segment.by != "category":
        return segment
    return segment._replace(value=category_name(suite, segment.value))


def rows_of(suite: Suite, segment: CaseSegment) -> Rows | None:
    """The cases of a segment; None if there are none."""
    if segment.by is None:
        return np.arange(len(suite))
    if segment.by not in (*segment_names(suite), "tags"):
        return None
    return segment_rows(suite, segment.by).get(segment_of_suite(suite, segment).value)


# Numbers of a run that a bound may be about: means of measures, percentiles of latency, cost, index, memory.

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
        """The cases that are worst for the run."""


@dataclass(frozen=True)
class MeanOf:
    """The mean of a measure."""

    measure: AnyMeasure
    label: str  # the measure as the user wrote it
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
        return scores.known_as(self.measure) or self.measure.resolve(scores.matched.suite.defaults).name

    def words(self, scores: Scores | None) -> str:
        return both_names(self.label, self.subject(scores))

    def value(self, scores: Scores, rows: Rows) -> float | None:
        values = self._values(scores, rows)
        defined_values = values[~np.isnan(values)]
        if not self.measure.per_case:
            return geometric_mean(defined_values) if len(defined_values) else None
        return fsum(defined_values.tolist()) / len(defined_values) if len(defined_values) else None

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
        return tuple(scores.matched.suite.table.ids[rows[row]] for row in bad[:MOST_CASES])

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
        if is_on_several_hosts(scores.matched.run):
            return None
        expected = self._timed(scores, rows)
        latency = latencies_in(details_at(scores, rows)).get(self.kind)
        if latency is None or self._known(expected) < len(expected):
            return None
        return float(getattr(latency, self.percentile))

    def _timed(self, scores: Scores, rows: Rows) -> list[AnswerDetails]:
        """The answers that should have such a time."""
        return details_at(scores, rows[scores.matched.status[rows] == OK] if self.kind in _ONLY_WITH_HITS else rows)

    def _known(self, details: Sequence[AnswerDetails]) -> int:
        """How many answers have such a time; a search that failed need not have one."""
        return sum(bool(_TIMES[self.kind](each)) or each.failure is not None for each in details)

    def why_missing(self, scores: Scores) -> str:
        if is_on_several_hosts(scores.matched.run):
            return f"it was {why_not_pooled(scores.matched.run)}"
        details = self._timed(scores, np.arange(len(scores.matched.suite)))
        name = f"{self.kind.replace('_', ' ')} latency"
        count = self._known(details)
        return f"it is known for {count} of {len(details)} answers" if count else f"this run has no {name}"

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
        details = scores.matched.run.details or ()
        count = sum(each.cost is not None for each in details)
        return f"it is known for {count} of {len(details)} answers" if count else "the agent does not say what its answers cost"

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
        whole = len(rows) == len(scores.matched.suite)
        return self.number(scores) if whole else None

    def why_missing(self, scores: Scores) -> str:
        if self.unit == _SECONDS and is_on_several_hosts(scores.matched.run):
            return f"it was {why_not_pooled(scores.matched.run)}"
        return f"this run does not know its {self.name}, or not for some of the cases alone"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:  # noqa: ARG002  # no single case
        return ()


def index_bytes(scores: Scores) -> float | None:
    index = scores.matched.run.provenance.index
    return None if index is None or index.bytes is None else float(index.bytes)


def index_seconds(scores: Scores) -> float | None:
    index = scores.matched.run.provenance.index
    return None if index is None else index.seconds


def memory_bytes(scores: Scores) -> float | None:
    memory = scores.matched.run.provenance.memory_bytes
    return None if memory is None else float(memory)


def details_at(scores: Scores, rows: Rows) -> list[AnswerDetails]:
    """The details of the answers to some cases."""
    run, ids = scores.matched.run, scores.matched.suite.table.ids
    if run.details is None:
        return []
    return [run.details[run.index[case]] for row in rows if (case := ids[row]) in run.index]


def extreme_cases(scores: Scores, rows: Rows, value: Callable[[AnswerDetails], float | None], high_is_bad: bool) -> tuple[str, ...]:
    run, ids = scores.matched.run, scores.matched.suite.table.ids
    details = run.details or ()
    values_by_case = {ids[row]: number for row in rows if details and (number := value(details[run.index[ids[row]]])) is not None}
    cases = sorted(values_by_case, key=lambda case: -values_by_case[case] if high_is_bad else values_by_case[case])
    return tuple(case for case in cases if not isnan(values_by_case[case]))[:MOST_CASES]


# A number that only an agent with vectors can state: the recall of its index.


@dataclass(frozen=True)
class AnnRecallOf:
    """The mean share of the true nearest k vectors that were found, where it is known for all answers with hits.

    An index that holds fewer than k vectors is measured at all of them.
    """

    k: int
    unit: str = ""
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return f"ANN recall@{self.k}"

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        recalls = [each.ann_recall for each in details_at(scores, rows) if each.ann_recall is not None and self._fits(scores, each)]
        count, answered = self._known(scores, rows)
        return fsum(recalls) / len(recalls) if recalls and count == answered else None

    def _known(self, scores: Scores, rows: Rows) -> tuple[int, int]:
        """Of how many answers with hits it is known, and how many there are."""
        answered = details_at(scores, rows[scores.matched.status[rows] == OK])
        return sum(each.ann_recall is not None and self._fits(scores, each) for each in answered), len(answered)

    def _fits(self, scores: Scores, details: AnswerDetails) -> bool:
        index_sizes = {each.count for each in scores.matched.run.provenance.vectors}
        return details.ann_k == self.k or (details.ann_k is not None and details.ann_k < self.k and details.ann_k in index_sizes)

    def why_missing(self, scores: Scores) -> str:
        every = np.arange(len(scores.matched.suite))
        k_values = sorted({each.ann_k for each in details_at(scores, every) if each.ann_k is not None})
        others = [k for k in k_values if k != self.k]
        count, answered = self._known(scores, every)
        if not k_values and len(arms := _arms_with_vectors(scores)) > 1:
            names = ", ".join(arms)
            return f"several arms have an index ({names}), and of several there is no single number; evaluate one of them alone"
        if not k_values:
            return "the run says nothing about ANN recall; agents over vectors state it unless measure_recall is false"
        if count < answered and others:
            other = f"or ask for ann_recall: {others[-1]}"
            return f"it was measured at k = {_listed(others)}; set recall_k: {self.k} of the agent, {other}"
        return f"it is known for {count} of {answered} answers"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.ann_recall, high_is_bad)


def _arms_with_vectors(scores: Scores) -> list[str]:
    return list(dict.fromkeys(each.arm for each in scores.matched.run.provenance.vectors if each.arm is not None))


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


# Metrics of fixtures, cut at the k of each case: that of the baseline, of the case, or else the number of ranked documents.
#
# For ``ndcg`` the gains are the expected ranks, n for the first of n documents and 1 for the last; relevance plays no part. It
# decides on ``mrr``, which has no cut, and on ``precision``.

NAMES: dict[FixtureMetric, str] = {"ndcg": "NDCG", "mrr": "MRR", "precision": "Precision"}


@dataclass(frozen=True)
class AtOwnK:
    """The mean of a metric of fixtures; there is none unless each of the cases has a value."""

    metric: FixtureMetric
    fixtures: tuple[BaselineCase, ...] = ()
    unit: str = ""
    measures: tuple[AnyMeasure, ...] = ()
    low: float = 0.0
    high: float = 1.0

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return NAMES[self.metric] if self.metric == "mrr" else f"{NAMES[self.metric]}@k"

    def words(self, scores: Scores | None) -> str:
        return self.subject(scores) if self.metric == "mrr" else f"{self.subject(scores)} (k of each case)"

    def value(self, scores: Scores, rows: Rows) -> float | None:
        values = self._values(scores, rows)
        return None if None in values or not values else fsum(filter(None, values)) / len(values)

    def value_of(self, scores: Scores, row: int) -> float | None:
        """The value of one case."""
        (value,) = self._values(scores, np.array([row]))
        return value

    def why_missing(self, scores: Scores) -> str:
        suite = scores.matched.suite
        reasons = ((suite.table.ids[row], self.why_undefined(scores, row)) for row in range(len(suite)))
        return next((f"case {case}: {reason}" for case, reason in reasons if reason), "there is no case")

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        """Those that are no better than the mean, from the worst on."""
        values, mean = self._values(scores, rows), self.value(scores, rows)
        if mean is None:
            return ()
        sign = -1 if high_is_bad else 1
        badness = {row: sign * (mean - value) for row, value in zip(rows.tolist(), values, strict=True) if value is not None}
        bad = sorted((row for row in badness if badness[row] > 0), key=lambda row: -badness[row])
        return tuple(scores.matched.suite.table.ids[row] for row in bad[:MOST_CASES])

    def why_undefined(self, scores: Scores, row: int) -> str | None:
        """Why a case has no value; None if it has one."""
        return next(self._lacks(scores.matched, row), None)

    def k_of(self, suite: Suite, row: int) -> int | None:
        """Where the metric of a case is cut: at the k of the baseline, at its own field ``k``, or else after all that is ranked."""
        fixture = self._fixture(suite, row)
        fields = suite.table.fields[row] if suite.table.fields is not None else {}
        own_k = as_whole(fields.get("k"))
        return (fixture and fixture.k) or (own_k if own_k and own_k > 0 else None) or _ranked_count(suite, row) or None

    def as_measures(self, suite: Suite, rows: Rows) -> tuple[Suite, dict[int, Measure]]:
        """The suite with the grades that this metric gives, and the measure that it is in every case that it is defined for."""
        judgments = replace(suite.judgments, grades=self._grades(suite, rows))
        graded_suite = replace(suite, judgments=judgments, table=replace(suite.table, order_only=None), defaults=Defaults())
        cuts = {row: k for row in rows.tolist() if (k := self.k_of(suite, row)) and not next(self._suite_lacks(suite, row), None)}
        return graded_suite, {row: self._measure(k) for row, k in cuts.items()}

    def _measure(self, k: int) -> Measure:
        (measure,) = parse_measure(self.metric).parts  # each of these names is one of a measure too
        return replace(measure, cutoff=None if self.metric == "mrr" else k)

    def _fixture(self, suite: Suite, row: int) -> BaselineCase | None:
        return fixture_of(suite.table.ids[row], self.fixtures)

    def _lacks(self, matched: MatchedRun, row: int) -> Iterator[str]:
        suite, k = matched.suite, self.k_of(matched.suite, row)
        if not matched.complete[row]:
            yield "its targets are described, and not named"
        if k is None:
            yield "it has no expected ranking"
        documents = suite.table.documents[row] if suite.table.documents is not None else ()
        least_depth, depth = min(k or 0, len(documents) or k or 0), depth_reached(matched.run)
        if depth is not None and depth < least_depth:
            yield f"its k is {k}, and the answers end after {depth} hits: run again with --depth {least_depth} or more"
        yield from self._suite_lacks(suite, row)

    def _suite_lacks(self, suite: Suite, row: int) -> Iterator[str]:
        """Why a metric is undefined for a case, whatever the run."""
        if self.metric != "ndcg":
            yield from _relevance_lacks(suite, row, self._fixture(suite, row))
        elif not _ranked_count(suite, row):
            yield "it has no expected ranking"

    def _values(self, scores: Scores, rows: Rows) -> list[float | None]:
        matched = scores.matched
        hits = _with_grades(matched, self._grades(matched.suite, rows))
        columns: dict[int, list[float]] = {}
        values: list[float | None] = []
        for row in rows.tolist():
            k = self.k_of(matched.suite, row)
            if k is None or next(self._lacks(matched, row), None):
                values.append(None)
                continue
            if k not in columns:
                columns[k] = self._measure(k).compute(hits).tolist()
            values.append(columns[k][row])
        return values

    def _grades(self, suite: Suite, rows: Rows) -> Ints:
        return _worth_by_rank(suite) if self.metric == "ndcg" else _relevance(suite, self.fixtures, rows)


def fixture_of(case: str, fixtures: Sequence[BaselineCase]) -> BaselineCase | None:
    """What a baseline has on a case; ``HighSimilarityPair`` is ``high_similarity_pair``."""
    exact = next((each for each in fixtures if each.name == case), None)
    return exact or next((each for each in fixtures if snake_case(each.name) == snake_case(case)), None)


def _ranked_count(suite: Suite, row: int) -> int:
    """How many documents a case ranks."""
    ranks = suite.judgments.ranks
    return 0 if ranks is None else int((ranks[slice(*_rows_of(suite, row))] != NO_RANK).sum())


def _rows_of(suite: Suite, row: int) -> tuple[int, int]:
    start, end = suite.judgments.starts[row : row + 2].tolist()
    return start, end


def _worth_by_rank(suite: Suite) -> Ints:
    judgments, ranks = suite.judgments, suite.judgments.ranks
    if ranks is None:
        return np.zeros(len(judgments), np.int64)
    last = np.zeros(len(suite), np.int64)
    np.maximum.at(last, judgments.case, ranks)
    return np.where(ranks == NO_RANK, 0, last[judgments.case] - ranks + 1)


def _is_order_only(suite: Suite, row: int) -> bool:
    return suite.table.order_only is not None and bool(suite.table.order_only[row])


def _targets(suite: Suite, row: int, grades: Any = None) -> set[str]:
    """The targets of a case, or those of them with a mark."""
    start, end = _rows_of(suite, row)
    return {suite.judgments.targets[each] for each in range(start, end) if grades is None or grades[each]}


def _relevance(suite: Suite, fixtures: Sequence[BaselineCase], rows: Rows) -> Ints:
    """1 for what is relevant to some cases: as the suite says, or as the baseline does where the suite is about the order only."""
    relevant = (suite.judgments.grades >= suite.defaults.rel).astype(np.int64)
    for row in rows.tolist() if suite.table.order_only is not None else ():
        if _is_order_only(suite, row):
            fixture = fixture_of(suite.table.ids[row], fixtures)
            start, end = _rows_of(suite, row)
            relevant_docs = set(fixture.relevant_docs if fixture else ())
            relevant[start:end] = [suite.judgments.targets[each] in relevant_docs for each in range(start, end)]
    return relevant


def _relevance_lacks(suite: Suite, row: int, fixture: BaselineCase | None) -> Iterator[str]:
    by_baseline = set(fixture.relevant_docs if fixture else ())
    unknown = sorted(by_baseline - _targets(suite, row))
    if unknown:
        yield f"the baseline says that {unknown[0]!r} is relevant, which is none of its documents"
    if _is_order_only(suite, row):
        if not by_baseline:
            yield "it says in which order documents should come, and not which of them are relevant: list these as 'relevant'"
        return
    relevant = _targets(suite, row, suite.judgments.grades >= suite.defaults.rel)
    if by_baseline and by_baseline != relevant:
        both = (", ".join(sorted(each)) or "nothing" for each in (by_baseline, relevant))
        yield "to the baseline {} is relevant, to the suite {}".format(*both)


def _with_grades(matched: MatchedRun, grades: Ints) -> GradedHits:
    """The hits with other grades for their judgments."""
    case = matched.suite.judgments.case
    rank = matched.matches.of_judgments(matched.matches.rank, 0)
    judgment_rows = np.flatnonzero(rank > 0)
    rows = judgment_rows[np.lexsort((rank[judgment_rows], case[judgment_rows]))]
    return replace(
        matched.hits,
        case=case[rows],
        rank=rank[rows],
        grade=grades[rows],
        target_grade=grades,
        gain=None,
        target_gain=None,
        coverage=None,
    )


# Comparing numbers with bounds, and the sentences about it.

# A mean of six times 0.2 is a hair below 0.2, and must not fail a threshold of 0.2.
ROUNDING = 1e-12

SIGNS: dict[NumberBound, str] = {"at_least": ">=", "above": ">", "at_most": "<=", "below": "<"}

_DIGITS = 4

_DIGITS_OF_BOUND = 12

_MOST_DIGITS = 17

_POLICY_WORDS = {"no-evidence-of-harm": "no evidence of harm"}

_SIGN_OF: dict[str, str] = {str(bound): sign for bound, sign in SIGNS.items()}


def rule_name(subject: str, where: Mapping[str, str], bound: str, expected: float | str) -> str:
    """A rule as it was written."""
    return f"{rule_subject(subject, where)} {expected_text(bound, expected)}"


def rule_subject(subject: str, where: Mapping[str, str]) -> str:
    """What a rule is about, and of which cases; a metric of a fixture is named after it."""
    return "".join([subject, *(f" in {by} {value}" for by, value in where.items() if by != "fixture")])


def expected_text(bound: str, expected: float | str) -> str:
    """The bound and its value."""
    number = f"{expected:.{_DIGITS_OF_BOUND}g}" if isinstance(expected, float | int) else expected
    if bound in GATE_POLICIES:
        margin = f", margin {number.removeprefix('-')}" if bound == "non-inferior" else ""
        return f"against baseline ({_POLICY_WORDS.get(bound, bound)}{margin})"
    return f"{_SIGN_OF.get(bound, bound.replace('_', ' '))} {number}"


def prefix_for(name: str, names: Sequence[str]) -> str:
    """The run, where there are several that a sentence could be about."""
    return f"{name}: " if len(names) > 1 else ""


def expectation_sentence(
    subject: str, bound: NumberBound, expected: float, actual: float | None, *, met: bool, unit: str = ""
) -> str:
    """A sentence about one number and its bound."""
    if actual is None:
        return f"Expected {subject} {SIGNS[bound]} {expected:.12g}{unit}, but there is no such number"
    number = digits_beside_bound(actual, expected)
    if met:
        return f"{subject} is {number}{unit}, as expected ({SIGNS[bound]} {expected:.12g}{unit})"
    return f"Expected {subject} {SIGNS[bound]} {expected:.12g}{unit}, but got {number}{unit}"


def digits_beside_bound(actual: float, expected: float) -> str:
    """A number with as many digits as show on which side of its bound it is; one that is as good as equal reads like it."""
    bound = f"{expected:.{_DIGITS_OF_BOUND}g}"
    if abs(actual - expected) <= ROUNDING:
        return bound
    for digits in range(_DIGITS, _MOST_DIGITS):
        text = f"{actual:.{digits}g}"
        if (float(text) - float(bound)) * (actual - expected) > 0:
            return text
    return repr(actual)


def is_within(bound: NumberBound, actual: float, expected: float) -> bool:
    """Whether a number is on the right side of a bound, rounding errors aside."""
    gap = actual - expected
    return {"at_least": gap >= -ROUNDING, "above": gap > ROUNDING, "at_most": gap <= ROUNDING, "below": gap < -ROUNDING}[bound]


# Numbers that only the agent can state: tokens and further attempts.


@dataclass(frozen=True)
class TokensOf:
    """Tokens per answer, where all answers have them and one counter has counted them; a search that failed need not have any."""

    part: str
    unit: str = " tokens"
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return "tokens in all" if self.part == "total" else f"tokens per answer ({self.part})"

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        details = details_at(scores, rows)
        summaries = list(tokens_in(details).values())
        count = sum(each.tokens is not None or each.failure is not None for each in details)
        return float(getattr(summaries[0], self.part)) if len(summaries) == 1 and count == len(details) else None

    def why_missing(self, scores: Scores) -> str:
        details = details_at(scores, np.arange(len(scores.matched.suite)))
        counters = tokens_in(details)
        if len(counters) > 1:
            return f"they were counted by {' and '.join(counters)}, which cannot be put together"
        count = sum(each.searches for each in counters.values())
        return f"they are known for {count} of {len(details)} answers" if count else "the agent does not say what its answers take"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.tokens, high_is_bad)

    def amounts(self, scores: Scores, cases: Sequence[str]) -> tuple[str, ...]:
        """What each of some cases has of it, in words."""
        return tuple(count_of(each.tokens or 0, "token") for each in _details_of(scores, cases))


@dataclass(frozen=True)
class RetriesOf:
    """Further attempts of searches, where the agent states them of all; a search that failed need not have any."""

    part: str
    unit: str = ""  # its name says what is counted
    measures: tuple[AnyMeasure, ...] = ()

    def subject(self, scores: Scores | None) -> str:  # noqa: ARG002  # the same of every run
        return {"attempts": "further attempts", "searches": "retried searches", "share": "share of retried searches"}[self.part]

    words = subject

    def value(self, scores: Scores, rows: Rows) -> float | None:
        details = details_at(scores, rows)
        retries = usage_in(details).retries
        count = sum(each.retries is not None or each.failure is not None for each in details)
        if retries is None or count < len(details):
            return None
        return {"attempts": retries.total, "searches": retries.positive, "share": retries.positive / retries.searches}[self.part]

    def why_missing(self, scores: Scores) -> str:
        details = details_at(scores, np.arange(len(scores.matched.suite)))
        count = sum(each.retries is not None for each in details)
        return f"it is known for {count} of {len(details)} searches" if count else "the agent does not say whether it tries again"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.retries or None, high_is_bad)

    def amounts(self, scores: Scores, cases: Sequence[str]) -> tuple[str, ...]:
        """What each of some cases has of it, in words."""
        return tuple(count_of(each.retries or 0, "further attempt") for each in _details_of(scores, cases))


def _details_of(scores: Scores, cases: Sequence[str]) -> list[AnswerDetails]:
    run = scores.matched.run
    return [run.details_of(run.index[case]) for case in cases]
