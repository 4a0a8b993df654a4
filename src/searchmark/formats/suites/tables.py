"""Suites as tables of questions and targets, whatever their columns are called."""

from __future__ import annotations

import io
import json
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.formats.detection import CASE_LISTS, FOREIGN_CASE_LISTS, snake_case
from searchmark.formats.input_file import column_names, most_frequent, placed_parquet_rows, table_records
from searchmark.formats.suites.checks import GradeReader, check_cases
from searchmark.formats.suites.source import Entry, Source, as_text
from searchmark.io.rows import csv_rows, parquet_columns
from searchmark.records.dataframes import PASSAGE_COLUMN_NAMES, SUITE_COLUMN_NAMES
from searchmark.records.judgments import Judgment, Match
from searchmark.records.sentences import list_first, quote_name
from searchmark.records.suite import Case, Suite

# Tables: CSV, TSV, Parquet, and lists of mappings in JSON, JSONL and YAML, all as entries under the names of their columns.

DELIMITERS = (",", "\t", ";")


@dataclass(frozen=True, eq=False)
class TableRows:
    """A table and how its columns are written."""

    source: Source

    @cached_property
    def columns(self) -> list[str]:
        """The names as they are written; in JSON those of all entries, in the order in which they come up."""
        if self.source.is_parquet:
            return parquet_columns(self.source.path)
        if self.source.structured:
            return list(dict.fromkeys(str(name) for row in self._mappings for name in row))
        return _header(self.source)

    @cached_property
    def names(self) -> set[str]:
        """The same in snake_case, in which they are compared."""
        return {snake_case(name) for name in self.columns}

    def entries(self) -> Iterator[Entry]:
        path = self.source.path
        if self.source.is_parquet:
            yield from (Entry.of(path, place, row) for place, row in placed_parquet_rows(self.source))
        elif self.source.structured:
            yield from self._listed()
        else:
            yield from csv_entries(self.source)

    @property
    def _mappings(self) -> list[dict[str, Any]]:
        return [row for row in _list_in(self.source.data)[1] if isinstance(row, dict)]

    def _listed(self) -> Iterator[Entry]:
        if self.source.by_line:
            yield from self.source.entries()
            return
        place, rows = _list_in(self.source.data)
        for number, row in enumerate(rows):
            yield Entry.of(self.source.path, f"{place}.{number}" if place else str(number), row)


def _list_in(data: Any) -> tuple[str, list[Any]]:
    """The list of rows and what it is called: the content itself, one under a usual name, or the only list of mappings."""
    if isinstance(data, list):
        return "", data
    if not isinstance(data, dict):
        return "", []
    lists = {str(name): rows for name, rows in data.items() if isinstance(rows, list) and dict in map(type, rows)}
    usual = next((name for name in (*CASE_LISTS, *FOREIGN_CASE_LISTS) for each in lists if snake_case(each) == name), None)
    list_name = next((name for name in lists if snake_case(name) == usual), next(iter(lists), "") if len(lists) == 1 else "")
    return list_name, lists.get(list_name, [])


def find_delimiter(source: Source) -> str:
    """What separates the columns of the first line; a comma where nothing does."""
    if source.extension == ".tsv":
        return "\t"
    return most_frequent(source.head.split("\n", 1)[0], DELIMITERS)


def _header(source: Source) -> list[str]:
    """The names in the first line; a quoted one may go on in the next, and only then all of the text is needed."""
    first, line_end, _ = source.head.partition("\n")
    text = source.text if '"' in first or not line_end else first
    rows = csv_rows(source.path, io.StringIO(text, newline=""), find_delimiter(source))
    return [name.strip() for name in next(rows, (0, []))[1]]


def csv_entries(source: Source, *, may_end_early: bool = False) -> Iterator[Entry]:
    """The lines of a table under the names of its header; one that may end early has nothing in its last columns."""
    rows = csv_rows(source.path, io.StringIO(source.text, newline=""), find_delimiter(source))
    header = column_names(source.path, rows, snake_case)
    with_content = ((line, row) for line, row in rows if any(cell.strip() for cell in row))
    for place, record in table_records(source.path, with_content, header, may_end_early=may_end_early):
        yield Entry(source.path, place, record)


# Which column of a table is what: by the names that such columns usually have, or by those that ``--map`` gives.

COLUMNS_SHOWN = 12

RANK_COLUMNS = ("rank", "position", "doc_position")  # what tells a list of answers from a list of judgments


