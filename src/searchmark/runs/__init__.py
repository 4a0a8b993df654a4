"""Saved runs: one reader per file format, chosen by what the file holds."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from searchmark.errors import FormatError, UsageError
from searchmark.files.store import BOM, check_readable
from searchmark.records import Run

FORMATS = ("native", "json", "trec")


def load_run(path: str | PathLike[str], *, format: str | None = None) -> Run:  # noqa: A002  # the word that users know
    """Read a saved run."""
    path = Path(path)
    check_readable(path)
    chosen = format or _detect(path)
    if chosen == "native":
        from searchmark.runs.native import read_native

        return read_native(path)
    if chosen == "json":
        from searchmark.runs.plain import read_plain

        return read_plain(path)
    if chosen == "trec":
        from searchmark.runs.trec import read_trec

        return read_trec(path)
    raise UsageError(f"there is no run format {chosen!r}; the formats are {', '.join(FORMATS)}")


def save_run(run: Run, path: str | PathLike[str]) -> None:
    """Write a run in our own format, whole or not at all."""
    from searchmark.runs.native import write_native

    write_native(run, path)


def _detect(path: Path) -> str:
    """A header line with ``"record": "run"`` is ours, any other JSON is plain, the rest is TREC."""
    try:
        with path.open("rb") as file:
            head = file.read(4096).removeprefix(BOM).lstrip()
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error
    if head.startswith(b"{"):
        return "native" if re.search(rb'"record"\s*:\s*"run"', head.split(b"\n", 1)[0]) else "json"
    return "json" if path.suffix.lower() in {".json", ".jsonl"} else "trec"
