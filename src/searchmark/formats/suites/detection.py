"""Which format a file has, by what it holds; where none fits, what each of them missed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.known_kinds import BY_ENTRY, BY_TOP, SUITE, TriedFormat, snake
from searchmark.files.packed import found_file
from searchmark.files.recognised import refuse_others
from searchmark.suites.diversity_qrels import names_aspects
from searchmark.suites.letor import is_letor
from searchmark.suites.mteb import is_mteb_qrels, mteb_qrels
from searchmark.suites.quepid import DOCUMENT, QUERY, RATING, is_book
from searchmark.suites.rows import TableRows
from searchmark.suites.source import LISTS, Source
from searchmark.suites.table_roles import columns_told, how_to_map, missing_roles, refuse_run, usual_roles

_HEADER_OF_BEIR = ["query-id", "corpus-id", "score"]
_QRELS_COLUMNS = 4
LONGEST = 1200  # of a sentence that names all formats and all columns


def recognised_format(source: Source) -> str:
    """The name of the format; a table where somebody says what its columns are."""
    if source.path.is_dir():
        return _detect_folder(source)
    if source.field_names:
        return "table"
    if source.is_parquet:
        return "mteb" if is_mteb_qrels(source.path) else _detect_table(source, [])
    if source.structured:
        return _detect_data(source)
    if source.extension == ".csv":
        return _detect_table(source, [])
    return _detect_text(source)


def _detect_folder(source: Source) -> str:
    folder = source.path
    if found_file(folder / "labels.jsonl"):  # it may have a queries.jsonl of its own
        return "labels"
    if found_file(folder / "queries.jsonl"):
        return "beir"
    if mteb_qrels(folder) or is_mteb_qrels(folder):
        return "mteb"
    reason = "is a folder without queries.jsonl (BEIR), labels.jsonl (graded labels) or Parquet files in qrels and queries (MTEB)"
    raise FormatError(folder, None, reason)


def _detect_text(source: Source) -> str:
    lines = [line for line in source.head.split("\n") if line.strip() and not line.startswith("#")]
    first = lines[0].strip() if lines else ""
    if first.split("\t") == _HEADER_OF_BEIR:
        return "beir"
    if is_letor(first):
        return "ltr"
    columns = len(first.split())
    header = _is_header(source, first)
    if header and not missing_roles(usual_roles(TableRows(source).columns)):
        return _detect_table(source, [])
    if columns == _QRELS_COLUMNS or not first or not header:
        refuse_others(source.path, SUITE)
        return "diversity-qrels" if names_aspects(source.head) else "qrels"  # whose readers say what is wrong with a line
    tried = [
        TriedFormat("qrels", f"line 1 has {columns} words instead of {_QRELS_COLUMNS}"),
        TriedFormat("beir", f"the first line is not {' '.join(_HEADER_OF_BEIR)}"),
        TriedFormat("ltr", "no qid:"),
    ]
    return _detect_table(source, tried)


def _is_header(source: Source, first: str) -> bool:
    """Whether the first line names columns: of a table by its ending, or by one name at least that such columns have."""
    return source.extension == ".tsv" or (any(mark in first for mark in ",;\t") and bool(usual_roles(TableRows(source).columns)))


def _detect_table(source: Source, tried: Iterable[TriedFormat]) -> str:
    rows = TableRows(source)
    named = usual_roles(rows.columns)
    refuse_run(source.path, rows.columns)
    as_text = not source.is_parquet  # which is what Quepid writes
    has_all = all(rows.names & {*known} for known in (QUERY, DOCUMENT, RATING))
    if as_text and has_all and named.get("target", "docid") in DOCUMENT:
        return "quepid"
    if not missing_roles(named):
        return "quepid" if as_text and is_book(rows) else "table"
    known = (("query", QUERY), ("document", DOCUMENT), ("rating", RATING))
    missed = [what for what, names in known if not rows.names & {*names}]
    raise _nothing_fits(source, [*tried, TriedFormat("quepid", f"no {', '.join(missed)}")], rows.columns)


def _detect_data(source: Source) -> str:
    data = source.data
    top = {snake(str(key)): value for key, value in data.items()} if isinstance(data, dict) else {}
    known = next((each for each in BY_TOP if each.names <= top.keys()), None)
    if known is not None:
        if known.format is None:
            raise FormatError(source.path, None, f"is {known.kind.name}, not a suite; {known.kind.advice}")
        if known.format == "native":
            refuse_others(source.path, SUITE)  # other files of our own have versions too
        return known.format
    if _has_judgment_lists(top):
        return "opensearch"
    entries = next((top[name] for name in LISTS if isinstance(top.get(name), list)), None) if isinstance(data, dict) else data
    fields = _fields(entries if isinstance(entries, list) else [])
    if "schema_version" in fields:
        refuse_others(source.path, SUITE)
        return "native"
    if "metrics" in fields and "documents" not in fields:
        raise FormatError(source.path, None, "is a baseline (load_baseline_metrics reads it), not a suite")
    found = next((each.format for each in BY_ENTRY if each.names <= fields.keys()), None)
    if found == "opensearch" and isinstance(fields["ratings"], dict):
        return "quepid"
    return found or _detect_rows(source)


def _fields(entries: list[Any]) -> dict[str, Any]:
    """The fields of all entries, each with the first value that it has: the first query may be one that nobody rated."""
    fields: dict[str, Any] = {}
    for entry in entries:
        for key, value in entry.items() if isinstance(entry, dict) else ():
            fields.setdefault(snake(str(key)), value)
    return fields


def _has_judgment_lists(top: dict[str, Any]) -> bool:
    """Whether a response of OpenSearch has judgment lists among its hits."""
    hits = top["hits"].get("hits") if isinstance(top.get("hits"), dict) else None
    first = hits[0].get("_source") if isinstance(hits, list) and hits and isinstance(hits[0], dict) else None
    return isinstance(first, dict) and "judgmentRatings" in first


def _detect_rows(source: Source) -> str:
    """A list of mappings with a query and a target by usual names; native for what is not even a list."""
    rows = TableRows(source)
    if not rows.columns and source.is_script:
        raise FormatError(source.path, None, "its cases have no expectedIds, and no other format was recognised")
    if not rows.columns:
        refuse_others(source.path, SUITE)
        return "native"  # whose reader says what is missing
    refuse_run(source.path, rows.columns)
    if not missing_roles(usual_roles(rows.columns)):
        return "table"
    entry_names = [each for each in BY_ENTRY if each.format != "native"]  # which needs more than judgments
    by_entry = {each.format for each in entry_names}
    missed: dict[str, str] = {}
    for each in (*entry_names, *(each for each in BY_TOP if each.format not in by_entry)):
        lacking = " and ".join(sorted(each.names - rows.names))
        if each.format is not None:
            missed[each.format] = f"{missed[each.format]} or {lacking}" if each.format in missed else f"no {lacking}"
    raise _nothing_fits(source, [TriedFormat(name, told) for name, told in missed.items()], rows.columns)


def _nothing_fits(source: Source, tried: Iterable[TriedFormat], columns: list[str]) -> FormatError:
    """Which formats were tried, what each missed, what the file has instead, and the option that helps."""
    if not columns:
        return FormatError(source.path, None, "is empty: it has neither columns nor rows")
    missing = missing_roles(usual_roles(columns))
    all_tried = [*tried, TriedFormat("table", f"no column for the {' or the '.join(missing)}")]
    told = ", ".join(f"{each.name} ({each.missed})" for each in all_tried)
    reason = f"no format of suites fits: tried {told}; {columns_told(columns)}; {how_to_map(missing)}"
    return FormatError(source.path, None, reason, LONGEST)
