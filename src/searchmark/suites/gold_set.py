"""Gold sets mined from Git history: ``test_cases`` with ``ground_truth_files``, and ``metadata`` that names the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from searchmark.files.json_rows import row_text, write_rows
from searchmark.files.store import atomic_write
from searchmark.judging.matching import apart
from searchmark.records import Case, Judgment, Suite
from searchmark.suites.checks import check_cases
from searchmark.suites.losses import losses
from searchmark.suites.source import Entry, Source

_READ = ("id", "query", "ground_truth_files", "ground_truth_lines", "category", "tags", "origin")


def read_gold_set(source: Source) -> Suite:
    """Every changed file is a target of grade 1, matched by path, or every range of lines where a case has ``ground_truth_lines``.

    The origin is the commit unless one is named.
    """
    entries, top = source.entries(), source.top()
    if top.has("metadata"):
        top.mapping("metadata")  # refuses anything else
    metadata = top.rest("test_cases", "metadata") | (top.values.get("metadata") or {})
    return _suite(source.name, source.path, entries, metadata)


def suite_of_rows(name: str, rows: Iterable[Mapping[str, Any]], metadata: Mapping[str, Any]) -> Suite:
    """The suite that a gold set with these rows and this metadata would be read as."""
    path = Path(name)  # what an error would name
    return _suite(name, path, [Entry.of(path, f"test_cases.{number}", row) for number, row in enumerate(rows)], metadata)


def _suite(name: str, path: Path, entries: Iterable[Entry], metadata: Mapping[str, Any]) -> Suite:
    cases = [_case(entry) for entry in entries]
    check_cases(path, cases, "test_cases")
    return Suite.from_cases(name, cases, kind="gold-set", metadata=metadata)


def _case(entry: Entry) -> Case:
    return Case(
        id=entry.text("id"),
        query=entry.known_text("query"),
        judgments=_judgments(entry),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        origin=entry.maybe_text("origin") or entry.maybe_text("commit_hash"),
        fields=entry.rest(*_READ),
    )


def _judgments(entry: Entry) -> tuple[Judgment, ...]:
    files, lines = entry.texts("ground_truth_files"), entry.texts("ground_truth_lines")
    return tuple(Judgment(place, "lines") for place in lines) if lines else tuple(Judgment(path, "path") for path in files)


def write_gold_set(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write a gold set; yields what it could not hold."""
    with atomic_write(path) as file:
        write_rows(file, "test_cases", (row_text(_row(case)) for case in suite.cases), suite.metadata)
    match = "lines" if all(_of_lines(case) for case in suite.cases) else "path"
    return losses(suite, match=match, queries=True, groups=True, fields=True, metadata=True, origins=True, kind="gold-set")


def _of_lines(case: Case) -> bool:
    return bool(case.judgments) and all(judgment.match == "lines" for judgment in case.judgments)


def _row(case: Case) -> dict[str, Any]:
    named = {"id": case.id, "query": case.query or ""}
    row: dict[str, Any] = named | dict(case.fields) | named  # in front, and never overwritten
    targets = [judgment.target for judgment in case.judgments if judgment.grade > 0]
    row["ground_truth_files"] = list(dict.fromkeys(apart(target)[0] for target in targets)) if _of_lines(case) else targets
    if _of_lines(case):
        row["ground_truth_lines"] = targets
    if case.category:
        row["category"] = case.category
    if case.tags:
        row["tags"] = list(case.tags)
    if case.origin and case.origin != row.get("commit_hash"):
        row["origin"] = case.origin
    return row
