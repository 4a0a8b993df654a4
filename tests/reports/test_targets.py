"""What became of the numbers that a gate asks for: met, close, missed or unknown."""

from __future__ import annotations

from pathlib import Path

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    Hit,
    Judgment,
    Report,
    Run,
    Scores,
    Suite,
    build_comparison,
    build_report,
    check_gate,
    compare,
    match_hits,
    parse_measure,
    parse_threshold,
    read_report,
    render,
    score,
)
from searchmark.gates.bounds import NumberRule
from searchmark.gates.pins import EachCaseRule
from searchmark.gates.quantities import CaseSegment, LatencyOf, MeanOf
from searchmark.reports.comparison_tables import target_lines
from searchmark.reports.render import write_report

SUITE = Suite.from_cases(
    "suite",
    [
        Case(f"c{n}", "q", (Judgment(f"a{n}"),), category="x" if n < 20 else "y", fields={"category_number": 1 + n // 20})
        for n in range(40)
    ],
)


def scores_of(right: int, name: str = "agent", status: str = "ok") -> Scores:
    """The scores of a run that finds the target of so many cases, the first ones."""
    details = AnswerDetails((3.0,), (2.0,))
    answers = [Answer(f"c{n}", status, (Hit(f"a{n}" if n < right else "x", 1),), details) for n in range(40)]  # type: ignore[arg-type]  # a status
    return score(match_hits(SUITE, Run.from_answers(name, answers)), ["RR", "P@5"])


def report_on(right: int, *rules: NumberRule | EachCaseRule, status: str = "ok") -> Report:
    scores = scores_of(right, status=status)
    return build_report(scores, ["category"], check_gate(Evidence.of(scores), rules))


class TestMeans:
    def test_a_bound_far_below_the_interval_is_met(self) -> None:
        (line,) = target_lines(report_on(30, parse_threshold("MRR=0.3")))
        assert (line.state, line.mark, line.words, line.subject, line.value) == ("met", "✅", "MRR (RR)", "RR", 0.75)
        assert (line.run, line.where, line.expected, line.bound, line.unit) == ("agent", {}, 0.3, "at_least", "")

    def test_a_bound_within_the_interval_is_close(self) -> None:
        (line,) = target_lines(report_on(30, parse_threshold("RR=0.7")))
        assert (line.state, line.mark, line.words) == ("close", "⚠️", "RR")
        assert line.low is not None
        assert line.low < 0.7

    def test_a_bound_at_the_mean_itself_is_close(self) -> None:
        (line,) = target_lines(report_on(40, parse_threshold("RR=1")))
        assert (line.state, line.value) == ("close", 1.0)

    def test_a_missed_bound_stays_missed_where_the_interval_includes_it(self) -> None:
        near, far = target_lines(report_on(30, parse_threshold("RR=0.8"), parse_threshold("RR=0.99")))
        assert (near.state, near.mark, far.state, far.mark) == ("missed", "❌", "missed", "❌")
        assert near.high is not None
        assert near.high > 0.8

    def test_a_bound_from_above_is_close_where_the_interval_reaches_over_it(self) -> None:
        mean = MeanOf(parse_measure("RR"), "RR")
        near, far = target_lines(report_on(10, NumberRule(mean, "at_most", 0.3), NumberRule(mean, "at_most", 0.9)))
        assert (near.state, far.state) == ("close", "met")

    def test_the_interval_of_a_segment_is_its_own(self) -> None:
        mean = MeanOf(parse_measure("RR"), "RR")
        report = report_on(30, NumberRule(mean, "at_least", 0.4, CaseSegment("category", "y")))
        (line,) = target_lines(report)
        known = report.agents["agent"].segments["category"]["y"]["RR"]
        assert (line.state, line.value, line.low, line.high) == ("close", 0.5, known.low, known.high)
        assert line.where == {"category": "y"}

    def test_a_category_by_its_number_is_the_one_that_the_report_names(self) -> None:
        mean = MeanOf(parse_measure("RR"), "RR")
        (line,) = target_lines(report_on(30, NumberRule(mean, "at_least", 0.4, CaseSegment("category", "2"))))
        assert (line.state, line.where) == ("close", {"category": "y"})

    def test_a_mean_of_too_few_cases_for_an_interval_is_no_safer_than_one_with_an_interval(self) -> None:
        few = Suite.from_cases("few", [Case(f"c{n}", "q", (Judgment("a"),)) for n in range(6)])
        scores = score(
            match_hits(few, Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1),)) for n in range(6)])), ["RR"]
        )
        report = build_report(scores, gate=check_gate(Evidence.of(scores), [parse_threshold("RR=0.1")]))
        (line,) = target_lines(report)
        assert (line.state, line.mark, line.low) == ("few", "⚠️", None)
        assert "met, too few cases for an interval" in render(report, "markdown")

    def test_a_mean_of_cases_that_the_report_is_not_split_by_has_no_interval_and_says_so(self) -> None:
        scores = scores_of(40)
        rule = NumberRule(MeanOf(parse_measure("RR"), "RR"), "at_least", 0.1, CaseSegment("category", "x"))
        (line,) = target_lines(build_report(scores, (), check_gate(Evidence.of(scores), [rule])))
        assert (line.state, line.mark) == ("open", "⚠️")

    def test_how_much_was_judged_is_asked_for_and_has_no_mark(self) -> None:
        scores = score(match_hits(SUITE, Run.from_answers("agent", [Answer("c0", "ok", (Hit("a", 1),))])), ["Judged@10"])
        rules = [parse_threshold("Judged@10=0"), parse_threshold("Judged@10=0.9"), EachCaseRule(parse_measure("Judged@10"), "J", 0)]
        assert [line.mark for line in target_lines(build_report(scores, (), check_gate(Evidence.of(scores), rules)))] == [
            "",
            "",
            "",
        ]


