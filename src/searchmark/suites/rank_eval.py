"""Requests to Elasticsearch's ``_rank_eval``: searches with rated documents."""

from __future__ import annotations

import json
from typing import Any

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source

DEEPEST = 50


def read_rank_eval(source: Source) -> Suite:
    """Every request is a case; its query is the text that is searched for, or the request itself where none is found."""
    cases = [_case(entry) for entry in source.entries("requests")]
    if not cases:
        raise FormatError(source.path, "requests", "is empty")
    check_cases(source.path, cases, "requests")
    return Suite.from_cases(source.path.stem, cases, metadata=source.top().rest("requests"))


def _case(entry: Entry) -> Case:
    wanted = entry.values.get("params") or entry.values.get("request")
    if not isinstance(wanted, dict):
        raise entry.error("request", "is missing or not a mapping")
    indexes = {rating.maybe_text("_index") for rating in entry.entries("ratings")}
    judgments = tuple(
        Judgment(_target(rating, several=len(indexes) > 1), grade=rating.whole("rating")) for rating in entry.entries("ratings")
    )
    return Case(entry.text("id"), _searched_text(wanted) or json.dumps(wanted), judgments, fields=entry.rest("id", "ratings"))


def _target(rating: Entry, *, several: bool) -> str:
    """The document's id; with its index in front where the ratings of a request are spread over several."""
    document = rating.text("_id")
    return f"{rating.text('_index')}/{document}" if several else document


def _searched_text(value: Any, depth: int = 0) -> str | None:
    """The first text that stands where query texts stand: under ``query``, or as the value of a field in a match."""
    if depth > DEEPEST:
        return None
    if isinstance(value, str):
        return value if value.strip() else None
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(value, dict) and "query" in value:
        inner = [value["query"], *inner]
    return next((text for item in inner if (text := _searched_text(item, depth + 1))), None)
