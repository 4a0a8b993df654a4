"""The cases of a report as JSON: one entry each, written column by column, since there may be a hundred thousand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import numpy as np

from searchmark.files.store import json_number
from searchmark.measures.formulas import Floats, Ints
from searchmark.records import MATCHES, NOTHING_KNOWN, STATUSES, AnswerDetails
from searchmark.records.id_columns import texts_at
from searchmark.reports.case_columns import HITS_SHOWN, CaseColumns
from searchmark.reports.report import CaseSummary, ShownHit

# Cases that are written at once: bounds the number of strings that are held.
_AT_ONCE = 1 << 12


def case_entries(cases: Mapping[str, CaseSummary]) -> Iterator[str]:
    """Every case as ``"id": {...}``."""
    if isinstance(cases, CaseColumns):
        for begin in range(0, len(cases), _AT_ONCE):
            yield from _column_entries(cases, begin, min(begin + _AT_ONCE, len(cases)))
    else:  # a report that was read from a file
        yield from (f"{quoted(case)}: {json.dumps(_case_data(summary))}" for case, summary in cases.items())


def with_numbers(data: Any) -> Any:
    """The data with every float as JSON can hold it."""
    if isinstance(data, Mapping):
        return {key: with_numbers(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [with_numbers(value) for value in data]
    return json_number(data) if isinstance(data, float) else data


def _case_data(case: CaseSummary) -> dict[str, Any]:
    details = {} if case.details == NOTHING_KNOWN else {"details": with_numbers(case.details.to_plain())}
    return {
        "status": case.status,
        "query": case.query,
        "measures": with_numbers(case.measures),
        "undefined": dict(case.undefined),
        "hits": [_hit_data(hit) for hit in case.hits],
        "expected": [{"target": each.target, "match": each.match, "grade": each.grade} for each in case.expected],
        **details,
    }


def _hit_data(hit: ShownHit) -> dict[str, Any]:
    return {"id": hit.id, "score": json_number(hit.score)} | ({} if hit.lines is None else {"lines": list(hit.lines)})


def _column_entries(cases: CaseColumns, begin: int, end: int) -> Iterator[str]:
    """The same entries of some cases, from columns."""
    judged, rows = cases.scores.judged, range(begin, end)
    table, details = judged.suite.table, judged.run.details
    status = [quoted(STATUSES[each]) for each in judged.status[begin:end].tolist()]
    queries = ["null"] * len(rows) if table.queries is None else list(map(json.dumps, table.queries[begin:end]))
    odd = np.isnan(cases.scores.values[begin:end]).sum(axis=1).tolist()
    undefined = [json.dumps(cases.undefined(row)) if count else "{}" for row, count in zip(rows, odd, strict=True)]
    told = [""] * len(rows) if details is None else [_details(cases, details, row) for row in rows]
    columns = zip(
        map(quoted, table.ids[begin:end]), status, queries, _measures(cases, begin, end), undefined, _hits(cases, begin, end),
        _expected(cases, begin, end), told, strict=True,
    )  # fmt: skip
    for case, state, query, measures, reasons, hits, expected, more in columns:
        yield (
            f'{case}: {{"status": {state}, "query": {query}, "measures": {{{measures}}}, "undefined": {reasons}, '
            f'"hits": [{hits}], "expected": [{expected}]{more}}}'
        )


def _details(cases: CaseColumns, details: tuple[AnswerDetails, ...], row: int) -> str:
    answer = int(cases.answers[row])
    known = NOTHING_KNOWN if answer < 0 else details[answer]
    return "" if known == NOTHING_KNOWN else f', "details": {json.dumps(with_numbers(known.to_plain()))}'


def _measures(cases: CaseColumns, begin: int, end: int) -> Iterator[str]:
    """The values of every case, by measure."""
    labels = [f"{quoted(name)}: " for name in cases.scores.names]
    columns = (_numbers(column) for column in cases.scores.values[begin:end].T)
    named = [map(label.__add__, column) for label, column in zip(labels, columns, strict=True)]
    return map(", ".join, zip(*named, strict=True)) if named else iter([""] * (end - begin))


def _hits(cases: CaseColumns, begin: int, end: int) -> Iterator[str]:
    """What every case got."""
    run = cases.scores.judged.run
    rows, starts = run.first_rows(cases.answers[begin:end], HITS_SHOWN)
    ids, scores = map(quoted, texts_at(run.ids, rows)), _numbers(run.scores[rows])
    if run.first_line is None:
        hits = [f'{{"id": {name}, "score": {score}}}' for name, score in zip(ids, scores, strict=True)]
    else:
        lines = [f', "lines": {json.dumps(each)}' if (each := run.lines_of(row)) else "" for row in rows.tolist()]
        hits = [f'{{"id": {name}, "score": {score}{more}}}' for name, score, more in zip(ids, scores, lines, strict=True)]
    return _joined(hits, starts)


def _expected(cases: CaseColumns, begin: int, end: int) -> Iterator[str]:
    """What every case should have got."""
    expected = cases.expected
    starts = expected.starts[begin : end + 1]
    rows = expected.rows[starts[0] : starts[-1]]
    targets = map(quoted, texts_at(expected.suite.judgments.targets, rows))
    columns = zip(targets, expected.match_of(rows), expected.grades_of(rows), strict=True)
    ways = [f', "match": {quoted(how)}, "grade": ' for how in MATCHES]
    texts = [f'{{"target": {target}{ways[match]}{grade}}}' for target, match, grade in columns]
    return _joined(texts, starts - starts[0])


def _joined(texts: list[str], starts: Ints) -> Iterator[str]:
    """The texts of every case as one."""
    bounds = starts.tolist()
    return (", ".join(texts[first:last]) for first, last in pairwise(bounds))


def _numbers(values: Floats) -> list[str]:
    """Floats as JSON has them."""
    if np.isfinite(values).all():
        return list(map(repr, values.tolist()))
    return [json.dumps(json_number(value)) for value in values.tolist()]
