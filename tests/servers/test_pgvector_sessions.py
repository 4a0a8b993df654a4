"""What processes leave in a database, what they say where it refuses them, and that they keep its password to themselves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from searchmark import SearchmarkError, UsageError
from searchmark.agents.vectors import index_settings
from searchmark.agents.vectors.index import VectorIndex
from searchmark.agents.vectors.pgvector import PREFIX
from searchmark.errors import ServiceError
from tests.servers.conftest import PASSWORD
from tests.support.commands import searchmark

pytestmark = pytest.mark.servers

TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(%s) ORDER BY relname"
HOLDING = """
import sys
import numpy as np
from searchmark.agents.vectors import index_settings
index = index_settings({"name": "pgvector", "schema": sys.argv[1]}).open(4, "cosine")
index.put(np.arange(3), np.eye(3, 4, dtype=np.float32))
index.build()
print("ready", flush=True)
sys.stdin.readline()
print(index.search(np.eye(1, 4, dtype=np.float32)[0], 3).numbers.tolist(), flush=True)
index.close()
"""


@pytest.fixture
def database(postgres: str) -> Iterator[Any]:
    """A connection of the owner, and a schema that is new to every test."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA IF EXISTS ours CASCADE")


def tables(database: Any) -> list[str]:
    return [name for (name,) in database.execute(TABLES, ["ours"]).fetchall()]


