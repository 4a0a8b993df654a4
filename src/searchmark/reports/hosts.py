"""On which hosts the runs of a report were measured, as far as their latencies are concerned."""

from __future__ import annotations

from searchmark.analysis.hosts import not_compared
from searchmark.records import Host, host_names
from searchmark.reports.report import AgentSummary, Report


def latencies_not_compared(report: Report) -> str | None:
    """Why no latency of this report is held against another, in a sentence; None if nothing is known against it."""
    timed = {name: agent for name, agent in report.agents.items() if agent.latency_ms or agent.hosts}
    return not_compared({name: hosts_of(agent) for name, agent in timed.items()})


def host_labels(report: Report) -> dict[str, str]:
    """For every run on one host what is said with its times, where hosts differ; where they do not, nothing is said."""
    if latencies_not_compared(report) is None:
        return {}
    names = host_names(host for agent in report.agents.values() for host in hosts_of(agent))
    alone = {name: hosts_of(agent) for name, agent in report.agents.items() if len(hosts_of(agent)) == 1}
    return {name: f" on {names[host]}" for name, (host,) in alone.items()}


def hosts_of(agent: AgentSummary) -> tuple[Host, ...]:
    """Every host that is known to have measured a run."""
    if agent.hosts:
        return tuple(each.host for each in agent.hosts if each.host is not None)
    host = None if agent.run.environment is None else agent.run.environment.measured_on
    return () if host is None else (host,)
