"""How much better one run is than another in relation to the other's mean, with an interval that doubts both means.

The interval holds every gain g that is not refuted: those for which the mean of candidate - (1 + g) * baseline, case by
case, could be 0 by the interval of differences. This is Fieller's method (1954); it needs no baseline that is known
exactly, and where the baseline's own mean could be 0 it says so by having no upper end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from searchmark.analysis.distributions import Floats
from searchmark.analysis.intervals import SHOWN, Clusters, observations
from searchmark.analysis.paired_evidence import exact_mean
from searchmark.analysis.paired_statistics import difference_intervals

_ROUNDS = 9


@dataclass(frozen=True)
class Gain:
    """The gain of a candidate. ``absolute``: in the unit of the measure, since the baseline's mean is 0.

    ``low`` and ``high`` are None without enough independent cases; ``high`` is infinite if nothing bounds it.
    """

    mean: float | None
    low: float | None
    high: float | None
    cases: int
    absolute: bool = False


def gain_of(baseline: Floats, candidate: Floats, clusters: Clusters, span: float, lowest: float = 0.0) -> Gain:
    """The relative gain over the baseline, or the difference itself where the baseline has nothing to relate it to.

    ``lowest`` is the lowest value that there can be: what is never below 0 cannot lose more than all of it.
    """
    before, after = exact_mean(baseline), exact_mean(candidate)
    if before is None or after is None:
        return Gain(None, None, None, 0)
    lines = _GainLimits(baseline / span, candidate / span, clusters)
    relative = before > 0
    mean = after / before - 1 if relative else after - before
    if not lines.enough:
        return Gain(mean, None, None, len(baseline), not relative)
    if relative:
        low, high = lines.interval(mean, before / span)
        return Gain(mean, max(low, -1.0) if lowest >= 0 else low, high, len(baseline))
    low, high = lines.difference()
    return Gain(mean, low * span, high * span, len(baseline), absolute=True)


class _GainLimits:
    """Limits of the mean of candidate - (1 + g) * baseline for several gains g; both limits fall as g grows."""

    def __init__(self, baseline: Floats, candidate: Floats, clusters: Clusters) -> None:
        self._baseline, self._candidate, self._clusters = baseline, candidate, clusters
        self.enough = observations(baseline[:, None], clusters).enough

    def limits(self, gains: Floats) -> tuple[Floats, Floats]:
        scale = np.maximum(1.0, 1 + gains)  # so that no difference is larger than 1
        values = (self._candidate[:, None] - self._baseline[:, None] * (1 + gains)) / scale
        low, high = difference_intervals(observations(values, self._clusters), SHOWN)
        return low * scale, high * scale

    def difference(self) -> tuple[float, float]:
        """The interval of the difference itself."""
        low, high = self.limits(np.zeros(1))
        return float(low[0]), float(high[0])

    def interval(self, gain: float, baseline: float) -> tuple[float, float]:
        """The gains at which the lower and the upper limit are 0, on either side of the observed gain.

        It is never narrower than the interval of the difference over the baseline's mean: ties of the two runs are ties no
        longer once one of them is scaled, and must not prove more for that.
        """
        highest = self._highest(gain)
        low, high = self._crossing(np.array([-1.0, gain]), np.array([gain, gain if highest is None else highest]))
        least, most = (limit / baseline for limit in self.difference())
        return min(low, least), float("inf") if highest is None else max(high, most)

    def _highest(self, gain: float) -> float | None:
        """A gain that is surely too high; None if there is none that counts."""
        steps = np.array([gain + 0.5 * 4.0**step for step in range(9)])
        too_high = np.flatnonzero(self.limits(steps)[1] < 0)
        return float(steps[too_high[0]]) if len(too_high) else None

    def _crossing(self, below: Floats, above: Floats) -> tuple[float, float]:
        """Where the limits change their sign, by the Illinois method for both ends at once."""
        value_below, value_above = self._ends(below), self._ends(above)
        for _ in range(_ROUNDS):
            span = value_below - value_above
            share = np.where(span > 0, value_below / np.where(span > 0, span, 1.0), 0.5)
            middle = below + np.clip(share, 0.0, 1.0) * (above - below)
            value = self._ends(middle)
            positive = value > 0
            # The end that stays counts half, so that both ends move.
            value_above, value_below = (
                np.where(positive, value_above / 2, value),
                np.where(positive, value, value_below / 2),
            )
            below, above = np.where(positive, middle, below), np.where(positive, above, middle)
        return float(middle[0]), float(middle[1])

    def _ends(self, gains: Floats) -> Floats:
        low, high = self.limits(gains)
        return np.array([low[0], high[1]])
