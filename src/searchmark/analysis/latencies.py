"""How long searches took: percentiles of the raw samples of a run.

A percentile is a nearest rank: the smallest sample that at least this share of all samples does not exceed. It is
always a time that was measured, never a mean of two. Searches that failed are among the samples, and counted: with the
time that they took, or with the deadline if they had to be ended.

``index_only`` is what an index alone took, without the embedding of the query: of the repeats where any has such a time, since
they are more and the machine is warm, or else of the first searches; ``of`` says which. A search that failed has none.

A percentile is of searches on one host: a run that was measured on several has none as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from searchmark.analysis.hosts import on_several_hosts
from searchmark.records import AnswerDetails, Run

DEFINITION = "nearest rank"
PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Latency:
    """Percentiles in milliseconds, of how many samples, and how many of these are of searches that failed.

    ``of``: whether they are of warm or of cold searches, where the kind does not say so.
    """

    p50: float
    p90: float
    p95: float
    p99: float
    samples: int
    failures: int
    definition: str = DEFINITION
    of: Literal["cold", "warm"] | None = None


def latencies_of(run: Run) -> dict[str, Latency]:
    """``cold``: the first search of each case after a reset; ``warm``: the repeats; ``first_hit``, ``index_only``: where known.

    Nothing of a run that was measured on several hosts; `host_times` has those of each.
    """
    return {} if on_several_hosts(run) else latencies_in(run.details or ())


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
    known = {kind: summary for kind, summary in summaries.items() if summary is not None}
    index = _index_only(details)
    return known if index is None else known | {"index_only": index}


def _index_only(details: Sequence[AnswerDetails]) -> Latency | None:
    warm = summary_of(sample for each in details for sample in each.index_warm_ms)
    if warm is not None:
        return replace(warm, of="warm")
    cold = summary_of(each.index_cold_ms for each in details if each.index_cold_ms is not None)
    return None if cold is None else replace(cold, of="cold")


def summary_of(samples: Iterable[float], failures: int = 0) -> Latency | None:
    """The percentiles of some samples; None without any."""
    values = np.fromiter(samples, np.float64)
    if not len(values):
        return None
    p50, p90, p95, p99 = np.percentile(values, PERCENTILES, method="inverted_cdf").tolist()
    return Latency(p50, p90, p95, p99, len(values), failures)
