"""The agent ``vector-table`` on files of SQLite, which it must leave as they are, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from searchmark import AgentSpec, UsageError
from searchmark.agents.registry import check_spec, create_agent, variables_of_config
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.table import VectorTableAgent, VectorTableSettings
from searchmark.config.agents import parse_source
from searchmark.io.secrets import passwords_in
from searchmark.io.sqlite import load_vector_functions
from tests.support.commands import searchmark

EMBEDDER = {"name": "hashing", "size": 32}
TEXTS = {"login": "users log in with a password", "export": "export invoices to a file", "session": "sessions end after an hour"}
TABLES = {
    "vec0": "CREATE VIRTUAL TABLE items USING vec0(id text primary key, kind text, embedding float[32] distance_metric=cosine)",
    "vec0 l2": "CREATE VIRTUAL TABLE items USING vec0(id text primary key, kind text, embedding float[32])",
    "blobs": "CREATE TABLE items (id text primary key, kind text, embedding blob)",
}


@pytest.fixture(params=list(TABLES))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return made(tmp_path, TABLES[request.param])


def made(folder: Path, declared: str) -> Path:
    connection = apsw.Connection(str(folder / "items.db"))
    load_vector_functions(connection)
    connection.execute(declared)
    vectors = load_embedder(EMBEDDER).embed_documents(list(TEXTS.values()))
    for (name, text), vector in zip(TEXTS.items(), vectors, strict=True):
        connection.execute("INSERT INTO items (id, kind, embedding) VALUES (?, ?, ?)", (name, str(len(text) % 2), vector.tobytes()))
    connection.close()
    return folder / "items.db"


def started(path: Path, **options: Any) -> VectorTableAgent:
    agent = VectorTableAgent(VectorTableSettings(**{"table": "items", "database": str(path), "embedder": EMBEDDER, **options}))
    agent.start()
    return agent


@pytest.mark.parametrize("distance", ["cosine", "l2"])
def test_rows_are_ranked_by_their_distance_and_all_true_neighbours_are_found(database: Path, distance: Any) -> None:
    agent = started(database, distance=distance)
    vectors, query = load_embedder(EMBEDDER).embed_documents(list(TEXTS.values())), "users export a file"
    asked = load_embedder(EMBEDDER).embed_query(query)
    expected = vectors @ asked if distance == "cosine" else -np.linalg.norm(vectors - asked, axis=1)
    found = agent.retrieve(query, 10)
    assert list(found.files) == [list(TEXTS)[number] for number in np.argsort(-expected)]
    assert list(found.scores or ()) == pytest.approx(np.sort(expected)[::-1].tolist(), abs=1e-5)
    assert found.index_ms is not None
    usage = agent.usage_of_last()
    assert (usage.ann_k, usage.ann_recall, usage.ann_overlap) == (3, 1, 1)
    agent.close()


def test_a_filter_is_a_value(database: Path) -> None:
    odd = [name for name, text in TEXTS.items() if len(text) % 2]
    for kind, expected in (("1", odd), (("0", "1"), list(TEXTS)), ("1' OR 1=1 --", [])):
        agent = started(database, filter={"kind": kind})
        assert sorted(agent.retrieve("users export a file", 10).files) == sorted(expected)
        agent.close()


@pytest.mark.slow
def test_a_file_is_evaluated_and_not_written(database: Path, tmp_path: Path) -> None:
    cases = [{"id": name, "query": text, "judgments": [{"target": name}]} for name, text in TEXTS.items()]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "items", "cases": cases}))
    config = {"table": "items", "database": str(database), "embedder": EMBEDDER}
    (tmp_path / "mine.json").write_text(json.dumps({"agents": [{"name": "mine", "source": "vector-table", "config": config}]}))
    before = hashlib.sha256(database.read_bytes()).hexdigest(), sorted(path.name for path in database.parent.glob("items*"))
    asked = ["--gold-set", "suite.json", "--config", "mine.json", "--agent", "mine", "-m", "RR", "-o", "out.json", "--offline"]
    done = searchmark("evaluate", *asked, "--no-archive", cwd=tmp_path, env={**os.environ, "SEARCHMARK_DSN": "postgresql://x/y"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        hashlib.sha256(database.read_bytes()).hexdigest(),
        sorted(path.name for path in database.parent.glob("items*")),
    ) == before
    (agent,) = json.loads((tmp_path / "out.json").read_text())["agents"].values()
    assert {case: data["hits"][0]["id"] for case, data in agent["cases"].items()} == {name: name for name in TEXTS}


def test_statistics_are_those_of_the_stored_vectors(tmp_path: Path) -> None:
    database = made(tmp_path, TABLES["blobs"])
    connection = apsw.Connection(str(database))
    odd = [np.zeros(32, "<f4"), np.full(32, np.nan, "<f4"), np.ones(32, "<f4"), np.ones(32, "<f4")]
    connection.executemany(
        "INSERT INTO items (id, embedding) VALUES (?, ?)", [(str(n), row.tobytes()) for n, row in enumerate(odd)]
    )
    connection.close()
    agent = started(database)
    (known,) = agent.vectors()
    assert (known.count, known.zero, known.not_finite, known.duplicates) == (7, 1, 1, 1)
    assert (known.norm_min, known.norm_min_nonzero, known.norm_max) == (0, pytest.approx(1), pytest.approx(32**0.5))
    assert (known.finite, known.norm_mean) == (6, pytest.approx((3 + 2 * 32**0.5) / 6))
    agent.close()


def test_statistics_of_a_part_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("searchmark.agents.vectors.table.SAMPLED_ROWS", 2)
    agent = started(made(tmp_path, TABLES["blobs"]))
    (known,) = agent.vectors()
    assert (known.count, known.looked_at, known.finite) == (3, 2, 2)
    agent.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"embedder": {"name": "hashing", "size": 16}}, "the embedder hashing gives 16 numbers, and the vectors of items have 32"),
        ({"table": "nothing"}, "has no table nothing"),
        ({"id_column": "sku"}, "the table items has no column 'sku'; it has id, kind, embedding"),
        ({"filter": {'x" OR 1': "a"}}, "has no column 'x\" OR 1'"),
        ({"distance": "ip"}, "sqlite-vec has no inner product; set distance to cosine or l2"),
        ({"database": "missing.db"}, "there is no database missing.db"),
    ],
)
def test_what_cannot_be_searched_is_said_before_the_first_query(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    database = made(tmp_path, TABLES["vec0"])
    with pytest.raises(UsageError, match=reason):
        started(database, **options)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ((None, np.ones(32, "<f4")), "1 of 4 rows with a vector have no id in the column 'id' of items; give them one"),
        ((b"\xff", np.ones(32, "<f4")), "1 of 4 rows with a vector have no id"),
        (("a", np.ones(31, "<f4")), "1 of 4 vectors of items do not have 32 numbers as the first one has; choose rows"),
    ],
    ids=["null", "blob", "dimension"],
)
def test_rows_that_cannot_be_named_or_compared_are_counted_before_the_first_query(odd: Any, reason: str, tmp_path: Path) -> None:
    database = made(tmp_path, TABLES["blobs"].replace(" primary key", ""))
    with apsw.Connection(str(database)) as connection:
        connection.execute("INSERT INTO items (id, kind, embedding) VALUES (?, 'odd', ?)", (odd[0], odd[1].tobytes()))
        connection.execute("INSERT INTO items (id, embedding) VALUES (NULL, NULL)")
    with pytest.raises(UsageError, match=reason):
        started(database)
    agent = started(database, filter={"kind": ("0", "1")})
    assert sorted(agent.retrieve("users", 10).files) == sorted(TEXTS)
    agent.close()


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"database": "x.db", "probes": 3}, "probes would have no effect in SQLite .database.; leave it out"),
        ({"database": "x.db", "filter": {"id": []}}, "filter id: no row has one of no values"),
        (
            {"filter": {"id": [1, "a"]}},
            "filter id: the values .1, 'a'. are of different types; write all as text or all as numbers",
        ),
        ({"filter": {"id": [1, True]}}, "filter id: the values .1, True. are of different types"),
    ],
)
def test_a_config_that_means_nothing_is_refused_in_one_sentence(config: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        create_agent(spec("vector-table", {"table": "items", **config}))


def spec(source: str, config: dict[str, Any]) -> AgentSpec:
    return AgentSpec("mine", parse_source(source), config)


@pytest.mark.parametrize(
    "asking",
    [
        spec("vector-table", {"table": "t"}),
        spec("semantic", {"index": "pgvector"}),
        spec("semantic", {"index": {"name": "pgvector"}}),
    ],
)
def test_a_database_is_not_asked_without_a_network_and_its_address_is_passed_to_who_asks_it(asking: AgentSpec) -> None:
    with pytest.raises(UsageError, match="the agent 'mine' asks a database, and --offline and --no-exec allow no network"):
        check_spec(asking, network=False)
    assert variables_of_config(asking) == {"SEARCHMARK_DSN"}
    assert variables_of_config(spec("semantic", {"index": "exact"})) == frozenset()


@pytest.mark.parametrize(
    ("address", "passwords"),
    [
        ("postgresql://me:p%40ss@host/db", {"p%40ss", "p@ss"}),
        ("postgresql://me@host/db?password=secret&x=1", {"secret"}),
        ("host=db user=me password='a b'", {"a b"}),
        ("postgresql://me:${MINE}@host/db", set()),
        ("postgresql://postgres:@/postgres?host=/tmp/x", set()),
        ("postgresql://me:me@host/db", set()),
    ],
)
def test_passwords_of_addresses_are_known_and_names_of_users_are_none(address: str, passwords: set[str]) -> None:
    assert passwords_in(address) == passwords
