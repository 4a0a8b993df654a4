"""Trends: one number over many runs, with the band inside which it is noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from searchmark.analysis.causes import QUALITY, cause_words, causes
from searchmark.analysis.noise import Band, Followed, followed
from searchmark.analysis.past import PastRun, oldest_first
from searchmark.analysis.scores import Summary
from searchmark.errors import UsageError
from searchmark.measures.grammar import parse_measure


@dataclass(frozen=True)
class TrendPoint:
    """One run: its mean, and the interval of the mean where there is one. ``worse`` since it left the noise band downwards.

    ``changed`` is what is known to differ from the run before, in words. ``begins``: a new series begins here, since queries or
    judgments are others than before, so that no earlier run says anything about this one.
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
class _Line:
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
        known = [(run, summary) for run in trusted if (summary := line.of(run)) is not None and summary.mean is not None]
        if known:
            yield _Told(line, [run for run, _ in known], [summary for _, summary in known]).trend(len(runs) - len(trusted))


def _lines(run: PastRun) -> Iterator[_Line]:
    yield from map(_Line, run.measures)
    for name, values in run.segments.items():
        for value, measures in values.items():
            yield from (_Line(measure, ((name, value),)) for measure in measures)


class _Told:
    """One line: its runs in order, how they were judged, and what is said about that."""

    def __init__(self, line: _Line, runs: Sequence[PastRun], summaries: Sequence[Summary]) -> None:
        self._line, self._runs, self._summaries = line, runs, summaries
        self._means = [summary.mean or 0.0 for summary in summaries]
        self._begins = [not run or not self._continues(run) for run in range(len(runs))]
        self._start = max(run for run, begins in enumerate(self._begins) if begins)
        self._series = [self._followed(*bounds) for bounds in self._stretches()]

    def _continues(self, run: int) -> bool:
        """Whether a run was asked and judged as the one before; a formula may keep its name and mean something else."""
        now, before = self._runs[run].fingerprints, self._runs[run - 1].fingerprints
        same_formula = self._summaries[run].definition == self._summaries[run - 1].definition
        return same_formula and not causes(now, [before], ("queries", "judgments"))

    def _stretches(self) -> Iterable[tuple[int, int]]:
        starts = [run for run, begins in enumerate(self._begins) if begins]
        return zip(starts, [*starts[1:], len(self._runs)], strict=True)

    def _followed(self, start: int, end: int) -> Followed:
        systems = [run.fingerprints if run.fingerprints.known else None for run in self._runs[start:end]]
        return followed(self._means[start:end], systems)

    def trend(self, left_out: int) -> Trend:
        run, last = self._runs[-1], self._series[-1]
        band = last.band
        since = last.worse_from if _tells_quality(self._line.measure, self._summaries[-1]) else None
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

    def _points(self) -> Iterator[TrendPoint]:
        worse = [each for series in self._series for each in series.worse]
        quality = _tells_quality(self._line.measure, self._summaries[-1])
        for number, (run, summary) in enumerate(zip(self._runs, self._summaries, strict=True)):
            yield TrendPoint(
                entry=run.entry,
                time=run.time,
                mean=self._means[number],
                low=summary.low,
                high=summary.high,
                worse=quality and worse[number],
                changed=self._changed(number),
                begins=number > 0 and self._begins[number],
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
        if band is None or not _tells_quality(self._line.measure, self._summaries[-1]):
            return
        bounds = f"the noise band of {band.low:.4f} to {band.high:.4f}"
        if last.worse_from is not None:
            first = self._start + last.worse_from
            now, before = self._runs[first].fingerprints, [self._runs[first - 1].fingerprints]
            yield f"has been worse since {_named(self._runs[first])}: {self._means[-1]:.4f} in the last run, below {bounds}"
            yield cause_words(causes(now, before, QUALITY), now, before)
        elif last.outside is not None and self._means[-1] < band.low:
            runs = len(self._runs) - self._start - last.outside
            count = "one run proves" if runs == 1 else f"{runs} runs after so few prove"
            yield f"is below {bounds} in the last run ({self._means[-1]:.4f}); {count} no trend"

    def _told_of_start(self) -> Iterator[str]:
        if self._start:
            now, before = self._runs[self._start].fingerprints, [self._runs[self._start - 1].fingerprints]
            why = causes(now, before, ("queries", "judgments")) or ("another formula",)
            yield f"starts again with {_named(self._runs[self._start])}: {' and '.join(why)} than before"


def _named(run: PastRun) -> str:
    return f"{run.entry} ({run.time:%Y-%m-%d})"


def _tells_quality(name: str, summary: Summary) -> bool:
    """Whether less of a measure is worse; one that this version does not know was defined by an agent or a later version."""
    try:
        return parse_measure(summary.definition or name).tells_quality
    except UsageError:
        return False
