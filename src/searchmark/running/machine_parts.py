"""What workers took, over a whole run and on each machine: times of different machines are never one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from searchmark.records import Environment, IndexBuild, Provenance, RunPart
from searchmark.running.events import WorkerEvent, index_build, peak_memory
from searchmark.running.journal_lines import JournalEntry


def measured(known: Provenance, events: Sequence[WorkerEvent], *, ours: bool) -> Provenance:
    """With what workers took: time, memory, starts. ``ours``: all that search are processes of ours."""
    return replace(
        known,
        index=IndexBuild() if known.own_corpus else index_build(events),
        start_seconds=tuple(event.seconds for event in events if event.event == "started" and event.seconds is not None),
        memory_bytes=peak_memory(events) if ours else None,
        restarts=sum(event.event == "ended" for event in events),
    )


def on_machines(
    whole: Provenance,
    hosts: Sequence[Environment],
    cases: Iterable[str],
    entries: Mapping[str, JournalEntry],
    events: Sequence[WorkerEvent],
) -> Provenance:
    """With its machine, or with a part for each of them where there were several."""
    asked: dict[int, list[str]] = {}
    for case in cases:
        if case in entries:
            asked.setdefault(entries[case].host, []).append(case)
    used = [number for number in sorted(asked) if number < len(hosts)]
    if len(used) < 2:  # noqa: PLR2004  # one machine is the whole
        return replace(whole, environment=hosts[used[0]]) if used else whole
    parts = tuple(RunPart(tuple(asked[number]), _part(whole, hosts[number], number, events)) for number in used)
    together = replace(whole, parts=parts)
    if len(together.hosts) < 2:  # noqa: PLR2004  # one machine with several versions of something
        return replace(together, environment=hosts[used[0]])
    index = None if whole.index is None else replace(whole.index, seconds=None)
    return replace(together, environment=None, index=index, start_seconds=())


def _part(whole: Provenance, host: Environment, number: int, events: Sequence[WorkerEvent]) -> Provenance:
    own = [event for event in events if (event.host or 0) == number]
    known = replace(whole, environment=host, printed=(), shard=None)
    return measured(known, own, ours=whole.memory_bytes is not None)
