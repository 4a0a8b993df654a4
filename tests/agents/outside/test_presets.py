"""Presets against requests and answers as vendors document them; tests/servers has those that can be run."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, RetrievalResult, SearchmarkError, UsageError
from searchmark.agents.outside.http import HttpAgent
from searchmark.agents.outside.presets import PRESETS
from searchmark.agents.registry import settings_of_agent
from searchmark.agents.vectors import load_embedder
from searchmark.config.agents import parse_source
from tests.support.replaying import Heard, Reply, replaying

SHAPES = sorted((Path(__file__).parent / "shapes").glob("*.json"))
RUN_FOR_REAL = {"chroma", "datasette", "groonga"}
ES_NOTHING = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": []}}


def agent_of(**options: Any) -> HttpAgent:
    spec = AgentSpec("engine", parse_source("http"), {"retries": 0, **options})
    return HttpAgent(settings_of_agent(HttpAgent.Config, spec))


def asked(answer: Any, query: str = "harbour", k: int = 5, **options: Any) -> tuple[RetrievalResult, list[Heard]]:
    """What an agent makes of an answer, and what the engine heard."""
    with replaying(lambda _: Reply(answer)) as engine, closing(agent_of(url=engine.url, **options)) as agent:
        return agent.retrieve(query, k), engine.heard


def vector_in(expected: Any, query: str, config: dict[str, Any]) -> Any:
    """The expected body with the vector that the embedder makes of the query."""
    vector = load_embedder(config["embedder"]).embed_query(query).tolist() if "embedder" in config else None
    return json.loads(json.dumps(expected).replace('"VECTOR"', json.dumps(vector)).replace("VECTOR", json.dumps(vector)))


def test_every_preset_was_run_or_has_a_recorded_shape() -> None:
    assert {path.stem.partition("_")[0] for path in SHAPES} | RUN_FOR_REAL == set(PRESETS)


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_a_request_and_its_answer_are_as_the_vendor_documents_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAPE_KEY", "planted")
    shape = json.loads(path.read_text())
    config, wanted = shape["config"], shape["request"]
    result, (heard,) = asked(shape["response"], shape["query"], shape["k"], preset=path.stem.partition("_")[0], **config)
    assert (heard.method, heard.path, heard.parameters) == (wanted["method"], wanted["path"], wanted["parameters"])
    assert heard.body == vector_in(wanted["body"], shape["query"], config)
    assert wanted["headers"].items() <= heard.headers.items()
    assert list(map(list, zip(result.files, result.scores or (), strict=True))) == shape["hits"]


def test_scores_never_contradict_the_order() -> None:
    for path in SHAPES:
        scores = [score for _, score in json.loads(path.read_text())["hits"]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "answer", "words"),
    [
        ("elasticsearch", {**ES_NOTHING, "timed_out": True}, "timed out"),
        ("elasticsearch", {**ES_NOTHING, "_shards": {"failed": 1, "failures": [{"reason": {"reason": "too many clauses"}}]}}, "too many clauses"),
        ("opensearch", {**ES_NOTHING, "_shards": {"failed": 2}}, "shards failed"),
        ("solr", {"responseHeader": {"status": 0, "partialResults": True}, "response": {"docs": []}}, "partial"),
        ("solr", {"responseHeader": {"status": 400}, "error": {"msg": "undefined field titel", "code": 400}}, "undefined field titel"),
        ("weaviate", {"data": {"Get": {"Place": None}}, "errors": [{"message": "no such prop"}]}, "no such prop"),
        ("typesense", {"hits": [], "search_cutoff": True}, "cut off"),
        ("groonga", [[-63, 1.5, 0.1, "Syntax error: <(open||>", []]], "Syntax error"),
        ("datasette", {"rows": [], "truncated": True}, "max_returned_rows"),
        ("meilisearch", {"results": []}, "no list at 'hits'"),
    ],
)  # fmt: skip
def test_an_answer_that_says_that_it_failed_is_an_error_and_no_zero(preset: str, answer: Any, words: str) -> None:
    options: dict[str, Any] = {"index": "docs/pages" if preset == "datasette" else "Place", "fields": ["title"]}
    with pytest.raises(SearchmarkError, match=words):
        asked(answer, preset=preset, **options)


def test_an_engine_that_finds_nothing_is_not_an_error() -> None:
    assert asked(ES_NOTHING, preset="elasticsearch", index="places")[0].files == []
    assert asked([[0, 1.5, 0.1], [[[0], [["_key", "ShortText"]]]]], preset="groonga", index="D", fields=["b"])[0].files == []


GROONGA = {"preset": "groonga", "index": "Docs", "fields": ["body"]}


def groonga_answer(columns: list[str], *rows: list[Any]) -> Any:
    return [[0, 1.5, 0.1], [[[len(rows)], [[name, "ShortText"] for name in columns], *rows]]]


@pytest.mark.parametrize("parameters", [{}, {"output_columns": "path,_score"}])
def test_a_score_is_no_id_where_groonga_leaves_out_the_column_of_ids(parameters: dict[str, str]) -> None:
    with pytest.raises(SearchmarkError, match=r"a hit cannot be read: .*_score"):
        asked(groonga_answer(["_score"], [1], [1]), **GROONGA, parameters=parameters)


def test_columns_of_groonga_are_found_by_their_names() -> None:
    answer = groonga_answer(["_score", "path"], [2, "a.md"], [1, "b.md"])
    result, _ = asked(answer, **GROONGA, parameters={"output_columns": "path, _score"})
    assert (result.files, result.scores) == (["a.md", "b.md"], [2.0, 1.0])


def test_what_the_config_says_goes_before_the_preset() -> None:
    results = {"id": "_source.path"}
    body = {"query": {"match": {"title": "{query}"}}, "size": "{k}"}
    answer = {**ES_NOTHING, "hits": {"hits": [{"_id": "1", "_score": 2.0, "_source": {"path": "a.md"}}]}}
    result, (heard,) = asked(
        answer, "x", 3, preset="elasticsearch", index="places", body=body, results=results, parameters={"routing": "r"}
    )
    assert heard.body == {"query": {"match": {"title": "x"}}, "size": 3}
    assert heard.parameters == {"routing": "r"}
    assert (result.files, result.scores) == (["a.md"], [2.0])


@pytest.mark.parametrize("preset", ["meilisearch", "typesense"])
@pytest.mark.parametrize("query", ['"', "-", ' "" --', "*"])
def test_a_query_without_words_does_not_find_all_documents(preset: str, query: str) -> None:
    with pytest.raises(SearchmarkError, match="has no word to search for, and the engine would return all documents"):
        asked({"hits": []}, query, preset=preset, index="docs", fields=["title"])


def test_parameters_are_replaced_one_by_one() -> None:
    answer = {"responseHeader": {"status": 0}, "response": {"docs": []}}
    _, (heard,) = asked(answer, 'say "x"', preset="solr", index="c", parameters={"q": "{query}", "rows": 7, "mm": "2"})
    assert heard.parameters == {"q": 'say "x"', "defType": "edismax", "fl": "id,score", "rows": "7", "wt": "json", "mm": "2"}


@pytest.mark.parametrize("results", [{}, {"distance": "score"}])
def test_a_distance_of_qdrant_becomes_a_score_of_the_right_direction(results: dict[str, str]) -> None:
    answer = {"result": {"points": [{"id": 1, "score": 0.5}, {"id": 2, "score": 4.0}]}, "status": "ok"}
    options = {"preset": "qdrant", "index": "places", "embedder": {"name": "hashing", "size": 4}, "results": results}
    assert asked(answer, **options)[0].scores == [-0.5, -4.0]


def test_several_indexes_are_named_as_elasticsearch_reads_them() -> None:
    _, (heard,) = asked(ES_NOTHING, preset="elasticsearch", index="logs-*,places")
    assert heard.path == "/logs-*,places/_search"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "elastic", "index": "a"}, "'elastic' is not a preset; there are elasticsearch, opensearch"),
        ({"preset": "elasticsearch"}, "the preset elasticsearch needs index"),
        ({"preset": "typesense", "index": "a"}, "the preset typesense needs fields"),
        ({"preset": "qdrant"}, "the preset qdrant needs index and embedder"),
        ({"preset": "meilisearch", "index": "a", "fields": ["title^3"]}, "Meilisearch takes no weights with a search"),
        ({"preset": "solr", "index": "a", "fields": ["title^x"]}, "the field 'title^x' cannot be read"),
        ({"preset": "datasette", "index": "pages"}, "is DATABASE/TABLE"),
        ({"preset": "weaviate", "index": "my places"}, "cannot be the name of a collection"),
    ],
)
def test_a_config_that_cannot_be_asked_is_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        agent_of(url="http://127.0.0.1:9", **options)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("preset", "answer", "words"),
    [
        ("elasticsearch", {"error": {"type": "index_not_found_exception", "reason": "no such index [x]"}, "status": 404}, "no such index [x]"),
        ("solr", {"responseHeader": {"status": 404}, "error": {"msg": "no core x", "code": 404}}, "no core x"),
        ("meilisearch", {"message": "Index `x` not found.", "code": "index_not_found"}, "Index `x` not found."),
        ("typesense", {"message": "Could not find a collection"}, "Could not find a collection"),
        ("qdrant", {"status": {"error": "Not found: Collection x"}, "time": 0.1}, "Not found: Collection x"),
    ],
)  # fmt: skip
def test_an_error_says_what_the_engine_says_of_it(preset: str, answer: Any, words: str) -> None:
    options: dict[str, Any] = {"index": "x", "fields": ["title"], "embedder": "hashing"}
    with replaying(lambda _: Reply(answer, 404)) as engine, closing(agent_of(url=engine.url, preset=preset, **options)) as agent:
        with pytest.raises(SearchmarkError) as failed:
            agent.retrieve("harbour", 5)
        assert f"404 '{words}'" in str(failed.value)
