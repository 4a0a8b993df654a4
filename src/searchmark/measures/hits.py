"""What formulas see: the judged hits of all cases and what there was to find; and what chance levels see: all there is to rank."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.records.columns import Bools, Floats, Ints
from searchmark.records.judgments import NO_RANK
from searchmark.records.suite import Suite

# The lines that readers of answers see, in columns.


@dataclass(frozen=True, eq=False)
class ReadLines:
    """Every line that is read, in that order, and what there was to find."""

    starts: Ints  # the lines of case ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``
    tokens: Ints  # what each line costs
    grade: Ints  # 0 for a line that is not judged
    place_case: Ints  # the places to find are ranges of lines that do not overlap; here the case of each
    place_lines: Ints  # how many lines each place has
    place_grade: Ints  # its grade

    @property
    def case(self) -> Ints:
        """The case of every line that is read."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def within(self, tokens: int, lines: int) -> Ints:
        """The rows of lines that are read under a budget, of tokens unless that is 0, else of lines."""
        costs = self.tokens if tokens else np.ones(len(self.tokens), np.int64)
        costs_so_far = np.concatenate([[0], np.cumsum(costs)])
        return np.flatnonzero(costs_so_far[1:] - costs_so_far[self.starts[self.case]] <= (tokens or lines))


# A rank behind every rank that a hit can have.
NEVER = np.iinfo(np.int64).max // 4

NO_TARGET = -1


@dataclass(frozen=True, eq=False)
class DirectoryPairs:
    """Every hit on a directory with every target below it, by case, then directory, then target, both in path order."""

    case: Ints
    rank: Ints  # of the hit
    own_grade: Ints  # of the hit if it is a target itself, else 0
    target: Ints  # its number among all targets
    grade: Ints  # of the target
    target_rank: Ints  # where the target itself was returned, NEVER if it was not


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which aspects of their queries targets cover, and by what grade."""

    hit: Ints  # the target that each judged hit is, NO_TARGET for one known by description only
    starts: Ints  # target ``i`` has the rows ``starts[i]`` to ``starts[i + 1]``
    aspect: Ints  # a number that counts through the aspects of all cases
    grade: Ints
    name_order: Ints  # puts the targets in the order of their names

    def of_hits(self, targets: Ints) -> Coverage:
        return replace(self, hit=targets)


@dataclass(frozen=True, eq=False)
class GradedHits:
    """The judged hits of all cases, and what there was to find.

    Hits are sorted by case and rank, targets by case. A negative grade means pooled but not judged, as in trec_eval.
    """

    cases: int  # how many there are
    case: Ints  # of each judged hit, as rank and grade are
    rank: Ints
    grade: Ints
    returned: Ints  # all hits per case, judged or not
    target_case: Ints  # of every judged target
    target_grade: Ints
    order: Ints  # which expected ranking a target belongs to; a case may have several, each in neighbouring rows
    ordered_case: Ints
    ordered_expected: Ints  # the rank that the target should have
    ordered_rank: Ints  # the rank that it got, 0 if none
    ranged_case: Ints  # of the targets with a score range
    ranged_inside: Floats  # 1 inside, 0 outside or not returned, NaN if returned without a score
    abstained: Floats  # 1 or 0, NaN for a case that has an answer
    directories: DirectoryPairs  # hits above a target that is a path
    gain: Floats | None = None  # what a judged hit pays, None if that is its grade everywhere
    target_gain: Floats | None = None  # the same for targets
    coverage: Coverage | None = None  # of aspects, None if the judgments have none
    lines: ReadLines | None = None  # what a reader of the answers sees, None where no line is judged or costs are not known

    def select(self, rows: NDArray[np.intp] | Bools, rank: Ints | None = None) -> GradedHits:
        """The same with some of the judged hits, or in another order, which may have other ranks."""
        return replace(
            self,
            case=self.case[rows],
            rank=(self.rank if rank is None else rank)[rows],
            grade=self.grade[rows],
            gain=None if self.gain is None else self.gain[rows],
            coverage=None if self.coverage is None else self.coverage.of_hits(self.coverage.hit[rows]),
            lines=None,  # who reads other hits, or in another order, sees other lines
        )

    @cached_property
    def judged_only(self) -> GradedHits:
        """The answers without their unjudged hits (Sakai, 2007); trec_eval's option -J."""
        judged_hits = self.select(self.grade >= 0)
        return replace(
            judged_hits, rank=rank_in_case(judged_hits.case), returned=np.bincount(judged_hits.case, minlength=self.cases)
        )

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Ints]:
        """Case, rank and grade of the best list there could be: all targets that pay, highest grade first."""
        pays = self.target_grade > 0
        case, grade = self.target_case[pays], self.target_grade[pays]
        order = order_by_case_and_grade(case, grade)
        return case[order], rank_in_case(case[order]), grade[order]

    def relevant(self, rel: int, k: int | None) -> Bools:
        """Which judged hits have at least grade ``rel`` and are among the first ``k``."""
        mask = self.grade >= rel
        return mask if k is None else mask & (self.rank <= k)

    def per_case(self, mask: Bools, weights: Floats | None = None) -> Floats:
        """Count, or sum the weights of, the masked judged hits of every case."""
        return np.bincount(self.case[mask], weights, minlength=self.cases).astype(np.float64)

    def total_relevant(self, rel: int) -> Floats:
        """How many targets of at least grade ``rel`` every case has."""
        return np.bincount(self.target_case[self.target_grade >= rel], minlength=self.cases).astype(np.float64)


