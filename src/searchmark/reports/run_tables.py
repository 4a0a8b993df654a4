"""The tables and sentences about one run that all renderers share: which cell goes where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.findings.sentences import counted
from searchmark.measures.words import with_words
from searchmark.records.versions import Versions
from searchmark.reports.case_records import CaseSummary, ExpectedTarget
from searchmark.reports.cells import (
    UNDEFINED,
    Bytes,
    Cell,
    Count,
    Interval,
    Milliseconds,
    Number,
    Seconds,
    SegmentMean,
    Table,
    Text,
    table,
)
from searchmark.reports.measured import leading_of
from searchmark.reports.report import AgentSummary
from searchmark.reports.usage_layout import OWN_CORPUS, reduced_latencies

Row = tuple[Cell, ...]

HITS_SHOWN = 3
TARGETS_SHOWN = 5
LATENCY_COLUMNS = ("latency (closed loop)", "p50", "p90", "p95", "p99", "searches", "failed")


def measure_table(agent: AgentSummary) -> Table:
    columns = ("measure", "mean", "95 % interval", "median", "std", "cases", "mean if answered")
    rows = (_measure_row(name, summary) for name, summary in agent.measures.items())
    return table(columns, rows, secondary=("std", "median", "mean if answered"))


def _measure_row(name: str, found: Summary) -> Row:
    spread = (Number(found.mean), Interval(found.low, found.high), Number(found.median), Number(found.std))
    return (Text(with_words(name)), *spread, Count(found.cases), Number(found.answered_mean))


def segment_tables(agent: AgentSummary) -> Iterator[Table]:
    """One row per value: how many cases, then the mean of each measure, with its own count where that differs."""
    for segment, values in agent.segments.items():
        rows = []
        for value, summaries in values.items():
            cases = max((summary.cases for summary in summaries.values()), default=0)
            rows.append((Text(value), Count(cases), *(_segment_mean(summary, cases) for summary in summaries.values())))
        yield table((segment, "cases", *agent.measures), rows, f"by {segment}")


def _segment_mean(found: Summary, cases: int) -> SegmentMean:
    return SegmentMean(found.mean, Interval(found.low, found.high, digits=2), None if found.cases == cases else found.cases)


def latency_table(agent: AgentSummary) -> Table:
    """One row per kind; a search that failed counts with the time that it took, a time-out with its deadline.

    What is less than the time that passed comes last, and says so.
    """
    return table(LATENCY_COLUMNS, (latency_row(*each) for each in all_latencies(agent)))


def all_latencies(agent: AgentSummary, where: str = "") -> Iterator[tuple[str, Latency]]:
    """Every latency by its name; where a run was measured on several hosts, those of each."""
    of_run = ((agent.latency_ms, agent.usage, where),)
    of_hosts = ((each.latency_ms, each.usage, f" on {each.name}") for each in agent.hosts)
    for latencies, usage, on_host in (*of_run, *of_hosts):
        kinds = ((latency_name(kind, found), found) for kind, found in latencies.items())
        yield from ((f"{name}{on_host}", found) for name, found in (*kinds, *reduced_latencies(usage)))


def latency_name(kind: str, found: Latency) -> str:
    """What a kind of latency is called, and of which searches it is where that is not its name."""
    return kind.replace("_", " ") + ("" if found.of is None else f" ({found.of})")


def _on_hosts(what: str, seconds: Mapping[str, float | None]) -> list[str]:
    """A time that every host has of its own."""
    known = [f"{Seconds(each).text} on {host}" for host, each in seconds.items() if each is not None]
    return [f"{what} {' and '.join(known)}"] if known else []


def latency_row(kind: str, found: Latency) -> Row:
    times = map(Milliseconds, (found.p50, found.p90, found.p95, found.p99))
    return (Text(kind), *times, Count(found.samples), Count(found.failures))


def preparation(agent: AgentSummary) -> str | None:
    """What it took to get the agent ready, in a line."""
    index, memory = agent.index, agent.run.memory_bytes
    if index is None:
        return None
    unknown = _unknown_parts(agent)
    parts = [f"{' and '.join(unknown)}: {OWN_CORPUS}"] if unknown else []
    parts += [] if index.seconds is None else [f"index: {Seconds(index.seconds).text}"]
    parts += _on_hosts("index:", {each.name: each.index_seconds for each in agent.hosts})
    if index.updates:
        parts.append(f"{counted(index.full_builds, 'full build')}, {counted(index.updates, 'incremental update')}")
    parts += [] if index.bytes is None else [f"{Bytes(index.bytes).text} large"]
    parts += [] if memory is None else [f"peak memory {Bytes(memory).text}"]
    parts += [] if agent.start_seconds is None else [f"worker start {Seconds(agent.start_seconds).text}"]
    parts += _on_hosts("worker start", {each.name: each.start_seconds for each in agent.hosts})
    parts += [f"cost {agent.cost['total']:g}"] if agent.cost else []
    return ", ".join(parts) or None


def _unknown_parts(agent: AgentSummary) -> list[str]:
    """What is not known of an agent that has searched its own corpus; of one that has not searched, nothing needs to be said."""
    if not agent.run.own_corpus or not (agent.latency_ms or agent.hosts):
        return []
    return ["index", *(["peak memory"] if agent.run.memory_bytes is None else [])]


def worst_table(agent: AgentSummary) -> Table:
    """The lowest cases by the leading measure: what was asked, what it scored, what was expected, what came."""
    first = leading_of(agent) or ""
    rows = (_example_row(case, agent.cases[case], first) for case in agent.worst)
    return table(("case", "query", first, "expected", "first hits"), rows, "lowest cases")


def best_table(agent: AgentSummary) -> Table:
    """The highest cases by the leading measure, likewise."""
    first = leading_of(agent) or ""
    rows = (_example_row(case, agent.cases[case], first) for case in agent.best)
    return table(("case", "query", first, "expected", "first hits"), rows, "highest cases")


def version_table(agents: Mapping[str, AgentSummary]) -> Table:
    """What each run was measured on and with: data, model, index, chunking and queries; what no run knows has no row."""
    named = {each.name: [getattr(agent.versions, each.name) for agent in agents.values()] for each in fields(Versions)}
    rows = ((Text(name), *(Text(value or UNDEFINED) for value in values)) for name, values in named.items() if any(values))
    return table(("version", *agents), rows)


def _example_row(case_id: str, case: CaseSummary, measure: str) -> Row:
    value = Number(case.measures.get(measure))
    return (Text(case_id), Text(case.query or ""), value, Text(expected_text(case.expected)), Text(came_text(case)))


def expected_text(expected: Sequence[ExpectedTarget]) -> str:
    """The targets of a case, each with the rank at which it came."""
    return listed([f"{each.target} ({'not found' if each.rank is None else f'rank {each.rank}'})" for each in expected])


def came_text(case: CaseSummary) -> str:
    """The first hits of an answer, or why there are none."""
    return ", ".join(hit.id for hit in case.hits[:HITS_SHOWN]) or f"({case.status.replace('_', ' ')})"


def listed(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - TARGETS_SHOWN} more" if len(names) > TARGETS_SHOWN else ""
    return ", ".join(names[:TARGETS_SHOWN]) + more if names else "nothing"


def case_counts(agent: AgentSummary, cases: int) -> str:
    """How many cases there were and how they ended; what did not happen is not mentioned."""
    ended = [f"{count} {status.replace('_', ' ')}" for status, count in agent.counts.items() if count]
    return f"{counted(cases, 'case')}: {', '.join(ended)}"
