"""All rankings of the documents of every case where there are few, and random ones where there are many.

What is looked at are the targets of a case and the documents that are pinned there. Their ranks decide on every measure,
so that of N documents with t of them looked at only N! / (N - t)! rankings are to be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import perm

import numpy as np

from searchmark.analysis.pools import Bools, Pool
from searchmark.measures.formulas import NEVER, Floats, Ints
from searchmark.measures.grammar import AnyMeasure

MOST_LISTED = 720  # rankings of a case that are listed: all of six documents
DRAWS = 400
FEWEST_DRAWS = 20
MOST_DRAWN = 600_000  # ranks, in all draws together


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of every case, each one as likely as every other; ``tracked`` are pinned documents by case."""

    pool: Pool
    documents: Ints
    tracked: Mapping[int, Sequence[str]]

    @cached_property
    def counts(self) -> list[int]:
        """In how many ways what is looked at can be ranked, by case."""
        return [perm(count, len(self._looked_at[case])) for case, count in enumerate(self.documents.tolist())]

    @cached_property
    def listed(self) -> Bools:
        """Cases whose rankings are all listed."""
        return np.array([count <= MOST_LISTED for count in self.counts], bool)

    @cached_property
    def draws(self) -> int:
        """How many rankings of the other cases are drawn."""
        drawn = sum(len(each) for each, listed in zip(self._looked_at, self.listed, strict=True) if not listed)
        return max(FEWEST_DRAWS, min(DRAWS, MOST_DRAWN // max(1, drawn)))

    def many(self, case: int) -> int:
        """How many rankings of a case there are here."""
        return self.counts[case] if self.listed[case] else self.draws

    def values(self, measure: AnyMeasure, pool: Pool | None = None) -> Floats:
        """The values of a measure, a row per ranking and a column per case, NaN below the last one of a case.

        ``pool`` may have other grades.
        """
        graded = pool or self.pool
        undefined = graded.undefined(measure)
        values = np.stack([measure.compute(graded.ranked(rank, self.documents)) for rank in self._ranks])
        values[:, undefined] = np.nan
        return values

    def rank_of(self, case: int, document: str) -> Ints:
        """The rank of a tracked document in each of the rankings; one that is not among the documents is below all."""
        looked_at = self._looked_at[case]
        if document not in looked_at:
            return np.full(self.many(case), NEVER, np.int64)
        return self._orders[case][:, looked_at.index(document)]

    @cached_property
    def _ranks(self) -> Ints:
        """The ranks of the targets, a row per ranking and a column per judgment; a case with fewer of them has each again."""
        rows = max(map(len, self._orders), default=0)
        ranks = np.zeros((rows, len(self.pool.drawn)), np.int64)
        for case, order in enumerate(self._orders):
            targets = self._targets(case)
            ranks[:, list(targets.values())] = np.resize(order[:, : len(targets)], (rows, len(targets)))
        return ranks

    @cached_property
    def _orders(self) -> list[Ints]:
        """By case the ranks of what is looked at, a row per ranking."""
        generator = np.random.default_rng(0)
        return [self._order(case, generator) for case in range(len(self.documents))]

    def _order(self, case: int, generator: np.random.Generator) -> Ints:
        documents, size = int(self.documents[case]), len(self._looked_at[case])
        if self.listed[case]:
            # Where nothing is looked at, there is one ranking.
            return np.array(list(permutations(range(1, documents + 1), size)), np.int64).reshape(self.counts[case], size)
        return _drawn(documents, size, self.draws, generator)

    @cached_property
    def _looked_at(self) -> list[list[str]]:
        return [list(dict.fromkeys([*self._targets(case), *self.tracked.get(case, ())])) for case in range(len(self.documents))]

    def _targets(self, case: int) -> dict[str, int]:
        """The judgments of a case that documents can meet, by target."""
        start, end = self.pool.suite.judgments.starts[case : case + 2].tolist()
        return {self.pool.suite.judgments.targets[row]: row for row in range(start, end) if self.pool.drawn[row]}


def _drawn(documents: int, size: int, draws: int, generator: np.random.Generator) -> Ints:
    """Different ranks in every row."""
    if size * size > documents:
        return np.stack([generator.choice(documents, size, replace=False) for _ in range(draws)]) + 1
    found = generator.integers(1, documents + 1, (draws, size))
    while len(again := np.flatnonzero((np.diff(np.sort(found, axis=1), axis=1) == 0).any(axis=1))):
        found[again] = generator.integers(1, documents + 1, (len(again), size))
    return found
