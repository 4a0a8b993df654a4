"""Earlier runs of the same agent: trends, the noise band around them, and what may have moved a number."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import cache
from math import fsum, pi, sqrt
from statistics import fmean

import numpy as np

from searchmark.errors import UsageError, shortened
from searchmark.measures.grammar import AnyMeasure, parse_measure
from searchmark.records.answers import OK
from searchmark.records.provenance import Host, VectorStatistics
from searchmark.records.run import Run
from searchmark.scoring.costs import AnnRecall, Latency
from searchmark.scoring.scores import Summary
from searchmark.scoring.statistics import beta_quantile, t_quantile

# How the scores of the first hits are distributed: where they drift or are compressed, something about the vectors changed.

DEPTHS = {"top_1": 1, "top_10": 10}


@dataclass(frozen=True)
class ScoreSpread:
    """The mean and the standard deviation over answers; None where one answer has no deviation."""

    mean: float
    std: float | None
    answers: int


def similarity_of(run: Run) -> dict[str, ScoreSpread]:
    """The score of the first hit, and the mean score of the first ten, over the answers that have scores."""
    spreads = ((name, _spread(_means(run, depth))) for name, depth in DEPTHS.items())
    return {name: spread for name, spread in spreads if spread is not None}


def _means(run: Run, depth: int) -> list[float]:
    """The mean score of the first hits of every answer, as far as all of them have one."""
    answered = np.flatnonzero(run.status == OK)
    rows, starts = run.first_rows(answered, depth)
    scores = run.scores[rows]
    sizes = np.diff(starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = np.add.reduceat(np.append(scores, 0.0), starts[:-1]) if len(answered) else np.zeros(0)
        means = sums / sizes
    finite_means: list[float] = means[(sizes > 0) & np.isfinite(means)].tolist()
    return finite_means


def _spread(values: list[float]) -> ScoreSpread | None:
    """Summed exactly, so that the order of the answers changes no digit."""
    try:
        mean = fsum(values) / len(values) if values else None
        squares = 0.0 if mean is None else fsum((value - mean) ** 2 for value in values)
    except OverflowError:  # scores that no vectors have
        return None
    return None if mean is None else ScoreSpread(mean, sqrt(squares / (len(values) - 1)) if len(values) > 1 else None, len(values))


# What an earlier run left behind, in numbers: all that trends and drifts are computed from.

OF_THE_SUITE = ("queries", "judgments", "corpus")


# Within this time, an imported run with the answers of the one before is that run once more: a job that was tried again. A
# later one may just as well be another run of a system that has not changed.
TRIED_AGAIN = timedelta(hours=12)


@dataclass(frozen=True)
class Fingerprints:
    """What could explain that two runs differ; None where it is not known."""

    model: str | None = None
    normalisation: str | None = None
    chunking: str | None = None
    index: str | None = None
    corpus: str | None = None  # a digest, like the next two
    queries: str | None = None
    judgments: str | None = None
    code: str | None = None  # digest of the code of the agent
    options: str | None = None  # digest of its options
    asking: str | None = None  # digest of how cases were asked: depth, time limit and so on
    version: str | None = None
    packages: str | None = None  # digest of the versions of Python and of what is installed
    machine: str | None = None  # hardware
    host: str | None = None  # name of the machine

    @property
    def measured_on(self) -> Host | None:
        """The host, as runs know it; None where its name is not known."""
        return None if self.host is None else Host(self.host, self.machine)

    @property
    def known(self) -> bool:
        """Whether anything is known of what answered; what was asked says nothing about that."""
        return any(getattr(self, each.name) is not None for each in fields(self) if each.name not in OF_THE_SUITE)


@dataclass(frozen=True)
class PastRun:
    """One run of one agent in the archive."""

    entry: str  # its name in the archive
    time: datetime
    suite: str
    agent: str
    trusted: bool  # False for a result not to rely on
    measures: Mapping[str, Summary]
    segments: Mapping[str, Mapping[str, Mapping[str, Summary]]] = field(default_factory=dict)
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    similarity: Mapping[str, ScoreSpread] = field(default_factory=dict)
    ann: Mapping[str, AnnRecall] = field(default_factory=dict)
    vectors: tuple[VectorStatistics, ...] = ()
    fingerprints: Fingerprints = Fingerprints()
    # The run's own, None if imported; a run may be in several entries, such as a baseline that others are compared with.
    id: str | None = None
    snapshot: str | None = None  # of its label
    repeat: int = 1  # of its label
    number: int = 1  # counts the runs of one entry with the same label, such as the two sides of a comparison
    answers: str | None = None  # digest of what it answered
    qualified: str | None = None  # AGENT:MODE; what is called by the same mode may be another agent

    @property
    def identity(self) -> str:
        return self.qualified or self.agent

    @property
    def name(self) -> str:
        """The agent, and which of several with this label."""
        return self.agent if self.number == 1 else f"{self.agent}#{self.number}"

    @property
    def series(self) -> tuple[str, str, str | None, int]:
        """What earlier runs of the same have in common; repeats of an entry are one."""
        return self.suite, self.identity, self.snapshot, self.number


def meaning_of(measure: str, summary: Summary) -> AnyMeasure | None:
    """The measure or formula behind a name; None where this version does not know it."""
    return _parse_measure(summary.definition or measure)


@cache
def _parse_measure(text: str) -> AnyMeasure | None:
    try:
        return parse_measure(text)
    except UsageError:
        return None


def oldest_first(past: Iterable[PastRun]) -> list[PastRun]:
    """Runs in the order in which they were made, whatever the order of the entries."""
    return sorted(past, key=lambda run: (run.time, run.entry, run.agent, run.snapshot or "", run.number, run.repeat, run.id or ""))


def is_same_run(first: PastRun, second: PastRun) -> bool:
    """Whether two runs of one series are one that was evaluated twice."""
    if first.id is not None or second.id is not None:
        return first.id == second.id
    return first.answers is not None and first.answers == second.answers and abs(second.time - first.time) < TRIED_AGAIN


def distinct_runs(runs: Iterable[PastRun]) -> list[PastRun]:
    """Every result once: a run that is in several entries, such as a baseline, is no repeat of itself."""
    latest_by_result: dict[tuple[object, ...], PastRun] = {}
    return [run for run in runs if _is_new_run(run, latest_by_result)]


def _is_new_run(run: PastRun, latest_by_result: dict[tuple[object, ...], PastRun]) -> bool:
    """An imported run is compared with the one before: the answers of last week may come back."""
    result = _result(run)
    before = latest_by_result.get(result)
    if before is not None and is_same_run(before, run):
        return False
    latest_by_result[result] = run
    return True


def _result(run: PastRun) -> tuple[object, ...]:
    """A run that was judged by other judgments is another result."""
    fingerprints = run.fingerprints
    return run.id, run.series, run.repeat, fingerprints.queries, fingerprints.judgments


def with_unique_names(past: Sequence[PastRun]) -> list[PastRun]:
    """The runs, each called by agent and mode where another agent is called alike."""
    identities: dict[str, set[str]] = {}
    for run in past:
        identities.setdefault(run.agent, set()).add(run.identity)
    return [run if len(identities[run.agent]) == 1 else replace(run, agent=run.identity) for run in past]


def group_by_entry(runs: Iterable[PastRun]) -> list[list[PastRun]]:
    """The repeats of each entry: they say together what one run says, and do not confirm each other."""
    entries: dict[str, list[PastRun]] = {}
    for run in runs:
        entries.setdefault(run.entry, []).append(run)
    return list(entries.values())


def carry_forward(values: Sequence[str | None]) -> Iterator[str | None]:
    """Every value, and the last known one where it is not known: what is not known is not different, nor is it a bridge."""
    last = next((value for value in values if value is not None), None)
    for value in values:
        last = last if value is None else value
        yield last


# What may have moved a number: all that is known to differ between two runs besides the number itself.

LONGEST_NAME = 60

NOTHING_CHANGED = "nothing that is known has changed"

NOT_KNOWN = "what else has changed is not known"

_BRACES = str.maketrans("", "", '{}"')  # of JSON


# Which words name the part, and whether its values say something to people; digests do not.
_PARTS = {
    "model": ("another model", True),
    "normalisation": ("other normalisation", True),
    "chunking": ("other chunking", True),
    "index": ("another index", True),
    "corpus": ("another corpus", False),
    "queries": ("other queries", False),
    "judgments": ("other judgments", False),
    "code": ("other code of the agent", False),
    "options": ("other options of the agent", False),
    "asking": ("other options of the run", False),
    "version": ("another version of Searchmark", True),
    "packages": ("other versions of Python or its packages", False),
    "machine": ("another machine", True),
}


# What a number depends on. Neither a machine nor its load changes what is found, as long as no search takes too long.
QUALITY = tuple(part for part in _PARTS if part != "machine")

SCORES = tuple(part for part in QUALITY if part != "judgments")


# Vectors are stored before anything is asked.
VECTORS = tuple(part for part in SCORES if part not in ("queries", "asking"))

SPEED = tuple(part for part in _PARTS if part != "judgments")


def system_of(fingerprints: Fingerprints, parts: Collection[str] = QUALITY) -> tuple[str | None, ...] | None:
    """What is equal for runs of which nothing is known to differ that could matter; None where nothing is known of the system."""
    values = {part: getattr(fingerprints, part) for part in _PARTS if part in parts}
    is_known = any(value is not None for part, value in values.items() if part not in OF_THE_SUITE)
    return tuple(values.values()) if is_known else None


def possible_causes(now: Fingerprints, before: Sequence[Fingerprints], parts: Collection[str] = QUALITY) -> tuple[str, ...]:
    """What differs from one or more earlier runs, the oldest first, in words; what is not known is not different."""
    if all(each == now for each in before):
        return ()
    return tuple(words for part in _PARTS if part in parts and (words := _difference(part, now, before)))


def _difference(part: str, now: Fingerprints, before: Sequence[Fingerprints]) -> str | None:
    value = getattr(now, part)
    others = [other for each in before if (other := getattr(each, part)) is not None and value not in (None, other)]
    if not others:
        return None
    words, readable = _PARTS[part]
    some = "" if len(others) == len(before) else f" than in {len(others)} of {len(before)} runs"
    old, new = _shorten_both(others[-1], value)
    return f"{words}{some} ({old}, now {new})" if readable else f"{words}{some}"


def _shorten_both(old: str, new: str) -> tuple[str, str]:
    """Two values, shortened; of long lists of parameters only those that differ, or else both would begin and end alike."""
    before, after = old.split(", "), new.split(", ")
    old_only, new_only = [each for each in before if each not in after], [each for each in after if each not in before]
    if max(len(old), len(new)) <= LONGEST_NAME or not old_only or not new_only:
        return _short(old), _short(new)
    return _parameters(old_only), _parameters(new_only)


def _parameters(parts: Sequence[str]) -> str:
    return _short(", ".join(part.translate(_BRACES) for part in parts))


def _short(value: str) -> str:
    return shortened(value, LONGEST_NAME)


def cause_words(causes: Sequence[str], now: Fingerprints, before: Sequence[Fingerprints], *, moved: bool = True) -> str:
    """The end of a sentence: what may have moved a number, or what else differs where it may not have ``moved`` at all."""
    if causes:
        what = f"likely cause{'s' * (len(causes) > 1)}" if moved else "what else differs"
        return f"{what}: {', '.join(causes)}"
    return NOTHING_CHANGED if now.known and any(each.known for each in before) else NOT_KNOWN


# The noise band: between which values the next run of the same system would be, and since when runs have been below it.
#
# The cases of all runs are the same, so the interval of a mean, which is about other cases, says nothing here: a system that
# always gives the same answers has no noise at all. What there is shows between one run and the next. The deviation is that
# of successive differences (von Neumann's), since one step or a slow decline adds little to it; it is taken from runs of which
# nothing is known to differ where there are enough of them, else from all runs, and then includes how much changes of the
# system usually do. The band is a prediction interval around the mean of the level that the runs are on, and never narrower
# than a floor. Two runs above it begin a new level. One run outside proves nothing: it is taken for noise unless others follow,
# and then the band reaches as far as that run for a while: answers that are lost now and then are no loss.

SMALLEST_EFFECT = 0.01  # the smallest difference of means that matters, as in a comparison

OUTSIDE = 0.02  # how often the next run of the same system is outside its band, on either side

FEWEST_RUNS = 3  # before there is a band

ENOUGH_REPEATS = 6  # pairs of runs of which nothing is known to differ


# So many runs in a row must be below the band: the fewer runs came before, the less is known of what the system may do.
WELL_KNOWN = 10

IN_A_ROW, IN_A_ROW_EARLY = 2, 3

REMEMBERED = 30  # runs of a level whose values are all within the band

MANY_DEGREES = 9.0

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Band:
    """The values that are noise; ``runs`` is how many the band was made of."""

    low: float
    high: float
    runs: int

    def side_of(self, value: float) -> int:
        """-1 below, 1 above, 0 within the band."""
        slack = _ROUNDING * max(abs(self.low), abs(self.high))
        return (value > self.high + slack) - (value < self.low - slack)

    def between(self, lowest: float, highest: float) -> Band:
        """The part of it that a number can have."""
        return Band(max(self.low, lowest), min(self.high, highest), self.runs)


@dataclass(frozen=True)
class NoiseHistory:
    """Runs one after another: the band by which each was judged, and whether it belongs to a stretch that is worse."""

    bands: tuple[Band | None, ...]
    worse: tuple[bool, ...]
    worse_from: int | None  # where the stretch begins that has not ended
    outside: int | None  # where the runs begin that are outside the band and too few to say so

    @property
    def band(self) -> Band | None:
        return self.bands[-1] if self.bands else None


@dataclass
class _StepSpread:
    """The mean of squared differences, each between one run and the next."""

    squares: float = 0.0
    count: int = 0
    adjacent: int = 0
    last: int = -1

    def add(self, difference: float, start: int, end: int) -> None:
        self.squares += difference * difference
        self.count += 1
        self.adjacent += start == self.last
        self.last = end

    @property
    def deviation(self) -> float:
        return sqrt(self.squares / (2 * self.count))

    @property
    def degrees(self) -> float:
        """Of freedom; two differences that share a run are not independent, with a correlation of their squares of 1/4."""
        return 2 * self.count**2 / (2 * self.count + self.adjacent)


@dataclass
class _NoiseTracker:
    values: Sequence[float]
    systems: Sequence[Hashable | None]
    floor: float
    level: list[int] = field(default_factory=list)
    total: float = 0.0
    usual: _StepSpread = field(default_factory=_StepSpread)
    repeats: _StepSpread = field(default_factory=_StepSpread)
    outside: list[int] = field(default_factory=list)
    side: int = 0
    worse: set[int] = field(default_factory=set)

    @property
    def spread(self) -> _StepSpread:
        return self.repeats if self.repeats.count >= ENOUGH_REPEATS else self.usual

    def half(self, centre_variance: float) -> float:
        """Half of the band around a centre that itself varies so much, in variances of a run."""
        return max(self.floor, _t(self.spread.degrees) * self.spread.deviation * sqrt(1 + centre_variance))

    def band(self) -> Band | None:
        runs = len(self.level)
        if runs < FEWEST_RUNS and self.spread is self.usual:
            return None
        centre, half = self.total / runs, self.half(1 / runs)
        recent_values = [self.values[run] for run in self.level[-REMEMBERED:]]
        return Band(min(centre - half, *recent_values), max(centre + half, *recent_values), runs)

    def follow(self, run: int) -> Band | None:
        band = self.band()
        side = 0 if band is None else band.side_of(self.values[run])
        if side != self.side:
            self._settle()
            self.side = side
        if side:
            self.outside.append(run)
        else:
            self._join(run)
        if self.confirmed and side > 0:
            self._begin_level()
        elif self.confirmed:
            self.worse.update(self.outside)
        return band

    @property
    def confirmed(self) -> bool:
        return len(self.outside) >= (IN_A_ROW if len(self.level) >= WELL_KNOWN else IN_A_ROW_EARLY)

    def _settle(self) -> None:
        """What came back, or went to the other side, before it was confirmed was noise; a stretch that was worse is over."""
        if not self.confirmed:
            for run in self.outside:
                self._join(run)
        self.outside = []

    def _begin_level(self) -> None:
        self.level, self.total, self.side = [], 0.0, 0
        for run in self.outside:
            self._join(run)
        self.outside = []

    def _join(self, run: int) -> None:
        if self.level:
            last = self.level[-1]
            difference = self.values[run] - self.values[last]
            self.usual.add(difference, last, run)
            if self.systems[run] is not None and self.systems[run] == self.systems[last]:
                self.repeats.add(difference, last, run)
        self.level.append(run)
        self.total += self.values[run]


def track_noise(values: Sequence[float], systems: Sequence[Hashable | None], floor: float = SMALLEST_EFFECT) -> NoiseHistory:
    """Runs from the oldest to the newest; ``systems`` are equal for runs of which nothing is known to differ, None if unknown."""
    follower = _NoiseTracker(values, systems, floor)
    bands = tuple(map(follower.follow, range(len(values))))
    begins = follower.outside[0] if follower.outside else None
    confirmed = follower.confirmed and follower.side < 0
    return NoiseHistory(
        bands,
        tuple(run in follower.worse for run in range(len(values))),
        worse_from=begins if confirmed else None,
        outside=None if confirmed else begins,
    )


def band_around(
    median: float, runs: int, values: Sequence[float], systems: Sequence[Hashable | None], floor: float = SMALLEST_EFFECT
) -> Band | None:
    """Between which values one more run would be if it were of the system that ``runs`` runs with this median were of.

    ``values`` and ``systems`` are of all runs that tell how large the noise is, from the oldest to the newest.
    """
    if len(values) < FEWEST_RUNS:
        return None
    follower = _NoiseTracker(values, systems, floor)
    for run in range(len(values)):
        follower.follow(run)
    # The median of many varies by pi / 2 more than their mean, and that of one or two is their mean.
    half = follower.half((1 if runs < FEWEST_RUNS else pi / 2) / runs)
    return Band(median - half, median + half, len(values))


@cache
def _t(degrees: float) -> float:
    """Student's t that is exceeded on either side with the probability OUTSIDE; exact for few degrees of freedom."""
    if degrees >= MANY_DEGREES:
        return t_quantile(1 - OUTSIDE / 2, degrees)
    x = beta_quantile(OUTSIDE, np.array([degrees / 2]), np.array([0.5])).item()
    return sqrt(degrees * (1 / x - 1))


