"""No worse by a margin, among many candidates: what the gate `non-inferior` asks of one, corrected for all of them.

The p of a candidate is what lies outside of the widest interval of its difference that is still above -margin, both ends
together; so p is below 0.05 if and only if the 95 % interval is above it, as a gate asks. Holm's step-down then corrects for
the family. No test is added to those that comparisons rest on: it is the same interval, at other levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

import numpy as np

from searchmark.analysis.distributions import NORMAL, Floats
from searchmark.analysis.intervals import LEAN, SAME, Clusters, Level, Observations, observations
from searchmark.analysis.paired_evidence import Rows, measure_span
from searchmark.analysis.paired_statistics import difference_intervals, holm, standard_errors
from searchmark.analysis.power import POWER
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.analysis.verdicts import SIGNIFICANT
from searchmark.records import ERROR, TIMEOUT

SMALLEST_TAIL, LARGEST_TAIL = 1e-9, 0.25  # at a half an interval has no width to speak of
MOST_OBSERVATIONS = 1 << 17  # that are tried
_ROUNDS, _PRECISE = 40, 1e-5
_CLOSE = 1.005  # of two numbers of cases
_SPARE = NORMAL.inv_cdf(POWER)


@dataclass(frozen=True)
class NonInferiority:
    """Whether a candidate was shown to lose less than the margin, among ``family`` candidates. None is undefined.

    ``cases_needed``: how many cases like these would show it with 80 % power if the observed difference is the true one, being
    the first of its family to be shown; None if it is shown, or nothing is known, or 100,000 would not.
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
    asked = {each: _parts(scores[baseline], scores[each], column, margin) for each in candidates}
    values = {each: _p(parts) for each, parts in asked.items()}
    tested = {each: p for each, p in values.items() if p is not None}
    adjusted = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {each: _result(parts, values[each], adjusted.get(each), len(tested)) for each, parts in asked.items()}


@dataclass(frozen=True, eq=False)
class _DifferenceShares:
    """Differences as shares of the range, how many cases they are of, and the margin as such a share."""

    found: Observations
    cases: int
    margin: float

    def room(self, tail: float) -> float:
        """How far the interval stays above the margin where so much lies outside of either end."""
        return float(difference_intervals(self.found, Level(tail, LEAN))[0][0]) + self.margin


def _result(parts: Sequence[_DifferenceShares], p: float | None, p_holm: float | None, family: int) -> NonInferiority:
    shown = p_holm is not None and p_holm < SIGNIFICANT
    needed = [] if p is None or shown else [_needed(each, family) for each in parts]
    known = [each for each in needed if each is not None]
    return NonInferiority(p, p_holm, family, shown, max(known) if known and len(known) == len(needed) else None)


def _parts(baseline: Scores, candidate: Scores, column: int, margin: float) -> list[_DifferenceShares]:
    """All cases, and those that neither side failed on: failures of a baseline prove nothing."""
    rows = np.flatnonzero(~np.isnan(baseline.values[:, column] - candidate.values[:, column]))
    failed = np.isin(baseline.judged.status[rows], (ERROR, TIMEOUT)) | np.isin(candidate.judged.status[rows], (ERROR, TIMEOUT))
    return [_part(baseline, candidate, column, margin, each) for each in ([rows, rows[~failed]] if failed.any() else [rows])]


def _part(baseline: Scores, candidate: Scores, column: int, margin: float, rows: Rows) -> _DifferenceShares:
    before, after = (each.values[rows, column] for each in (baseline, candidate))
    span = measure_span(baseline.measures[column], before, after) if len(rows) else 1.0
    return _of_differences(after - before, clusters_of(baseline.judged.suite, rows), margin, span)


def _of_differences(differences: Floats, clusters: Clusters, margin: float, span: float) -> _DifferenceShares:
    return _DifferenceShares(observations(differences[:, None] / span, clusters), len(differences), margin / span)


def _p(parts: Sequence[_DifferenceShares]) -> float | None:
    found = [_p_of_part(each) for each in parts]
    known = [p for p in found if p is not None]
    return max(known) if len(known) == len(found) else None


def non_inferiority_p(differences: Floats, clusters: Clusters, margin: float, span: float = 1.0) -> float | None:
    """The p of one candidate, from candidate minus baseline case by case; None without enough independent cases."""
    return _p_of_part(_of_differences(differences, clusters, margin, span))


def _p_of_part(part: _DifferenceShares) -> float | None:
    if not part.found.enough:
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
    here, tail = len(part.found), SIGNIFICANT / 2 / max(1, family)
    if float(part.found.means[0]) + part.margin <= SAME:
        return None

    def shows(count: int) -> bool:
        more = _more_alike(part.found, count)
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


def _more_alike(found: Observations, count: int) -> Observations:
    """So many observations, each of those that there are being as frequent as it is, but for rounding."""
    chosen = ((np.arange(count) + 0.5) * len(found) / count).astype(np.intp)
    order = np.argsort(found.sums[:, 0] / found.sizes, kind="stable")
    return Observations(found.sums[order][chosen], found.sizes[order][chosen])
