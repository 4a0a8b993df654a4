"""Which format a saved run has, by what it holds; where none fits, which were tried and what each missed."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

from searchmark.errors import FormatError, shortened
from searchmark.files.known_kinds import TriedFormat
from searchmark.files.trec_text import RUN
from searchmark.records import Run
from searchmark.runs.source import RunFile

# Format and where its reader is.
FORMATS = {
    "native": ("native", "read_native_run"),
    "json": ("plain", "read_plain"),
    "trec": ("trec", "read_trec"),
    "jsonl": ("plain", "read_lines"),
    "csv": ("tables", "read_csv"),
    "parquet": ("parquet", "read_parquet"),
    "elasticsearch": ("engines", "read_responses"),
    "rank-eval": ("engines", "read_rank_eval"),
    "quepid": ("quepid", "read_quepid"),
    "ranx": ("ranx", "read_ranx"),
    "mteb": ("mteb", "read_mteb"),
}
_OURS = re.compile(rb'"record"\s*:\s*"run"')
_LONGEST_HEADER = 300


def reader_of(name: str) -> Callable[[RunFile], list[Run]]:
    module, function = FORMATS[name]
    reader: Callable[[RunFile], list[Run]] = getattr(import_module(f"searchmark.runs.{module}"), function)
    return reader


def detect(file: RunFile) -> str:
    """The name of the format."""
    if file.path.is_dir():
        return "elasticsearch"
    head = file.head
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\x04\x22\x4d\x18"):
        return "ranx"
    if head.startswith((b"{", b"[")) or file.suffix in {".json", ".jsonl", ".ndjson"}:
        return _detect_json(file)
    return _detect_text(file)


def _detect_json(file: RunFile) -> str:
    """JSON of others is told apart by what is at its top."""
    if _OURS.search(file.head.split(b"\n", 1)[0]):
        return "native"
    if file.by_line:
        return "json" if _is_one_mapping(file) else "jsonl"
    from searchmark.runs import engines, mteb, quepid

    data = file.data
    known = (
        ("elasticsearch", engines.is_nameless_list),
        ("rank-eval", engines.is_rank_eval),
        ("quepid", quepid.is_snapshot),
        ("mteb", mteb.is_predictions),
    )
    return next((name for name, fits in known if fits(data)), "json")


def _is_one_mapping(file: RunFile) -> bool:
    """Whether a file is called like JSON lines and holds one mapping from case to hits, in a single line."""
    if not file.head or b"\n" in file.head.rstrip() or "\n" in file.text.strip():
        return False
    from searchmark.runs.answers import is_nameless
    from searchmark.runs.plain import hits_field
    from searchmark.runs.tables import columns_of

    row = file.data
    if not isinstance(row, dict) or is_nameless(row):
        return False
    return hits_field(file, row) is None and bool(columns_of(file, tuple(row)).missing)


def _detect_text(file: RunFile) -> str:
    """A table if its first line names columns, TREC if its lines have six, and an error that says all that was tried."""
    from searchmark.runs.quepid import is_snapshot_header
    from searchmark.runs.tables import columns_of, header_of, missed

    first = _first_line(file)
    words, wanted = len(first.split()), len(RUN.columns)
    delimited = any(mark in first for mark in (b",", b";", b"\t", b"|"))
    table = None
    if delimited or file.suffix in {".csv", ".tsv"}:
        _, names = header_of(file)
        if is_snapshot_header(names):
            return "quepid"
        table = columns_of(file, names)
        if not table.missing or file.suffix in {".csv", ".tsv"}:
            return "csv"
    if words >= wanted or not first:
        return "trec"
    tried = [TriedFormat("trec", f"its first line has {words} columns instead of {wanted} ({' '.join(RUN.columns)})")]
    tried.append(TriedFormat("csv", missed(table) if table is not None else "its first line has no comma, semicolon or tab"))
    tried.append(TriedFormat("json, jsonl", "it begins with neither { nor ["))
    raise FormatError(file.path, None, no_format_fits(tried))


def _first_line(file: RunFile) -> bytes:
    """The first line that says something."""
    return next((line for line in file.head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")), b"")


def no_format_fits(tried: list[TriedFormat]) -> str:
    each = "; ".join(f"{one.name}: {shortened(one.missed, _LONGEST_HEADER)}" for one in tried)
    return f"is not a run in a format that is known. Tried {each}"


def is_surely_run(file: RunFile) -> bool:
    """Whether a file is a run in a shape that no suite has: hits with ranks or scores, responses of an engine, and so on.

    What could be either, such as ids by query in JSON, is not sure.
    """
    from searchmark.runs.tables import checked, columns_of, header_of

    try:
        found = detect(file)
        if found in {"native", "quepid", "ranx", "mteb", "rank-eval", "elasticsearch"}:
            return not file.path.is_dir()
        if found == "trec":
            return len(_first_line(file).split()) >= len(RUN.columns)
        if found == "csv":
            return bool(checked(file, columns_of(file, header_of(file)[1])).numbers)
    except FormatError:  # which whoever reads the file will say
        pass
    return False
