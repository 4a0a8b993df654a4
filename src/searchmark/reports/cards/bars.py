"""Intervals as small pictures: a bar from end to end, and a dot where the mean is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from searchmark.reports.cells import Cell

WIDTH = 120


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval, where there is one, and the text that says the same."""

    mean: float | None
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True)
class IntervalBar(Cell):
    """An estimate on a scale that the whole column shares."""

    estimate: Estimate
    start: float
    end: float

    @property
    def value(self) -> float | None:
        return self.estimate.low

    @property
    def text(self) -> str:
        return self.estimate.text

    @property
    def dot(self) -> str | None:
        """Where the mean is, in pixels."""
        return None if self.estimate.mean is None else self._place(self.estimate.mean)

    @property
    def ends(self) -> tuple[str, str] | None:
        """Where the interval begins and ends, in pixels."""
        low, high = self.estimate.low, self.estimate.high
        return None if low is None or high is None else (self._place(low), self._place(high))

    @property
    def zero(self) -> str | None:
        """Where 0 is, if the scale goes to both sides of it."""
        return self._place(0.0) if self.start < 0 else None

    def _place(self, value: float) -> str:
        return f"{(value - self.start) / (self.end - self.start) * WIDTH:.1f}"


def bars(estimates: Iterable[Estimate], *, signed: bool = False) -> list[IntervalBar]:
    """A column of bars: around 0 if they are signed, else from 0, or the lowest, to 1, or the highest."""
    column = list(estimates)
    ends = [end for each in column for end in (each.mean, each.low, each.high) if end is not None]
    widest = max(map(abs, ends), default=0.0) or 1.0
    start, end = (-widest, widest) if signed else (min((0.0, *ends)), max((1.0, *ends)))
    return [IntervalBar(each, start, end) for each in column]
