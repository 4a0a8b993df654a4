"""What every host of a run took: its own percentiles and index time, since those of several hosts are never pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from searchmark.analysis.hosts import UNKNOWN_HOST, on_several_hosts, rows_by_host
from searchmark.analysis.latencies import Latency, latencies_in
from searchmark.analysis.usage import NOTHING_STATED, UsageSummary, times_in
from searchmark.records import Environment, Host, Provenance, Run, host_names


@dataclass(frozen=True)
class HostTimes:
    """What one of several hosts took for the cases that it answered; ``name`` is unique among the hosts of a run.

    ``usage`` has the times that the agent states, and nothing else. ``environment`` is that of its first part.
    """

    name: str
    cases: int
    environment: Environment | None = None
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    usage: UsageSummary = NOTHING_STATED
    index_seconds: float | None = None
    start_seconds: float | None = None

    @property
    def host(self) -> Host | None:
        return None if self.environment is None else self.environment.measured_on


def host_times(run: Run) -> tuple[HostTimes, ...]:
    """Every host of a run that was measured on several; nothing of one that was not."""
    if not on_several_hosts(run):
        return ()
    names = host_names(run.provenance.hosts)
    found = sorted(rows_by_host(run).items(), key=lambda each: list(names).index(each[0]) if each[0] else len(names))
    return tuple(_times(run, names.get(host, UNKNOWN_HOST) if host else UNKNOWN_HOST, host, rows) for host, rows in found)


def _times(run: Run, name: str, host: Host | None, rows: Sequence[int]) -> HostTimes:
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
    known = [part.provenance for part in run.provenance.parts if part.cases]
    return [each for each in known if (each.environment.measured_on if each.environment else None) == host]
