"""Which cases count as failed, and the reason that readers get."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Defaults,
    Hit,
    Judgment,
    Report,
    Run,
    Suite,
    build_report,
    match_hits,
    read_report,
    score,
)
from searchmark.reports.failed_cases import count_failed, failed_cases, failure_reasons
from searchmark.reports.render import write_report


def report_on(cases: list[Case], answers: list[Answer], measures: list[str], rel: int = 1) -> Report:
    suite = Suite.from_cases("failing", cases, defaults=Defaults(rel))
    return build_report(score(match_hits(suite, Run.from_answers("agent", answers)), measures))


def reasons(case: Case, answer: Answer, measures: list[str], rel: int = 1) -> tuple[str, ...]:
    report = report_on([case], [answer], measures, rel)
    return failure_reasons(report.agents["agent"].cases[case.id], report.suite.rel)


def asked(*targets: str, **more: object) -> Case:
    return Case("c", "query", tuple(map(Judgment, targets)), **more)  # type: ignore[arg-type]  # fields of a case


def got(*ids: str) -> Answer:
    return Answer("c", "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1)))


ONE_HIT_AT_1, ONE_HIT_AT_3 = got("a", "x", "y"), got("x", "y", "a")


class TestByPrecisionAndReciprocalRank:
    def test_the_only_target_at_the_first_rank_is_all_that_precision_can_ask_for(self) -> None:
        assert reasons(asked("a"), ONE_HIT_AT_1, ["P@5", "RR"]) == ()

    def test_precision_is_held_against_what_the_judgments_allow(self) -> None:
        assert reasons(asked("a", "b", "c", "d"), ONE_HIT_AT_1, ["P@5", "RR"]) == ("P@5 0.20 of 0.80 possible",)

    def test_four_of_five_are_enough(self) -> None:
        assert reasons(asked("a", "b", "c", "d", "e", "f"), got("a", "b", "c", "d", "x"), ["P@5"]) == ()

    def test_a_first_relevant_hit_at_the_third_rank_is_a_failure(self) -> None:
        assert reasons(asked("a"), ONE_HIT_AT_3, ["P@5", "RR"]) == ("RR 0.33",)

    def test_a_first_relevant_hit_at_the_second_rank_is_none(self) -> None:
        assert reasons(asked("a"), got("x", "a"), ["P@5", "RR@5"]) == ()

    def test_both_reasons_are_given(self) -> None:
        expected = ("P@5 0.00 of 0.20 possible", "RR 0.00")
        assert reasons(asked("a"), got("x"), ["P@5", "RR"]) == expected

    def test_precision_without_a_cutoff_can_be_1(self) -> None:
        assert reasons(asked("a"), ONE_HIT_AT_1, ["P"]) == ("P 0.33 of 1.00 possible",)

    def test_the_first_precision_decides_and_not_a_deeper_one(self) -> None:
        case = asked("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
        assert reasons(case, got("a", "b", "c", "d", "e"), ["P@5", "P@10"]) == ()

    def test_a_target_counts_from_the_grade_that_the_measure_says(self) -> None:
        case = Case("c", "query", (Judgment("a", grade=2), Judgment("b"), Judgment("d")))
        assert reasons(case, ONE_HIT_AT_1, ["P(rel=2)@5"]) == ()
        assert reasons(case, ONE_HIT_AT_1, ["P@5"]) == ("P@5 0.20 of 0.60 possible",)

    def test_the_grade_of_the_suite_is_in_the_name_of_the_measure(self) -> None:
        case = Case("c", "query", (Judgment("a", grade=2), Judgment("b", grade=2), Judgment("d")))
        assert reasons(case, ONE_HIT_AT_1, ["P@5"], rel=2) == ("P(rel=2)@5 0.20 of 0.40 possible",)

    def test_a_glob_may_be_met_by_any_number_of_hits_so_only_none_is_a_failure(self) -> None:
        case = Case("c", "query", (Judgment("src/*.py", "glob"),))
        assert reasons(case, got("src/a.py", "x", "y"), ["P@5"]) == ()
        assert reasons(case, got("x", "y"), ["P@5"]) == ("P@5 0.00",)

    def test_a_case_that_can_only_score_0_says_so(self) -> None:
        case = Case("c", "query", (Judgment("a"),))
        assert reasons(case, ONE_HIT_AT_1, ["P@5", "RR"], rel=2) == (
            "no target has grade 2 or higher, so it can only score 0 in P(rel=2)@5, RR(rel=2)",
        )


class TestByStatus:
    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (Answer("c", "error", (), AnswerDetails(failure="out of memory")), "error: out of memory"),
            (Answer("c", "timeout"), "timeout"),
            (Answer("c", "empty"), "nothing was returned"),
        ],
    )
    def test_what_was_not_answered_failed(self, answer: Answer, reason: str) -> None:
        assert reasons(asked("a"), answer, ["P@5", "RR"]) == (reason,)

    def test_what_was_not_run_is_not_measured(self) -> None:
        assert reasons(asked("a"), Answer("c", "not_run"), ["P@5", "RR"]) == ()

    @pytest.mark.parametrize("measures", [["RR"], ["RR", "Abstain"], ["Abstain"]])
    def test_nothing_is_right_for_a_case_that_has_no_answer(self, measures: list[str]) -> None:
        assert reasons(asked(unanswerable=True), Answer("c", "empty"), measures) == ()

    def test_something_returned_for_a_case_that_has_no_answer_is_a_failure(self) -> None:
        expected = ("something was returned, though nothing is right",)
        assert reasons(asked(unanswerable=True), got("x"), ["RR", "Abstain"]) == expected

    def test_what_nothing_was_asked_about_is_no_failure(self) -> None:
        assert reasons(asked(unanswerable=True), got("x"), ["RR"]) == ()


class TestWithoutBoth:
    def test_success_decides(self) -> None:
        expected = ("Success@5 0.00 (neither P nor RR was measured)",)
        assert reasons(asked("a"), got("x"), ["nDCG@10", "Success@5"]) == expected
        assert reasons(asked("a"), ONE_HIT_AT_3, ["nDCG@10", "Success@5"]) == ()

    def test_else_the_first_measure_being_0(self) -> None:
        expected = ("nDCG@10 0.00 (neither P nor RR was measured)",)
        assert reasons(asked("a"), got("x"), ["Judged@10", "nDCG@10", "R@10"]) == expected
        assert reasons(asked("a"), ONE_HIT_AT_3, ["Judged@10", "nDCG@10"]) == ()

    def test_a_formula_with_a_name_decides_as_well(self) -> None:
        expected = ("mine 0.00 (neither P nor RR was measured)",)
        assert reasons(asked("a"), got("x"), ["mine = 0.5*P@5 + 0.5*RR"]) == expected


CASES = [Case(f"c{n}", "query", (Judgment("a"),)) for n in range(6)]
ANSWERS = [Answer(f"c{n}", "ok", (Hit("a" if n % 2 else "x", 1),)) for n in range(6)]


class TestOfARun:
    def test_failed_cases_come_in_the_order_of_the_suite_and_are_bounded(self) -> None:
        report = report_on(CASES, ANSWERS, ["P@5", "RR"])
        assert [each.id for each in failed_cases(report, "agent")] == ["c0", "c2", "c4"]
        assert [each.id for each in failed_cases(report, "agent", 2)] == ["c0", "c2"]
        assert count_failed(report, "agent") == 3

    def test_a_report_that_was_read_back_says_the_same(self, tmp_path: Path) -> None:
        report = report_on(CASES, ANSWERS, ["P@5", "RR"], rel=2)
        write_report(report, tmp_path / "r.json")
        read = read_report(tmp_path / "r.json")
        assert failed_cases(read, "agent") == failed_cases(report, "agent")
        assert read.suite.rel == 2
