"""The cases of a report as JSON: one entry each, written column by column, since there may be a hundred thousand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, repeat
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

import numpy as np

from searchmark.files.store import json_number, plain_json
from searchmark.measures.formulas import Floats, Ints
from searchmark.records import MATCHES, NOTHING_KNOWN, STATUSES, CaseTable
from searchmark.records.id_columns import Texts, are_plain, texts_at
from searchmark.reports.case_columns import NOT_JUDGED, CaseColumns
from searchmark.reports.case_records import CaseFacts, CaseSummary, ExpectedTarget, ShownHit
from searchmark.reports.case_rows import in_batches

# Cases that are written at once: bounds the number of strings that are held.
_AT_ONCE = 1 << 10


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
        yield from (writer.entries(begin, min(begin + _AT_ONCE, len(cases))) for begin in range(0, len(cases), _AT_ONCE))
    else:  # read from a file, or with texts
        yield from in_batches(f"{quoted(case)}: {json.dumps(_case_data(summary))}" for case, summary in cases.items())


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
        return self.cases.scores.judged.suite.table

    def _numbers(self, values: Floats) -> list[str]:
        return _numbers(values, arrow=not isinstance(self.cases.scores.judged.run.ids, list))

    def _status(self, begin: int, end: int) -> Iterable[str]:
        return (quoted(STATUSES[status]) for status in self.cases.scores.judged.status[begin:end].tolist())

    def _queries(self, begin: int, end: int) -> Iterable[str]:
        return repeat("null", end - begin) if self._table.queries is None else map(json.dumps, self._table.queries[begin:end])

    def _measures(self, begin: int, end: int) -> Iterable[str]:
        scores = self.cases.scores
        labels = [f"{quoted(name)}: " for name in scores.names]
        columns = zip(labels, scores.values[begin:end].T, strict=True)
        named = [map(label.__add__, self._numbers(column)) for label, column in columns]
        return map(", ".join, zip(*named, strict=True)) if named else repeat("", end - begin)

    def _undefined(self, begin: int, end: int) -> Iterable[str]:
        counts = np.isnan(self.cases.scores.values[begin:end]).sum(axis=1).tolist()
        return (json.dumps(self.cases.undefined(row)) if count else "{}" for row, count in enumerate(counts, begin))

    def _hits(self, begin: int, end: int) -> Iterable[str]:
        """What every case got."""
        run = self.cases.scores.judged.run
        rows, starts = run.first_rows(self.cases.answers[begin:end], self._limit)
        ids, scores = _quoted_at(run.ids, rows), self._numbers(run.scores[rows])
        if run.first_line is not None:
            lines = ((run.lines_of(row), score) for row, score in zip(rows.tolist(), scores, strict=True))
            scores = [f'{score}, "lines": {json.dumps(known)}' if known else score for known, score in lines]
        graded = map(_GRADES.__getitem__, self.cases.grades_at(rows))
        columns = zip(ids, scores, graded, self._missing(rows), strict=True)
        return _joined([f'{{"id": {name}, "score": {score}{grade}{missing}}}' for name, score, grade, missing in columns], starts)

    @property
    def _limit(self) -> int:
        return self.cases.scores.judged.run.longest if self.cases.limit is None else self.cases.limit

    def _missing(self, rows: Ints) -> Iterable[str]:
        valid = self.cases.scores.judged.valid
        return repeat("", len(rows)) if valid is None else ("" if good else ', "missing": true' for good in valid[rows].tolist())

    def _expected(self, begin: int, end: int) -> Iterable[str]:
        """What every case should have got."""
        expected = self.cases.expected
        starts = expected.starts[begin : end + 1]
        rows = expected.rows[starts[0] : starts[-1]]
        targets, ranks = _quoted_at(expected.suite.judgments.targets, rows), self.cases.target_ranks[rows].tolist()
        ways = [f', "match": {quoted(how)}, "grade": ' for how in MATCHES]
        columns = zip(targets, expected.match_of(rows), expected.grades_of(rows), ranks, strict=True)
        texts = [
            f'{{"target": {name}{ways[match]}{grade}, "rank": {rank}}}' if rank else f'{{"target": {name}{ways[match]}{grade}}}'
            for name, match, grade, rank in columns
        ]
        return _joined(texts, starts - starts[0])

    def _details(self, begin: int, end: int) -> Iterable[str]:
        details = self.cases.scores.judged.run.details
        if details is None:
            return repeat("", end - begin)
        known = (NOTHING_KNOWN if answer < 0 else details[answer] for answer in self.cases.answers[begin:end].tolist())
        return (f', "details": {_as_json(plain)}' if (plain := each.to_plain()) else "" for each in known)


def _as_json(plain: dict[str, Any]) -> str:
    """Nearly always there is nothing but numbers that JSON has, and nobody needs to look at each of them."""
    try:
        return _encoded(plain)
    except (TypeError, ValueError):
        return json.dumps(with_numbers(plain))


def _quoted_at(column: Texts, rows: Ints) -> Iterable[str]:
    """The texts in some rows as JSON; where all are plain, none needs a look of its own."""
    taken = texts_at(column, rows)
    return [f'"{text}"' for text in taken] if are_plain(taken) else map(quoted, taken)


def _numbers(values: Floats, *, arrow: bool) -> list[str]:
    """Floats as JSON has them; ``arrow`` if polars is at hand."""
    size = np.abs(values)
    if arrow and ((size == 0) | ((size >= _SHORTEST) & (size < _LONGEST))).all():
        import polars as pl

        written: list[str] = pl.Series(values).cast(pl.String).to_list()
        return written
    if np.isfinite(values).all():
        return list(map(repr, values.tolist()))
    return [json.dumps(json_number(value)) for value in values.tolist()]


def _joined(texts: list[str], starts: Ints) -> Iterator[str]:
    """The texts of every case as one."""
    return (", ".join(texts[first:last]) for first, last in pairwise(starts.tolist()))
