"""Trends: one number over many runs, with the band inside which it is noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from statistics import fmean

from searchmark.analysis.causes import cause_words, causes, system_of
from searchmark.analysis.noise import Band, Followed, followed
from searchmark.analysis.past import PastRun, by_entry, distinct, known_before, meaning_of, oldest_first, told_apart
from searchmark.analysis.scores import Summary


@dataclass(frozen=True)
class TrendPoint:
    """One entry: its mean, and the interval of the mean where there is one. ``worse`` since it left the noise band downwards.

    ``changed`` is what is known to differ from the run before, in words. ``begins``: it is not held against the run before,
    since judgments, cases or the formula are others, but against the last ones with the same, if there are any.
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
    """One measure of one agent over its runs that were asked the same, the oldest first, of all cases or of those in ``where``.

    ``low`` and ``high`` are the noise band, by which the last run was judged; None where too few runs came before. ``worse_since``
    is the entry since which every run has been below it. ``left_out`` counts the runs that cannot be trusted, and
    ``left_out_since`` those of them that came after the last point. ``cases`` and ``queries`` tell what was asked.
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
    left_out_since: int = 0
    cases: int = 0
    queries: str | None = None


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
    """Every measure of every agent over its runs, as a whole and by segment; in the order in which they first came up.

    Runs that were asked other queries, such as a part of the suite, are followed by themselves, whatever comes between.
    """
    agents: dict[tuple[object, ...], list[PastRun]] = {}
    for run in oldest_first(told_apart(past)):
        agents.setdefault(run.series, []).append(run)
    return [trend for runs in agents.values() for same in _asked_the_same(runs) for trend in _trends(same)]


def _asked_the_same(runs: Sequence[PastRun]) -> list[list[PastRun]]:
    groups: dict[str | None, list[PastRun]] = {}
    for run, queries in zip(runs, known_before([run.fingerprints.queries for run in runs]), strict=True):
        groups.setdefault(queries, []).append(run)
    return list(groups.values())


def _trends(runs: Sequence[PastRun]) -> Iterator[Trend]:
    trusted = [run for run in runs if run.trusted]
    left_out = distinct(run for run in runs if not run.trusted)
    for line in dict.fromkeys(line for run in trusted for line in _lines(run)):
        known = distinct(run for run in trusted if _is_defined(line.of(run)))
        if known:
            yield _TrendStory(line, known, left_out).trend()


def _is_defined(summary: Summary | None) -> bool:
    return summary is not None and summary.mean is not None


def _lines(run: PastRun) -> Iterator[_FollowedMeasure]:
    yield from map(_FollowedMeasure, run.measures)
    for name, values in run.segments.items():
        for value, measures in values.items():
            yield from (_FollowedMeasure(measure, ((name, value),)) for measure in measures)


def _together(repeats: Sequence[Summary]) -> Summary:
    """One run for the repeats of an entry: the mean of their means, of which no interval is known."""
    if len(repeats) == 1:
        return repeats[0]
    mean = fmean(each.mean for each in repeats if each.mean is not None)
    return replace(repeats[0], mean=mean, median=None, std=None, low=None, high=None, answered_mean=None)


_Key = tuple[str | None, int, str | None]


class _TrendStory:
    """One line: its runs in order, how they were judged, and what is said about that.

    A run is held against those before with the same judgments, cases and formula, which are ``_alike``: a formula may keep its
    name, and a segment may get other cases.
    """

    def __init__(self, line: _FollowedMeasure, runs: Sequence[PastRun], left_out: Sequence[PastRun]) -> None:
        self._line, self._left_out = line, left_out
        entries = by_entry(runs)
        self._runs = [repeats[0] for repeats in entries]
        self._summaries = [_together([each for run in repeats if (each := line.of(run)) is not None]) for repeats in entries]
        self._means = [summary.mean or 0.0 for summary in self._summaries]
        self._measure = meaning_of(line.measure, self._summaries[-1])
        self._alike = self._alike_runs()
        self._series = {key: self._followed(rows) for key, rows in self._alike.items()}
        self._last_rows, self._last = self._alike[self._keys[-1]], self._series[self._keys[-1]]

    def _alike_runs(self) -> dict[_Key, list[int]]:
        judgments = known_before([run.fingerprints.judgments for run in self._runs])
        self._keys = [
            (judged_by, summary.cases + summary.undefined, summary.definition)
            for judged_by, summary in zip(judgments, self._summaries, strict=True)
        ]
        alike: dict[_Key, list[int]] = {}
        for row, key in enumerate(self._keys):
            alike.setdefault(key, []).append(row)
        return alike

    def _followed(self, rows: Sequence[int]) -> Followed:
        return followed([self._means[row] for row in rows], [system_of(self._runs[row].fingerprints) for row in rows])

    @property
    def _tells_quality(self) -> bool:
        return self._measure is not None and self._measure.tells_quality

    @property
    def _worse_rows(self) -> list[int]:
        """The stretch that is worse and has not ended."""
        begins = self._last.worse_from if self._tells_quality else None
        return [] if begins is None else self._last_rows[begins:]

    def trend(self) -> Trend:
        run, band, worse = self._runs[-1], self._band(), self._worse_rows
        return Trend(
            agent=run.name,
            measure=self._line.measure,
            points=tuple(self._points()),
            where=dict(self._line.where),
            low=None if band is None else band.low,
            high=None if band is None else band.high,
            worse_since=self._runs[worse[0]].entry if worse else None,
            sentence=self._sentence(band),
            suite=run.suite,
            snapshot=run.snapshot,
            left_out=len(self._left_out),
            left_out_since=self._left_out_since(),
            cases=self._keys[-1][1],
            queries=run.fingerprints.queries,
        )

    def _left_out_since(self) -> int:
        return sum(run.time > self._runs[-1].time for run in self._left_out)

    def _band(self) -> Band | None:
        if self._last.band is None or self._measure is None:
            return self._last.band
        return self._last.band.between(self._measure.low, self._measure.high)

    def _points(self) -> Iterator[TrendPoint]:
        worse = {
            row
            for key, rows in self._alike.items()
            for row, is_worse in zip(rows, self._series[key].worse, strict=True)
            if is_worse
        }
        for row, (run, summary) in enumerate(zip(self._runs, self._summaries, strict=True)):
            yield TrendPoint(
                entry=run.entry,
                time=run.time,
                mean=self._means[row],
                low=summary.low,
                high=summary.high,
                worse=self._tells_quality and row in worse,
                changed=causes(run.fingerprints, [self._runs[row - 1].fingerprints]) if row else (),
                begins=row > 0 and self._keys[row] != self._keys[row - 1],
            )

    def _sentence(self, band: Band | None) -> str | None:
        told = [*self._told_of_loss(band), *self._told_of_start()]
        return f"{self._subject()} {'; '.join(told)}" if told else None

    def _subject(self) -> str:
        run = self._runs[-1]
        agent = f"{run.name}@{run.snapshot}" if run.snapshot else run.name
        where = "".join(f", {name} {value}" for name, value in self._line.where)
        return f"{self._line.measure} of {agent}{where}"

    def _told_of_loss(self, band: Band | None) -> Iterator[str]:
        if band is None or not self._tells_quality:
            return
        bounds, worse = f"the noise band of {band.low:.4f} to {band.high:.4f}", self._worse_rows
        last = "the last run that can be trusted" if self._left_out_since() else "the last run"
        if worse:
            yield f"has been worse since {_named(self._runs[worse[0]])}: {self._means[-1]:.4f} in {last}, below {bounds}"
            yield from self._told_of_cause(worse)
        elif self._last.outside is not None and self._means[-1] < band.low:
            runs = len(self._last_rows) - self._last.outside
            count = "one run proves" if runs == 1 else f"{runs} runs after so few prove"
            yield f"is below {bounds} in {last} ({self._means[-1]:.4f}); {count} no trend"

    def _told_of_cause(self, worse: Sequence[int]) -> Iterator[str]:
        before = self._last_rows[self._last_rows.index(worse[0]) - 1]
        now, then = self._runs[worse[0]].fingerprints, [self._runs[before].fingerprints]
        yield cause_words(causes(now, then), now, then)
        if {self._runs[row].id for row in worse} == {None} and len({self._runs[row].answers or row for row in worse}) == 1:
            yield f"its {len(worse)} runs have the same answers and may be one that was evaluated again"

    def _told_of_start(self) -> Iterator[str]:
        start = self._last_rows[0]
        if start:
            yield f"starts again with {_named(self._runs[start])}: {self._differences(start)} than before"

    def _differences(self, start: int) -> str:
        """Why a run is not held against the one before it."""
        (judged, cases, formula), (judged_before, cases_before, formula_before) = self._keys[start], self._keys[start - 1]
        other = "other judgments" if judged != judged_before else "other cases" if cases != cases_before else None
        return " and ".join(filter(None, (other, "another formula" if formula != formula_before else None)))


def _named(run: PastRun) -> str:
    return f"{run.entry} ({run.time:%Y-%m-%d})"
