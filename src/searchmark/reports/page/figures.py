"""Positions for drawings, as percentages of their width and height: they follow the page to any size, and no text is stretched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10

WHOLE = 100.0
MARGIN = 2.0  # per cent that stay free at either end
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS = 5
_FLAT = 1e-12  # a range below this has no inside
_SHORTEST_MS = 1e-3
# Of labels, in per cent of a drawing on a wide screen: from the point to its text, a letter, a line.
ASIDE, LETTER, LINE = 1.6, 1.1, 6.0
DOT = 1.2


@dataclass(frozen=True)
class Tick:
    """A position on an axis and what it says."""

    at: float
    text: str


@dataclass(frozen=True)
class Scale:
    """A range of values laid over a length of 100 per cent."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value is, in per cent; what lies outside is at the end."""
        low, high, here = (log10(end) for end in (self.low, self.high, max(value, self.low))) if self.logarithmic else (
            self.low, self.high, value,
        )  # fmt: skip
        share = (here - low) / (high - low) if high - low > _FLAT else 0.5
        return round(MARGIN + (100 - 2 * MARGIN) * min(1.0, max(0.0, share)), 2)

    def up(self, value: float) -> float:
        """The same from the bottom: drawings count from the top."""
        return round(100 - self.at(value), 2)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        values = _powers(self.low, self.high) if self.logarithmic else _round_values(self.low, self.high)
        return tuple(Tick(self.at(value), f"{value:.6g}") for value in values)


def scale_of(values: Iterable[float | None]) -> Scale | None:
    """A scale with round ends around some values; None without any."""
    known = [value for value in values if value is not None and isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    step = _step(low, high)
    begin, end = floor(low / step + _FLAT) * step, ceil(high / step - _FLAT) * step
    if low >= 0 and high <= 1:  # nearly every measure: nothing below 0 or above 1 is worth room
        begin, end = max(0.0, begin), min(1.0, end)
    return Scale(begin, end if end > begin else begin + step)


def time_scale(values: Iterable[float]) -> Scale:
    """A logarithmic scale around some times, a little wider than they are."""
    known = [max(value, _SHORTEST_MS) for value in values]
    return Scale(min(known) / 1.5, max(known) * 1.5, logarithmic=True)


def _step(low: float, high: float) -> float:
    width = high - low if high - low > _FLAT else max(abs(high), 1.0) / 10
    power = 10.0 ** floor(log10(width / _MOST_TICKS))
    return next(step * power for step in _STEPS if step * power * _MOST_TICKS >= width - _FLAT)


def _round_values(low: float, high: float) -> list[float]:
    step = _step(low, high)
    first, last = ceil(low / step - _FLAT), floor(high / step + _FLAT)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Round numbers inside a logarithmic range: powers of ten, or finer ones if these are too few."""
    exponents = range(floor(log10(low)), ceil(log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        inside = [value for power in exponents for step in steps if low <= (value := step * 10.0**power) <= high]
        if len(inside) > 2:  # noqa: PLR2004  # two say little of a scale that is not linear
            break
    return inside


@dataclass(frozen=True)
class Whisker:
    """A mean as a dot, its interval as a line through it; the ends are None where there is no interval."""

    at: float
    low: float | None = None
    high: float | None = None


def whisker(scale: Scale, mean: float, low: float | None, high: float | None) -> Whisker:
    known = low is not None and high is not None
    return Whisker(scale.at(mean), *((scale.at(low), scale.at(high)) if known else (None, None)))  # type: ignore[arg-type]  # both known


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram."""

    x: float
    width: float
    y: float
    height: float
    title: str


def bars(edges: Sequence[float], counts: Sequence[int], highest: int, unit: str) -> tuple[Bar, ...]:
    """Bars of equal width whatever the bins are wide: those of times grow with the time."""
    width = 100 / max(1, len(counts))
    made = []
    for number, count in enumerate(counts):
        height = round(100 * count / max(1, highest), 2)
        title = f"{edges[number]:g} to {edges[number + 1]:g}{unit and ' ' + unit}: {count}"
        made.append(Bar(round(number * width + width * 0.06, 2), round(width * 0.88, 2), round(100 - height, 2), height, title))
    return tuple(made)


@dataclass(frozen=True)
class Line:
    """A straight line between two points."""

    x1: float
    y1: float
    x2: float
    y2: float


def path_lines(points: Sequence[tuple[float, float]]) -> tuple[Line, ...]:
    """Lines from point to point."""
    return tuple(Line(*one, *other) for one, other in pairwise(points))


@dataclass(frozen=True)
class Label:
    """Where the text beside a point begins or ends."""

    x: float
    y: float
    anchor: str

    def covers(self, other: Label, width: float, other_width: float) -> bool:
        """Whether two texts of these widths lie on each other."""
        left, other_left = self._left(width), other._left(other_width)
        beside = left + width < other_left or other_left + other_width < left
        return not beside and abs(self.y - other.y) < LINE

    def _left(self, width: float) -> float:
        return self.x - (width if self.anchor == "end" else 0.0)


def labels(points: Sequence[tuple[float, float, str]]) -> list[Label]:
    """A label for each point, to its right or left, as high as the point or a little above or below, where there is room."""
    placed: list[tuple[Label, float]] = []
    dots = [(Label(x - DOT / 2, y, "start"), DOT) for x, y, _ in points]
    for number, (x, y, text) in enumerate(points):
        width = LETTER * len(text)
        found = list(_possible(x, y, width))
        taken = [*placed, *dots[:number], *dots[number + 1 :]]
        free = (label for label in found if not any(label.covers(other, width, other_width) for other, other_width in taken))
        placed.append((next(free, found[0]), width))
    return [label for label, _ in placed]


def _possible(x: float, y: float, width: float) -> Iterator[Label]:
    """The best one first."""
    right, left = (x + ASIDE, "start"), (x - ASIDE, "end")
    sides = (left, right) if x + ASIDE + width > WHOLE else (right, left)
    for lines in (0.0, 0.8, -0.8, 1.6, -1.6):
        yield from (Label(round(at, 2), round(y + lines * LINE, 2), anchor) for at, anchor in sides)
