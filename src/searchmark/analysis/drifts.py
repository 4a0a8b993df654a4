"""Drift: what moved away from where it was, and what may have moved it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from typing import Literal

from searchmark.analysis.causes import QUALITY, SCORES, SPEED, cause_words, causes
from searchmark.analysis.noise import SMALLEST_EFFECT, Band, followed
from searchmark.analysis.past import Fingerprints, PastRun, oldest_first
from searchmark.options.drift_options import DRIFT_LIMIT

WINDOW = timedelta(days=7)
_ROUNDING = 1e-9  # 0.95 is not further than 5 % from 1

Noise = Literal["within", "outside", "unknown"]


@dataclass(frozen=True)
class Drift:
    """One number of a run that is further from what it was than allowed.

    ``quantity`` is what moved, such as ``nDCG@10`` or ``latency warm p95``; ``change`` is relative, None where what it was is 0.
    ``runs`` are the entries of the archive that ``before`` is the median of; ``cause`` is what else differs, None if nothing
    is known to. ``noise``: where it is with respect to the noise band of earlier runs, from ``low`` to ``high``.
    """

    run: str
    quantity: str
    before: float
    now: float
    change: float | None
    runs: tuple[str, ...]
    cause: str | None
    sentence: str
    noise: Noise = "unknown"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class _Quantity:
    """A number that every run may have: how it is written, what may move it, and below which change its noise is never told."""

    name: str
    parts: Collection[str]
    unit: str = ""
    floor: float = 0.0

    def written(self, value: float) -> str:
        return f"{value:.3g} {self.unit}" if self.unit else f"{value:.4f}"


_Numbers = dict[_Quantity, float]


def drifts_of(run: str, current: PastRun, past: Sequence[PastRun], limit: float = DRIFT_LIMIT) -> list[Drift]:
    """What of a run is further than ``limit`` from the median of the seven days before, else from the last comparable run."""
    if not current.trusted:
        return []
    earlier = _comparable(current, past)
    reference = [each for each in earlier if each.time >= current.time - WINDOW] or earlier[-1:]
    numbers = [(each, _numbers(each)) for each in reference]
    found = (_moved(quantity, now, numbers, limit) for quantity, now in _numbers(current).items())
    return [_told(run, current, moved, earlier) for moved in found if moved is not None]


def not_compared(run: str, current: PastRun, past: Sequence[PastRun]) -> str | None:
    """Why no drift could be found, in a sentence; None if the run was compared with others, or there are no others."""
    others = [each for each in _before(current, past) if each.suite == current.suite]
    if not others or (current.trusted and _comparable(current, past)):
        return None
    if not current.trusted:
        return f"{run} is not compared with earlier runs: its result cannot be trusted"
    if not any(each.trusted for each in others):
        return f"{run} is not compared with earlier runs: none of their results can be trusted"
    return f"{run} is not compared with earlier runs: they were asked other queries"


def _before(current: PastRun, past: Sequence[PastRun]) -> list[PastRun]:
    """The earlier runs of the same agent at the same snapshot, the oldest first; those of its own entry are not earlier."""
    mine = (current.agent, current.snapshot)
    known = [each for each in past if (each.agent, each.snapshot) == mine and each.entry != current.entry]
    return [each for each in oldest_first(known) if each.time < current.time and not (each.id and each.id == current.id)]


def _comparable(current: PastRun, past: Sequence[PastRun]) -> list[PastRun]:
    return [each for each in _before(current, past) if each.trusted and _asked_the_same(each, current)]


def _asked_the_same(one: PastRun, other: PastRun) -> bool:
    """A suite may have been renamed, and one name may have been given to others; only where digests lack it decides."""
    first, second = one.fingerprints.queries, other.fingerprints.queries
    return one.suite == other.suite if first is None or second is None else first == second


def _numbers(run: PastRun) -> _Numbers:
    return dict((*_qualities(run), *_score_spreads(run), *_latencies(run)))


def _qualities(run: PastRun) -> Iterator[tuple[_Quantity, float]]:
    for name, summary in run.measures.items():
        if summary.mean is not None:
            yield _Quantity(name, QUALITY, floor=SMALLEST_EFFECT), summary.mean


def _score_spreads(run: PastRun) -> Iterator[tuple[_Quantity, float]]:
    for depth, spread in run.similarity.items():
        yield _Quantity(f"scores {depth} mean", SCORES), spread.mean
        if spread.std is not None:
            yield _Quantity(f"scores {depth} std", SCORES), spread.std


def _latencies(run: PastRun) -> Iterator[tuple[_Quantity, float]]:
    for kind in ("cold", "warm"):
        if (found := run.latency_ms.get(kind)) is not None:
            yield _Quantity(f"latency {kind} p50", SPEED, "ms"), found.p50
            yield _Quantity(f"latency {kind} p95", SPEED, "ms"), found.p95


@dataclass(frozen=True)
class _Moved:
    quantity: _Quantity
    now: float
    before: float
    reference: tuple[PastRun, ...]

    @property
    def change(self) -> float | None:
        return (self.now - self.before) / abs(self.before) if self.before else None


def _moved(quantity: _Quantity, now: float, numbers: Sequence[tuple[PastRun, _Numbers]], limit: float) -> _Moved | None:
    known = [(run, values[quantity]) for run, values in numbers if quantity in values]
    if not known:
        return None
    moved = _Moved(quantity, now, median(value for _, value in known), tuple(run for run, _ in known))
    size = abs(now if moved.change is None else moved.change)
    return moved if size > limit * (1 + _ROUNDING) else None


def _told(run: str, current: PastRun, moved: _Moved, earlier: Sequence[PastRun]) -> Drift:
    band = _band(moved, current, earlier)
    known = [each.fingerprints for each in moved.reference]
    found = causes(current.fingerprints, known, moved.quantity.parts)
    told = f"{moved.quantity.name} of {run} {_movement(moved)}, {_noise_words(moved, band)}"
    return Drift(
        run=run,
        quantity=moved.quantity.name,
        before=moved.before,
        now=moved.now,
        change=moved.change,
        runs=tuple(each.entry for each in moved.reference),
        cause=", ".join(found) or None,
        sentence=f"{told}; {cause_words(found, current.fingerprints, known)}",
        noise="unknown" if band is None else "outside" if band.side_of(moved.now) else "within",
        low=None if band is None else band.low,
        high=None if band is None else band.high,
    )


def _movement(moved: _Moved) -> str:
    verb = "rose" if moved.now > moved.before else "fell"
    size = f"from 0 by {abs(moved.now):.4g} (absolute)" if moved.change is None else f"by {abs(moved.change):.1%}"
    written = moved.quantity.written
    source = "the last comparable run" if len(moved.reference) == 1 else f"the median of {len(moved.reference)} runs"
    return f"{verb} {size} to {written(moved.now)} ({source}: {written(moved.before)})"


def _noise_words(moved: _Moved, band: Band | None) -> str:
    if band is None:
        return "and whether that is noise is not known"
    bounds = f"{moved.quantity.written(band.low)} to {moved.quantity.written(band.high)}"
    return f"outside the noise band of {bounds}" if band.side_of(moved.now) else f"within the noise band of {bounds}"


def _band(moved: _Moved, current: PastRun, earlier: Sequence[PastRun]) -> Band | None:
    """The band of the runs before, as far as they are a series: asked, judged and, for times, run on a machine like this one."""
    like = _series(current.fingerprints, earlier, moved.quantity.parts)
    known = [(each, value) for each in like if (value := _numbers(each).get(moved.quantity)) is not None]
    systems = [each.fingerprints if each.fingerprints.known else None for each, _ in known]
    values = [value for _, value in known]
    return followed([*values, moved.now], [*systems, current.fingerprints], moved.quantity.floor).band


def _series(now: Fingerprints, earlier: Sequence[PastRun], parts: Collection[str]) -> list[PastRun]:
    decisive = [part for part in ("judgments", "machine") if part in parts]
    return [each for each in earlier if not causes(now, [each.fingerprints], decisive)]
