"""On which hosts runs were measured, and what follows for their latencies: those of several hosts are neither pooled nor compared.

What is not known is not different: a run without the name of its host is as good as one on the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from searchmark.records import NOT_RUN, Host, Run, host_names
from searchmark.records.shown import counted, listed

HOSTS_NAMED = 3
UNKNOWN_HOST = "a host that is not known"
_SEVERAL = 2


def rows_by_host(run: Run) -> dict[Host | None, list[int]]:
    """The answers of a run by the host that gave them; None where that is not known. A case that was not run is of none."""
    known = run.provenance
    environments = {case: part.provenance.environment for part in known.parts for case in part.cases}
    found: dict[Host | None, list[int]] = {}
    for row, (case, status) in enumerate(zip(run.case_ids, run.status.tolist(), strict=True)):
        environment = environments.get(case) if known.parts else known.environment
        if status != NOT_RUN:
            found.setdefault(None if environment is None else environment.measured_on, []).append(row)
    return found


def on_several_hosts(run: Run) -> bool:
    return len(run.provenance.hosts) >= _SEVERAL


def not_pooled(run: Run) -> str:
    """Of a run of several hosts: which these are, and what that means."""
    hosts = run.provenance.hosts
    return f"measured on {counted(len(hosts), 'host')} ({_listed(hosts, host_names(hosts))}), so that times are not pooled"


def runs_not_compared(runs: Mapping[str, Run]) -> str | None:
    """The same as `not_compared`, of runs by their names; one without any time is compared with none."""
    timed = {name: run for name, run in runs.items() if any(each.cold_ms for each in run.details or ())}
    return not_compared({name: run.provenance.hosts for name, run in timed.items()})


def not_compared(measured: Mapping[str, Sequence[Host]]) -> str | None:
    """Why the latencies of these runs are not compared, in a sentence; None if nothing is known against it."""
    known = {name: hosts for name, hosts in measured.items() if hosts}
    names = host_names(host for hosts in known.values() for host in hosts)
    if len(known) < _SEVERAL or len(names) < _SEVERAL:
        return None
    first, *others = known
    other = next((name for name in others if set(known[name]) != set(known[first])), others[0])
    more = f" ({len(known)} runs on {len(names)} hosts)" if len(known) > _SEVERAL else ""
    where = f"{first} was measured on {_listed(known[first], names)} and {other} on {_listed(known[other], names)}"
    if set(known[first]) == set(known[other]):
        where = f"{first} and {other} were both measured on {_listed(known[first], names)}, whose times are not one number"
    return f"latencies are not compared: {where}{more}"


def _listed(hosts: Sequence[Host], names: Mapping[Host, str]) -> str:
    return listed([names[host] for host in hosts], HOSTS_NAMED)
