"""Tests that were planned before anything was seen: declared differences, non-inferiority, sequential looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil, exp, log
from typing import NamedTuple

import numpy as np

from searchmark.config.gates import CompareSettings
from searchmark.records.answers import ERROR, TIMEOUT
from searchmark.records.columns import Floats
from searchmark.scoring.comparability import check_matched
from searchmark.scoring.comparison import (
    EVERYTHING,
    CaseSubset,
    EvidenceLevel,
    Question,
    Rows,
    RunComparison,
    SegmentQuestion,
    evidence_for,
    measure_span,
)
from searchmark.scoring.scores import Scores, clusters_of
from searchmark.scoring.statistics import (
    EQUAL_WITHIN,
    FEWEST_CASES,
    LEAN,
    NORMAL,
    Clusters,
    ConfidenceLevel,
    Observations,
    difference_intervals,
    holm,
    observations,
    standard_errors,
)
from searchmark.scoring.verdicts import (
    POWER,
    SIGNIFICANT,
    AdjustedP,
    Difference,
    PairedEvidence,
    ReasonedVerdict,
    Verdict,
    adjust_family,
    undo_by_failures,
)

# Differences that were asked about before anything was seen: the questions of a gate.


class PlannedDifference(NamedTuple):
    """A difference that was asked about before anything was seen, of all cases or of those with a value of a field."""

    candidate: str
    measure: str
    by: str | None = None
    value: str = ""


def planned_differences(
    trials: Sequence[Mapping[str, Scores]],
    baseline: str,
    plan: Sequence[PlannedDifference],
    options: CompareSettings = CompareSettings(),
) -> list[dict[PlannedDifference, Difference]]:
    """What became of each of them, in each of several sets of runs on one suite, every set being one family.

    None of them is exploratory. What takes long is done for all sets at once.
    """
    if not plan:
        return [{} for _ in trials]
    comparisons = [_PlannedComparison(list(each.values()), baseline, plan, options) for each in trials]
    evidence = _planned_evidence(comparisons)
    return [each.differences(by_look) for each, by_look in zip(comparisons, evidence, strict=True)]


class _PlannedComparison(RunComparison):
    """Differences that were declared, each with its verdict, once their evidence is known."""

    def __init__(
        self, scores: Sequence[Scores], baseline: str, plan: Sequence[PlannedDifference], options: CompareSettings
    ) -> None:
        check_matched([each.matched for each in scores], [each.names for each in scores])
        self._plan = plan
        by = list(dict.fromkeys(each.by for each in plan if each.by is not None))
        super().__init__(scores, by, replace(options, baseline=baseline, primary=plan[0].measure))

    def looks(self) -> Iterator[SegmentQuestion]:
        yield from dict.fromkeys(map(self._look, self._plan))

    @property
    def scores(self) -> Sequence[Scores]:
        return self._scores

    def rows(self, segment: CaseSubset) -> Rows:
        return self._rows[segment]

    def differences(self, evidence: Mapping[SegmentQuestion, PairedEvidence]) -> dict[PlannedDifference, Difference]:
        self._evidence = dict(evidence)
        self._adjusted = adjust_family(evidence, [look for look in evidence if not self._invalid(look.question)])
        return {each: self._difference(self._look(each)) for each in self._plan}

    def _look(self, difference: PlannedDifference) -> SegmentQuestion:
        first, second = (self._names.index(name) for name in (self._options.baseline or "", difference.candidate))
        segment = CaseSubset(difference.by, difference.value)
        column = self._scores[0].names.index(difference.measure)
        # A segment that holds all cases is the suite itself.
        return SegmentQuestion(segment if segment in self._rows else EVERYTHING, Question(first, second, column))

    def _gathered(self) -> dict[SegmentQuestion, PairedEvidence]:
        return {}  # it is worked out for many comparisons together

    def _families(self) -> dict[SegmentQuestion, AdjustedP]:
        return {}  # as above


def _planned_evidence(comparisons: Sequence[_PlannedComparison]) -> list[dict[SegmentQuestion, PairedEvidence]]:
    """The evidence on every look of every comparison."""
    by_look: list[dict[SegmentQuestion, PairedEvidence]] = [{} for _ in comparisons]
    scores = [table for comparison in comparisons for table in comparison.scores]
    starts = list(accumulate((len(each.scores) for each in comparisons), initial=0))
    places: dict[CaseSubset, dict[Question, tuple[int, SegmentQuestion]]] = {}
    for place, comparison in enumerate(comparisons):
        for look in comparison.looks():
            first, second, column = look.question
            joint_question = Question(starts[place] + first, starts[place] + second, column)
            places.setdefault(look.segment, {})[joint_question] = (place, look)
    for segment, questions in places.items():
        for question, evidence in evidence_for(scores, list(questions), comparisons[0].rows(segment)).items():
            place, look = questions[question]
            by_look[place][look] = evidence
    return by_look


# No worse by a margin, among many candidates: what the gate `non-inferior` asks of one, corrected for all of them.
#
# The p of a candidate is what lies outside of the widest interval of its difference that is still above -margin, both ends
# together; so p is below 0.05 if and only if the 95 % interval is above it, as a gate asks. Holm's step-down then corrects for
# the family. No test is added to those that comparisons rest on: it is the same interval, at other levels.

SMALLEST_TAIL, LARGEST_TAIL = 1e-9, 0.25  # at a half an interval has no width to speak of

MOST_OBSERVATIONS = 1 << 17  # that are tried

_ROUNDS, _PRECISE = 40, 1e-5

_CLOSE = 1.005  # of two numbers of cases

_SPARE = NORMAL.inv_cdf(POWER)


@dataclass(frozen=True)
class NonInferiority:
    """Whether a candidate was shown to lose less than the margin. None is undefined."""

    p: float | None
    p_holm: float | None
    family: int  # how many candidates were tested
    shown: bool
    # Cases like these that show it with 80 % power if the observed difference is the true one; None also if 100,000 do not.
    cases_needed: int | None


def non_inferiorities(
    scores: Sequence[Scores], baseline: int, candidates: Sequence[int], column: int, margin: float
) -> dict[int, NonInferiority]:
    """What was shown of each candidate, by its number; all of them are one family."""
    shares = {each: _parts(scores[baseline], scores[each], column, margin) for each in candidates}
    values = {each: _p(parts) for each, parts in shares.items()}
    p_values = {each: p for each, p in values.items() if p is not None}
    holm_p = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {each: _result(parts, values[each], holm_p.get(each), len(p_values)) for each, parts in shares.items()}


@dataclass(frozen=True, eq=False)
class _DifferenceShares:
    """Differences as shares of the range, how many cases they are of, and the margin as such a share."""

    sample: Observations
    cases: int
    margin: float

    def room(self, tail: float) -> float:
        """How far the interval stays above the margin where so much lies outside of either end."""
        return float(difference_intervals(self.sample, ConfidenceLevel(tail, LEAN))[0][0]) + self.margin


def _result(parts: Sequence[_DifferenceShares], p: float | None, p_holm: float | None, family: int) -> NonInferiority:
    shown = p_holm is not None and p_holm < SIGNIFICANT
    counts = [] if p is None or shown else [_needed(each, family) for each in parts]
    known_counts = [each for each in counts if each is not None]
    return NonInferiority(
        p, p_holm, family, shown, max(known_counts) if known_counts and len(known_counts) == len(counts) else None
    )


def _parts(baseline: Scores, candidate: Scores, column: int, margin: float) -> list[_DifferenceShares]:
    """All cases, and those that neither side failed on: failures of a baseline prove nothing."""
    rows = np.flatnonzero(~np.isnan(baseline.values[:, column] - candidate.values[:, column]))
    failed = np.isin(baseline.matched.status[rows], (ERROR, TIMEOUT)) | np.isin(candidate.matched.status[rows], (ERROR, TIMEOUT))
    return [_part(baseline, candidate, column, margin, each) for each in ([rows, rows[~failed]] if failed.any() else [rows])]


def _part(baseline: Scores, candidate: Scores, column: int, margin: float, rows: Rows) -> _DifferenceShares:
    before, after = (each.values[rows, column] for each in (baseline, candidate))
    span = measure_span(baseline.measures[column], before, after) if len(rows) else 1.0
    return _of_differences(after - before, clusters_of(baseline.matched.suite, rows), margin, span)


def _of_differences(differences: Floats, clusters: Clusters, margin: float, span: float) -> _DifferenceShares:
    return _DifferenceShares(observations(differences[:, None] / span, clusters), len(differences), margin / span)


def _p(parts: Sequence[_DifferenceShares]) -> float | None:
    p_values = [_p_of_part(each) for each in parts]
    known_p_values = [p for p in p_values if p is not None]
    return max(known_p_values) if len(known_p_values) == len(p_values) else None


def non_inferiority_p(differences: Floats, clusters: Clusters, margin: float, span: float = 1.0) -> float | None:
    """The p of one candidate, from candidate minus baseline case by case; None without enough independent cases."""
    return _p_of_part(_of_differences(differences, clusters, margin, span))


def _p_of_part(part: _DifferenceShares) -> float | None:
    if not part.sample.enough:
        return None
    low, high = log(SMALLEST_TAIL), log(LARGEST_TAIL)
    below, above = part.room(exp(low)), part.room(exp(high))
    if above <= 0:
        return 1.0
    if below > 0:
        return 2 * SMALLEST_TAIL
    for _ in range(_ROUNDS):  # the Illinois method: the end that stays counts half, so that both ends move
        middle = high - (high - low) * above / (above - below)
        value = part.room(exp(middle))
        if value > 0:
            high, above, below = middle, value, below / 2
        else:
            low, below, above = middle, value, above / 2
        if high - low < _PRECISE:
            break
    return min(1.0, 2 * exp(high))


def cases_for_margin(differences: Floats, clusters: Clusters, margin: float, family: int = 1) -> int | None:
    """How many cases like these show with 80 % power that no more than the margin is lost; more than these, or None."""
    return _needed(_of_differences(differences, clusters, margin, 1.0), family)


def _needed(part: _DifferenceShares, family: int) -> int | None:
    """By the interval that decides, of more observations with the same distribution."""
    here, tail = len(part.sample), SIGNIFICANT / 2 / max(1, family)
    if float(part.sample.means[0]) + part.margin <= EQUAL_WITHIN:
        return None

    def shows(count: int) -> bool:
        more = _more_alike(part.sample, count)
        return _DifferenceShares(more, count, part.margin).room(tail) > _SPARE * float(standard_errors(more)[0])

    low, high = here, 2 * here
    while not shows(high):
        if high >= MOST_OBSERVATIONS:
            return None
        low, high = high, 2 * high
    while high - low > 1 and high > _CLOSE * low:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return ceil(high * part.cases / here)


def _more_alike(sample: Observations, count: int) -> Observations:
    """So many observations, each of those that there are being as frequent as it is, but for rounding."""
    rows = ((np.arange(count) + 0.5) * len(sample) / count).astype(np.intp)
    order = np.argsort(sample.sums[:, 0] / sample.sizes, kind="stable")
    return Observations(sample.sums[order][rows], sample.sizes[order][rows])


# A verdict for those who look every day: build after build against one baseline, on the same cases.
#
# Thirty looks at 5 % each are not one at 5 %. Here every look has its own level, and all levels, of however many
# looks, add up to 5 %. By the union bound the probability of any false verdict is then at most 5 %, however the builds
# depend on one another; that is needed, because they share the cases, the baseline and most of their code. Bounds that are
# narrower (martingales, tests over all looks together) hold only for builds that depend in a known way. E-values would
# hold too, but a test of fixed cases loses more by becoming one than by the smaller level.
#
# What must hold is that each test keeps its level if the signs of the differences are a matter of chance: it is the test of
# `verdicts` with the p of the exact test and not the mid-p, which is smaller. The interval of the same level must agree.

# So many looks spend half of the error, as many again a sixth of it. A loss may come with any build, so that the first looks
# are alike: their levels fall by a factor of four, where the usual 1/t² would make the thirtieth 900 times as strict as the first.
HALF_SPENT = 30


@dataclass(frozen=True)
class Look:
    """The ``number``-th build against one baseline; the interval of its evidence is at ``level``, a share of false verdicts."""

    number: int
    level: float
    evidence: PairedEvidence


def level_of(number: int, family: int = 1) -> float:
    """The share of false verdicts that a look may cost; those of all looks, without end, add up to 5 %.

    The sum telescopes: the first n looks spend n / (n + 30) of it. ``family`` is how many builds a look has.
    """
    if number < 1:
        raise ValueError("looks are counted from 1")
    return SIGNIFICANT * HALF_SPENT / ((number + HALF_SPENT - 1) * (number + HALF_SPENT)) / family


def evidence_level_of(level: float) -> EvidenceLevel:
    """What evidence at a level is made with."""
    return EvidenceLevel(ConfidenceLevel(level / 2, LEAN), mid_p=False)


def take_look(baseline: Scores, candidate: Scores, column: int, number: int, rows: Rows | None = None, family: int = 1) -> Look:
    """The evidence of one look on the measure in ``column``, over all cases or some of them."""
    everything = np.arange(len(baseline.matched.suite)) if rows is None else rows
    return Look(number, level_of(number, family), _evidence((baseline, candidate), column, everything, level_of(number, family)))


def _evidence(scores: Sequence[Scores], column: int, rows: Rows, level: float) -> PairedEvidence:
    (evidence,) = evidence_for(scores, [Question(0, 1, column)], rows, evidence_level_of(level)).values()
    return evidence


def decide_look(look: Look, min_effect: float) -> ReasonedVerdict:
    """IMPROVED or REGRESSED where test and interval agree at the level of the look, else INCONCLUSIVE."""
    evidence, at = look.evidence, f"{look.level:.2g} (look {look.number})"
    if evidence.mean is None:
        return ReasonedVerdict("INCONCLUSIVE", "no case has a value on both sides")
    if evidence.low is None or evidence.high is None or evidence.p is None:
        return ReasonedVerdict("INCONCLUSIVE", f"worth fewer than {FEWEST_CASES} independent cases")
    if evidence.p >= look.level:
        return ReasonedVerdict("INCONCLUSIVE", f"p is {evidence.p:.2g}, not below {at}")
    if evidence.low <= 0 <= evidence.high:
        return ReasonedVerdict("INCONCLUSIVE", f"p is below {at}, but the interval contains 0")
    if abs(evidence.mean) < min_effect:
        return ReasonedVerdict("INCONCLUSIVE", f"a difference, but smaller than {min_effect:g}")
    side: tuple[Verdict, str] = ("IMPROVED", "above") if evidence.mean > 0 else ("REGRESSED", "below")
    return ReasonedVerdict(side[0], f"the interval lies {side[1]} 0, and p is below {at}")


def sequential_verdict(
    baseline: Scores, candidate: Scores, column: int, number: int, min_effect: float, rows: Rows | None = None, family: int = 1
) -> tuple[Look, ReasonedVerdict]:
    """One look and its verdict, which must be the same one without the cases that either side failed on."""
    look = take_look(baseline, candidate, column, number, rows, family)
    judgement = decide_look(look, min_effect)
    everything = np.arange(len(baseline.matched.suite)) if rows is None else rows
    failed = np.logical_or(*(np.isin(each.matched.status[everything], (ERROR, TIMEOUT)) for each in (baseline, candidate)))
    if failed.any():
        rest = take_look(baseline, candidate, column, number, everything[~failed], family)
        if decide_look(rest, min_effect).verdict != judgement.verdict:
            return look, undo_by_failures(judgement.verdict)
    return look, judgement
