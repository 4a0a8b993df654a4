"""What a report recommends: each rule on a suite made for it, with its cases and its sentence, and nothing on noise."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Hit,
    Judgment,
    Provenance,
    Report,
    Run,
    Suite,
    build_comparison,
    build_report,
    compare,
    match_hits,
    read_report,
    score,
)
from searchmark.records.provenance import AgentIdentity
from searchmark.reports.advice import recommend
from searchmark.reports.cases import CaseArrays, arrays_of
from searchmark.reports.failed_cases import failed_marks, failure_reasons
from searchmark.reports.render import without_known_secrets, write_report
from searchmark.reports.report import MOST_NAMED, Recommendation
from searchmark.scoring.statistics import binomial_tail, hypergeometric_tail

MODEL = AgentIdentity("mine:Agent", {"model": "e5"})
MEASURES = ["P@5", "RR", "nDCG@10", "R@10", "Abstain"]


def found(case: str, rank: int = 1) -> Answer:
    """An answer with the target at this rank, among hits whose scores differ."""
    return Answer(case, "ok", tuple(Hit("a" if n == rank else f"x{n}", n, 1 / n) for n in range(1, 11)))


def lost(case: str) -> Answer:
    return Answer(case, "ok", tuple(Hit(f"x{n}", n, 1 / n) for n in range(1, 11)))


def short(case: str) -> Answer:
    """An answer that ends by itself, without the target."""
    return Answer(case, "ok", (Hit("x1", 1, 1.0), Hit("x2", 2, 0.5)))


def asked(number: int, **more: object) -> Case:
    return Case(f"c{number:03}", f"query {number}", (Judgment("a"),), **more)  # type: ignore[arg-type]  # fields of a case


def names(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"c{number:03}" for number in numbers)


def report_of(cases: list[Case], answer: Callable[[str], Answer], measures: list[str] = MEASURES) -> Report:
    suite = Suite.from_cases("suite", cases)
    return build_report(score(match_hits(suite, Run.from_answers("agent", [answer(case.id) for case in cases])), measures))


def failing(numbers: Iterable[int]) -> Callable[[str], Answer]:
    """Answers that rank the target low in these cases, and first in all others."""
    bad = set(names(numbers))
    return lambda case: found(case, 8 if case in bad else 1)


def comparison_of(cases: list[Case], **agents: Callable[[str], Answer]) -> Report:
    suite = Suite.from_cases("suite", cases)
    runs = [Run.from_answers(name, [answer(case.id) for case in cases]) for name, answer in agents.items()]
    scores = [score(match_hits(suite, run), ["P@5", "RR"]) for run in runs]
    return build_comparison(scores, compare(scores))


def only(report: Report, code: str) -> Recommendation:
    (advice,) = (each for each in report.recommendations if each.code == code)
    return advice


def codes(report: Report) -> list[str]:
    return [each.code for each in report.recommendations]


TYPOS = range(10)
BAD_TYPOS = range(9)
TAGGED = [asked(n, tags=("typo",) if n in TYPOS else ()) for n in range(60)]


class TestGroups:
    def test_typos_that_fail_as_a_group_are_named(self) -> None:
        advice = only(report_of(TAGGED, failing([*BAD_TYPOS, 20, 30])), "typos-fail")
        assert advice.seen == "9 of 10 cases with typos failed (90 %), and 2 of the 50 others (4 %)"
        assert advice.advice == "Make the search tolerant of typos: character n-grams, edit distance, or a corrected query."
        assert (advice.run, advice.cases, advice.count) == ("agent", names(BAD_TYPOS), 9)

    @pytest.mark.parametrize(
        "label",
        [{"category": "Typo tolerance"}, {"tags": ("kind:typos",)}, {"fields": {"variation": "typo"}}, {"tags": ("misspelled",)}],
    )
    def test_typos_are_known_by_tag_category_or_field(self, label: dict[str, object]) -> None:
        cases = [asked(n, **(label if n in TYPOS else {})) for n in range(60)]
        assert only(report_of(cases, failing(BAD_TYPOS)), "typos-fail").cases == names(BAD_TYPOS)

    def test_a_typo_that_fails_beside_its_own_query_without_one_is_seen_where_most_others_fail_as_well(self) -> None:
        cases = [asked(n, tags=("typo",) if n % 2 else (), origin=f"o{n // 2}" if n < 32 else None) for n in range(100)]
        typos = [n for n in range(100) if n % 2]
        report = report_of(cases, failing([*typos[:16], *range(32, 100, 2), *range(51, 100, 2)]))
        advice = only(report, "typos-fail")
        assert advice.seen == (
            "41 of 50 cases with typos failed (82 %), and 34 of the 50 others (68 %); "
            "of 16 origins that differ with and without the typo, 16 fail more often with it"
        )

    @pytest.mark.parametrize(
        "label",
        [{"fields": {"language": "pt"}}, {"tags": ("pt",)}, {"tags": ("lang:PT",)}, {"category": "pt"}, {"fields": {"lang": "PT"}}],
    )
    def test_a_language_that_fails_is_named(self, label: dict[str, object]) -> None:
        cases = [asked(n, **(label if n < 12 else {})) for n in range(60)]
        advice = only(report_of(cases, failing(range(10))), "language-fails")
        assert advice.seen == "10 of 12 cases in the language 'pt' failed (83 %), and 0 of the 48 others (0 %)"
        assert advice.cases == names(range(10))

    def test_a_tag_that_only_looks_like_a_language_is_none(self) -> None:
        cases = [asked(n, tags=("go",) if n < 12 else ()) for n in range(60)]
        assert "language-fails" not in codes(report_of(cases, failing(range(12))))

    def test_a_category_clearly_below_the_others_is_named(self) -> None:
        cases = [asked(n, category="abc"[n % 3]) for n in range(60)]
        advice = only(report_of(cases, failing(range(0, 45, 3))), "category-fails")
        assert advice.seen == "15 of 20 cases of the category 'a' failed (75 %), and 0 of the 40 others (0 %)"
        assert advice.cases == names(range(0, 45, 3))

    def test_a_category_of_typos_is_said_once(self) -> None:
        cases = [asked(n, category="typos" if n in TYPOS else "rest") for n in range(60)]
        assert codes(report_of(cases, failing(TYPOS))) == ["typos-fail", "rerank"]

    def test_the_same_cases_under_three_names_get_one_piece_of_advice_that_has_all_names(self) -> None:
        def label(n: int) -> dict[str, object]:
            return {"category": "B", "tags": ("lang:de",), "fields": {"variation": "typo"}} if n % 2 else {"tags": ("lang:en",)}

        report = report_of([asked(n, **label(n)) for n in range(40)], failing(range(1, 40, 2)), ["P@5", "RR"])
        (advice,) = report.recommendations
        assert advice.code == "typos-fail"
        assert advice.seen == (
            "20 of 20 cases with typos failed (100 %), and 0 of the 20 others (0 %); "
            "of these 20, 20 are in the language 'de' and 20 are of the category 'B'"
        )
        assert advice.advice == (
            "Add cases that are only one of these, to tell which of them it is. "
            "Make the search tolerant of typos: character n-grams, edit distance, or a corrected query. "
            "Or: Check that analyser and embedding model know this language, and that its documents are indexed."
        )

    def test_groups_that_share_only_some_cases_are_two(self) -> None:
        cases = [asked(n, category="B" if n < 20 else "A", tags=("typo",) if 10 <= n < 30 else ()) for n in range(80)]
        assert codes(report_of(cases, failing(range(30)), ["P@5", "RR"])) == ["typos-fail", "category-fails"]

    def test_four_cases_are_no_group(self) -> None:
        cases = [asked(n, category="a" if n < 4 else "b") for n in range(60)]
        assert "category-fails" not in codes(report_of(cases, failing(range(4))))

    def test_a_difference_that_does_not_matter_is_not_said_however_many_cases_show_it(self) -> None:
        cases = [asked(n, category="a" if n < 2000 else "b") for n in range(4000)]
        report = report_of(cases, failing([*range(600), *range(2000, 2400)]))
        assert "category-fails" not in codes(report)

    def test_cases_of_one_origin_are_one_observation(self) -> None:
        cases = [asked(n, category="a" if n < 12 else "b", origin=f"o{n // 6}") for n in range(120)]
        assert "category-fails" not in codes(report_of(cases, failing(range(12))))

    def test_errors_say_nothing_of_a_group(self) -> None:
        crashes = set(names(TYPOS))
        report = report_of(TAGGED, lambda case: Answer(case, "error") if case in crashes else found(case))
        assert "typos-fail" not in codes(report)

    def test_cases_are_bounded_and_counted(self) -> None:
        cases = [asked(n, category="a" if n < 300 else "b") for n in range(600)]
        advice = only(report_of(cases, failing(range(300))), "category-fails")
        assert (len(advice.cases), advice.count) == (MOST_NAMED, 300)


class TestTargets:
    def test_targets_that_do_not_come_though_the_answer_had_room_are_counted(self, tmp_path: Path) -> None:
        gone = set(names(range(8)))
        report = report_of([asked(n) for n in range(40)], lambda case: short(case) if case in gone else found(case))
        advice = only(report, "targets-never-returned")
        assert advice.seen == "8 relevant targets in 8 of 40 cases did not come although the answer had room for them"
        assert (advice.run, advice.cases) == ("agent", names(range(8)))
        write_report(report, tmp_path / "r.json")
        assert recommend(read_report(tmp_path / "r.json")) == report.recommendations

    def test_what_may_come_below_the_end_of_an_answer_is_not_called_lost(self) -> None:
        gone = set(names(range(8)))
        report = report_of([asked(n) for n in range(40)], lambda case: lost(case) if case in gone else found(case))
        assert "targets-never-returned" not in codes(report)

    def test_of_several_runs_only_what_none_returned_counts(self) -> None:
        def without(gone: set[str]) -> Callable[[str], Answer]:
            return lambda case: short(case) if case in gone else found(case)

        first, second = without(set(names(range(20)))), without(set(names(range(10, 30))))
        advice = only(comparison_of([asked(n) for n in range(40)], a=first, b=second), "targets-never-returned")
        assert advice.seen == "10 relevant targets in 10 of 40 cases did not come although all 2 answers had room for them"
        assert (advice.run, advice.cases) == (None, names(range(10, 20)))

    def test_targets_that_did_not_exist_are_said_to_be_out_of_reach_instead(self) -> None:
        gone = set(names(range(8)))

        def answer(case: str) -> Answer:
            return Answer(case, "ok", short(case).hits, AnswerDetails(unreachable=("a",))) if case in gone else found(case)

        report = report_of([asked(n) for n in range(40)], answer)
        assert "targets-never-returned" not in codes(report)
        advice = only(report, "targets-unreachable")
        assert advice.seen == "8 relevant targets of 8 cases did not exist where they were searched"
        assert advice.cases == names(range(8))

    def test_a_few_of_them_are_no_reason_for_advice(self) -> None:
        gone = set(names(range(4)))
        report = report_of([asked(n) for n in range(100)], lambda case: lost(case) if case in gone else found(case))
        assert "targets-never-returned" not in codes(report)


class TestOtherAgents:
    def test_fusion_is_suggested_where_each_solves_what_the_other_does_not(self) -> None:
        report = comparison_of([asked(n) for n in range(60)], words=failing(range(20)), vectors=failing(range(15, 35)))
        first = only(report, "other-agent-succeeds")
        assert first.seen == "vectors succeeds in 15 of the 20 cases in which words fails; the other way round it is 15"
        assert first.advice == (
            "Try to fuse both (agent hybrid). At best, knowing in each case which of the two is right, 55 of 60 cases would succeed; "
            "the better one alone succeeds in 40."
        )
        assert (first.run, first.cases) == ("words", names(range(15)))

    @pytest.mark.parametrize("name", ["hybrid", "rrf of both", "fts5+vector", "fts5+vector+reranker"])
    def test_where_a_fusion_took_part_its_result_is_told_and_no_fusion_suggested(self, name: str) -> None:
        agents = {"words": failing(range(20)), "vectors": failing(range(15, 35)), name: failing(range(22))}
        advice = only(comparison_of([asked(n) for n in range(60)], **agents), "other-agent-succeeds")
        assert advice.seen == "vectors succeeds in 15 of the 20 cases in which words fails; the other way round it is 15"
        assert advice.advice == (
            "See what vectors does with these cases. At best, knowing in each case which of the two is right, "
            f"55 of 60 cases would succeed; the better one alone succeeds in 40. {name}, which fuses, succeeds in 38 of 60."
        )

    def test_the_best_agent_that_fuses_is_not_told_to_fuse(self) -> None:
        agents = {"words": failing(range(20)), "vectors": failing(range(15, 35)), "hybrid": failing(range(12))}
        advice = only(comparison_of([asked(n) for n in range(60)], **agents), "other-agent-succeeds")
        assert (advice.run, advice.advice.split(". ")[0]) == ("hybrid", "See what vectors does with these cases")

    def test_an_agent_that_says_that_it_fuses_is_known_by_any_name(self) -> None:
        suite = Suite.from_cases("suite", [asked(n) for n in range(60)])
        arms = Provenance(agent=AgentIdentity("rerank", description={"arms": {"all": {"fusion": "rrf"}}}))
        known = {"words": Provenance(), "vectors": Provenance(), "ours": arms}
        bad = {"words": range(20), "vectors": range(15, 35), "ours": range(22)}
        runs = [
            Run.from_answers(name, [failing(bad[name])(case) for case in suite.table.ids], provenance=known[name]) for name in known
        ]
        scores = [score(match_hits(suite, run), ["P@5", "RR"]) for run in runs]
        advice = only(build_comparison(scores, compare(scores)), "other-agent-succeeds").advice
        assert advice.endswith("ours, which fuses, succeeds in 38 of 60.")

    def test_a_run_that_crashed_is_not_the_one_that_fails_least(self) -> None:
        agents = {
            "broken": lambda case: Answer(case, "error"),
            "words": failing(range(20)),
            "vectors": failing(range(15, 35)),
        }
        assert only(comparison_of([asked(n) for n in range(60)], **agents), "other-agent-succeeds").run == "words"

    @pytest.mark.parametrize("name", ["random", "popular", "path-match"])
    def test_controls_get_no_advice_and_are_no_advice(self, name: str) -> None:
        suite = Suite.from_cases("suite", [asked(n, tags=("typo",) if n < 20 else ()) for n in range(60)])
        known = Provenance(agent=AgentIdentity(name))
        bad = [failing(range(20))(case) for case in suite.table.ids]
        control = Run.from_answers("control", bad, provenance=known)
        assert codes(build_report(score(match_hits(suite, control), MEASURES))) == []
        words = Run.from_answers("words", [failing(range(20, 45))(case) for case in suite.table.ids])
        scores = [score(match_hits(suite, run), ["P@5", "RR"]) for run in (control, words)]
        assert codes(build_comparison(scores, compare(scores))) == []

    def test_that_a_better_agent_succeeds_more_often_is_no_advice(self) -> None:
        report = comparison_of([asked(n) for n in range(60)], words=failing(range(20)), vectors=failing(range(2)))
        assert "other-agent-succeeds" not in codes(report)

    def test_two_runs_of_one_agent_are_not_two_agents(self) -> None:
        suite = Suite.from_cases("suite", [asked(n) for n in range(60)])
        ranges = (range(20), range(20, 40))
        runs = [Run.from_answers("agent", [failing(bad)(case) for case in suite.table.ids]) for bad in ranges]
        scores = [score(match_hits(suite, run), ["P@5", "RR"]) for run in runs]
        assert "other-agent-succeeds" not in codes(build_comparison(scores, compare(scores)))


class TestAnswers:
    def test_reranking_is_recommended_where_all_is_found_and_ranked_low(self) -> None:
        report = report_of([asked(n) for n in range(40)], failing(range(12)))
        advice = only(report, "rerank")
        assert advice.seen == ("in 12 of 40 cases nearly all targets are found and ranked low (mean R@10 1.00, nDCG@10 0.32)")
        assert advice.cases == names(range(12))

    def test_reranking_is_not_recommended_where_most_bad_cases_lack_their_targets(self) -> None:
        gone = set(names(range(15)))
        low = failing(range(15, 25))
        report = report_of([asked(n) for n in range(40)], lambda case: lost(case) if case in gone else low(case))
        assert "rerank" not in codes(report)

    def scored(self, score_at: Callable[[int], float], agent: AgentIdentity | None) -> Report:
        """A report on twelve answers whose hits have these scores."""
        suite = Suite.from_cases("suite", [asked(n) for n in range(12)])
        hits = tuple(Hit("a" if n == 1 else f"x{n}", n, score_at(n)) for n in range(1, 11))
        run = Run.from_answers("agent", [Answer(case, "ok", hits) for case in suite.table.ids], provenance=Provenance(agent=agent))
        return build_report(score(match_hits(suite, run), MEASURES))

    def test_compressed_scores_of_a_model_are_seen(self) -> None:
        advice = only(self.scored(lambda n: 0.8 - n * n / 10_000, MODEL), "scores-compressed")
        assert advice.seen == (
            "in 12 of 12 answers the last of the first ten hits scores less than 3 % below the first (median 1.2 %)"
        )
        assert advice.advice == (
            "Normalise the vectors, check pooling and prefixes of the model, or try another; set no threshold on such scores."
        )
        assert (advice.cases, advice.count) == (names(range(12)), 12)

    def test_vectors_that_are_normalised_need_no_advice_to_be(self) -> None:
        cosine = AgentIdentity("semantic", description={"embedder": {"model": "e5", "normalize": True}})
        advice = only(self.scored(lambda n: 0.8 - n * n / 10_000, cosine), "scores-compressed").advice
        assert advice == "Check pooling and prefixes of the model, or try another; set no threshold on such scores."

    @pytest.mark.parametrize(
        ("score_at", "agent"),
        [
            (lambda n: 0.8 - n * n / 10_000, None),
            (lambda n: 0.8 - n * n / 10_000, AgentIdentity("bm25")),
            (lambda n: 0.8 - n * n / 10_000, AgentIdentity("hybrid", description={"arms": {"a": {"model": "e5"}}})),
            (lambda n: 1000.0 - n, AgentIdentity("mine:Agent", {"model": "e5"})),
            (lambda n: -100.0 - n * n / 1000, AgentIdentity("mine:Agent", {"model": "e5"})),
        ],
        ids=["nothing is known", "no model", "fused", "made from ranks", "likelihoods"],
    )
    def test_no_cause_is_claimed_for_scores_that_are_no_similarities(
        self, score_at: Callable[[int], float], agent: AgentIdentity | None
    ) -> None:
        assert "scores-compressed" not in codes(self.scored(score_at, agent))

    def test_scores_that_are_all_alike_are_no_similarities(self) -> None:
        same = Hit("a", 1, 1.0), *(Hit(f"x{n}", n, 1.0) for n in range(2, 11))
        assert codes(report_of([asked(n) for n in range(12)], lambda case: Answer(case, "ok", same))) == []

    @pytest.mark.parametrize(
        ("status", "advice"),
        [
            ("error", "Fix this first, then ask these cases again with --retry-errors."),
            ("timeout", "Make these searches faster or raise --timeout, then ask these cases again with --retry-errors."),
        ],
    )
    def test_failures_of_one_reason_are_named(self, status: str, advice: str) -> None:
        reasons = dict.fromkeys(names(range(4)), "index is locked") | dict.fromkeys(names([4]), "other")

        def answer(case: str) -> Answer:
            details = AnswerDetails(failure=reasons.get(case))
            return Answer(case, status, (), details) if case in reasons else found(case)  # type: ignore[arg-type]  # a status

        found_advice = only(report_of([asked(n) for n in range(40)], answer), "common-failure")
        assert found_advice.seen == f"4 of 5 cases that failed ended with the same {status}: index is locked"
        assert (found_advice.advice, found_advice.cases) == (advice, names(range(4)))

    def test_failures_of_many_reasons_have_nothing_in_common(self) -> None:
        def answer(case: str) -> Answer:
            return Answer(case, "error", (), AnswerDetails(failure=case)) if case < "c004" else found(case)

        assert "common-failure" not in codes(report_of([asked(n) for n in range(40)], answer))


def test_a_run_in_which_all_is_well_gets_no_advice() -> None:
    cases = [asked(n, category="abc"[n % 3], tags=("typo",) if n % 5 == 0 else ("de",)) for n in range(60)]
    assert report_of(cases, found).recommendations == ()


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_named_where_failures_are_random(seed: int) -> None:
    drawn = random.Random(seed)
    cases = [asked(n, category=drawn.choice("abcdef"), tags=("typo",) if drawn.random() < 0.2 else ()) for n in range(100)]
    report = report_of(cases, failing(n for n in range(100) if drawn.random() < 0.3))
    assert not {"category-fails", "typos-fail", "language-fails"} & set(codes(report))


def test_a_report_whose_cases_were_left_out_supports_no_advice() -> None:
    report = report_of(TAGGED, failing(TYPOS))
    bare = replace(report, agents={"agent": replace(report.agents["agent"], cases={})})
    assert recommend(bare) == ()


def test_secrets_of_the_environment_are_not_in_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "verysecretvalue123")

    def answer(case: str) -> Answer:
        return Answer(case, "error", (), AnswerDetails(failure="refused verysecretvalue123"))

    report = report_of([asked(n) for n in range(10)], answer)
    assert "verysecretvalue123" in only(report, "common-failure").seen
    assert "verysecretvalue123" not in only(without_known_secrets(report), "common-failure").seen


VARIED = Suite.from_cases(
    "varied",
    [
        Case("c0", "q", (Judgment("a"), Judgment("b", grade=2), Judgment("d", grade=0)), category="typo", origin="o", tags=("de",)),
        Case("c1", "q", (Judgment("src/*.py", "glob"),), fields={"language": "de"}),
        Case("c2", "q", unanswerable=True),
        Case("c3", "q", unanswerable=True),
        *(Case(f"c{n}", "q", (Judgment("a"),), fields={"variation": "typo"}) for n in range(4, 14)),
    ],
)
VARIED_ANSWERS = [
    found("c0", 2), lost("c1"), Answer("c2", "empty"), found("c3"), Answer("c4", "timeout", (), AnswerDetails(failure="slow")),
    Answer("c5", "not_run"), Answer("c6", "empty"), Answer("c7", "ok", lost("c7").hits, AnswerDetails(unreachable=("a",))),
    Answer("c8", "ok", (Hit("a", 1),)), *(found(f"c{n}", n - 7) for n in range(9, 13)),
]  # fmt: skip


def varied_report(measures: list[str]) -> Report:
    return build_report(score(match_hits(VARIED, Run.from_answers("agent", VARIED_ANSWERS)), measures))


EACH_WAY = [MEASURES, ["P", "P@1"], ["nDCG@10", "Success@5"], ["Judged@5", "R@10"], ["mine = 0.5*P@5 + 0.5*RR"], ["Abstain"]]


class TestArrays:
    @pytest.mark.parametrize("measures", EACH_WAY)
    def test_all_cases_at_once_fail_as_each_of_them_does(self, measures: list[str]) -> None:
        report = varied_report(measures)
        cases = report.agents["agent"].cases
        one_by_one = [bool(failure_reasons(case, report.suite.rel)) for case in cases.values()]
        assert failed_marks(arrays_of(cases)).tolist() == one_by_one

    @pytest.mark.parametrize("measures", EACH_WAY)
    def test_columns_and_records_give_the_same_arrays(self, measures: list[str]) -> None:
        cases = varied_report(measures).agents["agent"].cases
        views, records = arrays_of(cases), arrays_of(dict(cases))
        assert (list(views.ids), views.names, views.failures) == (list(records.ids), records.names, records.failures)
        assert arrays_in(views) == arrays_in(records)

    def test_a_report_that_was_read_back_is_given_the_same_advice(self, tmp_path: Path) -> None:
        cases = [asked(n, tags=("typo",) if n in TYPOS else (), fields={"language": "de" if n % 2 else "en"}) for n in range(60)]
        gone = set(names([*TYPOS, 20]))
        report = report_of(cases, lambda case: short(case) if case in gone else found(case))
        write_report(report, tmp_path / "r.json")
        read = read_report(tmp_path / "r.json")
        assert codes(report) == ["typos-fail", "targets-never-returned"]
        assert read.recommendations == report.recommendations
        assert recommend(read) == report.recommendations


ARRAYS = ("status", "values", "unanswerable", "starts", "grades", "match", "ranks", "unreachable", "narrowness", "shown")


def arrays_in(cases: CaseArrays) -> list[list[object]]:
    return [np.nan_to_num(getattr(cases, name).astype(float), nan=-9.0).tolist() for name in ARRAYS]


class TestExactTests:
    @pytest.mark.parametrize(("seen", "drawn", "marked", "total"), [(5, 8, 6, 20), (0, 3, 3, 9), (3, 3, 3, 9), (40, 60, 70, 200)])
    def test_the_hypergeometric_tail_is_the_sum_of_its_terms(self, seen: int, drawn: int, marked: int, total: int) -> None:
        terms = (comb(marked, k) * comb(total - marked, drawn - k) for k in range(seen, min(drawn, marked) + 1))
        assert hypergeometric_tail(seen, drawn, marked, total) == pytest.approx(sum(terms) / comb(total, drawn), rel=1e-9)

    @pytest.mark.parametrize(("seen", "trials", "share"), [(9, 10, 0.5), (0, 4, 0.3), (4, 4, 0.3), (12, 100, 0.05)])
    def test_the_binomial_tail_is_the_sum_of_its_terms(self, seen: int, trials: int, share: float) -> None:
        terms = (comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(seen, trials + 1))
        assert binomial_tail(seen, trials, share) == pytest.approx(sum(terms), rel=1e-9)

    def test_more_than_possible_never_happens(self) -> None:
        assert (hypergeometric_tail(4, 3, 5, 9), binomial_tail(4, 3, 0.5)) == (0.0, 0.0)

    def test_large_counts_do_not_overflow(self) -> None:
        assert 0 < hypergeometric_tail(25_500, 50_000, 50_000, 100_000) < 1e-3
        assert hypergeometric_tail(10, 50_000, 50_000, 100_000) == pytest.approx(1.0)


WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "omega"]


def shop(
    tmp_path: Path, documents: list[dict[str, str]], queries: dict[str, tuple[str, str]], agent: str = "bm25"
) -> list[Recommendation]:
    """What is recommended after a run on these documents and queries, each with its target, through the command line."""
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    suite = [{"id": case, "query": query, "expectedIds": [target]} for case, (query, target) in queries.items()]
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    command = [
        "evaluate",
        "--gold-set",
        "suite.json",
        "--corpus",
        "corpus.jsonl",
        "--agent",
        agent,
        "--no-config",
        "--no-archive",
        "-o",
        "r.json",
    ]
    subprocess.run([sys.executable, "-m", "searchmark", *command], cwd=tmp_path, capture_output=True, check=True)
    return list(read_report(tmp_path / "r.json").recommendations)


class TestOutranked:
    def test_documents_without_a_word_of_the_query_are_told_with_an_example(self, tmp_path: Path) -> None:
        documents = [{"id": f"d{n}", "title": f"jumper {word}", "text": "wool"} for n, word in enumerate(WORDS)]
        documents += [{"id": f"x{n}", "title": f"sweater box {n}", "text": "cardboard"} for n in range(30)]
        queries = {f"c{n}": ("sweater", f"d{n}") for n in range(12)}
        advice = {each.code: each for each in shop(tmp_path, documents, queries)}
        said = advice["no-common-word"]
        assert said.seen.startswith(
            "in 12 of 12 failed cases the wanted document has no word of the query: 'sweater' wants 'd0' and gets "
        )
        assert "synonyms" in said.advice
        assert said.count == 12

    def test_the_field_whose_words_put_others_first_is_named_with_the_words(self, tmp_path: Path) -> None:
        documents = [
            {"id": f"d{n}", "title": "plain", "text": f"red {word} boots of leather and much more beside"}
            for n, word in enumerate(WORDS)
        ]
        documents += [
            {"id": f"{copy}{n}", "title": f"red {word} boots", "text": f"laces, red {word} boots"}
            for n, word in enumerate(WORDS)
            for copy in "xyz"
        ]
        queries = {f"c{n}": (f"red {word} boots", f"d{n}") for n, word in enumerate(WORDS)}
        advice = {each.code: each for each in shop(tmp_path, documents, queries)}
        said = advice["outranked-by-words"]
        assert said.seen.startswith(
            "in 12 of 12 failed cases the first hit has more words of the query in its title than the wanted document"
        )
        assert "red" in said.seen
        assert "boot" in said.seen

    def test_queries_in_another_language_than_the_documents_are_told_so(self, tmp_path: Path) -> None:
        spanish = "el {0} de la casa es para los que no tienen una mesa, y con el se come en la cocina por la tarde"
        english = "what is the {0} of the house for, and who is it that has it in the kitchen with them"
        documents = [{"id": f"d{n}", "title": word, "text": spanish.format(word)} for n, word in enumerate(WORDS)]
        documents += [{"id": f"x{n}", "title": "house", "text": f"kitchen house {word}"} for n, word in enumerate(WORDS)]
        queries = {f"c{n}": (english.format("thing"), f"d{n}") for n in range(12)}
        advice = {each.code: each for each in shop(tmp_path, documents, queries)}
        assert (
            advice["other-language"].seen
            == "the queries of 12 failed cases are mostly in English, and the wanted documents in Spanish"
        )
        assert not advice.keys() & {"no-common-word", "outranked-by-words"}

    def test_a_document_that_is_above_the_targets_again_and_again_is_named(self) -> None:
        def crowded(case: str) -> Answer:
            others = [Hit("manual", 1, 1.0), *(Hit(f"{case}-{n}", n, 1 / n) for n in range(2, 6))]
            return Answer(case, "ok", tuple(others))

        report = report_of([asked(n) for n in range(40)], lambda case: crowded(case) if case < "c020" else found(case))
        said = only(report, "crowding-document")
        assert said.seen == "'manual', which is not relevant there, ranks above every target in 20 of 20 failed cases"
        assert said.cases == names(range(20))

    def test_of_few_documents_none_is_said_to_crowd(self) -> None:
        drawn = random.Random(1)

        def shuffled(case: str) -> Answer:
            ids = [f"x{n}" for n in range(8)] + ["a"]
            drawn.shuffle(ids)
            return Answer(case, "ok", tuple(Hit(id_, n, 1 / n) for n, id_ in enumerate(ids, 1)))

        for _ in range(20):
            assert "crowding-document" not in codes(report_of([asked(n) for n in range(60)], shuffled))

    def test_a_model_that_hardly_tells_the_target_from_the_first_hit_is_told_to_rerank(self) -> None:
        def close(case: str) -> Answer:
            scores = [0.9, 0.895, 0.7, 0.5, 0.4]
            return Answer(
                case, "ok", tuple(Hit("a" if n == 3 else f"{case}-{n}", n, scores[n - 1] if n != 3 else 0.89) for n in range(1, 6))
            )

        suite = Suite.from_cases("suite", [asked(n) for n in range(20)])
        run = Run.from_answers("agent", [close(case) for case in suite.table.ids], provenance=Provenance(agent=MODEL))
        said = only(build_report(score(match_hits(suite, run), MEASURES)), "near-misses")
        assert said.seen.startswith(
            "in 20 of 20 failed cases with a relevant document among the hits, its score is nearly that of the first"
        )
