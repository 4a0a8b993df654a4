"""Saved runs: one reader per file format, chosen by what the file holds.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.files.recognised import RUN, refuse_others, telling_what_it_is
from searchmark.files.store import check_readable, file_name
from searchmark.options.field_names import check_run_roles
from searchmark.options.user_paths import user_path
from searchmark.records import Run, display_names
from searchmark.runs.detect import FORMATS as FORMATS
from searchmark.runs.detect import detect, reader_of
from searchmark.runs.source import RunFile

_GUESSED = ("json", "jsonl", "csv", "parquet", "trec", "elasticsearch")  # formats that files of other kinds look like


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
    runs = runs_in(path, format=format, mapping=mapping, name=name)
    if len(runs) > 1:
        names = ", ".join(repr(run.agent) for run in runs)
        raise FormatError(path, None, f"holds the runs of {len(runs)} agents: {names}; name the one that is meant: NAME={path}")
    return runs[0]


def runs_in(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # as load_run has it
    mapping: Mapping[str, str] | None = None,
    name: str | None = None,
) -> list[Run]:
    """All runs of a file, of which a name chooses one; where there is one only, that is its name."""
    file = RunFile(user_path(path), check_run_roles(mapping or {}), format is not None)
    check_readable(file.path)
    with nullcontext() if file.field_names else telling_what_it_is(file.path, RUN):
        chosen = format or detect(file)
    runs = _read(file, chosen)
    if name is None:
        return runs
    if len(runs) == 1:
        return [replace(runs[0], label=replace(runs[0].label, agent=name, qualified=None))]
    named = [run for run in runs if run.agent == name]
    if not named:
        names = ", ".join(repr(run.agent) for run in runs)
        raise FormatError(path, None, f"holds no run of {name!r}; it holds those of {names}")
    return named


def _read(file: RunFile, chosen: str) -> list[Run]:
    if chosen not in FORMATS:
        raise UsageError(f"there is no run format {chosen!r}; the formats are {', '.join(FORMATS)}")
    if chosen in _GUESSED and not file.format_given and not file.field_names:
        refuse_others(file.path, RUN)  # a list of cases could be read as the hits of one, and a table of ratings as hits
    return reader_of(chosen)(file)


def named_path(text: str) -> tuple[str | None, Path]:
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
    if _is_trec(path):
        from searchmark.runs.trec import write_trec

        return write_trec(run, path)
    from searchmark.runs.native import write_native

    write_native(run, path, private=private)
    return []


def check_target(target: str | PathLike[str], runs: int, cases: Iterable[str]) -> None:
    """Refuse what `save_runs` would refuse, as far as it is known before the runs are made."""
    target = user_path(target)
    if not _is_trec(target) or target.is_dir():
        return
    from searchmark.runs.trec import refuse_blanks

    if runs > 1:
        raise UsageError(f"{target} is a file for one run, and there are {runs}; name a folder")
    refuse_blanks(cases)


def _is_trec(path: Path) -> bool:
    return path.suffix.lower() == ".trec"


def target_files(runs: Sequence[Run], target: str | PathLike[str]) -> list[Path]:
    """The files that `save_runs` writes."""
    path = user_path(target)
    check_target(path, len(runs), ())
    if len(runs) == 1 and path.suffix and not path.is_dir():
        return [path]
    return [path / f"{file_name(name)}.jsonl" for name in display_names([run.label for run in runs])]


def save_runs(runs: Sequence[Run], target: str | PathLike[str], on_loss: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write runs into a folder, each under its name; a single one may be given the name of its file instead.

    ``on_loss`` is called with what a file could not hold, sentence by sentence.
    """
    paths = target_files(runs, target)
    for run, file in zip(runs, paths, strict=True):
        for sentence in save_run(run, file):
            on_loss(f"{file}: {sentence}")
    return paths
