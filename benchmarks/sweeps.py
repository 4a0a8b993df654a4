"""What the sentence of a sweep claims, by simulation: how often it names a setting that is truly worse than the margin.

A grid of twelve settings: the baseline, and eleven that are held against it. Values are those of nDCG@10 with one target: 0, 1 or
what a lower rank gives, most of them unchanged by a setting. Settings that are worse lose exactly the margin in the mean, and are
the cheapest, so that every mistake is named. `--grids N` and `--world NAME` make it shorter.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from searchmark.scoring.statistics import LEAN, NORMAL, ConfidenceLevel, difference_intervals, observations
from searchmark.scoring.verdicts import SIGNIFICANT

MARGIN = 0.02
OTHERS = 11
BAR = 0.05
SEED = 20_261_116
Floats = np.ndarray
Draw = Callable[[np.random.Generator, Floats], Floats]
RANKS = 1 / np.log2(np.arange(2, 12))


def baseline(random: np.random.Generator, cases: int) -> Floats:
    """A fifth finds nothing, two fifths find it first, the rest further down."""
    kind = random.random(cases)
    return np.where(kind < 0.2, 0.0, np.where(kind < 0.6, 1.0, RANKS[random.integers(1, 10, cases)]))


MEAN = 0.4 + 0.4 * RANKS[1:].mean()


def lost_targets(random: np.random.Generator, values: Floats) -> Floats:
    """An index that misses the target of a few cases altogether."""
    return np.where(random.random(len(values)) < MARGIN / MEAN, 0.0, values)


def one_lower(random: np.random.Generator, values: Floats) -> Floats:
    """A share of the targets that come first come second: small losses that sum up to the margin."""
    moved = random.random(len(values)) < MARGIN / (0.4 * (1 - RANKS[1]))
    return np.where(moved & (values == 1), RANKS[1], values)


def other_vectors(random: np.random.Generator, values: Floats) -> Floats:
    """Another model: a third of the cases change either way, and the mean falls by the margin."""
    drawn = baseline(random, len(values))
    changed = random.random(len(values)) < 1 / 3
    lost = random.random(len(values)) < 3 * MARGIN / MEAN
    return np.where(changed, np.where(lost, 0.0, drawn), values)


def nearly_exact(random: np.random.Generator, values: Floats) -> Floats:
    """As good as the baseline: one case in a hundred is answered like any other, for better or worse."""
    return np.where(random.random(len(values)) < 0.01, baseline(random, len(values)), values)


@dataclass(frozen=True)
class World:
    """A grid: how the settings that are worse by the margin differ from the baseline, and how many they are."""

    name: str
    worse: Draw
    bad: int


WORLDS = [
    World(f"{title}, {bad} of {OTHERS} settings worse by the margin", draw, bad)
    for title, draw in (("targets lost", lost_targets), ("one rank lower", one_lower), ("another model", other_vectors))
    for bad in (OTHERS, 5)
]


def named(world: World, cases: int, grids: int) -> list[int | None]:
    """The setting that the sentence names in each grid, the worse ones being the first and cheapest; None if it names none."""
    random = np.random.default_rng([SEED, cases, world.bad])
    draws = [world.worse] * world.bad + [nearly_exact] * (OTHERS - world.bad)
    columns = []
    for _ in range(grids):
        before = baseline(random, cases)
        columns += [draw(random, before) - before for draw in draws]
    shown = shown_by_holm(np.column_stack(columns)).reshape(grids, OTHERS)
    return [int(row.argmax()) if row.any() else None for row in shown]


def shown_by_holm(differences: Floats) -> Floats:
    """What Holm's step-down shows of families of eleven columns, by intervals at the levels of its steps.

    The p of a sweep is below a level if and only if the interval at that level is above the margin, so that this is the same, and
    takes eleven intervals of all columns together instead of a search for every p.
    """
    found = observations(differences, None)
    levels = [SIGNIFICANT / left for left in range(OTHERS, 0, -1)]
    passed = np.array([difference_intervals(found, ConfidenceLevel(level / 2, LEAN))[0] > -MARGIN for level in levels])
    passed = passed.reshape(len(levels), -1, OTHERS)  # step, grid, setting
    shown = np.zeros(passed.shape[1:], bool)
    for step in range(OTHERS):  # a step is taken where as many are shown as steps were taken
        reached = shown.sum(axis=1) >= step
        shown |= passed[step] & reached[:, None]
    return shown.reshape(-1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", type=int, default=1000, help="of each line")
    parser.add_argument("--world", metavar="NAME", help="only those whose name contains this")
    asked = parser.parse_args()
    worlds = [world for world in WORLDS if asked.world is None or asked.world in world.name]
    if not worlds or asked.grids < 1:
        parser.error(f"grids are 1 or more, and worlds are {'; '.join(world.name for world in WORLDS)}")
    failed = 0
    for world in worlds:
        for cases in (100, 400, 1500):
            found = named(world, cases, asked.grids)
            wrong = sum(each is not None and each < world.bad for each in found)
            right = sum(each is not None and each >= world.bad for each in found)
            low, _ = limits(wrong, asked.grids)
            failed += low > BAR
            print(
                f"{world.name}, {cases} cases, {asked.grids} grids: a worse one is named in {share(wrong, asked.grids)}, "
                f"bar {BAR:.0%}; a good one in {share(right, asked.grids)}",
                flush=True,
            )
    return 1 if failed else 0


def limits(count: int, grids: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927)."""
    z, rate = NORMAL.inv_cdf(0.975), count / grids
    middle, half = rate + z * z / (2 * grids), z * sqrt(rate * (1 - rate) / grids + (z / (2 * grids)) ** 2)
    return (middle - half) / (1 + z * z / grids), (middle + half) / (1 + z * z / grids)


def share(count: int, grids: int) -> str:
    low, high = limits(count, grids)
    return f"{count / grids:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    sys.exit(main())
