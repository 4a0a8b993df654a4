"""Which cases are asked, and in which order, depends on suite, seed and filters, and on nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import Case, CaseSelection, NothingEvaluated, Suite, UsageError
from searchmark.formats.corpora.locations import Folder
from searchmark.running.plan import order_cases, parse_shard, select_cases, select_cases_and_shard, split_into_blocks, turns

HERE = Folder("here", Path("/somewhere"))


def suite(count: int = 40, **rest: object) -> Suite:
    return Suite.from_cases(
        "s",
        [Case(f"c{i}", f"query {i}", category=f"cat{i % 3}", fields={"category_number": i % 3 + 1}, **rest) for i in range(count)],
    )  # type: ignore[arg-type]


def order(of: Suite, seed: int = 0, **rest: bool) -> list[str]:
    return [step.case for step in order_cases(of, dict.fromkeys(of.table.ids, HERE), seed, **rest)]


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    assert order(suite()) == order(suite())
    assert order(suite()) != order(suite(), seed=1)
    assert sorted(order(suite())) == sorted(suite().table.ids)


def test_without_shuffling_the_order_is_that_of_the_suite() -> None:
    assert order(suite(), shuffled=False) == list(suite().table.ids)


def test_leaving_out_cases_does_not_reorder_the_others() -> None:
    smaller = select_cases(suite(), CaseSelection(categories=("cat1",)), 0)
    assert order(smaller) == [case for case in order(suite()) if case in smaller.table.index]


def test_cases_of_one_location_stay_together() -> None:
    locations = {case: Folder(f"folder{i % 2}", Path("/somewhere")) for i, case in enumerate(suite().table.ids)}
    names = [step.location.name for step in order_cases(suite(), locations, 0)]
    assert names == ["folder0"] * 20 + ["folder1"] * 20


def test_a_case_without_a_query_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="'a' has no query"):
        order_cases(Suite.from_cases("s", [Case("a")]), {"a": HERE}, 0)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (CaseSelection(text="QUERY 1"), ["c1", *(f"c1{i}" for i in range(10))]),
        (CaseSelection(text="c39"), ["c39"]),
        (CaseSelection(categories=("cat2", "1")), [f"c{i}" for i in range(40) if i % 3 != 1]),
        (CaseSelection(text="c1", categories=("cat1",)), ["c1", "c10", "c13", "c16", "c19"]),
    ],
)
def test_filters_keep_what_they_say(filters: CaseSelection, left: list[str]) -> None:
    smaller = select_cases(suite(), filters, 0)
    assert list(smaller.table.ids) == left
    assert smaller.dropped["cases_filtered_out"] == 40 - len(left)


def test_cases_can_be_named() -> None:
    assert select_cases(suite(), CaseSelection(), 0, frozenset({"c3", "c5"})).table.ids == ("c3", "c5")


def test_what_failed_in_a_shard_or_a_sample_is_not_cut_again() -> None:
    chosen = CaseSelection(sample=20, shard="2/4", last_failed=True)
    part = select_cases(suite(), chosen, 0)
    failed = frozenset(part.table.ids[1:3])
    assert select_cases(suite(), chosen, 0, failed).table.ids == part.table.ids[1:3]
    assert select_cases_and_shard(suite(), chosen, 0, failed)[1] is None


def test_a_sample_has_the_size_and_depends_on_the_seed() -> None:
    samples = [select_cases(suite(), CaseSelection(sample=7), seed).table.ids for seed in (0, 0, 1)]
    assert len(samples[0]) == 7
    assert samples[0] == samples[1] != samples[2]


def test_a_larger_sample_holds_the_smaller_one() -> None:
    small, large = (set(select_cases(suite(), CaseSelection(sample=size), 3).table.ids) for size in (5, 15))
    assert small < large


def test_shards_part_the_suite_among_them() -> None:
    parts = [select_cases(suite(), CaseSelection(shard=f"{number}/{3}"), 0).table.ids for number in (1, 2, 3)]
    assert sorted(case for part in parts for case in part) == sorted(suite().table.ids)


@pytest.mark.parametrize("text", ["0/3", "4/3", "a/b", "3", "", "1/", "-1/3", "1/3/5", "²/3"])
def test_a_shard_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write it like 1/4"):
        parse_shard(text)


def test_an_unknown_category_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UsageError, match="the categories are: cat0, cat1, cat2"):
        select_cases(suite(), CaseSelection(categories=("dog",)), 0)


def test_at_least_one_case_must_be_left() -> None:
    with pytest.raises(NothingEvaluated, match="no case of the suite 's' is left"):
        select_cases(suite(), CaseSelection(text="zebra"), 0)


def test_a_suite_that_needs_no_filter_is_left_alone() -> None:
    whole = suite()
    assert select_cases(whole, CaseSelection(), 0) is whole


def test_agents_take_turns_and_each_comes_first() -> None:
    assert [turns(["a", "b", "c"], block) for block in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_blocks_cover_all_steps_in_order() -> None:
    steps = order_cases(suite(), dict.fromkeys(suite().table.ids, HERE), 0)
    assert [len(block) for block in split_into_blocks(steps, 25)] == [25, 15]
    assert [step for block in split_into_blocks(steps, 25) for step in block] == list(steps)


def test_steps_are_made_when_they_are_looked_at_and_are_the_same_each_time() -> None:
    steps = order_cases(suite(), dict.fromkeys(suite().table.ids, HERE), 0)
    assert [steps[place] for place in range(len(steps))] == list(steps) == [*steps[:7], *steps[7:]]
    assert steps[-1] == list(steps)[-1]
    with pytest.raises(IndexError):
        steps[len(steps)]


def test_equal_locations_are_one_even_if_each_case_has_its_own_object() -> None:
    one, own = HERE, {case: replace(HERE) for case in suite().table.ids}
    assert list(order_cases(suite(), own, 0)) == list(order_cases(suite(), dict.fromkeys(own, one), 0))
