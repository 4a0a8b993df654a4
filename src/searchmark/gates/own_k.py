"""Metrics of fixtures, each cut at the k of its own case: that of the baseline, of the case, or the number of documents ranked.

``ndcg`` gives every ranked document its worth, n for the first to 1 for the last, whatever is relevant. What is relevant
decides on ``mrr``, which has no cut, and on ``precision``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.comparability import depth_reached
from searchmark.files.known_kinds import snake
from searchmark.gates.quantities import MOST_CASES
from searchmark.gates.segments import Rows
from searchmark.judging.judge import Judged
from searchmark.measures import formulas, gains
from searchmark.measures.catalogue import DEFINITIONS
from searchmark.measures.definition import Definition
from searchmark.measures.formulas import GradedHits, Ints
from searchmark.measures.grammar import AnyMeasure, Measure
from searchmark.options.gate_options import FixtureMetric
from searchmark.records import NO_RANK, Defaults, Suite
from searchmark.suites.baseline_metrics import BaselineCase
from searchmark.suites.source import as_whole

NAMES: dict[FixtureMetric, str] = {"ndcg": "NDCG", "mrr": "MRR", "precision": "Precision"}
_DEFINITIONS: dict[FixtureMetric, Definition] = {
    "ndcg": DEFINITIONS["nDCG"],
    "mrr": DEFINITIONS["RR"],
    "precision": DEFINITIONS["P"],
}


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
        suite = scores.judged.suite
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
        return tuple(scores.judged.suite.table.ids[row] for row in bad[:MOST_CASES])

    def why_undefined(self, scores: Scores, row: int) -> str | None:
        """Why a case has no value; None if it has one."""
        return next(self._lacks(scores.judged, row), None)

    def k_of(self, suite: Suite, row: int) -> int | None:
        """Where the metric of a case is cut: at the k of the baseline, at its own field ``k``, or else after all that is ranked."""
        known = self._fixture(suite, row)
        fields = suite.table.fields[row] if suite.table.fields is not None else {}
        said = as_whole(fields.get("k"))
        return (known and known.k) or (said if said and said > 0 else None) or _ranked(suite, row) or None

    def as_measures(self, suite: Suite, rows: Rows) -> tuple[Suite, dict[int, Measure]]:
        """The suite with the grades that this metric gives, and for every case that has a k the measure that it is there."""
        judgments = replace(suite.judgments, grades=self._grades(suite, rows))
        regraded = replace(suite, judgments=judgments, table=replace(suite.table, order_only=None), defaults=Defaults())
        cuts = {row: k for row in rows.tolist() if (k := self.k_of(suite, row))}
        return regraded, {row: Measure(_DEFINITIONS[self.metric], None if self.metric == "mrr" else k) for row, k in cuts.items()}

    def _fixture(self, suite: Suite, row: int) -> BaselineCase | None:
        return fixture_of(suite.table.ids[row], self.fixtures)

    def _lacks(self, judged: Judged, row: int) -> Iterator[str]:
        suite, k = judged.suite, self.k_of(judged.suite, row)
        if not judged.complete[row]:
            yield "its targets are described, and not named"
        if k is None or (self.metric == "ndcg" and not _ranked(suite, row)):
            yield "it has no expected ranking"
        documents = suite.table.documents[row] if suite.table.documents is not None else ()
        wanted, depth = min(k or 0, len(documents) or k or 0), depth_reached(judged.run)
        if depth is not None and depth < wanted:
            yield f"its k is {k}, and the answers end after {depth} hits: run again with --depth {wanted} or more"
        if self.metric != "ndcg":
            yield from _relevance_lacks(suite, row, self._fixture(suite, row))

    def _values(self, scores: Scores, rows: Rows) -> list[float | None]:
        judged = scores.judged
        hits = _regraded(judged, self._grades(judged.suite, rows))
        columns: dict[int, list[float]] = {}
        values: list[float | None] = []
        for row in rows.tolist():
            k = self.k_of(judged.suite, row)
            if k is None or next(self._lacks(judged, row), None):
                values.append(None)
                continue
            if k not in columns:
                columns[k] = self._column(hits, k).tolist()
            values.append(columns[k][row])
        return values

    def _column(self, hits: GradedHits, k: int) -> formulas.Floats:
        if self.metric == "ndcg":
            return gains.ndcg(hits, k=k)
        return formulas.reciprocal_rank(hits) if self.metric == "mrr" else formulas.precision(hits, k=k)

    def _grades(self, suite: Suite, rows: Rows) -> Ints:
        return _worth_by_rank(suite) if self.metric == "ndcg" else _relevance(suite, self.fixtures, rows)


def fixture_of(case: str, fixtures: Sequence[BaselineCase]) -> BaselineCase | None:
    """What a baseline has on a case; ``HighSimilarityPair`` is ``high_similarity_pair``."""
    exact = next((each for each in fixtures if each.name == case), None)
    return exact or next((each for each in fixtures if snake(each.name) == snake(case)), None)


def _ranked(suite: Suite, row: int) -> int:
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
            known = fixture_of(suite.table.ids[row], fixtures)
            start, end = _rows_of(suite, row)
            named = set(known.relevant_docs if known else ())
            relevant[start:end] = [suite.judgments.targets[each] in named for each in range(start, end)]
    return relevant


def _relevance_lacks(suite: Suite, row: int, known: BaselineCase | None) -> Iterator[str]:
    said = set(known.relevant_docs if known else ())
    unknown = sorted(said - _targets(suite, row))
    if unknown:
        yield f"the baseline says that {unknown[0]!r} is relevant, which is none of its documents"
    if _is_order_only(suite, row):
        if not said:
            yield "it says in which order documents should come, and not which of them are relevant"
        return
    relevant = _targets(suite, row, suite.judgments.grades >= suite.defaults.rel)
    if said and said != relevant:
        told = (", ".join(sorted(each)) or "nothing" for each in (said, relevant))
        yield "to the baseline {} is relevant, to the suite {}".format(*told)


def _regraded(judged: Judged, grades: Ints) -> GradedHits:
    """The hits with other grades for their judgments."""
    case = judged.suite.judgments.case
    rank = judged.matches.of_judgments(judged.matches.rank, 0)
    met = np.flatnonzero(rank > 0)
    rows = met[np.lexsort((rank[met], case[met]))]
    return replace(
        judged.hits,
        case=case[rows],
        rank=rank[rows],
        grade=grades[rows],
        target_grade=grades,
        gain=None,
        target_gain=None,
        coverage=None,
    )
