"""What measures are where answers end at a depth: which of them see that, and what they are called then."""

from __future__ import annotations

import pytest

from searchmark import parse_measure
from searchmark.measures.grammar import cut_measures, parse_measures
from tests.support.measure_names import EVERY_MEASURE


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("AP", "AP@100"),
        ("nDCG(gain=exp)", "nDCG(gain=exp)@100"),
        ("RR", "RR@100"),
        ("AP@500", "AP@500"),
        ("nDCG@10", "nDCG@10"),
        ("P", "P"),
        ("R", "R"),
        ("F1", "F1"),
        ("Rprec", "Rprec"),
        ("Bpref", "Bpref"),
        ("Abstain", "Abstain"),
        ("0.5*AP + 0.5*P@5", "0.5*AP@100 + 0.5*P@5"),
        ("mine = 0.5*AP + 0.5*P@5", "mine"),
        ("Relevance", "Relevance"),
    ],
)
def test_a_measure_is_named_by_the_depth_if_it_is_the_same_measure_with_that_cutoff(asked: str, name: str) -> None:
    measure = parse_measure(asked).cut_at(100)
    assert measure.name == name
    assert measure.requested == parse_measure(asked)
    assert measure.by_depth == (name != asked)


def test_whatever_has_no_cutoff_within_the_depth_looks_below_it() -> None:
    found = {name: parse_measure(name).looks_below(100) for name in (*EVERY_MEASURE, "Relevance", "AP@100", "AP@101", "P@5")}
    assert [name for name, below in found.items() if not below] == [
        *("Abstain", "ERR_IA@5", "NumRel"),
        *("Relevance", "AP@100", "P@5"),
    ]


def test_a_measure_that_is_asked_for_with_and_without_the_cutoff_is_there_once() -> None:
    for names in (["AP@5", "AP", "R"], ["AP", "AP@5", "R"]):
        first, second = cut_measures(parse_measures(names), 5)
        assert (first.name, first.requested.name, second.name) == ("AP@5", "AP", "R")
