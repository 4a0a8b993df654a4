"""Matching by name, many cases at once, in batches that bound the memory it takes.

There are two ways, with one result. A dictionary per case is fastest where names are Python strings already. A join of
Arrow columns is fastest where no id is a Python string yet: making a million of them would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from searchmark.judging.matches import NO_JUDGMENT
from searchmark.judging.names import judged_by_path
from searchmark.measures.formulas import Ints
from searchmark.records import Run, Suite
from searchmark.records.id_columns import Texts, pair_keys, texts_at

if TYPE_CHECKING:
    import polars as pl

# Hits that are matched at once: bounds the memory that it takes, whatever the size of the run.
BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class CaseBatch:
    """The answers to some cases: that to ``cases[i]`` is the hits ``starts[i]:starts[i + 1]`` of the batch.

    In the run it begins at the row ``begins[i]``.
    """

    cases: Ints
    starts: Ints
    begins: Ints

    @classmethod
    def of(cls, run: Run, rows: Ints, cases: Ints) -> CaseBatch:
        begins = run.starts[rows[cases]]
        return cls(cases, np.r_[0, np.cumsum(run.starts[rows[cases] + 1] - begins)], begins)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def answers_of(self, hits: Ints) -> Ints:
        """The answers, by number, that some hits belong to."""
        return np.searchsorted(self.starts, hits, side="right") - 1

    def rows_of(self, hits: Ints) -> Ints:
        """The rows that some hits have in the run."""
        return hits + (self.begins - self.starts[:-1])[self.answers_of(hits)]

    def ranks_of(self, run: Run, hits: Ints) -> Ints:
        """The ranks of some hits in their answers, duplicates counted."""
        if run.rank is None:
            return hits - self.starts[self.answers_of(hits)] + 1
        return run.rank[self.rows_of(hits)].astype(np.int64)

    def ids(self, run: Run) -> Texts:
        """The ids of these hits, one after the other; of an Arrow column no copy where they are so in the run."""
        if bool((self.begins - self.starts[:-1] == self.begins[0]).all()):
            return run.ids[int(self.begins[0]) : int(self.begins[0]) + len(self)]
        rows = self.rows_of(np.arange(len(self)))
        return texts_at(run.ids, rows) if isinstance(run.ids, list) else run.ids[rows]


@dataclass(frozen=True, eq=False)
class BatchNames:
    """The names of the hits of a batch: answer ``i`` has those from ``begins[i]`` on.

    They may be a list of their own, or the ids of the whole run: a copy would cost as much as the lookup.
    """

    texts: list[str]
    begins: Ints

    def answers(self, batch: CaseBatch) -> Iterator[tuple[int, list[str]]]:
        """Every case with the names of its hits."""
        ends = self.begins + np.diff(batch.starts)
        for case, begin, end in zip(batch.cases.tolist(), self.begins.tolist(), ends.tolist(), strict=True):
            yield case, self.texts[begin:end]


def batches(run: Run, rows: Ints, cases: Ints) -> Iterator[CaseBatch]:
    """The cases in groups with answers of about BATCH hits in all."""
    lengths = run.starts[rows[cases] + 1] - run.starts[rows[cases]]
    groups = np.cumsum(lengths) // BATCH
    for group in np.split(cases, np.flatnonzero(np.diff(groups)) + 1):
        if len(group):
            yield CaseBatch.of(run, rows, group)


def by_lookup(suite: Suite, targets: list[str], batch: CaseBatch, names: BatchNames) -> tuple[Ints, Ints]:
    """Hits of a batch and the judgments that they meet, through one dictionary per case."""
    starts = suite.judgments.starts.tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for case, hits in names.answers(batch):
            first, last = starts[case], starts[case + 1]
            wanted = dict(zip(targets[first:last], range(first, last), strict=True))
            yield map(wanted.get, hits, repeat(NO_JUDGMENT))

    return _judged(judgments(), batch)


def by_id_or_path(suite: Suite, targets: list[str], batch: CaseBatch, ids: BatchNames, paths: BatchNames) -> tuple[Ints, Ints]:
    """The same where a case has both: the id of a hit is held against the ids first, then its path against either."""
    starts, by_path = suite.judgments.starts.tolist(), judged_by_path(suite).tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for (case, hits), (_, hit_paths) in zip(ids.answers(batch), paths.answers(batch), strict=True):
            rows = range(starts[case], starts[case + 1])
            wanted_ids = {targets[row]: row for row in rows if not by_path[row]}
            wanted = wanted_ids | {targets[row]: row for row in rows if by_path[row]}
            yield map(wanted_ids.get, hits, map(wanted.get, hit_paths, repeat(NO_JUDGMENT)))

    return _judged(judgments(), batch)


def _judged(judgments: Iterator[Iterator[int]], batch: CaseBatch) -> tuple[Ints, Ints]:
    judgment = np.fromiter(chain.from_iterable(judgments), np.int64, len(batch))
    hit = np.flatnonzero(judgment != NO_JUDGMENT)
    return hit, judgment[hit]


def text_column(texts: Texts) -> pl.Series | None:
    """Texts as an Arrow column; None where they cannot be one."""
    import polars as pl

    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return None


def by_join(suite: Suite, column: pl.Series, batch: CaseBatch, ids: pl.Series) -> tuple[Ints, Ints]:
    """The same through a join of Arrow columns, by a key for case and id; equal keys are then held to the texts."""
    import polars as pl

    judgments = suite.judgments
    first, last = int(judgments.starts[batch.cases[0]]), int(judgments.starts[batch.cases[-1] + 1])
    targets = column[first:last]
    wanted = pl.DataFrame({"key": pair_keys(judgments.case[first:last], targets)}).with_row_index("judgment")
    found = pl.DataFrame({"key": pair_keys(np.repeat(batch.cases, np.diff(batch.starts)), ids)}).with_row_index("hit")
    pairs = wanted.join(found, on="key")
    hit, judgment = pairs["hit"].to_numpy().astype(np.int64), pairs["judgment"].to_numpy().astype(np.int64)
    same = (ids[hit] == targets[judgment]).to_numpy() & (batch.cases[batch.answers_of(hit)] == judgments.case[first + judgment])
    return hit[same], first + judgment[same]
