"""The cases of a run as rows with nothing but names and numbers: from columns, many at a time, where there are columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, repeat
from typing import NamedTuple, TypeVar

from searchmark.measures.formulas import Ints
from searchmark.records import NOTHING_KNOWN, STATUSES, AnswerDetails
from searchmark.records.id_columns import Texts, texts_at
from searchmark.reports.case_columns import CaseColumns
from searchmark.reports.case_records import CaseSummary

# Rows that are made at once: bounds the number of strings that are held.
AT_ONCE = 1 << 10

T = TypeVar("T")


class CaseRow(NamedTuple):
    """One case of one run; the values are in the order of the run's measures, NaN or None where undefined."""

    case: str
    status: str
    query: str | None
    hits: Sequence[str]
    targets: Sequence[str]
    details: AnswerDetails
    values: Sequence[float | None]


def case_rows(cases: Mapping[str, CaseSummary], measures: Sequence[str]) -> Iterator[list[CaseRow]]:
    """Every case, many at a time."""
    if isinstance(cases, CaseColumns):
        yield from (_from_columns(cases, begin, min(begin + AT_ONCE, len(cases))) for begin in range(0, len(cases), AT_ONCE))
    else:
        yield from in_batches(_from_summary(case_id, case, measures) for case_id, case in cases.items())


def in_batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """Some rows, then the next ones, each time a bounded number."""
    left = iter(rows)
    while batch := list(islice(left, AT_ONCE)):
        yield batch


def _from_summary(case_id: str, case: CaseSummary, measures: Sequence[str]) -> CaseRow:
    hits, targets = [hit.id for hit in case.hits], [each.target for each in case.expected]
    values = [case.measures.get(name) for name in measures]
    return CaseRow(case_id, case.status, case.query, hits, targets, case.details, values)


def _from_columns(cases: CaseColumns, begin: int, end: int) -> list[CaseRow]:
    judged = cases.scores.judged
    table, run = judged.suite.table, judged.run
    rows, starts = run.first_rows(cases.answers[begin:end], run.longest if cases.limit is None else cases.limit)
    bounds = cases.expected.starts[begin : end + 1]
    judgments = cases.expected.rows[bounds[0] : bounds[-1]]
    columns = zip(
        table.ids[begin:end],
        (STATUSES[status] for status in judged.status[begin:end].tolist()),
        repeat(None, end - begin) if table.queries is None else table.queries[begin:end],
        _lists(run.ids, rows, starts),
        _lists(cases.expected.suite.judgments.targets, judgments, bounds - bounds[0]),
        _details(cases, begin, end),
        cases.scores.values[begin:end].tolist(),
        strict=True,
    )
    return [CaseRow(*each) for each in columns]


def _lists(texts: Texts, rows: Ints, starts: Ints) -> Iterator[list[str]]:
    """The texts in some rows, as one list for each case."""
    taken = list(texts_at(texts, rows))
    return (taken[first:last] for first, last in pairwise(starts.tolist()))


def _details(cases: CaseColumns, begin: int, end: int) -> Iterator[AnswerDetails]:
    details = cases.scores.judged.run.details
    if details is None:
        return repeat(NOTHING_KNOWN, end - begin)
    return (NOTHING_KNOWN if answer < 0 else details[answer] for answer in cases.answers[begin:end].tolist())
