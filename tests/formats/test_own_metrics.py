"""Metrics that suites of other tools name: the measure that equals each, what is said of it, and what has no equal."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path
from typing import Any

import pytest

from searchmark import Defaults, Run, Suite, load_suite, match_hits, score
from searchmark.scoring.scores import default_measures
from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "formats"
RATINGS = {"d1": 3, "d2": 0, "d3": 1, "d4": 2}
ANSWER = ["d3", "x", "d1", "d2", "d9"]  # x and d9 are not rated
GRADES = [RATINGS.get(document, 0) for document in ANSWER]


def rank_eval(folder: Path, metric: Any) -> Suite:
    ratings = [{"_index": "i", "_id": document, "rating": rating} for document, rating in RATINGS.items()]
    request = {"id": "q", "request": {"query": {"match": {"text": "a"}}}, "ratings": ratings}
    path = folder / "request.json"
    path.write_text(json.dumps({"requests": [request], "metric": metric}))
    return load_suite(path)


def quepid(folder: Path, scorer: dict[str, Any], ratings: dict[str, float] | None = None) -> Suite:
    rated = [{"doc_id": document, "rating": rating} for document, rating in (ratings or RATINGS).items()]
    path = folder / "case.json"
    path.write_text(json.dumps({"case_name": "c", "scorer": scorer, "queries": [{"query_text": "q", "ratings": rated}]}))
    return load_suite(path)


def value(suite: Suite) -> float:
    run = Run.from_scores({"q": {document: float(-rank) for rank, document in enumerate(ANSWER)}})
    (mean,) = score(match_hits(suite, run)).means().values()
    return float(mean)


def dcg(grades: list[int]) -> float:
    return sum((2**grade - 1) / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def err(grades: list[int], highest: int) -> float:
    total, trust = 0.0, 1.0
    for rank, grade in enumerate(grades, 1):
        useful = (2**grade - 1) / 2**highest
        total, trust = total + trust * useful / rank, trust * (1 - useful)
    return total


@pytest.mark.parametrize(
    ("metric", "measure", "defaults", "expected"),
    [
        ({"precision": {"k": 5}}, "P@5", Defaults(), 2 / 5),
        ({"precision": {"k": 5, "relevant_rating_threshold": 2, "ignore_unlabeled": False}}, "P@5", Defaults(rel=2), 1 / 5),
        ({"recall": {"k": 3}}, "R@3", Defaults(), 2 / 3),
        ({"mean_reciprocal_rank": {"k": 5, "relevant_rating_threshold": 3}}, "RR@5", Defaults(rel=3), 1 / 3),
        ({"dcg": {"k": 5}}, "DCG@5", Defaults(gain="exp"), dcg(GRADES)),
        ({"dcg": {"k": 4, "normalize": True}}, "nDCG@4", Defaults(gain="exp"), dcg(GRADES[:4]) / dcg([3, 2, 1, 0])),
        ({"expected_reciprocal_rank": {"maximum_relevance": 3, "k": 5}}, "ERR(max=3)@5", Defaults(), err(GRADES, 3)),
    ],
)
def test_the_metric_of_rank_eval_is_the_default_and_has_the_same_value(
    tmp_path: Path, metric: dict[str, Any], measure: str, defaults: Defaults, expected: float
) -> None:
    suite = rank_eval(tmp_path, metric)
    assert default_measures(suite) == [measure]
    assert (suite.defaults.rel, suite.defaults.gain) == (defaults.rel, defaults.gain)
    assert value(suite) == pytest.approx(expected)
    assert f"the default measure is {measure}" in suite.notes[0]
    assert ("exponential gain" in suite.notes[0]) == (defaults.gain == "exp")


def test_a_metric_without_a_cutoff_looks_at_ten_hits(tmp_path: Path) -> None:
    assert rank_eval(tmp_path, {"precision": {}}).defaults.measures == ("P@10",)


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ({"precision": {"k": 5, "ignore_unlabeled": True}}, "with ignore_unlabeled it divides by the rated hits"),
        ({"precision": {"relevant_rating_threshold": 0}}, "its relevant_rating_threshold is not a grade from 1"),
        ({"dcg": {"unknown_doc_rating": 1}}, "with unknown_doc_rating a hit without a rating has a gain"),
        ({"dcg": {"k": "many"}}, "its k is not a number of hits"),
        ({"dcg": {"size": 5}}, "its option 'size' is not known"),
        ({"dcg": 5}, "its options are not a mapping"),
        ({"expected_reciprocal_rank": {}}, "its maximum_relevance is not a grade from 1 to 60"),
        ({"bpref": {}}, "the ones that are known are precision, recall, mean_reciprocal_rank, dcg, expected_reciprocal_rank"),
        ({"dcg": {}, "precision": {}}, "it is not a mapping with one metric"),
    ],
)
def test_a_metric_without_an_equal_is_named_with_the_reason(tmp_path: Path, metric: dict[str, Any], reason: str) -> None:
    suite = rank_eval(tmp_path, metric)
    assert suite.defaults == Defaults()
    assert len(suite.notes) == 1
    assert f"which is not computed: {reason}" in suite.notes[0]
    assert "nDCG@10" in default_measures(suite)


@pytest.mark.parametrize(
    ("scorer", "measure", "expected"),
    [
        ({"name": "nDCG@10"}, "nDCG@10", dcg(GRADES) / dcg([3, 2, 1, 0])),
        ({"name": "DCG@10"}, "DCG@10", dcg(GRADES)),
        ({"name": "AP@10"}, "AP@10", (1 + 2 / 3) / 3),
        ({"name": "RR@10"}, "RR@10", 1.0),
        ({"name": "P@5"}, "P@5", 2 / 5),
        ({"name": "ERR@10"}, "ERR(max=3)@10", err(GRADES, 3)),
        ({"name": "ERR@10", "scale": [0, 1, 2, 3, 4]}, "ERR(max=4)@10", err(GRADES, 4)),
    ],
)
def test_the_scorer_of_quepid_is_the_default_and_has_the_same_value(
    tmp_path: Path, scorer: dict[str, Any], measure: str, expected: float
) -> None:
    suite = quepid(tmp_path, scorer)
    assert default_measures(suite) == [measure]
    assert suite.defaults.gain == ("exp" if "DCG" in measure else "linear")
    assert value(suite) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scorer", "reason"),
    [
        ("CG@10", "no measure adds up ratings without regard to rank"),
        ("Our own", "it is not one of those that Quepid comes with"),
        ("nDCG@0", "it looks at no hits"),
    ],
)
def test_a_scorer_without_an_equal_is_named_with_the_reason(tmp_path: Path, scorer: str, reason: str) -> None:
    suite = quepid(tmp_path, {"name": scorer})
    assert suite.defaults.measures == ()
    assert suite.notes == (
        f"the suite names a metric of its own, Quepid's scorer {scorer!r}, which is not computed: {reason}; the usual measures are",
    )


def test_quepids_ideal_list_is_longer_where_more_documents_are_rated_and_that_is_said(tmp_path: Path) -> None:
    assert "ideal list" not in quepid(tmp_path, {"name": "nDCG@4"}).notes[0]
    many = quepid(tmp_path, {"name": "nDCG@2"})
    assert "Quepid's ideal list has all rated documents, that of nDCG@2 the first 2: cases with more than that: 1" in many.notes[0]


def test_ratings_above_the_scale_have_no_err(tmp_path: Path) -> None:
    suite = quepid(tmp_path, {"name": "ERR@10"}, {"d1": 5})
    assert "there are ratings above 3, the highest of its scale" in suite.notes[0]


def test_yaml_and_the_example_name_their_metric(tmp_path: Path) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(
        "requests:\n- id: a\n  request: {query: {match: {text: b}}}\n  ratings: [{_index: i, _id: d, rating: 0.5}]\n"
        "metric: {dcg: {k: 20, normalize: true}}\n"
    )
    assert load_suite(path).defaults == Defaults(gain="exp", measures=("nDCG@20",))
    assert load_suite(path).cases[0].judgments[0].gain == 0.5
    assert load_suite(EXAMPLES / "rank_eval.json").defaults == Defaults(measures=("P@5",))
