"""Letters of runs agree with the verdicts on all pairs of them."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from searchmark.audit.numbers import RankedRuns


def test_runs_share_a_letter_if_and_only_if_they_are_not_apart() -> None:
    """The second and the last differ; the first and the last do not, though they rank further from each other."""
    found = RankedRuns("AP", (("a", 0.7), ("b", 0.6), ("c", 0.5)), frozenset([frozenset("bc")]))
    assert found.groups == {"a": "ab", "b": "a", "c": "b"}


@pytest.mark.parametrize("seed", range(20))
def test_letters_agree_with_all_pairs_of_any_pattern(seed: int) -> None:
    chance = random.Random(seed)
    names = "abcdefgh"
    apart = frozenset(frozenset(pair) for pair in combinations(names, 2) if chance.random() < 0.4)
    groups = RankedRuns("AP", tuple((name, 1 - row / 10) for row, name in enumerate(names)), apart).groups
    shared = {frozenset((a, b)) for a, b in combinations(names, 2) if set(groups[a]) & set(groups[b])}
    assert shared == {frozenset(pair) for pair in combinations(names, 2)} - apart
    assert all(groups.values())


def test_runs_that_need_more_letters_than_there_are_get_none() -> None:
    names = [f"r{row:02}" for row in range(24)]
    apart = frozenset(frozenset((names[row], names[row + 1])) for row in range(0, 24, 2))
    assert set(RankedRuns("AP", tuple((name, 0.5) for name in names), apart).groups.values()) == {""}
