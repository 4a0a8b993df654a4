"""Notes on how a run went: what failed, under which conditions times were taken, and what two runs of one agent tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from searchmark.analysis.latencies import latencies_of
from searchmark.errors import shortened
from searchmark.records import AnswerDetails, Run
from searchmark.reports.notes import Note, note

REASONS_SHOWN = 3
LONGEST_REASON = 160

Details = list[tuple[str, AnswerDetails]]


def run_notes(run: Run, order: Mapping[str, int]) -> Iterator[Note]:
    """What went wrong, and under which conditions the times were taken; cases are told in the order of the suite."""
    known = zip(run.case_ids, run.details or (), strict=False)
    details = sorted(known, key=lambda each: (order.get(each[0], len(order)), each[0]))
    yield from _failure_notes(details, run.provenance.failure)
    repeats = [case for case, each in details if each.repeat_failure is not None]
    if repeats:
        yield note("repeat-failures", f"cases answered first and failing on a repeat: {len(repeats)}", repeats)
    unstable = [case for case, each in details if each.unstable > 0]
    if unstable:
        yield note("unstable-answers", f"cases that were answered differently when asked again: {len(unstable)}", unstable)
    yield from _condition_notes(run)


def _failure_notes(details: Details, failure: str | None) -> Iterator[Note]:
    """The most frequent reasons first; that the agent could not be started is said elsewhere."""
    reasons: dict[str, list[str]] = {}
    for case, each in details:
        if each.failure not in (None, failure):
            reasons.setdefault(shortened(each.failure, LONGEST_REASON), []).append(case)
    ranked = sorted(reasons.items(), key=lambda found: (-len(found[1]), found[0]))
    for reason, cases in ranked[:REASONS_SHOWN]:
        yield note("failures", f"failures for this reason: {len(cases)} ({reason})", cases)
    rest = [case for _, cases in ranked[REASONS_SHOWN:] for case in cases]
    if rest:
        yield note("failures", f"failures for other reasons: {len(rest)}", rest)


def _condition_notes(run: Run) -> Iterator[Note]:
    provenance = run.provenance
    if provenance.restarts:
        yield note("worker-restarts", f"restarts of the worker: {provenance.restarts}")
    if provenance.candidates:
        kinds = ", ".join(provenance.candidates.kinds)
        message = f"files searched, by kind, as in the gold set: {kinds} (--candidates all: every file)"
        yield note("limited-candidates", message)
    if provenance.workers > 1:
        yield note("parallel-workers", f"latencies were measured under load: {provenance.workers} workers in parallel")
    for event in provenance.trust:
        if not event.spoils:
            yield note(event.kind.replace("_", "-"), event.message)


def noise_notes(runs: Mapping[str, Run], means: Mapping[str, Mapping[str, float | None]]) -> Iterator[Note]:
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
        yield note("noise-floor", f"noise floor, {name} asked twice: {differ}")


def asked_twice(one: Run, other: Run) -> bool:
    """Whether it is proven that these are two runs of one agent, asked the same about the same; names prove nothing."""
    first, second = one.provenance, other.provenance
    if first.agent is None or first.agent.code is None or first.suite is None or first.id == second.id:
        return False
    same = ("agent", "suite", "options", "candidates", "version")
    return one.label.snapshot == other.label.snapshot and all(getattr(first, key) == getattr(second, key) for key in same)
