"""Requests to Elasticsearch's ``_rank_eval``: searches with rated documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from searchmark.errors import FormatError
from searchmark.records import Case, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.own_metrics import rank_eval_measures
from searchmark.suites.source import Entry, Source

DEEPEST = 50
TEXT_NAMES = ("query", "query_string", "query_text", "q", "text", "search")
TEXT_CLAUSES = {
    "match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "multi_match", "query_string",
    "simple_query_string", "combined_fields", "more_like_this", "semantic",
}  # fmt: skip
NO_TEXT = {"filter", "must_not", "knn", "sort", "aggs", "aggregations", "highlight", "_source", "rescore"}


def read_rank_eval(source: Source) -> Suite:
    """Every request is a case; its query is the text that is searched for, or the request itself where none is found."""
    exact = source.with_numbers
    templates = _templates(exact.top())
    requests = [_request(entry, templates) for entry in exact.entries()]
    gradings = Gradings(source)
    cases = [_case(entry, request, gradings) for entry, request in zip(source.entries(), requests, strict=True)]
    gradings.check()
    if not cases:
        raise FormatError(source.path, "requests", "is empty")
    check_cases(source.path, cases, "requests")
    suite = Suite.from_cases(source.name, cases, metadata=source.top().rest("requests"))
    metric = exact.top().values.get("metric")
    return suite if metric is None else rank_eval_measures(metric, suite)


def _templates(top: Entry) -> dict[str, dict[str, Any]]:
    """The templates that the file defines, as ``_search/template`` takes them; an old name of the source is understood."""
    found = {}
    for entry in top.entries("templates") if top.has("templates") else ():
        template = dict(entry.raw_mapping("template").values)
        found[entry.text("id")] = {"source" if key == "inline" else key: value for key, value in template.items()}
    return found


def _request(entry: Entry, templates: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """What is sent to search: a body, or a template with its parameters; one that the file does not define is a stored one."""
    if isinstance(body := entry.values.get("request"), dict):
        return {"body": body}
    if (name := entry.maybe_text("template_id")) is None:
        return None
    return {"body": {**templates.get(name, {"id": name}), "params": entry.values.get("params")}, "template": True}


def _case(entry: Entry, request: dict[str, Any] | None, gradings: Gradings) -> Case:
    wanted = entry.values.get("params") or entry.values.get("request")
    if not isinstance(wanted, dict):
        raise entry.error("request", "is missing or not a mapping")
    ratings = entry.entries("ratings")
    several = len({rating.maybe_text("_index") for rating in ratings}) > 1
    judgments = tuple(gradings.judgment(rating, _target(rating, several=several), "rating") for rating in ratings)
    own = {**request, "ids": "index/id"} if request and several else request
    fields = entry.rest("id", "ratings", "request")
    return Case(entry.text("id"), _searched_text(wanted) or json.dumps(wanted), judgments, request=own, fields=fields)


def _target(rating: Entry, *, several: bool) -> str:
    """The document's id; with its index in front where the ratings of a request are spread over several."""
    document = rating.text("_id")
    return f"{rating.text('_index')}/{document}" if several else document


def _searched_text(wanted: dict[str, Any]) -> str | None:
    """The text that a request searches for: under a name that such texts have, never a filter or a setting."""
    named = next((wanted[name] for name in TEXT_NAMES if isinstance(wanted.get(name), str) and wanted[name].strip()), None)
    texts = [value for value in wanted.values() if isinstance(value, str) and value.strip()]
    return named or (texts[0] if len(texts) == 1 == len(wanted) else None) or _text_of_clause(wanted)


def _text_of_clause(value: Any, depth: int = 0) -> str | None:
    """The text of the first clause that matches text, looking into everything but filters and settings."""
    if depth > DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, list):
        return next((text for item in value if (text := _text_of_clause(item, depth + 1))), None)
    for name, inner in value.items():
        if name in TEXT_CLAUSES and isinstance(inner, dict):
            found = inner.get("query") or next(iter(inner.values()), None)
            found = found.get("query") if isinstance(found, dict) else found
            if isinstance(found, str) and found.strip():
                return found
        elif name not in NO_TEXT and (deeper := _text_of_clause(inner, depth + 1)):
            return deeper
    return None