@dataclass(frozen=True)
class TableRoles:
    """The columns of a table by role, in snake_case; None where it has none."""

    query: str | None
    target: str
    grade: str | None
    case: str | None
    category: str | None

    @property
    def match(self) -> Match:
        """Passages are compared as texts, files and paths as paths, anything else as ids."""
        if self.target in PASSAGE_COLUMN_NAMES:
            return "text"
        return "path" if {"file", "files", "path", "paths"} & {*self.target.split("_")} else "id"

    @property
    def read(self) -> set[str]:
        return {name for name in (self.query, self.target, self.grade, self.case, self.category) if name is not None}


def table_roles(path: Path, columns: Iterable[str], field_names: Mapping[str, str]) -> TableRoles:
    """The roles of columns; a name that was given must be one of theirs, and a table needs a target and a query or a case."""
    columns = list(columns)
    roles = {**usual_roles(columns), **{role: _given_column(path, columns, role, name) for role, name in field_names.items()}}
    missing = missing_roles(roles)
    if missing:
        raise FormatError(path, None, f"has no column for the {missing[0]}; {describe_columns(columns)}; {mapping_advice(missing)}")
    return TableRoles(**{role: roles.get(role) for role in SUITE_COLUMN_NAMES})  # type: ignore[arg-type]  # a target is there


def usual_roles(columns: Iterable[str]) -> dict[str, str]:
    """The roles that names of columns tell by themselves, each column in one role."""
    names, roles = {snake_case(name) for name in columns}, dict[str, str]()
    for role, usual in SUITE_COLUMN_NAMES.items():
        column = next((name for name in usual if name in names and name not in roles.values()), None)
        if column is not None:
            roles[role] = column
    return roles


def missing_roles(roles: Mapping[str, str]) -> list[str]:
    """What a table cannot do without: the target, and the query or at least the id of its case."""
    return [*([] if "query" in roles or "case" in roles else ["query"]), *([] if "target" in roles else ["target"])]


def refuse_run(path: Path, columns: Iterable[str]) -> None:
    """Refuse a table that lists answers with their ranks, where nothing but a score grades them."""
    names = {snake_case(name) for name in columns}
    rank = next((name for name in RANK_COLUMNS if name in names), None)
    if rank is not None and not names & {*SUITE_COLUMN_NAMES["grade"]} - {"score"}:
        raise FormatError(path, None, f"has a column {rank!r} and no grades, so it lists answers of a search: give it with --run")


def refuse_scores(path: Path, judgments: Iterable[Judgment]) -> None:
    """Refuse a table whose scores are fractions: those of a search are, and grades called so are hardly ever."""
    score = next((each.gain for each in judgments if each.gain is not None), None)
    if score is not None:
        reason = f"its scores are fractions, like {score}, so it lists answers of a search: give it with --run"
        raise FormatError(path, "score", f"{reason}; if they are grades, say so with --map suite.grade=score")


def describe_columns(columns: list[str]) -> str:
    return (
        f"it has {list_first([shortened(repr(name), 42) for name in columns], COLUMNS_SHOWN)}" if columns else "it has no columns"
    )


def mapping_advice(missing: Iterable[str]) -> str:
    options = " ".join(f"--map suite.{role}=COLUMN" for role in missing)
    return f"name yours with {options}"


def _given_column(path: Path, columns: list[str], role: str, name: str) -> str:
    if snake_case(name) in {snake_case(column) for column in columns}:
        return snake_case(name)
    near = get_close_matches(snake_case(name), {snake_case(column): column for column in columns}, 1)
    nearest = next((column for column in columns if near and snake_case(column) == near[0]), None)
    hint = f"; did you mean {nearest!r}?" if nearest is not None else ""
    raise FormatError(path, None, f"has no column {name!r}, which --map names as suite.{role}; {describe_columns(columns)}{hint}")


# Questions and what should be found for them, in a table: CSV, TSV, JSON, JSONL, YAML or Parquet, whatever its columns are
# called.
#
# One row per question, with one target or a list of them, or one row per pair of question and target, perhaps with a grade.

DIFFERENCES_SHOWN = 5

OTHER_TARGETS = {*SUITE_COLUMN_NAMES["target"]} - {*PASSAGE_COLUMN_NAMES}


