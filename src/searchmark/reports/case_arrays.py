"""The cases of a run as arrays, for what is said about many of them: the same from views of columns and from records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from searchmark.measures.formulas import Floats, Ints
from searchmark.measures.grammar import UNANSWERABLE
from searchmark.records import ERROR, MATCHES, NOTHING_KNOWN, STATUSES, TIMEOUT
from searchmark.records.id_columns import texts_at
from searchmark.reports.case_columns import CaseColumns
from searchmark.reports.case_records import CaseSummary

Marks = NDArray[np.bool_]
FIRST_HITS = 10
FEWEST_HITS = 5
SAME_GAPS = 1e-3  # no model gives such even scores: they are made from ranks


@dataclass(frozen=True, eq=False)
class CaseArrays:
    """One row per case, one column per measure, and the targets of case ``i`` in ``starts[i]`` to ``starts[i + 1]``.

    ``narrowness`` is how much less the last of the first ten hits scores than the first, as a share of it; NaN where these are
    no similarities: fewer than five have scores, some are negative, all are the same, or each is as far from the next as any
    other. ``shown`` is the number of hits that the report has of each case. ``unreachable`` marks targets that did not exist
    where the case was searched. ``ann_recall`` is what an index found of the true nearest vectors, NaN where that is not known.
    """

    ids: Sequence[str]
    names: tuple[str, ...]
    status: Ints
    values: Floats
    unanswerable: Marks
    starts: Ints
    grades: Ints
    match: Ints
    ranks: Ints
    unreachable: Marks
    narrowness: Floats
    shown: Ints
    ann_recall: Floats
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
    judged, expected = cases.scores.judged, cases.expected
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
        shown=_shown(cases),
        ann_recall=_ann_recall(cases),
        failures=_failures(cases),
    )


def _unreachable(cases: CaseColumns) -> Marks:
    expected, marks = cases.expected, np.zeros(len(cases.expected.rows), bool)
    run, table = cases.scores.judged.run, cases.scores.judged.suite.table
    known = ((case, each.unreachable) for case, each in zip(run.case_ids, run.details or (), strict=False) if each.unreachable)
    for row, missing in ((table.index[case], missing) for case, missing in known if case in table.index):
        first, last = expected.starts[row : row + 2].tolist()
        names = texts_at(expected.suite.judgments.targets, expected.rows[first:last])
        marks[first:last] = [name in missing for name in names]
    return marks


def _failures(cases: CaseColumns) -> dict[int, str]:
    judged = cases.scores.judged
    rows = np.flatnonzero(np.isin(judged.status, (ERROR, TIMEOUT))) if judged.run.details is not None else np.zeros(0, np.int64)
    known = ((row, judged.run.details_of(int(cases.answers[row])).failure) for row in rows.tolist() if cases.answers[row] >= 0)
    return {row: failure for row, failure in known if failure}


def _ann_recall(cases: CaseColumns) -> Floats:
    found = np.full(len(cases), np.nan)
    run, table = cases.scores.judged.run, cases.scores.judged.suite.table
    for case, each in zip(run.case_ids, run.details or (), strict=False):
        if each.ann_recall is not None and case in table.index:
            found[table.index[case]] = each.ann_recall
    return found


def _narrowness_of_columns(cases: CaseColumns) -> Floats:
    run = cases.scores.judged.run
    depth = FIRST_HITS if cases.limit is None else min(FIRST_HITS, cases.limit)
    rows, starts = run.first_rows(cases.answers, depth)
    found = np.full(len(cases), np.nan)
    enough = np.flatnonzero(np.diff(starts) >= FEWEST_HITS)
    if len(enough):
        found[enough] = _narrow(run.scores[rows], starts[:-1][enough], starts[1:][enough])
    return found


def _narrow(scores: Floats, begins: Ints, ends: Ints) -> Floats:
    """The narrowness of the scores from each of some rows up to another one."""
    first, last = scores[begins], scores[ends - 1]
    bounds = np.stack((begins, ends - 1), axis=1).ravel()  # every second piece is the gap between two answers
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        gaps = np.append(scores[:-1] - scores[1:], 0.0)
        least, most = np.minimum.reduceat(gaps, bounds)[::2], np.maximum.reduceat(gaps, bounds)[::2]
        narrow = (first - last) / first
        odd = (most - least <= SAME_GAPS * np.abs(most)) | (np.minimum(first, last) < 0)
    return np.where(np.isfinite(narrow) & ~odd, narrow, np.nan)


def _shown(cases: CaseColumns) -> Ints:
    run = cases.scores.judged.run
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
        failures={row: each.details.failure for row, each in enumerate(summaries) if _ended(each) and each.details.failure},
    )


def is_unanswerable(case: CaseSummary) -> bool:
    """Whether a case is marked as one without an answer: only then Abstain is defined and all else is not."""
    return case.measures.get("Abstain") is not None or UNANSWERABLE in case.undefined.values()


def _ended(case: CaseSummary) -> bool:
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
