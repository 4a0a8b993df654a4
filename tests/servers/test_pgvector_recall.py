"""Recall of pgvector along its parameters, on chunks of Python's own library with docstrings as queries."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark.corpora.chunks import chunks
from searchmark.embedders import load_embedder
from searchmark.indexes import check_index
from searchmark.indexes.exact import ExactIndex
from searchmark.indexes.recall import neighbour_recall

pytestmark = pytest.mark.servers

PACKAGES = ("asyncio", "email", "http", "importlib", "json", "logging", "multiprocessing", "unittest", "urllib", "xml")
NOISE = 0.02  # graphs are built with random levels


@pytest.fixture(scope="module")
def vectors() -> tuple[Any, Any]:
    """Those of the chunks, and those of the first lines of what functions and classes say of themselves."""
    library = Path(sysconfig.get_path("stdlib"))
    sources = [path.read_text("utf-8") for package in PACKAGES for path in sorted((library / package).rglob("*.py"))]
    nodes = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    lines = dict.fromkeys((ast.get_docstring(node) or "").partition("\n")[0] for node in nodes)
    embedder = load_embedder({"name": "wordllama", "cache": False})
    documents = embedder.embed_documents(list(dict.fromkeys(text for source in sources for text in chunks(source))))
    return documents, [embedder.embed_query(line) for line in list(lines)[1:1000:10]]


def recalls(postgres: str, vectors: tuple[Any, Any], along: str, values: tuple[int, ...], **options: Any) -> list[float]:
    documents, queries = vectors
    truth = ExactIndex(documents.shape[1])
    truth.put(np.arange(len(documents)), documents)
    truth.build()
    found = []
    for value in values:
        index = check_index({"name": "pgvector", "dsn": postgres, along: value, **options}).open(documents.shape[1], "cosine")
        index.put(np.arange(len(documents)), documents)
        index.build()
        measured = [neighbour_recall(truth, query, index.search(query, 10).numbers, 10) for query in queries]
        found.append(float(np.mean([each.recall for each in measured if each is not None])))
        index.close()
    return found


def test_recall_rises_with_probes_up_to_all_of_them(postgres: str, vectors: tuple[Any, Any]) -> None:
    few, some, many, every = recalls(postgres, vectors, "probes", (1, 4, 16, 64), method="ivfflat", lists=64)
    assert few + 0.1 < some < many <= every == 1


def test_recall_rises_with_ef_search(postgres: str, vectors: tuple[Any, Any]) -> None:
    few, some, many = recalls(postgres, vectors, "ef_search", (10, 40, 400), method="hnsw", m=8, ef_construction=32)
    assert few < some <= many + NOISE
    assert many > 0.97


def test_recall_without_an_index_is_one(postgres: str, vectors: tuple[Any, Any]) -> None:
    assert recalls(postgres, vectors, "ef_search", (40,), method="none") == [1]
