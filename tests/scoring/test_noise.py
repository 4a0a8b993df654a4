"""The noise band: what the next run of the same system may be, and when a run is not that any more."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.scoring.trends import Band, NoiseHistory, track_noise

MEANS = st.lists(st.floats(0, 1), max_size=60)


def same(means: list[float]) -> list[str]:
    return ["s"] * len(means)


def ends(found: NoiseHistory) -> tuple[float, float]:
    """The band of the last run."""
    assert found.band is not None
    return found.band.low, found.band.high


class TestBand:
    def test_is_not_there_before_three_runs(self) -> None:
        assert track_noise([0.8, 0.8, 0.8], same([0.8] * 3)).bands == (None, None, None)

    def test_of_equal_runs_is_the_smallest_effect_that_matters(self) -> None:
        assert ends(track_noise([0.8] * 4, same([0.8] * 4))) == pytest.approx((0.79, 0.81))

    def test_is_a_prediction_interval_by_successive_differences(self) -> None:
        # Differences +0.2, -0.2: variance 0.04 / 2 with 1.6 degrees of freedom. Student's t is that of scipy: t.ppf(0.99, 1.6).
        half = 9.907207605 * sqrt(0.02) * sqrt(1 + 1 / 3)
        centre = 1.4 / 3
        found = track_noise([0.4, 0.6, 0.4, 0.5], same([0.5] * 4))
        assert ends(found) == pytest.approx((centre - half, centre + half), rel=1e-6)

    def test_comes_from_repeats_where_there_are_enough(self) -> None:
        means = [0.80] * 4 + [0.86] + [0.80] * 5
        assert ends(track_noise(means, ["a"] * 4 + ["b"] + ["a"] * 5)) == pytest.approx((0.7967, 0.86), abs=1e-4)
        assert ends(track_noise(means, list(range(10))))[0] < 0.74

    def test_reaches_as_far_as_a_run_that_came_back(self) -> None:
        assert ends(track_noise([0.8] * 30 + [0.7] + [0.8] * 2, same([0.8] * 33)))[0] == 0.7

    def test_forgets_that_run_after_thirty_others(self) -> None:
        assert ends(track_noise([0.8] * 30 + [0.7] + [0.8] * 31, same([0.8] * 62)))[0] > 0.75

    @given(MEANS)
    def test_is_never_narrower_than_its_floor(self, means: list[float]) -> None:
        found = track_noise(means, same(means))
        assert all(band is None or band.high - band.low >= 0.02 - 1e-12 for band in found.bands)

    def test_is_cut_to_what_a_number_can_be(self) -> None:
        assert Band(-0.1, 1.1, 3).between(0, 1) == Band(0, 1, 3)


class TestWorse:
    @given(st.floats(-1e6, 1e6), st.integers(0, 200))
    def test_never_where_nothing_changes(self, mean: float, runs: int) -> None:
        found = track_noise([mean] * runs, same([0.0] * runs))
        assert (found.worse_from, found.outside, any(found.worse)) == (None, None, False)

    def test_from_the_first_of_two_runs_below_the_band(self) -> None:
        assert track_noise([0.8] * 10 + [0.7, 0.7], same([0.8] * 12)).worse_from == 10

    def test_takes_three_runs_where_fewer_than_ten_came_before(self) -> None:
        early = [0.8] * 5 + [0.7, 0.7]
        assert track_noise(early, same(early)).worse_from is None
        assert track_noise([*early, 0.7], same([*early, 0.7])).worse_from == 5

    def test_one_run_below_proves_nothing(self) -> None:
        found = track_noise([0.8] * 10 + [0.7], same([0.8] * 11))
        assert (found.worse_from, found.outside) == (None, 10)

    def test_a_loss_of_the_smallest_effect_is_within_the_band(self) -> None:
        found = track_noise([0.8] * 10 + [0.79] * 5, same([0.8] * 15))
        assert (found.worse_from, found.outside) == (None, None)

    def test_ends_with_a_run_within_the_band(self) -> None:
        found = track_noise([0.8] * 10 + [0.7, 0.7, 0.8], same([0.8] * 13))
        assert found.worse_from is None
        assert found.worse == (False,) * 10 + (True, True, False)

    def test_a_stretch_that_was_worse_is_no_noise(self) -> None:
        found = track_noise([0.8] * 10 + [0.7, 0.7, 0.8, 0.7, 0.7], same([0.8] * 15))
        assert found.worse_from == 13

    def test_is_told_from_the_better_level_after_a_gain(self) -> None:
        assert track_noise([0.7] * 10 + [0.8] * 12 + [0.7] * 2, same([0.8] * 24)).worse_from == 22

    def test_a_slow_decline_is_noticed(self) -> None:
        means = [0.8] * 10 + [0.8 - 0.002 * step for step in range(1, 15)]
        assert track_noise(means, same(means)).worse_from is not None

    def test_what_is_lost_now_and_then_is_no_loss(self) -> None:
        means = ([0.8] * 5 + [0.77]) * 5 + [0.77]
        assert not any(track_noise(means, same(means)).worse)

    @given(MEANS)
    def test_later_runs_change_no_band_of_earlier_ones(self, means: list[float]) -> None:
        assert track_noise(means, same(means)).bands[:-1] == track_noise(means[:-1], same(means[:-1])).bands
