"""Percentiles are nearest ranks of what was measured; failures stand at their deadline."""

from __future__ import annotations

import pytest

from searchmark import Answer, AnswerDetails, Run
from searchmark.scoring.costs import latencies_of, latency_of_samples


@pytest.mark.parametrize(
    ("samples", "percentiles"),
    [
        ([7.0], (7, 7, 7, 7)),
        ([1.0, 2.0], (1, 2, 2, 2)),
        (range(1, 11), (5, 9, 10, 10)),  # by hand: rank ceil(p * n)
        (range(1, 101), (50, 90, 95, 99)),
        (range(1, 1001), (500, 900, 950, 990)),
    ],
)
def test_a_percentile_is_the_nearest_rank(samples, percentiles) -> None:
    found = latency_of_samples(map(float, samples))
    assert found is not None
    assert (found.p50, found.p90, found.p95, found.p99) == percentiles


def test_without_samples_there_is_none() -> None:
    assert latency_of_samples([]) is None
    assert latencies_of(Run.from_answers("a", [Answer("c", "ok")])) == {}


def test_cold_warm_and_first_hit_are_apart_and_failures_are_counted() -> None:
    details = (
        AnswerDetails(cold_ms=(3.0,), warm_ms=(1.0, 2.0), first_hit_ms=0.5),
        AnswerDetails(cold_ms=(1000.0,), failure="no answer"),
        AnswerDetails(cold_ms=(4.0,), warm_ms=(1.0, 1000.0), repeat_failure="gone", repeat_failures=1),
        AnswerDetails(failure="not run"),
    )
    run = Run.from_answers("a", [Answer(f"c{i}", "ok", details=each) for i, each in enumerate(details)])
    found = latencies_of(run)
    assert {kind: (each.samples, each.failures, each.p99) for kind, each in found.items()} == {
        "cold": (3, 1, 1000.0),
        "warm": (4, 1, 1000.0),
        "first_hit": (1, 0, 0.5),
    }


def test_the_index_alone_is_timed_by_the_repeats_where_any_has_such_a_time() -> None:
    details = (AnswerDetails(index_cold_ms=9.0, index_warm_ms=(1.0, 3.0)), AnswerDetails(index_cold_ms=8.0))
    found = latencies_of(Run.from_answers("a", [Answer(f"c{i}", "ok", details=each) for i, each in enumerate(details)]))
    assert (found["index_only"].p50, found["index_only"].p99, found["index_only"].samples) == (1.0, 3.0, 2)
    assert found["index_only"].of == "warm"


def test_the_index_alone_is_timed_by_first_searches_where_nothing_is_repeated() -> None:
    details = (AnswerDetails(cold_ms=(20.0,), index_cold_ms=9.0), AnswerDetails(cold_ms=(20.0,), failure="gone"))
    found = latencies_of(Run.from_answers("a", [Answer(f"c{i}", "ok", details=each) for i, each in enumerate(details)]))
    assert (found["index_only"].p50, found["index_only"].samples, found["index_only"].of) == (9.0, 1, "cold")
    assert found["cold"].of is None
