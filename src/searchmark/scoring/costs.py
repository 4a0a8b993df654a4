"""What an answer takes in time, memory, disk, money and tokens: what decisions weigh against quality.

Like is compared with like: first searches with first searches, repeats with repeats. The first search of a query comes
first, since the repeat of a query may come from a cache. Tokens are compared where one counter has counted both, and
latencies where one host has measured both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from searchmark.analysis.hosts import runs_not_compared
from searchmark.analysis.latencies import Latency, latencies_of
from searchmark.analysis.usage import UNNAMED, counter_of
from searchmark.records import AnswerDetails, Run, display_names
from searchmark.records.shown import counted

MEGABYTE = 1e6
# What each kind of search is called, in the order in which they are told.
_SEARCHES = {"cold": "latency of new queries", "warm": "latency of repeated queries", "index_only": "latency of the index alone"}


Counted = Mapping[str, AnswerDetails]  # the answers that have tokens, by their case


def price_sentences(baseline: Run, candidate: Run) -> list[str]:
    """What the candidate takes in relation to the baseline, where both runs know."""
    return [
        *_latencies(baseline, candidate),
        *_amounts(baseline, candidate),
        *_tokens(baseline, candidate),
        *_unknown(baseline, candidate),
    ]


def _latencies(baseline: Run, candidate: Run) -> Iterator[str]:
    names = display_names([baseline.label, candidate.label])
    refused = runs_not_compared(dict(zip(names, (baseline, candidate), strict=True)))
    if refused is not None:
        yield refused
        return
    before, after = latencies_of(baseline), latencies_of(candidate)
    for kind, name in _SEARCHES.items():
        if kind in before and kind in after and before[kind].of == after[kind].of:
            times = _times(before[kind].p50, after[kind].p50, baseline.agent)
            yield f"{name}: {times} ({_spread(before[kind])}; {_spread(after[kind])}; one search at a time)"


def _spread(found: Latency) -> str:
    return f"p50 {_amount(found.p50, 'ms')}, p95 {_amount(found.p95, 'ms')} of {found.samples} searches"


def _amounts(baseline: Run, candidate: Run) -> Iterator[str]:
    kinds = (
        ("index size", "MB", MEGABYTE, _index_bytes),
        ("memory", "MB", MEGABYTE, _memory_bytes),
        ("cost per query", "", 1.0, cost_per_query),
    )
    for name, unit, scale, known in kinds:
        old, new = known(baseline), known(candidate)
        if old is not None and new is not None:
            amounts = f"{_amount(old / scale, unit)} to {_amount(new / scale, unit)}"
            yield f"{name}: {_times(old, new, baseline.agent)} ({amounts})"


def _tokens(baseline: Run, candidate: Run) -> Iterator[str]:
    """Of answers to the same cases, if one counter has counted all of both; else why they are not held against each other."""
    before, after = _counted(baseline), _counted(candidate)
    by = [_counters(found) for found in (before, after)]
    if not before and not after:
        return
    if not before or not after:
        yield f"tokens per answer: not known of {candidate.agent if before else baseline.agent}"
    elif by[0] != by[1] or len(by[0]) > 1 or UNNAMED in by[0]:  # two without a name may be different ones
        told = (f"those of {run.agent} by {' and '.join(names)}" for run, names in zip((baseline, candidate), by, strict=True))
        yield f"tokens per answer are not comparable: {', '.join(told)}"
    elif not before.keys() & after.keys():
        yield "tokens per answer are not comparable: they are known of different cases"
    else:
        yield _compared([case for case in before if case in after], before, after, baseline.agent)


def _compared(cases: Sequence[str], before: Counted, after: Counted, name: str) -> str:
    old, new = (sum(found[case].tokens or 0 for case in cases) / len(cases) for found in (before, after))
    by = counter_of(before[cases[0]])
    amounts = f"{_amount(old, '')} to {_amount(new, '')} on {counted(len(cases), 'case')}, counted by {by}"
    return f"tokens per answer: {_times(old, new, name)} ({amounts})"


def _counted(run: Run) -> dict[str, AnswerDetails]:
    known = zip(run.case_ids, run.details or (), strict=False)
    return {case: each for case, each in known if each.tokens is not None}


def _counters(found: Counted) -> list[str]:
    return sorted(set(map(counter_of, found.values())))


def _unknown(baseline: Run, candidate: Run) -> Iterator[str]:
    kinds = (("index size", _index_bytes), ("memory", _memory_bytes))
    for run in (baseline, candidate):
        unknown = [what for what, known in kinds if known(run) is None]
        if run.provenance.own_corpus and unknown:
            yield f"{' and '.join(unknown)} of {run.agent}: not known (the agent searches its own corpus)"


def _index_bytes(run: Run) -> int | None:
    return None if run.provenance.index is None else run.provenance.index.bytes


def _memory_bytes(run: Run) -> int | None:
    return run.provenance.memory_bytes


def _times(old: float, new: float, name: str) -> str:
    if old > 0:
        return f"{_ratio(new / old)}x that of {name}"
    return f"none for {name}" if new > 0 else "none for either"


def _ratio(value: float) -> str:
    """Two digits at least, so that a hundredth is not told as none."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"  # noqa: PLR2004  # digits


def _amount(value: float, unit: str) -> str:
    return f"{value:.2g} {unit}".strip() if value < 10 else f"{value:,.0f} {unit}".strip()  # noqa: PLR2004  # two digits tell enough


def total_cost(run: Run) -> float | None:
    """What all answers have cost together, where the agent says so."""
    costs = _costs(run)
    return fsum(costs) if costs else None  # exact, so that the order of the answers changes no digit


def cost_per_query(run: Run) -> float | None:
    """What an answer costs: runs may have been asked different numbers of queries."""
    costs = _costs(run)
    return fsum(costs) / len(costs) if costs else None


def _costs(run: Run) -> list[float]:
    return [each.cost for each in run.details or () if each.cost is not None]
