"""Chroma's own server, in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.agents.vectors import load_embedder
from tests.servers.serving import BIN, DOCUMENTS, TEXTS, asked, evaluated, free_port, hits_of, served

pytestmark = pytest.mark.servers
EMBEDDER = {"name": "hashing", "size": 64}
COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"


@pytest.fixture(scope="module")
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("chroma"), free_port()
    command = [str(BIN / "chroma"), "run", "--path", "db", "--host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with served(command, f"{address}/api/v2/heartbeat", folder):
        collection = asked(f"{address}{COLLECTIONS}", {"name": "docs"})
        embedder = load_embedder(EMBEDDER)
        vectors = [embedder.embed_query(f"{title} {body}").tolist() for title, body in DOCUMENTS.values()]
        asked(f"{address}{COLLECTIONS}/{collection['id']}/add", {"ids": list(DOCUMENTS), "embeddings": vectors})
        yield address


def said(address: str, query: str) -> list[tuple[str, float | None]]:
    """What the server says of a query: ids, and distances as scores."""
    collection = asked(f"{address}{COLLECTIONS}/docs")["id"]
    vector = load_embedder(EMBEDDER).embed_query(query).tolist()
    wanted = {"query_embeddings": [vector], "n_results": 10, "include": ["distances"]}
    answer = asked(f"{address}{COLLECTIONS}/{collection}/query", wanted)
    return [(key, -distance) for key, distance in zip(answer["ids"][0], answer["distances"][0], strict=True)]


def test_hits_come_nearest_first_and_scores_fall(chroma: str, tmp_path: Path) -> None:
    answers, _ = evaluated(tmp_path, {"preset": "chroma", "url": chroma, "index": "docs", "embedder": EMBEDDER})
    hits = hits_of(answers["open file"])
    assert hits == said(chroma, "open file")
    assert hits == sorted(hits, key=lambda hit: -(hit[1] or 0))
    assert {hit for hit, _ in hits[:2]} == {"a.md", "b.md"}


def test_any_text_is_a_query(chroma: str, tmp_path: Path) -> None:
    answers, _ = evaluated(tmp_path, {"preset": "chroma", "url": chroma, "index": "docs", "embedder": EMBEDDER}, TEXTS)
    assert {answer.status for answer in answers.values()} == {"ok"}
    assert hits_of(answers["-minus"])[0][0] == "b.md"


def test_a_collection_can_be_named_by_its_id(chroma: str, tmp_path: Path) -> None:
    collection = asked(f"{chroma}{COLLECTIONS}/docs")["id"]
    answers, _ = evaluated(tmp_path, {"preset": "chroma", "url": chroma, "index": collection, "embedder": EMBEDDER})
    assert hits_of(answers["open file"]) == said(chroma, "open file")


def test_a_wrong_collection_is_named(chroma: str, tmp_path: Path) -> None:
    answers, shown = evaluated(tmp_path, {"preset": "chroma", "url": chroma, "index": "nope", "embedder": EMBEDDER}, code=5)
    assert answers["open file"].status == "not_run"
    assert "Collection [nope] does not exist" in " ".join(shown.split())


def test_vectors_of_another_size_are_an_error(chroma: str, tmp_path: Path) -> None:
    config = {"preset": "chroma", "url": chroma, "index": "docs", "embedder": {"name": "hashing", "size": 8}}
    answers, shown = evaluated(tmp_path, config, code=2)
    assert answers["open file"].status == "error"
    assert "dimension of 64, got 8" in " ".join(shown.split())
