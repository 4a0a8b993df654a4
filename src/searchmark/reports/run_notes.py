"""How a run went: latencies, index, cost, and the sentences about it that a reader must not miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from searchmark.analysis.latencies import latencies_of
from searchmark.errors import shortened
from searchmark.records import Run

REASONS_SHOWN = 3


def cost_of(run: Run) -> dict[str, float]:
    """What the answers have cost in all and each, where the agent says so."""
    costs = [each.cost for each in run.details or () if each.cost is not None]
    return {"total": sum(costs), "per_query": sum(costs) / len(costs), "queries": len(costs)} if costs else {}


def noise_notes(runs: Mapping[str, Run], means: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """What differs between two runs of one agent on the same question is the noise floor of quality and speed."""
    for name, again in combinations(runs, 2):
        if not asked_twice(runs[name], runs[again]):
            continue
        first, second = latencies_of(runs[name]), latencies_of(runs[again])
        pairs = ((measure, value, means[again][measure]) for measure, value in means[name].items())
        values = [f"{measure} {abs(one - two):.4f}" for measure, one, two in pairs if one is not None and two is not None]
        shared = [kind for kind in first if kind in second and first[kind].p50]
        times = [f"{kind} p50 {abs(second[kind].p50 / first[kind].p50 - 1):.1%}" for kind in shared]
        differ = f"the means differ by {', '.join(values)}; the times by {', '.join(times) or 'nothing'}"
        yield f"noise floor, {name} asked twice: {differ}"


def asked_twice(one: Run, other: Run) -> bool:
    """Whether it is proven that these are two runs of one agent, asked the same about the same; names prove nothing."""
    first, second = one.provenance, other.provenance
    if first.agent is None or first.agent.code is None or first.suite is None or first.id == second.id:
        return False
    same = ("agent", "suite", "options", "candidates", "version")
    return one.label.snapshot == other.label.snapshot and all(getattr(first, key) == getattr(second, key) for key in same)


def conduct_notes(run: Run) -> Iterator[str]:
    """What went wrong, and under which conditions the times were taken."""
    provenance, details = run.provenance, run.details or ()
    if provenance.failure:
        yield provenance.failure
    reasons = Counter(shortened(each.failure, 160) for each in details if each.failure not in (None, provenance.failure))
    for reason, count in reasons.most_common(REASONS_SHOWN):
        yield f"failures for this reason: {count} ({reason})"
    if len(reasons) > REASONS_SHOWN:
        yield f"failures for other reasons: {sum(reasons.values()) - sum(n for _, n in reasons.most_common(REASONS_SHOWN))}"
    repeats = sum(each.repeat_failure is not None for each in details)
    if repeats:
        yield f"cases answered first and failing on a repeat: {repeats}"
    unstable = sum(each.unstable > 0 for each in details)
    if unstable:
        yield f"cases that were answered differently when asked again: {unstable}"
    if provenance.restarts:
        yield f"times that the worker had to be started again: {provenance.restarts}"
    if provenance.candidates:
        kinds = ", ".join(provenance.candidates.kinds)
        yield f"searched were files of these kinds only, as in the gold set: {kinds} (--candidates all: every file)"
    if provenance.workers > 1:
        yield f"the times were taken under load: {provenance.workers} workers side by side"
    yield from (event.message for event in provenance.trust if not event.spoils)
