"""What earlier entries of the archive tell of a report: its trends, and what has drifted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from searchmark.analysis.drifts import drifts_of, not_compared
from searchmark.analysis.past import PastRun
from searchmark.analysis.trends import Trend, trends_of
from searchmark.archive.entries import new_entry
from searchmark.archive.listing import EntrySelection, Warn, summaries
from searchmark.archive.store import Archive
from searchmark.options.drift_options import DRIFT_LIMIT
from searchmark.reports.notes import note
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
    earlier = list(_earlier(current, archive, report, now, warn))
    queries = current[0].fingerprints.queries if current else None
    past = [run for run in earlier if run.fingerprints.queries == queries]
    named = list(zip(report.agents, current, strict=True))
    apart = (sentence for name, run in named if (sentence := not_compared(name, run, earlier)) is not None)
    return replace(
        report,
        trends=tuple(_still_followed(current, past)) if past else (),
        drifts=tuple(drift for name, run in named for drift in drifts_of(name, run, past, limit)),
        notes=(*report.notes, *(note("earlier-runs-differ", sentence) for sentence in apart)),
    )


def _earlier(current: Sequence[PastRun], archive: Archive, report: Report, now: datetime, warn: Warn) -> Iterator[PastRun]:
    """Earlier runs of the same agents; entries of other suites are told by their names and not read."""
    found = summaries(archive, EntrySelection(suite=report.suite.name, until=now), warn)
    followed = set(map(_series, current))
    known = ([run for run in past_runs(entry.id, entry.time, each) if _series(run) in followed] for entry, each in found)
    for runs in islice(filter(None, known), RUNS_IN_REPORT):
        yield from runs


def _series(run: PastRun) -> tuple[str, str | None]:
    return run.agent, run.snapshot


def _still_followed(current: Sequence[PastRun], past: Sequence[PastRun]) -> Iterator[Trend]:
    """The trends that lead up to this report; what is no longer measured has none.

    A saved run that was archived before is the same run, and counts under its first entry.
    """
    runs = [*past, *current]
    ours = {run.id for run in current if run.id}
    entries = {current[0].entry, *(run.entry for run in past if run.id in ours)}
    return (trend for trend in trends_of(runs) if trend.points[-1].entry in entries)


def archived_trends(archive: Archive, selection: EntrySelection, warn: Warn = lambda _: None) -> list[Trend]:
    """Every measure of the chosen runs over all entries that are chosen."""
    found = (past_runs(entry.id, entry.time, report) for entry, report in summaries(archive, selection, warn))
    return trends_of([run for runs in found for run in runs if selection.takes_run(run.agent, run.snapshot, run.repeat)])
