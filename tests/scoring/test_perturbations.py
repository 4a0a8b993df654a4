"""What variants lose against their originals: numbers by hand, and intervals that cover."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from searchmark import Case, Judgment, Run, Scores, Suite, match_hits, score
from searchmark.scoring.comparison import PerturbationDrop, drop_limits, perturbation_drops

TRIALS = 600
LOWEST = 0.91  # 600 trials leave two standard errors of 2 % around 93 % of coverage

# Origins' originals and their variants: (originals per origin and trial, variants of each).
Draw = Callable[[np.random.Generator, tuple[int, int]], tuple[np.ndarray, np.ndarray]]


def case(name: str, original: str | None = None, kind: str = "typo", origin: str | None = None) -> Case:
    fields = {} if original is None else {"perturbation": kind, "perturbed_from": original}
    return Case(name, name, (Judgment(f"target of {origin or original or name}"),), origin=origin, fields=fields)


def scores_of(cases: list[Case], values: list[float], measure: str = "RR") -> Scores:
    suite = Suite.from_cases("s", cases)
    empty = score(match_hits(suite, Run.from_scores({cases[0].id: {"x": 1.0}})), [measure])
    return replace(empty, values=np.array(values, float)[:, None])


def drop_of(cases: list[Case], values: list[float], measure: str = "RR") -> PerturbationDrop:
    (found,) = perturbation_drops({"run": scores_of(cases, values, measure)})
    return found


def test_every_original_weighs_the_same_however_many_variants_it_has() -> None:
    cases = [case("a"), case("a1", "a"), case("a2", "a"), case("a3", "a"), case("b"), case("b1", "b")]
    found = drop_of(cases, [1.0, 0.0, 0.0, 0.0, 0.5, 0.5])
    assert (found.cases, found.originals, found.origins, found.left_out) == (4, 2, 2, 0)
    assert (found.original_mean, found.variant_mean, found.drop) == (0.75, 0.25, 0.5)


def test_kinds_are_kept_apart_and_originals_without_the_kind_do_not_count() -> None:
    cases = [case("a"), case("a1", "a", "typo"), case("a2", "a", "case"), case("b"), case("b1", "b", "case")]
    found = {each.kind: each for each in perturbation_drops({"run": scores_of(cases, [1.0, 0.0, 1.0, 0.2, 0.4])})}
    assert (found["typo"].original_mean, found["typo"].drop) == (1.0, 1.0)
    assert found["case"].original_mean == pytest.approx(0.6)
    assert found["case"].drop == pytest.approx(-0.1)  # below 0: the variants do better


def test_variants_without_a_value_or_an_original_are_left_out_and_counted() -> None:
    nan = math.nan
    cases = [case("a"), case("a1", "a"), case("a2", "a"), case("b"), case("b1", "b"), case("c1", "gone")]
    found = drop_of(cases, [1.0, 0.5, nan, nan, 0.3, 0.9])
    assert (found.cases, found.left_out, found.original_mean, found.variant_mean) == (1, 3, 1.0, 0.5)
    nothing = drop_of(cases, [nan] * 6)
    assert (nothing.cases, nothing.origins, nothing.drop, nothing.original_mean, nothing.low) == (0, 0, None, None, None)


def test_below_ten_origins_there_is_no_interval() -> None:
    for origins, has_interval in ((9, False), (10, True)):
        names = [f"c{number}" for number in range(2 * origins)]
        cases = [
            each
            for number, name in enumerate(names)
            for each in (case(name, origin=f"o{number // 2}"), case(f"{name}~", name, origin=f"o{number // 2}"))
        ]
        found = drop_of(cases, [1.0, 0.0, 0.5, 0.5] * origins)
        assert (found.originals, found.origins) == (2 * origins, origins)
        assert (found.low is not None) == (found.high is not None) == has_interval


def test_a_measure_without_a_highest_value_has_no_interval() -> None:
    names = [f"c{number}" for number in range(20)]
    cases = [each for name in names for each in (case(name), case(f"{name}~", name))]
    assert drop_of(cases, [1.0, 0.2] * 20, "DCG@10").low is None
    assert drop_of(cases, [1.0, 0.2] * 20, "nDCG@10").low is not None


def test_the_order_of_cases_changes_no_digit() -> None:
    random = np.random.default_rng(3)
    names = [f"c{number}" for number in range(15)]
    cases = [each for name in names for each in (case(name), *(case(f"{name}~{number}", name) for number in range(3)))]
    values = random.random(len(cases)).tolist()
    order = random.permutation(len(cases)).tolist()
    assert drop_of(cases, values) == drop_of([cases[row] for row in order], [values[row] for row in order])


def test_a_suite_without_variants_has_no_drops() -> None:
    assert list(perturbation_drops({"run": scores_of([case("a"), case("b")], [1.0, 0.0])})) == []


def _binary(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Eight of ten originals are found, and three of ten of their variants are not; how fragile an origin is differs."""
    original = (random.random(shape) < 0.8).astype(float)
    lost = random.beta(0.6, 1.4, shape)  # on average 0.3
    variants = [np.where(random.random(shape) < lost, 0.0, original) for _ in range(3)]
    return original, np.mean(variants, axis=0)


