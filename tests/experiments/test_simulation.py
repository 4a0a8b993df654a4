"""The simulation of sweeps decides by intervals at Holm's levels, which is quicker; a sweep decides by p. Both must agree."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from searchmark.scoring.planned_tests import non_inferiority_p
from searchmark.scoring.statistics import holm

SIMULATION = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "sweeps.py"), run_name="simulation")


def by_p(differences: np.ndarray) -> list[bool]:
    """As a sweep does it, for one family."""
    return [p < 0.05 for p in holm([non_inferiority_p(column, None, SIMULATION["MARGIN"]) for column in differences.T])]


def check(seed: int, worse: str) -> None:
    random = np.random.default_rng(seed)
    before = SIMULATION["baseline"](random, 300)
    draws = [SIMULATION[worse]] * 4 + [SIMULATION["nearly_exact"]] * 7
    differences = np.column_stack([draw(random, before) - before for draw in draws])
    shown = by_p(differences)
    assert SIMULATION["shown_by_holm"](differences).tolist() == shown
    assert 0 < sum(shown) < len(draws)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "worse"), [(1, "lost_targets"), (2, "other_vectors")])
def test_intervals_at_the_levels_of_holm_show_what_p_shows(seed, worse):
    check(seed, worse)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 7))
@pytest.mark.parametrize("worse", ["lost_targets", "one_lower", "other_vectors"])
def test_intervals_at_the_levels_of_holm_show_what_p_shows_in_more_grids(seed, worse):
    check(seed, worse)