def order_by_case_and_grade(case: Ints, grade: Ints) -> Ints:
    """The order by case, then grade, highest first: by one key where it fits, since sorting by two takes several times as long."""
    top, bottom = int(grade.max(initial=0)), int(grade.min(initial=0))
    if (int(case.max(initial=0)) + 1) * (top - bottom + 1) >= NEVER:
        return np.lexsort((-grade, case))
    return np.argsort(case * (top - bottom + 1) + (top - grade), kind="stable")


def rank_in_case(case: Ints) -> Ints:
    """1, 2, 3, ... within each stretch of equal case numbers."""
    position = np.arange(len(case))
    first = np.r_[True, case[1:] != case[:-1]] if len(case) else np.zeros(0, bool)
    return position - np.maximum.accumulate(np.where(first, position, 0)) + 1


def ratio(above: Floats, below: Floats) -> Floats:
    """Division with 0 where the denominator is 0, trec_eval's answer for a case with nothing to find."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


# The orders in which the targets of a case should come: that of their ranks, and others that are as right.


@dataclass(frozen=True, eq=False)
class ExpectedOrders:
    """A row for every target of every expected order: the number of the order, the judgment, and its rank there."""

    order: Ints
    judgment: Ints
    rank: Ints


def expected_orders(suite: Suite) -> ExpectedOrders:
    """All expected orders of a suite, those of one case after each other."""
    ranks = suite.judgments.ranks
    rows = np.zeros(0, np.int64) if ranks is None else np.flatnonzero(ranks != NO_RANK)
    by_rank = np.stack([suite.judgments.case[rows], rows, rows if ranks is None else ranks[rows]])
    others = np.array(list(_other_orders(suite)), np.int64).reshape(-1, 3).T
    return ExpectedOrders(*np.concatenate([by_rank, others], axis=1))


def _other_orders(suite: Suite) -> Iterator[tuple[int, int, int]]:
    """The further orders; their numbers go on behind those of the first orders, which are the numbers of their cases."""
    number, starts = len(suite), suite.judgments.starts.tolist()
    for case, orders in enumerate(suite.table.other_orders or ()):
        rows = {suite.judgments.targets[row]: row for row in range(starts[case], starts[case + 1])} if orders else {}
        for order in orders:
            wrong = wrong_in_order(order, rows)
            if wrong:
                raise UsageError(f"case {suite.table.ids[case]!r}: an expected order {wrong}")
            yield from ((number, rows[target], rank) for rank, target in enumerate(order, 1))
            number += 1


def wrong_in_order(order: Sequence[str], targets: Collection[str]) -> str | None:
    """What is wrong with an expected order of these targets; None if nothing is."""
    unknown_target = next((target for target in order if target not in targets), None)
    if unknown_target is not None:
        return f"names {unknown_target!r}, which is not a target of the case"
    return "names a target twice" if len(set(order)) < len(order) else None


# What there is to rank on a suite, and what a measure sees of it: where chance levels and highest values come from.

Value: TypeAlias = int | float | str


@dataclass(frozen=True, eq=False)
class Pool:
    """A suite and what can be returned for it."""

    suite: Suite
    documents: Ints | None  # per case how many there are, None if that is not known
    parts: Bools  # per case whether its targets are parts of documents, so that one may meet several
    findable: Bools  # per judgment, whether its target can be found
    drawn: Bools  # whether it is among the documents that are drawn at random; a directory is found and never drawn
    traits: tuple[Bools, ...]  # per case what decides whether measures can speak about it, as in `CaseTraits`
    coverage: Coverage | None  # of aspects

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
            coverage=None if self.coverage is None else self.coverage.of_hits(rows),
        )

    def best_answers(self, lowest: int) -> GradedHits:
        """All targets of at least this grade that can be found, the best first, and nothing else."""
        if lowest not in self._best:
            targets = self.findable & (self.suite.judgments.grades >= lowest)
            rows, counts = self._by_grade(targets), self.count(targets)
            self._best[lowest] = self.ranked(self._ranks_from_one(rows, counts), counts, rows)
        return self._best[lowest]

    @cached_property
    def _best(self) -> dict[int, GradedHits]:
        return {}

    def best_first(self, targets: Bools) -> Ints:
        """A rank for each of these judgments, from 1 in every case, the highest grade first; 0 for the others."""
        return self._ranks_from_one(self._by_grade(targets), self.count(targets))

    def _by_grade(self, judgments: Bools) -> Ints:
        """The rows of the marked judgments by case, the highest grade first, of equal ones the highest gain."""
        rows, table = np.flatnonzero(judgments), self.suite.judgments
        if table.gains is not None:
            return rows[np.lexsort((-table.gains[rows], -table.grades[rows], table.case[rows]))]
        return rows[order_by_case_and_grade(table.case[rows], table.grades[rows])]

    def _ranks_from_one(self, rows: Ints, counts: Ints) -> Ints:
        """A rank for these judgments, which are in the order of their ranks, as many as each case has; 0 for the others."""
        rank = np.zeros(len(self.suite.judgments), np.int64)
        rank[rows] = np.arange(1, len(rows) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        return rank

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


# What is counted or weighed on a case by measures that have a shape; the gains of grades that differ are two more kinds.
NOTHING, COUNT, FIRST, AVERAGE, ANY, ALL, DISCOUNTED, LINEAR, EXPONENTIAL = range(9)

SHAPE_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class PoolView:
    """A pool as a measure with this cutoff and these options sees it; what is counted is one value per case."""

    pool: Pool
    cutoff: int | None
    options: Mapping[str, Value]

    @property
    def rel(self) -> int:
        """The lowest relevant grade."""
        return int(self.options.get("rel", 1))

    @cached_property
    def documents(self) -> Floats:
        """All there are, `NEVER` where that is not known."""
        documents = np.full(len(self.pool.suite), NEVER) if self.pool.documents is None else self.pool.documents
        return np.asarray(documents, np.float64)

    @cached_property
    def first(self) -> Floats:
        """How many of them are looked at."""
        return self.documents if self.cutoff is None else np.minimum(self.documents, self.cutoff)

    @cached_property
    def all(self) -> Floats:
        """Relevant targets, also those that cannot be found."""
        return self.pool.relevant(self.rel).astype(np.float64)

    @cached_property
    def findable(self) -> Floats:
        """Those of them that can be found."""
        return self._relevant_among(self.pool.findable)

    @cached_property
    def relevant(self) -> Floats:
        """Those of them that are documents, which a random ranking has."""
        return self._relevant_among(self.pool.drawn)

    def _relevant_among(self, judgments: Bools) -> Floats:
        if judgments.all():
            return self.all
        return self.pool.count(judgments & (self.pool.suite.judgments.grades >= self.rel)).astype(np.float64)

    @property
    def found(self) -> Floats:
        """How many of them are among the first ones of a random ranking, on average."""
        return self.first * self.relevant / self.documents

    @cached_property
    def lowest(self) -> Floats:
        """The lowest grade of a relevant target, 0 where there is none."""
        return self._extreme_grade(np.minimum)

    @cached_property
    def highest(self) -> Floats:
        """The highest one."""
        return self._extreme_grade(np.maximum)

    def _extreme_grade(self, which: np.ufunc) -> Floats:
        judgments, counts = self.pool.suite.judgments, self.pool.relevant(self.rel)
        extreme, rows = np.zeros(len(self.pool.suite)), np.flatnonzero(counts)
        if len(rows):
            starts = (np.cumsum(counts) - counts)[rows]
            extreme[rows] = which.reduceat(judgments.grades[judgments.grades >= self.rel], starts)
        return extreme

    def share(self, numerator: Floats, denominator: Floats | float) -> Floats:
        """One over the other, 0 where there is nothing to divide by."""
        below = np.broadcast_to(np.asarray(denominator, np.float64), numerator.shape)
        return np.divide(numerator, below, out=np.zeros(len(numerator)), where=below > 0)

    def shape(self, kind: Floats | int, weight: Floats | float, cut: Floats | None = None) -> Floats:
        """Kind, cut, lowest relevant grade and weight of every case; nothing where nothing can be found."""
        columns = (np.asarray(kind, np.float64), self.first if cut is None else cut, self.lowest, weight)
        shape = np.stack(np.broadcast_arrays(*columns), axis=1).copy()
        shape[self.findable == 0] = NOTHING
        return shape


# What lines cost a reader: tokens, by a count that needs no model and no package, and how much of an answer is ever counted.
#
# A line is a quarter as many tokens as it has bytes in UTF-8, its end included, rounded up. Files are cut into lines at line
# feeds alone, as Git counts them.

TOKENIZER = "bytes/4"

BYTES_PER_TOKEN = 4


# The largest budgets that a measure takes. Answers are counted so far and no further, which bounds what a run holds.
MOST_TOKENS, MOST_LINES = 32_000, 3_200


def tokens_of_lines(text: str) -> tuple[int, ...]:
    """The tokens of every line of a text."""
    lines = text.encode("utf-8", "surrogatepass").split(b"\n")
    if not lines[-1]:  # behind the end of the last line is no line
        lines.pop()
    return tuple(len(line) // BYTES_PER_TOKEN + 1 for line in lines)
