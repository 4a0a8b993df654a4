"""Groonga's HTTP server, in its own process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.servers.serving import DOCUMENTS, TEXTS, asked, evaluated, free_port, hits_of, served

pytestmark = pytest.mark.servers
FIELDS = ["title^3", "body"]


@pytest.fixture(scope="module")
def groonga(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port, program = tmp_path_factory.mktemp("groonga"), free_port(), shutil.which("groonga")
    assert program, "install Debian's groonga-bin"
    command = [program, "-n", "--protocol", "http", "--bind-address", "127.0.0.1", "--port", str(port), "-s", "db"]
    address = f"http://127.0.0.1:{port}"
    with served(command, f"{address}/d/status", folder):
        told(address, "table_create", name="Docs", flags="TABLE_HASH_KEY", key_type="ShortText")
        told(address, "column_create", table="Docs", name="title", type="ShortText")
        told(address, "column_create", table="Docs", name="body", type="Text")
        terms = {"key_type": "ShortText", "default_tokenizer": "TokenBigram", "normalizer": "NormalizerAuto"}
        told(address, "table_create", name="Terms", flags="TABLE_PAT_KEY", **terms)
        told(
            address,
            "column_create",
            table="Terms",
            name="docs",
            flags="COLUMN_INDEX|WITH_POSITION|WITH_SECTION",
            type="Docs",
            source="title,body",
        )
        told(address, "table_create", name="Keyless", flags="TABLE_NO_KEY")
        told(address, "column_create", table="Keyless", name="path", type="ShortText")
        told(address, "column_create", table="Keyless", name="body", type="Text")
        keyless = [{"path": path, "body": body} for path, (_, body) in DOCUMENTS.items()]
        assert asked(f"{address}/d/load?table=Keyless", keyless)[1] == len(keyless)
        rows = [{"_key": path, "title": title, "body": body} for path, (title, body) in DOCUMENTS.items()]
        assert asked(f"{address}/d/load?table=Docs", rows)[1] == len(rows)
        yield address


def told(address: str, command: str, **arguments: str) -> object:
    status, *result = asked(f"{address}/d/{command}?{urlencode(arguments)}")
    assert status[0] == 0
    return result[0]


def test_hits_and_scores_are_those_of_the_server(groonga: str, tmp_path: Path) -> None:
    answers, _ = evaluated(tmp_path, {"preset": "groonga", "url": groonga, "index": "Docs", "fields": FIELDS})
    wanted = {"table": "Docs", "match_columns": "title*3||body", "query": "open file", "output_columns": "_key,_score"}
    _, *rows = asked(f"{groonga}/d/select?{urlencode(wanted)}")[1][0][1:]
    assert hits_of(answers["open file"]) == sorted(((key, float(score)) for key, score in rows), key=lambda row: -row[1])
    assert [hit.id for hit in answers["open file"].hits] == ["b.md", "a.md"]


def test_any_text_is_a_query(groonga: str, tmp_path: Path) -> None:
    answers, _ = evaluated(tmp_path, {"preset": "groonga", "url": groonga, "index": "Docs", "fields": FIELDS}, TEXTS)
    assert {answer.status for answer in answers.values()} <= {"ok", "empty"}
    found = {query: [hit.id for hit in answer.hits] for query, answer in answers.items()}
    assert (found["a:b)"], found["-minus"], found["C++"]) == (["a.md"], ["b.md"], ["b.md"])
    assert (found["open OR"], found["größe ✓"], found["open*"]) == (["b.md"], ["d e.md"], [])


def test_a_query_in_its_own_syntax_fails_aloud(groonga: str, tmp_path: Path) -> None:
    config = {"preset": "groonga", "url": groonga, "index": "Docs", "fields": FIELDS, "parameters": {"query": "{query}"}}
    answers, shown = evaluated(tmp_path, config, ("open OR nothing", "(open"), code=2)
    assert [hit.id for hit in answers["open OR nothing"].hits] == ["b.md", "a.md", "c.md"]
    assert answers["(open"].status == "error"
    assert "Syntax error: <(open||>" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("options", "words"), [({"index": "Nope"}, "invalid name: <Nope>"), ({"fields": ["nix"]}, "unknown identifier: <nix>")]
)
def test_a_wrong_table_or_column_is_named(groonga: str, tmp_path: Path, options: dict[str, object], words: str) -> None:
    answers, shown = evaluated(
        tmp_path, {"preset": "groonga", "url": groonga, "index": "Docs", "fields": FIELDS, **options}, code=2
    )
    assert answers["open file"].status == "error"
    assert words in " ".join(shown.split())


def test_a_table_without_keys_gives_no_scores_for_ids(groonga: str, tmp_path: Path) -> None:
    config = {"preset": "groonga", "url": groonga, "index": "Keyless", "fields": ["body"]}
    answers, shown = evaluated(tmp_path, config, code=2)
    assert answers["open file"].status == "error"
    assert '{"_score": 2}' in " ".join(shown.split())  # lines are as long as a terminal is wide


@pytest.mark.parametrize(("columns", "status"), [("path,_score", "ok"), ("nix,_score", "error")])
def test_ids_are_in_the_first_column_that_is_asked_for(groonga: str, tmp_path: Path, columns: str, status: str) -> None:
    config = {"preset": "groonga", "url": groonga, "index": "Keyless", "fields": ["body"]}
    own = {"parameters": {"output_columns": columns}}
    answers, _ = evaluated(tmp_path, {**config, **own}, code=0 if status == "ok" else 2)
    assert answers["open file"].status == status
    assert all(hit.id in DOCUMENTS for hit in answers["open file"].hits)
