"""What answers take: latency by host, tokens, attempts, money, memory, and the recall of a vector index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Literal

import numpy as np

from searchmark.records.answers import NOT_RUN, AnswerDetails
from searchmark.records.provenance import Environment, Host, Provenance, display_names, host_names
from searchmark.records.run import Run
from searchmark.records.sentences import count_of, list_first

# On which hosts runs were measured, and what follows for their latencies: those of several hosts are neither pooled nor
# compared.
#
# What is not known is not different: a run without the name of its host is as good as one on the same.

HOSTS_NAMED = 3

UNKNOWN_HOST = "a host that is not known"

_SEVERAL = 2


def rows_by_host(run: Run) -> dict[Host | None, list[int]]:
    """The answers of a run by the host that gave them; None where that is not known. A case that was not run is of none."""
    provenance = run.provenance
    environments = {case: part.provenance.environment for part in provenance.parts for case in part.cases}
    rows: dict[Host | None, list[int]] = {}
    for row, (case, status) in enumerate(zip(run.case_ids, run.status.tolist(), strict=True)):
        environment = environments.get(case) if provenance.parts else provenance.environment
        if status != NOT_RUN:
            rows.setdefault(None if environment is None else environment.measured_on, []).append(row)
    return rows


def is_on_several_hosts(run: Run) -> bool:
    return len(run.provenance.hosts) >= _SEVERAL


def why_not_pooled(run: Run) -> str:
    """Of a run of several hosts: which these are, and what that means."""
    hosts = run.provenance.hosts
    return f"measured on {count_of(len(hosts), 'host')} ({_listed(hosts, host_names(hosts))}), so that times are not pooled"


def why_runs_not_compared(runs: Mapping[str, Run]) -> str | None:
    """The same as `not_compared`, of runs by their names; one without any time is compared with none."""
    timed_runs = {name: run for name, run in runs.items() if any(each.cold_ms for each in run.details or ())}
    return why_latencies_not_compared({name: run.provenance.hosts for name, run in timed_runs.items()})


def why_latencies_not_compared(hosts_by_run: Mapping[str, Sequence[Host]]) -> str | None:
    """Why the latencies of these runs are not compared, in a sentence; None if nothing is known against it."""
    known_hosts = {name: hosts for name, hosts in hosts_by_run.items() if hosts}
    names = host_names(host for hosts in known_hosts.values() for host in hosts)
    if len(known_hosts) < _SEVERAL or len(names) < _SEVERAL:
        return None
    first, *others = known_hosts
    other = next((name for name in others if set(known_hosts[name]) != set(known_hosts[first])), others[0])
    more = f" ({len(known_hosts)} runs on {len(names)} hosts)" if len(known_hosts) > _SEVERAL else ""
    where = f"{first} was measured on {_listed(known_hosts[first], names)} and {other} on {_listed(known_hosts[other], names)}"
    if set(known_hosts[first]) == set(known_hosts[other]):
        where = f"{first} and {other} were both measured on {_listed(known_hosts[first], names)}, whose times are not one number"
    return f"latencies are not compared: {where}{more}"


def _listed(hosts: Sequence[Host], names: Mapping[Host, str]) -> str:
    return list_first([names[host] for host in hosts], HOSTS_NAMED)


# How long searches took: percentiles of the raw samples of a run.
#
# A percentile is a nearest rank: the smallest sample that at least this share of all samples does not exceed. It is
# always a time that was measured, never a mean of two. Searches that failed are among the samples, and counted: with the
# time that they took, or with the deadline if they had to be ended.
#
# ``index_only`` is what an index alone took, without the embedding of the query: of the repeats where any has such a time,
# since
# they are more and the machine is warm, or else of the first searches; ``of`` says which. A search that failed has none.
#
# A percentile is of searches on one host: a run that was measured on several has none as a whole.

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
    return {} if is_on_several_hosts(run) else latencies_in(run.details or ())


def latencies_in(details: Iterable[AnswerDetails]) -> dict[str, Latency]:
    """The same of some answers."""
    details = tuple(details)
    kinds: dict[str, tuple[list[Sequence[float]], int]] = {
        "cold": ([each.cold_ms for each in details], sum(bool(each.failure and each.cold_ms) for each in details)),
        "warm": ([each.warm_ms for each in details], sum(each.repeat_failures for each in details)),
        "first_hit": ([(each.first_hit_ms,) for each in details if each.first_hit_ms is not None], 0),
    }
    summaries = {
        kind: latency_of_samples((sample for each in samples for sample in each), failures)
        for kind, (samples, failures) in kinds.items()
    }
    latencies = {kind: summary for kind, summary in summaries.items() if summary is not None}
    index = _index_only(details)
    return latencies if index is None else latencies | {"index_only": index}


def _index_only(details: Sequence[AnswerDetails]) -> Latency | None:
    warm = latency_of_samples(sample for each in details for sample in each.index_warm_ms)
    if warm is not None:
        return replace(warm, of="warm")
    cold = latency_of_samples(each.index_cold_ms for each in details if each.index_cold_ms is not None)
    return None if cold is None else replace(cold, of="cold")


def latency_of_samples(samples: Iterable[float], failures: int = 0) -> Latency | None:
    """The percentiles of some samples; None without any."""
    values = np.fromiter(samples, np.float64)
    if not len(values):
        return None
    p50, p90, p95, p99 = np.percentile(values, PERCENTILES, method="inverted_cdf").tolist()
    return Latency(p50, p90, p95, p99, len(values), failures)


# What answers took beside time, as agents state it: tokens, further attempts, waiting, and the start of a process.
#
# A number is told with how many of the searches it is stated for. Tokens of different counters are never averaged together.
# Percentiles are nearest ranks, as those of latency.

UNNAMED = "a counter without a name"


# What can be subtracted from the time of first searches: what it is called, and the field that states it.
SUBTRACTED: Mapping[str, Callable[[AnswerDetails], float | None]] = {
    "process_start": lambda each: _part_of_latency(each.start_ms, each),
    "waits": lambda each: _part_of_latency(each.waited_ms, each),
}


@dataclass(frozen=True)
class ReportedCount:
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

    tokens: Mapping[str, ReportedCount] = field(default_factory=dict)
    retries: ReportedCount | None = None
    waited_ms: ReportedCount | None = None
    start_ms: ReportedCount | None = None
    cold_less: Mapping[str, Latency] = field(default_factory=dict)


NOTHING_REPORTED = UsageSummary()


def usage_of(run: Run) -> UsageSummary:
    """What is stated of the searches of a run that took place; times only if one host has measured them all."""
    usage = usage_in(details_of_cases_run(run))
    return replace(usage, waited_ms=None, start_ms=None, cold_less={}) if is_on_several_hosts(run) else usage


def details_of_cases_run(run: Run) -> list[AnswerDetails]:
    """The details of the cases that were run."""
    return [each for each, status in zip(run.details or (), run.status.tolist(), strict=False) if status != NOT_RUN]


def usage_in(details: Sequence[AnswerDetails]) -> UsageSummary:
    """The same of some answers."""
    counts = replace(times_in(details), tokens=tokens_in(details))
    return replace(counts, retries=_reported_count([each.retries for each in details]))


def times_in(details: Sequence[AnswerDetails]) -> UsageSummary:
    """What is stated of their times alone."""
    return UsageSummary(
        waited_ms=_reported_count([SUBTRACTED["waits"](each) for each in details]),
        start_ms=_reported_count([SUBTRACTED["process_start"](each) for each in details]),
        cold_less={name: latency for name, part in SUBTRACTED.items() if (latency := _cold_without(details, part)) is not None},
    )


def tokens_in(details: Sequence[AnswerDetails]) -> dict[str, ReportedCount]:
    """Tokens per answer, by who has counted them, in the order of the alphabet."""
    counters = sorted({counter_of(each) for each in details if each.tokens is not None})
    counts = {name: _reported_count([each.tokens if counter_of(each) == name else None for each in details]) for name in counters}
    return {name: count for name, count in counts.items() if count is not None}


def counter_of(details: AnswerDetails) -> str:
    return details.tokens_by or UNNAMED


def _reported_count(values: Sequence[float | None]) -> ReportedCount | None:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    p50, p95 = np.percentile(np.array(numbers, np.float64), (50, 95), method="inverted_cdf").tolist()
    total = fsum(numbers)  # exact, so that the order of the answers changes no digit
    return ReportedCount(len(numbers), len(values), sum(value > 0 for value in numbers), total, total / len(numbers), p50, p95)


def _part_of_latency(part_ms: float | None, details: AnswerDetails) -> float | None:
    """A stated part of the time of a search; one that is longer than the search is as good as not stated."""
    return None if part_ms is None or part_ms > min(details.cold_ms, default=part_ms) else part_ms


def _cold_without(details: Iterable[AnswerDetails], part: Callable[[AnswerDetails], float | None]) -> Latency | None:
    """The latency of first searches less a part of it; None unless every one states that part, and any of them has it."""
    searches = [each for each in details if each.cold_ms]
    parts = [part(each) for each in searches]
    samples = [
        cold - part_ms for each, part_ms in zip(searches, parts, strict=True) if part_ms is not None for cold in each.cold_ms
    ]
    if None in parts or not any(parts):
        return None
    return latency_of_samples(samples, sum(each.failure is not None for each in searches))


# How many of the true nearest vectors the searches of a run have found, as its agent states it.
#
# An approximate index may miss some, and no measure of relevance says so by itself. Searches that were compared with an exact
# one
# at different k are never averaged together.


@dataclass(frozen=True)
class AnnRecall:
    """Means over the searches whose nearest ``k`` vectors are known: ``searches`` out of ``of``.

    For ``recall`` a vector that is as near as the last true neighbour is as good, for ``overlap`` it is not. ``lowest`` is the
    recall of the worst search, and ``incomplete`` counts those below 1.
    """

    k: int
    recall: float
    overlap: float | None
    lowest: float
    incomplete: int
    searches: int
    of: int


def ann_recall_of(run: Run) -> dict[str, AnnRecall]:
    """What is known of the searches of a run that took place, by k, the largest first."""
    return ann_recall_in(details_of_cases_run(run))


def ann_recall_in(details: Sequence[AnswerDetails]) -> dict[str, AnnRecall]:
    """The same of some answers."""
    by_k: dict[int, list[AnswerDetails]] = {}
    for each in details:
        if each.ann_k is not None and each.ann_recall is not None:
            by_k.setdefault(each.ann_k, []).append(each)
    return {str(k): _mean_recall(k, by_k[k], len(details)) for k in sorted(by_k, reverse=True)}


def _mean_recall(k: int, details: Sequence[AnswerDetails], of: int) -> AnnRecall:
    recalls = [each.ann_recall for each in details if each.ann_recall is not None]
    overlaps = [each.ann_overlap for each in details if each.ann_overlap is not None]
    return AnnRecall(
        k=k,
        recall=_mean(recalls),
        overlap=_mean(overlaps) if overlaps else None,
        lowest=min(recalls),
        incomplete=sum(recall < 1 for recall in recalls),
        searches=len(recalls),
        of=of,
    )


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)  # exact, so that the order of the answers changes no digit


# What every host of a run took: its own percentiles and index time, since those of several hosts are never pooled.


@dataclass(frozen=True)
class HostTimes:
    """What one of several hosts took for the cases that it answered; ``name`` is unique among the hosts of a run.

    ``usage`` has the times that the agent states, and nothing else. ``environment`` is that of its first part.
    """

    name: str
    cases: int
    environment: Environment | None = None
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    usage: UsageSummary = NOTHING_REPORTED
    index_seconds: float | None = None
    start_seconds: float | None = None

    @property
    def host(self) -> Host | None:
        return None if self.environment is None else self.environment.measured_on


def host_times(run: Run) -> tuple[HostTimes, ...]:
    """Every host of a run that was measured on several; nothing of one that was not."""
    if not is_on_several_hosts(run):
        return ()
    names = host_names(run.provenance.hosts)
    by_host = sorted(rows_by_host(run).items(), key=lambda each: list(names).index(each[0]) if each[0] else len(names))
    return tuple(_times_of_host(run, names.get(host, UNKNOWN_HOST) if host else UNKNOWN_HOST, host, rows) for host, rows in by_host)


def _times_of_host(run: Run, name: str, host: Host | None, rows: Sequence[int]) -> HostTimes:
    details, parts = [run.details_of(row) for row in rows], _parts_of(run, host)
    seconds = [part.index.seconds for part in parts if part.index is not None and part.index.seconds is not None]
    return HostTimes(
        name=name,
        cases=len(rows),
        environment=next((part.environment for part in parts if part.environment is not None), None),
        latency_ms=latencies_in(details),
        usage=times_in(details),
        index_seconds=fsum(seconds) if seconds else None,
        start_seconds=next((each for part in parts for each in part.start_seconds), None),
    )


def _parts_of(run: Run, host: Host | None) -> list[Provenance]:
    parts = [part.provenance for part in run.provenance.parts if part.cases]
    return [each for each in parts if (each.environment.measured_on if each.environment else None) == host]


# What an answer takes in time, memory, disk, money and tokens: what decisions weigh against quality.
#
# Like is compared with like: first searches with first searches, repeats with repeats. The first search of a query comes
# first, since the repeat of a query may come from a cache. Tokens are compared where one counter has counted both, and
# latencies where one host has measured both.

MEGABYTE = 1e6


# What each kind of search is called, in the order in which they are told.
_SEARCHES = {"cold": "latency of new queries", "warm": "latency of repeated queries", "index_only": "latency of the index alone"}

CountedAnswers = Mapping[str, AnswerDetails]  # the answers that have tokens, by their case


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
    why_not = why_runs_not_compared(dict(zip(names, (baseline, candidate), strict=True)))
    if why_not is not None:
        yield why_not
        return
    before, after = latencies_of(baseline), latencies_of(candidate)
    for kind, name in _SEARCHES.items():
        if kind in before and kind in after and before[kind].of == after[kind].of:
            times = _times_larger(before[kind].p50, after[kind].p50, baseline.agent)
            yield f"{name}: {times} ({_spread(before[kind])}; {_spread(after[kind])}; one search at a time)"


def _spread(latency: Latency) -> str:
    return f"p50 {_amount(latency.p50, 'ms')}, p95 {_amount(latency.p95, 'ms')} of {latency.samples} searches"


def _amounts(baseline: Run, candidate: Run) -> Iterator[str]:
    kinds = (
        ("index size", "MB", MEGABYTE, _index_bytes),
        ("memory", "MB", MEGABYTE, _memory_bytes),
        ("cost per query", "", 1.0, cost_per_query),
    )
    for name, unit, scale, amount_of in kinds:
        old, new = amount_of(baseline), amount_of(candidate)
        if old is not None and new is not None:
            amounts = f"{_amount(old / scale, unit)} to {_amount(new / scale, unit)}"
            yield f"{name}: {_times_larger(old, new, baseline.agent)} ({amounts})"


def _tokens(baseline: Run, candidate: Run) -> Iterator[str]:
    """Of answers to the same cases, if one counter has counted all of both; else why they cannot be compared."""
    before, after = _counted_answers(baseline), _counted_answers(candidate)
    by = [_counters(answers) for answers in (before, after)]
    if not before and not after:
        return
    if not before or not after:
        yield f"tokens per answer: not known of {candidate.agent if before else baseline.agent}"
    elif by[0] != by[1] or len(by[0]) > 1 or UNNAMED in by[0]:  # two without a name may be different ones
        counters = (f"those of {run.agent} by {' and '.join(names)}" for run, names in zip((baseline, candidate), by, strict=True))
        yield f"tokens per answer are not comparable: {', '.join(counters)}"
    elif not before.keys() & after.keys():
        yield "tokens per answer are not comparable: they are known of different cases"
    else:
        yield _compare_amounts([case for case in before if case in after], before, after, baseline.agent)


def _compare_amounts(cases: Sequence[str], before: CountedAnswers, after: CountedAnswers, name: str) -> str:
    old, new = (sum(answers[case].tokens or 0 for case in cases) / len(cases) for answers in (before, after))
    by = counter_of(before[cases[0]])
    amounts = f"{_amount(old, '')} to {_amount(new, '')} on {count_of(len(cases), 'case')}, counted by {by}"
    return f"tokens per answer: {_times_larger(old, new, name)} ({amounts})"


def _counted_answers(run: Run) -> dict[str, AnswerDetails]:
    answers = zip(run.case_ids, run.details or (), strict=False)
    return {case: each for case, each in answers if each.tokens is not None}


def _counters(answers: CountedAnswers) -> list[str]:
    return sorted(set(map(counter_of, answers.values())))


def _unknown(baseline: Run, candidate: Run) -> Iterator[str]:
    kinds = (("index size", _index_bytes), ("memory", _memory_bytes))
    for run in (baseline, candidate):
        unknown_amounts = [what for what, amount_of in kinds if amount_of(run) is None]
        if run.provenance.own_corpus and unknown_amounts:
            yield f"{' and '.join(unknown_amounts)} of {run.agent}: not known (the agent searches its own corpus)"


def _index_bytes(run: Run) -> int | None:
    return None if run.provenance.index is None else run.provenance.index.bytes


def _memory_bytes(run: Run) -> int | None:
    return run.provenance.memory_bytes


def _times_larger(old: float, new: float, name: str) -> str:
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
