"""The options of every agent are plain data that pydantic can check, with a word about each of them."""

from __future__ import annotations

import dataclasses

import pytest
from pydantic import TypeAdapter, ValidationError

from searchmark import RetrievalAgent, UsageError, load_agent
from searchmark.agents.hybrid import HybridAgent
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.agents.lexical.fts5 import Fts5Agent
from searchmark.agents.registry import create_agent
from searchmark.agents.rerank import RerankAgent
from searchmark.agents.vectors.semantic import SemanticAgent

AGENTS = [Bm25Agent, Fts5Agent, HybridAgent, RerankAgent, SemanticAgent]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_made_from_checked_options_or_from_none(agent: type[RetrievalAgent]) -> None:
    assert agent(TypeAdapter(agent.Config).validate_python({})).Config is agent.Config
    agent().close()


@pytest.mark.parametrize("agent", AGENTS)
def test_an_unknown_option_is_refused(agent: type[RetrievalAgent]) -> None:
    with pytest.raises(ValidationError, match="nonsense"):
        TypeAdapter(agent.Config).validate_python({"nonsense": 1})


@pytest.mark.parametrize("agent", AGENTS)
def test_every_option_is_explained_where_it_is_defined(agent: type[RetrievalAgent]) -> None:
    for option in dataclasses.fields(agent.Config):
        assert f"``{option.name}``" in agent.Config.__doc__ or option.name.endswith("_weight"), option.name


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (Bm25Agent, {"language": "german", "stop_words": False, "k1": 0.9}),
        (Fts5Agent, {"tokenizer": "porter", "path_weight": 2, "storage": "file"}),
        (SemanticAgent, {"model": "sentence-transformers/all-MiniLM-L6-v2", "top_k": 10}),
        (SemanticAgent, {"embedder": {"name": "openai", "model": "text-embedding-3-small"}, "pooling": "mean"}),
        (HybridAgent, {"arms": ["fts5", {"name": "s", "class": "semantic", "config": {"lines": True}}], "weights": {"s": 2}}),
        (RerankAgent, {"arm": {"name": "fts5"}, "reranker": {"name": "http", "url": "http://localhost/rerank"}}),
    ],
)
def test_options_as_a_config_file_has_them(agent: type[RetrievalAgent], options: dict) -> None:
    agent(TypeAdapter(agent.Config).validate_python(options))


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (Bm25Agent, {"language": "klingon"}),
        (Fts5Agent, {"tokenizer": "icu"}),
        (SemanticAgent, {"pooling": "median"}),
        (HybridAgent, {"fusion": "borda"}),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(agent: type[RetrievalAgent], options: dict) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(agent.Config).validate_python(options)


@pytest.mark.parametrize(
    ("agent", "config"),
    [
        ("semantic", {"pooling": "mean", "mean_of": 0}), ("semantic", {"top_k": -1}), ("semantic", {"chunking": {"lines": 0}}),
        ("semantic", {"query_cache": -5}), ("semantic", {"model": "x", "embedder": "hashing"}), ("bm25", {"k1": float("nan")}),
        ("bm25", {"k1": float("inf")}), ("bm25", {"name_weight": float("nan")}), ("hybrid", {"weights": {"bm25": -1}}), ("hybrid", {"candidates": 0}),
        ("hybrid", {"rrf_k": -61}), ("rerank", {"candidates": -4}), ("fts5", {"path_weight": -1}), ("fts5", {"path_weight": float("nan")}),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(agent: str, config: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"agent {agent}, config"):
        create_agent(load_agent(agent, **config))
