"""Which format a suite file has, and why none fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from searchmark.errors import FormatError
from searchmark.formats import Shape, SuiteFormat, first_that_fits
from searchmark.formats.detection import (
    CASE_LISTS,
    KINDS_BY_ENTRY_NAMES,
    KINDS_BY_TOP_NAMES,
    SUITE_ROLE,
    has_judgment_lists,
    refuse_other_kinds,
    snake_case,
)
from searchmark.formats.suites.source import Source

_QRELS_COLUMNS = 4

LONGEST_MESSAGE = 1200  # of a sentence that names all formats and all columns


def recognise_format(source: Source) -> str:
    """The name of the format; a table where --map names its columns."""
    if source.path.is_dir():
        name = _first_that_fits(source, "folder")
        if name is None:
            missing = "queries.jsonl (BEIR), labels.jsonl (graded labels) or Parquet files in qrels and queries (MTEB)"
            raise FormatError(source.path, None, f"is a folder without {missing}")
        return name
    if source.field_names:
        return "table"
    if source.is_parquet:
        return _first_that_fits(source, "parquet") or _detect_table(source, {})
    if source.structured:
        return _detect_data(source)
    return _detect_table(source, {}) if source.extension == ".csv" else _detect_text(source)


def _first_that_fits(source: Source, shape: Shape) -> str | None:
    format_ = first_that_fits(SuiteFormat, source, shape)
    return None if format_ is None else format_.name


def _detect_text(source: Source) -> str:
    special = _first_that_fits(source, "text")
    if special is not None:
        return special
    from searchmark.formats.suites.tables import TableRows, missing_roles, usual_roles

    first = source.first_line
    columns = len(first.split())
    # It names columns if its ending says so, or if one name at least is one that such columns have.
    roles = usual_roles(TableRows(source).columns) if source.extension == ".tsv" or any(mark in first for mark in ",;\t") else {}
    header = source.extension == ".tsv" or bool(roles)
    if header and not missing_roles(roles):
        return _detect_table(source, {})
    if columns == _QRELS_COLUMNS or not first or not header:
        refuse_other_kinds(source.path, SUITE_ROLE)
        return _first_that_fits(source, "qrels") or "qrels"  # whose readers say what is wrong with a line
    attempts = {
        "qrels": f"line 1 has {columns} words instead of {_QRELS_COLUMNS}",
        "beir": "the first line is not query-id corpus-id score",
        "ltr": "no qid:",
    }
    return _detect_table(source, attempts)


def _detect_table(source: Source, attempts: Mapping[str, str]) -> str:
    from searchmark.formats.suites.engines import DOCUMENT_COLUMNS, QUERY_COLUMNS, RATING_COLUMNS
    from searchmark.formats.suites.tables import TableRows, missing_roles, refuse_run, usual_roles

    rows = TableRows(source)
    refuse_run(source.path, rows.columns)
    special = _first_that_fits(source, "table")
    if special is not None or not missing_roles(usual_roles(rows.columns)):
        return special or "table"
    required_columns = (("query", QUERY_COLUMNS), ("document", DOCUMENT_COLUMNS), ("rating", RATING_COLUMNS))
    missing = [what for what, names in required_columns if not rows.names & {*names}]
    raise _nothing_fits(source, {**attempts, "quepid": f"no {', '.join(missing)}"}, rows.columns)


def _detect_data(source: Source) -> str:
    data = source.data
    top = {snake_case(str(key)): value for key, value in data.items()} if isinstance(data, dict) else {}
    top_match = next((each for each in KINDS_BY_TOP_NAMES if each.names <= top.keys()), None)
    if top_match is not None:
        if top_match.format is None:
            raise FormatError(source.path, None, f"is {top_match.kind.name}, not a suite; {top_match.kind.advice}")
        if top_match.format == "native":
            refuse_other_kinds(source.path, SUITE_ROLE)  # other files of our own have versions too
        return top_match.format
    if has_judgment_lists(top):
        return "opensearch"
    entries = next((top[name] for name in CASE_LISTS if isinstance(top.get(name), list)), None) if isinstance(data, dict) else data
    fields = _fields_of_entries(entries if isinstance(entries, list) else [])
    if "schema_version" in fields:
        refuse_other_kinds(source.path, SUITE_ROLE)
        return "native"
    if "metrics" in fields and "documents" not in fields:
        raise FormatError(source.path, None, "is a baseline (load_baseline_metrics reads it), not a suite")
    format_ = next((each.format for each in KINDS_BY_ENTRY_NAMES if each.names <= fields.keys()), None)
    if format_ == "opensearch" and isinstance(fields["ratings"], dict):
        return "quepid"
    return format_ or _detect_rows(source)


def _fields_of_entries(entries: list[Any]) -> dict[str, Any]:
    """The fields of all entries, each with the first value that it has: the first query may be one that nobody rated."""
    fields: dict[str, Any] = {}
    for entry in entries:
        for key, value in entry.items() if isinstance(entry, dict) else ():
            fields.setdefault(snake_case(str(key)), value)
    return fields


def _detect_rows(source: Source) -> str:
    """A list of mappings with a query and a target by usual names; native for what is not even a list."""
    from searchmark.formats.suites.tables import TableRows, missing_roles, refuse_run, usual_roles

    rows = TableRows(source)
    if not rows.columns and source.is_script:
        raise FormatError(source.path, None, "its cases have no expectedIds, and no other format was recognised")
    if not rows.columns:
        refuse_other_kinds(source.path, SUITE_ROLE)
        return "native"  # whose reader says what is missing
    refuse_run(source.path, rows.columns)
    if not missing_roles(usual_roles(rows.columns)):
        return "table"
    entry_names = [each for each in KINDS_BY_ENTRY_NAMES if each.format != "native"]  # which needs more than judgments
    by_entry = {each.format for each in entry_names}
    reasons: dict[str, str] = {}
    for each in (*entry_names, *(each for each in KINDS_BY_TOP_NAMES if each.format not in by_entry)):
        columns = " and ".join(sorted(each.names - rows.names))
        if each.format is not None:
            reasons[each.format] = f"{reasons[each.format]} or {columns}" if each.format in reasons else f"no {columns}"
    raise _nothing_fits(source, reasons, rows.columns)


def _nothing_fits(source: Source, attempts: Mapping[str, str], columns: list[str]) -> FormatError:
    """Which formats were tried, what each missed, what the file has instead, and the option that helps."""
    from searchmark.formats.suites.tables import describe_columns, mapping_advice, missing_roles, usual_roles

    if not columns:
        return FormatError(source.path, None, "is empty: it has neither columns nor rows")
    missing = missing_roles(usual_roles(columns))
    all_attempts = {**attempts, "table": f"no column for the {' or the '.join(missing)}"}
    reasons = ", ".join(f"{name} ({missed})" for name, missed in all_attempts.items())
    reason = f"no format of suites fits: tried {reasons}; {describe_columns(columns)}; {mapping_advice(missing)}"
    return FormatError(source.path, None, reason, LONGEST_MESSAGE)
