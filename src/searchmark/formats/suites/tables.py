"""Questions and what should be found for them, in a table: CSV, TSV, JSON, JSONL, YAML or Parquet, whatever its columns are called.

One row per question, with one target or a list of them, or one row per pair of question and target, perhaps with a grade.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from searchmark.errors import FormatError, UsageError
from searchmark.records import Case, Judgment, Suite
from searchmark.records.shown import counted, listed, quoted
from searchmark.suites.checks import check_cases
from searchmark.suites.gradings import Gradings
from searchmark.suites.rows import TableRows
from searchmark.suites.source import Entry, Source, as_text
from searchmark.suites.table_roles import TableRoles, refuse_run, refuse_scores, table_roles

SHOWN = 5


@dataclass
class _AskedQuestion:
    """What the rows of one question say."""

    query: str | None
    category: str | None
    fields: dict[str, Any]
    judgments: dict[str, Judgment] = field(default_factory=dict)


def read_table(source: Source) -> Suite:
    """TableRows of one question are one case, named by its id, or by its text where it has none."""
    rows = TableRows(source)
    if not source.field_names:
        refuse_run(source.path, rows.columns)
    roles = table_roles(source.path, rows.columns, source.field_names)
    asked, counts, mixed = _asked(source, rows, roles)
    if roles.grade == "score" and "grade" not in source.field_names:
        refuse_scores(source.path, (judgment for each in asked.values() for judgment in each.judgments.values()))
    cases = [
        Case(case, each.query, tuple(each.judgments.values()), category=each.category, fields=each.fields)
        for case, each in asked.items()
    ]
    judged = [case for case in cases if case.judgments]
    if not judged:
        raise FormatError(source.path, roles.target, "is empty in every row: nothing says what should be found")
    check_cases(source.path, judged)
    unjudged = tuple(case.id for case in cases if not case.judgments)
    counts["queries_without_judgments"] = len(unjudged)
    dropped = {reason: count for reason, count in counts.items() if count}
    told = [f"columns that differ between rows of one case, left out: {listed(sorted(mixed), SHOWN)}"] if mixed else []
    return Suite.from_cases(source.name, judged, dropped=dropped, unjudged=unjudged, notes=tuple(told))


def _asked(source: Source, rows: TableRows, roles: TableRoles) -> tuple[dict[str, _AskedQuestion], Counter[str], set[str]]:
    asked: dict[str, _AskedQuestion] = {}
    counts, mixed, gradings = Counter[str](), set[str](), Gradings(source)
    split = not source.structured and roles.grade is None  # one row per pair needs no lists, and an id may have any letter
    for entry in rows.entries():
        query = _query(entry, roles)
        case = query if roles.case is None else _filled(entry, roles.case)
        if case is None:
            raise entry.error(roles.case or roles.query or "query", "is empty")
        known = asked.get(case)
        own = _fields(entry, roles)
        if known is None:
            known = asked[case] = _AskedQuestion(query, _filled(entry, roles.category), own)
        else:
            mixed |= _keep_common(entry, case, known, _AskedQuestion(query, _filled(entry, roles.category), own))
        targets = list(_targets(entry, roles.target, split=split))
        if roles.grade is not None and targets and _filled(entry, roles.grade) is None:
            counts["hits_without_rating"] += len(targets)
            continue
        for target in targets:
            if target in known.judgments:
                raise entry.error(roles.target, f"{quoted(target)} is named a second time for {quoted(case)}")
            worth = 1.0 if roles.grade is None else gradings.value(entry, roles.grade)
            known.judgments[target] = Judgment.of_gain(target, worth, roles.match)
    gradings.check()
    return asked, counts, mixed


def _query(entry: Entry, roles: TableRoles) -> str | None:
    if roles.query is None:
        return None
    query = _filled(entry, roles.query)
    if query is None:
        raise entry.error(roles.query, "is empty")
    return query


def _filled(entry: Entry, name: str | None) -> str | None:
    """The text in a column, None where it is blank."""
    value = None if name is None else entry.values.get(name)
    if isinstance(value, float | bool):
        return str(value)
    text = None if value is None or name is None else entry.known_text(name)
    return None if text is None else text.strip()


def _fields(entry: Entry, roles: TableRoles) -> dict[str, Any]:
    return {name: value for name, value in entry.rest(*roles.read).items() if not isinstance(value, str) or value.strip()}


def _keep_common(entry: Entry, case: str, known: _AskedQuestion, row: _AskedQuestion) -> set[str]:
    """Drop what differs between this row and earlier ones of its case, and return the names; the query must be one."""
    if row.query != known.query:
        earlier = f"but an earlier row of {quoted(case)} has {quoted(known.query or '')}"
        raise entry.error("query", f"is {quoted(row.query or '')}, {earlier}")
    differing = {name for name in known.fields.keys() | row.fields.keys() if known.fields.get(name) != row.fields.get(name)}
    for name in differing:
        known.fields.pop(name, None)
    if row.category != known.category:
        known.category = None
        differing.add("category")
    return differing


def _targets(entry: Entry, name: str, *, split: bool) -> Iterator[str]:
    """What should be found: one target, a list, or, in a cell of text, a list in JSON or separated by semicolons."""
    value = entry.values.get(name)
    if isinstance(value, str) and split:
        value = _listed(value.strip())
    for row, each in enumerate(value if isinstance(value, list) else [value]):
        target = as_text(each)
        if target is None and each is not None:
            raise entry.error(f"{name}.{row}" if isinstance(value, list) else name, f"{quoted(str(each))} is not text")
        if target is not None and target.strip():
            yield target.strip()


def _listed(cell: str) -> list[Any]:
    if cell.startswith("["):
        try:
            found = json.loads(cell)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return found
    return [part.strip() for part in cell.split(";")]


def refuse_unused(chosen: str, source: Source) -> None:
    """Names of columns and words for grades are for files that have such; for others they would be ignored in silence."""
    from searchmark.suites.gradings import GRADED

    if source.field_names and chosen != "table":
        named = counted(len(source.field_names), "column")
        raise UsageError(f"{source.path}: --map names {named} of the suite, but {chosen} files have names of their own")
    if source.grades and chosen not in GRADED:
        raise UsageError(f"{source.path}: --grades says what words are worth, but grades in {chosen} files are whole numbers")
