"""What earlier entries of the archive tell of a report: its trends, and what has drifted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from searchmark.analysis.drifts import drifts_of, latencies_not_compared, not_compared
from searchmark.analysis.past import PastRun, are_one
from searchmark.analysis.trends import Trend, trends_of
from searchmark.archive.entries import new_entry
from searchmark.archive.listing import EntrySelection, Warn, summaries
from searchmark.archive.store import Archive
from searchmark.findings import finding
from searchmark.options.drift_options import DRIFT_LIMIT
from searchmark.records.shown import counted
from searchmark.reports import without_known_secrets
from searchmark.reports.past_runs import past_runs
from searchmark.reports.report import Report

RUNS_IN_REPORT = 30  # of each agent that were asked the same; 'searchmark history trend' shows all of them


def with_history(
    report: Report, archive: Archive, now: datetime, warn: Warn = lambda _: None, limit: float = DRIFT_LIMIT
) -> Report:
    """The report with its trends and drifts, seen from earlier entries on the same suite that were asked the same queries.

    Judgments and corpus may be others than today's: trends say where they changed, and drifts that this may be the cause. ``now``
    is when the report will be archived, so that its own entry is named as the others are; without a zone it is local time.
    """
    now, report = now.astimezone(UTC), without_known_secrets(report)  # earlier entries have its names without them
    current = past_runs(new_entry(report, now).id, now, report)
    past = list(_earlier(current, archive, report, now, warn))
    named = list(_one_per_series(zip(report.agents, current, strict=True)))
    checks = (not_compared, latencies_not_compared)
    apart = (sentence for name, run in named for check in checks if (sentence := check(name, run, past)) is not None)
    return replace(
        report,
        trends=tuple(_still_followed(current, past)),
        drifts=tuple(drift for name, run in named for drift in drifts_of(name, run, [*past, *current], limit)),
        audit=(*report.audit, *(finding("earlier-runs-differ", sentence) for sentence in apart)),
    )


def _one_per_series(named: Iterable[tuple[str, PastRun]]) -> Iterator[tuple[str, PastRun]]:
    """The first of the repeats of a run that can be trusted, else the first."""
    series: dict[tuple[object, ...], tuple[str, PastRun]] = {}
    for name, run in named:
        if run.series not in series or (run.trusted and not series[run.series][1].trusted):
            series[run.series] = name, run
    yield from series.values()


def _earlier(current: Sequence[PastRun], archive: Archive, report: Report, now: datetime, warn: Warn) -> Iterator[PastRun]:
    """Earlier runs of the same agents, and those that were asked other queries; entries of other suites are not read."""
    series = {run.series for run in current}
    missing = dict.fromkeys(map(_asked, current), RUNS_IN_REPORT)
    found = summaries(archive, EntrySelection(suite=report.suite.name, until=now), warn)
    while any(missing.values()) and (pair := next(found, None)) is not None:
        entry, each = pair
        runs = [run for run in past_runs(entry.id, entry.time, each) if run.series in series and missing.get(_asked(run), 1)]
        yield from runs
        missing |= {asked: missing[asked] - 1 for asked in {*map(_asked, runs)} & missing.keys()}


def _asked(run: PastRun) -> tuple[object, ...]:
    return *run.series, run.fingerprints.queries


def _still_followed(current: Sequence[PastRun], past: Sequence[PastRun]) -> Iterator[Trend]:
    """The trends that lead up to this report; what is measured for the first time, or no longer, has none.

    A run that was archived before counts under its first entry.
    """
    again = {run.entry for now in current for run in past if run.series == now.series and are_one(run, now)}
    entries = again | {run.entry for run in current}
    return (trend for trend in trends_of([*past, *current]) if len(trend.points) > 1 and trend.points[-1].entry in entries)


def archived_trends(archive: Archive, selection: EntrySelection, warn: Warn = lambda _: None) -> list[Trend]:
    """Every measure of the chosen runs over all entries that are chosen; of runs that all cannot be trusted there is none."""
    found = (past_runs(entry.id, entry.time, report) for entry, report in summaries(archive, selection, warn))
    past = [run for runs in found for run in runs if _is_chosen(run, selection)]
    trusted = {run.series for run in past if run.trusted}
    spoiled = Counter((run.suite, run.name) for run in past if run.series not in trusted)
    for (suite, name), runs in spoiled.items():
        warn(f"{counted(runs, 'run')} of {name} on {suite} cannot be trusted and {'is' if runs == 1 else 'are'} left out")
    return trends_of(past)


def _is_chosen(run: PastRun, selection: EntrySelection) -> bool:
    return selection.takes_run((run.agent, run.identity), run.snapshot, max(run.repeat, run.number))
