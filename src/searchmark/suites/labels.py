"""Graded labels: ``labels.jsonl`` with ``query_id``, ``item_id`` and ``grade``, and a list of queries beside it.

A label may hold the text and the type of its query as well. Then it needs no list, and where there is one, both must say the same:
a line that was inserted into the list would shift all labels to other queries. Labels name a query of a text file as 12, "12"
or "q12".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from searchmark.errors import FormatError, shortened
from searchmark.files.packed import found_file
from searchmark.records import Case, Defaults, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.queries import ListedQuery, queries_file, read_queries
from searchmark.suites.source import Entry, Source

LABELS = "labels.jsonl"
DEFAULTS = Defaults(rel=2, gain="exp")


@dataclass
class _Labelled:
    """What the labels of one query say."""

    text: str | None = None
    type: str | None = None
    judgments: dict[str, Judgment] = field(default_factory=dict)


def read_labels(source: Source, queries: Path | None = None) -> Suite:
    """A folder with both files, or a labels file and where the queries are; grade 2 and above is relevant."""
    name = source.name
    if source.path.is_dir():
        labels = source.path / LABELS
        queries, source = queries or queries_file(source.path), replace(source, path=found_file(labels) or labels)
    asked = None if queries is None else read_queries(queries)
    labelled = _labelled(source, queries, asked)
    cases = [_case(each, labelled.get(each), asked) for each in (labelled if asked is None else asked)]
    unjudged = [case.id for case in cases if not case.judgments]
    cases = [case for case in cases if case.judgments]
    check_cases(source.path, cases)
    dropped = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    return Suite.from_cases(name, cases, kind="labels", defaults=DEFAULTS, dropped=dropped)


def _case(case: str, labelled: _Labelled | None, asked: dict[str, ListedQuery] | None) -> Case:
    labelled = labelled or _Labelled()
    listed = None if asked is None else asked[case]
    kind = (None if listed is None else listed.type) or labelled.type
    text = labelled.text if listed is None else listed.text
    return Case(case, text, tuple(labelled.judgments.values()), fields={} if kind is None else {"type": kind})


def _labelled(source: Source, path: Path | None, asked: dict[str, ListedQuery] | None) -> dict[str, _Labelled]:
    graded: dict[str, _Labelled] = {}
    gradings = Gradings(source)
    for entry in source.entries():
        query, item = _query(entry, asked), entry.text("item_id")
        labelled = graded.setdefault(query, _Labelled())
        if item in labelled.judgments:
            raise entry.error("item_id", f"{item!r} is labelled a second time for query {query!r}")
        _check_text(entry, labelled, path, None if asked is None else asked[query])
        labelled.judgments[item] = gradings.judgment(entry, item, "grade")
    gradings.check()
    if not graded:
        raise FormatError(source.path, None, "holds no labels")
    return graded


def _check_text(entry: Entry, labelled: _Labelled, path: Path | None, listed: ListedQuery | None) -> None:
    """The text of a query is the same in all its labels, and in the list of queries."""
    text = entry.maybe_text("query")
    labelled.type = labelled.type or entry.maybe_text("type")
    if text is None:
        return
    text = text.strip()
    if listed is not None and listed.text != text:
        where = f"{path.name if path else 'the list'}, {listed.position}"
        raise entry.error(
            "query", f"is {shortened(text, 80)!r}, but {where}, is {shortened(listed.text, 80)!r}; label the queries again"
        )
    if labelled.text not in (None, text):
        raise entry.error(
            "query", f"is {shortened(text, 80)!r}, but another label of this query has {shortened(labelled.text or '', 80)!r}"
        )
    labelled.text = text


def _query(entry: Entry, queries: dict[str, ListedQuery] | None) -> str:
    written = entry.text("query_id")
    if queries is None or written in queries:
        return written
    number = written[1:] if written[:1] in ("q", "Q") else written
    if number not in queries:
        raise entry.error("query_id", f"{written!r} is not the number of a line with a query")
    return number
