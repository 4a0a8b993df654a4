"""The archive on disk: one folder per report, written whole or not at all, by any number of processes at once.

An entry holds ``summary.json`` (the report without single cases, so that a year of runs is listed quickly), ``report.json.gz``
(all of it) and ``runs/`` with the raw runs in our own format. It is never changed once it is there.
"""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from os import PathLike
from pathlib import Path

from searchmark.archive.entries import ArchiveEntry, new_entry, parse_entry
from searchmark.archive.unfinished_entries import unfinished_entry
from searchmark.errors import FormatError, UsageError
from searchmark.files.folders import OWNER_ONLY, make_private_folder
from searchmark.files.our_folder import keep_out_of_git
from searchmark.files.store import atomic_write, file_name, read_bytes, write_text
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.options.user_paths import user_path
from searchmark.records import Run, display_names
from searchmark.reports import pieces_of, read_report, without_known_secrets
from searchmark.reports.json_file import parse_report
from searchmark.reports.report import Report
from searchmark.runs import load_run, save_run

SUMMARY, REPORT, RUNS = "summary.json", "report.json.gz", "runs"
LATEST = "latest"
_SHORTEST_PREFIX = 2
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}  # a folder of this name is there, and is not empty
LARGEST_REPORT = 1 << 29  # bytes, of 300,000 cases: what is packed in a few may be any number of them
_CANNOT_BE_UNPACKED = "is damaged: it cannot be unpacked"
_QUICK = 3  # of gzip's levels: as small as the best within a few percent, in a third of the time


