"""A report as JSON, for machines, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, pairwise, repeat
from json.encoder import encode_basestring_ascii as quoted
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from searchmark.errors import FormatError
from searchmark.gates.rules import Gate
from searchmark.io.data import check_shape, json_number, parse_json, plain_json
from searchmark.io.paths import user_path
from searchmark.io.store import read_text
from searchmark.records.answers import NOTHING_KNOWN, STATUSES
from searchmark.records.columns import Floats, Ints, Texts, are_plain, texts_at
from searchmark.records.judgments import MATCHES
from searchmark.records.provenance import IndexBuild
from searchmark.records.suite import CaseTable
from searchmark.reports.cases import AT_ONCE, NOT_JUDGED, CaseColumns, CaseFacts, CaseSummary, ExpectedTarget, ShownHit, in_batches
from searchmark.reports.report import REPORT_SCHEMA, AgentSummary, Report, Summaries
from searchmark.scoring.costs import HostTimes, UsageSummary

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# The cases of a report as JSON: one entry each, written column by column, since there may be a hundred thousand.


class _Grades(dict[int, str]):
    """Grades as JSON has them, each made once."""

    def __missing__(self, grade: int) -> str:
        self[grade] = "" if grade == NOT_JUDGED else f', "grade": {grade}'
        return self[grade]


_GRADES = _Grades()

_encoded = json.JSONEncoder(allow_nan=False).encode


# Between these, polars writes a number as Python does, in a third of the time.
_SHORTEST, _LONGEST = 1e-4, 1e16


def case_entries(cases: Mapping[str, CaseSummary]) -> Iterator[list[str]]:
    """Every case as ``"id": {...}``, many at a time."""
    if isinstance(cases, CaseColumns) and cases.text_of is None:
        writer = _ColumnWriter(cases)
        yield from (writer.entries(begin, min(begin + AT_ONCE, len(cases))) for begin in range(0, len(cases), AT_ONCE))
    else:  # read from a file, or with texts
        yield from in_batches(f"{quoted(case)}: {json.dumps(_case_data(summary))}" for case, summary in cases.items())


def with_json_numbers(data: Any) -> Any:
    """The data with every float as JSON can hold it."""
    if isinstance(data, Mapping):
        return {key: with_json_numbers(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [with_json_numbers(value) for value in data]
    return json_number(data) if isinstance(data, float) else data


def _case_data(case: CaseSummary) -> dict[str, Any]:
    details = {} if case.details == NOTHING_KNOWN else {"details": with_json_numbers(case.details.to_plain())}
    return {
        "status": case.status,
        "query": case.query,
        "measures": with_json_numbers(case.measures),
        "undefined": dict(case.undefined),
        "hits": [_hit_data(hit) for hit in case.hits],
        "expected": [_target_data(each) for each in case.expected],
        **details,
    }


def _hit_data(hit: ShownHit) -> dict[str, Any]:
    more = {
        "lines": None if hit.lines is None else list(hit.lines),
        "grade": hit.grade,
        "missing": hit.missing or None,
        "text": hit.text,
    }
    return {"id": hit.id, "score": json_number(hit.score)} | {key: value for key, value in more.items() if value is not None}


def _target_data(each: ExpectedTarget) -> dict[str, Any]:
    rank = {} if each.rank is None else {"rank": each.rank}
    return {"target": each.target, "match": each.match, "grade": each.grade} | rank


def fact_entries(facts: Mapping[str, CaseFacts]) -> Iterator[list[str]]:
    """What the suite says of every case as ``"id": {...}``, many at a time."""
    entries = ((case, plain) for case, each in facts.items() if (plain := plain_json(each)))
    return in_batches(f"{quoted(case)}: {json.dumps(plain)}" for case, plain in entries)


@dataclass(frozen=True, eq=False)
class _ColumnWriter:
    """Writes the same entries from columns."""

    cases: CaseColumns

    def entries(self, begin: int, end: int) -> list[str]:
        """Those of some cases."""
        columns = zip(
            map(quoted, self._table.ids[begin:end]), self._status(begin, end), self._queries(begin, end),
            self._measures(begin, end), self._undefined(begin, end), self._hits(begin, end), self._expected(begin, end),
            self._details(begin, end), strict=True,
        )  # fmt: skip
        return [
            f'{case}: {{"status": {status}, "query": {query}, "measures": {{{measures}}}, "undefined": {undefined}, '
            f'"hits": [{hits}], "expected": [{expected}]{details}}}'
            for case, status, query, measures, undefined, hits, expected, details in columns
        ]

    @property
    def _table(self) -> CaseTable:
        return self.cases.scores.matched.suite.table

    def _numbers(self, values: Floats) -> list[str]:
        return _numbers(values, arrow=not isinstance(self.cases.scores.matched.run.ids, list))

    def _status(self, begin: int, end: int) -> Iterable[str]:
        return (quoted(STATUSES[status]) for status in self.cases.scores.matched.status[begin:end].tolist())

    def _queries(self, begin: int, end: int) -> Iterable[str]:
        return repeat("null", end - begin) if self._table.queries is None else map(json.dumps, self._table.queries[begin:end])

    def _measures(self, begin: int, end: int) -> Iterable[str]:
        scores = self.cases.scores
        labels = [f"{quoted(name)}: " for name in scores.names]
        columns = zip(labels, scores.values[begin:end].T, strict=True)
        columns_of_text = [map(label.__add__, self._numbers(column)) for label, column in columns]
        return map(", ".join, zip(*columns_of_text, strict=True)) if columns_of_text else repeat("", end - begin)

    def _undefined(self, begin: int, end: int) -> Iterable[str]:
        counts = np.isnan(self.cases.scores.values[begin:end]).sum(axis=1).tolist()
        return (json.dumps(self.cases.undefined(row)) if count else "{}" for row, count in enumerate(counts, begin))

    def _hits(self, begin: int, end: int) -> Iterable[str]:
        """What every case got."""
        run = self.cases.scores.matched.run
        rows, starts = run.first_rows(self.cases.answers[begin:end], self._limit)
        ids, scores = _quote_rows(run.ids, rows), self._numbers(run.scores[rows])
        if run.first_line is not None:
            lines = ((run.lines_of(row), score) for row, score in zip(rows.tolist(), scores, strict=True))
            scores = [f'{score}, "lines": {json.dumps(span)}' if span else score for span, score in lines]
        grades = map(_GRADES.__getitem__, self.cases.grades_at(rows))
        columns = zip(ids, scores, grades, self._missing(rows), strict=True)
        return _join_texts(
            [f'{{"id": {name}, "score": {score}{grade}{missing}}}' for name, score, grade, missing in columns], starts
        )

    @property
    def _limit(self) -> int:
        return self.cases.scores.matched.run.longest if self.cases.limit is None else self.cases.limit

    def _missing(self, rows: Ints) -> Iterable[str]:
        valid = self.cases.scores.matched.valid
        return repeat("", len(rows)) if valid is None else ("" if good else ', "missing": true' for good in valid[rows].tolist())

    def _expected(self, begin: int, end: int) -> Iterable[str]:
        """What every case should have got."""
        expected = self.cases.expected
        starts = expected.starts[begin : end + 1]
        rows = expected.rows[starts[0] : starts[-1]]
        targets, ranks = _quote_rows(expected.suite.judgments.targets, rows), self.cases.target_ranks[rows].tolist()
        ways = [f', "match": {quoted(how)}, "grade": ' for how in MATCHES]
        columns = zip(targets, expected.match_of(rows), expected.grades_of(rows), ranks, strict=True)
        texts = [
            f'{{"target": {name}{ways[match]}{grade}, "rank": {rank}}}' if rank else f'{{"target": {name}{ways[match]}{grade}}}'
            for name, match, grade, rank in columns
        ]
        return _join_texts(texts, starts - starts[0])

    def _details(self, begin: int, end: int) -> Iterable[str]:
        if self.cases.scores.matched.run.details is None:
            return repeat("", end - begin)
        details = self.cases.details(begin, end)
        return (f', "details": {_as_json(plain)}' if (plain := each.to_plain()) else "" for each in details)


def _as_json(plain: dict[str, Any]) -> str:
    """Nearly always there are only numbers that JSON has; looking at each of them would take longer than to fail and try again."""
    try:
        return _encoded(plain)
    except (TypeError, ValueError):
        return json.dumps(with_json_numbers(plain))


def _quote_rows(column: Texts, rows: Ints) -> Iterable[str]:
    """The texts in some rows as JSON; where all are plain, none has to be escaped."""
    plain = texts_at(column, rows)
    return [f'"{text}"' for text in plain] if are_plain(plain) else map(quoted, plain)


def _numbers(values: Floats, *, arrow: bool) -> list[str]:
    """Floats as JSON has them; ``arrow`` if polars is loaded anyway."""
    size = np.abs(values)
    if arrow and ((size == 0) | ((size >= _SHORTEST) & (size < _LONGEST))).all():
        import polars as pl

        texts: list[str] = pl.Series(values).cast(pl.String).to_list()
        return texts
    if np.isfinite(values).all():
        return list(map(repr, values.tolist()))
    return [json.dumps(json_number(value)) for value in values.tolist()]


def _join_texts(texts: list[str], starts: Ints) -> Iterator[str]:
    """The texts of every case as one."""
    return (", ".join(texts[first:last]) for first, last in pairwise(starts.tolist()))


# A report as JSON, for machines, and back.
#
# Nothing in it depends on how the work was divided: a run joined from shards, a resumed one and an uninterrupted one give
# the same JSON but for times and ids. How often an index was built does depend on that, and is left out.

# Down to this depth every entry has a line of its own: that is where single measures and cases are.
DEPTH = 4


def to_json(report: Report) -> Iterator[str]:
    """The pieces of the machine-readable form: floats in full, undefined as null, an optional part absent where there is none."""
    data: dict[str, Any] = {
        "schema_version": report.schema_version,
        "suite": asdict(report.suite),
        **({"cases": fact_entries(report.cases)} if report.cases else {}),
        "agents": {name: _agent_data(agent) for name, agent in report.agents.items()},
        "audit": [asdict(finding) for finding in report.audit],
    }
    optional = {
        "gate": None if report.gate is None else _gate_data(report.gate),
        "comparisons": [asdict(finding) for pair in report.pairs for finding in pair.differences],
        "pairs": [asdict(pair) for pair in report.pairs],
        "decisions": [asdict(decision) for decision in report.decisions],
        "snapshot_effects": [asdict(effect) for effect in report.snapshot_effects],
        "perturbations": [asdict(each) for each in report.perturbations],
        "next_step": report.next_step,
        "recommendations": [asdict(each) for each in report.recommendations],
        "drifts": [asdict(each) for each in report.drifts],
        "trends": [plain_json(each) for each in report.trends],
    }
    data |= {name: with_json_numbers(part) for name, part in optional.items() if part}
    return chain(_lay_out(data, DEPTH), "\n")


def _gate_data(gate: Gate) -> dict[str, Any]:
    """A gate; what is found of its rules is said with all findings."""
    return {
        "verdict": gate.verdict,
        "rules": [{name: value for name, value in asdict(rule).items() if name != "findings"} for rule in gate.rules],
    }


def _lay_out(data: Any, depth: int, indent: str = "\n") -> Iterator[str]:
    """The pieces of JSON that people can read and compare: one line per entry down to a depth.

    An iterator is the entries of an object, each written already, many at a time.
    """
    inner = indent + " "
    if isinstance(data, Iterator):
        yield from _enclose("{}", ((inner + f",{inner}".join(entries),) for entries in data), indent)
    elif not isinstance(data, dict | list) or not data or not depth:
        yield json.dumps(data)
    elif isinstance(data, list):
        yield from _enclose("[]", (chain([inner], _lay_out(value, depth - 1, inner)) for value in data), indent)
    else:
        pairs = ((f"{inner}{json.dumps(key)}: ", _lay_out(value, depth - 1, inner)) for key, value in data.items())
        yield from _enclose("{}", (chain([key], value) for key, value in pairs), indent)


def _enclose(brackets: str, entries: Iterable[Iterable[str]], indent: str) -> Iterator[str]:
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
        "latency_ms": {kind: _known_parts(asdict(latency)) for kind, latency in agent.latency_ms.items()},
        "hosts": [_host_data(each) for each in agent.hosts],
        "index": _index_data(agent.index),
        "start_seconds": agent.start_seconds,
        "cost": with_json_numbers(agent.cost),
        "usage": _usage_data(agent.usage),
        "similarity": {kind: with_json_numbers(asdict(spread)) for kind, spread in agent.similarity.items()},
        "ann": {k: with_json_numbers(asdict(recall)) for k, recall in agent.ann.items()},
        "vectors": [_known_parts(asdict(each)) for each in agent.vectors],
        "cut_answers": agent.cut_answers or None,
        "failures": [_known_parts(asdict(each)) for each in agent.failures],
    }
    known_parts = {name: part for name, part in parts.items() if part not in (None, {}, [])}
    return {"latency_ms": {}} | known_parts if agent.hosts else known_parts


def _host_data(host: HostTimes) -> dict[str, Any]:
    """One of several hosts; a run of one has its times above, and no such part."""
    return {
        "name": host.name,
        "cases": host.cases,
        "environment": plain_json(host.environment),
        "latency_ms": {kind: _known_parts(asdict(latency)) for kind, latency in host.latency_ms.items()},
        "usage": _usage_data(host.usage),
        "index_seconds": host.index_seconds,
        "start_seconds": host.start_seconds,
    }


def _known_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: with_json_numbers(part) for name, part in parts.items() if part is not None}


def _usage_data(usage: UsageSummary) -> dict[str, Any]:
    """What is stated, and nothing of what is not."""
    parts: dict[str, Any] = with_json_numbers(asdict(usage))
    return {name: part for name, part in parts.items() if part}


def _index_data(index: IndexBuild | None) -> dict[str, Any]:
    return {} if index is None else {"seconds": index.seconds, "bytes": index.bytes}


def _measure_data(summaries: Summaries) -> dict[str, Any]:
    return {
        name: {key: with_json_numbers(value) for key, value in vars(summary).items() if key != "definition" or value is not None}
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
    report = check_shape(path, _adapter(), REPORT_SCHEMA.upgrade(path, data))
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
        examples = (*agent.worst, *agent.best) if agent.cases else ()  # the summary of an archived report has no cases
        yield from (f"{name!r} has no case {case!r}" for case in examples if case not in agent.cases)
    for pair in report.pairs:
        yield from (
            f"a pair names the unknown run {name!r}" for name in (pair.baseline, pair.candidate) if name not in report.agents
        )
        if all(difference.measure != pair.primary for difference in pair.differences):
            yield f"{pair.candidate!r} and {pair.baseline!r} are not compared by {pair.primary!r}"


@cache
def _adapter() -> TypeAdapter[Report]:
    """Made once: an archive holds a thousand reports."""
    from pydantic import TypeAdapter

    return TypeAdapter(Report)
