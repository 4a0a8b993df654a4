"""No worse by a margin, among many candidates: what the gate `non-inferior` asks of one, corrected for all of them.

The p of a candidate is what lies outside of the widest interval of its difference that is still above -margin, both ends
together; so p is below 0.05 if and only if the 95 % interval is above it, as a gate asks. Holm's step-down then corrects for
the family. No test is added to those that comparisons rest on: it is the same interval, at other levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from searchmark.analysis.distributions import Floats
from searchmark.analysis.foresight import ties_for_margin
from searchmark.analysis.intervals import LEAN, SAME, Level, Observations, observations
from searchmark.analysis.paired_evidence import Question, Rows, evidence_for, measure_span
from searchmark.analysis.paired_statistics import difference_intervals, holm
from searchmark.analysis.power import VerdictRule, cases_needed
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.analysis.verdicts import SIGNIFICANT, PairedEvidence
from searchmark.records import ERROR, TIMEOUT

SMALLEST_TAIL, LARGEST_TAIL = 1e-9, 0.25  # at a half an interval has no width to speak of
_ROUNDS, _PRECISE = 40, 1e-5


@dataclass(frozen=True)
class NonInferiority:
    """Whether a candidate was shown to lose less than the margin, among ``family`` candidates. None is undefined.

    ``cases_needed``: how many independent cases would show it with 80 % power if the observed difference is the true one; None
    if no number would, or nothing is known.
    """

    p: float | None
    p_holm: float | None
    family: int
    shown: bool
    cases_needed: int | None


def non_inferiorities(
    scores: Sequence[Scores], baseline: int, candidates: Sequence[int], column: int, margin: float
) -> dict[int, NonInferiority]:
    """What was shown of each candidate, by its number; all of them are one family."""
    values = {each: _p(scores[baseline], scores[each], column, margin) for each in candidates}
    tested = {each: p for each, p in values.items() if p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    needed = {each: _needed(scores, Question(baseline, each, column), margin, len(tested)) for each in candidates}
    return {each: _result(values[each], adjusted.get(each), len(tested), needed[each]) for each in candidates}


def _result(p: float | None, p_holm: float | None, family: int, needed: int | None) -> NonInferiority:
    return NonInferiority(p, p_holm, family, p_holm is not None and p_holm < SIGNIFICANT, needed)


def _p(baseline: Scores, candidate: Scores, column: int, margin: float) -> float | None:
    """That of all cases, or of those that neither side failed on if it is larger: failures of a baseline prove nothing."""
    rows = _defined(baseline, candidate, column)
    failed = np.isin(baseline.judged.status[rows], (ERROR, TIMEOUT)) | np.isin(candidate.judged.status[rows], (ERROR, TIMEOUT))
    parts = [rows, rows[~failed]] if failed.any() else [rows]
    found = [_p_of_rows(baseline, candidate, column, margin, each) for each in parts]
    known = [p for p in found if p is not None]
    return max(known) if len(known) == len(found) else None


def _defined(baseline: Scores, candidate: Scores, column: int) -> Rows:
    return np.flatnonzero(~np.isnan(baseline.values[:, column] - candidate.values[:, column]))


def _p_of_rows(baseline: Scores, candidate: Scores, column: int, margin: float, rows: Rows) -> float | None:
    before, after = (each.values[rows, column] for each in (baseline, candidate))
    span = measure_span(baseline.measures[column], before, after) if len(rows) else 1.0
    return non_inferiority_p(after - before, clusters_of(baseline.judged.suite.table, rows), margin, span)


def non_inferiority_p(differences: Floats, clusters: Sequence[str] | None, margin: float, span: float = 1.0) -> float | None:
    """The p of one candidate, from candidate minus baseline case by case; None without enough independent cases."""
    found = observations(differences[:, None] / span, clusters)
    if not found.enough:
        return None

    def room(logarithm: float) -> float:
        """How far the interval stays above the margin where so much lies outside of either end."""
        return _low(found, exp(logarithm)) + margin / span

    low, high = log(SMALLEST_TAIL), log(LARGEST_TAIL)
    below, above = room(low), room(high)
    if above <= 0:
        return 1.0
    if below > 0:
        return 2 * SMALLEST_TAIL
    for _ in range(_ROUNDS):  # the Illinois method: the end that stays counts half, so that both ends move
        middle = high - (high - low) * above / (above - below)
        value = room(middle)
        if value > 0:
            high, above, below = middle, value, below / 2
        else:
            low, below, above = middle, value, above / 2
        if high - low < _PRECISE:
            break
    return min(1.0, 2 * exp(high))


def _low(found: Observations, tail: float) -> float:
    return float(difference_intervals(found, Level(tail, LEAN))[0][0])


def _needed(scores: Sequence[Scores], asked: Question, margin: float, family: int) -> int | None:
    """As for a difference from 0 that is larger by the margin; ties alone must be as many as leave no room for such a loss."""
    (evidence,) = evidence_for(scores, [asked], np.arange(len(scores[asked.baseline].judged.suite))).values()
    if evidence.mean is None or evidence.mean + margin <= SAME:
        return None
    ties = ties_for_margin(margin, evidence.span, max(1, family)) if np.isfinite(evidence.span) else 0
    if not evidence.error or evidence.error <= SAME:
        return ties or None
    shown = cases_needed(_above_margin(evidence, margin), VerdictRule(0.0, max(1, family)))
    return None if shown is None else max(shown, ties if not evidence.losses else 0)


def _above_margin(evidence: PairedEvidence, margin: float) -> PairedEvidence:
    return replace(evidence, mean=(evidence.mean or 0.0) + margin, statistic_variance=1.0, unseen=0.0)
