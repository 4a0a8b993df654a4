"""A report as JSON, for machines, and back.

Nothing in it depends on how the work was divided: a run joined from shards, a resumed one and an uninterrupted one give
the same JSON but for times and ids. How often an index was built does depend on that, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.store import check_shape, json_number, parse_json, plain_json, read_text
from searchmark.records import NOTHING_KNOWN, IndexBuild
from searchmark.reports.report import REPORT_SCHEMA, AgentSummary, CaseSummary, Report, ShownHit, Summaries

# Down to this depth every entry has a line of its own: that is where single measures and cases are.
DEPTH = 4


def to_json(report: Report) -> str:
    """The machine-readable form: floats in full, undefined as null, an optional part absent where there is none."""
    data: dict[str, Any] = {
        "schema_version": report.schema_version,
        "suite": asdict(report.suite),
        "agents": {name: _agent_data(agent) for name, agent in report.agents.items()},
        "notes": [asdict(note) for note in report.notes],
    }
    optional = {
        "gate": None if report.gate is None else asdict(report.gate),
        "comparisons": [asdict(found) for pair in report.pairs for found in pair.differences],
        "pairs": [asdict(pair) for pair in report.pairs],
        "decisions": [asdict(decision) for decision in report.decisions],
        "snapshot_effects": [asdict(effect) for effect in report.snapshot_effects],
    }
    data |= {name: _numbers(part) for name, part in optional.items() if part}
    return _laid_out(data, DEPTH) + "\n"


def _laid_out(data: Any, depth: int, indent: str = "\n") -> str:
    """JSON that people can read and compare: one line per entry down to a depth."""
    if not isinstance(data, dict | list) or not data or not depth:
        return json.dumps(data)
    inner = indent + " "
    if isinstance(data, list):
        return "[" + ",".join(f"{inner}{_laid_out(value, depth - 1, inner)}" for value in data) + indent + "]"
    entries = (f"{inner}{json.dumps(key)}: {_laid_out(value, depth - 1, inner)}" for key, value in data.items())
    return "{" + ",".join(entries) + indent + "}"


def _numbers(data: Any) -> Any:
    """The data with every float as JSON can hold it."""
    if isinstance(data, Mapping):
        return {key: _numbers(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_numbers(value) for value in data]
    return json_number(data) if isinstance(data, float) else data


def _agent_data(agent: AgentSummary) -> dict[str, Any]:
    return {
        "name": agent.name,
        "snapshot": agent.snapshot,
        "repeat": agent.repeat,
        "status": agent.status,
        "run": plain_json(agent.run),
        "counts": dict(agent.counts),
        "dropped": dict(agent.dropped),
        "measures": _measure_data(agent.measures),
        "segments": {
            name: {value: _measure_data(summaries) for value, summaries in values.items()}
            for name, values in agent.segments.items()
        },
        **_price_data(agent),
        "worst": list(agent.worst),
        "cases": {case: _case_data(summary) for case, summary in agent.cases.items()},
    }


def _price_data(agent: AgentSummary) -> dict[str, Any]:
    """What only a run that was watched knows."""
    parts = {
        "latency_ms": {kind: _numbers(asdict(latency)) for kind, latency in agent.latency_ms.items()},
        "index": _index_data(agent.index),
        "start_seconds": agent.start_seconds,
        "cost": _numbers(agent.cost),
    }
    return {name: part for name, part in parts.items() if part not in (None, {})}


def _index_data(index: IndexBuild | None) -> dict[str, Any]:
    return {} if index is None else {"seconds": index.seconds, "bytes": index.bytes}


def _measure_data(summaries: Summaries) -> dict[str, Any]:
    return {
        name: {key: _numbers(value) for key, value in vars(summary).items() if key != "definition" or value is not None}
        for name, summary in summaries.items()
    }


def _case_data(case: CaseSummary) -> dict[str, Any]:
    details = {} if case.details == NOTHING_KNOWN else {"details": _numbers(case.details.to_plain())}
    return {
        "status": case.status,
        "query": case.query,
        "measures": _numbers(case.measures),
        "undefined": dict(case.undefined),
        "hits": [_hit_data(hit) for hit in case.hits],
        "expected": [{"target": each.target, "match": each.match, "grade": each.grade} for each in case.expected],
        **details,
    }


def _hit_data(hit: ShownHit) -> dict[str, Any]:
    return {"id": hit.id, "score": json_number(hit.score)} | ({} if hit.lines is None else {"lines": list(hit.lines)})


def read_report(path: str | PathLike[str]) -> Report:
    """Read a report that was written as JSON."""
    from pydantic import TypeAdapter

    data = parse_json(path, read_text(path))
    if not isinstance(data, dict):
        raise FormatError(path, None, "is not a report")
    return check_shape(path, TypeAdapter(Report), REPORT_SCHEMA.upgraded(path, data))
