"""precomputed gives the vectors of a file to the ids that they belong to, and refuses those of another model."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import numpy as np
import polars as pl
import pytest

from searchmark import Incomparable, UsageError
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.semantic import SemanticAgent
from tests.agents.corpora import corpus_from
from tests.agents.jira import jira_vectors

IDS = ["a", "b", "c"]
ROWS = np.array([[1, 0, 0, 0], [0, 2, 0, 0], [0, 3, 4, 0]], dtype=np.float32)


def write(folder: Path, kind: str, ids: list[str], rows: np.ndarray, name: str = "v") -> str:
    path = folder / f"{name}.{kind.removesuffix('-json')}"
    if kind == "npy":
        np.save(path, rows)
        path.with_suffix(".json").write_text(json.dumps(ids))
    elif kind == "parquet":
        pl.DataFrame({"id": ids, "vector": rows.tolist()}).write_parquet(path)
    else:
        with apsw.Connection(str(path)) as database:
            database.execute("CREATE TABLE vectors(id, vector)")
            cells = [json.dumps(row.tolist()) if kind == "db-json" else row.astype("<f4").tobytes() for row in rows]
            database.executemany("INSERT INTO vectors VALUES (?, ?)", zip(ids, cells, strict=True))
        database.close()
    return str(path)


KINDS = ["npy", "parquet", "sqlite", "db-json"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_gives_the_same_vectors(tmp_path: Path, kind: str) -> None:
    embedder = load_embedder({"name": "precomputed", "vectors": write(tmp_path, kind, IDS, ROWS), "normalize": False})
    assert embedder.keyed_by == "id"
    assert np.array_equal(embedder.embed_documents(["c", "a"]), ROWS[[2, 0]])


@pytest.mark.parametrize("kind", KINDS)
def test_queries_are_looked_up_by_their_text(tmp_path: Path, kind: str) -> None:
    options = {"vectors": write(tmp_path, kind, IDS, ROWS), "queries": write(tmp_path, kind, ["blue sky"], ROWS[2:], "q")}
    agent = SemanticAgent(SemanticAgent.Config(embedder={"name": "precomputed", **options}))
    agent.initialize(corpus_from(dict.fromkeys(IDS, "")))
    found = agent.retrieve("blue sky", 2)
    assert (found.files, found.scores) == (["c", "b"], pytest.approx([1.0, 0.6]))
    with pytest.raises(UsageError, match="no vector for the query 'red sky'"):
        agent.retrieve("red sky", 1)


@pytest.mark.parametrize("kind", KINDS[:3])  # JSON has no such numbers
def test_vectors_that_are_not_finite_are_counted_and_the_first_is_named(tmp_path: Path, kind: str) -> None:
    rows = ROWS.copy()
    rows[1:, 0] = np.nan, np.inf
    with pytest.raises(UsageError, match="2 of 3 vectors hold a number that is not finite, the first is that of 'b'"):
        load_embedder({"name": "precomputed", "vectors": write(tmp_path, kind, IDS, rows)})


@pytest.mark.parametrize("kind", ["parquet", "db-json"])
def test_vectors_of_another_dimension_are_counted_and_the_first_is_named(tmp_path: Path, kind: str) -> None:
    ragged = np.array([np.ones(4), np.ones(3), np.ones(4)], dtype=object)
    with pytest.raises(UsageError, match="1 of 3 vectors do not have 4 numbers as most do, the first is that of 'b'"):
        load_embedder({"name": "precomputed", "vectors": write(tmp_path, kind, IDS, ragged)})


def test_real_vectors_find_themselves(tmp_path: Path, shared_data: Path) -> None:
    ids, rows = jira_vectors(shared_data)
    for kind in KINDS[:3]:
        path = write(tmp_path, kind, ids, rows)
        agent = SemanticAgent(SemanticAgent.Config(embedder={"name": "precomputed", "vectors": path, "queries": path}))
        agent.initialize(corpus_from(dict.fromkeys(ids, "")))
        exact = rows.astype(np.float64) @ rows[17].astype(np.float64)
        found = agent.retrieve(ids[17], 10)
        assert found.files == [ids[number] for number in np.argsort(-exact)[:10]]
        assert found.scores[0] == pytest.approx(1.0, abs=1e-12)


def test_queries_may_be_embedded_by_the_model_of_the_vectors(tmp_path: Path) -> None:
    model = load_embedder("hashing")
    texts = {"x": "red sky", "y": "blue sea"}
    path = write(tmp_path, "npy", list(texts), model.embed_documents(list(texts.values())))
    Path(f"{path}.fingerprint.json").write_text(json.dumps({"model": "hashing", "revision": model.fingerprint().revision}))
    agent = SemanticAgent(SemanticAgent.Config(embedder={"name": "precomputed", "vectors": path, "query_embedder": "hashing"}))
    agent.initialize(corpus_from(texts))
    assert agent.retrieve("sea", 1).files == ["y"]


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({"model": "other"}, "model is 'other' and not 'hashing'"),
        ({"model": "hashing", "revision": "old"}, "revision is 'old' and not 'crc32-1'"),
        ({"normalize": False}, "normalize is False and not True"),
        ({"dimension": 7}, "dimension is 7 and not 256"),
        ({"query_prefix": "query: "}, "query_prefix is 'query: ' and not ''"),
    ],
)
def test_vectors_of_another_model_are_refused(tmp_path: Path, beside: dict, sentence: str) -> None:
    path = write(tmp_path, "npy", ["x"], load_embedder("hashing").embed_documents(["red"]))
    Path(f"{path}.fingerprint.json").write_text(json.dumps(beside))
    with pytest.raises(Incomparable, match=sentence):
        load_embedder({"name": "precomputed", "vectors": path, "query_embedder": "hashing"})


def test_another_length_needs_no_fingerprint_to_be_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "npy", IDS, ROWS)
    with pytest.raises(Incomparable, match="dimension is 4 and not 256"):
        load_embedder({"name": "precomputed", "vectors": path, "query_embedder": "hashing"})
    with pytest.raises(Incomparable, match="dimension is 3 and not 4"):
        load_embedder({"name": "precomputed", "vectors": path, "queries": write(tmp_path, "npy", IDS, ROWS[:, :3], "q")})


def test_a_document_without_a_vector_is_named(tmp_path: Path) -> None:
    embedder = load_embedder({"name": "precomputed", "vectors": write(tmp_path, "npy", IDS, ROWS)})
    with pytest.raises(UsageError, match=r"has no vector for 'd' \(and 1 more\)"):
        embedder.embed_documents(["a", "d", "e"])


def test_ids_may_be_lines_of_text(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    embedder = load_embedder({"name": "precomputed", "vectors": str(tmp_path / "v.npy"), "ids": str(tmp_path / "names.txt")})
    assert np.array_equal(embedder.embed_documents(["a"]), ROWS[:1])


@pytest.mark.parametrize(
    ("name", "content", "ids", "sentence"),
    [
        ("v.npy", b"nonsense", '["a"]', "is not an npy file"),
        ("v.npy", b"", '["a"]', "is not an npy file"),
        ("v.npy", ROWS, '["a"]', "has 3 rows, but"),
        ("v.npy", ROWS, '{"a": 1}', "is not a list of ids"),
        ("v.npy", ROWS, '["a", "b", "a"]', "holds a duplicate id"),
        ("v.npy", ROWS[0], '["a", "b", "c", "d"]', "is not a table of floating-point numbers"),
        ("v.npy", ROWS.astype(int), '["a", "b", "c"]', "is not a table of floating-point numbers"),
        ("v.npy", np.full((3, 2), np.nan), '["a", "b", "c"]', "not finite"),
        ("v.parquet", b"nonsense", "", "has no usable columns 'id' and 'vector'"),
        ("v.db", b"nonsense" * 100, "", "has no vectors in vectors.vector"),
        ("v.csv", b"a,1", "", "its extension must be"),
    ],
)
def test_what_is_no_table_of_vectors_is_one_sentence(tmp_path: Path, name: str, content: object, ids: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    path.with_suffix(".json").write_text(ids)
    with pytest.raises(UsageError, match=sentence):
        load_embedder({"name": "precomputed", "vectors": str(path)})
