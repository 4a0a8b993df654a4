"""Trends: one number over many runs, with the band inside which it is noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class TrendPoint:
    """One run: its mean, and the interval of the mean where there is one. ``worse`` since it left the noise band downwards."""

    entry: str
    time: datetime
    mean: float
    low: float | None = None
    high: float | None = None
    worse: bool = False


@dataclass(frozen=True)
class Trend:
    """One measure of one agent over its runs, the oldest first, of all cases or of those that ``where`` names.

    ``low`` and ``high`` are the noise band. ``worse_since`` is the entry since which every run has been below it.
    """

    agent: str
    measure: str
    points: tuple[TrendPoint, ...]
    where: Mapping[str, str] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    worse_since: str | None = None
    sentence: str | None = None
