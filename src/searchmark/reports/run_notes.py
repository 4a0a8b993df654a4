"""How a run went: latencies, index, cost, and the sentences about it that a reader must not miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from searchmark.analysis.latencies import latencies_of
from searchmark.errors import shortened
from searchmark.records import Run

REASONS_SHOWN = 3
SECOND = "#2"  # how the second run of one agent is called


def index_of(run: Run) -> dict[str, Any]:
    """What it took to get the agent ready; empty for a run that nobody has watched."""
    index = run.metadata.get("index")
    return dict(index) if isinstance(index, Mapping) else {}


def cost_of(run: Run) -> dict[str, float]:
    """What the answers have cost in all and each, where the agent says so."""
    costs = [each["cost"] for each in run.details or () if "cost" in each]
    return {"total": sum(costs), "per_query": sum(costs) / len(costs), "queries": len(costs)} if costs else {}


def noise_notes(runs: Mapping[str, Run], means: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """What differs between two runs of one agent is no difference of quality or speed: the noise floor."""
    for again in (each for each in runs if each.endswith(SECOND) and each.removesuffix(SECOND) in runs):
        name = again.removesuffix(SECOND)
        first, second = latencies_of(runs[name]), latencies_of(runs[again])
        pairs = ((measure, value, means[again][measure]) for measure, value in means[name].items())
        values = [f"{measure} {abs(one - two):.4f}" for measure, one, two in pairs if one is not None and two is not None]
        shared = [kind for kind in first if kind in second and first[kind].p50]
        times = [f"{kind} p50 {abs(second[kind].p50 / first[kind].p50 - 1):.1%}" for kind in shared]
        differ = f"the means differ by {', '.join(values)}; the times by {', '.join(times) or 'nothing'}"
        yield f"noise floor, {name} asked twice: {differ}"


def conduct_notes(run: Run) -> Iterator[str]:
    """What went wrong, and under which conditions the times were taken."""
    metadata, details = run.metadata, run.details or ()
    if metadata.get("failure"):
        yield str(metadata["failure"])
    reasons = Counter(
        shortened(str(each["failed"]), 160)
        for each in details
        if each.get("failed") != metadata.get("failure") and "failed" in each
    )
    for reason, count in reasons.most_common(REASONS_SHOWN):
        yield f"failures for this reason: {count} ({reason})"
    if len(reasons) > REASONS_SHOWN:
        yield f"failures for other reasons: {sum(reasons.values()) - sum(n for _, n in reasons.most_common(REASONS_SHOWN))}"
    repeats = sum("warm_failed" in each for each in details)
    if repeats:
        yield f"cases whose answer came, and whose repetition then failed: {repeats}"
    unstable = sum("unstable" in each for each in details)
    if unstable:
        yield f"cases that were answered differently when asked again: {unstable}"
    if metadata.get("restarts"):
        yield f"times that the worker had to be started again: {metadata['restarts']}"
    candidates = metadata.get("candidates")
    if candidates:
        kinds = ", ".join(candidates["kinds"])
        yield f"searched were files of these kinds only, as in the gold set: {kinds} (--candidates all: every file)"
    if metadata.get("under_load"):
        yield f"the times were taken under load: {metadata['under_load']} workers side by side"
