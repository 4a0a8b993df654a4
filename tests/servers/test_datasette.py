"""Datasette over FTS5 tables, in its own process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.servers.serving import BIN, DOCUMENTS, TEXTS, asked, evaluated, free_port, hits_of, served

pytestmark = pytest.mark.servers
RANKED = 'select path, -rank as score from pages where pages match \'"open" "file"\' order by rank'


@pytest.fixture(scope="module")
def datasette(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("datasette")
    with sqlite3.connect(folder / "my.docs.db") as database:
        database.execute("create virtual table pages using fts5(path unindexed, title, body)")
        database.executemany("insert into pages values (?, ?, ?)", [(path, *texts) for path, texts in DOCUMENTS.items()])
    database.close()
    port = free_port()
    command = [str(BIN / "datasette"), "serve", "my.docs.db", "--host", "127.0.0.1", "--port", str(port)]
    with served(command, f"http://127.0.0.1:{port}/-/versions.json", folder):
        yield f"http://127.0.0.1:{port}"


def test_hits_are_ranked_as_the_table_ranks_them(datasette: str, tmp_path: Path) -> None:
    answers, shown = evaluated(tmp_path, {"preset": "datasette", "url": datasette, "index": "my.docs/pages"})
    rows = asked(f"{datasette}/my~2Edocs.json?{urlencode({'sql': RANKED, '_shape': 'array'})}")
    assert hits_of(answers["open file"]) == [(row["path"], row["score"]) for row in rows]
    assert [hit.id for hit in answers["open file"].hits] == ["b.md", "a.md"]
    assert "engine on suite" in shown


def test_any_text_is_a_query(datasette: str, tmp_path: Path) -> None:
    answers, _ = evaluated(tmp_path, {"preset": "datasette", "url": datasette, "index": "my.docs/pages"}, TEXTS)
    assert {answer.status for answer in answers.values()} <= {"ok", "empty"}
    found = {query: [hit.id for hit in answer.hits] for query, answer in answers.items()}
    assert (found["a:b)"], found["-minus"], found["OR"], found["größe ✓"]) == (["a.md"], ["b.md"], ["b.md"], ["d e.md"])


def test_searched_columns_are_those_of_the_config(datasette: str, tmp_path: Path) -> None:
    config = {"preset": "datasette", "url": datasette, "index": "my.docs/pages", "fields": ["title"]}
    answers, _ = evaluated(tmp_path, config, ("open", *TEXTS))
    assert [hit.id for hit in answers["open"].hits] == ["b.md"]
    assert {answer.status for answer in answers.values()} <= {"ok", "empty"}


def test_the_search_of_a_table_page_can_be_asked_without_the_preset(datasette: str, tmp_path: Path) -> None:
    parameters = {"_search": "{query}", "_size": "{k}", "_shape": "objects"}
    config = {"url": f"{datasette}/my~2Edocs/pages.json", "parameters": parameters, "results": {"hits": "rows", "id": "path"}}
    answers, _ = evaluated(tmp_path, config)
    assert [hit.id for hit in answers["open file"].hits] == ["a.md", "b.md"]  # by their keys, and not by relevance


@pytest.mark.parametrize(("index", "words"), [("my.docs/nope", "no such table: nope"), ("nope/pages", "404")])
def test_a_wrong_table_or_database_is_named(datasette: str, tmp_path: Path, index: str, words: str) -> None:
    answers, shown = evaluated(tmp_path, {"preset": "datasette", "url": datasette, "index": index}, code=2)
    assert answers["open file"].status == "error"
    assert words in " ".join(shown.split())
