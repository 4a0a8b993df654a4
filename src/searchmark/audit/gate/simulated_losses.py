"""The smallest loss that a rule that compares sees with 80 % power, by builds that are drawn and judged as every build is.

Builds of an agent that was run twice have its noise, with the sign of each difference at random, and cases drawn at random lose
all that they have: what breaks, breaks for some queries. Builds of two agents differ as these two do, and lose as much everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from searchmark.analysis.foresight import GateQuestion
from searchmark.analysis.intervals import Observations
from searchmark.analysis.paired_statistics import difference_intervals, randomisation_p
from searchmark.analysis.power import POWER
from searchmark.audit.gate.noise import PairedNoise
from searchmark.measures.formulas import Floats

BUILDS = 200
FEWEST_BUILDS = 60
MOST_DIFFERENCES = 100_000  # in all builds together
MOST_ORIGINS = 1 << 13
STEPS = 8  # halvings: a loss is found to a 256th of all that can be lost
FINE = 1.05  # how exactly a number of cases is found


@dataclass(frozen=True, eq=False)
class SimulatedLosses:
    """Builds with the noise of two runs, for one question."""

    noise: PairedNoise
    question: GateQuestion

    def smallest_seen(self) -> float | None:
        """The smallest loss that is seen in 80 % of the builds; None if not even the largest is."""
        low, high = 0.0, self._most
        if not self._seen(high):
            return None
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._seen(middle) else (middle, high)
        return high * self.noise.span

    def more_cases(self, wanted: float) -> int | None:
        """How many more independent cases, like these, see the wanted loss, to 5 %; None if thousands do not."""
        here, loss = len(self.noise.differ), wanted / self.noise.span
        if wanted <= self.question.min_effect or loss > self._most:
            return None
        low, high = here, here
        while not self._of(high)._seen(loss):
            if high >= MOST_ORIGINS:
                return None
            low, high = high, 2 * high
        while high > low * FINE and high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._of(middle)._seen(loss) else (middle, high)
        return high - here

    @property
    def _most(self) -> float:
        return float(self.noise.has.means[0])

    def _of(self, origins: int) -> SimulatedLosses:
        """The same with more origins that are like these."""
        differ, has = (
            Observations(np.resize(each.sums, (origins, 1)), np.resize(each.sizes, origins))
            for each in (self.noise.differ, self.noise.has)
        )
        return replace(self, noise=replace(self.noise, differ=differ, has=has))

    def _seen(self, loss: float) -> bool:
        builds = Observations(self._builds(loss), self.noise.differ.sizes)
        _, high = difference_intervals(builds, self.question.rigour.interval)
        p = randomisation_p(builds.sums, mid=self.question.rigour.mid_p)
        large = -builds.means * self.noise.span >= self.question.min_effect
        return float(((p < self.question.level) & (high < 0) & large).mean()) >= POWER

    def _builds(self, loss: float) -> Floats:
        """The sums of differences of every origin, a column per build."""
        generator = np.random.default_rng(0)
        differ, has = self.noise.differ, self.noise.has
        shape = len(differ), max(FEWEST_BUILDS, min(BUILDS, MOST_DIFFERENCES // len(differ)))
        signs = np.where(generator.random(shape) < 0.5, -1.0, 1.0)  # noqa: PLR2004  # either sign
        if not self.noise.repeat:
            shifted = (differ.sums - differ.means * differ.sizes[:, None]) * signs - loss * differ.sizes[:, None]
            return np.clip(shifted, -differ.sizes[:, None], differ.sizes[:, None])
        broken = generator.random(shape) < loss / max(self._most, 1e-12)
        has_by_build = np.stack([generator.permutation(has.sums[:, 0]) for _ in range(shape[1])], axis=1)
        return differ.sums * signs - np.where(broken, has_by_build, 0.0)
