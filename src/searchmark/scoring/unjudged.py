"""What labels of unjudged hits could make of the values of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from searchmark.measures.grammar import AnyMeasure, Measure
from searchmark.measures.hits import NEVER, GradedHits
from searchmark.records.answers import OK
from searchmark.records.columns import Bools, Floats, Ints, distinct, texts_at
from searchmark.records.suite import Suite
from searchmark.scoring.matches import DESCRIPTIONS, LINES, TEXT
from searchmark.scoring.scores import Scores
from searchmark.scoring.statistics import EQUAL_WITHIN

DEEPEST = 100  # hits of an answer that may be labelled, for measures without a cutoff


@dataclass(frozen=True, eq=False)
class UnjudgedHits:
    """The unjudged hits of one run, by case and rank; ``document`` is a number for a document in a case, the same in all runs."""

    case: Ints
    rank: Ints
    document: Ints

    def where(self, mask: Bools) -> UnjudgedHits:
        return UnjudgedHits(self.case[mask], self.rank[mask], self.document[mask])

    def first(self, k: int) -> UnjudgedHits:
        return self.where(self.rank <= k)

    def __len__(self) -> int:
        return len(self.case)


def unjudged_hits(runs: Mapping[str, Scores], described: Suite) -> dict[str, UnjudgedHits]:
    """The unjudged hits of every run; ``described`` is the suite with its globs and symbols as they were written."""
    numbers: dict[tuple[int, str], int] = {}
    return {name: _of_run(scores, _named_cases(described, scores), numbers) for name, scores in runs.items()}


def _named_cases(described_suite: Suite, scores: Scores) -> Bools:
    """Cases whose judgments all name documents."""
    match, judged = described_suite.judgments.match, scores.matched
    if described_suite.kind == "labels":  # a pair that is not listed has grade 0
        return np.zeros(len(judged.suite), bool)
    if match is None:
        return judged.answerable & judged.graded
    other = described_suite.judgments.case[np.isin(match, [*DESCRIPTIONS, LINES, TEXT])]
    without = {described_suite.table.ids[row] for row in distinct(other).tolist()}
    named = np.array([case not in without for case in judged.suite.table.ids], bool)
    return np.asarray(judged.answerable & judged.graded & named, bool)


def _of_run(scores: Scores, cases: Bools, numbers: dict[tuple[int, str], int]) -> UnjudgedHits:
    judged, run = scores.matched, scores.matched.run
    answers = np.array([run.index.get(case, -1) for case in judged.suite.table.ids], np.int64)
    rows, starts = run.first_rows(np.where(cases & (judged.status == OK), answers, -1), DEEPEST)
    case = np.repeat(np.arange(len(answers)), np.diff(starts))
    ids = texts_at(run.ids, rows)
    keys = list(zip(case.tolist(), ids, strict=True))
    rank = np.arange(len(rows)) - starts[case] + 1
    if judged.matches.duplicates:
        rank = _distinct_ranks(keys)
    open_to_labels = np.isin(rows, judged.matches.row[(judged.matches.grade >= 0) | ~judged.matches.valid], invert=True) & (
        rank > 0
    )
    if judged.valid is not None:
        open_to_labels &= judged.valid[rows]
    hit_rows = np.flatnonzero(open_to_labels)
    document = np.array([numbers.setdefault(keys[row], len(numbers)) for row in hit_rows.tolist()], np.int64)
    return UnjudgedHits(case[hit_rows], rank[hit_rows], document)


def _distinct_ranks(keys: list[tuple[int, str]]) -> Ints:
    """Ranks among distinct hits of a case, 0 for a hit that repeats another."""
    seen_keys: set[tuple[int, str]] = set()
    ranks, case, rank = [], -1, 0
    for key in keys:
        if key[0] != case:
            case, rank = key[0], 0
        rank += key not in seen_keys
        ranks.append(0 if key in seen_keys else rank)
        seen_keys.add(key)
    return np.array(ranks, np.int64)


def can_be_labelled(measure: AnyMeasure) -> bool:
    """Whether labels of hits decide on a measure in a way that is known here."""
    return all(part.definition.labels and not _by_more_than_labels(part) for part in measure.parts)


def _by_more_than_labels(part: Measure) -> bool:
    """Whether hits without a label count too: directories, those that a label would bring back, grades that pay by a table."""
    return part.options.get("credit") == "dir" or part.judged_only or bool(part.options.get("gains"))


def deepest_rank(measure: AnyMeasure) -> int:
    return max(min(part.cutoff or DEEPEST, DEEPEST) for part in measure.parts)


def with_labels(hits: GradedHits, unjudged: UnjudgedHits, targets: Ints, grade: int) -> GradedHits:
    """The hits with some of them relevant, and one more relevant target in the case of each of ``targets``."""
    case, rank = np.r_[hits.case, unjudged.case], np.r_[hits.rank, unjudged.rank]
    order = np.lexsort((rank, case))
    return replace(
        hits,
        case=case[order],
        rank=rank[order],
        grade=np.r_[hits.grade, np.full(len(unjudged), grade)][order],
        gain=None if hits.gain is None else np.r_[hits.gain, np.full(len(unjudged), float(grade))][order],
        target_case=np.r_[hits.target_case, targets],
        target_grade=np.r_[hits.target_grade, np.full(len(targets), grade)],
        target_gain=None if hits.target_gain is None else np.r_[hits.target_gain, np.full(len(targets), float(grade))],
        coverage=None,  # nobody knows which aspects a label would name
    )


def top_grade(scores: Scores, measure: AnyMeasure) -> int:
    """What an unjudged hit could be worth at most: the highest grade that the suite gives and the measure takes."""
    lowest = max(int(part.options.get("rel", 1)) for part in measure.parts)
    highest = min(int(part.options.get("max", NEVER)) for part in measure.parts)
    return min(max(lowest, int(scores.matched.suite.judgments.grades.max(initial=1))), highest)


@dataclass(frozen=True, eq=False)
class LabelRange:
    """Per case: the value with no unjudged hit relevant, with all of them relevant, and with them left out of the answer."""

    none: Floats
    all: Floats
    condensed: Floats
    unjudged: int


def label_range(scores: Scores, column: int, unjudged: UnjudgedHits) -> LabelRange:
    measure, hits = scores.measures[column], scores.matched.hits
    none = scores.values[:, column]
    within = unjudged.first(deepest_rank(measure))
    labelled_values = measure.compute(with_labels(hits, within, within.case, top_grade(scores, measure)))
    every, left_out = (np.where(np.isnan(none), np.nan, each) for each in (labelled_values, measure.compute(hits.judged_only)))
    return LabelRange(none, every, left_out, len(within))


@dataclass(frozen=True)
class Flip:
    """What labels could make of the difference between two runs, the second being behind."""

    difference: float  # by how much it is behind
    labelled: float  # the second's lead with all labels that favour it
    bound: float  # a lead that no labels exceed; equal to the above where every hit pays for itself
    unjudged: int  # its unjudged hits
    enough: int | None  # relevant ones among them that would put it ahead, None if none would
    cases: int  # for which both have a value

    @property
    def possible(self) -> bool | None:
        """Whether the order could turn round; None if that is not known."""
        return True if self.labelled > EQUAL_WITHIN else False if self.bound <= EQUAL_WITHIN else None


def possible_flip(ahead: Scores, behind: Scores, column: int, of_ahead: UnjudgedHits, of_behind: UnjudgedHits) -> Flip | None:
    """The lead that labels could give the run behind, on the cases where both have a value; None if there are none."""
    defined = ~np.isnan(ahead.values[:, column]) & ~np.isnan(behind.values[:, column])
    if not defined.any():
        return None
    measure = ahead.measures[column]
    pair = _LabelledPair(
        ahead, behind, measure, of_ahead.first(deepest_rank(measure)), of_behind.first(deepest_rank(measure)), defined
    )
    lead = pair.lead(len(pair.favoured))
    additive = all(part.definition.labels == "add up" and part.cutoff for part in measure.parts)
    bound = lead if additive else pair.bound
    difference = float((ahead.values - behind.values)[defined, column].mean())
    return Flip(difference, lead, bound, len(pair.of_behind), pair.enough() if lead > EQUAL_WITHIN else None, int(defined.sum()))


@dataclass(frozen=True, eq=False)
class _LabelledPair:
    """Two runs, their unjudged hits as deep as a measure looks, and the cases where both have a value."""

    ahead: Scores
    behind: Scores
    measure: AnyMeasure
    of_ahead: UnjudgedHits
    of_behind: UnjudgedHits
    defined: Bools

    @cached_property
    def favoured(self) -> Ints:
        """Documents that the run behind ranks higher, those by which it gains most first."""
        above = _rank_of(self.of_behind.document, self.of_ahead)
        gain = 1 / np.log2(self.of_behind.rank + 1.0) - 1 / np.log2(above + 1.0)
        better = np.flatnonzero(gain > 0)
        return self.of_behind.document[better[np.argsort(-gain[better], kind="stable")]]

    @cached_property
    def _hits(self) -> list[GradedHits]:
        """The judged hits of both, as deep as the measure looks."""
        cuts = [part.cutoff for part in self.measure.parts]
        deepest = max((cut or NEVER) for cut in cuts)
        return [_cut(scores.matched.hits, deepest) for scores in (self.ahead, self.behind)]

    def lead(self, labels: int) -> float:
        """The lead of the run behind if the first of these documents are relevant."""
        relevant = self.favoured[:labels]
        marks = [np.isin(unjudged.document, relevant) for unjudged in (self.of_ahead, self.of_behind)]
        targets, grade = self.of_behind.case[marks[1]], top_grade(self.ahead, self.measure)
        runs = zip(self._hits, (self.of_ahead.where(marks[0]), self.of_behind.where(marks[1])), strict=True)
        values = [self.measure.compute(with_labels(hits, unjudged, targets, grade)) for hits, unjudged in runs]
        return float((values[1] - values[0])[self.defined].mean())

    def enough(self) -> int:
        """How many labels put the run behind ahead: a number that does, found by halving."""
        low, high = 0, len(self.favoured)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.lead(middle) > EQUAL_WITHIN else (middle, high)
        return high

    @property
    def bound(self) -> float:
        """The most that the run behind can have less the least that the other can have, which no labels exceed."""
        grade = top_grade(self.ahead, self.measure)
        most = _at_most(self.behind, self.measure, self.of_behind, grade)
        least = _at_least(self.ahead, self.measure, self.of_ahead, self.of_behind, grade)
        return float((most - least)[self.defined].mean())


def _cut(hits: GradedHits, k: int) -> GradedHits:
    return hits.select(hits.rank <= k)


def _rank_of(documents: Ints, unjudged: UnjudgedHits) -> Ints:
    """The rank that a run gives to documents, a very low one to those that it does not have."""
    order = np.argsort(unjudged.document)
    sorted_documents = unjudged.document[order]
    place = np.minimum(np.searchsorted(sorted_documents, documents), max(0, len(sorted_documents) - 1))
    met = sorted_documents[place] == documents if len(sorted_documents) else np.zeros(len(documents), bool)
    return np.where(met, unjudged.rank[order][place] if len(sorted_documents) else 0, NEVER)


def _at_most(scores: Scores, measure: AnyMeasure, unjudged: UnjudgedHits, grade: int) -> Floats:
    """No labels give more: all hits relevant, and no more to be found than today (one target, where there is none)."""
    hits, values = scores.matched.hits, np.zeros(len(scores.values))
    for weight, part in measure.terms:
        hollow = np.setdiff1d(unjudged.case, hits.target_case[hits.target_grade >= int(part.options.get("rel", 1))])
        values += weight * np.minimum(part.compute(with_labels(hits, unjudged, hollow, grade)), part.high)
    return values


def _at_least(scores: Scores, measure: AnyMeasure, own: UnjudgedHits, others: UnjudgedHits, grade: int) -> Floats:
    """No labels leave less: no hit relevant, and as much more to be found as there are unjudged hits."""
    _, first = np.unique(np.r_[own.document, others.document], return_index=True)
    targets = np.r_[own.case, others.case][first]
    none = own.where(np.zeros(len(own), bool))
    return measure.compute(with_labels(scores.matched.hits, none, targets, grade))
