"""hybrid fuses as ranx does, and never passes the answer of one arm off as that of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import AgentSpec, RetrievalAgent, RetrievalResult, UsageError
from searchmark.agents.hybrid import HybridAgent, min_max, reciprocal_ranks, weighted_sum, z_score
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.agents.vectors.semantic import SemanticAgent
from searchmark.config.agents import BuiltInSource
from tests.agents.corpora import FILES, corpus_from, step

RANX = json.loads((Path(__file__).parent / "ranx_numbers.json").read_text())


class Fixed(RetrievalAgent):
    """Always the same answer."""

    def __init__(self, scores: dict[str, float], **more: object) -> None:
        self.answer = RetrievalResult(list(scores), list(scores.values()), **more)
        self.told: list[str] = []

    def initialize(self, corpus) -> None:
        self.told.append("initialize")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return self.answer

    def reset(self) -> None:
        self.told.append("reset")

    def close(self) -> None:
        self.told.append("close")


class Dead(Fixed):
    def retrieve(self, query: str, k: int) -> RetrievalResult:
        raise RuntimeError("no such table: documents")


def hybrid(arms: dict[str, RetrievalAgent], **options) -> HybridAgent:
    agent = HybridAgent(HybridAgent.Config(arms=list(arms), **options))
    agent.connect(arms)
    agent.initialize(corpus_from(FILES))
    return agent


@pytest.mark.parametrize("case", RANX["cases"], ids=lambda case: str(case["number"]))
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rrf", {}),
        ("rrf-10", {"rrf_k": 10}),
        ("min-max", {"fusion": "scores", "normalization": "min-max"}),
        ("z-score", {"fusion": "scores", "normalization": "z-score"}),
    ],
)
def test_fused_scores_are_those_of_ranx(case: dict, name: str, options: dict) -> None:
    """The numbers are those of the ranx that the file names; make_ranx_numbers.py has made it."""
    arms = {f"arm{place}": Fixed(dict(sorted(run.items(), key=lambda pair: -pair[1]))) for place, run in enumerate(case["runs"])}
    if not name.startswith("rrf"):
        options = {**options, "weights": dict(zip(arms, case["weights"], strict=True))}
    found = hybrid(arms, **options).retrieve("q", 100)
    expected = case["expected"][name]
    assert dict(zip(found.files, found.scores, strict=True)) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert found.scores == sorted(found.scores, reverse=True)


def test_reciprocal_ranks_by_hand() -> None:
    assert reciprocal_ranks(["a", "b"]) == {"a": 1 / 61, "b": 1 / 62}


@pytest.mark.parametrize(
    ("scores", "scaled", "standard"),
    [
        ({}, {}, {}),
        ({"a": 3.0}, {"a": 0.0}, {"a": 0.0}),
        ({"a": 2.0, "b": 2.0}, {"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 0.0}),
        ({"a": 4.0, "b": 2.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": -1.0}),
    ],
)
def test_scores_on_one_scale_by_hand(scores: dict, scaled: dict, standard: dict) -> None:
    assert (min_max(scores), z_score(scores)) == (scaled, standard)


def test_an_id_that_an_arm_does_not_have_gets_nothing_from_it() -> None:
    assert weighted_sum([{"a": 1.0}, {"b": 1.0, "a": 0.5}], [2.0, 3.0]) == {"a": 3.5, "b": 3.0}


def test_weights_count_for_ranks_as_well() -> None:
    arms = {"x": Fixed({"a": 2.0, "b": 1.0}), "y": Fixed({"b": 2.0, "a": 1.0})}
    assert hybrid(arms, weights={"y": 1.5}).retrieve("q", 2).files == ["b", "a"]


def test_equal_scores_are_ordered_by_id() -> None:
    arms = {"x": Fixed({"b": 2.0, "a": 1.0}), "y": Fixed({"a": 2.0, "b": 1.0})}
    assert hybrid(arms).retrieve("q", 2).files == ["a", "b"]


@pytest.mark.parametrize("options", [{}, {"fusion": "scores"}, {"fusion": "scores", "normalization": "z-score"}], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 1000])
def test_the_first_hits_are_the_same_however_many_are_wanted(options: dict, k: int) -> None:
    """With two candidates each, what both arms have at rank three comes last, though its ranks add up to more than one of two."""
    arms = {"x": Fixed({"a": 9.0, "b": 5.0, "both": 4.0, "late": 1.0}), "y": Fixed({"a": 9.0, "c": 8.0, "both": 7.0})}
    found = hybrid(arms, candidates=2, **options).retrieve("q", k)
    assert found.files == ["a", "b", "c", "both", "late"][:k]
    assert found.scores == sorted(found.scores, reverse=True)


def test_a_hit_that_stands_twice_counts_once_where_it_stands_first() -> None:
    arm = Fixed({})
    arm.answer = RetrievalResult(["a", "b", "a"], [3.0, 2.0, 1.0])
    assert hybrid({"x": arm}).retrieve("q", 9).scores == [1 / 61, 1 / 62]
    assert hybrid({"x": arm}, fusion="scores").retrieve("q", 9).scores == [1.0, 0.0]


@pytest.mark.parametrize("fusion", ["rrf", "scores"])
def test_a_dead_arm_is_an_error_and_not_a_copy_of_the_other(fusion: str) -> None:
    agent = hybrid({"x": Fixed({"a": 1.0}), "y": Dead({})}, fusion=fusion)
    with pytest.raises(UsageError, match="the arm 'y' failed: RuntimeError: no such table: documents"):
        agent.retrieve("q", 5)


def test_an_arm_that_finds_nothing_is_alive() -> None:
    found = hybrid({"x": Fixed({"a": 1.0}), "y": Fixed({})}, fusion="scores").retrieve("q", 5)
    assert found.files == ["a"]
    assert found.metadata["arms"] == {"x": 1, "y": 0}


@pytest.mark.parametrize(
    "result", [RetrievalResult(["a"]), RetrievalResult(["a", "b"], [1.0]), RetrievalResult(["a"], [float("nan")])]
)
def test_scores_cannot_be_fused_where_there_are_none(result: RetrievalResult) -> None:
    arm = Fixed({})
    arm.answer = result
    with pytest.raises(UsageError, match=r"does not score every hit; fuse by ranks \(fusion: rrf\)"):
        hybrid({"x": arm}, fusion="scores").retrieve("q", 5)


def test_costs_add_up_and_a_remembered_query_is_told() -> None:
    arms = {"x": Fixed({"a": 1.0}, cost=0.5, metadata={"query_cache": "miss"}), "y": Fixed({"a": 1.0}, cost=0.25)}
    found = hybrid(arms).retrieve("q", 1)
    assert (found.cost, found.metadata["query_cache"]) == (0.75, "miss")
    arms["y"] = Fixed({"a": 1.0}, metadata={"query_cache": "hit"})
    assert hybrid(arms).retrieve("q", 1).metadata["query_cache"] == "hit"
    assert hybrid({"x": Fixed({"a": 1.0})}).retrieve("q", 1).cost is None


def test_lines_are_those_of_the_first_arm_that_has_any() -> None:
    arms = {"x": Fixed({"a": 2.0, "b": 1.0}), "y": Fixed({"a": 2.0, "c": 1.0}, lines=[(3, 7), None])}
    found = hybrid(arms).retrieve("q", 3)
    assert dict(zip(found.files, found.lines, strict=True)) == {"a": (3, 7), "b": None, "c": None}
    assert hybrid({"x": Fixed({"a": 2.0})}).retrieve("q", 3).lines is None


def test_arms_are_told_what_hybrid_is_told() -> None:
    arms = {"x": Fixed({}), "y": Fixed({})}
    agent = hybrid(arms)
    assert agent.update(step(FILES, FILES))  # a plain agent cannot follow and is initialised again
    agent.reset()
    agent.close()
    assert arms["x"].told == arms["y"].told == ["initialize", "initialize", "reset", "close"]
    assert agent.index_bytes() is None


def test_the_arms_are_plain_data_that_a_registry_can_load() -> None:
    assert HybridAgent().arms() == {
        "bm25": AgentSpec("bm25", BuiltInSource("bm25")),
        "semantic": AgentSpec("semantic", BuiltInSource("semantic")),
    }
    described = {"name": "fast", "class": "bm25", "config": {"k1": 0.9}}
    assert HybridAgent(HybridAgent.Config(arms=[described])).arms() == {
        "fast": AgentSpec("fast", BuiltInSource("bm25"), {"k1": 0.9})
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"arms": []}, "needs at least one arm"),
        ({"arms": ["bm25", "bm25"]}, "duplicate arm name 'bm25'"),
        (
            {"arms": [{"source": "bm25"}]},
            "an arm is a name, or has a name, a source, a config, network, env and chunk_of; the name is missing",
        ),
        ({"arms": [{"name": "x", "colour": "red"}]}, "'colour' is not one of these"),
        ({"arms": [{"name": "x", "config": 3}]}, "the config of 'x' is not a mapping"),
        ({"weights": {"fts5": 2.0}}, "there is a weight for 'fts5', which is not an arm"),
    ],
)
def test_a_config_that_makes_no_sense_is_one_sentence(options: dict, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        HybridAgent(HybridAgent.Config(**options))


def test_without_its_arms_it_does_not_start() -> None:
    with pytest.raises(UsageError, match="before it was connected"):
        HybridAgent().initialize(corpus_from(FILES))


def test_real_arms_find_more_than_each_alone_and_follow_a_change() -> None:
    def arms() -> dict[str, RetrievalAgent]:
        return {"bm25": Bm25Agent(), "semantic": SemanticAgent(SemanticAgent.Config(embedder="hashing", query_cache=0))}

    agent = hybrid(arms())
    after = {**FILES, "new.py": "def paint_login(): palette of the password\n"}
    assert agent.update(step(FILES, after))
    fresh = HybridAgent()
    fresh.connect(arms())
    fresh.initialize(corpus_from(after))
    for query in ("paint login", "end of a session", "which colours"):
        assert agent.retrieve(query, 9) == fresh.retrieve(query, 9)
    assert agent.index_bytes() > 0
