"""Quepid's rating exports: CSV with a query, a document and a rating per line, by whatever names the header gives."""

from __future__ import annotations

import io
from collections.abc import Iterator

from searchmark.errors import FormatError
from searchmark.files.csv_rows import csv_rows
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source, snake

QUERY = ("query", "query_text")
DOCUMENT = ("docid", "doc_id", "document_id", "id")
RATING = ("rating", "grade", "judgement", "judgment")


def read_quepid(source: Source) -> Suite:
    """Queries are cases named by their text; a line without a rating is not a judgment and is counted."""
    judged: dict[str, dict[str, Judgment]] = {}
    unrated = 0
    for entry in csv_entries(source):
        query = entry.text(*QUERY).strip()
        judgments = judged.setdefault(query, {})
        if not str(entry.first(*RATING) or "").strip():
            unrated += 1
            continue
        document = entry.text(*DOCUMENT)
        if document in judgments:
            raise entry.error("document", f"{document!r} is rated a second time for query {query!r}")
        judgments[document] = Judgment(document, grade=entry.whole(*RATING))
    cases = [Case(query, query, tuple(judgments.values())) for query, judgments in judged.items() if judgments]
    if not cases:
        raise FormatError(source.path, None, "holds no ratings")
    check_cases(source.path, cases)
    without = len(judged) - len(cases)
    counts = {"hits_without_rating": unrated, "queries_without_judgments": without}
    return Suite.from_cases(source.name, cases, dropped={reason: count for reason, count in counts.items() if count})


def csv_entries(source: Source) -> Iterator[Entry]:
    """The lines of a CSV file under the names of its header."""
    rows = csv_rows(source.path, io.StringIO(source.text, newline=""))
    header = [snake(name) for name in next(rows, (0, []))[1]]
    if len(set(header)) < len(header):
        raise FormatError(source.path, "line 1", "duplicate column name")
    for line, row in rows:
        if any(cell.strip() for cell in row):
            if len(row) != len(header):
                raise FormatError(source.path, f"line {line}", f"has {len(row)} columns, the header {len(header)}")
            yield Entry(source.path, f"line {line}", dict(zip(header, row, strict=True)))
