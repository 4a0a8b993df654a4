"""The built-in agents fts5+vector and fts5+vector+reranker: hybrid and rerank with arms of their own, and nothing else."""

from __future__ import annotations

import pytest

from searchmark import RetrievalAgent, load_agent
from searchmark.agents.registry import create_agent, spec_and_arms
from tests.agents.corpora import FILES, corpus_from, step

VECTOR = {"name": "vector", "source": "semantic"}
HYBRID = {"name": "fts5+vector", "source": "hybrid", "config": {"arms": ["fts5", VECTOR]}}
CHANGED = {**FILES, "src/brand_new.py": "def parse_brand_new_things(): ..."}


def started(agent: str, **config) -> RetrievalAgent:
    made = create_agent(load_agent(agent, **config))
    made.initialize(corpus_from(FILES))
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "agent", "config"),
    [("fts5+vector", "hybrid", {"arms": ["fts5", VECTOR]}), ("fts5+vector+reranker", "rerank", {"arm": HYBRID})],
)
def test_they_answer_as_hybrid_and_rerank_do_over_the_same_arms(name: str, agent: str, config: dict) -> None:
    ours, same = started(name), started(agent, **config)
    assert ours.retrieve("parse the session", 5) == same.retrieve("parse the session", 5)
    assert ours.describe() == same.describe()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fts5+vector", "fts5+vector+reranker"])
def test_they_follow_a_corpus(name: str) -> None:
    ours, fresh = started(name), create_agent(load_agent(name))
    assert ours.update(step(FILES, CHANGED))
    fresh.initialize(corpus_from(CHANGED))
    assert ours.retrieve("brand new things", 5).files == fresh.retrieve("brand new things", 5).files
    assert ours.retrieve("brand new things", 5).files[0] == "src/brand_new.py"


def test_their_arms_are_known_before_anything_is_started() -> None:
    assert [each.name for each in spec_and_arms(load_agent("fts5+vector+reranker"))] == [
        "fts5+vector+reranker",
        "fts5+vector",
        "fts5",
        "vector",
    ]


def test_options_of_hybrid_and_rerank_are_theirs_too() -> None:
    ours = started("fts5+vector", fusion="scores", weights={"vector": 2.0})
    assert ours.describe()["fusion"] == "scores"
    assert ours.describe()["weights"] == {"fts5": 1.0, "vector": 2.0}
    assert started("fts5+vector+reranker", candidates=7).describe()["candidates"] == 7


def test_the_words_vector_and_reranker_mean_one_part_alone() -> None:
    assert load_agent("vector").source.text == "semantic"
    assert load_agent("reranker").source.text == "rerank"
