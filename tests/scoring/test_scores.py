"""Means that say what they are means of: denominators, segments, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, UsageError, match_hits, score
from searchmark.scoring.scores import default_measures, segment_names, segment_rows


def suite_with(count: int, **column: object) -> Suite:
    """Cases c0, c1, ... of which each value of a column is given by a function of its number."""
    cases = [
        Case(f"c{n}", judgments=(Judgment(f"a{n}"),), **{name: value(n) for name, value in column.items()})  # type: ignore[operator]  # functions
        for n in range(count)
    ]
    return Suite.from_cases("s", cases)


def run_with(ranks: list[int]) -> Run:
    """Answers in which the target stands at a given rank, or not at all for 0."""
    answers = []
    for n, rank in enumerate(ranks):
        found = [f"x{i}" for i in range(1, rank)] + [f"a{n}"] if rank else ["x"]
        answers.append(Answer(f"c{n}", "ok", tuple(Hit(hit, place) for place, hit in enumerate(found, 1))))
    return Run.from_answers("agent", answers)


RANKS = [1, 2, 0, 4] * 5


def test_a_summary_has_mean_median_deviation_and_denominator() -> None:
    summary = score(match_hits(suite_with(20), run_with(RANKS)), ["RR"]).summaries()["RR"]
    values = [1.0, 0.5, 0.0, 0.25] * 5
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.median == pytest.approx(np.median(values))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    assert summary.cases == 20


def test_the_deviation_of_one_case_is_undefined() -> None:
    assert score(match_hits(suite_with(1), run_with([1])), ["RR"]).summaries()["RR"].std is None


def test_undefined_values_are_counted_and_not_averaged() -> None:
    suite = Suite.from_cases(
        "s", [Case("c0", judgments=(Judgment("a0", rank=1), Judgment("b", rank=2))), Case("c1", judgments=(Judgment("a1"),))]
    )
    summary = score(match_hits(suite, run_with([1, 1])), ["Tau"]).summaries()["Tau"]
    assert (summary.mean, summary.cases, summary.undefined) == (1.0, 1, 1)


def test_unanswerable_cases_stay_out_of_ranking_measures_and_are_not_called_undefined() -> None:
    suite = Suite.from_cases("s", [Case("c0", judgments=(Judgment("a"),)), Case("c1", unanswerable=True)])
    run = Run.from_answers("agent", [Answer("c0", "ok", (Hit("a", 1),)), Answer("c1", "empty")])
    summaries = score(match_hits(suite, run), ["RR", "Abstain"]).summaries()
    assert (summaries["RR"].mean, summaries["RR"].cases, summaries["RR"].undefined) == (1.0, 1, 0)
    assert (summaries["Abstain"].mean, summaries["Abstain"].cases, summaries["Abstain"].undefined) == (1.0, 1, 0)


def test_a_measure_defined_nowhere_has_no_mean() -> None:
    scores = score(match_hits(suite_with(3), run_with([1, 1, 1])), ["Abstain"])
    assert scores.summaries()["Abstain"].mean is None
    assert np.isnan(scores.mean("Abstain"))


def test_a_formula_names_its_parts() -> None:
    summary = score(match_hits(suite_with(3), run_with([1, 1, 1])), ["mine = 0.5*P@5 + 0.5*RR"]).summaries()["mine"]
    assert summary.definition == "0.5*P@5 + 0.5*RR"


def test_default_measures_follow_the_judgments() -> None:
    plain = Suite.from_cases("s", [Case("c", judgments=(Judgment("a"),))])
    rich = Suite.from_cases("s", [Case("c", judgments=(Judgment("a", rank=1, score_range=(0, 1)),)), Case("d", unanswerable=True)])
    assert set(default_measures(rich)) - set(default_measures(plain)) == {"Abstain", "Tau", "InRange"}


class TestSegments:
    SUITE = suite_with(
        6,
        category=lambda n: "even" if n % 2 == 0 else None,
        tags=lambda n: ("small", "low") if n < 3 else ("large",),
        fields=lambda n: {"language": "pt" if n else "es", "level": n % 2},
    )

    def test_by_category_tag_and_field(self) -> None:
        assert {k: v.tolist() for k, v in segment_rows(self.SUITE, "category").items()} == {"even": [0, 2, 4]}
        assert {k: v.tolist() for k, v in segment_rows(self.SUITE, "tag").items()} == {
            "large": [3, 4, 5],
            "low": [0, 1, 2],
            "small": [0, 1, 2],
        }
        assert {k: v.tolist() for k, v in segment_rows(self.SUITE, "language").items()} == {"es": [0], "pt": [1, 2, 3, 4, 5]}
        assert list(segment_rows(self.SUITE, "level")) == ["0", "1"]

    def test_a_repeated_tag_counts_once(self) -> None:
        suite = suite_with(2, tags=lambda n: ("x", "x"), fields=lambda n: {"kind": ["y", "y"]})
        assert segment_rows(suite, "tag")["x"].tolist() == segment_rows(suite, "kind")["y"].tolist() == [0, 1]

    def test_names_are_listed(self) -> None:
        assert segment_names(self.SUITE) == ["category", "tag", "language", "level"]

    def test_an_unknown_field_lists_the_known_ones(self) -> None:
        with pytest.raises(UsageError, match="it can be split by: category, tag, language, level"):
            segment_rows(self.SUITE, "colour")

    def test_a_segment_has_its_own_denominator_and_no_interval_under_ten_cases(self) -> None:
        scores = score(match_hits(self.SUITE, run_with([1, 2, 0, 4, 1, 1])), ["RR"])
        summary = scores.summaries(segment_rows(self.SUITE, "category")["even"])["RR"]
        assert (summary.cases, summary.mean, summary.low) == (3, pytest.approx(2 / 3), None)


class TestIntervals:
    def test_origins_reach_the_interval_of_a_binary_measure(self) -> None:
        clustered = suite_with(20, origin=lambda n: f"commit {n // 2}")
        ranks = [1, 1, 0, 0] * 5
        apart = score(match_hits(suite_with(20), run_with(ranks)), ["Success@1"]).summaries()["Success@1"]
        together = score(match_hits(clustered, run_with(ranks)), ["Success@1"]).summaries()["Success@1"]
        assert together.high - together.low > 1.2 * (apart.high - apart.low)

    def test_measures_with_equal_values_get_equal_intervals(self) -> None:
        summaries = score(match_hits(suite_with(20), run_with(RANKS)), ["Success@1", "P@1", "RR@1"]).summaries().values()
        assert len({(summary.low, summary.high) for summary in summaries}) == 1

    def test_fewer_than_ten_independent_cases_get_none(self) -> None:
        assert score(match_hits(suite_with(9), run_with([1] * 9)), ["RR"]).summaries()["RR"].low is None
        few_origins = suite_with(20, origin=lambda n: f"commit {n % 9}")
        assert score(match_hits(few_origins, run_with([1] * 20)), ["RR"]).summaries()["RR"].low is None
