"""Requests that cases bring along: a file for ``_rank_eval`` is run request by request, as it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run, load_suite
from searchmark.formats.suites.native import write_native
from tests.support.commands import searchmark
from tests.support.replaying import Heard, Reply, replaying

# https://github.com/elastic/elasticsearch/blob/main/docs/reference/search/rank-eval.asciidoc has this form, with a template.
TEMPLATE = {"query": {"match": {"{{field}}": {"query": "{{query_string}}"}}}}
AMSTERDAM = {"query": {"match": {"text": "amsterdam"}}, "min_score": 0.5}
BERLIN = {"query": {"match": {"text": "berlin"}}, "size": 3, "_source": ["text"]}
PARAMS = {"query_string": "paris {query}", "field": "text", "boost": 2}
FILE = {
    "requests": [
        {"id": "amsterdam", "request": AMSTERDAM, "ratings": [{"_index": "mine", "_id": "doc2", "rating": 3}, {"_index": "mine", "_id": "doc1", "rating": 0}]},
        {"id": "berlin", "request": BERLIN, "ratings": [{"_index": "mine", "_id": "1", "rating": 1}, {"_index": "theirs", "_id": "1", "rating": 0}]},
        {"id": "paris", "template_id": "one_field", "params": PARAMS, "ratings": [{"_index": "mine", "_id": "doc2", "rating": 1}]},
    ],
    "templates": [{"id": "one_field", "template": {"inline": TEMPLATE}}],
    "metric": {"precision": {"k": 5}},
}  # fmt: skip
SENT = [
    ("/mine,theirs/_search", {"size": 100, "_source": False, **AMSTERDAM}),
    ("/mine,theirs/_search", BERLIN),
    ("/mine,theirs/_search/template", {"source": {"size": 100, "_source": False, **TEMPLATE}, "params": PARAMS}),
]


def found(heard: Heard) -> Reply:
    """The same two documents, whatever is asked."""
    hits = [{"_index": "mine", "_id": "1", "_score": 2.0}, {"_index": "mine", "_id": "doc2", "_score": 1.0}]
    return Reply({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits if heard.body else []}})


def evaluated(folder: Path, suite: str, **options: Any) -> tuple[dict[str, list[str]], list[Heard]]:
    """The hits of every case, and what arrived at the engine."""
    with replaying(found) as engine:
        config = {"preset": "elasticsearch", "url": engine.url, "index": "mine,theirs", **options}
        (folder / "agents.yaml").write_text(json.dumps({"agents": [{"name": "es", "source": "http", "config": config}]}))
        done = searchmark("evaluate", "--suite", suite, "--config", "agents.yaml", "--agent", "es", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    saved = max(folder.glob(".searchmark/runs/*/runs/es.jsonl"))
    return {answer.case: [hit.id for hit in answer.hits] for answer in load_run(saved).answers}, engine.heard


def sent(heard: list[Heard]) -> list[tuple[str, Any]]:
    """Each request once, in the order of the file."""
    distinct = [(each.path, each.body) for row, each in enumerate(heard) if each not in heard[:row]]
    return sorted(distinct, key=lambda each: SENT.index(each) if each in SENT else -1)


@pytest.mark.slow
def test_every_request_of_the_file_arrives_as_it_stands_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "rank_eval.json").write_text(json.dumps(FILE))
    hits, heard = evaluated(tmp_path, "rank_eval.json")
    assert sent(heard) == SENT
    assert hits == {"amsterdam": ["1", "doc2"], "berlin": ["mine/1", "mine/doc2"], "paris": ["1", "doc2"]}


def test_requests_live_on_in_our_own_format_and_in_yaml_their_numbers_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "rank_eval.json").write_text(json.dumps(FILE))
    suite = load_suite(tmp_path / "rank_eval.json")
    write_native(suite, tmp_path / "native.jsonl")
    assert list(load_suite(tmp_path / "native.jsonl").cases) == list(suite.cases)
    (tmp_path / "native.yaml").write_text(
        "schema_version: 1\ncases:\n- {id: a, query: q, request: {body: {min_score: 0.5, size: 3}}}\n"
    )
    assert load_suite(tmp_path / "native.yaml").cases[0].request == {"body": {"min_score": 0.5, "size": 3}}


def test_requests_are_part_of_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(FILE))
    changed = {
        **FILE,
        "requests": [
            {**each, "request": {**AMSTERDAM, "min_score": 0.6}} if "request" in each else each for each in FILE["requests"]
        ],
    }
    (tmp_path / "b.json").write_text(json.dumps(changed))
    first, second = load_suite(tmp_path / "a.json"), load_suite(tmp_path / "b.json")
    assert first.hashes["queries"] != second.hashes["queries"]
    assert first.hashes["judgments"] == second.hashes["judgments"]


@pytest.mark.slow
def test_the_query_is_asked_where_the_config_says_so(tmp_path: Path) -> None:
    (tmp_path / "rank_eval.json").write_text(json.dumps(FILE))
    hits, heard = evaluated(tmp_path, "rank_eval.json", requests="query", fields=["text"])
    assert {each.path for each in heard} == {"/mine,theirs/_search"}
    assert {each.body["query"]["multi_match"]["query"] for each in heard} == {"amsterdam", "berlin", "paris {query}"}
    assert hits["berlin"] == ["mine/1", "mine/doc2"]