class Archive:
    """A folder of entries; it need not exist before the first one is added.

    An entry is named by its id, by the beginning of one that no other has, by the name of its folder, or as ``latest``.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = user_path(folder)

    def entries(self) -> list[ArchiveEntry]:
        """Every entry, the newest first."""
        try:
            with os.scandir(self.folder) as found:
                names = [each.name for each in found if each.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"the archive {self.folder} cannot be read: {error.strerror}") from error
        entries = (entry for name in names if (entry := parse_entry(name)) is not None)
        return sorted(entries, key=lambda entry: (entry.time, entry.folder), reverse=True)

    def find(self, name: str) -> ArchiveEntry:
        """The one entry that a name means."""
        entries = self.entries()
        if name == LATEST and entries:
            return entries[0]
        if len(name) >= _SHORTEST_PREFIX:
            found = [entry for entry in entries if entry.id.startswith(name) or entry.folder == name]
            if len(found) == 1:
                return found[0]
            if found:
                several = ", ".join(entry.id for entry in found[:5])
                raise UsageError(f"{name!r} is the beginning of {len(found)} entries of the archive {self.folder}: {several}")
        raise UsageError(f"the archive {self.folder} has no entry {name!r}; 'searchmark history' lists those that there are")

    def path(self, entry: ArchiveEntry | str) -> Path:
        """The folder of an entry."""
        return self.folder / (self.find(entry) if isinstance(entry, str) else entry).folder

    def holds(self, entry: ArchiveEntry) -> bool:
        """Whether a folder with the name of an entry has anything of one in it."""
        return any(os.path.lexists(self.path(entry) / part) for part in (SUMMARY, REPORT))

    def summary(self, entry: ArchiveEntry | str) -> Report:
        """The report of an entry without single cases, trends and the segments of pairs."""
        return read_report(self.path(entry) / SUMMARY)

    def report(self, entry: ArchiveEntry | str) -> Report:
        """The whole report of an entry."""
        return read_entry(self.path(entry))

    def runs(self, entry: ArchiveEntry | str) -> list[Path]:
        """The files of the raw runs of an entry."""
        return sorted((self.path(entry) / RUNS).glob("*.jsonl"))

    def run(self, entry: ArchiveEntry | str, name: str) -> Run:
        """A raw run of an entry, by the name that it has in the report."""
        return load_run(self.path(entry) / RUNS / _run_file(name))

    def add(self, report: Report, runs: Sequence[Run], time: datetime) -> str:
        """Archive a report and its raw runs; the id of the entry."""
        report, runs = without_known_secrets(report), list(map(without_environment_secrets, runs))  # names come from them, too
        with self._writing():
            make_private_folder(self.folder)
            if self.folder.parent.name == OUR_FOLDER:
                keep_out_of_git(self.folder.parent)
            with unfinished_entry(self.folder) as unfinished:
                unfinished.mkdir(OWNER_ONLY)
                _write(unfinished, report, runs)
                _share(unfinished, self.folder.stat().st_mode)
                return self._named(unfinished, report, time).id

    def _named(self, unfinished: Path, report: Report, time: datetime) -> ArchiveEntry:
        """Give a complete entry its name, or the next one where another process was faster."""
        for attempt in range(100):
            entry = new_entry(report, time, attempt)
            try:
                unfinished.rename(self.folder / entry.folder)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            else:
                return entry
        raise UsageError(f"the archive {self.folder} has a hundred entries of this report already")

    def remove(self, entry: ArchiveEntry) -> None:
        """Remove an entry, which is hidden first: a process that is killed leaves no half of one."""
        path = self.folder / entry.folder
        read_only = path.exists() and os.statvfs(path).f_flag & os.ST_RDONLY  # which says so itself, below
        if path.exists() and not read_only and not os.access(path, os.W_OK):  # it could be hidden, and would never go
            raise UsageError(f"{path} cannot be removed: it is writable for its owner alone")
        with self._writing(), unfinished_entry(self.folder) as hidden:
            try:
                path.rename(hidden)
            except FileNotFoundError:
                return  # another process was faster

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._unwritable(error) from error
        except UsageError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            raise self._unwritable(error.__cause__) from error  # of a file whose name is not for users

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"the archive {self.folder} cannot be written: {error.strerror}")


def read_entry(folder: Path) -> Report:
    """The whole report in the folder of an entry, wherever that is."""
    file, unpacker = folder / REPORT, zlib.decompressobj(zlib.MAX_WBITS | 16)  # of gzip alone
    try:
        data = unpacker.decompress(read_bytes(file, stored=True), LARGEST_REPORT)
    except zlib.error as error:
        raise FormatError(file, None, _CANNOT_BE_UNPACKED) from error
    if unpacker.unconsumed_tail:
        raise FormatError(file, None, f"holds more than {LARGEST_REPORT >> 20} MiB, more than a report can have")
    if not unpacker.eof or unpacker.unused_data:
        raise FormatError(file, None, _CANNOT_BE_UNPACKED)
    return parse_report(file, data.decode("utf-8", "surrogateescape"))


def is_entry(folder: Path) -> bool:
    """Whether a folder is an entry of an archive, which may be a copy of it in another location."""
    return (folder / REPORT).is_file()


def without_cases(report: Report) -> Report:
    """The part of a report that is read when entries are listed; trends are computed from the entries themselves.

    Segments of pairs are most of what is left of a comparison, and no list shows them.
    """
    agents = {name: replace(agent, cases={}) for name, agent in report.agents.items()}
    pairs = tuple(replace(pair, segments={}, telling=()) for pair in report.pairs)
    return replace(report, agents=agents, cases={}, pairs=pairs, trends=())


def _write(folder: Path, report: Report, runs: Sequence[Run]) -> None:
    write_text(folder / SUMMARY, pieces_of(without_cases(report), "json"))
    with atomic_write(folder / REPORT) as file, gzip.GzipFile("", "wb", _QUICK, file, mtime=0) as packed:
        for piece in pieces_of(report, "json"):
            packed.write(piece.encode("utf-8", "surrogateescape"))
    for name, run in zip(display_names([run.label for run in runs]), runs, strict=True):
        save_run(run, folder / RUNS / _run_file(name))


def _share(folder: Path, mode: int) -> None:
    """Let those read an entry who can read the archive, and nobody else write: our own folder is for its owner alone."""
    readable = mode & 0o555 | OWNER_ONLY
    for path in folder.rglob("*"):
        path.chmod(readable if path.is_dir() else readable & 0o666)
    folder.chmod(readable)


def _run_file(name: str) -> str:
    return f"{file_name(name)}.jsonl"


def without_environment_secrets(run: Run) -> Run:
    """A run with no secret of the environment in what its agent has said."""
    from searchmark.reports.scrubbing import clean_column
    from searchmark.services.environment_secrets import environment_secrets
    from searchmark.services.redaction import Scrubber, unless_known

    scrubber = Scrubber.of(unless_known(environment_secrets(), run.case_ids))
    texts = {name: scrubber.clean(getattr(run, name)) for name in ("label", "details", "provenance")}
    return replace(run, ids=clean_column(run.ids, scrubber), **texts)