@dataclass
class _QuestionRows:
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
    questions, counts, differences = _read_questions(source, rows, roles)
    if roles.grade == "score" and "grade" not in source.field_names:
        refuse_scores(source.path, (judgment for each in questions.values() for judgment in each.judgments.values()))
    cases = [
        Case(case, each.query, tuple(each.judgments.values()), category=each.category, fields=each.fields)
        for case, each in questions.items()
    ]
    judged = [case for case in cases if case.judgments]
    if not judged:
        raise FormatError(source.path, roles.target, "is empty in every row: nothing says what should be found")
    check_cases(source.path, judged)
    unjudged = tuple(case.id for case in cases if not case.judgments)
    counts["queries_without_judgments"] = len(unjudged)
    notes = (
        [f"columns that differ between rows of one case, left out: {list_first(sorted(differences), DIFFERENCES_SHOWN)}"]
        if differences
        else []
    )
    if roles.match == "text":
        notes += [f"{roles.target} is judged, {name} is not" for name in rows.columns if snake_case(name) in OTHER_TARGETS]
    return Suite.from_cases(
        source.name,
        judged,
        dropped={reason: count for reason, count in counts.items() if count},
        unjudged=unjudged,
        notes=tuple(notes),
    )


def _read_questions(source: Source, rows: TableRows, roles: TableRoles) -> tuple[dict[str, _QuestionRows], Counter[str], set[str]]:
    questions: dict[str, _QuestionRows] = {}
    counts, differences, gradings = Counter[str](), set[str](), GradeReader(source)
    split = not source.structured and roles.grade is None  # one row per pair needs no lists, and an id may have any letter
    for entry in rows.entries():
        query = _query_of_row(entry, roles)
        case = query if roles.case is None else _text_in_column(entry, roles.case)
        if case is None:
            raise entry.error(roles.case or roles.query or "query", "is empty")
        question = questions.get(case)
        own = _fields(entry, roles)
        if question is None:
            question = questions[case] = _QuestionRows(query, _text_in_column(entry, roles.category), own)
        else:
            differences |= _keep_common(entry, case, question, _QuestionRows(query, _text_in_column(entry, roles.category), own))
        targets = list(_targets(entry, roles.target, split=split, parted=roles.match != "text"))
        if roles.grade is not None and targets and _text_in_column(entry, roles.grade) is None:
            counts["hits_without_rating"] += len(targets)
            continue
        for target in targets:
            if target in question.judgments:
                raise entry.error(roles.target, f"{quote_name(target)} is named a second time for {quote_name(case)}")
            gain = 1.0 if roles.grade is None else gradings.value(entry, roles.grade)
            question.judgments[target] = Judgment.of_gain(target, gain, roles.match)
    gradings.check()
    return questions, counts, differences


def _query_of_row(entry: Entry, roles: TableRoles) -> str | None:
    if roles.query is None:
        return None
    query = _text_in_column(entry, roles.query)
    if query is None:
        raise entry.error(roles.query, "is empty")
    return query


def _text_in_column(entry: Entry, name: str | None) -> str | None:
    """The text in a column, None where it is blank."""
    value = None if name is None else entry.values.get(name)
    if isinstance(value, float | bool):
        return str(value)
    text = None if value is None or name is None else entry.known_text(name)
    return None if text is None else text.strip()


def _fields(entry: Entry, roles: TableRoles) -> dict[str, Any]:
    return {name: value for name, value in entry.rest(*roles.read).items() if not isinstance(value, str) or value.strip()}


def _keep_common(entry: Entry, case: str, question: _QuestionRows, row: _QuestionRows) -> set[str]:
    """Drop what differs between this row and earlier ones of its case, and return the names; the query must be one."""
    if row.query != question.query:
        earlier = f"but an earlier row of {quote_name(case)} has {quote_name(question.query or '')}"
        raise entry.error("query", f"is {quote_name(row.query or '')}, {earlier}")
    differing = {name for name in question.fields.keys() | row.fields.keys() if question.fields.get(name) != row.fields.get(name)}
    for name in differing:
        question.fields.pop(name, None)
    if row.category != question.category:
        question.category = None
        differing.add("category")
    return differing


def _targets(entry: Entry, name: str, *, split: bool, parted: bool) -> Iterator[str]:
    """What should be found: one target or a list; in a cell, a list in JSON or as Python prints it, or ``parted`` by semicolons."""
    value = entry.values.get(name)
    if isinstance(value, str) and split:
        value = _parse_list(value.strip(), parted=parted)
    for row, each in enumerate(value if isinstance(value, list) else [value]):
        target = as_text(each)
        if target is None and each is not None:
            raise entry.error(f"{name}.{row}" if isinstance(value, list) else name, f"{quote_name(str(each))} is not text")
        if target is not None and target.strip():
            yield target.strip()


def _parse_list(cell: str, *, parted: bool) -> list[Any]:
    for parse in (json.loads, literal_eval) if cell.startswith("[") else ():
        try:
            items = parse(cell)
        except (ValueError, RecursionError, SyntaxError, MemoryError):
            continue
        if isinstance(items, list):
            return items
    return [part.strip() for part in cell.split(";")] if parted else [cell]
