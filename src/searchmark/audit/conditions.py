"""How a run went: what failed, under which conditions times were taken, tokens and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from searchmark.errors import shortened
from searchmark.records.finding import RUNS, Finding, FindingKind, finding, register
from searchmark.records.provenance import VectorStatistics, host_names
from searchmark.records.run import Run
from searchmark.records.sentences import plain_count, seconds_text
from searchmark.scoring.comparability import is_proven_repeat
from searchmark.scoring.costs import (
    SUBTRACTED,
    UNKNOWN_HOST,
    is_on_several_hosts,
    latencies_of,
    rows_by_host,
    usage_of,
    why_runs_not_compared,
)
from searchmark.scoring.trust import failure_kinds

# Findings on how a run went: what failed, under which conditions times were taken, and what two runs of one agent tell.

LONGEST_REASON = 240


register(RUNS, FindingKind("failures", "warning", "Cases that failed, and the commonest kind of failure.",
    "A case that failed scores 0.",
    "Fix the reason, then ask the failed cases again with --retry-errors.",
), FindingKind("repeat-failures", "warning", "Cases answered first and failing on a repeat.",
    "The answer counts. The failed repeat is in the latency with the time that it took, a time-out with its deadline.",
), FindingKind("unstable-answers", "warning", "Cases that were answered differently when asked again.",
    "The first answer is scored; a second run may give another value.",
    "Fix the seeds of the agent, or measure the noise floor with --repeat-agent.",
), FindingKind("worker-restarts", "warning", "The process of the agent was lost and started again.",
    "What the agent kept in memory was lost each time.",
), FindingKind("not-isolated", "warning", "The agent ran inside the process of the runner.",
    "No deadline can be enforced there.",
), FindingKind("run-as-read", "note", "How a run that others have written was read.",
    "Its file names cases differently, has its hits in another order, or holds what is not a hit.",
    "Read the sentence; write the run with the ids of the suite's cases and its hits in order.",
), FindingKind("parallel-workers", "note", "Several workers of the agent ran at the same time.",
    "They compete for the processor, so searches take longer than with one worker.",
    "Measure latency with --jobs 1.",
), FindingKind("several-hosts", "note", "A run that was measured on several hosts.",
    "A percentile over different machines tells more of who answered what than of the search; quality does not depend on it.",
    "See the latencies of each host; measure latency on one.",
), FindingKind("limited-candidates", "note", "Only some files of a commit were searched, as in the gold set or as was asked for.",
    "Fewer files to confuse with make a search easier.",
    "--candidates all searches every file that --include, --exclude, --kinds and --ignore leave in.",
))  # fmt: skip


def run_findings(run: Run, order: Mapping[str, int]) -> Iterator[Finding]:
    """What went wrong, and under which conditions the times were taken; cases are in the order of the suite."""
    pairs = zip(run.case_ids, run.details or (), strict=False)
    details = sorted(pairs, key=lambda each: (order.get(each[0], len(order)), each[0]))
    # The kind of failure that cost the most; a report shows every kind on its own.
    kinds = [kind for kind in failure_kinds(run, order) if kind.cost_a_case]
    if kinds:
        cases = sorted((case for kind in kinds for case in kind.cases), key=order.__getitem__)
        first, reason = plain_count(len(kinds[0].cases), "case"), shortened(kinds[0].reason, LONGEST_REASON)
        ways = f" in {len(kinds)} ways, most often ({first})" if len(kinds) > 1 else ""
        yield finding("failures", f"{plain_count(len(cases), 'case')} failed{ways}: {reason}", cases)
    repeats = [case for case, each in details if each.repeat_failure is not None]
    if repeats:
        yield finding("repeat-failures", f"cases answered first and failing on a repeat: {len(repeats)}", repeats)
    unstable = [case for case, each in details if each.unstable > 0]
    if unstable:
        yield finding("unstable-answers", f"cases that were answered differently when asked again: {len(unstable)}", unstable)
    yield from usage_findings(run, [case for case, each in details if each.retries])
    yield from vector_findings(run)
    yield from _condition_findings(run)


def _condition_findings(run: Run) -> Iterator[Finding]:
    provenance, choice = run.provenance, run.provenance.candidates
    if provenance.imported is not None:
        yield from (finding("run-as-read", note) for note in provenance.imported.notes)
    if provenance.restarts:
        yield finding("worker-restarts", f"restarts of the worker: {provenance.restarts}")
    if choice:
        by = "by kind, as in the gold set", f"{', '.join(choice.kinds)} (--candidates all: every file)"
        if choice.include or choice.exclude:
            by = "by the gold set, --include, --exclude, --kinds and --ignore", shortened(str(choice), LONGEST_CHOICE)
        yield finding("limited-candidates", f"files searched, {by[0]}: {by[1]}")
    if provenance.workers > 1:
        yield finding("parallel-workers", f"latencies were measured under load: {provenance.workers} workers in parallel")
    if is_on_several_hosts(run):
        names, rows = host_names(provenance.hosts), rows_by_host(run)
        answered = sum(map(len, rows.values()))
        shares = [f"{names[host] if host else UNKNOWN_HOST} {len(some) / answered:.0%}" for host, some in rows.items()]
        apart = f"measured on {len(names)} hosts, so that latencies are not pooled"
        yield finding("several-hosts", f"{apart}; cases of each: {', '.join(shares).replace('%', ' %')}")
    yield from (finding(event.code, event.message) for event in provenance.trust if not event.spoils)


register(RUNS, FindingKind("latencies-not-compared", "note", "Runs whose latencies were measured on different hosts.",
    "Another machine explains any difference in time; quality is compared as always.",
    "Measure them again, all on one host.",
), FindingKind("noise-floor", "note", "How much two runs of one agent differ.",
    "A difference between agents that is no larger is noise.",
), FindingKind("earlier-runs-differ", "note", "Earlier runs in the archive that say nothing about this one.",
    "No drift is told where queries differ or results cannot be trusted, and none of latencies where hosts differ.",
))  # fmt: skip


def host_findings(runs: Mapping[str, Run]) -> Iterator[Finding]:
    """That latencies of several runs are not compared, since they are of different hosts."""
    reason = why_runs_not_compared(runs)
    if reason is not None:
        yield finding("latencies-not-compared", reason)


LONGEST_CHOICE = 300


def noise_findings(runs: Mapping[str, Run], means: Mapping[str, Mapping[str, float | None]]) -> Iterator[Finding]:
    """What differs between two runs of one agent on the same question is the noise floor of quality and speed."""
    for name, again in combinations(runs, 2):
        if not is_proven_repeat(runs[name], runs[again]):
            continue
        first, second = latencies_of(runs[name]), latencies_of(runs[again])
        pairs = ((measure, value, means[again][measure]) for measure, value in means[name].items())
        values = [f"{measure} {abs(one - two):.4f}" for measure, one, two in pairs if one is not None and two is not None]
        kinds = [kind for kind in first if kind in second and first[kind].p50]
        times = [f"{kind} p50 {abs(second[kind].p50 / first[kind].p50 - 1):.1%}" for kind in kinds]
        of_times = why_runs_not_compared({name: runs[name], again: runs[again]}) or f"the times by {', '.join(times) or 'nothing'}"
        differ = f"the means differ by {', '.join(values)}; {of_times}"
        yield finding("noise-floor", f"noise floor, {name} asked twice: {differ}")


def earlier_runs_differ(reasons: Iterable[str]) -> Iterator[Finding]:
    """That runs of the archive say nothing about this one, and why."""
    return (finding("earlier-runs-differ", reason) for reason in reasons)


# What agents state about tokens, attempts and start times.

LARGE_START = 0.5  # of the median latency


register(RUNS, FindingKind(
    "retried-searches", "note", "Searches that were tried again after a failed attempt, as the agent states it.",
    "Further attempts and the waits between them are part of the latency.",
), FindingKind("process-start", "note", "Starting a process is most of the latency, as the agent states it.",
    "The latency then tells more of the start than of the search.",
    "See the row without it, or let the process stay up.",
), FindingKind("partly-stated", "note", "A part of the latency that is not stated for all searches.",
    "There is no latency without it: that of some searches would not be that of all.",
), FindingKind("several-token-counters", "warning", "Tokens that were counted by several counters.",
    "Counters cut text differently; each has its own numbers, and none of them is of all answers.",
    "Count all answers by one.",
))  # fmt: skip


def usage_findings(run: Run, retried: Sequence[str]) -> Iterator[Finding]:
    """What must be known of the numbers that an agent states; ``retried`` are cases, in the order of the suite."""
    usage = usage_of(run)
    retries, waits = usage.retries, usage.waited_ms
    if retries is not None and retries.positive:
        more = f"{plain_count(int(retries.total), 'attempt')} more, part of the latency"
        unknown = f"; not stated for {retries.of - retries.searches} more" if retries.searches < retries.of else ""
        sentence = f"{retries.positive} of {plain_count(retries.searches, 'search', 'searches')} were retried ({more}{unknown})"
        if waits is not None and waits.total:  # agents do not state what of it was for what
            waited = f"all searches waited {seconds_text(waits.total / 1e3)} together"
            sentence += f"; {waited}, before further attempts or for a rate limit"
        yield finding("retried-searches", sentence, retried)
    cold, start = latencies_of(run).get("cold"), usage.start_ms
    if cold is not None and start is not None and "process_start" in usage.cold_less and start.p50 > LARGE_START * cold.p50:
        share = f"starting the process is {start.p50 / cold.p50:.0%} of the median latency".replace("%", " %")
        yield finding("process-start", f"{share}: see the row without it, or let it stay up")
    details = [each for each in run.details or () if each.cold_ms]
    for name, part in SUBTRACTED.items():  # where there is no row without it for that reason
        count = sum(part(each) is not None for each in details)
        if 0 < count < len(details):
            stated = f"{name.replace('_', ' ')}: stated for {count} of {len(details)} searches"
            yield finding("partly-stated", f"{stated}, so that no latency is shown without it")
    if len(usage.tokens) > 1:
        counters = ", ".join(f"{name} ({plain_count(count.searches, 'answer')})" for name, count in usage.tokens.items())
        several = "tokens were counted by several counters, which are not averaged together"
        yield finding("several-token-counters", f"{several}: {counters}")


# Findings on stored vectors: what is odd about them, how many they are, and what to do.

LENGTH_ONE = 1e-3  # how far from one a length may be that was rounded to half precision
ROUNDING = 1e-3  # of the mean: deviations of lengths that are no difference
_BY_LENGTH = ("ip", "l2", "inner product")  # distances that a vector's length decides on


register(RUNS, FindingKind("vectors-not-finite", "warning", "Vectors that hold a NaN or an infinity.",
    "They are near to nothing, or to everything, and what they stand for cannot be found.",
    "Embed these texts again; an empty text or an overflow in half precision are the usual reasons.",
), FindingKind("vectors-of-other-dimension", "warning", "Vectors with another dimension than most.",
    "Vectors of two models cannot be compared.",
    "Embed everything again with one model.",
), FindingKind("zero-vectors", "warning", "Vectors of zeros.",
    "They are near to nothing, so what they stand for cannot be found.",
    "Check the texts that they are of: most are empty, or in a language that the model does not know.",
), FindingKind("unnormalised-vectors", "warning", "Vectors that do not have length one although ranking relies on it.",
    "Inner product and distance then rank long vectors differently from short ones of the same direction.",
    "Normalise once, documents and queries alike (normalize: true), or search by distance: cosine.",
), FindingKind("normalised-already", "note", "Vectors of length one although they were not to be normalised.",
    "The model normalises already, or the file does: a distance that goes by length has no effect.",
    "Say normalize: true, so that queries are treated alike for sure.",
), FindingKind("double-normalised", "note", "Vectors that had length one before they were normalised.",
    "The model normalises them itself, so that doing it again is harmless.",
    "Nothing has to be done: with normalize: true, queries are treated alike for sure.",
), FindingKind("duplicate-vectors", "note", "Vectors with the same numbers as an earlier one.",
    "Their order is arbitrary, and they take ranks from others.",
    "If the texts are duplicates, remove them; if not, the model sees too little of them.",
))  # fmt: skip


def vector_findings(run: Run) -> Iterator[Finding]:
    """What must be known of the vectors of a run."""
    agent = run.provenance.agent
    by_length = agent is not None and agent.description.get("distance") in _BY_LENGTH
    for stats in run.provenance.vectors:
        sample = f"{stats.seen:,} vectors{'' if stats.arm is None else f' of {stats.arm}'}"
        vectors = sample if stats.looked_at is None else f"{sample} that were looked at, of {stats.count:,},"
        for code, count, what in (
            ("vectors-not-finite", stats.not_finite, "hold a NaN or an infinity"),
            ("vectors-of-other-dimension", stats.wrong_dimension, f"have another dimension than {stats.dimension}"),
            ("zero-vectors", stats.zero, "are all zeros"),
            ("duplicate-vectors", stats.duplicates, "have the same numbers as an earlier one"),
        ):
            if count:
                yield finding(code, f"{count:,} of {vectors} {what}")
        yield from _lengths(stats, vectors, by_length=by_length)


def _lengths(stats: VectorStatistics, vectors: str, *, by_length: bool) -> Iterator[Finding]:
    least = stats.norm_min_nonzero if stats.zero else stats.norm_min  # zeros have their own finding, and no scale helps them
    if stats.norm_mean is None or stats.norm_min is None or stats.norm_max is None or least is None:
        return
    lengths = f"{stats.norm_min:.4g} to {stats.norm_max:.4g}, mean {stats.norm_mean:.4g}"
    are_one = vectors if not stats.zero else f"{stats.finite - stats.zero:,} of {vectors}"
    is_one = max(abs(least - 1), abs(stats.norm_max - 1)) <= LENGTH_ONE
    differ = stats.norm_max - least > ROUNDING * stats.norm_mean
    if stats.normalized and not is_one:
        yield finding("unnormalised-vectors", f"{vectors} were to have length one, and have {lengths}")
    elif not stats.normalized and not is_one and differ and by_length:
        yield finding("unnormalised-vectors", f"{vectors} have lengths of {lengths}, and the distance goes by length")
    elif stats.normalized is False and is_one:
        yield finding("normalised-already", f"{are_one} have length one though normalize is false")
    if stats.unit_before and stats.unit_before >= stats.seen - stats.zero:
        yield finding("double-normalised", f"{are_one} had length one already and were normalised again, which changed nothing")
