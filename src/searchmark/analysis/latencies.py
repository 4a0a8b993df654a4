"""How long searches took: percentiles of the raw samples of a run.

A percentile is a nearest rank: the smallest sample that at least this share of all samples does not exceed. It is
always a time that was measured, never a mean of two. Searches that failed are among the samples, and counted: with the
time that they took, or with the deadline if they had to be ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.records import AnswerDetails, Run

DEFINITION = "nearest rank"
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Latency:
    """Percentiles in milliseconds, of how many samples, and how many of these are of searches that failed."""

    p50: float
    p90: float
    p95: float
    p99: float
    samples: int
    failures: int
    definition: str = DEFINITION


def latencies_of(run: Run) -> dict[str, Latency]:
    """``cold``: the first search of each case after a reset; ``warm``: the repeats; ``first_hit``, where agents say so."""
    return latencies_in(run.details or ())


def latencies_in(details: Iterable[AnswerDetails]) -> dict[str, Latency]:
    """The same of some answers."""
    details = tuple(details)
    kinds: dict[str, tuple[list[Sequence[float]], int]] = {
        "cold": ([each.cold_ms for each in details], sum(bool(each.failure and each.cold_ms) for each in details)),
        "warm": ([each.warm_ms for each in details], sum(each.repeat_failures for each in details)),
        "first_hit": ([(each.first_hit_ms,) for each in details if each.first_hit_ms is not None], 0),
    }
    summaries = {
        kind: summary_of((sample for each in samples for sample in each), failures) for kind, (samples, failures) in kinds.items()
    }
    return {kind: summary for kind, summary in summaries.items() if summary is not None}


def summary_of(samples: Iterable[float], failures: int = 0) -> Latency | None:
    """The percentiles of some samples; None without any."""
    values = np.fromiter(samples, np.float64)
    if not len(values):
        return None
    p50, p90, p95, p99 = np.percentile(values, PERCENTILES, method="inverted_cdf").tolist()
    return Latency(p50, p90, p95, p99, len(values), failures)
