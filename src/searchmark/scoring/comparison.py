"""Two or more runs on one suite: paired differences with evidence, and a verdict that may be "not enough evidence".

A pair is compared on the cases where both values are defined; cases of one origin count as one observation. `verdicts` holds
the rule, `families` says which comparisons are adjusted together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from searchmark.analysis.churn import Churn, TellingCase, churn_between, first_hits_of, telling_cases
from searchmark.analysis.difference_frames import difference_frame, difference_rows
from searchmark.analysis.families import Adjusted, adjusted
from searchmark.analysis.intervals import SAME
from searchmark.analysis.paired_evidence import Question, Rows, evidence_for, exact_mean
from searchmark.analysis.power import VerdictRule, cases_needed, detectable_difference
from searchmark.analysis.scores import Scores, segment_rows, untrusted_because
from searchmark.analysis.verdicts import Difference, Judgement, PairedEvidence, judge_difference, undone_by_failures
from searchmark.comparability import Mismatch, check_judged, mismatches
from searchmark.errors import UsageError
from searchmark.measures.grammar import parse_measure
from searchmark.measures.undefined import no_verdict_because, refuse_over_cases
from searchmark.options.compare_options import CompareOptions
from searchmark.records import ERROR, TIMEOUT, display_names
from searchmark.records.frames import Framed
from searchmark.records.shown import listed, on_a_line, quoted

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Pair:
    """All that is known about two runs. ``primary`` is the measure that the comparison was made for.

    ``mismatches`` is why differences of theirs are INVALID.
    """

    baseline: str
    candidate: str
    primary: str
    differences: tuple[Difference, ...]
    segments: Mapping[str, Mapping[str, tuple[Difference, ...]]]
    telling: tuple[TellingCase, ...]
    churn: Churn
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def main(self) -> Difference:
        """The difference on the primary measure."""
        return next(found for found in self.differences if found.measure == self.primary)


@dataclass(frozen=True, repr=False)
class Comparison(Framed, Sequence[Pair]):
    """Every pair of runs that were compared on one suite, in their order."""

    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, row: int) -> Pair: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, row: int | slice) -> Pair | tuple[Pair, ...]:
        return self.pairs[row]

    def frame(self) -> pl.DataFrame:
        """One row per pair, segment and measure; ``by`` and ``segment`` are null for all cases together."""
        return difference_frame([row for pair in self.pairs for row in difference_rows(pair.differences, pair.segments)])

    def __repr__(self) -> str:
        ended = [(f"{quoted(each.candidate)} against {quoted(each.baseline)}", each.main) for each in self.pairs]
        return on_a_line(f"Comparison({listed([f'{who}: {found.verdict} by {found.measure}' for who, found in ended], 3)})")


class CaseSubset(NamedTuple):
    """Some cases: those with a value of a field, or all of them."""

    by: str | None = None
    value: str = ""


EVERYTHING = CaseSubset()


class SegmentQuestion(NamedTuple):
    """One question in one segment."""

    segment: CaseSubset
    question: Question


def compare(scores: Sequence[Scores], by: Sequence[str] = (), options: CompareOptions = CompareOptions()) -> Comparison:
    """Compare every pair of runs; the first of a pair, in the order given, is its baseline, unless one is named for all."""
    check_judged([each.judged for each in scores], [each.names for each in scores])
    return Comparison(tuple(RunComparison(scores, by, options).pairs()))


def unique_names(scores: Sequence[Scores]) -> list[str]:
    """A name for each run, made from its label."""
    return display_names([each.judged.run.label for each in scores])


def check_baseline(baseline: str | None, names: Sequence[str]) -> None:
    if baseline is not None and baseline not in names:
        raise UsageError(f"the baseline {baseline!r} is not among the runs: {', '.join(names)}")


def primary_column(scores: Scores, primary: str | None) -> int:
    """The column of the measure that the comparison is made for: the one declared, or the first that tells of quality."""
    if primary is None:
        return next((column for column, measure in enumerate(scores.measures) if measure.decides), 0)
    measure = parse_measure(primary)
    refuse_over_cases(measure, "compared case by case")
    name = scores.known_as(measure)
    if name is None:
        raise UsageError(f"the primary measure {measure.name!r} is not among those that are computed: {', '.join(scores.names)}")
    return scores.names.index(name)


class RunComparison:
    """One call of `compare`: the evidence on every look, then the families, then the verdicts."""

    def __init__(self, scores: Sequence[Scores], by: Sequence[str], options: CompareOptions) -> None:
        self._scores, self._by, self._options = scores, by, options
        self._names = unique_names(scores)
        self._primary = primary_column(scores[0], options.primary)
        self._pairs = _pairs_of(self._names, options.baseline)
        self._untrusted = [untrusted_because(each) for each in scores]
        self._mismatches = {pair: self._mismatched(*pair) for pair in self._pairs}
        self._rows = _rows_of(scores[0], by)
        self._evidence = self._gathered()
        self._adjusted = self._families()

    def pairs(self) -> list[Pair]:
        first_hits = [first_hits_of(each) for each in self._scores]
        return [
            Pair(
                baseline=self._names[first],
                candidate=self._names[second],
                primary=self._scores[0].names[self._primary],
                differences=self._differences(EVERYTHING, first, second),
                segments={
                    name: {each.value: self._differences(each, first, second) for each in self._rows if each.by == name}
                    for name in self._by
                },
                telling=tuple(telling_cases(self._scores[first], self._scores[second], self._primary)),
                churn=churn_between(first_hits[first], first_hits[second]),
                mismatches=self._mismatches[first, second],
            )
            for first, second in self._pairs
        ]

    def _gathered(self) -> dict[SegmentQuestion, PairedEvidence]:
        columns = range(len(self._scores[0].measures))
        questions = [Question(*pair, column) for pair in self._pairs for column in columns]
        return {
            SegmentQuestion(segment, question): evidence
            for segment, rows in self._rows.items()
            for question, evidence in evidence_for(self._scores, questions, rows).items()
        }

    def _families(self) -> dict[SegmentQuestion, Adjusted]:
        """The looks that may become verdicts, each with its p adjusted for its family."""
        questions = [Question(*pair, self._primary) for pair in self._pairs]
        primary = adjusted(
            self._evidence, [SegmentQuestion(EVERYTHING, question) for question in questions if not self._invalid(question)]
        )
        verdicts = {look.question: self._verdict(look, found).verdict for look, found in primary.items()}
        shown = [question for question, verdict in verdicts.items() if verdict in ("IMPROVED", "REGRESSED")]
        return primary | adjusted(self._evidence, [look for question in shown for look in self._further(question)])

    def _further(self, primary: Question) -> list[SegmentQuestion]:
        """What becomes a question once the primary measure of a pair is IMPROVED or REGRESSED."""
        others = [column for column, measure in enumerate(self._scores[0].measures) if measure.decides]
        questions = [primary._replace(column=column) for column in others if column != primary.column]
        looks = [SegmentQuestion(EVERYTHING, question) for question in questions if not self._invalid(question)]
        return [*looks, *(SegmentQuestion(segment, primary) for segment in self._rows if segment != EVERYTHING)]

    def _mismatched(self, first: int, second: int) -> tuple[Mismatch, ...]:
        """What spoils a pair for one of the measures at least."""
        one, other = (self._scores[run].judged.run for run in (first, second))
        found = mismatches(one, other, (self._names[first], self._names[second]))
        return tuple(each for each in found if any(map(each.concerns, self._scores[0].measures)))

    def _invalid(self, question: Question) -> str | None:
        """Why a measure of two runs cannot be compared; None if it can."""
        pair, measure = (question.baseline, question.candidate), self._scores[0].measures[question.column]
        untrusted = [f"{self._names[run]} ({'; '.join(self._untrusted[run])})" for run in pair if self._untrusted[run]]
        if untrusted:
            return f"untrusted: {' and '.join(untrusted)}"
        return "; ".join(each.sentence for each in self._mismatches[pair] if each.concerns(measure)) or None

    def _differences(self, segment: CaseSubset, first: int, second: int) -> tuple[Difference, ...]:
        columns = range(len(self._scores[0].measures))
        return tuple(self._difference(SegmentQuestion(segment, Question(first, second, column))) for column in columns)

    def _difference(self, look: SegmentQuestion) -> Difference:
        question, evidence = look.question, self._evidence[look]
        family = self._adjusted.get(look)
        judgement = self._judgement(look)
        error = evidence.error if evidence.error is not None and evidence.error > SAME else None
        rule = None if family is None or error is None else VerdictRule(self._options.min_effect, max(1, family.family))
        invalid = judgement.verdict == "INVALID"
        return Difference(
            baseline=self._names[question.baseline],
            candidate=self._names[question.candidate],
            measure=self._scores[0].names[question.column],
            cases=evidence.cases,
            baseline_mean=self._baseline_mean(look),
            difference=evidence.mean,
            low=evidence.low,
            high=evidence.high,
            p=evidence.p,
            p_holm=None if family is None else family.p,
            family=0 if family is None else family.family,
            effect_size=None if error is None or evidence.mean is None else evidence.mean / (error * sqrt(evidence.observations)),
            wins=evidence.wins,
            ties=evidence.ties,
            losses=evidence.losses,
            independent=evidence.observations,
            detectable=None if rule is None or error is None else detectable_difference(error, evidence.observations, rule),
            cases_needed=None if rule is None else cases_needed(evidence, rule),
            too_small=rule is not None and abs(evidence.mean or 0.0) <= rule.min_effect,
            non_inferior=None if evidence.low is None or invalid else evidence.low > -self._options.margin,
            verdict=judgement.verdict,
            reason=judgement.reason,
            undone=judgement.undone,
        )

    def _baseline_mean(self, look: SegmentQuestion) -> float | None:
        question, rows = look.question, self._rows[look.segment]
        before, after = (self._scores[run].values[rows, question.column] for run in (question.baseline, question.candidate))
        return exact_mean(before[~np.isnan(before) & ~np.isnan(after)])

    def _judgement(self, look: SegmentQuestion) -> Judgement:
        question, measure = look.question, self._scores[0].measures[look.question.column]
        invalid = self._invalid(question)
        if invalid is not None:
            return Judgement("INVALID", invalid)
        if not measure.decides:
            return Judgement("EXPLORATORY", no_verdict_because(measure))
        family = self._adjusted.get(look)
        if family is None:
            return Judgement("EXPLORATORY", self._why_exploratory(look))
        return self._verdict(look, family)

    def _verdict(self, look: SegmentQuestion, family: Adjusted) -> Judgement:
        found = judge_difference(self._evidence[look], family.p, self._options.min_effect, family.family)
        if self._without_failures(look, family) not in (None, found.verdict):
            return undone_by_failures(found.verdict)
        return found

    def _why_exploratory(self, look: SegmentQuestion) -> str:
        primary = self._scores[0].names[self._primary]
        if look.segment != EVERYTHING and look.question.column != self._primary:
            return f"segments are tested by the primary measure, {primary}"
        question = look.question._replace(column=self._primary)
        if self._invalid(question) or self._evidence[SegmentQuestion(EVERYTHING, question)].p is None:
            return f"the primary measure, {primary}, cannot be compared; --primary names another one"
        return f"the primary measure, {primary}, is neither IMPROVED nor REGRESSED"

    def _without_failures(self, look: SegmentQuestion, family: Adjusted) -> str | None:
        """The verdict on the cases that neither side failed on, with the same correction; None if neither failed on any."""
        question, rows, whole = look.question, self._rows[look.segment], self._evidence[look]
        failed = np.zeros(len(rows), bool)
        for run in (question.baseline, question.candidate):
            failed |= np.isin(self._scores[run].judged.status[rows], (ERROR, TIMEOUT))
        if not failed.any() or not whole.p or family.p is None:
            return None
        (left,) = evidence_for(self._scores, [question], rows[~failed]).values()
        p = None if left.p is None else min(1.0, left.p * family.p / whole.p)
        return judge_difference(left, p, self._options.min_effect, family.family).verdict


def _rows_of(scores: Scores, by: Sequence[str]) -> dict[CaseSubset, Rows]:
    """The cases of every segment; one that holds all cases would only be the suite again."""
    suite = scores.judged.suite
    rows: dict[CaseSubset, Rows] = {EVERYTHING: np.arange(len(suite))}
    for name in by:
        rows |= {CaseSubset(name, value): found for value, found in segment_rows(suite, name).items() if len(found) < len(suite)}
    return rows


def _pairs_of(names: list[str], baseline: str | None) -> list[tuple[int, int]]:
    """Whom to compare with whom; the baseline of a pair comes first."""
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    check_baseline(baseline, names)
    first = names.index(baseline)
    return [(first, other) for other in range(len(names)) if other != first]
