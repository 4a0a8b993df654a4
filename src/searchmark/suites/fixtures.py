"""Fixtures that bring their documents along: an expected ranking, score ranges, and what is relevant.

With n documents in the ranking, the first is worth n, the last 1; what is not relevant, 0. A fixture that does not say
what is relevant is about the order only. A fixture must be able to fail, so fewer than two documents are refused, and so
is one without a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from searchmark.records import Case, Document, Judgment, ScoreRange, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import LISTS, Entry, Source

_READ = ("name", "id", "query", "documents", "expected_ranking", "expected_score_ranges", "relevant", "category", "tags")
FEWEST_DOCUMENTS = 2


def read_fixtures(source: Source) -> Suite:
    entries = source.entries()
    cases = [_case(entry) for entry in entries]
    check_cases(source.path, cases, "fixtures")
    top = source.top()
    return Suite.from_cases(source.name, cases, model=top.maybe_text("model"), metadata=top.rest("model", *LISTS))


def _case(entry: Entry) -> Case:
    documents = _documents(entry)
    ranking = entry.texts("expected_ranking")
    if not ranking:
        raise entry.error("expected_ranking", "is missing or empty: there is nothing that the fixture expects")
    _refuse_unknown(entry, "expected_ranking", ranking, documents)
    relevant = entry.texts("relevant") if entry.has("relevant") else ranking
    _refuse_unknown(entry, "relevant", relevant, documents)
    ranges = _score_ranges(entry, documents)
    return Case(
        id=entry.text("name", "id"),
        query=entry.text("query"),
        judgments=tuple(_judgments(documents, ranking, relevant, ranges)),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        documents=tuple(documents.values()),
        order_only=not entry.has("relevant"),
        fields=entry.rest(*_READ),
    )


def _judgments(
    documents: Iterable[str], ranking: list[str], relevant: list[str], ranges: Mapping[str, ScoreRange | dict[str, ScoreRange]]
) -> Iterator[Judgment]:
    ranks = {document: rank for rank, document in enumerate(ranking, 1)}
    wanted = set(relevant)
    for document in documents:
        rank = ranks.get(document)
        worth = len(ranking) - rank + 1 if rank is not None else 1
        yield Judgment(document, grade=worth if document in wanted else 0, rank=rank, score_range=ranges.get(document))


def _documents(entry: Entry) -> dict[str, Document]:
    """Documents as a list with ids, or as a mapping from id to text."""
    if isinstance(entry.values.get("documents"), dict):
        inner = entry.raw_mapping("documents")
        documents = {name: Document(name, inner.text(name)) for name in inner}
    else:
        documents = {}
        for item in entry.entries("documents"):
            document = Document(
                item.text("id"), item.text("content", "text"), item.maybe_text("title"), item.rest("id", "content", "text", "title")
            )
            if document.id in documents:
                raise item.error("id", f"duplicate id {document.id!r} in this fixture")
            documents[document.id] = document
    if len(documents) < FEWEST_DOCUMENTS:
        raise entry.error("documents", f"has {len(documents)} entries; a ranking needs at least {FEWEST_DOCUMENTS}")
    return documents


def _refuse_unknown(entry: Entry, name: str, ids: list[str], documents: Mapping[str, Document]) -> None:
    seen: set[str] = set()
    for row, document in enumerate(ids):
        if document not in documents:
            raise entry.error(f"{name}.{row}", f"{document!r} is not one of the documents")
        if document in seen:
            raise entry.error(f"{name}.{row}", f"duplicate id {document!r}")
        seen.add(document)


def _score_ranges(entry: Entry, documents: Mapping[str, Document]) -> dict[str, ScoreRange | dict[str, ScoreRange]]:
    if not entry.has("expected_score_ranges"):
        return {}
    inner = entry.raw_mapping("expected_score_ranges")
    ranges: dict[str, ScoreRange | dict[str, ScoreRange]] = {}
    for document in inner:
        if document not in documents:
            raise inner.error(document, "is not one of the documents")
        value = inner.values[document]
        ranges[document] = _by_model(inner.raw_mapping(document)) if _names_models(value) else _range(inner, document, value)
    return ranges


def _names_models(value: Any) -> bool:
    """Whether these are ranges by model: each value of the mapping is a range of its own."""
    return isinstance(value, dict) and bool(value) and all(isinstance(each, dict | list) for each in value.values())


def _by_model(entry: Entry) -> dict[str, ScoreRange]:
    return {model: _range(entry, model, entry.values[model]) for model in entry}


def _range(entry: Entry, document: str, value: Any) -> ScoreRange:
    """``{"min": 0.7, "max": 1.0}`` or ``[0.7, 1.0]``."""
    if isinstance(value, dict):
        folded = {str(key).lower(): bound for key, bound in value.items()}
        value = [folded.get("min"), folded.get("max")]
    try:
        low, high = (float(bound) for bound in value if isinstance(value, list))
    except (TypeError, ValueError, OverflowError):
        raise entry.error(document, "is not a range of two numbers, min and max") from None
    if not low <= high:
        raise entry.error(document, f"its min {low:g} is not below its max {high:g}")
    return low, high
