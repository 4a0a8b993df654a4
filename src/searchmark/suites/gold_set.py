"""Gold sets mined from Git history: ``test_cases`` with ``ground_truth_files``, and ``metadata`` that names the repository."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import Any

from searchmark.records import Case, Judgment, Suite
from searchmark.store import write_text
from searchmark.suites.checks import check_cases
from searchmark.suites.losses import losses
from searchmark.suites.source import Entry, Source

_READ = ("id", "query", "ground_truth_files", "category", "tags")


def read_gold_set(source: Source) -> Suite:
    """Every changed file is a target of grade 1, matched by path; cases of one commit share their origin."""
    entries = source.entries()
    cases = [_case(entry) for entry in entries]
    check_cases(source.path, cases, "test_cases")
    top = source.top()
    if top.has("metadata"):
        top.mapping("metadata")  # refuses anything else
    metadata = top.rest("test_cases", "metadata") | (top.values.get("metadata") or {})
    return Suite.from_cases(source.path.stem, cases, metadata=metadata)


def _case(entry: Entry) -> Case:
    return Case(
        id=entry.text("id"),
        query=entry.known_text("query"),
        judgments=tuple(Judgment(path, "path") for path in entry.texts("ground_truth_files")),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        origin=entry.maybe_text("commit_hash"),
        fields=entry.rest(*_READ),
    )


def write_gold_set(suite: Suite, path: str | PathLike[str]) -> Iterator[str]:
    """Write a gold set; yields what it could not hold."""
    rows = [_row(case) for case in suite.cases]
    write_text(path, json.dumps({"test_cases": rows, "metadata": suite.metadata}, indent=2) + "\n")
    return losses(suite, match="path", queries=True, groups=True, fields=True, metadata=True, origins=True)


def _row(case: Case) -> dict[str, Any]:
    row: dict[str, Any] = {**case.fields, "id": case.id, "query": case.query or ""}
    row["ground_truth_files"] = [judgment.target for judgment in case.judgments if judgment.grade > 0]
    if case.category:
        row["category"] = case.category
    if case.tags:
        row["tags"] = list(case.tags)
    if case.origin and "commit_hash" not in row:
        row["commit_hash"] = case.origin
    return row
