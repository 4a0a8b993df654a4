"""Trends: one number over many runs, with the band inside which it is noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from searchmark.analysis.causes import cause_words, causes, system_of
from searchmark.analysis.noise import Band, Followed, followed
from searchmark.analysis.past import Fingerprints, PastRun, distinct, meaning_of, oldest_first
from searchmark.analysis.scores import Summary

ASKED = ("queries", "judgments")


@dataclass(frozen=True)
class TrendPoint:
    """One run: its mean, and the interval of the mean where there is one. ``worse`` since it left the noise band downwards.

    ``changed`` is what is known to differ from the run before, in words. ``begins``: a new series begins here, since queries,
    judgments, cases or the formula are others than before, so that no earlier run says anything about this one.
    """

    entry: str
    time: datetime
    mean: float
    low: float | None = None
    high: float | None = None
    worse: bool = False
    changed: tuple[str, ...] = ()
    begins: bool = False


@dataclass(frozen=True)
class Trend:
    """One measure of one agent over its runs, the oldest first, of all cases or of those that ``where`` names.

    ``low`` and ``high`` are the noise band, by which the last run was judged; None where too few runs came before. ``worse_since``
    is the entry since which every run has been below it. ``left_out`` counts the runs that cannot be trusted.
    """

    agent: str
    measure: str
    points: tuple[TrendPoint, ...]
    where: Mapping[str, str] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    worse_since: str | None = None
    sentence: str | None = None
    suite: str | None = None
    snapshot: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class _FollowedMeasure:
    """What is followed over the runs of one agent on one suite."""

    measure: str
    where: tuple[tuple[str, str], ...] = ()

    def of(self, run: PastRun) -> Summary | None:
        if not self.where:
            return run.measures.get(self.measure)
        ((name, value),) = self.where
        return run.segments.get(name, {}).get(value, {}).get(self.measure)


def trends_of(past: Sequence[PastRun]) -> list[Trend]:
    """Every measure of every agent over its runs, as a whole and by segment; in the order in which they first came up."""
    groups: dict[tuple[str, str, str | None], list[PastRun]] = {}
    for run in oldest_first(past):
        groups.setdefault((run.suite, run.agent, run.snapshot), []).append(run)
    return [trend for runs in groups.values() for trend in _trends(runs)]


def _trends(runs: Sequence[PastRun]) -> Iterator[Trend]:
    trusted = [run for run in runs if run.trusted]
    for line in dict.fromkeys(line for run in trusted for line in _lines(run)):
        known = distinct(run for run in trusted if _is_defined(line.of(run)))
        if known:
            yield _TrendStory(line, known).trend(left_out=len(runs) - len(trusted))


def _is_defined(summary: Summary | None) -> bool:
    return summary is not None and summary.mean is not None


def _lines(run: PastRun) -> Iterator[_FollowedMeasure]:
    yield from map(_FollowedMeasure, run.measures)
    for name, values in run.segments.items():
        for value, measures in values.items():
            yield from (_FollowedMeasure(measure, ((name, value),)) for measure in measures)


class _TrendStory:
    """One line: its runs in order, how they were judged, and what is said about that."""

    def __init__(self, line: _FollowedMeasure, runs: Sequence[PastRun]) -> None:
        self._line, self._runs = line, runs
        self._summaries = [summary for run in runs if (summary := line.of(run)) is not None]
        self._means = [summary.mean or 0.0 for summary in self._summaries]
        self._measure = meaning_of(line.measure, self._summaries[-1])
        self._starts = [run for run in range(len(runs)) if not run or self._breaks(run)]
        self._series = [self._followed(*bounds) for bounds in self._stretches()]

    @property
    def _start(self) -> int:
        """Where the last series begins."""
        return self._starts[-1]

    @property
    def _tells_quality(self) -> bool:
        return self._measure is not None and self._measure.tells_quality

    def _breaks(self, run: int) -> tuple[str, ...]:
        """Why a run cannot be held against the one before: a formula may keep its name, and a segment may get other cases."""
        now, before = self._summaries[run], self._summaries[run - 1]
        found = causes(self._runs[run].fingerprints, [self._asked_before(run)], ASKED)
        if now.cases + now.undefined != before.cases + before.undefined and not found:
            found = ("other cases",)
        return found if now.definition == before.definition else (*found, "another formula")

    def _asked_before(self, run: int) -> Fingerprints:
        """The last queries and judgments that are known: a run between that knows neither does not bridge two series."""
        return Fingerprints(**{part: self._last_known(part, run) for part in ASKED})

    def _last_known(self, part: str, before: int) -> str | None:
        values = (getattr(self._runs[run].fingerprints, part) for run in range(before - 1, -1, -1))
        return next((value for value in values if value is not None), None)

    def _stretches(self) -> Iterable[tuple[int, int]]:
        return zip(self._starts, [*self._starts[1:], len(self._runs)], strict=True)

    def _followed(self, start: int, end: int) -> Followed:
        systems = [system_of(run.fingerprints) for run in self._runs[start:end]]
        return followed(self._means[start:end], systems)

    def trend(self, left_out: int) -> Trend:
        run, last = self._runs[-1], self._series[-1]
        band = self._band(last)
        since = last.worse_from if self._tells_quality else None
        return Trend(
            agent=run.agent,
            measure=self._line.measure,
            points=tuple(self._points()),
            where=dict(self._line.where),
            low=None if band is None else band.low,
            high=None if band is None else band.high,
            worse_since=None if since is None else self._runs[self._start + since].entry,
            sentence=self._sentence(last, band),
            suite=run.suite,
            snapshot=run.snapshot,
            left_out=left_out,
        )

    def _band(self, last: Followed) -> Band | None:
        if last.band is None or self._measure is None:
            return last.band
        return last.band.between(self._measure.low, self._measure.high)

    def _points(self) -> Iterator[TrendPoint]:
        worse = [each for series in self._series for each in series.worse]
        for number, (run, summary) in enumerate(zip(self._runs, self._summaries, strict=True)):
            yield TrendPoint(
                entry=run.entry,
                time=run.time,
                mean=self._means[number],
                low=summary.low,
                high=summary.high,
                worse=self._tells_quality and worse[number],
                changed=self._changed(number),
                begins=number > 0 and number in self._starts,
            )

    def _changed(self, run: int) -> tuple[str, ...]:
        return causes(self._runs[run].fingerprints, [self._runs[run - 1].fingerprints]) if run else ()

    def _sentence(self, last: Followed, band: Band | None) -> str | None:
        told = [*self._told_of_loss(last, band), *self._told_of_start()]
        return f"{self._subject()} {'; '.join(told)}" if told else None

    def _subject(self) -> str:
        run = self._runs[-1]
        agent = f"{run.agent}@{run.snapshot}" if run.snapshot else run.agent
        where = "".join(f", {name} {value}" for name, value in self._line.where)
        return f"{self._line.measure} of {agent}{where}"

    def _told_of_loss(self, last: Followed, band: Band | None) -> Iterator[str]:
        if band is None or not self._tells_quality:
            return
        bounds = f"the noise band of {band.low:.4f} to {band.high:.4f}"
        if last.worse_from is not None:
            first = self._start + last.worse_from
            now, before = self._runs[first].fingerprints, [self._runs[first - 1].fingerprints]
            yield f"has been worse since {_named(self._runs[first])}: {self._means[-1]:.4f} in the last run, below {bounds}"
            yield cause_words(causes(now, before), now, before)
        elif last.outside is not None and self._means[-1] < band.low:
            runs = len(self._runs) - self._start - last.outside
            count = "one run proves" if runs == 1 else f"{runs} runs after so few prove"
            yield f"is below {bounds} in the last run ({self._means[-1]:.4f}); {count} no trend"

    def _told_of_start(self) -> Iterator[str]:
        if self._start:
            yield f"starts again with {_named(self._runs[self._start])}: {' and '.join(self._breaks(self._start))} than before"


def _named(run: PastRun) -> str:
    return f"{run.entry} ({run.time:%Y-%m-%d})"
