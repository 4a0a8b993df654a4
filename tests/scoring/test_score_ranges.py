"""Score ranges belong to embedding models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Answer,
    Case,
    FormatError,
    Hit,
    Judgment,
    Provenance,
    Run,
    Scores,
    Suite,
    load_suite,
    match_hits,
    save_suite,
    score,
)
from searchmark.records.judgments import ScoreRange
from searchmark.records.provenance import AgentIdentity

BY_MODEL = {"BAAI/bge-small": (0.7, 1.0), "MiniLM": (0.1, 0.3)}


def suite_with(ranges: ScoreRange | dict[str, ScoreRange] | None, model: str | None = None) -> Suite:
    return Suite.from_cases("s", [Case("c", "query", (Judgment("a", score_range=ranges), Judgment("b")))], model=model)


def scores_of(suite: Suite, said: dict[str, Any] | None, value: float = 0.8) -> Scores:
    agent = None if said is None else AgentIdentity("semantic", description=said)
    run = Run.from_answers("agent", [Answer("c", "ok", (Hit("a", 1, value),))], provenance=Provenance(agent=agent))
    return score(match_hits(suite, run), ["InRange"])


@pytest.mark.parametrize(
    ("said", "value", "inside"),
    [
        ({"embedder": {"model": "BAAI/bge-small"}}, 0.8, 1.0),
        ({"embedder": {"model": "bge-small"}}, 0.8, 1.0),
        ({"embedder": {"model": "minilm"}}, 0.8, 0.0),
        ({"embedder": "MiniLM"}, 0.2, 1.0),
        ({"model": "MiniLM"}, 0.2, 1.0),
        ({"arms": {"words": {"ranking": "bm25"}, "vectors": {"embedder": {"model": "MiniLM"}}}}, 0.2, 1.0),
        ({"embedder": {"model": "MiniLM"}, "reranker": {"model": "BAAI/bge-small"}}, 0.2, 1.0),
    ],
)
def test_the_range_of_the_model_that_searched_counts(said: dict[str, Any], value: float, inside: float) -> None:
    assert scores_of(suite_with(BY_MODEL), said, value).values.tolist() == [[inside]]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"embedder": {"model": "other"}}, "the run searched with other"),
        ({"embedder": {"model": "intfloat/bge-small"}}, "the run searched with intfloat/bge-small"),
        ({"ranking": "bm25"}, "the run does not say which one it searched with"),
        (None, "the run does not say which one it searched with"),
    ],
)
def test_another_model_leaves_it_undefined_with_the_reason(said: dict[str, Any] | None, reason: str) -> None:
    scores = scores_of(suite_with(BY_MODEL), said)
    assert scores.reason(0, 0) == f"score ranges are known for BAAI/bge-small, MiniLM, and {reason}"


def test_a_range_without_a_model_belongs_to_that_of_the_suite() -> None:
    suite = suite_with((0.7, 1.0), model="bge-small")
    assert scores_of(suite, {"embedder": {"model": "BAAI/bge-small"}}).values.tolist() == [[1.0]]
    assert scores_of(suite, None).values.tolist() == [[1.0]]
    reason = scores_of(suite, {"embedder": {"model": "MiniLM"}}).reason(0, 0)
    assert reason == "score ranges are known for bge-small, and the run searched with MiniLM"


def test_a_suite_without_a_model_has_ranges_for_every_model() -> None:
    assert scores_of(suite_with((0.7, 1.0)), {"embedder": {"model": "MiniLM"}}).values.tolist() == [[1.0]]


def test_one_target_without_a_range_for_the_model_leaves_its_case_undefined() -> None:
    judgments = (Judgment("a", score_range=(0.0, 1.0)), Judgment("b", score_range={"MiniLM": (0.0, 1.0)}))
    suite = Suite.from_cases("s", [Case("c", "q", judgments), Case("d", "q", judgments[:1])])
    run = Run.from_answers("agent", [Answer(case, "ok", (Hit("a", 1, 0.5), Hit("b", 2, 0.4))) for case in ("c", "d")])
    scores = score(match_hits(suite, run), ["InRange"])
    assert scores.reason(0, 0) == "score ranges are known for MiniLM, and the run does not say which one it searched with"
    assert scores.values[1].tolist() == [1.0]


@pytest.mark.parametrize("name", ["suite.json", "suite.jsonl"])
def test_ranges_of_models_are_read_back_and_are_part_of_the_digest(tmp_path: Path, name: str) -> None:
    suite = suite_with(BY_MODEL)
    save_suite(suite, tmp_path / name)
    assert load_suite(tmp_path / name).cases[0] == suite.cases[0]
    digests = {suite_with(ranges).hashes["judgments"] for ranges in (None, (0.7, 1.0), BY_MODEL, {"MiniLM": (0.7, 1.0)})}
    assert len(digests) == 4


def test_the_order_of_models_does_not_change_the_digest() -> None:
    assert suite_with(BY_MODEL).hashes == suite_with(dict(reversed(BY_MODEL.items()))).hashes


def test_other_formats_say_that_they_cannot_hold_them(tmp_path: Path) -> None:
    assert "score ranges" in save_suite(suite_with(BY_MODEL), tmp_path / "gold.json", format="gold-set")


def fixture_with(ranges: object) -> str:
    documents = {"documents": {"a": "x", "b": "y"}, "expected_ranking": ["a", "b"]}
    return json.dumps([{"name": "n", "query": "q", **documents, "expected_score_ranges": {"a": ranges}}])


def test_fixtures_have_them_in_both_spellings_of_a_range(file) -> None:
    suite = load_suite(file("fixtures.json", fixture_with({"bge": {"Min": 0.7, "Max": 1}, "MiniLM": [0.1, 0.3]})))
    assert suite.cases[0].judgments[0].score_range == {"bge": (0.7, 1.0), "MiniLM": (0.1, 0.3)}


@pytest.mark.parametrize(
    ("ranges", "complaint"),
    [
        ({"bge": [1.0, 0.5]}, "expected_score_ranges.a.bge: its min 1 is not below its max 0.5"),
        ({"bge": [1.0]}, "expected_score_ranges.a.bge: is not a range of two numbers"),
        ({}, "expected_score_ranges.a: is not a range of two numbers"),
        ({"bge": 0.5}, "expected_score_ranges.a: is not a range of two numbers"),
    ],
)
def test_wrong_ranges_of_fixtures_are_refused_with_their_place(file, ranges: object, complaint: str) -> None:
    with pytest.raises(FormatError) as caught:
        load_suite(file("fixtures.json", fixture_with(ranges)))
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("ranges", "complaint"),
    [
        ({"bge": [1.0, 0.5]}, "judgments.0.score_range.bge: its low end 1.0 is not a number below its high end 0.5"),
        ({}, "judgments.0.score_range: is neither a range nor a mapping from models to ranges"),
    ],
)
def test_wrong_ranges_of_suites_are_refused_with_their_place(file, ranges: object, complaint: str) -> None:
    case = {"id": "c", "query": "q", "judgments": [{"target": "a", "grade": 1, "score_range": ranges}]}
    with pytest.raises(FormatError) as caught:
        load_suite(file("suite.json", json.dumps({"schema_version": 1, "cases": [case]})))
    assert complaint in str(caught.value)
