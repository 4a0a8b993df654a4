"""The cases of a report in columns: a summary is built when asked for, and there may be a hundred thousand of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.measures.formulas import Ints
from searchmark.records import MATCHES, NOTHING_KNOWN, STATUSES, Suite
from searchmark.records.id_columns import texts_at
from searchmark.reports.report import CaseSummary, ExpectedTarget, ShownHit

HITS_SHOWN = 10


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

    def of_case(self, row: int) -> tuple[ExpectedTarget, ...]:
        rows = self.rows[self.starts[row] : self.starts[row + 1]]
        columns = zip(texts_at(self.suite.judgments.targets, rows), self.match_of(rows), self.grades_of(rows), strict=True)
        return tuple(ExpectedTarget(target, MATCHES[match], grade) for target, match, grade in columns)

    def match_of(self, rows: Ints) -> list[int]:
        """How the judgments in these rows are met, as numbers of ``MATCHES``."""
        match = self.suite.judgments.match
        return [0] * len(rows) if match is None else match[rows].tolist()

    def grades_of(self, rows: Ints) -> list[int]:
        grades: list[int] = self.suite.judgments.grades[rows].tolist()
        return grades


@dataclass(frozen=True, eq=False)
class CaseColumns(Mapping[str, CaseSummary]):
    """What a report says of every case of a suite, by id: a view of its scores."""

    scores: Scores
    expected: ExpectedTargets

    def __len__(self) -> int:
        return len(self.scores.judged.suite)

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores.judged.suite.table.ids)

    def __getitem__(self, case: str) -> CaseSummary:
        judged, names = self.scores.judged, self.scores.names
        table, answer = judged.suite.table, judged.run.index.get(case)
        row = table.index[case]
        values = self.scores.values[row].tolist()
        return CaseSummary(
            status=STATUSES[judged.status[row]],
            query=None if table.queries is None else table.queries[row],
            measures={name: None if math.isnan(value) else value for name, value in zip(names, values, strict=True)},
            undefined=self.undefined(row),
            hits=() if answer is None else self._hits(answer),
            expected=self.expected.of_case(row),
            details=NOTHING_KNOWN if answer is None else judged.run.details_of(answer),
        )

    def undefined(self, row: int) -> dict[str, str]:
        """Why values of the case in this row are undefined, by measure."""
        columns = np.flatnonzero(np.isnan(self.scores.values[row])).tolist()
        return {self.scores.names[column]: str(self.scores.reason(row, column)) for column in columns}

    def _hits(self, answer: int) -> tuple[ShownHit, ...]:
        return tuple(ShownHit(hit.id, hit.score, hit.lines) for hit in self.scores.judged.run.answer(answer, HITS_SHOWN).hits)

    @cached_property
    def answers(self) -> Ints:
        """For every case the row of its answer in the run, -1 without one."""
        index = self.scores.judged.run.index
        return np.fromiter((index.get(case, -1) for case in self), np.int64, len(self))
