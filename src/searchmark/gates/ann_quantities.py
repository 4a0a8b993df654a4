"""The number that a bound may be about and that only an agent over vectors can state: the recall of its index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.gates.quantities import details_at, extreme_cases
from searchmark.gates.segments import Rows
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import OK, AnswerDetails


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
        found = [each.ann_recall for each in details_at(scores, rows) if each.ann_recall is not None and self._fits(scores, each)]
        known, answered = self._known(scores, rows)
        return fsum(found) / len(found) if found and known == answered else None

    def _known(self, scores: Scores, rows: Rows) -> tuple[int, int]:
        """Of how many answers with hits it is known, and how many there are."""
        answered = details_at(scores, rows[scores.judged.status[rows] == OK])
        return sum(each.ann_recall is not None and self._fits(scores, each) for each in answered), len(answered)

    def _fits(self, scores: Scores, details: AnswerDetails) -> bool:
        held = {each.count for each in scores.judged.run.provenance.vectors}
        return details.ann_k == self.k or (details.ann_k is not None and details.ann_k < self.k and details.ann_k in held)

    def why_missing(self, scores: Scores) -> str:
        every = np.arange(len(scores.judged.suite))
        measured = sorted({each.ann_k for each in details_at(scores, every) if each.ann_k is not None})
        others = [k for k in measured if k != self.k]
        known, answered = self._known(scores, every)
        if not measured and len(arms := _arms_with_vectors(scores)) > 1:
            named = ", ".join(arms)
            return f"several arms have an index ({named}), and of several there is no single number; evaluate one of them alone"
        if not measured:
            return "the run says nothing about ANN recall; agents over vectors state it unless measure_recall is false"
        if known < answered and others:
            other = f"or ask for ann_recall: {others[-1]}"
            return f"it was measured at k = {_listed(others)}; set recall_k: {self.k} of the agent, {other}"
        return f"it is known for {known} of {answered} answers"

    def worst(self, scores: Scores, rows: Rows, *, high_is_bad: bool) -> tuple[str, ...]:
        return extreme_cases(scores, rows, lambda each: each.ann_recall, high_is_bad)


def _arms_with_vectors(scores: Scores) -> list[str]:
    return list(dict.fromkeys(each.arm for each in scores.judged.run.provenance.vectors if each.arm is not None))


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))
