"""Graded labels, and the lists of queries beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import islice
from pathlib import Path

from searchmark.errors import FormatError, UsageError, shortened
from searchmark.formats.input_file import table_records
from searchmark.formats.suites.checks import GradeReader, check_cases
from searchmark.formats.suites.source import Entry, Source
from searchmark.io.packed import find_file, inner_suffix
from searchmark.io.rows import csv_rows
from searchmark.io.store import read_utf8
from searchmark.records.judgments import Judgment
from searchmark.records.suite import Case, Defaults, Suite

# Lists of queries: text with one per line, or JSON, JSONL and TSV with ``id``, ``query`` and ``type``.
#
# In text a query's id is its line number, counted from 1 as an editor counts; blank lines and comments (``#``) have a number
# and no
# query. A line of text that is data of another format is refused: as a query it would be asked with all its marks.

QUERY_FILE_EXTENSIONS = (".txt", ".jsonl", ".tsv", ".json", ".ndjson")

_ID, _QUERY = ("id", "query_id"), ("query", "text")


@dataclass(frozen=True)
class ListedQuery:
    """What is asked, and what kind of query it is if that is known."""

    id: str
    text: str
    type: str | None
    position: str  # in its file


def read_queries(path: Path) -> dict[str, ListedQuery]:
    """Queries by id."""
    extension = inner_suffix(path)
    listed_queries: Iterator[ListedQuery]
    if extension in (".json", ".jsonl", ".ndjson"):
        listed_queries = map(_from_entry, Source(path, pipe=True).entries("queries"))
    elif extension in (".tsv", ".csv"):
        listed_queries = map(_from_entry, _rows(path, "\t" if extension == ".tsv" else ","))
    else:
        listed_queries = _from_lines(path)
    queries: dict[str, ListedQuery] = {}
    for query in listed_queries:
        if query.id in queries:
            raise FormatError(path, query.position, f"duplicate id {query.id!r}")
        queries[query.id] = query
    if not queries:
        raise FormatError(path, None, "holds no queries")
    return queries


def queries_file(folder: Path) -> Path | None:
    """The one list of queries in a folder: ``queries.txt``, or else the only ``queries_*``; None if there is none."""
    for pattern in ("queries", "queries_*"):
        paths = sorted(path for ending in QUERY_FILE_EXTENSIONS for path in folder.glob(pattern + ending) if path.is_file())
        if len(paths) > 1:
            names = ", ".join(path.name for path in paths)
            raise FormatError(folder, None, f"holds several lists of queries ({names}); name one with --topics, or keep one")
        if paths:
            return paths[0]
    return None


def _from_entry(entry: Entry) -> ListedQuery:
    return ListedQuery(entry.text(*_ID), entry.text(*_QUERY).strip(), entry.maybe_text("type", "category"), entry.place)


def _from_lines(path: Path) -> Iterator[ListedQuery]:
    for number, line in enumerate(read_utf8(path, pipe=True).split("\n"), 1):
        text, position = line.strip(), f"line {number}"
        if not text or text.startswith("#"):
            continue
        if "\t" in text or text.startswith(("{", "[{")):
            kind = (
                "tab-separated; name the file .tsv and let its first line be: id, query, type"
                if "\t" in text
                else "JSON; name the file .jsonl"
            )
            raise FormatError(path, position, f"{shortened(text, 60)!r} is {kind}")
        yield ListedQuery(str(number), text, None, position)


def _rows(path: Path, separator: str) -> Iterator[Entry]:
    """The rows of a table whose first line names its columns; empty cells are absent."""
    text = read_utf8(path, pipe=True).replace("\r\n", "\n")
    if separator == ",":
        rows = csv_rows(path, StringIO(text, newline=""))
    else:  # a tab separates, and a quotation mark is one of the query's own
        rows = ((number, line.split(separator)) for number, line in enumerate(text.split("\n"), 1) if line.strip())
    for number, first in islice(rows, 1):
        header = [name.strip() for name in first]
        if not {*_QUERY} & {*header} or not {*_ID} & {*header}:
            raise FormatError(path, f"line {number}", "the first line must name the columns, id and query among them")
        for place, row in table_records(path, rows, header):
            yield Entry.of(path, place, {name: value for name, value in row.items() if value.strip()})


# Graded labels: ``labels.jsonl`` with ``query_id``, ``item_id`` and ``grade``, and a list of queries beside it.
#
# A label may hold the text and the type of its query as well. Then it needs no list, and where there is one, both must say the
# same:
# a line that was inserted into the list would shift all labels to other queries. Labels name a query of a text file as 12, "12"
# or "q12".

LABELS_FILE = "labels.jsonl"

LABEL_DEFAULTS = Defaults(rel=2, gain="exp")


@dataclass
class _QueryLabels:
    """What the labels of one query say."""

    text: str | None = None
    type: str | None = None
    judgments: dict[str, Judgment] = field(default_factory=dict)


def has_labels(source: Source) -> bool:
    return find_file(source.path / LABELS_FILE) is not None  # there may be a queries.jsonl as well


def read_labels(source: Source) -> Suite:
    """A folder with both files, or a labels file and where the queries are; grade 2 and above is relevant."""
    name, topics = source.name, source.topics
    if topics is not None and topics.field_names:
        raise UsageError(
            f"{topics.path}: --map names a field of the suite, but lists of queries for labels have id, query and type"
        )
    queries = None if topics is None else topics.path
    if source.path.is_dir():
        labels = source.path / LABELS_FILE
        queries, source = queries or queries_file(source.path), replace(source, path=find_file(labels) or labels)
    listed_queries = None if queries is None else read_queries(queries)
    labels_by_query = _read_query_labels(source, queries, listed_queries)
    cases = [
        _labelled_case(each, labels_by_query.get(each), listed_queries)
        for each in (labels_by_query if listed_queries is None else listed_queries)
    ]
    unjudged = [case.id for case in cases if not case.judgments]
    cases = [case for case in cases if case.judgments]
    check_cases(source.path, cases)
    counts = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    return Suite.from_cases(name, cases, kind="labels", defaults=LABEL_DEFAULTS, dropped=counts)


def _labelled_case(case: str, labels: _QueryLabels | None, listed_queries: dict[str, ListedQuery] | None) -> Case:
    labels = labels or _QueryLabels()
    listed_query = None if listed_queries is None else listed_queries[case]
    kind = (None if listed_query is None else listed_query.type) or labels.type
    text = labels.text if listed_query is None else listed_query.text
    return Case(case, text, tuple(labels.judgments.values()), fields={} if kind is None else {"type": kind})


def _read_query_labels(source: Source, path: Path | None, listed_queries: dict[str, ListedQuery] | None) -> dict[str, _QueryLabels]:
    labels_by_query: dict[str, _QueryLabels] = {}
    gradings = GradeReader(source)
    for entry in source.entries():
        query, item = _query_of_label(entry, listed_queries), entry.text("item_id")
        labels = labels_by_query.setdefault(query, _QueryLabels())
        if item in labels.judgments:
            raise entry.error("item_id", f"{item!r} is labelled a second time for query {query!r}")
        _check_text(entry, labels, path, None if listed_queries is None else listed_queries[query])
        labels.judgments[item] = gradings.judgment(entry, item, "grade")
    gradings.check()
    if not labels_by_query:
        raise FormatError(source.path, None, "holds no labels")
    return labels_by_query


def _check_text(entry: Entry, labels: _QueryLabels, path: Path | None, listed_query: ListedQuery | None) -> None:
    """The text of a query is the same in all its labels, and in the list of queries."""
    text = entry.maybe_text("query")
    labels.type = labels.type or entry.maybe_text("type")
    if text is None:
        return
    text = text.strip()
    if listed_query is not None and listed_query.text != text:
        where = f"{path.name if path else 'the list'}, {listed_query.position}"
        raise entry.error(
            "query", f"is {shortened(text, 80)!r}, but {where}, is {shortened(listed_query.text, 80)!r}; label the queries again"
        )
    if labels.text not in (None, text):
        raise entry.error(
            "query", f"is {shortened(text, 80)!r}, but another label of this query has {shortened(labels.text or '', 80)!r}"
        )
    labels.text = text


def _query_of_label(entry: Entry, queries: dict[str, ListedQuery] | None) -> str:
    query_id = entry.text("query_id")
    if queries is None or query_id in queries:
        return query_id
    number = query_id[1:] if query_id[:1] in ("q", "Q") else query_id
    if number not in queries:
        raise entry.error("query_id", f"{query_id!r} is not the number of a line with a query")
    return number
