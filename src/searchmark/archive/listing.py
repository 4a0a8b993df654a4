"""The entries of an archive as rows: what was measured when, with which result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from searchmark.archive.entries import ArchiveEntry
from searchmark.archive.store import Archive
from searchmark.errors import FormatError
from searchmark.reports.outcome import outcome_of
from searchmark.reports.report import Report, Summaries

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
        known = {name for display, agent in report.agents.items() for name in (display, agent.name)}
        return (self.suite is None or report.suite.name == self.suite) and (self.agent is None or self.agent in known)


@dataclass(frozen=True)
class HistoryRow:
    """One run of one entry. ``verdict`` is how the report ended; of a comparison, what it says of this run."""

    entry: str
    time: datetime
    suite: str
    run: str
    verdict: str
    measures: Summaries
    folder: str
    drifts: int = 0


def summaries(archive: Archive, selection: EntrySelection, warn: Warn) -> Iterator[tuple[ArchiveEntry, Report]]:
    """The summaries of the entries that are wanted, the newest first; a damaged one is named and left out."""
    for entry in filter(selection.may_take, archive.entries()):
        try:
            report = archive.summary(entry)
        except FormatError as error:
            if archive.path(entry).exists():  # and was not removed just now
                warn(f"the entry {entry.id} is damaged and left out: {error}")
            continue
        if selection.takes(report):
            yield entry, report


def history_rows(entry: ArchiveEntry, report: Report, agent: str | None = None) -> Iterator[HistoryRow]:
    """One row per run of an entry, or those of one agent."""
    for name, summary in report.agents.items():
        if agent in (None, name, summary.name):
            drifts = sum(drift.run == name for drift in report.drifts)
            verdict = _verdict(report, name)
            yield HistoryRow(entry.id, entry.time, report.suite.name, name, verdict, summary.measures, entry.folder, drifts)


def _verdict(report: Report, run: str) -> str:
    outcome = outcome_of(report)
    pair = next((pair for pair in report.pairs if pair.candidate == run and pair.differences), None)
    if outcome != "measured" or pair is None:
        return outcome
    found = next((each for each in pair.differences if each.measure == pair.primary), pair.differences[0])
    return f"{found.verdict} against {pair.baseline}"
