"""Snapshots of Quepid, as JSON and as CSV.

The JSON has the hits by the number of a query, whose text is beside them; documents that are there only since they were rated
(``rated_only``) were not found. The CSV does not tell these apart, and its case is the whole set of queries.
"""

from __future__ import annotations

from typing import Any

from searchmark.options.column_names import squashed
from searchmark.records import Run
from searchmark.runs.answers import ImportedAnswers
from searchmark.runs.source import RunFile
from searchmark.runs.tables import read_csv

COLUMNS = {"agent": "Snapshot Name", "query": "Query Text", "id": "Doc ID", "rank": "Doc Position"}
RATED_ONLY = "documents that the snapshot has only since they were rated, left out"


def is_snapshot(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("docs"), dict) and isinstance(data.get("queries"), list)


def is_snapshot_header(names: list[str]) -> bool:
    return set(COLUMNS.values()) <= set(names)


def read_quepid(file: RunFile) -> list[Run]:
    if file.head[:1] != b"{":
        return read_csv(file, COLUMNS)
    data = file.data
    if not is_snapshot(data):
        raise file.error(None, "is not a snapshot of Quepid: it has no docs and queries; export it with its documents")
    texts = {_number(query): query.get("query_text") for query in data["queries"] if isinstance(query, dict)}
    reader, answers = ImportedAnswers(file), []
    for number, docs in data["docs"].items():
        found = [doc for doc in docs if not (isinstance(doc, dict) and doc.get("rated_only"))] if isinstance(docs, list) else docs
        reader.count(RATED_ONLY, len(docs) - len(found) if isinstance(docs, list) else 0)
        text = texts.get(number)
        answers.append(reader.answer(number, f"docs.{number}", found, text if isinstance(text, str) else None))
    name = data.get("name")
    return [reader.run(answers, name if isinstance(name, str) and squashed(name) else None)]


def _number(query: dict[str, Any]) -> str:
    return str(query.get("query_id"))
