"""The agent ``vector-table`` on tables of pgvector, which it must leave as they are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.table import VectorTableAgent, VectorTableSettings
from searchmark.errors import ServiceError
from tests.support.commands import searchmark

pytestmark = pytest.mark.servers

EMBEDDER = {"name": "hashing", "size": 64}
WORDS = ("login", "password", "session", "invoice", "export", "file", "user", "cookie", "hour", "table", "row", "index")
RELATIONS = """
SELECT n.nspname, c.relname, c.relkind, c.relfilenode, c.reltuples >= 0, pg_get_userbyid(c.relowner), obj_description(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""
COLUMNS = "SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, 2, 3"
INDEXES = "SELECT indexdef FROM pg_indexes ORDER BY 1"
CONTENTS = 'SELECT id, category, embedding::text, xmin::text, ctid::text FROM shop."the items" ORDER BY id'


def text_of(number: int) -> str:
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in (1, 5, 7, number % 11 + 1)) + f" {number}"


@pytest.fixture(scope="module")
def shop(postgres: str) -> Iterator[Any]:
    """A table of a shop, with a name that needs quotes, and a connection of its owner."""
    import psycopg

    vectors = load_embedder(EMBEDDER).embed_documents([text_of(number) for number in range(800)])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA shop")
        connection.execute('CREATE TABLE shop."the items" (id text PRIMARY KEY, category text, number int, embedding vector(64))')
        with connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO shop."the items" VALUES (%s, %s, %s, %s)',
                [(f"item-{n}", "even" if n % 2 == 0 else "odd", n, str(row.tolist())) for n, row in enumerate(vectors)],
            )
        yield connection
        connection.execute("DROP SCHEMA shop CASCADE")


@pytest.fixture(params=["ivfflat", "hnsw", "none"])
def indexed(request: pytest.FixtureRequest, shop: Any) -> Iterator[str]:
    """The method of the index that the table has meanwhile."""
    parameters = {"ivfflat": "(lists = 20)", "hnsw": "(m = 4, ef_construction = 8)"}
    if request.param in parameters:
        made = f'CREATE INDEX by_vector ON shop."the items" USING {request.param} (embedding vector_cosine_ops)'
        shop.execute(f"{made} WITH {parameters[request.param]}")
    shop.execute('ANALYZE shop."the items"')
    yield request.param
    shop.execute("DROP INDEX IF EXISTS shop.by_vector")


def started(postgres: str, **options: Any) -> VectorTableAgent:
    agent = VectorTableAgent(VectorTableSettings(**{"table": "shop.the items", "dsn": postgres, "embedder": EMBEDDER, **options}))
    agent.start()
    return agent


def mean_recall(agent: VectorTableAgent) -> float:
    recalls = []
    for number in range(0, 800, 20):
        agent.retrieve(f"{WORDS[number % 12]} {WORDS[number % 7]} {number}", 10)
        recalls.append(agent.usage_of_last().ann_recall or 0.0)
    agent.close()
    return float(np.mean(recalls))


def state(shop: Any) -> list[Any]:
    return [shop.execute(asked).fetchall() for asked in (RELATIONS, COLUMNS, INDEXES, CONTENTS)]


def test_a_table_is_evaluated_as_it_is_and_stays_so(indexed: str, postgres: str, shop: Any, tmp_path: Path) -> None:
    cases = [{"id": f"q{n}", "query": text_of(n), "judgments": [{"target": f"item-{n}"}]} for n in range(0, 100, 5)]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "shop", "cases": cases}))
    config = {"table": "shop.the items", "embedder": EMBEDDER}
    (tmp_path / "mine.json").write_text(json.dumps({"agents": [{"name": "items", "source": "vector-table", "config": config}]}))
    before = state(shop)
    asked = ["--gold-set", "suite.json", "--config", "mine.json", "--agent", "items", "-m", "RR", "-o", "out.json", "--depth", "10"]
    done = searchmark("evaluate", *asked, "--save-run", "run.jsonl", cwd=tmp_path, env={**os.environ, "SEARCHMARK_DSN": postgres})
    assert done.returncode == 0, done.stdout + done.stderr
    assert state(shop) == before
    (agent,) = json.loads((tmp_path / "out.json").read_text())["agents"].values()
    hits = {case: data["hits"] for case, data in agent["cases"].items()}
    found = [case for case, ranked in hits.items() if f"item-{case[1:]}" in [hit["id"] for hit in ranked]]
    assert len(found) == 20 if indexed == "none" else found  # how many a coarse index finds is another matter with each build
    assert all(0 < ranked[0]["score"] <= 1.0001 for ranked in hits.values())


