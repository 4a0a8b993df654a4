"""A report as JSON, for machines, and back.

Nothing in it depends on how the work was divided: a run joined from shards, a resumed one and an uninterrupted one give
the same JSON but for times and ids. How often an index was built does depend on that, and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any

from searchmark.analysis.host_times import HostTimes
from searchmark.analysis.usage import UsageSummary
from searchmark.errors import FormatError
from searchmark.files.store import check_shape, parse_json, plain_json, read_text
from searchmark.gates.rules import Gate
from searchmark.options.user_paths import user_path
from searchmark.records import STATUSES, IndexBuild
from searchmark.reports.case_entries import case_entries, fact_entries, with_numbers
from searchmark.reports.report import REPORT_SCHEMA, AgentSummary, Report, Summaries

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# Down to this depth every entry has a line of its own: that is where single measures and cases are.
DEPTH = 4


def to_json(report: Report) -> Iterator[str]:
    """The pieces of the machine-readable form: floats in full, undefined as null, an optional part absent where there is none."""
    data: dict[str, Any] = {
        "schema_version": report.schema_version,
        "suite": asdict(report.suite),
        **({"cases": fact_entries(report.cases)} if report.cases else {}),
        "agents": {name: _agent_data(agent) for name, agent in report.agents.items()},
        "audit": [asdict(found) for found in report.audit],
    }
    optional = {
        "gate": None if report.gate is None else _gate_data(report.gate),
        "comparisons": [asdict(found) for pair in report.pairs for found in pair.differences],
        "pairs": [asdict(pair) for pair in report.pairs],
        "decisions": [asdict(decision) for decision in report.decisions],
        "snapshot_effects": [asdict(effect) for effect in report.snapshot_effects],
        "perturbations": [asdict(each) for each in report.perturbations],
        "next_step": report.next_step,
        "recommendations": [asdict(each) for each in report.recommendations],
        "drifts": [asdict(each) for each in report.drifts],
        "trends": [plain_json(each) for each in report.trends],
    }
    data |= {name: with_numbers(part) for name, part in optional.items() if part}
    return chain(_laid_out(data, DEPTH), "\n")


def _gate_data(gate: Gate) -> dict[str, Any]:
    """A gate; what is found of its rules is said with all findings."""
    return {
        "verdict": gate.verdict,
        "rules": [{name: value for name, value in asdict(rule).items() if name != "findings"} for rule in gate.rules],
    }


def _laid_out(data: Any, depth: int, indent: str = "\n") -> Iterator[str]:
    """The pieces of JSON that people can read and compare: one line per entry down to a depth.

    An iterator is the entries of an object, each written already, many at a time.
    """
    inner = indent + " "
    if isinstance(data, Iterator):
        yield from _enclosed("{}", ((inner + f",{inner}".join(entries),) for entries in data), indent)
    elif not isinstance(data, dict | list) or not data or not depth:
        yield json.dumps(data)
    elif isinstance(data, list):
        yield from _enclosed("[]", (chain([inner], _laid_out(value, depth - 1, inner)) for value in data), indent)
    else:
        pairs = ((f"{inner}{json.dumps(key)}: ", _laid_out(value, depth - 1, inner)) for key, value in data.items())
        yield from _enclosed("{}", (chain([key], value) for key, value in pairs), indent)


def _enclosed(brackets: str, entries: Iterable[Iterable[str]], indent: str) -> Iterator[str]:
    """Entries between brackets, the closing one on a line of its own unless there are none."""
    yield brackets[0]
    count = 0
    for count, entry in enumerate(entries, 1):
        if count > 1:
            yield ","
        yield from entry
    yield indent + brackets[1] if count else brackets[1]


def _agent_data(agent: AgentSummary) -> dict[str, Any]:
    return {
        "name": agent.name,
        "snapshot": agent.snapshot,
        "repeat": agent.repeat,
        "qualified": agent.qualified,
        "status": agent.status,
        "run": plain_json(agent.run),
        "versions": plain_json(agent.versions),
        "counts": dict(agent.counts),
        "dropped": dict(agent.dropped),
        "measures": _measure_data(agent.measures),
        "segments": {
            name: {value: _measure_data(summaries) for value, summaries in values.items()}
            for name, values in agent.segments.items()
        },
        **_price_data(agent),
        "worst": list(agent.worst),
        "best": list(agent.best),
        "cases": case_entries(agent.cases),
    }


def _price_data(agent: AgentSummary) -> dict[str, Any]:
    """What only a run that was watched knows."""
    parts = {
        "latency_ms": {kind: _known(asdict(latency)) for kind, latency in agent.latency_ms.items()},
        "hosts": [_host_data(each) for each in agent.hosts],
        "index": _index_data(agent.index),
        "start_seconds": agent.start_seconds,
        "cost": with_numbers(agent.cost),
        "usage": _usage_data(agent.usage),
        "similarity": {kind: with_numbers(asdict(spread)) for kind, spread in agent.similarity.items()},
        "ann": {k: with_numbers(asdict(found)) for k, found in agent.ann.items()},
        "vectors": [_known(asdict(each)) for each in agent.vectors],
        "cut_answers": agent.cut_answers or None,
        "failures": [_known(asdict(each)) for each in agent.failures],
    }
    known = {name: part for name, part in parts.items() if part not in (None, {}, [])}
    return {"latency_ms": {}} | known if agent.hosts else known


def _host_data(found: HostTimes) -> dict[str, Any]:
    """One of several hosts; a run of one has its times above, and no such part."""
    return {
        "name": found.name,
        "cases": found.cases,
        "environment": plain_json(found.environment),
        "latency_ms": {kind: _known(asdict(latency)) for kind, latency in found.latency_ms.items()},
        "usage": _usage_data(found.usage),
        "index_seconds": found.index_seconds,
        "start_seconds": found.start_seconds,
    }


def _known(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: with_numbers(part) for name, part in parts.items() if part is not None}


def _usage_data(usage: UsageSummary) -> dict[str, Any]:
    """What is stated, and nothing of what is not."""
    parts: dict[str, Any] = with_numbers(asdict(usage))
    return {name: part for name, part in parts.items() if part}


def _index_data(index: IndexBuild | None) -> dict[str, Any]:
    return {} if index is None else {"seconds": index.seconds, "bytes": index.bytes}


def _measure_data(summaries: Summaries) -> dict[str, Any]:
    return {
        name: {key: with_numbers(value) for key, value in vars(summary).items() if key != "definition" or value is not None}
        for name, summary in summaries.items()
    }


def read_report(path: str | PathLike[str]) -> Report:
    """Read a report that was written as JSON."""
    path = user_path(path)
    return parse_report(path, read_text(path))


def parse_report(path: str | PathLike[str], text: str) -> Report:
    """The report in the text of a file."""
    data = parse_json(path, text)
    if not isinstance(data, dict):
        raise FormatError(path, None, "is not a report")
    report = check_shape(path, _adapter(), REPORT_SCHEMA.upgraded(path, data))
    wrong = next(_contradictions(report), None)
    if wrong is not None:
        raise FormatError(path, None, f"is not a whole report: {wrong}")
    return report


def _contradictions(report: Report) -> Iterator[str]:
    """What renderers could not lay out though every part has its shape."""
    if not report.agents:
        yield "it has no run"
    for name, agent in report.agents.items():
        yield from (
            f"the case {case!r} of {name!r} has the unknown status {each.status!r}"
            for case, each in agent.cases.items()
            if each.status not in STATUSES
        )
        named = (*agent.worst, *agent.best) if agent.cases else ()  # the summary of an archived report has no cases
        yield from (f"{name!r} has no case {case!r}" for case in named if case not in agent.cases)
    for pair in report.pairs:
        yield from (
            f"a pair names the unknown run {name!r}" for name in (pair.baseline, pair.candidate) if name not in report.agents
        )
        if all(found.measure != pair.primary for found in pair.differences):
            yield f"{pair.candidate!r} and {pair.baseline!r} are not compared by {pair.primary!r}"


@cache
def _adapter() -> TypeAdapter[Report]:
    """Made once: an archive holds a thousand reports."""
    from pydantic import TypeAdapter

    return TypeAdapter(Report)
