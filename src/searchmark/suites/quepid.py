"""Quepid's rating exports: CSV with a query, a document and a rating per line, by whatever names the header gives."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from searchmark.errors import FormatError
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
    return Suite.from_cases(source.path.stem, cases, dropped={reason: count for reason, count in counts.items() if count})


def csv_entries(source: Source) -> Iterator[Entry]:
    """The lines of a CSV file under the names of its header."""
    csv.field_size_limit(1 << 30)
    reader = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    try:
        header = [snake(name) for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise FormatError(source.path, "line 1", "two columns have the same name")
        for row in reader:
            if any(cell.strip() for cell in row):
                if len(row) != len(header):
                    reason = f"has {len(row)} columns, the header {len(header)}"
                    raise FormatError(source.path, f"line {reader.line_num}", reason)
                yield Entry(source.path, f"line {reader.line_num}", dict(zip(header, row, strict=True)))
    except csv.Error as error:
        raise FormatError(source.path, f"line {reader.line_num}", f"not valid CSV: {error}") from error
