"""Saved runs: one reader per file format, chosen by what the file holds.

Private: what is meant for others is a name of `searchmark`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.recognised import RUN, refuse_others, telling_what_it_is
from searchmark.files.store import BOM, check_readable, file_name, inner_suffix, open_file
from searchmark.options.user_paths import user_path
from searchmark.records import Run, display_names

FORMATS = ("native", "json", "trec")


def load_run(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002  # the word that users know
    mapping: Mapping[str, str] | None = None,  # noqa: ARG001  # no format has fields with names of its own yet
) -> Run:
    """Read a saved run; ``mapping`` says what the file calls its fields: ``{"query": "q", "id": "docid"}``."""
    path = user_path(path)
    check_readable(path)
    with telling_what_it_is(path, RUN):
        return _read(path, format or _detect(path), sure=format is not None)


def _read(path: Path, chosen: str, *, sure: bool) -> Run:
    if chosen == "native":
        from searchmark.runs.native import read_native

        return read_native(path)
    if chosen == "json":
        from searchmark.runs.plain import read_plain

        if not sure:
            refuse_others(path, RUN)  # a list of cases could be read as the hits of one
        return read_plain(path)
    if chosen == "trec":
        from searchmark.runs.trec import read_trec

        return read_trec(path)
    raise UsageError(f"there is no run format {chosen!r}; the formats are {', '.join(FORMATS)}")


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


def save_runs(runs: Sequence[Run], target: str | PathLike[str], on_loss: Callable[[str], None] = lambda _: None) -> list[Path]:
    """Write runs into a folder, each under its name; a single one may be given the name of its file instead.

    ``on_loss`` is called with what a file could not hold, sentence by sentence.
    """
    path = user_path(target)
    check_target(path, len(runs), ())
    if len(runs) == 1 and path.suffix and not path.is_dir():
        paths = [path]
    else:
        paths = [path / f"{file_name(name)}.jsonl" for name in display_names([run.label for run in runs])]
    for run, file in zip(runs, paths, strict=True):
        for sentence in save_run(run, file):
            on_loss(f"{file}: {sentence}")
    return paths


def _detect(path: Path) -> str:
    """A header line with ``"record": "run"`` is ours, any other JSON is plain, the rest is TREC."""
    with open_file(path) as file:
        head = file.read(4096).removeprefix(BOM).lstrip()
    if head.startswith(b"{"):
        return "native" if re.search(rb'"record"\s*:\s*"run"', head.split(b"\n", 1)[0]) else "json"
    return "json" if inner_suffix(path) in {".json", ".jsonl"} else "trec"