def test_it_says_which_index_the_database_uses(indexed: str, postgres: str) -> None:
    agent = started(postgres)
    described = agent.describe()["index"]
    assert described["vector_column"] == "embedding vector(64)"
    assert [indexed in definition for definition in described["indexes"]] == [True] * (indexed != "none")
    assert ("by_vector" in described["plan"]) == (indexed != "none")
    assert (agent.index_bytes() is None) == (indexed == "none")
    agent.close()


def test_recall_is_that_against_an_exact_scan(indexed: str, postgres: str) -> None:
    few = {"ivfflat": {"probes": 1}, "hnsw": {"ef_search": 10}, "none": {}}[indexed]
    many = {"ivfflat": {"probes": 20}, "hnsw": {"ef_search": 1000}, "none": {}}[indexed]
    some, all_of_them = mean_recall(started(postgres, **few)), mean_recall(started(postgres, **many))
    if indexed == "none":
        assert some == 1
    else:
        assert some < all_of_them
    assert all_of_them > 0.9


def test_a_filter_is_a_value_and_never_a_statement(postgres: str, shop: Any) -> None:
    before = state(shop)
    agent = started(postgres, filter={"category": "odd"})
    assert {int(name.removeprefix("item-")) % 2 for name in agent.retrieve("login session", 50).files} == {1}
    agent.close()
    several = started(postgres, filter={"category": ("odd", "even"), "number": 7})
    assert list(several.retrieve("login session", 50).files) == ["item-7"]
    several.close()
    attack = started(postgres, filter={"category": 'odd\'; DROP TABLE shop."the items"; --'})
    assert list(attack.retrieve("login session", 50).files) == []
    attack.close()
    with pytest.raises(UsageError, match="has no column 'category\" = category OR 1=1 --'; it has id, category, number, embedding"):
        started(postgres, filter={'category" = category OR 1=1 --': "x"})
    assert state(shop) == before


def test_the_session_cannot_write(postgres: str) -> None:
    import psycopg

    agent = started(postgres)
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        agent._table._connection.execute("CREATE TABLE shop.another (id int)")  # type: ignore[union-attr]  # what no method of it does
    agent.close()


