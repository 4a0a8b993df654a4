"""From journal entries and events to a run and what it knows about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.latencies import latencies_of
from searchmark.records import STATUSES, Run
from searchmark.running.journal import Entry


def assembled(agent: str, cases: Sequence[str], entries: Mapping[str, Entry]) -> Run:
    """The answers as a run, in the order of the cases."""
    outcomes = [entries[case].outcome for case in cases]
    sizes = [len(outcome.ids) for outcome in outcomes]
    scores = [score for outcome in outcomes for score in outcome.scores or [None] * len(outcome.ids)]
    return Run(
        agent=agent,
        case_ids=tuple(cases),
        starts=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        ids=[hit for outcome in outcomes for hit in outcome.ids],
        scores=np.array([np.nan if score is None else score for score in scores], np.float64),
        status=np.array([STATUSES.index(outcome.status) for outcome in outcomes], np.uint8),
        valid=_valid([entries[case].valid for case in cases]),
        dropped=_dropped([outcome.details for outcome in outcomes]),
        details=tuple(outcome.details for outcome in outcomes),
    )


def _valid(flags: Sequence[tuple[bool, ...] | None]) -> NDArray[np.bool_] | None:
    """Which hits exist; None if that is not known of all of them."""
    known = [each for each in flags if each is not None]
    return np.array([exists for each in known for exists in each], bool) if len(known) == len(flags) else None


def _dropped(details: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for each in details:
        for key, count in (each.get("dropped", {}) | {"unreachable_targets": len(each.get("unreachable", ()))}).items():
            totals[key] = totals.get(key, 0) + count
    return {key: count for key, count in totals.items() if count}


def prices(run: Run) -> dict[str, float]:
    """What an answer takes, in time and in whatever the agent is paid in: what decisions weigh against quality."""
    latencies = latencies_of(run)
    usual = latencies.get("warm") or latencies.get("cold")
    costs = [each["cost"] for each in run.details or () if "cost" in each]
    return ({} if usual is None else {"latency_ms": usual.p50}) | ({"cost": sum(costs)} if costs else {})


def facts_of(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is known about starting and preparing the agent, in this run and in those that it goes on with."""
    ready = [event for event in events if event["event"] == "prepared"]
    prepared = [event for event in ready if event["how"] != "remote"]  # what a service has indexed, and when, is not known
    started = [event["seconds"] for event in events if event["event"] == "started"]
    sizes = [event["index_bytes"] for event in prepared if event.get("index_bytes") is not None]
    memory = [event["memory"] for event in events if event.get("memory") is not None]
    restarts = sum(event["event"] == "ended" for event in events)
    failures = [event["reason"] for event in events if event["event"] == "not started"]
    return {
        "index": {
            "seconds": sum(event["seconds"] for event in prepared) if prepared else None,
            "initialised": sum(event["how"] == "initialised" for event in prepared),
            "updated": sum(event["how"] == "updated" for event in prepared),
            "bytes": max(sizes, default=None),
        },
        "index_bytes": max(sizes, default=None),
        "memory_bytes": max(memory, default=None),
        "start_seconds": started,
        "restarts": restarts,
        "failure": failures[-1] if failures and not ready else None,
    }
