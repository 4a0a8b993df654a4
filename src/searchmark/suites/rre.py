"""Rating files of the Rated Ranking Evaluator: topics, query groups, and queries that share their relevant documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.source import Entry, Source, as_text


def read_rre(source: Source) -> Suite:
    """Queries of one group have the same targets and the same origin; the topic is the category."""
    gradings = Gradings(source)
    cases = [case for topic, group in _groups(source.top()) for case in _cases(topic, group, gradings)]
    gradings.check()
    numbered = [Case(str(number), **_without_id(case)) for number, case in enumerate(cases, 1)]
    if not numbered:
        raise FormatError(source.path, None, "holds no queries")
    check_cases(source.path, numbered)
    return Suite.from_cases(source.name, numbered, metadata=source.top().rest("topics", "query_groups", "queries"))


def _without_id(case: Case) -> dict[str, Any]:
    return {
        "query": case.query,
        "judgments": case.judgments,
        "category": case.category,
        "origin": case.origin,
        "fields": case.fields,
    }


def _groups(top: Entry) -> Iterator[tuple[str | None, Entry]]:
    """Groups with the topic that they belong to, however deep the file nests them."""
    for topic in top.entries("topics") if top.has("topics") else ():
        for group in topic.entries("query_groups"):
            yield topic.maybe_text("description", "name"), group
    for group in top.entries("query_groups") if top.has("query_groups") else ():
        yield None, group
    for query in top.entries("queries") if top.has("queries") else ():
        yield None, query


def _cases(topic: str | None, group: Entry, gradings: Gradings) -> Iterator[Case]:
    judgments = tuple(_judgments(group, gradings))
    queries = group.entries("queries") if group.has("queries") else [group]
    name = group.maybe_text("name", "description")
    for query in queries:
        placeholders = query.values.get("placeholders")
        words = Entry.of(query.path, f"{query.place}.placeholders", placeholders) if placeholders is not None else query
        text = next((words.text(key) for key in ("$query", "query", "$q", "q") if words.has(key)), None)
        marked = [key for key in words if key.startswith("$")]
        if text is None and len(marked) == 1:
            text = words.text(marked[0])
        if text is None:
            raise query.error("placeholders", "has no $query")
        fields = {"group": name} if name else {}
        yield Case("", text, judgments, category=topic, origin=name if len(queries) > 1 else None, fields=fields)


def _judgments(group: Entry, gradings: Gradings) -> Iterator[Judgment]:
    """``{id: {"gain": 3}}`` or ``{"3": [id, ...]}``."""
    documents = group.values.get("relevant_documents")
    if not isinstance(documents, dict):
        raise group.error("relevant_documents", "is not a mapping from id to gain or from gain to ids")
    for key, value in documents.items():
        place = f"relevant_documents.{key}"
        if isinstance(value, list):
            gain = gradings.worth(group, place, key)
            for row, document in enumerate(value):
                target = as_text(document)
                if not target:
                    raise group.error(f"{place}.{row}", f"{document!r} is not an id")
                yield Judgment.of_gain(target, gain)
        else:
            inner = Entry.of(group.path, f"{group.place}.{place}", value)
            yield gradings.judgment(inner, str(key), "gain", "rating")