def test_statistics_are_those_of_the_stored_vectors(postgres: str, shop: Any) -> None:
    shop.execute("CREATE TABLE shop.odd (id int, v halfvec(2))")
    shop.execute("INSERT INTO shop.odd VALUES (1, '[3,4]'), (2, '[3,4]'), (3, '[0,0]'), (4, '[0,1]'), (5, NULL)")
    agent = VectorTableAgent(VectorTableSettings(table="shop.odd", dsn=postgres, embedder={"name": "hashing", "size": 2}))
    agent.start()
    (statistics,) = agent.vectors()
    assert (statistics.count, statistics.dimension, statistics.zero, statistics.duplicates) == (4, 2, 1, 1)
    assert (statistics.norm_min, statistics.norm_min_nonzero, statistics.norm_max) == (0, 1, 5)
    assert statistics.norm_mean == pytest.approx(11 / 4)
    assert statistics.norm_std == pytest.approx(float(np.std([5, 5, 1, 0])))
    assert set(agent.retrieve("anything", 10).files) == {"1", "2", "3", "4"}
    agent.close()
    shop.execute("DROP TABLE shop.odd")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"embedder": {"name": "hashing", "size": 32}}, "gives 32 numbers, and the vectors of shop.the items have 64"),
        ({"table": "shop.nothing"}, "the database 'postgres' has no table shop.nothing"),
        ({"id_column": "sku"}, "the table shop.the items has no column 'sku'; it has id, category, number, embedding"),
        ({"vector_column": "number"}, "the column 'number' of shop.the items is of type int4; it must be vector or halfvec"),
        ({"filter": {"number": "abc"}}, 'filter number: invalid input syntax for type integer: "abc"'),
        ({"filter": {"category": 7}}, "filter category: operator does not exist: text = "),
        ({"filter": {"category": "a\0b"}}, "filter category: PostgreSQL text fields cannot contain NUL"),
        ({"ef_search": 100}, "ef_search has no effect: the table shop.the items has no index of hnsw; leave it out"),
        ({"probes": 3}, "probes has no effect: the table shop.the items has no index of ivfflat; leave it out"),
        ({"database": "x.db"}, "in PostgreSQL .dsn. or in SQLite .database.; leave out one of the two"),
        ({"dsn": "postgresql://keeper:secret@localhost/x"}, "dsn holds a password"),
        ({"dsn": "postgresql://localhost:1/x"}, "no PostgreSQL answers at localhost:1; is it running, and is dsn right"),
    ],
)
def test_what_cannot_be_searched_is_said_in_one_sentence_before_the_first_query(
    options: dict[str, Any], reason: str, postgres: str, shop: Any
) -> None:
    assert shop is not None
    with pytest.raises((UsageError, ServiceError), match=reason):
        started(postgres, **options)


def test_numbers_of_a_filter_may_be_whole_or_not(postgres: str, shop: Any) -> None:
    assert shop is not None
    agent = started(postgres, filter={"number": (7, 7.5, 8)})
    assert sorted(agent.retrieve("login session", 50).files) == ["item-7", "item-8"]
    agent.close()


@pytest.mark.parametrize(
    ("kind", "rows", "reason"),
    [
        (
            "vector(2)",
            "('1', '[1,2]'), (NULL, '[1,3]'), (NULL, NULL)",
            "1 of 2 rows with a vector have no id in the column 'id' of shop.odd",
        ),
        (
            "vector",
            "('1', '[1,2]'), ('2', '[1,3]'), ('3', '[1]')",
            "1 of 3 vectors of shop.odd do not have 2 numbers as the first one has",
        ),
        ("vector", "('1', NULL)", "the table shop.odd holds no vectors"),
        ("vector(2)", "('1', NULL)", "the table shop.odd holds no vectors"),
    ],
)
def test_rows_that_cannot_be_named_or_compared_are_counted_at_the_start(
    kind: str, rows: str, reason: str, postgres: str, shop: Any
) -> None:
    shop.execute(f"CREATE TABLE shop.odd (id text, v {kind})")
    shop.execute(f"INSERT INTO shop.odd VALUES {rows}")  # noqa: S608  # of this file
    try:
        with pytest.raises(UsageError, match=reason):
            started(postgres, table="shop.odd", embedder={"name": "hashing", "size": 2})
    finally:
        shop.execute("DROP TABLE shop.odd")


def test_a_filter_chooses_the_rows_of_one_dimension(postgres: str, shop: Any) -> None:
    shop.execute("CREATE TABLE shop.odd (id text, model text, v vector)")
    shop.execute("INSERT INTO shop.odd VALUES ('1', 'old', '[1]'), ('2', 'new', '[1,3]'), ('3', 'new', '[1,2]')")
    agent = started(postgres, table="shop.odd", embedder={"name": "hashing", "size": 2}, filter={"model": "new"})
    assert sorted(agent.retrieve("login", 10).files) == ["2", "3"]
    assert agent.usage_of_last().ann_recall == 1
    agent.close()
    shop.execute("DROP TABLE shop.odd")


def test_every_search_after_a_lost_session_is_an_error_that_says_so(postgres: str, shop: Any) -> None:
    agent = started(postgres)
    shop.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'searchmark'")
    for _ in range(2):
        with pytest.raises(ServiceError, match="the connection to PostgreSQL was lost while the table was searched"):
            agent.retrieve("login", 5)
    agent.close()