class TestOtherNumbers:
    def test_a_latency_has_its_unit_and_no_interval(self) -> None:
        (line,) = target_lines(report_on(30, NumberRule(LatencyOf("warm", "p50"), "at_most", 5.0)))
        assert (line.words, line.state, line.value, line.unit) == ("latency warm.p50", "met", 2.0, "ms")
        assert (line.low, line.high) == (None, None)

    def test_a_number_that_is_not_there_is_unknown(self) -> None:
        (line,) = target_lines(report_on(30, NumberRule(LatencyOf("first_hit", "p50"), "at_most", 5.0)))
        assert (line.state, line.mark, line.value) == ("unknown", "–", None)

    def test_an_untrusted_run_leaves_everything_unknown(self) -> None:
        (line,) = target_lines(report_on(30, parse_threshold("RR=0"), status="error"))
        assert (line.state, line.value) == ("unknown", None)

    def test_a_lowest_value_of_every_case_is_a_number_as_well(self) -> None:
        (line,) = target_lines(report_on(30, EachCaseRule(parse_measure("MRR"), "MRR", 0.5)))
        assert (line.words, line.state, line.value) == ("MRR (RR) of every case", "missed", 0.0)


def test_without_a_gate_there_is_nothing_to_meet() -> None:
    assert target_lines(build_report(scores_of(30))) == ()


def test_of_several_runs_the_line_is_about_the_worst_and_has_its_interval() -> None:
    scores = [scores_of(30, "good"), scores_of(10, "bad")]
    evidence = Evidence({"good": scores[0], "bad": scores[1]})
    report = build_comparison(scores, compare(scores), gate=check_gate(evidence, [parse_threshold("MRR=0.2")]))
    (line,) = target_lines(report)
    assert (line.run, line.subject, line.words, line.value, line.state) == ("bad", "RR", "MRR (RR)", 0.25, "close")


def test_a_report_that_was_read_back_has_the_same_lines(tmp_path: Path) -> None:
    rules = (parse_threshold("MRR=0.7"), NumberRule(LatencyOf("warm", "p50"), "at_most", 5.0))
    report = report_on(30, *rules)
    write_report(report, tmp_path / "r.json")
    assert target_lines(read_report(tmp_path / "r.json")) == target_lines(report)
