"""What any ranking and a random one can get, held against all rankings of small corpora and against rankings that are drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from searchmark import Answer, Case, Document, Hit, Judgment, Run, Suite, match_hits, parse_measure, score
from searchmark.measures.common import LONGEST_SUM
from searchmark.measures.grammar import Measure
from searchmark.measures.hits import Pool
from searchmark.records.columns import Floats
from searchmark.scoring.limits import (
    attainable,
    drawn_values,
    expected_by_chance,
    pool_of,
    range_of_full_rankings,
    simulate_mean,
)

IDS = ("a", "b", "c", "d", "e")
CASES = (
    Case("graded", "q", (Judgment("a", grade=3), Judgment("b"), Judgment("c", grade=0))),
    Case("ranked", "q", (Judgment("a", rank=1), Judgment("b", rank=2), Judgment("d", rank=2))),
    Case("all missing", "q", (Judgment("x"), Judgment("y", grade=2))),
    Case(
        "some missing", "q", (Judgment("x", rank=1), Judgment("e", rank=2), Judgment("d", grade=2, rank=3), Judgment("c", grade=0))
    ),
    Case("nothing relevant", "q", (Judgment("b", grade=0), Judgment("e", grade=-1))),
    Case("no judgment", "q"),
    Case("unanswerable", "q", unanswerable=True),
    Case("order only", "q", (Judgment("c", rank=2), Judgment("d", rank=1)), order_only=True),
    Case("everything", "q", tuple(Judgment(each, grade=n) for n, each in enumerate(IDS, 1))),
)
NAMES = (
    *("P@1", "P@3", "P@9", "P", "P(rel=2)@2", "R@1", "R@3", "R@9", "F1@2", "F1@9", "RR", "RR@2", "RR(rel=2)", "AP", "AP@2"),
    *("AP(rel=2)@4", "nDCG@3", "nDCG", "nDCG(gain=exp)@2", "DCG@2", "DCG(gain=exp)", "Success@1", "Success@3", "Success@9"),
    *("Rprec", "Rprec(rel=2)", "Bpref", "Bpref(rel=2)", "RBP", "RBP(p=0.5)@2", "Judged@2", "Judged", "Acc@2", "Acc@4", "Acc"),
    *("NumRel", "NumRelRet@2", "NumRelRet(rel=2)@4"),
    *("Abstain", "Tau", "Tau@2", "0.4*P@5 + 0.3*R@5 + 0.3*RR@5", "0.5*nDCG@3 + 0.5*Judged@2"),
)
WITHOUT_EXPECTATION = (
    *("R", "F1", "ERR", "ERR@3", "ERR(max=5)", "0.5*P + 0.5*RR"),
    *("nERR(max=5)", "nERR(max=5)@2", "SetF(beta=4)@2", "IPrec@0", "IPrec@0.5", "IPrec@1", "infAP", "Compat", "Compat(p=0.5)"),
    *("SetF(beta=4)", "SetAP", "NumRelRet", "P(judged_only=true)@2", "nDCG(judged_only=true)@2", "AP(judged_only=true)"),
)
EVERY = (*NAMES, *WITHOUT_EXPECTATION)


def suite() -> Suite:
    return Suite.from_cases("s", CASES)


@cache
def tables() -> dict[tuple[str, ...], dict[str, Floats]]:
    """For each ranking the values of all cases that are answered with it; all are scored together, which takes a second."""
    orders = [order for length in range(len(IDS) + 1) for order in permutations(IDS, length)]
    answered = Suite.from_cases("s", [replace(case, id=f"{case.id} {''.join(order)}") for order in orders for case in CASES])
    hits = [tuple(Hit(each, rank) for rank, each in enumerate(order, 1)) for order in orders for _ in CASES]
    run = Run.from_answers(
        "agent", [Answer(case, "ok" if found else "empty", found) for case, found in zip(answered.table.ids, hits, strict=True)]
    )
    values = score(match_hits(answered, run, IDS), EVERY).values.reshape(len(orders), len(CASES), len(EVERY))
    return {order: dict(zip(EVERY, table.T, strict=True)) for order, table in zip(orders, values, strict=True)}


def values_of(name: str, *lengths: int) -> Floats:
    """A row for each ranking of these lengths."""
    return np.array([tables()[order][name] for length in lengths for order in permutations(IDS, length)])


@pytest.mark.parametrize("name", EVERY)
def test_no_answer_of_any_length_gets_more_than_the_attainable_and_one_gets_it(name: str) -> None:
    best = values_of(name, 0, 1, 2, 3, 4, 5).max(axis=0)
    found = attainable(parse_measure(name), pool_of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, best, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_expectation_is_the_mean_over_all_rankings(name: str) -> None:
    mean = values_of(name, 5).mean(axis=0)
    found = expected_by_chance(parse_measure(name), pool_of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, mean, atol=1e-12)


@pytest.mark.parametrize("name", [each for each in EVERY if not each.startswith(("Abstain", "Tau", "0.", "infAP"))])
def test_the_range_of_whole_rankings_is_that_of_all_of_them(name: str) -> None:
    values = values_of(name, 5)
    measure = parse_measure(name)
    assert isinstance(measure, Measure)
    found = range_of_full_rankings(measure, pool_of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, [values.min(axis=0), values.max(axis=0)], atol=1e-12)


def large(documents: int, relevant: int) -> Pool:
    judgments = tuple(Judgment(f"d{n}", grade=1 + n % 3) for n in range(relevant))
    return pool_of(Suite.from_cases("s", [Case("c", "q", judgments)]), frozenset(f"d{n}" for n in range(documents)))


@pytest.mark.parametrize("relevant", [1, 2, 7, 60, 900, LONGEST_SUM // 2])
def test_the_first_relevant_rank_of_a_large_corpus_is_the_sum_over_all_ranks(relevant: int) -> None:
    documents = LONGEST_SUM + 1
    whole, cut = (expected_by_chance(parse_measure(name), large(documents, relevant)) for name in ("RR", f"RR@{documents - 1}"))
    assert whole is not None
    assert cut is not None
    rest = 1 / documents**2 if relevant == 1 else 0.0
    np.testing.assert_allclose(whole, cut + rest, rtol=1e-9)


@pytest.mark.parametrize("name", ["ERR@3", "nERR@3", "Tau", "IPrec@0.5", "infAP", "Compat", "P(judged_only=true)@2"])
def test_rankings_are_drawn_where_there_is_no_formula_and_their_error_is_said(name: str) -> None:
    cases = [Case("c", "q", tuple(Judgment(each, grade=2, rank=n) for n, each in enumerate("ab", 1)), other_orders=(("b", "a"),))]
    pool = pool_of(Suite.from_cases("s", cases), frozenset(IDS))
    assert expected_by_chance(parse_measure(name), pool) is None
    drawn = simulate_mean(parse_measure(name), pool)
    again = simulate_mean(parse_measure(name), pool)
    assert drawn is not None
    assert again is not None
    assert (drawn.error, drawn.values.tolist()) == (again.error, again.values.tolist())
    assert drawn.error >= 0


@pytest.mark.parametrize("name", ["InRange", "F1", "R", "P(credit=dir)@5", "SetAP", "SetF(beta=4)", "NumRet", "NumRelRet", "GMAP"])
def test_what_a_random_ranking_does_not_decide_is_not_known(name: str) -> None:
    assert expected_by_chance(parse_measure(name), pool_of(suite(), frozenset(IDS))) is None
    assert simulate_mean(parse_measure(name), pool_of(suite(), frozenset(IDS))) is None


def test_fractional_gains_and_tables_of_gains_have_an_expectation_and_the_first_a_highest_value() -> None:
    judgments = (Judgment.of_gain("a", 0.5), Judgment("b"), Judgment.of_gain("c", 1.5), Judgment("d", grade=0))
    whole = (Judgment("a", grade=3), Judgment("b"), Judgment("c", grade=2), Judgment("d", grade=0))
    for given, names in ((judgments, ("nDCG@2", "DCG@2", "nDCG(gain=exp)")), (whole, ("nDCG(gains=0:1,1:5,2:2,3:0)@2",))):
        here = Suite.from_cases("s", [Case("c", "q", given)])
        runs = [Run.from_scores({"c": {each: -float(n) for n, each in enumerate(order)}}) for order in permutations(IDS)]
        for name in names:
            values = [float(score(match_hits(here, run), [name]).values[0, 0]) for run in runs]
            pool = pool_of(here, frozenset(IDS))
            assert expected_by_chance(parse_measure(name), pool) == pytest.approx([np.mean(values)], abs=1e-12)
            best = attainable(parse_measure(name), pool)
            assert best is None if "gains" in name else best == pytest.approx([max(values)], abs=1e-12)


def test_measures_of_aspects_are_drawn() -> None:
    judgments = (Judgment("a", aspects={"1": 1, "2": 1}), Judgment("b", aspects={"2": 1}), Judgment("c", aspects={"3": 1}))
    here = Suite.from_cases("s", [Case("c", "q", judgments)])
    drawn = simulate_mean(parse_measure("alpha_nDCG@2"), pool_of(here, frozenset(IDS)))
    runs = [Run.from_scores({"c": {each: -float(n) for n, each in enumerate(order)}}) for order in permutations(IDS)]
    values = [float(score(match_hits(here, run), ["alpha_nDCG@2"]).values[0, 0]) for run in runs]
    assert drawn is not None
    assert abs(drawn.values[0] - np.mean(values)) < 4 * drawn.error
    assert attainable(parse_measure("alpha_nDCG@2"), pool_of(here, frozenset(IDS))) is None


def test_without_documents_only_the_attainable_is_known() -> None:
    pool = pool_of(suite())
    found = attainable(parse_measure("R@1"), pool)
    assert found is not None
    np.testing.assert_allclose(found, [1 / 2, 1 / 3, 1 / 2, 1 / 3, 0, 0, np.nan, np.nan, 1 / 5])
    assert expected_by_chance(parse_measure("R@1"), pool) is None


def test_a_case_with_documents_of_its_own_is_ranked_by_itself() -> None:
    own = Case("own", "q", (Judgment("a"), Judgment("z")), documents=(Document("z", ""), Document("y", "")))
    pool = pool_of(Suite.from_cases("s", [own, Case("shared", "q", (Judgment("a"),))]), frozenset(IDS))
    chances = expected_by_chance(parse_measure("Success@1"), pool)
    assert chances is not None
    assert chances.tolist() == pytest.approx([1 / 2, 1 / 5])


@pytest.mark.parametrize(
    ("match", "target", "known"), [("glob", "*.py", False), ("lines", "a.py#L1-L9", True), ("path", "./a.py", True)]
)
def test_descriptions_are_known_with_a_corpus_only(match: str, target: str, known: bool) -> None:
    described = Suite.from_cases("s", [Case("c", "q", (Judgment(target, match),))])  # type: ignore[arg-type]  # as it comes
    without, found = (attainable(parse_measure("RR"), pool_of(described, ids)) for ids in (None, frozenset({"a.py", "b.txt"})))
    assert (without is not None) is known
    assert found is not None
    assert found.tolist() == [1.0]


def test_what_a_document_meets_by_its_lines_is_not_known() -> None:
    lines = Suite.from_cases("s", [Case("c", "q", (Judgment("a.py#L1-L9", "lines"), Judgment("a.py#L20-L29", "lines")))])
    assert expected_by_chance(parse_measure("RR"), pool_of(lines, frozenset({"a.py", "b.py"}))) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in NAMES if not each.startswith(("Abstain", "Tau"))])
def test_formulas_agree_with_rankings_that_are_drawn(name: str) -> None:
    grades = {f"c{n}": {f"d{n + m}": m % 4 for m in range(2 + n % 17)} for n in range(40)}
    pool = pool_of(Suite.from_grades(grades), frozenset(f"d{n}" for n in range(5, 90)))
    measure = parse_measure(name)
    expected = expected_by_chance(measure, pool)
    means = np.array([np.nanmean(table) for table in drawn_values([measure], pool, 4000)])
    assert expected is not None
    assert abs(means.mean() - np.nanmean(expected)) < 4.5 * means.std() / np.sqrt(len(means)) + 1e-12
