"""Reports with chosen values, to draw and to count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from searchmark import AnswerDetails, Report
from searchmark.reports.cases import CaseSummary
from searchmark.reports.report import AgentSummary, SuiteSummary
from searchmark.scoring.costs import Latency, latency_of_samples
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import Trend, TrendPoint

Values = Sequence[float | None]


def summary(mean: float | None, cases: int = 20, half: float | None = 0.05, definition: str | None = None) -> Summary:
    known = mean is not None and half is not None
    low, high = (mean - half, mean + half) if mean is not None and half is not None and known else (None, None)
    return Summary(mean, mean, 0.1, low, high, cases, mean, 0, definition)


def latency(p50: float, samples: int = 20) -> Latency:
    return Latency(p50, p50 * 2, p50 * 3, p50 * 4, samples, 0)


def agent(
    values: Mapping[str, Values] | None = None,
    cold: Values = (),
    warm: Values = (),
    definitions: Mapping[str, str] | None = None,
) -> AgentSummary:
    """A run whose cases have these values, and these times, one per case."""
    values = values or {}
    times = {"cold": cold, "warm": warm}
    size = max(map(len, [*values.values(), *times.values()]), default=0)
    cases = {}
    for row in range(size):
        measured = {name: column[row] for name, column in values.items()}
        samples = {f"{kind}_ms": () if column[row] is None else (column[row],) for kind, column in times.items() if column}
        cases[f"c{row}"] = CaseSummary("ok", "q", measured, {}, (), details=AnswerDetails(**samples))  # type: ignore[arg-type]  # numbers
    means = {name: [value for value in column if value is not None] for name, column in values.items()}
    measures = {
        name: summary(sum(column) / len(column) if column else None, len(column), definition=(definitions or {}).get(name))
        for name, column in means.items()
    }
    taken = {kind: latency_of_samples(value for value in column if value is not None) for kind, column in times.items()}
    return AgentSummary("a", "ok", {"ok": size}, {}, measures, {}, cases, latency_ms={k: v for k, v in taken.items() if v})


def report(**agents: AgentSummary) -> Report:
    return Report(SuiteSummary("suite", {}, 20), agents)


def point(mean: float | None, p50: float | None, kind: str = "warm", measure: str = "nDCG@10") -> AgentSummary:
    """A run of which only a mean and a median latency matter."""
    taken = {} if p50 is None else {kind: latency(p50)}
    return AgentSummary("a", "ok", {"ok": 20}, {}, {measure: summary(mean)}, {}, {}, latency_ms=taken)


def trend(name: str = "bm25", measure: str = "nDCG@10") -> Trend:
    days = [(1, 0.8), (2, 0.81), (3, 0.79), (4, 0.6)]
    points = [
        TrendPoint(f"run-{day}", datetime(2026, 5, day, tzinfo=UTC), mean, mean - 0.03, mean + 0.03, mean < 0.7)
        for day, mean in days
    ]
    return Trend(name, measure, tuple(points), {}, 0.75, 0.85, "run-4", f"{name}: {measure} is worse since run-4")
