"""The Pareto frontier: runs that no other run beats in accuracy and latency."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import read_report
from searchmark.reports.chart_data import frontier
from searchmark.reports.render import write_report
from searchmark.reports.report import AgentSummary
from tests.reports.chart_reports import agent, point, report
from tests.reports.samples import comparison_of


def on_frontier(**agents: AgentSummary) -> list[str]:
    found = frontier(report(**agents))
    return [] if found is None else [each.run for each in found.points if each.on_frontier]


def test_a_run_that_is_both_worse_and_slower_is_dominated() -> None:
    assert on_frontier(fast=point(0.5, 1), good=point(0.9, 10), bad=point(0.4, 20)) == ["fast", "good"]


@pytest.mark.parametrize("other", [point(0.5, 2), point(0.4, 1)], ids=["as good and slower", "as fast and worse"])
def test_a_tie_in_one_number_is_decided_by_the_other(other: AgentSummary) -> None:
    assert on_frontier(a=point(0.5, 1), b=other) == ["a"]


def test_equal_runs_share_the_frontier() -> None:
    assert on_frontier(a=point(0.5, 1), b=point(0.5, 1), c=point(0.4, 2)) == ["a", "b"]


def test_a_point_has_the_numbers_of_its_run() -> None:
    found = frontier(report(a=point(0.5, 4, "cold"), b=point(0.6, 5, "cold")))

    assert found is not None
    assert (found.measure, found.latency) == ("nDCG@10", "cold p50 ms")
    first = found.points[0]
    assert (first.run, first.quality, first.low, first.high, first.latency_ms) == ("a", 0.5, 0.45, 0.55, 4)


def test_a_warm_latency_is_never_held_against_a_cold_one() -> None:
    found = frontier(report(a=point(0.5, 4, "cold"), b=point(0.6, 5, "cold"), c=point(0.7, 1, "warm")))

    assert found is not None
    assert (found.latency, [each.run for each in found.points]) == ("cold p50 ms", ["a", "b"])


def test_warm_is_taken_where_all_have_both() -> None:
    both = agent({"RR": [1.0]}, cold=[9.0], warm=[2.0])
    found = frontier(report(a=both, b=both))

    assert found is not None
    assert (found.latency, found.points[0].latency_ms) == ("warm p50 ms", 2.0)


@pytest.mark.parametrize(
    "agents",
    [{}, {"a": point(0.5, 1)}, {"a": point(0.5, 1), "b": point(0.5, None)}, {"a": point(0.5, 1), "b": point(None, 1)}],
    ids=["no run", "one run", "no latency", "no value"],
)
def test_there_is_no_frontier_with_fewer_than_two_points(agents: dict[str, AgentSummary]) -> None:
    assert frontier(report(**agents)) is None


def test_a_measure_that_tells_no_quality_does_not_lead() -> None:
    run = agent({"Judged@10": [1.0], "RR": [0.5]}, warm=[1.0])
    found = frontier(report(a=run, b=run))

    assert found is not None
    assert found.measure == "RR"


def test_a_report_read_from_a_file_has_the_same_frontier(tmp_path: Path) -> None:
    made = comparison_of()
    write_report(made, tmp_path / "report.json")

    assert frontier(read_report(tmp_path / "report.json")) == frontier(made) is not None


steps = st.integers(0, 4).map(float)


@given(st.lists(st.tuples(steps, steps), min_size=2, max_size=8))
def test_no_point_of_the_frontier_is_dominated_and_every_other_point_is(pairs: list[tuple[float, float]]) -> None:
    found = frontier(report(**{f"r{n}": point(quality, latency) for n, (quality, latency) in enumerate(pairs)}))

    assert found is not None
    for each in found.points:
        better = [
            other
            for other in found.points
            if (-other.quality, other.latency_ms) != (-each.quality, each.latency_ms)
            and other.quality >= each.quality
            and other.latency_ms <= each.latency_ms
        ]
        assert each.on_frontier is not bool(better)
    assert any(each.on_frontier for each in found.points)
