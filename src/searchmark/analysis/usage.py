"""What answers took beside time, as agents state it: tokens, further attempts, waiting, and the start of a process.

A number is told with how many of the searches it is stated for. Tokens of different counters are never averaged together.
Percentiles are nearest ranks, as those of latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

import numpy as np

from searchmark.analysis.hosts import on_several_hosts
from searchmark.analysis.latencies import Latency, summary_of
from searchmark.records import NOT_RUN, AnswerDetails, Run

UNNAMED = "a counter without a name"
# What can be subtracted from the time of first searches: what it is called, and the field that states it.
SUBTRACTED: Mapping[str, Callable[[AnswerDetails], float | None]] = {
    "process_start": lambda each: _part_of_latency(each.start_ms, each),
    "waits": lambda each: _part_of_latency(each.waited_ms, each),
}


@dataclass(frozen=True)
class Stated:
    """A number that is stated of single searches: of ``searches`` out of ``of``, and above 0 for ``positive`` of them."""

    searches: int
    of: int
    positive: int
    total: float
    mean: float
    p50: float
    p95: float


@dataclass(frozen=True)
class UsageSummary:
    """What the first searches of a run took, as the agent states it; times are in milliseconds.

    ``tokens`` per answer are kept apart by who has counted them. ``retries`` are further attempts. ``cold_less`` is the latency
    of first searches less what is stated of each: there only where it is stated for all of them, and above 0 for any.
    """

    tokens: Mapping[str, Stated] = field(default_factory=dict)
    retries: Stated | None = None
    waited_ms: Stated | None = None
    start_ms: Stated | None = None
    cold_less: Mapping[str, Latency] = field(default_factory=dict)


NOTHING_STATED = UsageSummary()


def usage_of(run: Run) -> UsageSummary:
    """What is stated of the searches of a run that took place; times only if one host has measured them all."""
    found = usage_in(asked(run))
    return replace(found, waited_ms=None, start_ms=None, cold_less={}) if on_several_hosts(run) else found


def asked(run: Run) -> list[AnswerDetails]:
    """The details of the cases that were run."""
    return [each for each, status in zip(run.details or (), run.status.tolist(), strict=False) if status != NOT_RUN]


def usage_in(details: Sequence[AnswerDetails]) -> UsageSummary:
    """The same of some answers."""
    counts = replace(times_in(details), tokens=tokens_in(details))
    return replace(counts, retries=_stated([each.retries for each in details]))


def times_in(details: Sequence[AnswerDetails]) -> UsageSummary:
    """What is stated of their times alone."""
    return UsageSummary(
        waited_ms=_stated([SUBTRACTED["waits"](each) for each in details]),
        start_ms=_stated([SUBTRACTED["process_start"](each) for each in details]),
        cold_less={name: left for name, part in SUBTRACTED.items() if (left := _cold_less(details, part)) is not None},
    )


def tokens_in(details: Sequence[AnswerDetails]) -> dict[str, Stated]:
    """Tokens per answer, by who has counted them, in the order of the alphabet."""
    counters = sorted({counter_of(each) for each in details if each.tokens is not None})
    found = {name: _stated([each.tokens if counter_of(each) == name else None for each in details]) for name in counters}
    return {name: stated for name, stated in found.items() if stated is not None}


def counter_of(details: AnswerDetails) -> str:
    return details.tokens_by or UNNAMED


def _stated(values: Sequence[float | None]) -> Stated | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    p50, p95 = np.percentile(np.array(known, np.float64), (50, 95), method="inverted_cdf").tolist()
    total = fsum(known)  # exact, so that the order of the answers changes no digit
    return Stated(len(known), len(values), sum(value > 0 for value in known), total, total / len(known), p50, p95)


def _part_of_latency(stated: float | None, details: AnswerDetails) -> float | None:
    """A stated part of the time of a search; one that is longer than the search is as good as not stated."""
    return None if stated is None or stated > min(details.cold_ms, default=stated) else stated


def _cold_less(details: Iterable[AnswerDetails], part: Callable[[AnswerDetails], float | None]) -> Latency | None:
    """The latency of first searches less a part of it; None unless every one states that part, and any of them has it."""
    timed = [each for each in details if each.cold_ms]
    parts = [part(each) for each in timed]
    left = [cold - stated for each, stated in zip(timed, parts, strict=True) if stated is not None for cold in each.cold_ms]
    if None in parts or not any(parts):
        return None
    return summary_of(left, sum(each.failure is not None for each in timed))
