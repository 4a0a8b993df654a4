"""What an answer takes in time, memory, disk and money: what decisions weigh against quality."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from searchmark.analysis.latencies import latencies_of
from searchmark.records import Run


@dataclass(frozen=True)
class Price:
    """What one run knows of its own price; None where it does not know. Latency is the median in milliseconds."""

    latency: float | None = None
    index_size: int | None = None
    memory: int | None = None
    cost: float | None = None


def price_of(run: Run) -> Price:
    latencies = latencies_of(run)
    usual = latencies.get("warm") or latencies.get("cold")
    index = run.provenance.index
    return Price(
        latency=None if usual is None else usual.p50,
        index_size=None if index is None else index.bytes,
        memory=run.provenance.memory_bytes,
        cost=total_cost(run),
    )


def total_cost(run: Run) -> float | None:
    """What all answers have cost together, where the agent says so."""
    costs = [each.cost for each in run.details or () if each.cost is not None]
    return fsum(costs) if costs else None  # exact, so that the order of the answers changes no digit
