"""What an audit says of numbers, at the edges: what must be said, and near misses that must stay silent."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from searchmark import (
    Answer,
    Case,
    Corpus,
    Document,
    GateRule,
    GateSettings,
    Hit,
    Judgment,
    Provenance,
    Run,
    Suite,
    match_hits,
    parse_measure,
    rules_of,
    score,
)
from searchmark.audit.check import Subject
from searchmark.audit.numbers import (
    RankedRuns,
    about_constant,
    about_identical,
    about_limits,
    about_ranks,
    about_runs_in_limits,
    bounds_table,
    form_of,
    measures_table,
    ties_of_run,
)
from searchmark.experiments.audit import build_subject
from searchmark.measures.grammar import Measure
from searchmark.records.columns import Floats
from searchmark.records.provenance import AgentIdentity
from searchmark.scoring.limits import pool_of

IDS = tuple("abcdef")
CORPUS = Corpus.of("c", [Document(each, each) for each in IDS])
NAMES = (
    *(
        "P@1",
        "P@2",
        "P@3",
        "R@1",
        "R@2",
        "R@9",
        "R@8",
        "R",
        "F1@2",
        "Success@1",
        "Success@2",
        "Acc@1",
        "Acc@2",
        "RR",
        "RR@1",
        "RR@2",
    ),
    *(
        "AP",
        "AP@1",
        "AP@2",
        "Rprec",
        "Rprec(rel=2)",
        "nDCG@1",
        "nDCG@2",
        "nDCG(gain=exp)@2",
        "nDCG",
        "nDCG@9",
        "P(rel=2)@2",
        "RR(rel=2)",
    ),
)
SUITES = {
    "one each": ({"a": 1}, {"b": 1}, {"c": 1, "d": 0}),
    "two each": ({"a": 1, "b": 1}, {"c": 1, "d": 1}),
    "two grades": ({"a": 2, "b": 1}, {"c": 2, "d": 1, "e": 2}),
    "high grades": ({"a": 3, "b": 3}, {"c": 3, "d": 3}),
    "missing": ({"a": 1, "x": 1}, {"b": 1}),
    "nothing": ({"a": 0}, {"b": 1}),
}


def suite_of(name: str) -> Suite:
    return Suite.from_grades({f"q{n}": grades for n, grades in enumerate(SUITES[name])})


def values(name: str, orders: list[tuple[str, ...]]) -> Floats:
    """What every measure is worth in every case with every ranking, scored as one run."""
    cases = {f"q{n}-{m}": (grades, order) for n, grades in enumerate(SUITES[name]) for m, order in enumerate(orders)}
    suite = Suite.from_grades({case: grades for case, (grades, _) in cases.items()})
    answers = [Answer(case, "ok", tuple(Hit(each, n) for n, each in enumerate(order, 1))) for case, (_, order) in cases.items()]
    found: Floats = score(match_hits(suite, Run.from_answers("run", answers), IDS), NAMES).values
    return found


@pytest.mark.parametrize("name", SUITES)
def test_measures_with_the_same_form_are_equal_for_all_rankings_and_no_others_are(name: str) -> None:
    suite = suite_of(name)
    table = values(name, [*[*permutations(IDS)][::31], *permutations(IDS, 2)])
    forms = [form_of(each, pool_of(suite, frozenset(IDS))) for each in map(parse_measure, NAMES) if isinstance(each, Measure)]
    same = {(NAMES[i], NAMES[j]) for i, j in combinations(range(len(NAMES)), 2) if np.array_equal(forms[i], forms[j])}
    equal = {
        (NAMES[i], NAMES[j]) for i, j in combinations(range(len(NAMES)), 2) if np.allclose(table[:, i], table[:, j], atol=1e-12)
    }
    assert same == equal


def subject_of(suite: Suite, measures: tuple[str, ...], corpus: Corpus | None = CORPUS, **answers: dict[str, str]) -> Subject:
    runs = [
        Run.from_answers(
            name, [Answer(case, "ok", tuple(Hit(each, n) for n, each in enumerate(ids, 1))) for case, ids in cases.items()]
        )
        for name, cases in answers.items()
    ]
    return build_subject(suite, corpus, runs, measures)


def test_the_reason_of_equal_measures_is_said() -> None:
    found = subject_of(suite_of("two each"), ("P@2", "R@2", "P@1", "Success@1", "RR"), run={"q0": "ab", "q1": "cd"})
    (told,) = about_identical(found)
    assert told.message == (
        "the same number for every ranking: P@2 = R@2 (every case has 2 relevant); P@1 = Success@1 (the first hit alone)"
    )


def test_a_cutoff_below_the_number_of_documents_is_not_constant_and_one_at_it_is() -> None:
    answers = {"q0": "ab", "q1": "cd"}
    assert not list(about_constant(subject_of(suite_of("two each"), ("P@4", "RR", "nDCG", "R"), run=answers)))
    (told,) = about_constant(subject_of(suite_of("two each"), ("P@6", "Success@5", "RR"), run=answers))
    assert told.message == "the same for all rankings of all documents: P@6 in 2 of 2 cases, Success@5 in 2 of 2 cases"
    assert told.cases == ("q0", "q1")


def test_without_a_corpus_nothing_is_said_of_chance_and_documents() -> None:
    found = subject_of(suite_of("two each"), ("P@6", "RR"), None, run={"q0": "ef", "q1": "ef"})
    assert not list(about_constant(found))
    assert [each.code for each in about_limits(found)] == ["low-attainable"]
    assert not list(about_runs_in_limits(found))


def test_a_tiny_corpus_is_said_to_flatter() -> None:
    (told,) = about_limits(subject_of(suite_of("two each"), ("Success@2", "RR"), run={"q0": "ef"}))
    assert told.message == "what a random order of the documents gets, of the attainable: Success@2 0.6 of 1, RR 0.58 of 1"


def test_unanswerable_cases_and_those_without_targets_do_not_stop_the_numbers() -> None:
    cases = [
        Case("none", "q"),
        Case("no answer", "q", unanswerable=True),
        Case("order", "q", (Judgment("a", rank=1), Judgment("b", rank=2)), order_only=True),
        Case("usual", "q", (Judgment("a"),)),
    ]
    table = measures_table(subject_of(Suite.from_cases("s", cases), ("RR", "Tau", "Abstain", "F1", "ERR"), run={"usual": "ba"}))
    assert table is not None
    assert [row[:3] for row in table.rows] == [
        ("RR", "all", 0.5), ("Tau", "all", 1.0), ("Abstain", "all", 1.0), ("F1", "all", 0.5), ("ERR", "all", pytest.approx((1 / 16 + 1 / 16 + 15 / 512) / 3)),
    ]  # fmt: skip
    assert [row[3] is None for row in table.rows] == [False, False, False, True, False]
    assert [row[4] is None for row in table.rows] == [True, True, True, True, False]


def test_segments_that_rules_are_about_are_in_the_table() -> None:
    cases = [Case(f"q{n}", "q", (Judgment("a"),), category="one" if n else "other") for n in range(3)]
    rules = rules_of(GateSettings(rules=(GateRule(measure="P@2", at_least=0.1, where={"category": "one"}),)))
    table = measures_table(replace(subject_of(Suite.from_cases("s", cases), ("P@2",), run={"q0": "a"}), rules=rules))
    assert table is not None
    assert [row[:3] for row in table.rows] == [("P@2", "all", 0.5), ("P@2", "category one", 0.5)]


def test_runs_named_like_a_column_keep_their_own() -> None:
    table = measures_table(subject_of(suite_of("one each"), ("RR",), random={"q0": "a"}))
    assert table is not None
    assert table.columns[-1] == "run random"


def tied(scores: dict[str, float], grades: dict[str, int], *measures: str) -> list[tuple[float, float, float]]:
    suite = Suite.from_grades({"q": grades})
    found = ties_of_run(score(match_hits(suite, Run.from_scores({"q": scores})), measures))
    return [] if found is None else [(each.worst, each.mean, each.best) for each in found.ranges]


def test_ties_range_over_all_orders_of_equal_scores() -> None:
    scores = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5, "e": 0.5}
    (ranks, gains) = tied(scores, {"a": 2, "b": 1, "d": 2, "c": 0}, "RR", "nDCG@2")
    every = [
        score(match_hits(Suite.from_grades({"q": {"a": 2, "b": 1, "d": 2, "c": 0}}), Run.from_answers("run", [_answer((*one, *other))])), ["RR", "nDCG@2"])
        for one in permutations("abc") for other in permutations("de")
    ]  # fmt: skip
    table = np.array([each.values[0] for each in every])
    assert (ranks[0], ranks[2]) == pytest.approx((table[:, 0].min(), table[:, 0].max()))
    assert (gains[0], gains[2]) == pytest.approx((table[:, 1].min(), table[:, 1].max()))


def _answer(ids: tuple[str, ...]) -> Answer:
    return Answer("q", "ok", tuple(Hit(each, n) for n, each in enumerate(ids, 1)))


def test_different_scores_and_ties_of_equal_grades_leave_nothing_open() -> None:
    assert tied({"a": 2.0, "b": 1.0}, {"a": 1}, "RR") == []
    assert tied({"a": 1.0, "b": 1.0}, {"a": 1, "b": 1}, "RR", "nDCG") == []


def test_a_list_with_one_score_for_all_has_the_order_that_it_came_in() -> None:
    hits = tuple(Hit(each, rank, 1.0) for rank, each in enumerate("ba", 1))
    scores = score(match_hits(Suite.from_grades({"q": {"a": 1}}), Run.from_answers("run", [Answer("q", "ok", hits)])), ["RR"])
    assert ties_of_run(scores) is None


def test_runs_share_a_letter_as_long_as_none_of_them_differs_for_sure() -> None:
    apart = frozenset(frozenset(pair) for pair in ("ac", "ad", "bd", "cd"))
    found = RankedRuns("RR", tuple((name, 1.0) for name in "abcd"), apart)
    assert found.groups == {"a": "a", "b": "ab", "c": "b", "d": "c"}


def many(count: int, category: str | None = None) -> list[Case]:
    """Cases with one target of six documents, each with a query of its own."""
    return [Case(f"{category or 'q'}{n}", f"{category} {n}", (Judgment("a"),), category=category) for n in range(count)]


def test_low_attainable_means_are_told_of_measures_in_question_only() -> None:
    suite, rules = Suite.from_cases("s", many(3)), rules_of(GateSettings(rules=(GateRule(measure="P@5", at_least=0.1),)))
    run = Run.from_answers("x", [Answer(case.id, "ok", (Hit("a", 1),)) for case in suite.cases])
    usual = build_subject(suite, CORPUS, [run])
    assert "P@5" in [each.name for each in usual.measures]
    codes = [
        [each.code for each in about_limits(found) if each.code == "low-attainable"]
        for found in (
            usual,
            build_subject(suite, CORPUS, [run], ["P@5"]),
            build_subject(suite, CORPUS, [run], rules=rules),
            build_subject(suite),
        )
    ]
    assert codes == [[], ["low-attainable"], ["low-attainable"], []]


def test_below_ten_cases_a_mean_that_is_not_above_a_random_order_is_told_of_these_cases() -> None:
    suite = Suite.from_cases("s", many(7))
    below = subject_of(suite, ("RR",), run={case.id: "fedcba" for case in suite.cases})
    (told,) = about_runs_in_limits(below)
    assert told.message == "run: in these 7 cases not above a random order of the documents by RR 0.167 (random 0.408)"
    assert not list(about_runs_in_limits(subject_of(suite, ("RR",), run={case.id: "bacdef" for case in suite.cases})))


def test_a_category_in_which_a_good_run_is_not_above_a_random_order_is_told() -> None:
    cases = [*many(60, "symbol"), *many(12, "question"), *many(5, "other")]
    suite = Suite.from_cases("s", [replace(case, judgments=(Judgment(f"d{n}"),)) for n, case in enumerate(cases)])
    hits = [f"d{n}" if case.category == "symbol" else "none of them" for n, case in enumerate(cases)]
    run = Run.from_answers("run", [Answer(case.id, "ok", (Hit(hit, 1),)) for case, hit in zip(cases, hits, strict=True)])
    corpus = Corpus.of("c", [Document(f"d{n}", "text") for n in range(len(cases))])
    (told,) = about_runs_in_limits(build_subject(suite, corpus, [run], ["RR", "P@1"]))
    assert told.message == "run: by RR not above a random order in 'question' 0 (random 0.064, 12 cases)"


def labelled_runs(second: str, agents: tuple[str, str]) -> Subject:
    suite = Suite.from_cases("s", many(12))
    runs = [
        replace(
            Run.from_answers(
                "bm25", [Answer(case.id, "ok", tuple(Hit(each, n) for n, each in enumerate(ids, 1))) for case in suite.cases]
            ),
            provenance=Provenance(agent=AgentIdentity(agent)),
        )
        for ids, agent in zip(("abc", second), agents, strict=True)
    ]
    return build_subject(suite, CORPUS, runs, ["RR"])


def test_ranks_of_repeats_of_one_agent_are_not_told_and_runs_with_equal_values_are_alike() -> None:
    assert not list(about_ranks(labelled_runs("abc", ("bm25", "bm25"))))
    (told,) = about_ranks(labelled_runs("acb", ("bm25", "other")))
    assert told.message == "neighbours by RR answered alike, with the same value in every case: bm25 and bm25#2 (1)"


def test_columns_without_a_value_are_not_in_tables() -> None:
    found = subject_of(Suite.from_cases("s", many(2)), ("RR",), run={"q0": "ba", "q1": "a"})
    measures, bounds = measures_table(found), bounds_table(found)
    assert measures is not None
    assert bounds is not None
    assert measures.columns == ("measure", "cases", "attainable", "random", "run")
    assert bounds.columns == ("run", "measure", "unjudged hits", "score", "score if all are relevant")
    judged = Suite.from_cases("s", [replace(case, judgments=(*case.judgments, Judgment("c", grade=0))) for case in many(2)])
    beside = bounds_table(subject_of(judged, ("RR",), run={"q0": "ba", "q1": "a"}))
    assert beside is not None
    assert beside.columns[-1] == "score without unjudged hits"
