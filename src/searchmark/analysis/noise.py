"""The noise band: between which values the next run of the same system would be, and since when runs have been below it.

The cases of all runs are the same, so the interval of a mean, which is about other cases, says nothing here: a system that
always gives the same answers has no noise at all. What there is shows between one run and the next. The deviation is that
of successive differences (von Neumann's), since one step or a slow decline adds little to it; it is taken from runs of which
nothing is known to differ where there are enough of them, else from all runs, and then includes how much changes of the
system usually do. The band is a prediction interval around the mean of the level that the runs are on, and never narrower
than a floor. Two runs above it begin a new level. One run outside proves nothing: it is taken for noise unless others follow,
and then the band reaches as far as that run for a while: answers that are lost now and then are no loss.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import pi, sqrt

import numpy as np

from searchmark.analysis.distributions import beta_quantile, t_quantile

SMALLEST_EFFECT = 0.01  # the smallest difference of means that matters, as in a comparison
OUTSIDE = 0.02  # how often the next run of the same system is outside its band, on either side
FEWEST_RUNS = 3  # before there is a band
ENOUGH_REPEATS = 6  # pairs of runs of which nothing is known to differ
# So many runs in a row must be below the band: the fewer runs came before, the less is known of what the system may do.
WELL_KNOWN = 10
IN_A_ROW, IN_A_ROW_EARLY = 2, 3
REMEMBERED = 30  # runs of a level whose values are all within the band
MANY_DEGREES = 9.0
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Band:
    """The values that are noise; ``runs`` is how many the band was made of."""

    low: float
    high: float
    runs: int

    def side_of(self, value: float) -> int:
        """-1 below, 1 above, 0 within the band."""
        slack = _ROUNDING * max(abs(self.low), abs(self.high))
        return (value > self.high + slack) - (value < self.low - slack)

    def between(self, lowest: float, highest: float) -> Band:
        """The part of it that a number can have."""
        return Band(max(self.low, lowest), min(self.high, highest), self.runs)


@dataclass(frozen=True)
class Followed:
    """Runs one after another: the band by which each was judged, and whether it belongs to a stretch that is worse.

    ``worse_from`` is where the stretch begins that has not ended. ``outside`` is where the runs begin that are outside the
    band and too few to say so.
    """

    bands: tuple[Band | None, ...]
    worse: tuple[bool, ...]
    worse_from: int | None
    outside: int | None

    @property
    def band(self) -> Band | None:
        return self.bands[-1] if self.bands else None


@dataclass
class _StepSpread:
    """The mean of squared differences, each between one run and the next."""

    squares: float = 0.0
    count: int = 0
    adjacent: int = 0
    last: int = -1

    def add(self, difference: float, start: int, end: int) -> None:
        self.squares += difference * difference
        self.count += 1
        self.adjacent += start == self.last
        self.last = end

    @property
    def deviation(self) -> float:
        return sqrt(self.squares / (2 * self.count))

    @property
    def degrees(self) -> float:
        """Of freedom; two differences that share a run are not independent, with a correlation of their squares of 1/4."""
        return 2 * self.count**2 / (2 * self.count + self.adjacent)


@dataclass
class _Follower:
    values: Sequence[float]
    systems: Sequence[Hashable | None]
    floor: float
    level: list[int] = field(default_factory=list)
    total: float = 0.0
    usual: _StepSpread = field(default_factory=_StepSpread)
    repeats: _StepSpread = field(default_factory=_StepSpread)
    outside: list[int] = field(default_factory=list)
    side: int = 0
    worse: set[int] = field(default_factory=set)

    @property
    def spread(self) -> _StepSpread:
        return self.repeats if self.repeats.count >= ENOUGH_REPEATS else self.usual

    def half(self, centre_variance: float) -> float:
        """Half of the band around a centre that itself varies so much, in variances of a run."""
        return max(self.floor, _t(self.spread.degrees) * self.spread.deviation * sqrt(1 + centre_variance))

    def band(self) -> Band | None:
        runs = len(self.level)
        if runs < FEWEST_RUNS and self.spread is self.usual:
            return None
        centre, half = self.total / runs, self.half(1 / runs)
        seen = [self.values[run] for run in self.level[-REMEMBERED:]]
        return Band(min(centre - half, *seen), max(centre + half, *seen), runs)

    def follow(self, run: int) -> Band | None:
        band = self.band()
        side = 0 if band is None else band.side_of(self.values[run])
        if side != self.side:
            self._settle()
            self.side = side
        if side:
            self.outside.append(run)
        else:
            self._join(run)
        if self.confirmed and side > 0:
            self._begin_level()
        elif self.confirmed:
            self.worse.update(self.outside)
        return band

    @property
    def confirmed(self) -> bool:
        return len(self.outside) >= (IN_A_ROW if len(self.level) >= WELL_KNOWN else IN_A_ROW_EARLY)

    def _settle(self) -> None:
        """What came back, or went to the other side, before it was confirmed was noise; a stretch that was worse is over."""
        if not self.confirmed:
            for run in self.outside:
                self._join(run)
        self.outside = []

    def _begin_level(self) -> None:
        self.level, self.total, self.side = [], 0.0, 0
        for run in self.outside:
            self._join(run)
        self.outside = []

    def _join(self, run: int) -> None:
        if self.level:
            last = self.level[-1]
            difference = self.values[run] - self.values[last]
            self.usual.add(difference, last, run)
            if self.systems[run] is not None and self.systems[run] == self.systems[last]:
                self.repeats.add(difference, last, run)
        self.level.append(run)
        self.total += self.values[run]


def followed(values: Sequence[float], systems: Sequence[Hashable | None], floor: float = SMALLEST_EFFECT) -> Followed:
    """Runs from the oldest to the newest; ``systems`` are equal for runs of which nothing is known to differ, None if unknown."""
    follower = _Follower(values, systems, floor)
    bands = tuple(map(follower.follow, range(len(values))))
    begins = follower.outside[0] if follower.outside else None
    confirmed = follower.confirmed and follower.side < 0
    return Followed(
        bands,
        tuple(run in follower.worse for run in range(len(values))),
        worse_from=begins if confirmed else None,
        outside=None if confirmed else begins,
    )


def band_around(
    median: float, runs: int, values: Sequence[float], systems: Sequence[Hashable | None], floor: float = SMALLEST_EFFECT
) -> Band | None:
    """Between which values one more run would be if it were of the system that ``runs`` runs with this median were of.

    ``values`` and ``systems`` are of all runs that tell how large the noise is, from the oldest to the newest.
    """
    if len(values) < FEWEST_RUNS:
        return None
    follower = _Follower(values, systems, floor)
    for run in range(len(values)):
        follower.follow(run)
    # The median of many varies by pi / 2 more than their mean, and that of one or two is their mean.
    half = follower.half((1 if runs < FEWEST_RUNS else pi / 2) / runs)
    return Band(median - half, median + half, len(values))


@cache
def _t(degrees: float) -> float:
    """Student's t that is exceeded on either side with the probability OUTSIDE; exact for few degrees of freedom."""
    if degrees >= MANY_DEGREES:
        return t_quantile(1 - OUTSIDE / 2, degrees)
    x = beta_quantile(OUTSIDE, np.array([degrees / 2]), np.array([0.5])).item()
    return sqrt(degrees * (1 / x - 1))
