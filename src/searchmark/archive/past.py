"""What earlier entries of the archive tell of a report: its trends, and what has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from searchmark.analysis.drifts import drifts_of
from searchmark.analysis.past import PastRun
from searchmark.analysis.trends import Trend, trends_of
from searchmark.archive.entries import new_entry
from searchmark.archive.listing import EntrySelection, Warn, summaries
from searchmark.archive.store import Archive
from searchmark.options.drift_options import DRIFT_LIMIT
from searchmark.reports.past_runs import past_runs
from searchmark.reports.report import Report

RUNS_IN_REPORT = 30  # of each agent; 'searchmark history trend' shows all of them


def with_history(
    report: Report, archive: Archive, now: datetime, warn: Warn = lambda _: None, limit: float = DRIFT_LIMIT
) -> Report:
    """The report with its trends and drifts, seen from earlier entries on the same suite that were asked the same queries.

    Judgments and corpus may be others than today's: trends say where they changed, and drifts that this may be the cause. ``now``
    is when the report will be archived, so that its own entry is named as the others are.
    """
    current = past_runs(new_entry(report, now).id, now, report)
    past = list(_earlier(current, archive, report, now, warn))
    if not past:
        return report
    drifts = tuple(drift for name, run in zip(report.agents, current, strict=True) for drift in drifts_of(name, run, past, limit))
    return replace(report, trends=tuple(_still_followed(current, past)), drifts=drifts)


def _earlier(current: Sequence[PastRun], archive: Archive, report: Report, now: datetime, warn: Warn) -> Iterator[PastRun]:
    """Earlier runs of the same agents; entries of other suites are told by their names and not read."""
    found = summaries(archive, EntrySelection(suite=report.suite.name, until=now), warn)
    comparable = (past_runs(entry.id, entry.time, each) for entry, each in found if _asked_the_same(each, report))
    known = ([run for run in runs if _series(run) in set(map(_series, current))] for runs in comparable)
    for runs in islice(filter(None, known), RUNS_IN_REPORT):
        yield from runs


def _asked_the_same(one: Report, other: Report) -> bool:
    return one.suite.hashes.get("queries") == other.suite.hashes.get("queries")


def _series(run: PastRun) -> tuple[str, str | None]:
    return run.agent, run.snapshot


def _still_followed(current: Sequence[PastRun], past: Sequence[PastRun]) -> Iterator[Trend]:
    """The trends that lead up to this report; what is no longer measured has none."""
    entry = current[0].entry
    return (trend for trend in trends_of([*past, *current]) if trend.points[-1].entry == entry)


def archived_trends(archive: Archive, selection: EntrySelection, warn: Warn = lambda _: None) -> list[Trend]:
    """Every measure of the chosen runs over all entries that are chosen."""
    found = (past_runs(entry.id, entry.time, report) for entry, report in summaries(archive, selection, warn))
    return trends_of([run for runs in found for run in runs if selection.agent in (None, run.agent)])