def _dense(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    original = random.beta(4, 2, shape)
    return original, original * (1 - random.uniform(0, 0.6, shape))


def _rare(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """One variant in twenty loses everything, no other anything."""
    return np.ones(shape), np.where(random.random(shape) < 0.05, 0.0, 1.0)


def _neither(random: np.random.Generator, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """One variant in five is better or worse, as often and as much."""
    moved = np.where(random.random(shape) < 0.2, np.where(random.random(shape) < 0.5, 0.4, -0.4), 0.0)
    return np.full(shape, 0.5), 0.5 + moved


@pytest.mark.parametrize("origins", [10, 30, 100])
@pytest.mark.parametrize(
    ("draw", "true"), [(_binary, 0.24), (_dense, 0.2), (_rare, 0.05), (_neither, 0.0)], ids=["binary", "dense", "rare", "neither"]
)
def test_intervals_of_drops_cover(draw: Draw, true: float, origins: int) -> None:
    before, after = draw(np.random.default_rng(origins), (origins, TRIALS))
    count, limits = drop_limits(before - after, None)
    assert count == origins
    assert limits is not None
    assert np.mean((limits[0] <= true) & (true <= limits[1])) >= LOWEST


@pytest.mark.parametrize("origins", [20, 60])
def test_intervals_cover_where_origins_have_several_originals(origins: int) -> None:
    """All originals of an origin, one to three, lose alike: taking them for observations of their own would not cover."""
    random = np.random.default_rng(origins)
    cluster = np.repeat(np.arange(origins), np.resize([1, 2, 3], origins))
    losses = random.beta(0.6, 1.4, (origins, TRIALS))[cluster]  # of originals that are found, on average 0.3
    count, limits = drop_limits(losses, cluster)
    _, naive = drop_limits(losses, None)
    assert count == origins
    assert limits is not None
    assert naive is not None
    covered, apart = (np.mean((each[0] <= 0.3) & (each[1] >= 0.3)) for each in (limits, naive))
    assert covered >= LOWEST
    assert apart < covered


def test_intervals_are_in_the_unit_of_the_measure() -> None:
    """A measure of twice the range has twice the interval for twice the values."""
    names = [f"c{number}" for number in range(30)]
    cases = [each for name in names for each in (case(name), case(f"{name}~", name))]
    values = np.linspace(0.3, 1.0, 60)
    unit, wide = drop_of(cases, values.tolist()), drop_of(cases, (2 * values - 1).tolist(), "Tau")
    assert unit.low is not None
    assert unit.high is not None
    assert unit.low < (unit.drop or 0.0) < unit.high
    assert (wide.low, wide.high) == pytest.approx((2 * unit.low, 2 * unit.high))
