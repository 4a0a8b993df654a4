"""The archive: every report that is worth remembering, with its raw runs, each in its folder."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from searchmark.config.run import OUR_FOLDER, hide_from_git
from searchmark.errors import FormatError, UsageError
from searchmark.formats.runs import load_run, save_run
from searchmark.io.data import parse_json
from searchmark.io.folders import OWNER_ONLY_FOLDER, make_private_folder, unfinished_entry
from searchmark.io.paths import user_path
from searchmark.io.store import atomic_write, read_bytes, read_text, safe_file_name, write_text
from searchmark.records.provenance import display_names
from searchmark.records.run import Run
from searchmark.records.sentences import count_of
from searchmark.reports.json_file import parse_report, read_report
from searchmark.reports.render import pieces_of, without_known_secrets
from searchmark.reports.report import REPORT_SCHEMA, Report, Summaries, outcome_of

# The folder of an entry tells when it was archived, of which suite and agents it is, and ends with its id.
_NAME = re.compile(r"(?P<time>\d{8}T\d{6})(?P<milliseconds>\d{3})Z_(?P<about>.+)_(?P<id>[0-9a-f]{8})")

_ID_LENGTH = 8


@dataclass(frozen=True)
class ArchiveEntry:
    """One report in the archive."""

    id: str
    time: datetime  # when it was archived, to the millisecond
    folder: str  # the name of its folder

    def may_be_of(self, suite: str) -> bool:
        """Whether this could be about a suite of this name; it is not if the folder says otherwise."""
        return self.about.startswith(f"{safe_file_name(suite)}_")

    @property
    def about(self) -> str:
        """The suite and the agents, as file names have them."""
        return self.folder.partition("_")[2].rpartition("_")[0]


def parse_entry(folder: str) -> ArchiveEntry | None:
    """The entry that a folder of this name holds; None for a name that is not one of an entry."""
    match = _NAME.fullmatch(folder)
    if match is None:
        return None
    try:
        time = datetime.strptime(match["time"], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return ArchiveEntry(match["id"], time.replace(microsecond=int(match["milliseconds"]) * 1000), folder)


def new_entry(report: Report, time: datetime, attempt: int = 0) -> ArchiveEntry:
    """What the entry of a report that is archived at this time is called; another ``attempt`` has another id."""
    at = time.astimezone(UTC)
    about = f"{safe_file_name(report.suite.name)}_{safe_file_name('+'.join(report.agents))}"
    digest = _digest([at.isoformat(), str(attempt), *_id_parts(report)])
    stamp = f"{at:%Y%m%dT%H%M%S}{at.microsecond // 1000:03}Z"
    return ArchiveEntry(digest, at, f"{stamp}_{about}_{digest}")


def _id_parts(report: Report) -> Iterable[str]:
    """Two runs of one millisecond differ in their ids, or else in what was measured; the rest is left to another attempt."""
    yield report.suite.name
    yield from map(str, report.suite.hashes.values())
    for name, agent in report.agents.items():
        yield from (name, str(agent.run.id), *(f"{key}={summary.mean}" for key, summary in agent.measures.items()))


def _digest(parts: Iterable[str]) -> str:
    text = "\0".join(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


# The archive on disk: one folder per report, written whole or not at all, by any number of processes at once.
#
# An entry holds ``summary.json`` (the report without single cases, so that a year of runs is listed quickly),
# ``report.json.gz`` (all of it) and ``runs/`` with the raw runs in our own format. It is never changed once it is there.

SUMMARY, REPORT, RUNS = "summary.json", "report.json.gz", "runs"

LATEST = "latest"

_SHORTEST_PREFIX = 2

_NAME_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}  # a folder of this name is there, and is not empty

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
            with os.scandir(self.folder) as folders:
                names = [each.name for each in folders if each.is_dir(follow_symlinks=False)]
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
            matches = [entry for entry in entries if entry.id.startswith(name) or entry.folder == name]
            if len(matches) == 1:
                return matches[0]
            if matches:
                several = ", ".join(entry.id for entry in matches[:5])
                raise UsageError(f"{name!r} is the beginning of {len(matches)} entries of the archive {self.folder}: {several}")
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
                hide_from_git(self.folder.parent)
            with unfinished_entry(self.folder) as new_folder:
                new_folder.mkdir(OWNER_ONLY_FOLDER)
                _write(new_folder, report, runs)
                _share_with_readers(new_folder, self.folder.stat().st_mode)
                return self._named(new_folder, report, time).id

    def _named(self, new_folder: Path, report: Report, time: datetime) -> ArchiveEntry:
        """Give a complete entry its name, or the next one where another process was faster."""
        for attempt in range(100):
            entry = new_entry(report, time, attempt)
            try:
                new_folder.rename(self.folder / entry.folder)
            except OSError as error:
                if error.errno not in _NAME_TAKEN:
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
        with self._writing(), unfinished_entry(self.folder) as hidden_folder:
            try:
                path.rename(hidden_folder)
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
    with atomic_write(folder / REPORT) as file, gzip.GzipFile("", "wb", _QUICK, file, mtime=0) as gzip_file:
        for piece in pieces_of(report, "json"):
            gzip_file.write(piece.encode("utf-8", "surrogateescape"))
    for name, run in zip(display_names([run.label for run in runs]), runs, strict=True):
        save_run(run, folder / RUNS / _run_file(name))


def _share_with_readers(folder: Path, mode: int) -> None:
    """Let those read an entry who can read the archive, and nobody else write: our own folder is for its owner alone."""
    readable = mode & 0o555 | OWNER_ONLY_FOLDER
    for path in folder.rglob("*"):
        path.chmod(readable if path.is_dir() else readable & 0o666)
    folder.chmod(readable)


def _run_file(name: str) -> str:
    return f"{safe_file_name(name)}.jsonl"


def without_environment_secrets(run: Run) -> Run:
    """A run with no secret of the environment in what its agent has said."""
    from searchmark.io.secrets import Scrubber, environment_secrets, without_measured_texts
    from searchmark.reports.render import clean_column

    scrubber = Scrubber.of(without_measured_texts(environment_secrets(), run.case_ids))
    texts = {name: scrubber.clean(getattr(run, name)) for name in ("label", "details", "provenance")}
    return replace(run, ids=clean_column(run.ids, scrubber), **texts)


# The entries of an archive as rows: what was measured when, with which result.

Warn = Callable[[str], None]


@dataclass(frozen=True)
class EntrySelection:
    """Which entries: of a suite, of an agent, from a moment on, before another; all of them by default."""

    suite: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def may_take(self, entry: ArchiveEntry) -> bool:
        """What the name of an entry says, before anything is read."""
        of_suite = self.suite is None or entry.may_be_of(self.suite)
        return of_suite and (self.since is None or self.since <= entry.time) and (self.until is None or entry.time < self.until)

    def takes(self, report: Report) -> bool:
        return (self.suite is None or report.suite.name == self.suite) and next(self.runs_of(report), None) is not None

    def runs_of(self, report: Report) -> Iterator[str]:
        """The runs of a report that are wanted, by their names in it."""
        for name, run in report.agents.items():
            if name == self.agent or self.takes_run((run.name, run.qualified or run.name), run.snapshot, run.repeat):
                yield name

    def takes_run(self, names: Sequence[str], snapshot: str | None, number: int) -> bool:
        """Whether a run is wanted: an agent is named as it is, or with the snapshot or the number that distinguishes its runs."""
        plain = (*names, *(f"{name}@{snapshot}" for name in names))
        return self.agent is None or self.agent in (*plain, *(f"{each}#{number}" for each in plain))


@dataclass(frozen=True)
class HistoryRow:
    """One run of one entry."""

    entry: str
    time: datetime
    suite: str
    run: str
    verdict: str  # how the report ended; of a comparison, what it says of this run
    measures: Summaries
    folder: str
    cases: int  # those that were run
    suite_cases: int  # all that the suite has
    drifts: int = 0  # those that are more than noise

    @property
    def ended(self) -> str:
        """The verdict, how many cases it is about if that is not all of them, and how much has drifted, in words."""
        part = f"{self.cases} of {count_of(self.suite_cases, 'case')}" if self.cases < self.suite_cases else ""
        drifts = count_of(self.drifts, "drift") if self.drifts else ""
        return ", ".join(filter(None, (self.verdict, part, drifts)))


def entry_summaries(archive: Archive, selection: EntrySelection, warn: Warn) -> Iterator[tuple[ArchiveEntry, Report]]:
    """The summaries of the entries that are wanted, the newest first; a damaged one is named and left out."""
    for entry in filter(selection.may_take, archive.entries()):
        try:
            report = archive.summary(entry)
        except FormatError as error:
            if archive.path(entry).exists():  # and was not removed just now
                warn(f"the entry {entry.id} {summary_problem(error)} and is left out: {error}")
            continue
        if selection.takes(report):
            yield entry, report


def summary_problem(error: FormatError) -> str:
    """Why a summary cannot be read, in words."""
    return "was written by a newer version of Searchmark" if _is_newer(error.path) else "is damaged"


def _is_newer(file: str) -> bool:
    try:
        data = parse_json(file, read_text(file))
    except FormatError:
        return False
    version = data.get("schema_version") if isinstance(data, dict) else None
    return isinstance(version, int) and version > REPORT_SCHEMA.version


def cases_run(report: Report, run: str) -> tuple[int, int]:
    """How many cases were run, and how many the suite has: -k, --sample and --shard choose among them."""
    agent, cases = report.agents[run], report.suite.cases
    return cases - agent.counts.get("not_run", 0), cases + (agent.dropped.get("cases_filtered_out") or 0)


def history_rows(entry: ArchiveEntry, report: Report, selection: EntrySelection) -> Iterator[HistoryRow]:
    """One row per run of an entry that is wanted."""
    for name in selection.runs_of(report):
        yield HistoryRow(
            entry.id,
            entry.time,
            report.suite.name,
            name,
            _verdict(report, name),
            report.agents[name].measures,
            entry.folder,
            *cases_run(report, name),
            drifts=sum(drift.run == name and drift.noise == "outside" for drift in report.drifts),
        )


def _verdict(report: Report, run: str) -> str:
    outcome = outcome_of(report)
    pair = next((pair for pair in report.pairs if pair.candidate == run and pair.differences), None)
    if outcome != "measured" or pair is None:
        return outcome
    difference = next((each for each in pair.differences if each.measure == pair.primary), pair.differences[0])
    return f"{difference.verdict} against {pair.baseline}"


# Which entries of an archive are old enough to go.


@dataclass(frozen=True)
class Retention:
    """How long entries are kept: so many of each suite and its agents, or those since a moment. Only one of them is set."""

    keep: int | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class PinnedEntries:
    """What entries are kept for, however old they are: the run that is the baseline, and the file that it is in."""

    runs: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()


@dataclass(frozen=True)
class PruneCandidate:
    """An entry that has been kept long enough. One that stays all the same has a reason: ``kept``, in words."""

    entry: ArchiveEntry
    kept: str | None


def prunable_entries(archive: Archive, retention: Retention, pins: PinnedEntries = PinnedEntries()) -> Iterator[PruneCandidate]:  # noqa: B008  # frozen
    """The entries that need not be kept any longer, the oldest last. What only has the name of an entry is none.

    One that cannot be read stays, and counts for none: it may be of a newer version, or be mended.
    """
    group_sizes: Counter[Hashable] = Counter()
    for entry in archive.entries():
        if retention.since is not None and entry.time >= retention.since:
            continue
        try:
            summary = archive.summary(entry)
        except FormatError as error:
            if archive.holds(entry):
                yield PruneCandidate(entry, summary_problem(error))
            continue
        group_sizes[_retention_group(summary)] += 1
        if retention.keep is None or group_sizes[_retention_group(summary)] > retention.keep:
            yield PruneCandidate(entry, "is the baseline" if _is_pinned(archive.path(entry), summary, pins) else None)


def _retention_group(report: Report) -> Hashable:
    """What entries are counted by: a run of some cases does not take the room of one of all of them."""
    runs = tuple(sorted(report.agents))
    return report.suite.name, runs, all(run == there for run, there in (cases_run(report, each) for each in runs))


def _is_pinned(folder: Path, summary: Report, pins: PinnedEntries) -> bool:
    within = any(folder.resolve() in file.resolve().parents for file in pins.files)
    return within or any(agent.run.id in pins.runs for agent in summary.agents.values())
