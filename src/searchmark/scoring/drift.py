"""Drift: a number that is further from its past than the limit, and what may have moved it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from statistics import fmean, median
from typing import Literal

from searchmark.config.gates import DRIFT_LIMIT
from searchmark.records.provenance import host_names
from searchmark.records.sentences import list_first
from searchmark.scoring.costs import HOSTS_NAMED
from searchmark.scoring.trends import (
    QUALITY,
    SCORES,
    SMALLEST_EFFECT,
    SPEED,
    VECTORS,
    Band,
    PastRun,
    band_around,
    cause_words,
    distinct_runs,
    group_by_entry,
    is_same_run,
    meaning_of,
    oldest_first,
    possible_causes,
    system_of,
)

WINDOW = timedelta(days=7)

_ROUNDING = 1e-9  # 0.95 is not further than 5 % from 1

_SAME_LENGTH = 1e-3  # a deviation of lengths, relative to their mean, that halving the precision of vectors would explain

_CHECK = ": check model, chunking, and that vectors are normalised once"  # said of agents that have a model


# Like is compared with like: what decides what is alike, in words.
_LIKE = {"judgments": " by these judgments", "machine": " on this machine"}

Noise = Literal["within", "outside", "unknown"]

NOISE_NOT_KNOWN = "and whether that is noise is not known"


@dataclass(frozen=True)
class Drift:
    """One number of a run that is further from what it was than allowed."""

    run: str
    quantity: str  # what moved, such as ``nDCG@10`` or ``latency warm p95``
    before: float  # a median
    now: float
    change: float | None  # relative, None where it was 0
    runs: tuple[str, ...]  # entries of the archive that the median is of
    cause: str | None  # what else differs, None if nothing is known to
    sentence: str
    noise: Noise = "unknown"  # where it is with respect to the noise band
    low: float | None = None  # of the noise band around the median
    high: float | None = None  # of the noise band


@dataclass(frozen=True)
class _DriftingNumber:
    """A number that every run may have: what may move it, its unit, the least half of its noise band, and its range.

    A number that keeps its name and gets another ``definition``, such as a formula, is another number.
    """

    name: str
    parts: Collection[str]
    unit: str = ""
    floor: float = 0.0
    lowest: float = 0.0
    highest: float = inf
    definition: str | None = None
    check: str = ""  # what to look at where nothing is known to have moved it

    def written(self, value: float) -> str:
        if not self.unit:
            return f"{value:.4f}"
        return f"{value:.3g} {self.unit}" if value < 100 else f"{value:,.0f} {self.unit}"  # noqa: PLR2004  # three digits at least


_Numbers = dict[_DriftingNumber, float]


def drifts_of(run: str, current: PastRun, past: Sequence[PastRun], limit: float = DRIFT_LIMIT) -> list[Drift]:
    """What is further than ``limit`` from the median of the comparable runs of the seven days before, else from the last one.

    Repeats of the current run, which are in ``past`` with its own entry, count together as one run; so do those of earlier entries.
    """
    if not current.trusted:
        return []
    now = _mean_over_repeats([current, *(each for each in past if _is_repeat(each, current))])
    earlier = [(repeats[0], _mean_over_repeats(repeats)) for repeats in group_by_entry(_comparable(current, past))]
    movements = (_Movement(quantity, value, current, earlier) for quantity, value in now.items())
    return [_drift_of(run, movement) for movement in movements if movement.reference and movement.size > limit * (1 + _ROUNDING)]


def _is_repeat(other: PastRun, current: PastRun) -> bool:
    return (other.entry, other.series) == (current.entry, current.series) and other.trusted and other.repeat != current.repeat


def why_not_compared(run: str, current: PastRun, past: Sequence[PastRun]) -> str | None:
    """Why no drift could be found, in a sentence; None if the run was compared with others, or there are no others."""
    others = _before(current, past)
    if not others or (current.trusted and _comparable(current, past)):
        return None
    if not current.trusted:
        return f"{run} is not compared with earlier runs: its result cannot be trusted"
    if not any(each.trusted for each in others):
        return f"{run} is not compared with earlier runs: none of their results can be trusted"
    return f"{run} is not compared with earlier runs: they were asked other queries"


def why_no_latency_compared(run: str, current: PastRun, past: Sequence[PastRun]) -> str | None:
    """Why no drift of its latencies could be found, in a sentence: every earlier run that has some was measured on another host."""
    here = current.fingerprints.measured_on
    others = [each for each in _comparable(current, past) if each.latency_ms] if current.trusted and current.latency_ms else []
    if here is None or not others or any(_on_one_host(each, current) for each in others):
        return None
    names = host_names(host for each in (*others, current) if (host := each.fingerprints.measured_on) is not None)
    before = list_first([name for host, name in names.items() if host != here], HOSTS_NAMED)
    return f"latencies of {run} are not compared with earlier runs: they were measured on {before}, this one on {names[here]}"


def _on_one_host(one: PastRun, other: PastRun) -> bool:
    """What is not known is not different."""
    first, second = one.fingerprints.measured_on, other.fingerprints.measured_on
    return first is None or second is None or first == second


def _before(current: PastRun, past: Sequence[PastRun]) -> list[PastRun]:
    """The earlier runs of the same agent at the same snapshot, the oldest first; those of its own entry are not earlier."""
    others = [each for each in past if each.series == current.series and each.entry != current.entry]
    return [each for each in distinct_runs(oldest_first(others)) if each.time < current.time and not is_same_run(each, current)]


def _comparable(current: PastRun, past: Sequence[PastRun]) -> list[PastRun]:
    return [each for each in _before(current, past) if each.trusted and _is_same_question(each, current)]


def _is_same_question(one: PastRun, other: PastRun) -> bool:
    """What is not known is not different."""
    first, second = one.fingerprints.queries, other.fingerprints.queries
    return first is None or second is None or first == second


def _mean_over_repeats(repeats: Sequence[PastRun]) -> _Numbers:
    """The numbers of a run, or the means over its repeats."""
    by_quantity: dict[_DriftingNumber, list[float]] = {}
    for run in repeats:
        for quantity, value in _numbers(run).items():
            by_quantity.setdefault(quantity, []).append(value)
    return {quantity: fmean(values) if len(values) > 1 else values[0] for quantity, values in by_quantity.items()}


def _numbers(run: PastRun) -> _Numbers:
    return dict((*_qualities(run), *_score_spreads(run), *_norms(run), *_recalls(run), *_latencies(run)))


def _qualities(run: PastRun) -> Iterator[tuple[_DriftingNumber, float]]:
    for name, summary in run.measures.items():
        if summary.mean is not None:
            measure = meaning_of(name, summary)
            low, high = (-inf, inf) if measure is None else (measure.low, measure.high)
            yield _DriftingNumber(name, QUALITY, "", SMALLEST_EFFECT, low, high, summary.definition), summary.mean


def _score_spreads(run: PastRun) -> Iterator[tuple[_DriftingNumber, float]]:
    for depth, spread in run.similarity.items():
        yield _DriftingNumber(f"scores {depth} mean", SCORES, lowest=-inf, check=_CHECK), spread.mean
        if spread.std is not None:
            yield _DriftingNumber(f"scores {depth} std", SCORES, check=_CHECK), spread.std


def _norms(run: PastRun) -> Iterator[tuple[_DriftingNumber, float]]:
    """The lengths of vectors. Those that were brought to one length differ by rounding, which is no drift."""
    for each in run.vectors:
        arm = "" if each.arm is None else f" of {each.arm}"
        if each.norm_mean is not None:
            yield _DriftingNumber(f"norms{arm} mean", VECTORS, check=_CHECK), each.norm_mean
        if each.norm_mean is not None and each.norm_std is not None:
            rounding = each.norm_std < _SAME_LENGTH * each.norm_mean
            yield _DriftingNumber(f"norms{arm} std", VECTORS, check=_CHECK), 0.0 if rounding else each.norm_std


def _recalls(run: PastRun) -> Iterator[tuple[_DriftingNumber, float]]:
    for ann in run.ann.values():
        yield _DriftingNumber(f"ANN recall@{ann.k}", SCORES, "", SMALLEST_EFFECT, 0.0, 1.0), ann.recall


def _latencies(run: PastRun) -> Iterator[tuple[_DriftingNumber, float]]:
    for kind in ("cold", "warm", "index_only"):
        if (latency := run.latency_ms.get(kind)) is not None:
            yield _DriftingNumber(f"latency {kind} p50", SPEED, "ms", definition=latency.of), latency.p50
            yield _DriftingNumber(f"latency {kind} p95", SPEED, "ms", definition=latency.of), latency.p95


class _Movement:
    """One number of a run, compared with those before; ``reference`` are the runs that ``before`` is the median of.

    Like is compared with like where the last seven days have it: values against those by the same judgments, times against
    those on the same machine. Times of another host are no reference at all. ``band`` is the noise around what was before, None
    where too little is known of it.
    """

    def __init__(
        self, quantity: _DriftingNumber, now: float, current: PastRun, earlier: Sequence[tuple[PastRun, _Numbers]]
    ) -> None:
        self.quantity, self.now, self.current = quantity, now, current
        past_values = [
            (run, numbers[quantity]) for run, numbers in earlier if quantity in numbers and self._may_be_held_against(run)
        ]
        self._like = [(run, value) for run, value in past_values if self._is_like(run)]
        reference = self._recent(self._like) or self._recent(past_values) or past_values[-1:]
        self.reference = tuple(run for run, _ in reference)
        self.left_others_out = len(reference) < len(self._recent(past_values))
        self.before = median(value for _, value in reference) if reference else now

    def _may_be_held_against(self, run: PastRun) -> bool:
        return "machine" not in self.quantity.parts or _on_one_host(run, self.current)

    def _is_like(self, run: PastRun) -> bool:
        decisive = [part for part in _LIKE if part in self.quantity.parts]
        return not possible_causes(self.current.fingerprints, [run.fingerprints], decisive)

    @property
    def like_words(self) -> str:
        """What the reference has in common with this run and others of these days have not."""
        return "".join(words for part, words in _LIKE.items() if self.left_others_out and part in self.quantity.parts)

    def _recent(self, values: Sequence[tuple[PastRun, float]]) -> list[tuple[PastRun, float]]:
        return [(run, value) for run, value in values if run.time >= self.current.time - WINDOW]

    @property
    def change(self) -> float | None:
        return (self.now - self.before) / abs(self.before) if self.before else None

    @property
    def size(self) -> float:
        return abs(self.now if self.change is None else self.change)

    @property
    def band(self) -> Band | None:
        if not all(map(self._is_like, self.reference)):
            return None
        systems = [system_of(run.fingerprints, self.quantity.parts) for run, _ in self._like]
        values = [value for _, value in self._like]
        band = band_around(self.before, len(self.reference), values, systems, self.quantity.floor)
        return None if band is None else band.between(self.quantity.lowest, self.quantity.highest)


def _drift_of(run: str, movement: _Movement) -> Drift:
    band, now, before = movement.band, movement.current.fingerprints, [each.fingerprints for each in movement.reference]
    noise: Noise = "unknown" if band is None else "outside" if band.side_of(movement.now) else "within"
    causes = possible_causes(now, before, movement.quantity.parts)
    why = cause_words(causes, now, before, moved=noise != "within")
    if noise == "outside" and not causes and now.model is not None:
        why += movement.quantity.check
    return Drift(
        run=run,
        quantity=movement.quantity.name,
        before=movement.before,
        now=movement.now,
        change=movement.change,
        runs=tuple(each.entry for each in movement.reference),
        cause=", ".join(causes) or None,
        sentence=f"{movement.quantity.name} of {run} {_movement(movement)}, {_noise_words(movement, band)}; {why}",
        noise=noise,
        low=None if band is None else band.low,
        high=None if band is None else band.high,
    )


def _movement(movement: _Movement) -> str:
    verb = "rose" if movement.now > movement.before else "fell"
    size = f"from 0 by {abs(movement.now):.4g} (absolute)" if movement.change is None else f"by {abs(movement.change):.1%}"
    number, runs, like = movement.quantity.written, movement.reference, movement.like_words
    last, many = f"the last run{like}, {runs[0].entry}", f"the median of {len(runs)} runs{like} of the seven days before"
    source = last if len(runs) == 1 else many
    return f"{verb} {size} to {number(movement.now)} ({number(movement.before)} in {source})"


def _noise_words(movement: _Movement, band: Band | None) -> str:
    if band is None:
        return NOISE_NOT_KNOWN
    low, high = map(movement.quantity.written, (band.low, band.high))
    if low == high:
        return "and earlier runs show no noise"
    bounds = f"{low} to {high}"
    return f"outside the noise band of {bounds}" if band.side_of(movement.now) else f"within noise (the band is {bounds})"
