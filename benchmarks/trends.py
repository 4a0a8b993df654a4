"""What "worse since" claims, by simulation: false alarms in histories that do not change, and how soon a loss is noticed.

A history is the mean of one measure, run after run, on the same cases. `--trials N` makes it shorter. The numbers of the rule
were chosen on UNCHANGED with SEED; FRESH_SEED, and what only FRESH has, were not looked at before they were settled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from searchmark.scoring.trends import band_around, track_noise

SEED, FRESH_SEED = 20_261_116, 7_041_776
TRIALS = 2_000
LENGTHS = (10, 30, 100)
BAR = 0.05
LEVEL = 0.8
Histories = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """An agent whose system never changes: ``noise`` gives what the mean of each run is off by, of trials x runs."""

    name: str
    noise: Callable[[np.random.Generator, tuple[int, int]], Histories]

    def histories(self, trials: int, runs: int, seed: int = SEED) -> Histories:
        return LEVEL + self.noise(np.random.default_rng(seed), (trials, runs))


def normal(deviation: float) -> Population:
    return Population(f"normal, {deviation:g}", lambda rng, shape: rng.normal(0, deviation, shape))


def flips(cases: int, unstable: int, often: float) -> Population:
    """Some cases of a suite are lost in a share of the runs."""
    name = f"{unstable} of {cases} cases lost in {often:.0%}"
    return Population(name, lambda rng, shape: -rng.binomial(unstable, often, shape) / cases)


UNCHANGED = (
    Population("the same answers", lambda _, shape: np.zeros(shape)),
    normal(0.002),
    normal(0.005),
    normal(0.01),
    normal(0.03),
    Population("heavy tails (t, 3), 0.01", lambda rng, shape: 0.01 * rng.standard_t(3, shape)),
    flips(30, 1, 0.02),
    flips(30, 1, 0.05),
    flips(30, 1, 0.1),
    flips(30, 1, 0.2),
    flips(30, 1, 0.5),
    flips(30, 3, 0.1),
    flips(100, 10, 0.1),
    Population("0.1 lost in 5 % of runs", lambda rng, shape: -0.1 * (rng.random(shape) < 0.05)),
)
FRESH = (
    *UNCHANGED,
    normal(0.007),
    Population("uniform, ±0.02", lambda rng, shape: rng.uniform(-0.02, 0.02, shape)),
    Population("skewed (exponential), 0.02", lambda rng, shape: -rng.exponential(0.02, shape)),
    flips(20, 1, 0.08),
    flips(50, 1, 0.15),
    flips(50, 2, 0.08),
    flips(50, 5, 0.05),
    flips(30, 2, 0.15),
)
SYSTEMS: dict[str, Callable[[int], list[int]]] = {
    "nothing known differs": lambda runs: [0] * runs,
    "other code in each run": lambda runs: list(range(runs)),
    "other code in every third": lambda runs: [run // 3 for run in range(runs)],
}


def false_alarms(populations: tuple[Population, ...], trials: int, seed: int) -> bool:
    """How often an unchanged history is called worse after any of its runs, and how often after its last one."""
    print(f"false alarms in unchanged histories ({trials:,} trials, seed {seed}): after any run (after the last)")
    print(f"  {'runs':<28}{'systems':<28}" + "".join(f"{runs:>18}" for runs in LENGTHS))
    worst = 0.0
    for population in populations:
        for name, systems in SYSTEMS.items():
            shares = [_alarm_shares(population.histories(trials, runs, seed), systems(runs)) for runs in LENGTHS]
            print(
                f"  {population.name:<28}{name:<28}" + "".join(f"{ever:>10.2%} ({last:.2%})" for ever, last in shares), flush=True
            )
            worst = max(worst, shares[LENGTHS.index(30)][0])
    print(f"  largest share after any of 30 runs: {worst:.2%} (bar {BAR:.0%})")
    return worst <= BAR


def _alarm_shares(histories: Histories, systems: list[int]) -> tuple[float, float]:
    found = [track_noise(row, systems) for row in histories.tolist()]
    return float(np.mean([any(each.worse) for each in found])), float(np.mean([each.worse_from is not None for each in found]))


def noticed(trials: int) -> None:
    """How many runs after a loss it is called worse, where the first run that is worse is named rightly, and how often ever."""
    print("a loss after so many runs: share noticed within 2, 3, 5 and 10 runs of it; share of those that name the right run")
    print(f"  {'noise':<20}{'runs before':>12}{'loss':>8}{'2':>9}{'3':>9}{'5':>9}{'10':>9}{'right run':>12}")
    for deviation in (0.0, 0.002, 0.005, 0.01, 0.02):
        for before in (5, 10, 30):
            for loss in (0.02, 0.05):
                delays, right = _delays(deviation, before, loss, trials)
                shares = "".join(f"{np.mean(delays <= runs):>9.1%}" for runs in (2, 3, 5, 10))
                print(f"  normal, {deviation:<12g}{before:>12}{loss:>8}{shares}{right:>12.1%}", flush=True)


def _delays(deviation: float, before: int, loss: float, trials: int) -> tuple[Histories, float]:
    after = 10
    rows = normal(deviation).histories(trials, before + after)
    rows[:, before:] -= loss
    delays, right = [], []
    for row in rows.tolist():
        marked = [track_noise(row[: before + runs], [0] * (before + runs)).worse_from for runs in range(1, after + 1)]
        first = next((runs for runs, since in enumerate(marked, 1) if since is not None), None)
        delays.append(np.inf if first is None else first)
        right.extend([] if first is None else [marked[first - 1] == before])
    return np.array(delays), float(np.mean(right)) if right else float("nan")


def declines(trials: int) -> None:
    """A mean that falls by a little with every run, after ten at one level: how much is lost before it is noticed."""
    print("a slow decline after 10 runs: median of what is lost when it is noticed within 50 runs, and share noticed")
    for deviation in (0.0, 0.005, 0.01):
        for step in (0.001, 0.002, 0.005):
            rows = normal(deviation).histories(trials, 60)
            rows[:, 10:] -= step * np.arange(1, 51)
            found = [track_noise(row, [0] * 60) for row in rows.tolist()]
            first = np.array(
                [each.worse.index(True) + 1 if any(each.worse) else np.nan for each in found]
            )  # one run later at least
            share = np.mean(~np.isnan(first))
            lost = step * (np.nanmedian(first) - 9) if share else np.nan
            print(f"  normal, {deviation:<8g} {step:g} per run: {lost:.3f} lost, {share:.1%} noticed", flush=True)


def outside_of_drift_bands(trials: int) -> None:
    """How often one more run of an unchanged system is outside the band around the median of the last ones."""
    print("a run of an unchanged system outside the noise band of a drift: earlier runs, of which in the median")
    for population in (normal(0.02), *(each for each in FRESH if each.name.startswith(("heavy", "skewed")))):
        shares = [
            (runs, last, _outside(population.histories(trials, runs + 1, 11), last))
            for runs, last in ((3, 3), (7, 7), (30, 7), (30, 1))
        ]
        print(f"  {population.name:<28}" + "".join(f"  {runs}, {last}: {share:.2%}" for runs, last, share in shares), flush=True)


def _outside(histories: Histories, last: int) -> float:
    outside = 0
    for *before, now in histories.tolist():
        band = band_around(median(before[-last:]), last, before, [0] * len(before), 0.0)
        outside += band is not None and band.side_of(now) != 0
    return outside / len(histories)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    trials = parser.parse_args().trials
    good = [false_alarms(UNCHANGED, trials, SEED), false_alarms(FRESH, trials, FRESH_SEED)]
    noticed(trials)
    declines(trials)
    outside_of_drift_bands(trials)
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
