"""Shards are stretches of a history, cut the same everywhere, and every case is in one of them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Case, CaseSelection, Document, NothingEvaluated, Suite
from searchmark.records.digests import digest_of_cases, sum_digests
from searchmark.records.provenance import ShardIdentity, find_stretches
from searchmark.running.plan import select_cases, shard_identity, shard_rows

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "repository": st.sampled_from(["shop", "bank", "zoo"]),
        "timestamp": st.one_of(
            st.sampled_from(["2020-01-01T00:00:00Z", "2021-05-05", "2020-06-01T10:00:00+02:00", "soon", ""]),
            st.integers(),
            st.floats(),
            st.none(),
            st.booleans(),
        ),
        "parent_commit": st.sampled_from(["a" * 40, "b" * 40]),
    },
)


def suite_of(fields: list[dict[str, Any]]) -> Suite:
    return Suite.from_cases("s", [Case(f"c{number}", f"query {number}", fields=each) for number, each in enumerate(fields)])


def sizes(suite: Suite, of: int) -> list[int]:
    return [len(shard_rows(suite, number, of)) for number in range(1, of + 1)]


@given(st.lists(FIELDS, min_size=1, max_size=40), st.integers(1, 45))
def test_every_case_is_in_exactly_one_shard_and_no_shard_is_empty_without_need(fields: list[dict[str, Any]], of: int) -> None:
    suite = suite_of(fields)
    shards = [shard_rows(suite, number, of) for number in range(1, of + 1)]
    assert sorted(row for rows in shards for row in rows) == list(range(len(suite)))
    assert all(rows == sorted(rows) for rows in shards)
    assert len(suite) < of or all(shards)
    assert all(abs(len(rows) - len(suite) / of) <= 0.2 * len(suite) / of + 1 for rows in shards)


@pytest.mark.parametrize("of", [2, 3, 7])
@pytest.mark.parametrize("field", ["timestamp", "created_at", "date"])
def test_one_shard_goes_along_one_stretch_of_a_history_wherever_its_cases_are_in_the_suite(of: int, field: str) -> None:
    days = [f"2020-{month:02}-{day:02}T00:00:00Z" for month in range(1, 13) for day in range(1, 9)]
    random.Random(3).shuffle(days)
    suite = suite_of([{"repository": "shop", field: day} for day in days])
    stretch = [sorted(days[row] for row in shard_rows(suite, number, of)) for number in range(1, of + 1)]
    assert [day for shard in stretch for day in shard] == sorted(days)


def test_cases_that_do_not_say_when_come_last_and_in_the_order_of_the_suite() -> None:
    suite = suite_of([{}, {"timestamp": 5}, {"timestamp": "soon"}, {"timestamp": "1970-01-01T00:00:01Z"}])
    assert [shard_rows(suite, number, 4) for number in (1, 2, 3, 4)] == [[3], [1], [0], [2]]


@pytest.mark.parametrize(("shop", "cut"), [(45, 45), (55, 55), (44, 50), (56, 50)])
def test_a_cut_moves_to_a_border_between_repositories_if_that_is_near(shop: int, cut: int) -> None:
    suite = suite_of([{"repository": "shop"}] * shop + [{"repository": "bank"}] * (100 - shop))
    assert sizes(suite, 2) == [cut, 100 - cut]


def test_repositories_that_are_as_large_as_shards_are_not_mixed() -> None:
    names = [name for name, count in (("a", 21), ("b", 19), ("c", 20), ("d", 20)) for _ in range(count)]
    random.Random(1).shuffle(names)
    suite = suite_of([{"repo": name} for name in names])
    assert [{names[row] for row in shard_rows(suite, number, 4)} for number in (1, 2, 3, 4)] == [
        {name} for name in dict.fromkeys(names)
    ]


def test_cases_with_the_same_documents_stay_together() -> None:
    suite = Suite.from_cases("s", [Case(f"c{n}", "q", documents=(Document("d", f"text {n % 4}"),)) for n in range(40)])
    assert [{row % 4 for row in shard_rows(suite, number, 4)} for number in (1, 2, 3, 4)] == [{0}, {1}, {2}, {3}]


@pytest.mark.slow
def test_every_process_cuts_alike() -> None:
    code = (
        "from tests.running.test_shards import suite_of; from searchmark.running.plan import shard_rows;"
        "print(shard_rows(suite_of([{'repository': str(n % 3), 'timestamp': n % 5} for n in range(30)]), 2, 4))"
    )
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    said = [subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout for env in seeds]
    assert said[0] == said[1] != b""


def test_a_shard_knows_its_places_among_all_cases_that_were_chosen() -> None:
    suite = suite_of([{"timestamp": n % 2} for n in range(6)])
    whole = suite.hashes
    assert shard_identity(suite, "1/2") == ShardIdentity(
        1, 2, 6, ((0, 0), (2, 2), (4, 4)), queries=whole["queries"], judgments=whole["judgments"]
    )
    assert shard_identity(suite, "1/1").rows == ((0, 5),)


def test_a_shard_without_a_case_says_so() -> None:
    with pytest.raises(NothingEvaluated, match="the shard 1/3 has no case, since there are only 1; cut them into fewer"):
        select_cases(suite_of([{}]), CaseSelection(shard="1/3"), 0)


def test_shards_count_all_cases_that_were_left_out() -> None:
    suite = select_cases(suite_of([{}] * 10), CaseSelection(sample=6, shard="1/2"), 0)
    assert (len(suite), suite.dropped) == (3, {"cases_filtered_out": 7})


@given(st.sets(st.integers(0, 60)))
def test_stretches_hold_the_places_that_they_were_made_of(places: set[int]) -> None:
    shard = ShardIdentity(1, 2, 61, find_stretches(sorted(places)))
    assert list(shard.places) == sorted(places)
    assert shard.size == len(places)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=8), st.integers(0, 8))
def test_digests_of_shards_add_up_to_that_of_all_cases(searched: dict[str, str], cut: int) -> None:
    parts = [dict(list(searched.items())[:cut]), dict(list(searched.items())[cut:])]
    assert sum_digests(map(digest_of_cases, parts)) == digest_of_cases(searched)


def test_what_one_shard_does_not_know_is_not_known_of_all() -> None:
    assert sum_digests([digest_of_cases({"a": "b"}), None]) is None
    assert sum_digests(["no digest"]) is None
