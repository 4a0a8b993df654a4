"""Accuracy against latency: which runs no other run beats in both."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.reports.distributions import usual_latency
from searchmark.reports.hosts import latencies_not_compared
from searchmark.reports.measured import leading_measure
from searchmark.reports.report import Report

FEWEST = 2


@dataclass(frozen=True)
class FrontierPoint:
    """One run: its mean with the interval, where there is one, and its median latency.

    ``on_frontier``: no other run of its ``group`` is at least as good and as fast, and better in one of them. Equal runs
    share that.
    """

    run: str
    quality: float
    low: float | None
    high: float | None
    latency_ms: float
    on_frontier: bool
    group: int = 1


@dataclass(frozen=True)
class Frontier:
    """All runs that have both numbers, in the order of the report; ``latency`` says which one it is, as ``warm p50 ms``."""

    measure: str
    latency: str
    points: tuple[FrontierPoint, ...]


def frontier(report: Report) -> Frontier | None:
    """The leading measure against the median latency of each run; None where fewer than two runs have both.

    Latencies of different hosts have no frontier.
    """
    measure = leading_measure(report)
    kind = usual_latency(report)
    rows = [] if measure is None or latencies_not_compared(report) is not None else _rows(report, measure, kind)
    if measure is None or len(rows) < FEWEST:
        return None
    return Frontier(measure, f"{kind} p50 ms", tuple(FrontierPoint(*row, not _is_dominated(row, rows)) for row in rows))


Row = tuple[str, float, float | None, float | None, float]


def _rows(report: Report, measure: str, kind: str) -> list[Row]:
    rows: list[Row] = []
    for name, agent in report.agents.items():
        found, latency = agent.measures.get(measure), agent.latency_ms.get(kind)
        if found is not None and found.mean is not None and latency is not None:
            rows.append((name, found.mean, found.low, found.high, latency.p50))
    return rows


def _is_dominated(row: Row, others: list[Row]) -> bool:
    return any(other[1] >= row[1] and other[4] <= row[4] and (other[1] > row[1] or other[4] < row[4]) for other in others)
