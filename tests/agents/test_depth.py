"""How many hits are asked for decides where a list ends and nothing else."""

from __future__ import annotations

import pytest

from searchmark import load_agent, load_corpus
from searchmark.agents.registry import create_agent
from tests.conftest import ROOT

QUERIES = [
    "where is a corpus streamed",
    "paired randomisation test with Holm",
    "atomic write of files",
    "annotations of searchmark",
]
SEMANTIC = {"name": "semantic", "config": {"embedder": {"name": "hashing", "cache": False}}}
BM25 = {"name": "bm25", "config": {"cache": False}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "config"),
    [
        ("bm25", {"cache": False}),
        ("fts5", {}),
        ("rerank", {"arm": BM25}),
        ("rerank", {"arm": {"name": "fts5"}, "candidates": 20}),
        ("hybrid", {"arms": [BM25, SEMANTIC]}),
        ("hybrid", {"arms": [BM25, SEMANTIC], "fusion": "scores", "candidates": 20}),
        ("rerank", {"arm": {"name": "inner", "source": "hybrid", "config": {"arms": [BM25, "fts5"], "candidates": 30}}}),
    ],
    ids=str,
)
def test_the_first_ten_are_the_same_at_every_depth(agent: str, config: dict) -> None:
    made = create_agent(load_agent(agent, **config))
    made.initialize(load_corpus(ROOT / "src"))
    lists = [[made.retrieve(query, depth) for query in QUERIES] for depth in (10, 60, 100, 1000)]
    firsts = [[(list(found.files)[:10], list(found.scores or ())[:10]) for found in at_depth] for at_depth in lists]
    made.close()
    assert firsts == [firsts[0]] * len(firsts)
    assert len(lists[-1][-1].files) > 100
    assert all(len(set(found.files)) == len(found.files) for at_depth in lists for found in at_depth)
