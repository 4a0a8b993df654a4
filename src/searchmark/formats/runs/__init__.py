"""Load and save runs, and which format a file has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path

from searchmark.config.inputs import check_run_roles
from searchmark.errors import FormatError, UsageError, shortened
from searchmark.formats import RUN_FORMATS, RunFormat, first_that_fits, named_format, own_formats, plugin_that_fits
from searchmark.formats.detection import RUN_ROLE, hint_at_file_kind, refuse_other_kinds
from searchmark.formats.runs.source import RunFile
from searchmark.formats.trec import RUN_LAYOUT
from searchmark.io.paths import user_path
from searchmark.io.store import check_readable, safe_file_name
from searchmark.records.provenance import display_names
from searchmark.records.run import Run

# Which format a saved run has, by what it holds; where none fits, which were tried and what each missed.

_OUR_RECORD = re.compile(rb'"record"\s*:\s*"run"')

_LONGEST_HEADER = 300


def detect_run_format(file: RunFile) -> str:
    """The name of the format."""
    if file.path.is_dir():
        return "elasticsearch"
    head = file.head
    by_magic = next((each.name for each in own_formats(RunFormat) if each.magic and head.startswith(each.magic)), None)
    if by_magic is not None:
        return by_magic
    if head.startswith((b"{", b"[")) or file.extension in {".json", ".jsonl", ".ndjson"}:
        return _detect_json(file)
    return _detect_text(file)


def _detect_json(file: RunFile) -> str:
    """JSON of other tools is recognised by its top level."""
    if _OUR_RECORD.search(file.head.split(b"\n", 1)[0]):
        return "native"
    if file.by_line:
        return "json" if _is_one_mapping(file) else "jsonl"
    special = first_that_fits(RunFormat, file, "data")
    return "json" if special is None else special.name


def _is_one_mapping(file: RunFile) -> bool:
    """Whether a file is called like JSON lines and holds one mapping from case to hits, in a single line."""
    if not file.head or b"\n" in file.head.rstrip() or "\n" in file.text.strip():
        return False
    from searchmark.formats.runs.json import hits_field, is_unnamed_response
    from searchmark.formats.runs.tables import find_columns

    row = file.data
    if not isinstance(row, dict) or is_unnamed_response(row):
        return False
    return hits_field(file, row) is None and bool(find_columns(file, tuple(row)).missing)


def _detect_text(file: RunFile) -> str:
    """A table if its first line names columns, TREC if its lines have six, and an error that says all that was tried."""
    from searchmark.formats.runs.tables import find_columns, missing_columns, read_csv_header

    first = _first_line(file)
    words, columns_of_trec = len(first.split()), len(RUN_LAYOUT.columns)
    delimited = any(mark in first for mark in (b",", b";", b"\t", b"|"))
    table = None
    if delimited or file.extension in {".csv", ".tsv"}:
        _, names = read_csv_header(file)
        if first_that_fits(RunFormat, file, "table"):
            return "quepid"
        table = find_columns(file, names)
        if not table.missing or file.extension in {".csv", ".tsv"}:
            return "csv"
    if words >= columns_of_trec or not first:
        return "trec"
    attempts = {
        "trec": f"its first line has {words} columns instead of {columns_of_trec} ({' '.join(RUN_LAYOUT.columns)})",
        "csv": missing_columns(table) if table is not None else "its first line has no comma, semicolon or tab",
        "json, jsonl": "it begins with neither { nor [",
    }
    each = "; ".join(f"{name}: {shortened(missed, _LONGEST_HEADER)}" for name, missed in attempts.items())
    raise FormatError(file.path, None, f"is not a run in a format that is known. Tried {each}")


def _first_line(file: RunFile) -> bytes:
    """The first line that says something."""
    return next((line for line in file.head.split(b"\n") if line.strip() and not line.lstrip().startswith(b"#")), b"")


def is_surely_run(file: RunFile) -> bool:
    """Whether a file is a run in a shape that no suite has: hits with ranks or scores, responses of an engine, and so on.

    What could be either, such as ids by query in JSON, is not sure.
    """
    from searchmark.formats.runs.tables import check_columns, find_columns, read_csv_header

    try:
        format_name = detect_run_format(file)
        if format_name == "elasticsearch" or not RUN_FORMATS[format_name].general:
            return not file.path.is_dir()
        if format_name == "trec":
            return len(_first_line(file).split()) >= len(RUN_LAYOUT.columns)
        if format_name == "csv":
            return bool(check_columns(file, find_columns(file, read_csv_header(file)[1])).numbers)
    except FormatError:  # which is reported when the file is read
        pass
    return False


def load_run(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # the word that users know
    mapping: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Run:
    """Read a saved run; ``mapping`` says what the file calls its fields: ``{"query": "q", "id": "docid"}``.

    ``name`` is what the run is called; where a file holds the runs of several agents, it is the one that is meant.
    """
    runs = load_all_runs(path, format=format, mapping=mapping, name=name)
    if len(runs) > 1:
        names = ", ".join(repr(run.agent) for run in runs)
        raise FormatError(path, None, f"holds the runs of {len(runs)} agents: {names}; name the one that is meant: NAME={path}")
    return runs[0]


def load_all_runs(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # as load_run has it
    mapping: Mapping[str, str] | None = None,
    name: str | None = None,
) -> list[Run]:
    """All runs of a file, of which a name chooses one; where there is one only, that is its name."""
    file = RunFile(user_path(path), check_run_roles(mapping or {}), format is not None)
    check_readable(file.path)
    try:
        with nullcontext() if file.field_names else hint_at_file_kind(file.path, RUN_ROLE):
            format_name = format or detect_run_format(file)
        runs = _read_runs(file, named_format(RunFormat, format_name))
    except FormatError:
        plugin = None if file.format_given else plugin_that_fits(RunFormat, file)
        if plugin is None:
            raise
        runs = _read_runs(file, plugin)
    if name is None:
        return runs
    if len(runs) == 1:
        return [replace(runs[0], label=replace(runs[0].label, agent=name, qualified=None))]
    matches = [run for run in runs if run.agent == name]
    if not matches:
        names = ", ".join(repr(run.agent) for run in runs)
        raise FormatError(path, None, f"holds no run of {name!r}; it holds those of {names}")
    return matches


def _read_runs(file: RunFile, chosen: RunFormat) -> list[Run]:
    if chosen.general and chosen.name in RUN_FORMATS and not file.format_given and not file.field_names:
        refuse_other_kinds(file.path, RUN_ROLE)  # a list of cases could be read as the hits of one, and a table of ratings as hits
    found = chosen.call(file.path, chosen.read, file)
    runs = found if isinstance(found, list) else [found]
    wrong = next((each for each in runs if not isinstance(each, Run)), None)
    if wrong is not None or not runs:
        raise chosen.failure(file.path, "read no run" if wrong is None else f"read {type(wrong).__name__}, not a Run")
    return runs


def parse_run_path(text: str) -> tuple[str | None, Path]:
    """A run as the command line has it, ``NAME=PATH`` or a path alone; a file that is there is never taken apart."""
    name, separator, path = text.partition("=")
    if not separator or not name.strip() or not path or "/" in name or user_path(text).exists():
        return None, user_path(text)
    return name.strip(), user_path(path)


def save_run(run: Run, path: str | PathLike[str], *, private: bool = False) -> list[str]:
    """Write a run, whole or not at all: as TREC if its file is called ``.trec``, and in our own format otherwise.

    Returns what the file could not hold, a sentence each; our own format holds everything, and can be ``private``: for the owner
    alone.
    """
    path = user_path(path)
    ours = RUN_FORMATS["native"]
    chosen = next((each for each in RUN_FORMATS.values() if path.suffix.lower() in each.extensions), ours)
    assert chosen.write is not None  # noqa: S101  # what has extensions is written
    private_if_ours = (private,) if chosen is ours else ()
    return list(chosen.call(path, chosen.write, run, path, *private_if_ours) or ())


def check_run_target(target: str | PathLike[str], runs: int, cases: Iterable[str]) -> None:
    """Refuse what `save_runs` would refuse, as far as it is known before the runs are made."""
    target = user_path(target)
    if not _is_trec(target) or target.is_dir():
        return
    from searchmark.formats.runs.tables import refuse_blank_ids

    if runs > 1:
        raise UsageError(f"{target} is a file for one run, and there are {runs}; name a folder")
    refuse_blank_ids(cases)


def _is_trec(path: Path) -> bool:
    return path.suffix.lower() == ".trec"


def target_files(runs: Sequence[Run], target: str | PathLike[str]) -> list[Path]:
    """The files that `save_runs` writes."""
    path = user_path(target)
    check_run_target(path, len(runs), ())
    if len(runs) == 1 and path.suffix and not path.is_dir():
        return [path]
    return [path / f"{safe_file_name(name)}.jsonl" for name in display_names([run.label for run in runs])]


def save_runs(runs: Sequence[Run], target: str | PathLike[str], on_loss: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write runs into a folder, each under its name; a single one may be given the name of its file instead.

    ``on_loss`` is called with what a file could not hold, sentence by sentence.
    """
    paths = target_files(runs, target)
    for run, file in zip(runs, paths, strict=True):
        for sentence in save_run(run, file):
            on_loss(f"{file}: {sentence}")
    return paths
