"""The entries of an archive as rows: what was measured when, with which result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from searchmark.archive.entries import ArchiveEntry
from searchmark.archive.store import Archive
from searchmark.errors import FormatError
from searchmark.files.store import parse_json, read_text
from searchmark.records.shown import counted
from searchmark.reports.outcome import outcome_of
from searchmark.reports.report import REPORT_SCHEMA, Report, Summaries

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
        wanted = self.suite is None or entry.may_be_of(self.suite)
        return wanted and (self.since is None or self.since <= entry.time) and (self.until is None or entry.time < self.until)

    def takes(self, report: Report) -> bool:
        return (self.suite is None or report.suite.name == self.suite) and next(self.runs_of(report), None) is not None

    def runs_of(self, report: Report) -> Iterator[str]:
        """The runs of a report that are wanted, by their names in it."""
        for name, run in report.agents.items():
            if name == self.agent or self.takes_run((run.name, run.qualified or run.name), run.snapshot, run.repeat):
                yield name

    def takes_run(self, names: Sequence[str], snapshot: str | None, number: int) -> bool:
        """Whether a run is wanted: an agent is named as it is, or with the snapshot or the number that tell its runs apart."""
        plain = (*names, *(f"{name}@{snapshot}" for name in names))
        return self.agent is None or self.agent in (*plain, *(f"{each}#{number}" for each in plain))


@dataclass(frozen=True)
class HistoryRow:
    """One run of one entry. ``verdict`` is how the report ended; of a comparison, what it says of this run.

    ``cases`` are those that were run, ``suite_cases`` all that the suite has. ``drifts`` counts those that are more than noise.
    """

    entry: str
    time: datetime
    suite: str
    run: str
    verdict: str
    measures: Summaries
    folder: str
    cases: int
    suite_cases: int
    drifts: int = 0

    @property
    def ended(self) -> str:
        """The verdict, how many cases it is about if that is not all of them, and how much has drifted, in words."""
        part = f"{self.cases} of {counted(self.suite_cases, 'case')}" if self.cases < self.suite_cases else ""
        drifts = counted(self.drifts, "drift") if self.drifts else ""
        return ", ".join(filter(None, (self.verdict, part, drifts)))


def summaries(archive: Archive, selection: EntrySelection, warn: Warn) -> Iterator[tuple[ArchiveEntry, Report]]:
    """The summaries of the entries that are wanted, the newest first; a damaged one is named and left out."""
    for entry in filter(selection.may_take, archive.entries()):
        try:
            report = archive.summary(entry)
        except FormatError as error:
            if archive.path(entry).exists():  # and was not removed just now
                warn(f"the entry {entry.id} {what_is_wrong(error)} and is left out: {error}")
            continue
        if selection.takes(report):
            yield entry, report


def what_is_wrong(error: FormatError) -> str:
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
    agent, asked = report.agents[run], report.suite.cases
    return asked - agent.counts.get("not_run", 0), asked + (agent.dropped.get("cases_filtered_out") or 0)


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
    found = next((each for each in pair.differences if each.measure == pair.primary), pair.differences[0])
    return f"{found.verdict} against {pair.baseline}"