def holding(postgres: str) -> subprocess.Popen[str]:
    """A process with an open index."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, "ours"],
        env={**os.environ, "SEARCHMARK_DSN": postgres},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def opened(postgres: str, **options: Any) -> VectorIndex:
    return index_settings({"name": "pgvector", "dsn": postgres, "schema": "ours", **options}).open(4, "cosine")


def test_a_closed_index_leaves_no_table(postgres: str, database: Any) -> None:
    index = opened(postgres)
    assert len(tables(database)) == 1
    index.close()
    assert tables(database) == []


def test_two_processes_have_tables_of_their_own(postgres: str, database: Any) -> None:
    one, other = holding(postgres), holding(postgres)
    assert len(tables(database)) == 2
    assert [process.communicate("\n")[0] for process in (one, other)] == ["[0, 1, 2]\n"] * 2
    assert tables(database) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start_and_what_lives_is_not(postgres: str, database: Any) -> None:
    killed, living = holding(postgres), holding(postgres)
    before = tables(database)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    left = [name for name in before if is_free(database, name)]
    assert len(left) == 1
    index = opened(postgres)
    assert left[0] not in tables(database)
    assert set(before) - set(left) < set(tables(database))
    assert living.communicate("\n")[0] == "[0, 1, 2]\n"
    index.close()
    assert tables(database) == []


def is_free(database: Any, name: str) -> bool:
    """Whether no session holds the table; the server may take a moment to see that its client is gone."""
    lock = int.from_bytes(bytes.fromhex(name.removeprefix(PREFIX)), "big", signed=True)
    database.execute("SET lock_timeout = '3s'")
    import psycopg

    try:
        database.execute("SELECT pg_advisory_lock(%s)", [lock])
    except psycopg.errors.LockNotAvailable:
        return False
    return bool(database.execute("SELECT pg_advisory_unlock(%s)", [lock]).fetchone()[0])


def test_a_table_with_our_name_alone_stays(postgres: str, database: Any) -> None:
    """Only what has our name, our comment and no living session is dropped."""
    database.execute("CREATE SCHEMA ours")
    named = f"{PREFIX}{'a' * 16}"
    database.execute(f"CREATE TABLE ours.{named} (id int)")
    opened(postgres).close()
    assert tables(database) == [named]


@pytest.mark.parametrize("made", ["TABLE ours.searchmark_notes (id int)", "VIEW ours.seen AS SELECT 1", "SEQUENCE ours.counted"])
def test_a_schema_with_something_of_others_is_refused_and_stays_as_it_is(made: str, postgres: str, database: Any) -> None:
    database.execute("CREATE SCHEMA ours")
    database.execute(f"CREATE {made}")
    before = database.execute("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('ours')").fetchall()
    with pytest.raises(UsageError, match=r"the schema 'ours' holds '\w+', which is not ours; set the option schema to a new name"):
        opened(postgres)
    assert database.execute("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('ours')").fetchall() == before


@pytest.mark.parametrize("name", ["", "pg_catalog", "information_schema", 'a"b', "a.b", "A", "x" * 64])
def test_a_schema_has_a_simple_name(name: str) -> None:
    with pytest.raises(SearchmarkError, match=r"schema is .* and must be up to 63 small letters, digits and _"):
        index_settings({"name": "pgvector", "schema": name})


def test_a_server_that_ends_the_session_is_an_error_and_no_answer(postgres: str, database: Any) -> None:
    index = opened(postgres)
    index.put(np.arange(3), np.eye(3, 4, dtype=np.float32))
    index.build()
    database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'searchmark'")
    for _ in range(2):
        with pytest.raises(ServiceError, match="the connection to PostgreSQL was lost while vectors were searched"):
            index.search(np.eye(1, 4, dtype=np.float32)[0], 3)
    index.close()


def keeper(postgres: str, password: str) -> str:
    return postgres.replace("postgres:@", f"keeper:{quote(password, safe='')}@", 1)


def test_a_wrong_password_is_said_without_it(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_DSN", keeper(postgres, "wrong-password-1"))
    with pytest.raises(ServiceError, match="refuses the user or the password of dsn") as caught:
        index_settings("pgvector").open(4, "cosine")
    assert "wrong-password-1" not in str(caught.value)


def test_who_may_not_create_a_schema_is_told_what_to_grant(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_DSN", keeper(postgres, PASSWORD))
    with pytest.raises(UsageError, match=r"'keeper' may not create the schema 'private' .* GRANT CREATE ON DATABASE"):
        index_settings({"name": "pgvector", "schema": "private"}).open(4, "cosine")


def test_who_may_not_create_tables_is_told_what_to_grant(postgres: str, database: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_DSN", keeper(postgres, PASSWORD))
    database.execute("CREATE SCHEMA closed")
    with pytest.raises(UsageError, match=r"'keeper' may not create tables in the schema 'closed'; .* GRANT USAGE"):
        index_settings({"name": "pgvector", "schema": "closed"}).open(4, "cosine")
    database.execute("DROP SCHEMA closed")


def test_a_database_without_the_extension_is_told(postgres: str, database: Any) -> None:
    database.execute("CREATE DATABASE bare")
    try:
        with pytest.raises(
            UsageError, match="the database 'bare' has no extension vector; its owner can run CREATE EXTENSION vector"
        ):
            opened(postgres.replace("/postgres?", "/bare?"))
    finally:
        database.execute("DROP DATABASE bare WITH (FORCE)")


def evaluated(folder: Path, index: Any, *options: str, variables: dict[str, str] | None = None) -> Any:
    documents = {"a.md": "users log in with a password", "b.md": "export invoices to a file", "c.md": "sessions end after an hour"}
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps({'id': name, 'text': text})}\n" for name, text in documents.items()))
    cases = [{"id": name, "query": text, "judgments": [{"target": name}]} for name, text in documents.items()]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "guide", "cases": cases}))
    config = {"embedder": {"name": "hashing"}, "index": index}
    (folder / "mine.json").write_text(json.dumps({"agents": [{"name": "vectors", "source": "semantic", "config": config}]}))
    asked = ["--gold-set", "suite.json", "--corpus", "corpus.jsonl", "--config", "mine.json", "--agent", "vectors", "-m", "RR"]
    outputs = [word for name in ("out.json", "out.md", "out.html") for word in ("-o", name)]
    kept = ["--save-run", "run.jsonl", "--journal", "journal", "--archive-folder", "archive"]
    return searchmark("evaluate", *asked, *outputs, *kept, *options, cwd=folder, env={**os.environ, **(variables or {})})


def test_semantic_is_evaluated_with_pgvector(postgres: str, database: Any, tmp_path: Path) -> None:
    done = evaluated(tmp_path, {"name": "pgvector", "schema": "ours", "ef_search": 50}, "--dsn", postgres)
    assert done.returncode == 0, done.stderr
    (agent,) = json.loads((tmp_path / "out.json").read_text())["agents"].values()
    assert {case: data["hits"][0]["id"] for case, data in agent["cases"].items()} == {name: name for name in agent["cases"]}
    assert tables(database) == []


@pytest.mark.parametrize("way", ["option", "whole", "password", "url", "refused"])
def test_no_output_holds_the_password(way: str, postgres: str, database: Any, tmp_path: Path) -> None:
    database.execute("CREATE SCHEMA ours AUTHORIZATION keeper")
    address, index = keeper(postgres, PASSWORD if way != "refused" else PASSWORD + "x"), {"name": "pgvector", "schema": "ours"}
    if way == "option":
        done = evaluated(tmp_path, index, "--dsn", address)
    elif way == "url":
        done = evaluated(tmp_path, {**index, "dsn": "${DATABASE_URL}"}, variables={"DATABASE_URL": address})
    elif way == "password":
        address = postgres.replace("postgres:@", "keeper:${KEEPER}@", 1)
        done = evaluated(tmp_path, {**index, "dsn": address}, variables={"KEEPER": quote(PASSWORD, safe="")})
    else:
        done = evaluated(tmp_path, index, variables={"SEARCHMARK_DSN": address})
    assert done.returncode == (5 if way == "refused" else 0), done.stderr
    written = [path.read_bytes().decode(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "hunter2"):
        assert not [text for text in (done.stdout, done.stderr, *written) if secret in text]


@pytest.mark.parametrize("flag", ["--offline", "--no-exec"])
def test_without_a_network_nothing_is_asked(flag: str, postgres: str, database: Any, tmp_path: Path) -> None:
    done = evaluated(tmp_path, "pgvector", flag, "--dsn", postgres)
    assert done.returncode == 4
    assert "asks a database, and --offline and --no-exec allow no network" in done.stderr
    assert tables(database) == []
