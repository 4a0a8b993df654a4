"""Simulated comparisons with a known true difference: scores of two runs on the same cases, as real ones come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Population:
    """Where two runs come from: ``draw`` gives the scores of baseline and candidate (cases x trials).

    ``dense``: nearly every case has a value of its own. ``cluster``: how many cases of one origin there are at most.
    """

    name: str
    draw: Draw
    difference: float
    dense: bool = False
    cluster: int = 1

    def sample(self, cases: int, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return self.draw(np.random.default_rng([seed, cases]), (cases, trials))

    def clusters(self, cases: int) -> list[str] | None:
        """Origins of 1, 2, ... up to ``cluster`` cases in turn."""
        if self.cluster == 1:
            return None
        sizes = np.resize(np.arange(1, self.cluster + 1), cases)
        return [f"origin {number}" for number in np.repeat(np.arange(cases), sizes)[:cases]]


def _pair_of_uniforms(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Two uniform numbers per case that are correlated, since a hard case is hard for both."""
    difficulty = random.normal(size=shape)
    first, second = (stats.norm.cdf((difficulty + random.normal(size=shape)) / np.sqrt(2)) for _ in range(2))
    return first, second


def _beta(shift: float) -> Population:
    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first, second = _pair_of_uniforms(random, shape)
        return stats.beta.ppf(first, 2, 2), stats.beta.ppf(second, 2 + 2 * shift, 2)

    return Population("dense", draw, (2 + 2 * shift) / (4 + 2 * shift) - 0.5, dense=True)


def dense(mean: float, deviation: float) -> Population:
    """Every case changes, by a little more or less than the mean."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first = random.beta(4, 4, shape)
        return first, first + mean + deviation * random.standard_normal(shape)

    return Population(f"dense, sd {deviation:g}", draw, mean, dense=True)


def _binary(shift: float, level: float = 0.5) -> Population:
    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first, second = _pair_of_uniforms(random, shape)
        return (first < level).astype(float), (second < level + shift).astype(float)

    return Population(f"binary {level:g}", draw, shift)


def _inflated(zeros: float, shift: float) -> Population:
    """A share of zeros, the rest spread out; fewer zeros in the candidate."""

    def spread(uniform: np.ndarray, share: float) -> np.ndarray:
        rest = np.clip((uniform - share) / (1 - share), 0, 1)
        return np.where(uniform < share, 0.0, stats.beta.ppf(rest, 2, 2))

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first, second = _pair_of_uniforms(random, shape)
        return spread(first, zeros), spread(second, zeros - shift)

    return Population(f"zero-inflated {zeros:g}", draw, shift / 2)


def _ceiling(perfect: float) -> Population:
    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first, second = (np.where(random.random(shape) < perfect, 1.0, random.random(shape)) for _ in range(2))
        return first, second

    return Population(f"ceiling {perfect:g}", draw, 0.0)


def _tied(shift: float = 0.0) -> Population:
    """Five steps, as P@5 has them, and half of the cases unchanged."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first = random.integers(1, 5, shape) / 5
        step = np.where(random.random(shape) < 0.5, 0.0, np.where(random.random(shape) < 0.5 + shift, 0.2, -0.2))
        return first, first + step

    return Population("tied", draw, 0.2 * shift)


def _sparse(changed: float, gains: float = 0.5) -> Population:
    """Few cases change, by a reciprocal rank that becomes another."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        size = 1 - 1 / random.integers(2, 11, shape)
        gain = random.random(shape) < gains
        moved = random.random(shape) < changed
        return np.where(moved & ~gain, size, 0.0), np.where(moved & gain, size, 0.0)

    return Population(f"sparse {changed:g}", draw, changed * (2 * gains - 1) * float(np.mean(1 - 1 / np.arange(2, 11))))


def _lost(share: float) -> Population:
    """A share of cases loses everything, no other changes."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(shape), np.where(random.random(shape) < share, 0.0, 1.0)

    return Population(f"lost {share:g}", draw, -share)


def _lopsided() -> Population:
    """Many small gains and a few large losses that make up for them."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        lost = random.random(shape) < 0.1
        return np.where(lost, 0.9, 0.5), np.where(lost, 0.0, 0.6)

    return Population("lopsided", draw, 0.0)


def all_gain(mean: float, deviation: float) -> Population:
    """Every case gains."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        first = random.beta(2, 4, shape)
        return first, first + mean + deviation * random.standard_normal(shape)

    return Population(f"dense, all gain {mean:g}", draw, mean, dense=True)


def _clustered(shift: float = 0.0) -> Population:
    """Cases of one origin change alike."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.resize(np.arange(1, 5), shape[0])
        origin = np.repeat(np.arange(shape[0]), sizes)[: shape[0]]
        common = random.normal(size=(origin[-1] + 1, shape[1]))[origin]
        change = shift + 0.1 * common + 0.1 * random.normal(size=shape)
        first = random.beta(4, 4, shape)
        return first, first + change

    return Population("clustered", draw, shift, cluster=4)


# No true difference: whatever is called IMPROVED or REGRESSED here is false.
NULLS = (
    _beta(0.0),
    dense(0.0, 0.2),
    dense(0.0, 0.02),
    _binary(0.0),
    _binary(0.0, 0.95),
    _inflated(0.6, 0.0),
    _inflated(0.9, 0.0),
    _ceiling(0.9),
    _tied(),
    _sparse(0.03),
    _sparse(0.1),
    _sparse(0.3),
    _lopsided(),
    _clustered(),
)
# A true difference, for coverage and power.
EFFECTS = (
    _beta(0.5),
    dense(0.1, 0.2),
    dense(0.02, 0.05),
    dense(0.01, 0.02),
    all_gain(0.1, 0.02),
    _binary(0.2),
    _binary(0.04, 0.95),
    _inflated(0.6, 0.2),
    _inflated(0.9, 0.2),
    _tied(0.2),
    _sparse(0.03, 1.0),
    _sparse(0.1, 0.8),
    _sparse(0.3, 0.7),
    _lost(0.02),
    _lost(0.1),
    _clustered(0.05),
)


def at_the_line(effect: float) -> tuple[Population, ...]:
    """True differences of exactly ``effect``: whatever is called WITHIN NOISE there is false."""
    return (
        _lost(effect),
        _lost(2 * effect),
        dense(effect, 0.2),
        dense(effect, 0.05),
        dense(effect, 0.02),
        _sparse(effect / float(np.mean(1 - 1 / np.arange(2, 11))), 1.0),
        _tied(effect / 0.2),
        _inflated(0.6, 2 * effect),
        _clustered(effect),
    )
