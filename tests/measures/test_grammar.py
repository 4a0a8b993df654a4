"""How measures are named."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest

from searchmark import Defaults, UnknownMeasure, UsageError, parse_measure
from searchmark.measures.catalogue import DEFINITIONS, FORMULAS, NAMES
from searchmark.measures.grammar import parse_measures


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg @ 10", "nDCG@10"),
        ("NDCG@10", "nDCG@10"),
        ("nDCG(dcg='exp-log2')@10", "nDCG(gain=exp)@10"),
        ("nDCG(gain=linear)", "nDCG"),
        ("nDCG(cutoff=10)", "nDCG@10"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("P(rel=1)@5", "P@5"),
        ("F1(credit=dir)", "F1(credit=dir)"),
        ("P(credit=dir, rel=2)@3", "P(rel=2,credit=dir)@3"),
        ("RBP(p=0.5)", "RBP(p=0.5)"),
        ("MRR", "RR"),
        ("MRR@10", "RR@10"),
        ("Precision@5", "P@5"),
        ("Recall@10", "R@10"),
        ("HitRate@5", "Success@5"),
        ("Hit Rate@5", "Success@5"),
        ("MAP", "AP"),
        ("SetP", "P"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P_5", "P@5"),
        ("recip_rank", "RR"),
        ("recall_100", "R@100"),
        ("set_F", "F1"),
        ("0.4*P@5+.6*MRR", "0.4*P@5 + 0.6*RR"),
        ("P@5 + RR", "1*P@5 + 1*RR"),
        ("mine = 0.5*P@5 + 0.5*RR", "mine"),
        ("relevanceScore", "Relevance"),
    ],
)
def test_is_read_and_printed_in_one_spelling(written: str, printed: str) -> None:
    assert parse_measure(written).name == printed


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_the_printed_name_is_read_back(name: str) -> None:
    definition = DEFINITIONS[name]
    options = {"rel": "2", "gains": "0:0,1:2.5", "p": "0.9", "max": "3", "credit": "dir", "beta": "2", "alpha": "0.3"}
    options["tokens"] = "4000"
    if "credit" not in definition.parameters:  # both exclude each other
        options["judged_only"] = "true"
    inner = ",".join(f"{key}={options[key]}" for key in definition.parameters if key in options)
    at = "@7" if definition.cutoff else "@0.1" if definition.at == "recall" else ""
    text = f"{name}({inner})" + at if inner else name
    measure = parse_measure(text)
    assert measure.name == text
    assert parse_measure(measure.name) == measure


@pytest.mark.parametrize("name", ["P(rel=2)@5", "Compat", "mine = 0.5*Tau + 0.5*RR"])
def test_a_measure_comes_out_of_another_process_as_the_one_that_is_defined_here(name: str) -> None:
    measure = parse_measure(name)
    other = pickle.loads(pickle.dumps(measure))  # noqa: S301  # of our own making
    assert other == measure
    assert all(one.definition is two.definition for one, two in zip(other.parts, measure.parts, strict=True))


def test_no_name_is_read_as_two_measures() -> None:
    names = [name for each in DEFINITIONS.values() for name in set(each.names)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("alias", sorted(alias for alias, name in NAMES.items() if alias != name.lower()))
def test_every_alias_means_a_measure(alias: str) -> None:
    text = alias + {"IPrec": "@0.1", "ERR_IA": "@10"}.get(NAMES[alias], "")
    assert parse_measure(text).name.partition("@")[0] in {*DEFINITIONS, *FORMULAS}


@pytest.mark.parametrize(
    ("written", "nearest"), [("nDGC@10", "nDCG"), ("Precison@5", "P"), ("Sucess@5", "Success"), ("recip_rnk", "RR")]
)
def test_an_unknown_name_lists_the_nearest(written: str, nearest: str) -> None:
    with pytest.raises(UnknownMeasure, match=f"did you mean .*{nearest}"):
        parse_measure(written)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("", "cannot be read"),
        ("nDCG@", "cannot be read"),
        ("nDCG@0", "whole number from 1"),
        ("nDCG@ten", "whole number from 1"),
        ("P@-1", "whole number from 1"),
        ("Rprec@5", "takes no cutoff"),
        ("nDCG(rel=2)", "has no option 'rel'; its options: gain"),
        ("P(rel=0)@5", "rel must be a whole number from 1"),
        ("P(rel=x)@5", "rel must be a whole number from 1"),
        ("P(judged_only=perhaps)@5", "judged_only must be true or false, not 'perhaps'"),
        ("nDCG(gain=cubic)", "gain must be linear or exp"),
        ("RBP(p=1)", "p must be a number between 0 and 1"),
        ("F1(credit=half)", "credit must be exact or dir"),
        ("0.5*", "is not 'weight\\*measure'"),
        ("0.5*P@5 +", "is not 'weight\\*measure'"),
        ("0.5*Relevance + 0.5*RR", "is not 'weight\\*measure'"),
        ("Relevance@5", "takes no cutoff or option"),
        ("MRR = 0.5*P@5 + 0.5*RR", "is the name of a measure"),
        ("xyzzy@3", "no measure 'xyzzy'"),
        ("P@" + "9" * 400, "whole number from 1"),
        ("P" + " " * 30_000 + "!", "longer than 500 characters"),
        ("P(rel=1,rel=2)@5", "duplicate option"),
        ("P(cutoff=5)@10", "duplicate option"),
        ("1" * 400 + "*P@5 + RR", "a weight is too large"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(written: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_measure(written)


def test_suite_defaults_are_written_into_the_name() -> None:
    defaults = Defaults(rel=2, gain="exp")
    names = [measure.name for measure in parse_measures(["nDCG@10", "P@5", "RR", "Judged@10", "0.5*P@5 + 0.5*RR"], defaults)]
    assert names == ["nDCG(gain=exp)@10", "P(rel=2)@5", "RR(rel=2)", "Judged@10", "0.5*P(rel=2)@5 + 0.5*RR(rel=2)"]


def test_what_a_measure_says_itself_beats_the_suite() -> None:
    (measure,) = parse_measures(["P(rel=1)@5"], Defaults(rel=2))
    assert measure.name == "P@5"


def test_two_formulas_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="'mine' names two different formulas"):
        parse_measures(["mine = 1*P@1", "mine = 1*RR"])


def test_weights_are_printed_in_full() -> None:
    names = {measure.name for measure in parse_measures(["0.3333333*P@1 + RR", "0.33333331*P@1 + RR"])}
    assert names == {"0.3333333*P@1 + 1*RR", "0.33333331*P@1 + 1*RR"}


def test_the_same_measure_twice_is_one_measure() -> None:
    assert [measure.name for measure in parse_measures(["MRR", "RR", "P@5", "Precision@5"])] == ["RR", "P@5"]
