"""Two or more runs on one suite: paired differences with evidence, moved cases, cost of changed queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest
from math import fsum, sqrt
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from searchmark.config.gates import CompareSettings
from searchmark.errors import UsageError
from searchmark.measures.grammar import AnyMeasure, parse_measure, refuse_over_cases, why_no_verdict
from searchmark.records.answers import ERROR, NOT_RUN, OK, TIMEOUT
from searchmark.records.columns import Floats, HasFrame, distinct
from searchmark.records.matching import normal_path, split_line_range
from searchmark.records.provenance import display_names
from searchmark.records.run import Run
from searchmark.records.sentences import fit_line, list_first, quote_name
from searchmark.records.suite import Suite, VariantLink, variant_links
from searchmark.scoring.comparability import Mismatch, check_matched, mismatches, missing_mismatches
from searchmark.scoring.match import target_ranks
from searchmark.scoring.matches import CaseKinds
from searchmark.scoring.scores import Scores, clusters_of, segment_rows
from searchmark.scoring.statistics import (
    EQUAL_WITHIN,
    EQUIVALENCE_LEVEL,
    SHOWN_LEVEL,
    Clusters,
    ConfidenceLevel,
    difference_intervals,
    observations,
    one_sided_size,
    randomisation_p,
    standard_errors,
    statistic_variance,
)
from searchmark.scoring.verdicts import (
    AdjustedP,
    Difference,
    PairedEvidence,
    ReasonedVerdict,
    VerdictRule,
    adjust_family,
    cases_needed,
    decide_difference,
    detectable_difference,
    difference_frame,
    difference_rows,
    undo_by_failures,
)

if TYPE_CHECKING:
    import polars as pl


# What changed for users, case by case: the cases that moved most, and how far two runs agree whatever is right.

MOVED_CASES = 10

CHURN_DEPTH = 10


@dataclass(frozen=True)
class RankMove:
    """Where a relevant target stood before and after; None if it was not returned."""

    target: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class MovedCase:
    """A case that moved much."""

    case: str
    query: str | None
    before: float
    after: float
    moves: tuple[RankMove, ...]


@dataclass(frozen=True)
class Churn:
    """How much changed for users, whatever is right: no judgment is needed for this."""

    cases: int
    first_changed: int
    overlap: float
    parting_depth: float | None


def most_moved_cases(first: Scores, second: Scores, column: int) -> Iterator[MovedCase]:
    """The cases whose measure moved most, with the moves of their relevant targets."""
    before, after = first.values[:, column], second.values[:, column]
    change = after - before
    moved_rows = np.flatnonzero(np.abs(np.nan_to_num(change)) > EQUAL_WITHIN)
    table = first.matched.suite.table
    for row in sorted(moved_rows.tolist(), key=lambda row: (-abs(change[row]), table.ids[row]))[:MOVED_CASES]:
        query = None if table.queries is None else table.queries[row]
        moves = tuple(_rank_moves(first, second, row))
        yield MovedCase(table.ids[row], query, float(before[row]), float(after[row]), moves)


def _rank_moves(first: Scores, second: Scores, row: int) -> Iterator[RankMove]:
    before, after = target_ranks(first.matched, row), target_ranks(second.matched, row)
    return (RankMove(target, rank, after[target]) for target, rank in before.items() if rank != after[target])


def first_hits_of(scores: Scores) -> list[list[str] | None]:
    """The first hits of every case; None where there was no answer."""
    kinds = CaseKinds.of(scores.matched.suite)
    files = bool((kinds.paths | kinds.lines).any())
    cases = zip(scores.matched.suite.table.ids, scores.matched.mentioned.tolist(), strict=True)
    return [_first_hits(scores.matched.run, case, files) if mentioned else None for case, mentioned in cases]


def _first_hits(run: Run, case: str, files: bool) -> list[str] | None:
    """The first distinct hits of an answer; a file has one name, however it is spelt and whichever of its lines are meant.

    Where passages are judged, hits are what they say.
    """
    row = run.index.get(case)
    if row is not None and run.status[row] in (ERROR, TIMEOUT, NOT_RUN):
        return None
    hits = run.ids_of(row) if row is not None and run.status[row] == OK else []
    if run.texts is not None and row is not None and hits:
        hits = [run.texts[hit] or name for name, hit in zip(hits, run.rows_of(row).tolist(), strict=True)]
    names = (normal_path(split_line_range(hit)[0]) for hit in hits) if files else iter(hits)
    first: dict[str, None] = {}
    while len(first) < CHURN_DEPTH and (name := next(names, None)) is not None:
        first[name] = None
    return list(first)


def churn_between(first: Sequence[list[str] | None], second: Sequence[list[str] | None]) -> Churn:
    """Over the cases that both runs answered: changed first hits, overlap of the first hits, where they part."""
    pairs = [(one, two) for one, two in zip(first, second, strict=True) if one is not None and two is not None]
    first_changed = sum(one[:1] != two[:1] for one, two in pairs)
    overlaps = [rank_biased_overlap(one, two, CHURN_DEPTH) if one != two else 1.0 for one, two in pairs]
    depths = [_parting_depth(one, two) for one, two in pairs if one != two]
    overlap = float(np.mean(overlaps)) if overlaps else 1.0
    return Churn(len(pairs), first_changed, overlap, float(np.median(depths)) if depths else None)


def _parting_depth(first: list[str], second: list[str]) -> int:
    """The first rank at which two lists differ; behind the shorter one if that is where they begin to."""
    shorter = min(len(first), len(second))
    return next((rank for rank in range(1, shorter + 1) if first[rank - 1] != second[rank - 1]), shorter + 1)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int, p: float = 0.9) -> float:
    """How alike two rankings are, the top counting most (Webber et al., 2010, equation 32: extrapolated)."""
    shorter, longer = sorted((list(first[:depth]), list(second[:depth])), key=len)
    if not shorter:
        return 1.0 if not longer else 0.0
    overlaps = _overlaps(shorter, longer)
    short, long = len(shorter), len(longer)
    seen_sum = sum(overlap / rank * p**rank for rank, overlap in enumerate(overlaps, 1))
    unseen_sum = sum(overlaps[short - 1] * (rank - short) / (short * rank) * p**rank for rank in range(short + 1, long + 1))
    rest = ((overlaps[-1] - overlaps[short - 1]) / long + overlaps[short - 1] / short) * p**long
    return (1 - p) / p * (seen_sum + unseen_sum) + rest


def _overlaps(shorter: list[str], longer: list[str]) -> list[int]:
    """How many ids both lists have in common down to each rank of the longer one; no id is twice in a list."""
    overlaps: list[int] = []
    common, alone_in_short, alone_in_long = 0, set[str](), set[str]()
    for one, other in zip_longest(longer, shorter):
        if one == other:
            common += 1
        else:
            common += (one in alone_in_short) + (other in alone_in_long)
            alone_in_long.add(one)
            alone_in_short.add(other)
        overlaps.append(common)
    return overlaps


# From two columns of scores to the numbers of their difference, for many pairs and measures at once.

Rows = NDArray[np.intp]


class Question(NamedTuple):
    """What is asked of a set of runs: the numbers of the baseline and of the candidate, and the column of the measure."""

    baseline: int
    candidate: int
    column: int


@dataclass(frozen=True)
class EvidenceLevel:
    """How sure ``low`` and ``high`` are, and whether the test may count by half what differs exactly as much."""

    interval: ConfidenceLevel = SHOWN_LEVEL
    mid_p: bool = True


USUAL_LEVEL = EvidenceLevel()


def evidence_for(
    scores: Sequence[Scores], questions: Sequence[Question], rows: Rows, rigour: EvidenceLevel = USUAL_LEVEL
) -> dict[Question, PairedEvidence]:
    """The evidence on every question over some cases; those that are defined for the same cases are worked out together."""
    groups: dict[bytes, list[Question]] = {}
    for question in questions:
        groups.setdefault((~np.isnan(_differences(scores, question, rows))).tobytes(), []).append(question)
    evidence: dict[Question, PairedEvidence] = {}
    for mask, members in groups.items():
        evidence |= _group_evidence(scores, members, rows[np.frombuffer(mask, bool)], rigour)
    return evidence


def _differences(scores: Sequence[Scores], question: Question, rows: Rows) -> Floats:
    return np.asarray(
        scores[question.candidate].values[rows, question.column] - scores[question.baseline].values[rows, question.column]
    )


def _group_evidence(
    scores: Sequence[Scores], questions: list[Question], rows: Rows, rigour: EvidenceLevel
) -> Mapping[Question, PairedEvidence]:
    if not len(rows):
        return dict.fromkeys(questions, PairedEvidence())
    values = np.column_stack([_differences(scores, question, rows) for question in questions])
    spans = np.array([_span(scores, question, rows) for question in questions])
    evidence = paired_evidence(values, spans, scores[0].matched.suite, rows, rigour)
    # Of a measure without a highest value it cannot be said how much an unseen case would change.
    measures = (scores[question.baseline].measures[question.column] for question in questions)
    evidence = [replace(each, span=measure.high - measure.low) for each, measure in zip(evidence, measures, strict=True)]
    return dict(zip(questions, evidence, strict=True))


def _span(scores: Sequence[Scores], question: Question, rows: Rows) -> float:
    """How far apart two values of the measure can be; without a highest value, how far apart any two are."""
    return measure_span(
        scores[question.baseline].measures[question.column],
        *(scores[run].values[rows, question.column] for run in (question.baseline, question.candidate)),
    )


def measure_span(measure: AnyMeasure, *values: Floats) -> float:
    """How far apart two values can be; of a measure without a highest value, how far apart any two of these are."""
    if np.isfinite(measure.high - measure.low):
        return measure.high - measure.low
    lowest, highest = min(column.min() for column in values), max(column.max() for column in values)
    return float(highest - lowest) if np.isfinite(highest - lowest) and highest > lowest else 1.0


def paired_evidence(
    values: Floats, spans: Floats, suite: Suite, rows: Rows, rigour: EvidenceLevel = USUAL_LEVEL
) -> list[PairedEvidence]:
    """The evidence in columns of differences; ``spans`` says how large those of each column could be."""
    counts = [_count_differences(column) for column in values.T]
    sample = observations(values / spans, clusters_of(suite, rows))
    evidence = [replace(each, observations=len(sample), effective_size=sample.effective_size) for each in counts]
    if not sample.enough:
        return evidence
    (low, high), (equal_low, equal_high) = (difference_intervals(sample, level) for level in (rigour.interval, EQUIVALENCE_LEVEL))
    columns = {
        "low": low * spans,
        "high": high * spans,
        "equal_low": equal_low * spans,
        "equal_high": equal_high * spans,
        "error": standard_errors(sample) * spans,
        "unseen": one_sided_size(sample) * spans,
        "statistic_variance": statistic_variance(sample),
        "p": randomisation_p(sample.sums, mid=rigour.mid_p),
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [replace(each, **dict(zip(columns, line, strict=True))) for each, line in zip(evidence, lines, strict=True)]


def _count_differences(values: Floats) -> PairedEvidence:
    return PairedEvidence(
        cases=len(values),
        mean=exact_mean(values),
        wins=int((values > EQUAL_WITHIN).sum()),
        ties=int((np.abs(values) <= EQUAL_WITHIN).sum()),
        losses=int((values < -EQUAL_WITHIN).sum()),
    )


def exact_mean(values: Floats) -> float | None:
    """The mean, summed exactly, so that the order of the cases cannot change its last digit."""
    return fsum(values.tolist()) / len(values) if len(values) else None


# Two or more runs on one suite: paired differences with evidence, and a verdict that may be "not enough evidence".
#
# A pair is compared on the cases where both values are defined; cases of one origin count as one observation. `verdicts` holds
# the rule, `families` says which comparisons are adjusted together.


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
    telling: tuple[MovedCase, ...]
    churn: Churn
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def main(self) -> Difference:
        """The difference on the primary measure."""
        return next(difference for difference in self.differences if difference.measure == self.primary)

    @property
    def why_untrusted(self) -> str | None:
        """Why nothing follows from the pair; None where its difference can be relied on."""
        return self.main.reason if self.main.verdict == "INVALID" else None


@dataclass(frozen=True, repr=False)
class Comparison(HasFrame, Sequence[Pair]):
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
        outcomes = [(f"{quote_name(each.candidate)} against {quote_name(each.baseline)}", each.main) for each in self.pairs]
        return fit_line(f"Comparison({list_first([f'{who}: {main.verdict} by {main.measure}' for who, main in outcomes], 3)})")


class CaseSubset(NamedTuple):
    """Some cases: those with a value of a field, or all of them."""

    by: str | None = None
    value: str = ""


EVERYTHING = CaseSubset()


class SegmentQuestion(NamedTuple):
    """One question in one segment."""

    segment: CaseSubset
    question: Question


def compare(scores: Sequence[Scores], by: Sequence[str] = (), options: CompareSettings = CompareSettings()) -> Comparison:
    """Compare every pair of runs; the first of a pair, in the order given, is its baseline, unless one is named for all."""
    check_matched([each.matched for each in scores], [each.names for each in scores])
    return Comparison(tuple(RunComparison(scores, by, options).pairs()))


def unique_names(scores: Sequence[Scores]) -> list[str]:
    """A name for each run, made from its label."""
    return display_names([each.matched.run.label for each in scores])


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

    def __init__(self, scores: Sequence[Scores], by: Sequence[str], options: CompareSettings) -> None:
        self._scores, self._by, self._options = scores, by, options
        self._names = unique_names(scores)
        self._primary = primary_column(scores[0], options.primary)
        dead = {place for place, each in enumerate(scores) if each.matched.run.never_started}  # the report says so once for each
        self._pairs = [pair for pair in _pairs_of(self._names, options.baseline) if dead.isdisjoint(pair)]
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
                telling=tuple(most_moved_cases(self._scores[first], self._scores[second], self._primary)),
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

    def _families(self) -> dict[SegmentQuestion, AdjustedP]:
        """The looks that may become verdicts, each with its p adjusted for its family."""
        questions = [Question(*pair, self._primary) for pair in self._pairs]
        primary = adjust_family(
            self._evidence, [SegmentQuestion(EVERYTHING, question) for question in questions if not self._invalid(question)]
        )
        verdicts = {look.question: self._verdict(look, family).verdict for look, family in primary.items()}
        decided_questions = [question for question, verdict in verdicts.items() if verdict in ("IMPROVED", "REGRESSED")]
        return primary | adjust_family(self._evidence, [look for question in decided_questions for look in self._further(question)])

    def _further(self, primary: Question) -> list[SegmentQuestion]:
        """What becomes a question once the primary measure of a pair is IMPROVED or REGRESSED."""
        others = [column for column, measure in enumerate(self._scores[0].measures) if measure.decides]
        questions = [primary._replace(column=column) for column in others if column != primary.column]
        looks = [SegmentQuestion(EVERYTHING, question) for question in questions if not self._invalid(question)]
        return [*looks, *(SegmentQuestion(segment, primary) for segment in self._rows if segment != EVERYTHING)]

    def _mismatched(self, first: int, second: int) -> tuple[Mismatch, ...]:
        """What spoils a pair for one of the measures at least."""
        one, other = (self._scores[run].matched for run in (first, second))
        names = self._names[first], self._names[second]
        found = (*missing_mismatches(one, other, names), *mismatches(one.run, other.run, names))
        return tuple(each for each in found if any(map(each.concerns, self._scores[0].measures)))

    def _invalid(self, question: Question) -> str | None:
        """Why a measure of two runs cannot be compared; None if it can."""
        pair, measure = (question.baseline, question.candidate), self._scores[0].measures[question.column]
        untrusted_runs = [f"{self._names[run]} ({why})" for run in pair if (why := self._scores[run].why_untrusted)]
        if untrusted_runs:
            return f"untrusted: {' and '.join(untrusted_runs)}"
        return "; ".join(each.sentence for each in self._mismatches[pair] if each.concerns(measure)) or None

    def _differences(self, segment: CaseSubset, first: int, second: int) -> tuple[Difference, ...]:
        columns = range(len(self._scores[0].measures))
        return tuple(self._difference(SegmentQuestion(segment, Question(first, second, column))) for column in columns)

    def _difference(self, look: SegmentQuestion) -> Difference:
        question, evidence = look.question, self._evidence[look]
        family = self._adjusted.get(look)
        judgement = self._judgement(look)
        error = evidence.error if evidence.error is not None and evidence.error > EQUAL_WITHIN else None
        rule = None if family is None or error is None else VerdictRule(self._options.min_effect, max(1, family.family))
        invalid = judgement.verdict == "INVALID"
        counts = self._counts(look)
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
            wins=counts.wins,
            ties=counts.ties,
            losses=counts.losses,
            independent=evidence.observations,
            detectable=None if rule is None or error is None else detectable_difference(error, evidence.observations, rule),
            cases_needed=None if rule is None else cases_needed(evidence, rule),
            too_small=rule is not None and abs(evidence.mean or 0.0) <= rule.min_effect,
            non_inferior=None if evidence.low is None or invalid else evidence.low > -self._options.margin,
            verdict=judgement.verdict,
            reason=judgement.reason,
            undone=judgement.undone,
        )

    def _counts(self, look: SegmentQuestion) -> PairedEvidence:
        """How many cases rise and fall, of those that both runs have."""
        question, rows = look.question, self._rows[look.segment]
        for run in (question.baseline, question.candidate):
            rows = rows[self._scores[run].matched.mentioned[rows]]
        values = _differences(self._scores, question, rows)
        return _count_differences(values[~np.isnan(values)])

    def _baseline_mean(self, look: SegmentQuestion) -> float | None:
        question, rows = look.question, self._rows[look.segment]
        before, after = (self._scores[run].values[rows, question.column] for run in (question.baseline, question.candidate))
        return exact_mean(before[~np.isnan(before) & ~np.isnan(after)])

    def _judgement(self, look: SegmentQuestion) -> ReasonedVerdict:
        question, measure = look.question, self._scores[0].measures[look.question.column]
        invalid = self._invalid(question)
        if invalid is not None:
            return ReasonedVerdict("INVALID", invalid)
        if not measure.decides:
            return ReasonedVerdict("EXPLORATORY", why_no_verdict(measure))
        family = self._adjusted.get(look)
        if family is None:
            return ReasonedVerdict("EXPLORATORY", self._why_exploratory(look))
        return self._verdict(look, family)

    def _verdict(self, look: SegmentQuestion, family: AdjustedP) -> ReasonedVerdict:
        judgement = decide_difference(self._evidence[look], family.p, self._options.min_effect, family.family)
        if self._without_failures(look, family) not in (None, judgement.verdict):
            return undo_by_failures(judgement.verdict)
        return judgement

    def _why_exploratory(self, look: SegmentQuestion) -> str:
        primary = self._scores[0].names[self._primary]
        if look.segment != EVERYTHING and look.question.column != self._primary:
            return f"segments are tested by the primary measure, {primary}"
        question = look.question._replace(column=self._primary)
        if self._invalid(question) or self._evidence[SegmentQuestion(EVERYTHING, question)].p is None:
            return f"the primary measure, {primary}, cannot be compared; --primary names another one"
        return f"the primary measure, {primary}, is neither IMPROVED nor REGRESSED"

    def _without_failures(self, look: SegmentQuestion, family: AdjustedP) -> str | None:
        """The verdict on the cases that neither side failed on, with the same correction; None if neither failed on any."""
        question, rows, whole = look.question, self._rows[look.segment], self._evidence[look]
        failed = np.zeros(len(rows), bool)
        for run in (question.baseline, question.candidate):
            failed |= np.isin(self._scores[run].matched.status[rows], (ERROR, TIMEOUT))
        if not failed.any() or not whole.p or family.p is None:
            return None
        (rest,) = evidence_for(self._scores, [question], rows[~failed]).values()
        p = None if rest.p is None else min(1.0, rest.p * family.p / whole.p)
        return decide_difference(rest, p, self._options.min_effect, family.family).verdict


def _rows_of(scores: Scores, by: Sequence[str]) -> dict[CaseSubset, Rows]:
    """The cases of every segment; one that holds all cases would only be the suite again."""
    suite = scores.matched.suite
    rows: dict[CaseSubset, Rows] = {EVERYTHING: np.arange(len(suite))}
    for name in by:
        rows |= {
            CaseSubset(name, value): value_rows
            for value, value_rows in segment_rows(suite, name).items()
            if len(value_rows) < len(suite)
        }
    return rows


def _pairs_of(names: list[str], baseline: str | None) -> list[tuple[int, int]]:
    """Whom to compare with whom; the baseline of a pair comes first."""
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    check_baseline(baseline, names)
    first = names.index(baseline)
    return [(first, other) for other in range(len(names)) if other != first]


# What a change of the query costs: variants of queries against the originals they were made of, kind by kind.


@dataclass(frozen=True)
class PerturbationDrop:
    """One kind of variants in one run, by one measure: what originals have, what their variants have, and what is lost.

    ``cases`` counts the variants behind it, ``originals`` the cases that they were made of, and ``origins`` how many observations
    those are. Several variants of one original count as their mean, so that every original weighs the same. ``drop`` is the mean
    of originals less that of variants: below 0, variants do better. Its 95 % limits are None below ten origins' worth, and for a
    measure without a highest value. ``left_out`` counts variants that have no value, or whose original has none or is missing.
    """

    run: str
    kind: str
    measure: str
    cases: int
    originals: int
    origins: int
    original_mean: float | None
    variant_mean: float | None
    drop: float | None
    low: float | None
    high: float | None
    left_out: int


def perturbation_drops(scores: Mapping[str, Scores]) -> Iterator[PerturbationDrop]:
    """Every run, kind and measure; nothing for a suite without variants. All runs are on one suite."""
    if not scores:
        return
    suite = next(iter(scores.values())).matched.suite
    kinds: dict[str, list[VariantLink]] = {}
    for link in variant_links(suite.table):
        kinds.setdefault(link.kind, []).append(link)
    for run, of_run in scores.items():
        for kind, links in kinds.items():
            yield from _drops(run, kind, of_run, links)


def _drops(run: str, kind: str, scores: Scores, links: Sequence[VariantLink]) -> Iterator[PerturbationDrop]:
    """One kind by every measure; those that are defined for the same variants are worked out together."""
    pairs = np.array([(each.row, each.original) for each in links if each.original is not None], np.intp).reshape(-1, 2)
    columns = [column for column, measure in enumerate(scores.measures) if measure.per_case]
    defined = {column: ~np.isnan(scores.values[pairs, column]).any(axis=1) for column in columns}
    groups: dict[bytes, list[int]] = {}
    for column in columns:
        groups.setdefault(defined[column].tobytes(), []).append(column)
    drops: dict[int, PerturbationDrop] = {}
    for members in groups.values():
        case_pairs = pairs[defined[members[0]]]
        drops |= dict(zip(members, _group(run, kind, scores, case_pairs, members, len(links) - len(case_pairs)), strict=True))
    yield from (drops[column] for column in columns)


def _group(
    run: str, kind: str, scores: Scores, pairs: NDArray[np.intp], columns: Sequence[int], left_out: int
) -> Iterator[PerturbationDrop]:
    rows = distinct(pairs[:, 1])
    before = scores.values[rows][:, columns]
    after = np.column_stack([_means_by_original(scores.values[:, column], pairs) for column in columns])
    measures = [scores.measures[column] for column in columns]
    spans = np.array([measure.high - measure.low for measure in measures])
    bounded = np.isfinite(spans) & (spans > 0)
    origins, limits = drop_limits((before - after) / np.where(bounded, spans, 1.0), clusters_of(scores.matched.suite, rows))
    for place, measure in enumerate(measures):
        mean_before, mean_after = exact_mean(before[:, place]), exact_mean(after[:, place])
        low, high = (limits[:, place] * spans[place]).tolist() if limits is not None and bounded[place] else (None, None)
        yield PerturbationDrop(
            run=run,
            kind=kind,
            measure=measure.name,
            cases=len(pairs),
            originals=len(rows),
            origins=origins,
            original_mean=mean_before,
            variant_mean=mean_after,
            drop=None if mean_before is None or mean_after is None else mean_before - mean_after,
            low=low,
            high=high,
            left_out=left_out,
        )


def _means_by_original(values: Floats, pairs: NDArray[np.intp]) -> Floats:
    """The mean of each original's variants, in the order of the originals."""
    # Sorted, since the order in which numbers are added shows in their last digit.
    pairs = pairs[np.lexsort((values[pairs[:, 0]], pairs[:, 1]))]
    rows, which, counts = np.unique(pairs[:, 1], return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(which, values[pairs[:, 0]], len(rows)) / counts, np.float64)


def drop_limits(losses: Floats, clusters: Clusters) -> tuple[int, Floats | None]:
    """How many observations the originals are, and the 95 % limits of the mean of every column of their losses.

    Losses lie between -1 and 1. The limits are two rows, or None where the observations are worth fewer than ten.
    """
    if not len(losses):
        return 0, None
    sample = observations(losses, clusters)
    return len(sample), np.vstack(difference_intervals(sample, SHOWN_LEVEL)) if sample.enough else None
