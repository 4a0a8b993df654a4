"""The cases of a report, as records, as columns and as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, pairwise, repeat
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.config.run import HITS_SHOWN
from searchmark.measures.common import ABSTENTION
from searchmark.measures.grammar import UNANSWERABLE
from searchmark.records.answers import ERROR, NOTHING_KNOWN, STATUSES, TIMEOUT, AnswerDetails
from searchmark.records.columns import Floats, Ints, Texts, texts_at
from searchmark.records.judgments import MATCHES, Match
from searchmark.records.suite import LANGUAGE_FIELDS, VARIATION_FIELDS, CaseTable, Suite
from searchmark.scoring.scores import Scores


@dataclass(frozen=True)
class CaseFacts:
    """What the suite says of a case beside its query and its targets, which are with the answers."""

    category: str | None = None
    tags: tuple[str, ...] = ()
    origin: str | None = None
    unanswerable: bool = False
    language: str | None = None  # this and the next are fields of the case
    variation: str | None = None  # a typo, another phrasing


@dataclass(frozen=True, slots=True)
class ShownHit:
    """An entry of an answer as it is shown."""

    id: str
    score: float | None = None
    lines: tuple[int, int] | None = None
    grade: int | None = None  # of the judgment that it met; None for a hit that is not judged
    missing: bool = False  # it does not exist in the corpus
    text: str | None = None  # what the document says, where that is wanted and at hand


class ExpectedTarget(NamedTuple):
    """A target that is worth something to a case, and the rank of the hit that met it, None without one.

    A tuple, since there may be a million of them.
    """

    target: str
    match: Match
    grade: int
    rank: int | None = None


@dataclass(frozen=True)
class CaseSummary:
    """One case of one run: what was asked, what came back, what was expected, what it scored, and why not where it did not."""

    status: str
    query: str | None
    measures: Mapping[str, float | None]
    undefined: Mapping[str, str]
    hits: tuple[ShownHit, ...]
    expected: tuple[ExpectedTarget, ...] = ()
    details: AnswerDetails = NOTHING_KNOWN


# Cases in columns: there may be a hundred thousand of them, and the record of one is built when it is needed.


@dataclass(frozen=True, eq=False)
class ExpectedTargets:
    """For every case the rows of the judgments that are worth something, the most valuable first.

    Those of case ``i`` are ``rows[starts[i]:starts[i + 1]]``.
    """

    suite: Suite
    rows: Ints
    starts: Ints

    @classmethod
    def of(cls, suite: Suite) -> ExpectedTargets:
        judgments = suite.judgments
        rows = np.flatnonzero(judgments.grades > 0)
        case, grade = judgments.case[rows], judgments.grades[rows]
        counts = np.bincount(case, minlength=len(suite))
        return cls(suite, rows[np.lexsort((-grade, case))], np.concatenate([[0], np.cumsum(counts)]))

    def of_case(self, row: int, ranks: Ints) -> tuple[ExpectedTarget, ...]:
        """The targets of one case; ``ranks`` has that of the hit which met each judgment of the suite, 0 for none."""
        rows = self.rows[self.starts[row] : self.starts[row + 1]]
        names, first_ranks = texts_at(self.suite.judgments.targets, rows), ranks[rows].tolist()
        columns = zip(names, self.match_of(rows), self.grades_of(rows), first_ranks, strict=True)
        return tuple(ExpectedTarget(target, MATCHES[match], grade, rank or None) for target, match, grade, rank in columns)

    def match_of(self, rows: Ints) -> list[int]:
        """How the judgments in these rows are met, as numbers of ``MATCHES``."""
        match = self.suite.judgments.match
        return [0] * len(rows) if match is None else match[rows].tolist()

    def grades_of(self, rows: Ints) -> list[int]:
        grades: list[int] = self.suite.judgments.grades[rows].tolist()
        return grades


NOT_JUDGED = np.iinfo(np.int64).min


# What the document of a hit says, by the snapshot that was searched, case and id; None where it cannot be read.
HitText = Callable[[str | None, str, str], str | None]


@dataclass(frozen=True, eq=False)
class CaseColumns(Mapping[str, CaseSummary]):
    """What a report says of every case of a suite, by id: a view of its scores."""

    scores: Scores
    expected: ExpectedTargets
    limit: int | None = HITS_SHOWN  # the number of hits that are shown; None for all
    text_of: HitText | None = None  # reads their texts, where these are wanted

    def __len__(self) -> int:
        return len(self.scores.matched.suite)

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores.matched.suite.table.ids)

    def __contains__(self, case: object) -> bool:
        return case in self.scores.matched.suite.table.index

    @cached_property
    def _names(self) -> list[str]:
        return self.scores.names

    def __getitem__(self, case: str) -> CaseSummary:
        judged, names = self.scores.matched, self._names
        table, answer = judged.suite.table, judged.run.index.get(case)
        row = table.index[case]
        values = self.scores.values[row].tolist()
        return CaseSummary(
            status=STATUSES[judged.status[row]],
            query=None if table.queries is None else table.queries[row],
            measures={name: None if math.isnan(value) else value for name, value in zip(names, values, strict=True)},
            undefined=self.undefined(row),
            hits=() if answer is None else tuple(self._hits(case, answer)),
            expected=self.expected.of_case(row, self.target_ranks),
            details=NOTHING_KNOWN if answer is None else judged.run.details_of(answer),
        )

    def undefined(self, row: int) -> dict[str, str]:
        """Why values of the case in this row are undefined, by measure."""
        columns = np.flatnonzero(np.isnan(self.scores.values[row])).tolist()
        return {self.scores.names[column]: str(self.scores.reason(row, column)) for column in columns}

    def _hits(self, case: str, answer: int) -> Iterator[ShownHit]:
        matched = self.scores.matched
        rows = matched.run.rows_of(answer)[: self.limit]
        hits = matched.run.answer(answer, self.limit).hits
        for hit, row, grade in zip(hits, rows.tolist(), self.grades_at(rows), strict=True):
            missing = matched.valid is not None and not matched.valid[row]
            text = None if self.text_of is None else self.text_of(matched.run.label.snapshot, case, hit.id)
            yield ShownHit(hit.id, hit.score, hit.lines, None if grade == NOT_JUDGED else grade, missing, text)

    def grades_at(self, rows: Ints) -> list[int]:
        """The grades of the hits in some rows of the run, NOT_JUDGED for those that met no judgment."""
        judged_rows, grades = self._judged_hits
        if not len(judged_rows):
            return [NOT_JUDGED] * len(rows)
        places = np.minimum(np.searchsorted(judged_rows, rows), len(judged_rows) - 1)
        hit_grades: list[int] = np.where(judged_rows[places] == rows, grades[places], NOT_JUDGED).tolist()
        return hit_grades

    @cached_property
    def _judged_hits(self) -> tuple[Ints, Ints]:
        """The rows of judged hits that exist, ascending, and their grades."""
        matches = self.scores.matched.matches
        rows, grades = matches.row[matches.valid], matches.grade[matches.valid]
        order = np.argsort(rows, kind="stable")
        return rows[order], grades[order]

    @cached_property
    def target_ranks(self) -> Ints:
        """For every judgment of the suite the rank of the hit that met it or has lines of it, 0 for none."""
        return self.scores.matched.matches.seen_ranks

    @cached_property
    def answers(self) -> Ints:
        """For every case the row of its answer in the run, -1 without one."""
        index = self.scores.matched.run.index
        return np.fromiter((index.get(case, -1) for case in self), np.int64, len(self))

    def details(self, begin: int, end: int) -> Iterator[AnswerDetails]:
        """What is known of the answers of the cases from one row up to another."""
        details = self.scores.matched.run.details
        if details is None:
            return repeat(NOTHING_KNOWN, end - begin)
        return (NOTHING_KNOWN if answer < 0 else details[answer] for answer in self.answers[begin:end].tolist())


@dataclass(frozen=True, eq=False)
class FactColumns(Mapping[str, CaseFacts]):
    """What a suite says of each of its cases beside query and targets: a view of its columns; empty if it says nothing."""

    table: CaseTable

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        table = self.table
        columns = (table.categories, table.tags, table.origins, table.unanswerable, self.languages, self.variations)
        return () if all(column is None for column in columns) else table.ids

    def __getitem__(self, case: str) -> CaseFacts:
        table = self.table
        row = table.index[case]
        return CaseFacts(
            category=None if table.categories is None else table.categories[row],
            tags=() if table.tags is None else table.tags[row],
            origin=None if table.origins is None else table.origins[row],
            unanswerable=table.unanswerable is not None and bool(table.unanswerable[row]),
            language=None if self.languages is None else self.languages[row],
            variation=None if self.variations is None else self.variations[row],
        )

    @cached_property
    def languages(self) -> tuple[str | None, ...] | None:
        """The language of every case; None if no case has one."""
        return self._field(LANGUAGE_FIELDS)

    @cached_property
    def variations(self) -> tuple[str | None, ...] | None:
        """How the query of every case was varied; None if none was."""
        return self._field(VARIATION_FIELDS)

    def _field(self, names: tuple[str, ...]) -> tuple[str | None, ...] | None:
        """The first of some fields that a case has as a text."""
        values: list[str | None] = [None] * len(self.table)
        for name in names:
            values = [value or _text(row.get(name)) for value, row in zip(values, self.table.fields or (), strict=False)]
        return tuple(values) if any(values) else None


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


# Cases as arrays, for what is said about many of them: the same from columns and from records, as a report read from a file has.

Marks = NDArray[np.bool_]

FIRST_HITS = 10

FEWEST_HITS = 5

SAME_GAPS = 1e-3  # gaps that differ by less, relatively, are the same: no model gives such even scores


@dataclass(frozen=True, eq=False)
class CaseArrays:
    """One row per case, one column per measure."""

    ids: Sequence[str]
    names: tuple[str, ...]  # of the measures
    status: Ints
    values: Floats
    unanswerable: Marks
    starts: Ints  # the targets of case i are those from starts[i] up to starts[i + 1], in the next four columns
    grades: Ints
    match: Ints
    ranks: Ints
    unreachable: Marks  # targets that did not exist where the case was searched
    narrowness: Floats  # see _narrow; NaN where the scores of the hits are no similarities
    shown: Ints  # how many hits the report has of each case
    ann_recall: Floats  # what an index found of the true nearest vectors, NaN where that is not known
    failures: Mapping[int, str]

    @property
    def case_of_target(self) -> Ints:
        return np.repeat(np.arange(len(self.ids)), np.diff(self.starts))

    def column(self, name: str | None) -> Floats:
        """The values of a measure, NaN where it is undefined or not there."""
        return self.values[:, self.names.index(name)] if name in self.names else np.full(len(self.ids), np.nan)

    def named(self, marked: Marks) -> Iterator[str]:
        """The ids of marked cases."""
        return (self.ids[row] for row in np.flatnonzero(marked).tolist())


def arrays_of(cases: Mapping[str, CaseSummary]) -> CaseArrays:
    """The cases of a run as arrays."""
    return _of_columns(cases) if isinstance(cases, CaseColumns) else _of_records(cases)


def _of_columns(cases: CaseColumns) -> CaseArrays:
    judged, expected = cases.scores.matched, cases.expected
    rows, names = expected.rows, tuple(cases.scores.names)
    match = expected.suite.judgments.match
    return CaseArrays(
        ids=judged.suite.table.ids,
        names=names,
        status=judged.status.astype(np.int64),
        values=cases.scores.values,
        unanswerable=~judged.answerable if names else np.zeros(len(cases), bool),
        starts=expected.starts,
        grades=expected.suite.judgments.grades[rows],
        match=np.zeros(len(rows), np.int64) if match is None else match[rows].astype(np.int64),
        ranks=cases.target_ranks[rows],
        unreachable=_unreachable(cases),
        narrowness=_narrowness_of_columns(cases),
        shown=_shown_counts(cases),
        ann_recall=_ann_recall(cases),
        failures=_failures(cases),
    )


def _unreachable(cases: CaseColumns) -> Marks:
    expected, marks = cases.expected, np.zeros(len(cases.expected.rows), bool)
    run, table = cases.scores.matched.run, cases.scores.matched.suite.table
    unreachable = (
        (case, each.unreachable) for case, each in zip(run.case_ids, run.details or (), strict=False) if each.unreachable
    )
    for row, missing in ((table.index[case], missing) for case, missing in unreachable if case in table.index):
        first, last = expected.starts[row : row + 2].tolist()
        names = texts_at(expected.suite.judgments.targets, expected.rows[first:last])
        marks[first:last] = [name in missing for name in names]
    return marks


def _failures(cases: CaseColumns) -> dict[int, str]:
    matched = cases.scores.matched
    rows = np.flatnonzero(np.isin(matched.status, (ERROR, TIMEOUT))) if matched.run.details is not None else np.zeros(0, np.int64)
    reasons = ((row, matched.run.details_of(int(cases.answers[row])).failure) for row in rows.tolist() if cases.answers[row] >= 0)
    return {row: failure for row, failure in reasons if failure}


def _ann_recall(cases: CaseColumns) -> Floats:
    recall = np.full(len(cases), np.nan)
    run, table = cases.scores.matched.run, cases.scores.matched.suite.table
    for case, each in zip(run.case_ids, run.details or (), strict=False):
        if each.ann_recall is not None and case in table.index:
            recall[table.index[case]] = each.ann_recall
    return recall


def _narrowness_of_columns(cases: CaseColumns) -> Floats:
    run = cases.scores.matched.run
    depth = FIRST_HITS if cases.limit is None else min(FIRST_HITS, cases.limit)
    rows, starts = run.first_rows(cases.answers, depth)
    narrowness = np.full(len(cases), np.nan)
    enough = np.flatnonzero(np.diff(starts) >= FEWEST_HITS)
    if len(enough):
        narrowness[enough] = _narrow(run.scores[rows], starts[:-1][enough], starts[1:][enough])
    return narrowness


def _narrow(scores: Floats, begins: Ints, ends: Ints) -> Floats:
    """How much less the last score scores than the first, as a share of it, in each slice of ``scores`` that begins and ends there.

    NaN where these are no similarities: some are negative, or all gaps are the same, as in scores that are made from ranks.
    """
    first, last = scores[begins], scores[ends - 1]
    bounds = np.stack((begins, ends - 1), axis=1).ravel()  # every second piece is the gap between two answers
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        gaps = np.append(scores[:-1] - scores[1:], 0.0)
        least, most = np.minimum.reduceat(gaps, bounds)[::2], np.maximum.reduceat(gaps, bounds)[::2]
        narrow = (first - last) / first
        odd = (most - least <= SAME_GAPS * np.abs(most)) | (np.minimum(first, last) < 0)
    return np.where(np.isfinite(narrow) & ~odd, narrow, np.nan)


def _shown_counts(cases: CaseColumns) -> Ints:
    run = cases.scores.matched.run
    lengths = np.where(cases.answers < 0, 0, np.diff(run.starts)[cases.answers] if len(run) else 0)
    return (lengths if cases.limit is None else np.minimum(lengths, cases.limit)).astype(np.int64)


def _of_records(cases: Mapping[str, CaseSummary]) -> CaseArrays:
    summaries = list(cases.values())
    names = tuple(summaries[0].measures) if summaries else ()
    targets = [target for each in summaries for target in each.expected]
    values = [[_number(each.measures.get(name)) for name in names] for each in summaries]
    return CaseArrays(
        ids=list(cases),
        names=names,
        status=_ints(STATUSES.index(each.status) for each in summaries),
        values=np.array(values, np.float64).reshape(len(summaries), len(names)),
        unanswerable=np.array([is_unanswerable(each) for each in summaries], bool),
        starts=_ints(accumulate((len(each.expected) for each in summaries), initial=0)),
        grades=_ints(each.grade for each in targets),
        match=_ints(MATCHES.index(each.match) for each in targets),
        ranks=_ints(each.rank or 0 for each in targets),
        unreachable=np.array([each.target in case.details.unreachable for case in summaries for each in case.expected], bool),
        narrowness=np.array([_narrowness(each) for each in summaries], np.float64),
        shown=_ints(len(each.hits) for each in summaries),
        ann_recall=np.array([_number(each.details.ann_recall) for each in summaries], np.float64),
        failures={row: each.details.failure for row, each in enumerate(summaries) if _is_failed(each) and each.details.failure},
    )


def is_unanswerable(case: CaseSummary) -> bool:
    """Whether a case is marked as one without an answer: only then Abstain is defined and all else is not."""
    return case.measures.get(ABSTENTION.name) is not None or UNANSWERABLE in case.undefined.values()


def _is_failed(case: CaseSummary) -> bool:
    return case.details is not NOTHING_KNOWN and case.status in (STATUSES[ERROR], STATUSES[TIMEOUT])


def _narrowness(case: CaseSummary) -> float:
    scores = np.array([_number(hit.score) for hit in case.hits[:FIRST_HITS]])
    if len(scores) < FEWEST_HITS:
        return np.nan
    return float(_narrow(scores, np.array([0]), np.array([len(scores)]))[0])


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _ints(values: Iterator[int]) -> Ints:
    return np.fromiter(values, np.int64)


# Cases as rows with nothing but names and numbers, many at a time.

AT_ONCE = 1 << 10  # rows, which bounds the number of strings in memory

T = TypeVar("T")


class CaseRow(NamedTuple):
    """One case of one run."""

    case: str
    status: str
    query: str | None
    hits: Sequence[str]
    targets: Sequence[str]
    details: AnswerDetails
    values: Sequence[float | None]  # in the order of the run's measures, NaN or None where undefined


def case_rows(cases: Mapping[str, CaseSummary], measures: Sequence[str]) -> Iterator[list[CaseRow]]:
    """Every case, many at a time."""
    if isinstance(cases, CaseColumns):
        yield from (_from_columns(cases, begin, min(begin + AT_ONCE, len(cases))) for begin in range(0, len(cases), AT_ONCE))
    else:
        yield from in_batches(_from_summary(case_id, case, measures) for case_id, case in cases.items())


def in_batches(rows: Iterable[T]) -> Iterator[list[T]]:
    """Some rows, then the next ones, each time a bounded number."""
    remaining = iter(rows)
    while batch := list(islice(remaining, AT_ONCE)):
        yield batch


def _from_summary(case_id: str, case: CaseSummary, measures: Sequence[str]) -> CaseRow:
    hits, targets = [hit.id for hit in case.hits], [each.target for each in case.expected]
    values = [case.measures.get(name) for name in measures]
    return CaseRow(case_id, case.status, case.query, hits, targets, case.details, values)


def _from_columns(cases: CaseColumns, begin: int, end: int) -> list[CaseRow]:
    matched = cases.scores.matched
    table, run = matched.suite.table, matched.run
    rows, starts = run.first_rows(cases.answers[begin:end], run.longest if cases.limit is None else cases.limit)
    bounds = cases.expected.starts[begin : end + 1]
    judgments = cases.expected.rows[bounds[0] : bounds[-1]]
    columns = zip(
        table.ids[begin:end],
        (STATUSES[status] for status in matched.status[begin:end].tolist()),
        repeat(None, end - begin) if table.queries is None else table.queries[begin:end],
        _lists(run.ids, rows, starts),
        _lists(cases.expected.suite.judgments.targets, judgments, bounds - bounds[0]),
        cases.details(begin, end),
        cases.scores.values[begin:end].tolist(),
        strict=True,
    )
    return [CaseRow(*each) for each in columns]


def _lists(texts: Texts, rows: Ints, starts: Ints) -> Iterator[list[str]]:
    """The texts in some rows, as one list for each case."""
    flat = list(texts_at(texts, rows))
    return (flat[first:last] for first, last in pairwise(starts.tolist()))
