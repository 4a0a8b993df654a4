"""How much two rankings agree, whatever is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark.scoring.comparison import rank_biased_overlap


def test_equal_lists_overlap_fully_and_disjoint_ones_not_at_all() -> None:
    assert rank_biased_overlap("abc", "abc", 10) == pytest.approx(1.0)
    assert rank_biased_overlap("abc", "xyz", 10) == 0.0
    assert rank_biased_overlap("", "", 10) == 1.0


def test_a_list_that_searches_meanwhile_as_the_other_begins_is_extrapolated() -> None:
    assert rank_biased_overlap(["a"], ["a", "b"], 10) == pytest.approx(1.0)


def test_by_hand() -> None:
    """Agreement 0 at rank 1 and 1 at rank 2: 0.1 * 0.9 * 1 + 1 * 0.81."""
    assert rank_biased_overlap("ab", "ba", 10) == pytest.approx(0.9)


@given(st.permutations("abcdef"), st.permutations("abcdef"))
def test_is_symmetric_and_between_zero_and_one(first: list[str], second: list[str]) -> None:
    overlap = rank_biased_overlap(first, second, 6)
    assert overlap == rank_biased_overlap(second, first, 6)
    assert 0 <= overlap <= 1 + 1e-12
