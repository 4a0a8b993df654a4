"""Hits that can mean several targets: as many are found as can be, and no credit depends on what comes later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from searchmark.scoring.matches import assign_hits

targets = st.integers(0, 4)
hits = st.lists(st.lists(targets, unique=True, max_size=4), max_size=6)
grades = st.lists(st.integers(0, 3), min_size=5, max_size=5)


def best_total(options: list[list[int]], grades: list[int], taken: frozenset[int] = frozenset()) -> tuple[int, int]:
    """How many targets can be found at once, and the most that so many are worth, by trying everything."""
    if not options:
        return 0, 0
    first, *rest = options
    found = [best_total(rest, grades, taken)]
    for target in set(first) - taken:
        count, worth = best_total(rest, grades, taken | {target})
        found.append((count + 1, worth + grades[target]))
    return max(found)


@given(hits, grades)
def test_the_first_hits_find_as_much_as_they_can_for_every_number_of_them(options: list[list[int]], grades: list[int]) -> None:
    found = assign_hits(options, grades)
    for k in range(len(options) + 1):
        first = [target for hit, target in found.items() if hit < k]
        assert (len(first), sum(grades[target] for target in first)) == best_total(options[:k], grades)
        assert len(set(first)) == len(first)


@given(hits, grades)
def test_no_credit_depends_on_a_hit_further_down(options: list[list[int]], grades: list[int]) -> None:
    found = assign_hits(options, grades)
    for k in range(len(options) + 1):
        assert assign_hits(options[:k], grades) == {hit: target for hit, target in found.items() if hit < k}


def test_a_hit_makes_room_for_the_next_one() -> None:
    assert assign_hits([[0, 1], [0]], [1, 1]) == {0: 0, 1: 1}


def test_many_hits_on_targets_that_are_found_already_cost_nothing_more() -> None:
    options = [list(range(100)) for _ in range(5000)]
    assert assign_hits(options, [1] * 100) == {hit: hit for hit in range(100)}
