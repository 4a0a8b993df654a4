"""Recall of pgvector along its parameters, on chunks of Python's own library with docstrings as queries."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.chunks import content_chunks
from searchmark.agents.vectors import index_settings, load_embedder
from searchmark.agents.vectors.exact import ExactIndex
from searchmark.agents.vectors.index import IndexSettings, TunableIndex, neighbour_recall

pytestmark = pytest.mark.servers

PACKAGES = ("asyncio", "email", "http")


@pytest.fixture(scope="module")
def vectors() -> tuple[Any, Any]:
    """Those of the chunks, and those of the first lines of what functions and classes say of themselves."""
    library = Path(sysconfig.get_path("stdlib"))
    sources = [path.read_text("utf-8") for package in PACKAGES for path in sorted((library / package).rglob("*.py"))]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    lines = dict.fromkeys((ast.get_docstring(node) or "").partition("\n")[0] for node in nodes)
    embedder = load_embedder({"name": "wordllama", "cache": False})
    documents = embedder.embed_documents(list(dict.fromkeys(text for source in sources for text in content_chunks(source))))
    return documents, [embedder.embed_query(line) for line in list(lines)[1:401:10]]


def recalls(postgres: str, vectors: tuple[Any, Any], along: str, values: tuple[int, ...], **options: Any) -> list[float]:
    """Of one index that is built once, for each value."""
    documents, queries = vectors
    truth = ExactIndex(documents.shape[1])
    truth.put(np.arange(len(documents)), documents)
    truth.build()
    each = [index_settings({"name": "pgvector", "dsn": postgres, along: value, **options}) for value in values]
    index = cast("TunableIndex", each[0].open(documents.shape[1], "cosine"))
    index.put(np.arange(len(documents)), documents)
    index.build()
    found = [mean_recall(index, choice, truth, queries) for choice in each]
    index.close()
    return found


def mean_recall(index: TunableIndex, choice: IndexSettings, truth: ExactIndex, queries: list[Any]) -> float:
    index.searching_with(choice)
    measured = [neighbour_recall(truth, query, index.search(query, 10).numbers, 10) for query in queries]
    return float(np.mean([each.recall for each in measured if each is not None]))


def test_recall_rises_with_probes_up_to_all_of_them(postgres: str, vectors: tuple[Any, Any]) -> None:
    few, some, many, every = recalls(postgres, vectors, "probes", (1, 4, 16, 32), method="ivfflat", lists=32)
    assert few + 0.1 < some < many <= every == 1


def test_recall_rises_with_ef_search(postgres: str, vectors: tuple[Any, Any]) -> None:
    few, some, many = recalls(postgres, vectors, "ef_search", (10, 40, 400), method="hnsw", m=8, ef_construction=32)
    assert few < some <= many
    assert many > 0.97


def test_recall_without_an_index_is_one(postgres: str, vectors: tuple[Any, Any]) -> None:
    assert recalls(postgres, vectors, "ef_search", (40,), method="none") == [1]


def test_what_an_index_was_built_with_cannot_be_changed(postgres: str) -> None:
    graph, other = ({"name": "pgvector", "dsn": postgres, "ef_search": 80, "m": m} for m in (16, 8))
    index = cast("TunableIndex", index_settings({**graph, "ef_search": 40}).open(8, "cosine"))
    with pytest.raises(UsageError, match="an index that is built cannot change its m; build another one"):
        index.searching_with(index_settings(other))
    assert index.describe()["ef_search"] == 40
    index.searching_with(index_settings(graph))
    assert index.describe()["ef_search"] == 80
    index.close()
