"""Files of shards, as they are named to be merged: saved runs, journals, and folders of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.options.user_paths import user_path
from searchmark.records import Run
from searchmark.running.journal_runs import is_journal, run_of_journal
from searchmark.runs import runs_in
from searchmark.runs.merge import SavedShard


def load_shards(paths: Iterable[str]) -> list[SavedShard]:
    """The runs of all files, and of all files in folders, each with its file."""
    files = [file for path in paths for file in _files(user_path(path))]
    return [SavedShard(str(file), run) for file in files for run in _runs_of(file)]


def _files(path: Path) -> Iterator[Path]:
    """A file, or what ``--save-run FOLDER`` has written into a folder."""
    if not path.is_dir():
        yield path
        return
    found = sorted(path.glob("*.jsonl"))
    if not found:
        raise UsageError(f"{path} holds no saved run (.jsonl)")
    yield from found


def _runs_of(file: Path) -> list[Run]:
    return [run_of_journal(file)] if is_journal(file) else runs_in(file)
