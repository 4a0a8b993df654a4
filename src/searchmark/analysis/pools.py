"""What there is to rank for every case of a suite: how many documents, and which of its targets are among them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.case_traits import Traits, undefined_cases
from searchmark.judging.existence import Existing
from searchmark.judging.expected_orders import ExpectedOrders, expected_orders
from searchmark.judging.judge import expand_suite
from searchmark.judging.line_reading import about_lines
from searchmark.judging.matching import names_lines
from searchmark.judging.names import LINES, CaseKinds
from searchmark.judging.worth import coverage_of_targets
from searchmark.measures.formulas import Coverage, DirectoryPairs, GradedHits, Ints, by_case_and_grade
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import Suite
from searchmark.records.id_columns import Texts, text_list

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Pool:
    """A suite and what can be returned for it.

    Per case: how many ``documents`` there are, None if that is not known, and whether its targets are ``parts`` of them, so
    that a document may meet several. Per judgment: whether its target is ``findable``, and whether it is ``drawn`` where
    documents are drawn (a directory can be found and is not drawn).
    """

    suite: Suite
    documents: Ints | None
    parts: Bools
    findable: Bools
    drawn: Bools

    @classmethod
    def of(cls, suite: Suite, ids: Set[str] | None = None) -> Pool:
        """The documents of the cases themselves, else those of a corpus; what is not known to be missing can be found."""
        suite = suite if ids is None else expand_suite(suite, ids)
        findable, drawn = _known_targets(suite, ids)
        own = [len({each.id for each in documents}) for documents in suite.table.documents or ()] or [0] * len(suite)
        documents = np.where(np.array(own, np.int64) > 0, own, len(ids or ()))
        known = documents if len(suite) and documents.all() else None
        return cls(suite, known, _in_parts(suite, drawn, documents), findable, drawn)

    @cached_property
    def traits(self) -> Traits:
        kinds, table = CaseKinds.of(self.suite), self.suite.table
        answerable, graded = (
            np.ones(len(self.suite), bool) if marks is None else ~marks for marks in (table.unanswerable, table.order_only)
        )
        unread = np.zeros(len(self.suite), bool)  # nobody has given these answers, so no line of them was read
        return ~kinds.described, answerable, kinds.paths, graded, about_lines(self.suite), unread

    def undefined(self, measure: AnyMeasure) -> Bools:
        """Cases that the measure cannot speak about."""
        if measure not in self._undefined:
            self._undefined[measure] = undefined_cases(measure, self.traits)
        return self._undefined[measure]

    @cached_property
    def _undefined(self) -> dict[AnyMeasure, Bools]:
        return {}

    @cached_property
    def orders(self) -> ExpectedOrders:
        return expected_orders(self.suite)

    def ranked(self, rank: Ints, returned: Ints, rows: Ints | None = None) -> GradedHits:
        """What formulas see of answers of some length in which the target of each judgment has this rank, 0 for none.

        ``rows`` are those with a rank, by case and rank, where that is known already.
        """
        judgments = self.suite.judgments
        if rows is None:
            rows = np.flatnonzero(rank)
            rows = rows[np.argsort(judgments.case[rows] * (int(rank.max(initial=0)) + 1) + rank[rows])]  # ranks of a case differ
        none = np.zeros(0, np.int64)
        return GradedHits(
            cases=len(self.suite),
            case=judgments.case[rows],
            rank=rank[rows],
            grade=judgments.grades[rows],
            returned=returned,
            target_case=judgments.case,
            target_grade=judgments.grades,
            order=self.orders.order,
            ordered_case=judgments.case[self.orders.judgment],
            ordered_expected=self.orders.rank,
            ordered_rank=rank[self.orders.judgment],
            ranged_case=none,
            ranged_inside=np.zeros(0),
            abstained=np.where(self.traits[1], np.nan, (returned == 0).astype(float)),
            directories=DirectoryPairs(none, none, none, none, none, none),
            gain=None if judgments.gains is None else judgments.gains[rows],
            target_gain=judgments.gains,
            coverage=None if self._coverage is None else self._coverage.of_hits(rows),
        )

    @cached_property
    def _coverage(self) -> Coverage | None:
        return coverage_of_targets(self.suite)

    def by_grade(self, judgments: Bools) -> Ints:
        """The rows of the marked judgments by case, the highest grade first, of equal ones the highest gain."""
        rows, known = np.flatnonzero(judgments), self.suite.judgments
        if known.gains is not None:
            return rows[np.lexsort((-known.gains[rows], -known.grades[rows], known.case[rows]))]
        return rows[by_case_and_grade(known.case[rows], known.grades[rows])]

    @cached_property
    def best(self) -> dict[int, GradedHits]:
        """The best answers by the lowest grade that they hold, as far as they were asked for."""
        return {}

    def count(self, judgments: Bools) -> Ints:
        """How many of the marked judgments each case has."""
        return np.diff(np.searchsorted(np.flatnonzero(judgments), self.suite.judgments.starts))

    def relevant(self, lowest: int) -> Ints:
        """How many targets of at least this grade each case has."""
        if lowest not in self._relevant:
            self._relevant[lowest] = self.count(self.suite.judgments.grades >= lowest)
        return self._relevant[lowest]

    @cached_property
    def _relevant(self) -> dict[int, Ints]:
        return {}


def _known_targets(suite: Suite, ids: Set[str] | None) -> tuple[Bools, Bools]:
    """Which targets can be found, and which are documents."""
    judgments = suite.judgments
    known = np.ones((2, len(judgments)), bool) if ids is None else _among(judgments.targets, ids)
    if suite.table.documents is not None:
        targets, starts = text_list(judgments.targets), judgments.starts.tolist()
        for case, documents in enumerate(suite.table.documents):
            if documents:
                rows = slice(*starts[case : case + 2])
                known[:, rows] = _among(targets[rows], frozenset(each.id for each in documents))
    return known[0], known[1]


def _among(targets: Texts, ids: Set[str]) -> Bools:
    """Which targets can be found, and which are documents; a text that many rows have is looked up once."""
    distinct = set(text_list(targets)) if isinstance(targets, list) else set(targets.unique().to_list())
    existing = Existing(ids)
    others = {text: existing.settled(text) for text in distinct if text not in ids}
    known = np.ones((2, len(targets)), bool)
    if others:
        rows = [others.get(text) for text in text_list(targets)]
        known[0] = [each is None or each[1] for each in rows]
        known[1] = [each is None or (each[1] and each[0] in ids) for each in rows]
    return known


def _in_parts(suite: Suite, drawn: Bools, documents: Ints) -> Bools:
    """Cases in which a document may meet several judgments, or a part of one."""
    judgments = suite.judgments
    marked = np.zeros(len(judgments), bool) if judgments.match is None else judgments.match == LINES
    for row in np.flatnonzero(~drawn & ~marked).tolist():
        marked[row] = names_lines(judgments.targets[row])
    of_lines, targets = (np.diff(np.searchsorted(np.flatnonzero(rows), judgments.starts)) for rows in (marked, drawn))
    return (of_lines > 0) | (targets > documents)
