"""Earlier runs to follow: one a day, of one agent, with one measure unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from searchmark.scoring.costs import Latency
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import Fingerprints, PastRun

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
KNOWN = Fingerprints(
    model="small",
    chunking="lines",
    index="exact",
    corpus="c1",
    queries="q1",
    judgments="j1",
    code="k1",
    options="o1",
    asking="a1",
    version="1.0",
    packages="p1",
    machine="4 cores",
)


def summary(mean: float | None, cases: int = 30, definition: str | None = None) -> Summary:
    near = (None, None) if mean is None else (mean - 0.05, mean + 0.05)
    return Summary(mean, mean, 0.1, *near, cases, mean, 0, definition)


def past_run(day: int, mean: float | None = 0.8, differs: dict[str, Any] | None = None, **fields: Any) -> PastRun:
    """The run of a day; ``differs`` is what its fingerprints have of their own."""
    known = replace(KNOWN, **(differs or {}))
    measures = {"nDCG@10": summary(mean)}
    run = PastRun(f"e{day:02}", START + timedelta(days=day), "demo", "bm25", True, measures, fingerprints=known)
    return replace(run, **fields)


def history(means: Sequence[float], **differs: Any) -> list[PastRun]:
    return [past_run(day, mean, differs) for day, mean in enumerate(means)]


def latency(p50: float, p95: float = 20.0) -> Latency:
    return Latency(p50, p95, p95, p95, 100, 0)
