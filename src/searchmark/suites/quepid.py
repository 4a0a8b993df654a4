"""Quepid's exports: CSV with a query, a document and a rating per line, books with a column per judge, and its JSON files.

A query is a case, named by its text. Ratings are kept as they are, fractions too.
"""

from __future__ import annotations

from searchmark.records import Judgment, Suite
from searchmark.suites.gradings import Gradings
from searchmark.suites.quepid_json import read_quepid_json
from searchmark.suites.quepid_ratings import Rated, combined_rating, several_judges
from searchmark.suites.rows import TableRows, csv_entries
from searchmark.suites.source import Entry, Source

QUERY = ("query", "query_text")
DOCUMENT = ("docid", "doc_id", "document_id", "id")
RATING = ("rating", "grade", "judgement", "judgment")
BOOK = ("query", "docid")  # and then the judges, by their names


def read_quepid(source: Source) -> Suite:
    """Any export of Quepid; a line without a rating is not a judgment and is counted."""
    if source.structured:
        return read_quepid_json(source)
    return _read_book_csv(source) if is_book(TableRows(source)) else _read_csv(source)


def is_book(rows: TableRows) -> bool:
    """Whether these are the judgments of a book: columns of numbers behind the query and the document."""
    judges = rows.columns[len(BOOK) :]
    if tuple(name.lower() for name in rows.columns[: len(BOOK)]) != BOOK or not judges or rows.names & {*RATING}:
        return False
    written = [str(value).strip() for entry in rows.entries() for name, value in entry.values.items() if name not in BOOK]
    return any(written) and all(_is_number(value) for value in written if value)


def _is_number(value: str) -> bool:
    return value.removeprefix("-").replace(".", "", 1).isascii() and value.removeprefix("-").replace(".", "", 1).isdigit()


def _read_csv(source: Source) -> Suite:
    rated, gradings = Rated(), Gradings(source)
    for entry in TableRows(source).entries() if source.is_parquet else csv_entries(source, may_end_early=True):
        query = entry.text(*QUERY).strip()
        rated.judged.setdefault(query, {})
        if not str(entry.first(*RATING) or "").strip():
            rated.unrated += 1
            continue
        rated.add(entry, query, gradings.judgment(entry, entry.text(*DOCUMENT), *RATING))
    gradings.check()
    return rated.suite(source, source.name)


def _read_book_csv(source: Source) -> Suite:
    """One column per judge; judgments that are all whole numbers are rounded when they are combined, as Quepid does it."""
    rows, gradings = TableRows(source), Gradings(source)
    found: list[tuple[Entry, list[float]]] = []
    for entry in rows.entries():
        judges = entry.rest(*BOOK)
        found.append((entry, [gradings.worth(entry, judge, value) for judge, value in judges.items() if str(value).strip()]))
    gradings.check()
    whole = all(rating == round(rating) for _, ratings in found for rating in ratings)
    rated, several = Rated(), 0
    for entry, ratings in found:
        query = entry.text("query").strip()
        rated.judged.setdefault(query, {})
        if not ratings:
            rated.unrated += 1
            continue
        several += len(ratings) > 1
        rated.add(entry, query, Judgment.of_gain(entry.text("docid"), combined_rating(ratings, whole=whole)))
    return rated.suite(source, source.name, notes=several_judges(several))
