"""Every built-in agent says what it searches with, so that a run can be understood without its command line."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import apsw
import pytest
import Stemmer

from searchmark import load_agent
from searchmark.agents.lexical.ripgrep import ripgrep
from searchmark.agents.registry import create_agent
from searchmark.config.agents import BUILT_IN
from searchmark.running.worker.protocol import LONGEST_DESCRIPTION
from tests.agents.corpora import FILES, corpus_from

TOKENS = f"identifiers-1-unicode-{unicodedata.unidata_version}"
BM25 = {
    "ranking": "bm25",
    "tokenizer": TOKENS,
    "language": "none",
    "stop_words": "left out of queries",
    "stemmer": None,
    "analyser": "the corpus is code",
    "k1": 1.2,
    "b": 0.75,
    "name_weight": 1.0,
    "content_weight": 1.0,
}
HASHING = {"name": "semantic", "config": {"embedder": {"name": "hashing", "dimension": 64, "cache": False}}}


def described(agent: str, **config: Any) -> dict[str, Any]:
    made = create_agent(load_agent(agent, **config))
    made.initialize(corpus_from(FILES))
    said = dict(made.describe())
    made.close()
    return said


@pytest.mark.parametrize(
    ("agent", "config", "said"),
    [
        ("bm25", {"cache": False}, BM25),
        ("bm25", {"k1": 2.0, "cache": False}, {**BM25, "k1": 2.0}),
        ("path-match", {}, {"ranking": "bm25 of names", "tokenizer": TOKENS, "k1": 1.2, "b": 0.75}),
        ("random", {"seed": 7}, {"ranking": "random", "seed": 7}),
        (
            "fts5",
            {"tokenizer": "porter"},
            {
                "ranking": "bm25 of SQLite's FTS5",
                "sqlite": apsw.sqlite_lib_version(),
                "tokenizer": "porter",
                "language": "none",
                "stop_words": "left out of queries",
                "analyser": "the corpus is code",
                "operator": "any",
                "path_weight": 1.0,
                "title_weight": 1.0,
                "content_weight": 1.0,
                "storage": "memory",
            },
        ),
        (
            "rerank",
            {"arm": {"name": "bm25", "config": {"cache": False}}, "reranker": {"name": "proximity", "b": 0.25}},
            {
                "ranking": "reranked",
                "reranker": {"name": "proximity", "k1": 1.2, "b": 0.25},
                "candidates": 50,
                "names": True,
                "arms": {"bm25": BM25},
            },
        ),
    ],
)
def test_what_decides_an_answer_is_named_with_its_value(agent: str, config: dict, said: dict) -> None:
    assert described(agent, **config) == said


PROSE = {
    f"d{number}": f"The {word} of the station is open when it is wanted, and those who are in there will be with you."
    for number, word in enumerate(["connection", "connections", "window"])
}


@pytest.mark.parametrize("agent", ["bm25", "fts5"])
def test_the_analyser_that_the_corpus_has_chosen_is_named(agent: str) -> None:
    made = create_agent(load_agent(agent))
    made.initialize(corpus_from(PROSE))
    said = made.describe()
    made.close()
    assert (said["language"], said["analyser"]) == ("english", "the corpus is prose")
    assert said["stop_words"] == "left out"
    assert said.get("stemmer", said["tokenizer"]) in (f"snowball {Stemmer.version()}", "porter")


def test_the_analyser_that_was_given_is_named() -> None:
    said = described("bm25", language="german", stop_words=False, identifiers=False, cache=False)
    assert (said["language"], said["stop_words"], said["analyser"]) == ("german", "kept", "given")
    assert said["tokenizer"] == f"words-1-unicode-{unicodedata.unidata_version}"


def test_vectors_are_described_by_the_fingerprint_of_their_embedder() -> None:
    said = described("semantic", **HASHING["config"])
    assert said["embedder"]["model"] == "hashing"
    assert {"revision", "dimension", "normalize"} <= set(said["embedder"])
    assert said["embedder"]["dimension"] == 64
    assert said | {"embedder": None} == {
        "ranking": "vectors",
        "embedder": None,
        "distance": "cosine",
        "chunking": "content-defined/80+paths",
        "index": {"name": "exact"},
        "pooling": "max",
        "mean_of": 3,
        "top_k": None,
    }
    raw = described(
        "semantic", embedder={"name": "hashing", "normalize": False, "cache": False}, paths=False, chunking={"lines": 9}
    )
    assert (raw["distance"], raw["chunking"]) == ("cosine", "content-defined/9")


def test_no_model_is_loaded_to_be_described() -> None:
    agent = create_agent(load_agent("semantic"))
    assert agent.describe()["embedder"] == {}


def test_arms_are_described_within_what_asks_them() -> None:
    inner = {"name": "inner", "source": "rerank", "config": {"arm": {"name": "bm25", "config": {"cache": False}}}}
    said = described("hybrid", arms=[inner, HASHING], weights={"inner": 2.0})
    assert (said["fusion"], said["rrf_k"], said["weights"]) == ("rrf", 60.0, {"inner": 2.0, "semantic": 1.0})
    assert said["arms"]["inner"]["arms"] == {"bm25": BM25}
    assert said["arms"]["semantic"]["embedder"]["dimension"] == 64


def test_keyword_names_the_version_of_ripgrep() -> None:
    assert ripgrep()
    said = described("keyword")
    assert said["ripgrep"].startswith("ripgrep ")
    assert said | {"ripgrep": ""} == {
        "ranking": "counted words",
        "ripgrep": "",
        "case_sensitive": False,
        "path_weight": 1.0,
        "max_words": 16,
    }


def test_every_description_is_short_plain_data() -> None:
    for name in BUILT_IN:
        said = dict(create_agent(load_agent(name)).describe())
        assert json.loads(json.dumps(said, allow_nan=False)) == said
        assert len(json.dumps(said)) < LONGEST_DESCRIPTION / 4