# Trends: one number over many runs, with the band inside which it is noise.


@dataclass(frozen=True)
class TrendPoint:
    """One entry: its mean, and the interval of the mean where there is one."""

    entry: str
    time: datetime
    mean: float
    low: float | None = None
    high: float | None = None
    worse: bool = False  # since it left the noise band downwards
    changed: tuple[str, ...] = ()  # what is known to differ from the run before, in words
    # Not compared with the run before, since judgments, cases or the formula are others, but with the last one like it.
    begins: bool = False


@dataclass(frozen=True)
class Trend:
    """One measure of one agent over its runs that were asked the same, the oldest first."""

    agent: str
    measure: str
    points: tuple[TrendPoint, ...]
    where: Mapping[str, str] = field(default_factory=dict)  # the segment, empty for all cases
    low: float | None = None  # of the noise band by which the last run was judged, None where too few runs came before
    high: float | None = None  # of the noise band
    worse_since: str | None = None  # the entry since which every run has been below the band
    sentence: str | None = None
    suite: str | None = None
    snapshot: str | None = None
    left_out: int = 0  # runs that cannot be trusted
    left_out_since: int = 0  # those of them after the last point
    cases: int = 0  # how many were asked
    queries: str | None = None  # digest of what was asked


@dataclass(frozen=True)
class _TrackedMeasure:
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
    for run in oldest_first(with_unique_names(past)):
        agents.setdefault(run.series, []).append(run)
    return [trend for runs in agents.values() for same in _group_by_question(runs) for trend in _trends(same)]


