"""Graded labels: ``labels.jsonl`` with ``query_id``, ``item_id`` and ``grade``, and a text file with one query per line.

A query's id is its line number, counted from 1 as an editor counts; blank lines and comments (``#``) have a
number and no query. Labels name it as 12, "12" or "q12".
"""

from __future__ import annotations

from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.store import read_text
from searchmark.records import Case, Defaults, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source

QUERIES, LABELS = "queries.txt", "labels.jsonl"
DEFAULTS = Defaults(rel=2, gain="exp")


def read_labels(source: Source, queries: Path | None = None) -> Suite:
    """A folder with both files, or a labels file and where the queries are; grade 2 and above is relevant."""
    if source.path.is_dir():
        name, queries, source = source.path.name, source.path / QUERIES, Source(source.path / LABELS)
    else:
        name = source.path.stem
    texts = None if queries is None else read_queries(queries)
    graded = _graded(source, texts)
    ids = list(graded if texts is None else texts)
    cases = [Case(case, None if texts is None else texts[case], tuple(graded.get(case, ()))) for case in ids]
    unjudged = [case.id for case in cases if not case.judgments]
    cases = [case for case in cases if case.judgments]
    check_cases(source.path, cases)
    dropped = {"queries_without_judgments": len(unjudged)} if unjudged else {}
    return Suite.from_cases(name, cases, kind="labels", defaults=DEFAULTS, dropped=dropped)


def read_queries(path: Path) -> dict[str, str]:
    """Queries by line number."""
    lines = enumerate(read_text(path, pipe=True).split("\n"), 1)
    queries = {str(number): line.strip() for number, line in lines if line.strip() and not line.lstrip().startswith("#")}
    if not queries:
        raise FormatError(path, None, "holds no queries")
    return queries


def _graded(source: Source, queries: dict[str, str] | None) -> dict[str, list[Judgment]]:
    graded: dict[str, list[Judgment]] = {}
    seen: set[tuple[str, str]] = set()
    for entry in source.entries():
        query, item = _query(entry, queries), entry.text("item_id")
        if (query, item) in seen:
            raise entry.error("item_id", f"{item!r} is labelled a second time for query {query!r}")
        seen.add((query, item))
        graded.setdefault(query, []).append(Judgment(item, grade=entry.whole("grade")))
    if not graded:
        raise FormatError(source.path, None, "holds no labels")
    return graded


def _query(entry: Entry, queries: dict[str, str] | None) -> str:
    written = entry.text("query_id")
    if queries is None or written in queries:
        return written
    number = written[1:] if written[:1] in ("q", "Q") else written
    if number not in queries:
        raise entry.error("query_id", f"{written!r} is not the number of a line with a query")
    return number
