"""Gold sets mined from Git history: ``test_cases`` with ``ground_truth_files``, and ``metadata`` that names the repository."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii
from os import PathLike
from pathlib import Path
from typing import IO, Any

from searchmark.files.store import atomic_write
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.losses import losses
from searchmark.suites.source import Entry, Source

_READ = ("id", "query", "ground_truth_files", "category", "tags", "origin")


def read_gold_set(source: Source) -> Suite:
    """Every changed file is a target of grade 1, matched by path; the origin is the commit unless one is named."""
    entries, top = source.entries(), source.top()
    if top.has("metadata"):
        top.mapping("metadata")  # refuses anything else
    metadata = top.rest("test_cases", "metadata") | (top.values.get("metadata") or {})
    return _suite(source.path.stem, source.path, entries, metadata)


def suite_of_rows(name: str, rows: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]) -> Suite:
    """The suite that a gold set with these rows and this metadata would be read as."""
    path = Path(name)  # what an error would name
    return _suite(name, path, [Entry.of(path, f"test_cases.{number}", row) for number, row in enumerate(rows)], metadata)


def _suite(name: str, path: Path, entries: Iterable[Entry], metadata: Mapping[str, Any]) -> Suite:
    cases = [_case(entry) for entry in entries]
    check_cases(path, cases, "test_cases")
    return Suite.from_cases(name, cases, metadata=metadata)


def _case(entry: Entry) -> Case:
    return Case(
        id=entry.text("id"),
        query=entry.known_text("query"),
        judgments=tuple(Judgment(path, "path") for path in entry.texts("ground_truth_files")),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        origin=entry.maybe_text("origin") or entry.maybe_text("commit_hash"),
        fields=entry.rest(*_READ),
    )


def write_gold_set(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write a gold set; yields what it could not hold."""
    with atomic_write(path) as file:
        write_rows(file, (row_text(_row(case)) for case in suite.cases), suite.metadata)
    return losses(suite, match="path", queries=True, groups=True, fields=True, metadata=True, origins=True)


def write_rows(file: IO[bytes], rows: Iterable[bytes], metadata: Mapping[str, Any]) -> None:
    """Write a gold set row by row, each as JSON already: there may be more of them than fit into memory."""
    file.write(b'{\n  "test_cases": [')
    separator = b"\n    "
    for row in rows:
        file.write(separator)
        file.write(row)
        separator = b",\n    "
    file.write(b"\n  ]" if separator[:1] == b"," else b"]")
    file.write(f',\n  "metadata": {_indented(metadata, "  ")}\n}}\n'.encode("ascii"))


def row_text(row: Mapping[str, Any]) -> bytes:
    """A row as it stands in the file."""
    return _indented(row, "    ").encode("ascii")


def _indented(value: object, margin: str) -> str:
    """JSON over several lines, as ``json.dumps(value, indent=2)`` writes it behind a margin, in a third of the time."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    inner = f"{margin}  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{encode_basestring_ascii(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join([f"{inner}{_indented(item, inner)}" for item in value]) + f"\n{margin}]"
    return json.dumps(value)


def _row(case: Case) -> dict[str, Any]:
    named = {"id": case.id, "query": case.query or ""}
    row: dict[str, Any] = named | dict(case.fields) | named  # in front, and never overwritten
    row["ground_truth_files"] = [judgment.target for judgment in case.judgments if judgment.grade > 0]
    if case.category:
        row["category"] = case.category
    if case.tags:
        row["tags"] = list(case.tags)
    if case.origin and case.origin != row.get("commit_hash"):
        row["origin"] = case.origin
    return row
