"""The cases of a report in columns: a summary is built when asked for, and there may be a hundred thousand of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from searchmark.analysis.scores import Scores
from searchmark.measures.formulas import Ints
from searchmark.options.report_options import HITS_SHOWN
from searchmark.records import MATCHES, NOTHING_KNOWN, STATUSES, CaseTable, Suite
from searchmark.records.id_columns import texts_at
from searchmark.records.variants import LANGUAGE_FIELDS, VARIATION_FIELDS
from searchmark.reports.case_records import CaseFacts, CaseSummary, ExpectedTarget, ShownHit


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
        names, found = texts_at(self.suite.judgments.targets, rows), ranks[rows].tolist()
        columns = zip(names, self.match_of(rows), self.grades_of(rows), found, strict=True)
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
    """What a report says of every case of a suite, by id: a view of its scores.

    ``limit`` is the number of hits that are shown, None for all; ``text_of`` says what they say, where that was asked for.
    """

    scores: Scores
    expected: ExpectedTargets
    limit: int | None = HITS_SHOWN
    text_of: HitText | None = None

    def __len__(self) -> int:
        return len(self.scores.judged.suite)

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores.judged.suite.table.ids)

    def __contains__(self, case: object) -> bool:
        return case in self.scores.judged.suite.table.index

    @cached_property
    def _names(self) -> list[str]:
        return self.scores.names

    def __getitem__(self, case: str) -> CaseSummary:
        judged, names = self.scores.judged, self._names
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
        judged = self.scores.judged
        rows = judged.run.rows_of(answer)[: self.limit]
        hits = judged.run.answer(answer, self.limit).hits
        for hit, row, grade in zip(hits, rows.tolist(), self.grades_at(rows), strict=True):
            missing = judged.valid is not None and not judged.valid[row]
            text = None if self.text_of is None else self.text_of(judged.run.label.snapshot, case, hit.id)
            yield ShownHit(hit.id, hit.score, hit.lines, None if grade == NOT_JUDGED else grade, missing, text)

    def grades_at(self, rows: Ints) -> list[int]:
        """The grades of the hits in some rows of the run, NOT_JUDGED for those that met no judgment."""
        judged_rows, grades = self._judged_hits
        if not len(judged_rows):
            return [NOT_JUDGED] * len(rows)
        found = np.minimum(np.searchsorted(judged_rows, rows), len(judged_rows) - 1)
        known: list[int] = np.where(judged_rows[found] == rows, grades[found], NOT_JUDGED).tolist()
        return known

    @cached_property
    def _judged_hits(self) -> tuple[Ints, Ints]:
        """The rows of judged hits that exist, ascending, and their grades."""
        matches = self.scores.judged.matches
        rows, grades = matches.row[matches.valid], matches.grade[matches.valid]
        order = np.argsort(rows, kind="stable")
        return rows[order], grades[order]

    @cached_property
    def target_ranks(self) -> Ints:
        """For every judgment of the suite the rank of the hit that met it or has lines of it, 0 for none."""
        return self.scores.judged.matches.seen_ranks

    @cached_property
    def answers(self) -> Ints:
        """For every case the row of its answer in the run, -1 without one."""
        index = self.scores.judged.run.index
        return np.fromiter((index.get(case, -1) for case in self), np.int64, len(self))


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
        found: list[str | None] = [None] * len(self.table)
        for name in names:
            found = [known or _text(row.get(name)) for known, row in zip(found, self.table.fields or (), strict=False)]
        return tuple(found) if any(found) else None


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
