"""What any ranking and a random one can get, held against all rankings of small corpora and against rankings that are drawn."""

from __future__ import annotations

from itertools import permutations
from random import Random

import numpy as np
import pytest

from searchmark import Answer, Case, Document, Hit, Judgment, Run, Suite
from searchmark.analysis.attainable import attainable, of_whole_rankings
from searchmark.analysis.chance import by_chance, drawn_values, simulated
from searchmark.analysis.pools import Pool
from searchmark.analysis.scores import score
from searchmark.judging.judge import judge
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure, Measure, parse_measure

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
    *("Abstain", "Tau", "Tau@2", "0.4*P@5 + 0.3*R@5 + 0.3*RR@5", "0.5*nDCG@3 + 0.5*Judged@2"),
)
WITHOUT_EXPECTATION = ("R", "F1", "ERR", "ERR@3")


def suite() -> Suite:
    return Suite.from_cases("s", CASES)


def scored(answers: dict[str, tuple[str, ...]], measure: AnyMeasure) -> Floats:
    made = [
        Answer(case, "ok" if ids else "empty", tuple(Hit(each, n) for n, each in enumerate(ids, 1)))
        for case, ids in answers.items()
    ]
    found: Floats = score(judge(suite(), Run.from_answers("agent", made), IDS), [measure]).values[:, 0]
    return found


def every_answer(lengths: range) -> list[tuple[str, ...]]:
    return [order for length in lengths for order in permutations(IDS, length)]


def values_of(orders: list[tuple[str, ...]], name: str) -> Floats:
    measure = parse_measure(name)
    return np.array([scored({case.id: order for case in CASES}, measure) for order in orders])


@pytest.mark.parametrize("name", [*NAMES, *WITHOUT_EXPECTATION, "ERR(max=5)", "0.5*P + 0.5*RR"])
def test_no_answer_of_any_length_gets_more_than_the_attainable_and_one_gets_it(name: str) -> None:
    best = values_of(every_answer(range(len(IDS) + 1)), name).max(axis=0)
    found = attainable(parse_measure(name), Pool.of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, best, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_expectation_is_the_mean_over_all_rankings(name: str) -> None:
    mean = values_of(every_answer(range(len(IDS), len(IDS) + 1)), name).mean(axis=0)
    found = by_chance(parse_measure(name), Pool.of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, mean, atol=1e-12)


@pytest.mark.parametrize("name", [each for each in (*NAMES, *WITHOUT_EXPECTATION) if not each.startswith(("Abstain", "Tau", "0."))])
def test_the_range_of_whole_rankings_is_that_of_all_of_them(name: str) -> None:
    values = values_of(every_answer(range(len(IDS), len(IDS) + 1)), name)
    measure = parse_measure(name)
    assert isinstance(measure, Measure)
    found = of_whole_rankings(measure, Pool.of(suite(), frozenset(IDS)))
    assert found is not None
    np.testing.assert_allclose(found, [values.min(axis=0), values.max(axis=0)], atol=1e-12)
