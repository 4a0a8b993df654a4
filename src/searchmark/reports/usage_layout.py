"""What answers took beside time, as tables and sentences that all renderers share: always with who states it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from searchmark.analysis.latencies import Latency
from searchmark.analysis.usage import Stated, UsageSummary
from searchmark.findings.sentences import three_digits
from searchmark.reports.cells import Amount, Count, Milliseconds, OutOf, Quantity, Table, Text, table
from searchmark.reports.hosts import host_labels
from searchmark.reports.report import AgentSummary, Report

STATED = "as the agent states it"
STATED_OR_COUNTED = "stated or counted"  # by the agent, or by whoever is named as the counter of tokens
OWN_CORPUS = "not known (the agent searches its own corpus)"
_COLUMNS = ("mean", "p50", "p95", "in all", "above 0", "searches")
_SECONDARY = ("above 0", "p50")
# What is left of the latency of first searches, by what is subtracted.
LESS = {"process_start": f"cold less process start ({STATED})", "waits": f"cold less waits ({STATED})"}

Row = tuple[str, Stated, Callable[[float], Quantity], Callable[[float], Quantity]]


def stated_rows(usage: UsageSummary) -> Iterator[Row]:
    """Everything that is stated: what it is, its numbers, and how one of them and their sum are written."""
    for counter, found in usage.tokens.items():
        yield f"tokens per answer, counted by {counter}", found, Amount, Count
    times = (("waiting, part of the latency", usage.waited_ms), ("process start, part of the latency", usage.start_ms))
    if usage.retries is not None:
        yield "further attempts", usage.retries, Amount, Count
    yield from ((what, found, Milliseconds, Milliseconds) for what, found in times if found is not None)


def all_stated(agent: AgentSummary, where: str = "") -> Iterator[Row]:
    """The same of a run: where it was measured on several hosts, the times of each."""
    of_hosts = ((each.usage, f" on {each.name}") for each in agent.hosts)
    for usage, on_host in ((agent.usage, where), *of_hosts):
        for what, found, one, together in stated_rows(usage):
            yield f"{what}{on_host if one is Milliseconds else ''}", found, one, together


def usage_table(agent: AgentSummary) -> Table:
    """One row for everything that is stated of the searches of a run; for how many it is, is in the last column."""
    rows = ((Text(row[0]), *_cells(row)) for row in all_stated(agent))
    return table((STATED_OR_COUNTED, *_COLUMNS), rows, secondary=_SECONDARY)


def usages_table(report: Report) -> Table:
    """The same of several runs."""
    labels = host_labels(report)
    stated = ((name, row) for name, agent in report.agents.items() for row in all_stated(agent, labels.get(name, "")))
    rows = ((Text(name), Text(row[0]), *_cells(row)) for name, row in stated)
    return table(("run", STATED_OR_COUNTED, *_COLUMNS), rows, keys=2, secondary=_SECONDARY)


def _cells(row: Row) -> tuple[Quantity | OutOf, ...]:
    _, found, each, together = row
    numbers = (each(found.mean), each(found.p50), each(found.p95), together(found.total))
    return (*numbers, Count(found.positive), OutOf(found.searches, found.of))


def reduced_latencies(usage: UsageSummary) -> Iterator[tuple[str, Latency]]:
    """What first searches took less what is stated of each, by a name that says so."""
    return ((LESS[part], left) for part, left in usage.cold_less.items())


def token_lines(usage: UsageSummary) -> Iterator[str]:
    """Tokens per answer, by who has counted them."""
    for counter, found in usage.tokens.items():
        amounts = f"mean {three_digits(found.mean)}, p95 {three_digits(found.p95)}"
        yield f"tokens per answer: {amounts} (counted by {counter}, {found.searches} of {found.of} searches)"
