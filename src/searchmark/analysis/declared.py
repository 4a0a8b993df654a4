"""Differences that were asked about before anything was seen: the questions of a gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from searchmark.analysis.comparison import EVERYTHING, CaseSubset, RunComparison, SegmentQuestion
from searchmark.analysis.families import Adjusted, adjusted
from searchmark.analysis.paired_evidence import Question, Rows, evidence_for
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference, PairedEvidence
from searchmark.comparability import check_judged
from searchmark.options.compare_options import CompareOptions


class Declared(NamedTuple):
    """A difference that was asked about before anything was seen, of all cases or of those with a value of a field."""

    candidate: str
    measure: str
    by: str | None = None
    value: str = ""


def declared_differences(
    trials: Sequence[Mapping[str, Scores]], baseline: str, declared: Sequence[Declared], options: CompareOptions = CompareOptions()
) -> list[dict[Declared, Difference]]:
    """What became of each of them, in each of several sets of runs on one suite, every set being one family.

    None of them is exploratory. What takes long is done for all sets at once.
    """
    if not declared:
        return [{} for _ in trials]
    comparisons = [_DeclaredComparison(list(each.values()), baseline, declared, options) for each in trials]
    evidence = _declared_evidence(comparisons)
    return [each.differences(found) for each, found in zip(comparisons, evidence, strict=True)]


class _DeclaredComparison(RunComparison):
    """Differences that were declared, each with its verdict, once their evidence is known."""

    def __init__(self, scores: Sequence[Scores], baseline: str, declared: Sequence[Declared], options: CompareOptions) -> None:
        check_judged([each.judged for each in scores], [each.names for each in scores])
        self._declared = declared
        by = list(dict.fromkeys(each.by for each in declared if each.by is not None))
        super().__init__(scores, by, replace(options, baseline=baseline, primary=declared[0].measure))

    def looks(self) -> Iterator[SegmentQuestion]:
        yield from dict.fromkeys(map(self._look, self._declared))

    @property
    def scores(self) -> Sequence[Scores]:
        return self._scores

    def rows(self, segment: CaseSubset) -> Rows:
        return self._rows[segment]

    def differences(self, evidence: Mapping[SegmentQuestion, PairedEvidence]) -> dict[Declared, Difference]:
        self._evidence = dict(evidence)
        self._adjusted = adjusted(evidence, [look for look in evidence if not self._invalid(look.question)])
        return {each: self._difference(self._look(each)) for each in self._declared}

    def _look(self, declared: Declared) -> SegmentQuestion:
        first, second = (self._names.index(name) for name in (self._options.baseline or "", declared.candidate))
        segment = CaseSubset(declared.by, declared.value)
        column = self._scores[0].names.index(declared.measure)
        # A segment that holds all cases is the suite itself.
        return SegmentQuestion(segment if segment in self._rows else EVERYTHING, Question(first, second, column))

    def _gathered(self) -> dict[SegmentQuestion, PairedEvidence]:
        return {}  # it is worked out for many comparisons together

    def _families(self) -> dict[SegmentQuestion, Adjusted]:
        return {}  # as above


def _declared_evidence(comparisons: Sequence[_DeclaredComparison]) -> list[dict[SegmentQuestion, PairedEvidence]]:
    """The evidence on every look of every comparison."""
    found: list[dict[SegmentQuestion, PairedEvidence]] = [{} for _ in comparisons]
    scores = [table for comparison in comparisons for table in comparison.scores]
    starts = list(accumulate((len(each.scores) for each in comparisons), initial=0))
    places: dict[CaseSubset, dict[Question, tuple[int, SegmentQuestion]]] = {}
    for place, comparison in enumerate(comparisons):
        for look in comparison.looks():
            first, second, column = look.question
            moved = Question(starts[place] + first, starts[place] + second, column)
            places.setdefault(look.segment, {})[moved] = (place, look)
    for segment, questions in places.items():
        for question, evidence in evidence_for(scores, list(questions), comparisons[0].rows(segment)).items():
            place, look = questions[question]
            found[place][look] = evidence
    return found