def _group_by_question(runs: Sequence[PastRun]) -> list[list[PastRun]]:
    groups: dict[str | None, list[PastRun]] = {}
    for run, queries in zip(runs, carry_forward([run.fingerprints.queries for run in runs]), strict=True):
        groups.setdefault(queries, []).append(run)
    return list(groups.values())


def _trends(runs: Sequence[PastRun]) -> Iterator[Trend]:
    trusted_runs = [run for run in runs if run.trusted]
    left_out = distinct_runs(run for run in runs if not run.trusted)
    for line in dict.fromkeys(line for run in trusted_runs for line in _lines(run)):
        line_runs = distinct_runs(run for run in trusted_runs if _is_defined(line.of(run)))
        if line_runs:
            yield _TrendStory(line, line_runs, left_out).trend()


def _is_defined(summary: Summary | None) -> bool:
    return summary is not None and summary.mean is not None


def _lines(run: PastRun) -> Iterator[_TrackedMeasure]:
    yield from map(_TrackedMeasure, run.measures)
    for name, values in run.segments.items():
        for value, measures in values.items():
            yield from (_TrackedMeasure(measure, ((name, value),)) for measure in measures)


def _merge_repeats(repeats: Sequence[Summary]) -> Summary:
    """One run for the repeats of an entry: the mean of their means, of which no interval is known."""
    if len(repeats) == 1:
        return repeats[0]
    mean = fmean(each.mean for each in repeats if each.mean is not None)
    return replace(repeats[0], mean=mean, median=None, std=None, low=None, high=None, answered_mean=None)


