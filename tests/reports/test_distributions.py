"""Histograms: counted by hand, the same bins for all runs, nothing lost."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import Answer, AnswerDetails, Case, Hit, Judgment, Run, Suite, build_report, match_hits, read_report, score
from searchmark.reports.cases import CaseColumns
from searchmark.reports.chart_data import Histogram, histogram
from searchmark.reports.render import write_report
from tests.reports.chart_reports import agent, report
from tests.reports.samples import comparison_of, report_of

TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def test_a_measure_from_0_to_1_has_ten_bins_and_1_is_in_the_last() -> None:
    found = histogram(report(a=agent({"F1": [0.0, 0.05, 0.1, 0.3, 0.95, 1.0, None]})), "F1")

    assert found == (Histogram("a", "F1", "", TENTHS, (2, 1, 0, 1, 0, 0, 0, 0, 0, 2), 1),)
    assert found[0].total == 6


@pytest.mark.parametrize("value", [0.7, 0.1 + 0.6, 1 - 0.3, 7 * 0.1])
def test_the_last_digit_of_a_value_moves_it_to_no_other_bin(value: float) -> None:
    assert histogram(report(a=agent({"P@10": [value]})), "P@10")[0].counts.index(1) == 7


def test_a_rounding_error_beyond_the_range_is_in_the_last_bin() -> None:
    assert histogram(report(a=agent({"nDCG@10": [1 + 1e-12]})), "nDCG@10")[0].counts[-1] == 1


def test_all_runs_share_the_bins() -> None:
    short, long = histogram(report(a=agent(warm=[1.0, 3.0]), b=agent(warm=[700.0])), "warm")

    assert short.edges == long.edges == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    assert (short.counts, long.counts) == ((1, 1, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0, 0, 0, 1))


def test_latencies_are_in_bins_of_round_numbers_on_a_logarithmic_scale() -> None:
    (found,) = histogram(report(a=agent(cold=[0.3, 1.0, 9.99, 10.0, 45.0, None])), "cold")

    assert found == Histogram("a", "cold", "ms", (0.2, 0.5, 1, 2, 5, 10, 20, 50), (1, 0, 1, 0, 1, 1, 1), 1)


def test_latencies_close_together_have_finer_bins() -> None:
    (found,) = histogram(report(a=agent(cold=[2.1, 2.6, 3.5, 5.5])), "cold")

    assert (found.edges, found.counts) == ((2, 2.5, 3, 4, 5, 6), (1, 1, 1, 0, 1))


@pytest.mark.parametrize(("time", "edges"), [(0.0, (0.001, 0.0012)), (2.0, (2, 2.5)), (5.5, (5, 6)), (9.0, (8, 10))])
def test_one_time_is_in_one_bin(time: float, edges: tuple[float, ...]) -> None:
    (found,) = histogram(report(a=agent(cold=[time, time])), "cold")

    assert (found.edges, found.counts) == (edges, (2,))


def test_a_measure_without_an_upper_end_has_round_bins_over_its_values() -> None:
    (found,) = histogram(report(a=agent({"DCG": [0.4, 3.0, 7.9]})), "DCG")

    assert found.edges == (0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert found.counts == (1, 0, 0, 1, 0, 0, 0, 1)


def test_a_named_formula_has_the_range_of_its_definition() -> None:
    known = agent({"mine": [0.2]}, definitions={"mine": "0.5*P@5 + 0.5*RR"})

    assert histogram(report(a=known), "mine")[0].edges == TENTHS


def test_a_measure_that_may_be_negative_has_ten_bins_over_its_range() -> None:
    assert histogram(report(a=agent({"Tau": [-1.0, 1.0]})), "Tau")[0].edges == (
        -1,
        -0.8,
        -0.6,
        -0.4,
        -0.2,
        0,
        0.2,
        0.4,
        0.6,
        0.8,
        1,
    )


def test_what_is_infinite_is_counted_and_not_binned() -> None:
    (found,) = histogram(report(a=agent({"DCG": [1.0, math.inf]})), "DCG")

    assert (found.total, found.undefined) == (1, 1)


@pytest.mark.parametrize("quantity", ["RR", "cold", "no such measure"])
def test_what_no_run_has_is_not_counted(quantity: str) -> None:
    assert histogram(report(a=agent({"F1": [1.0]}), b=agent({"F1": [None], "RR": [None]})), quantity) == ()


def test_a_run_that_was_not_watched_has_no_latencies() -> None:
    assert [each.run for each in histogram(report(a=agent({"F1": [1.0]}), b=agent({"F1": [1.0]}, cold=[3.0])), "cold")] == ["b"]


def test_a_case_that_was_never_searched_has_no_time() -> None:
    suite = Suite.from_cases("s", [Case("c1", judgments=(Judgment("a"),)), Case("c2", judgments=(Judgment("a"),))])
    run = Run.from_answers("x", [Answer("c2", "ok", (Hit("a", 1),), AnswerDetails((3.0,), (1.0, 2.0, 4.0)))])
    (found,) = histogram(build_report(score(match_hits(suite, run))), "warm")

    assert (found.total, found.undefined) == (3, 1)


@pytest.mark.parametrize("quantity", ["RR", "nDCG@10", "cold", "warm"])
def test_a_report_read_from_a_file_has_the_same_histograms(quantity: str, tmp_path: Path) -> None:
    made = comparison_of()
    write_report(made, tmp_path / "report.json")

    assert histogram(read_report(tmp_path / "report.json"), quantity) == histogram(made, quantity) != ()


def test_undefined_values_of_a_real_report_are_counted() -> None:
    (found,) = histogram(report_of(), "RR")

    assert (found.total, found.undefined) == (2, 1)


numbers = st.none() | st.floats(0, 1) | st.floats(-1e300, 1e300) | st.just(math.inf)


@given(st.lists(st.lists(numbers, min_size=1, max_size=20), min_size=1, max_size=3), st.sampled_from(["F1", "unknown"]))
def test_every_case_is_in_one_bin_or_undefined(columns: list[list[float | None]], measure: str) -> None:
    for found in histogram(report(**{str(n): agent({measure: column}) for n, column in enumerate(columns)}), measure):
        assert found.total + found.undefined == len(columns[int(found.run)])
        assert list(found.edges) == sorted(set(found.edges))
        assert len(found.counts) == len(found.edges) - 1


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_every_time_is_in_a_bin_that_holds_it(times: list[float]) -> None:
    (found,) = histogram(report(a=agent(cold=times)), "cold")

    assert found.total == len(times)
    assert found.edges[0] <= max(0.001, min(times))
    assert max(times) <= found.edges[-1]
    assert found.counts[0] > 0
    assert found.counts[-1] > 0


def test_the_cases_of_a_large_report_are_counted_without_building_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made = comparison_of()
    monkeypatch.setattr(CaseColumns, "__getitem__", None)

    assert [each.total for each in histogram(made, "RR")] == [12, 12]
    assert [each.total for each in histogram(made, "warm")] == [18, 18]
