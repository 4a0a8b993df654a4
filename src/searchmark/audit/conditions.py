"""Findings on how a run went: what failed, under which conditions times were taken, and what two runs of one agent tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from searchmark.analysis.comparison import Pair
from searchmark.analysis.failure_kinds import failure_kinds
from searchmark.analysis.hosts import UNKNOWN_HOST, on_several_hosts, rows_by_host, runs_not_compared
from searchmark.analysis.latencies import latencies_of
from searchmark.analysis.scores import Scores
from searchmark.audit.usage_findings import usage_findings
from searchmark.audit.vector_findings import vector_findings
from searchmark.comparability import Mismatch, depth_reached, proven_repeat
from searchmark.corpora.corpus import Survey
from searchmark.errors import shortened
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.records import AnswerDetails, CandidateKinds, Run, host_names

LONGEST_REASON = 240

Details = list[tuple[str, AnswerDetails]]


def run_findings(run: Run, order: Mapping[str, int]) -> Iterator[Finding]:
    """What went wrong, and under which conditions the times were taken; cases are told in the order of the suite."""
    known = zip(run.case_ids, run.details or (), strict=False)
    details = sorted(known, key=lambda each: (order.get(each[0], len(order)), each[0]))
    yield from _failure_findings(run, order)
    repeats = [case for case, each in details if each.repeat_failure is not None]
    if repeats:
        yield finding("repeat-failures", f"cases answered first and failing on a repeat: {len(repeats)}", repeats)
    unstable = [case for case, each in details if each.unstable > 0]
    if unstable:
        yield finding("unstable-answers", f"cases that were answered differently when asked again: {len(unstable)}", unstable)
    yield from usage_findings(run, details)
    yield from vector_findings(run)
    yield from _condition_findings(run)


def _failure_findings(run: Run, order: Mapping[str, int]) -> Iterator[Finding]:
    """How many cases failed, and the kind of failure that cost the most; a report shows every kind on its own."""
    kinds = [kind for kind in failure_kinds(run, order) if kind.cost_a_case]
    if not kinds:
        return
    cases = sorted((case for kind in kinds for case in kind.cases), key=order.__getitem__)
    first, reason = counted(len(kinds[0].cases), "case"), shortened(kinds[0].reason, LONGEST_REASON)
    ways = f" in {len(kinds)} ways, most often ({first})" if len(kinds) > 1 else ""
    yield finding("failures", f"{counted(len(cases), 'case')} failed{ways}: {reason}", cases)


def _condition_findings(run: Run) -> Iterator[Finding]:
    provenance = run.provenance
    if provenance.imported is not None:
        yield from (finding("run-as-read", note) for note in provenance.imported.notes)
    if provenance.restarts:
        yield finding("worker-restarts", f"restarts of the worker: {provenance.restarts}")
    if provenance.candidates:
        yield finding("limited-candidates", _searched_files(provenance.candidates))
    if provenance.workers > 1:
        yield finding("parallel-workers", f"latencies were measured under load: {provenance.workers} workers in parallel")
    if on_several_hosts(run):
        yield finding("several-hosts", _hosts_and_shares(run))
    for event in provenance.trust:
        if not event.spoils:
            yield finding(event.kind.replace("_", "-"), event.message)


def _hosts_and_shares(run: Run) -> str:
    names, rows = host_names(run.provenance.hosts), rows_by_host(run)
    answered = sum(map(len, rows.values()))
    shares = [f"{names[host] if host else UNKNOWN_HOST} {len(of_host) / answered:.0%}" for host, of_host in rows.items()]
    told = ", ".join(shares).replace("%", " %")
    return f"measured on {len(names)} hosts, so that latencies are not pooled; cases of each: {told}"


def host_findings(runs: Mapping[str, Run]) -> Iterator[Finding]:
    """That latencies of several runs are not compared, since they are of different hosts."""
    refused = runs_not_compared(runs)
    if refused is not None:
        yield finding("latencies-not-compared", refused)


LONGEST_CHOICE = 300


def _searched_files(chosen: CandidateKinds) -> str:
    if chosen.include or chosen.exclude:
        return (
            f"files searched, by the gold set, --include, --exclude, --kinds and --ignore: {shortened(str(chosen), LONGEST_CHOICE)}"
        )
    return f"files searched, by kind, as in the gold set: {', '.join(chosen.kinds)} (--candidates all: every file)"


def noise_findings(runs: Mapping[str, Run], means: Mapping[str, Mapping[str, float | None]]) -> Iterator[Finding]:
    """What differs between two runs of one agent on the same question is the noise floor of quality and speed."""
    for name, again in combinations(runs, 2):
        if not proven_repeat(runs[name], runs[again]):
            continue
        first, second = latencies_of(runs[name]), latencies_of(runs[again])
        pairs = ((measure, value, means[again][measure]) for measure, value in means[name].items())
        values = [f"{measure} {abs(one - two):.4f}" for measure, one, two in pairs if one is not None and two is not None]
        shared = [kind for kind in first if kind in second and first[kind].p50]
        times = [f"{kind} p50 {abs(second[kind].p50 / first[kind].p50 - 1):.1%}" for kind in shared]
        differ = f"the means differ by {', '.join(values)}; {_times_words(times, {name: runs[name], again: runs[again]})}"
        yield finding("noise-floor", f"noise floor, {name} asked twice: {differ}")


def _times_words(times: Sequence[str], runs: Mapping[str, Run]) -> str:
    return runs_not_compared(runs) or f"the times by {', '.join(times) or 'nothing'}"


def depth_findings(scores: Scores) -> Iterator[Finding]:
    """Which measures are cut by the depth that was asked for, and which see less than they would."""
    cut = {part.name: part for each in scores.measures for part in each.parts if part.by_depth}
    depth = next((part.cutoff or 0 for part in cut.values()), 0)
    if 0 < depth <= scores.judged.run.longest:  # a run that ends earlier was cut by something else
        renamed = ", ".join(f"{part.asked.name} is reported as {name}" for name, part in cut.items())
        yield finding("cut-answers", f"answers end after {depth} hits: {renamed}")
    reached = depth_reached(scores.judged.run)
    blind = [each.name for each in scores.measures if reached is not None and each.looks_below(reached)]
    if blind:
        yield finding("cut-answers", f"answers end after {reached} hits: none below is seen by {', '.join(blind)}")


def corpus_difference(run: Run, corpus: Survey | None) -> Iterator[Finding]:
    """That hits are checked against another corpus than the one that was searched, where both are known."""
    searched = set(run.provenance.corpora.values())
    if corpus is not None and run.label.snapshot is None and len(searched) == 1 and corpus.digest not in searched:
        name = next(iter(run.provenance.corpora))
        yield finding("other-corpus", f"hits are checked against another corpus than {name}, which was searched")


def comparability_findings(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Which pairs are INVALID since the runs differ in more than their agents."""
    for pair in pairs:
        for found in pair.mismatches:
            invalid = [each.measure for each in pair.differences if found.sentence in each.reason]
            which = "" if len(invalid) in (0, len(pair.differences)) else f" for {', '.join(invalid)}"
            message = f"{pair.candidate} against {pair.baseline} is INVALID{which}: {found.sentence} ({found.fix})"
            yield replace(finding(_code(found, pair, pairs), message), fix=found.fix)


def _code(found: Mismatch, pair: Pair, pairs: Sequence[Pair]) -> str:
    """Where several agents were asked about several snapshots, only pairs that cross both are left without a verdict."""
    others = [each for each in pairs if not each.mismatches]
    crossing = found.kind == "snapshot" and all(
        any(name in (each.baseline, each.candidate) for each in others) for name in (pair.baseline, pair.candidate)
    )
    return "different-snapshots" if crossing else "not-comparable"