_Key = tuple[str | None, int, str | None]


class _TrendStory:
    """One line: its runs in order, how they were judged, and what is said about that.

    A run is compared with those before it with the same judgments, cases and formula, which are ``_alike``: a formula may keep its
    name, and a segment may get other cases.
    """

    def __init__(self, line: _TrackedMeasure, runs: Sequence[PastRun], left_out: Sequence[PastRun]) -> None:
        self._line, self._left_out = line, left_out
        entries = group_by_entry(runs)
        self._runs = [repeats[0] for repeats in entries]
        self._summaries = [_merge_repeats([each for run in repeats if (each := line.of(run)) is not None]) for repeats in entries]
        self._means = [summary.mean or 0.0 for summary in self._summaries]
        self._measure = meaning_of(line.measure, self._summaries[-1])
        self._alike = self._alike_runs()
        self._series = {key: self._followed(rows) for key, rows in self._alike.items()}
        self._last_rows, self._last = self._alike[self._keys[-1]], self._series[self._keys[-1]]

    def _alike_runs(self) -> dict[_Key, list[int]]:
        judgments = carry_forward([run.fingerprints.judgments for run in self._runs])
        self._keys = [
            (judged_by, summary.cases + summary.undefined, summary.definition)
            for judged_by, summary in zip(judgments, self._summaries, strict=True)
        ]
        alike: dict[_Key, list[int]] = {}
        for row, key in enumerate(self._keys):
            alike.setdefault(key, []).append(row)
        return alike

    def _followed(self, rows: Sequence[int]) -> NoiseHistory:
        return track_noise([self._means[row] for row in rows], [system_of(self._runs[row].fingerprints) for row in rows])

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
                changed=possible_causes(run.fingerprints, [self._runs[row - 1].fingerprints]) if row else (),
                begins=row > 0 and self._keys[row] != self._keys[row - 1],
            )

    def _sentence(self, band: Band | None) -> str | None:
        clauses = [*self._told_of_loss(band), *self._told_of_start()]
        return f"{self._subject()} {'; '.join(clauses)}" if clauses else None

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
            yield f"has been worse since {_run_name(self._runs[worse[0]])}: {self._means[-1]:.4f} in {last}, below {bounds}"
            yield from self._told_of_cause(worse)
        elif self._last.outside is not None and self._means[-1] < band.low:
            runs = len(self._last_rows) - self._last.outside
            count = "one run proves" if runs == 1 else f"{runs} runs after so few prove"
            yield f"is below {bounds} in {last} ({self._means[-1]:.4f}); {count} no trend"

    def _told_of_cause(self, worse: Sequence[int]) -> Iterator[str]:
        before = self._last_rows[self._last_rows.index(worse[0]) - 1]
        now, then = self._runs[worse[0]].fingerprints, [self._runs[before].fingerprints]
        yield cause_words(possible_causes(now, then), now, then)
        if {self._runs[row].id for row in worse} == {None} and len({self._runs[row].answers or row for row in worse}) == 1:
            yield f"its {len(worse)} runs have the same answers and may be one that was evaluated again"

    def _told_of_start(self) -> Iterator[str]:
        start = self._last_rows[0]
        if start:
            yield f"starts again with {_run_name(self._runs[start])}: {self._differences(start)} than before"

    def _differences(self, start: int) -> str:
        """Why a run is not compared with the one before it."""
        (judged, cases, formula), (judged_before, cases_before, formula_before) = self._keys[start], self._keys[start - 1]
        other = "other judgments" if judged != judged_before else "other cases" if cases != cases_before else None
        return " and ".join(filter(None, (other, "another formula" if formula != formula_before else None)))


def _run_name(run: PastRun) -> str:
    return f"{run.entry} ({run.time:%Y-%m-%d})"
