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
from searchmark.records.id_columns import Texts, pair_keys

if TYPE_CHECKING:
    import polars as pl

# Hits that are matched at once: bounds the memory that it takes, whatever the size of the run.
BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class CaseBatch:
    """The answers to some cases: those to ``cases[i]`` are the hits ``starts[i]:starts[i + 1]`` of the batch.

    ``row`` is the row of each hit in the run, ``case`` its case.
    """

    cases: Ints
    starts: Ints
    row: Ints
    case: Ints

    @classmethod
    def of(cls, run: Run, rows: Ints, cases: Ints) -> CaseBatch:
        first = run.starts[rows[cases]]
        lengths = run.starts[rows[cases] + 1] - first
        starts = np.r_[0, np.cumsum(lengths)]
        row = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        return cls(cases, starts, row, np.repeat(cases, lengths))

    def answers(self) -> Iterator[tuple[int, int, int]]:
        """Case, first hit and end of every answer."""
        starts = self.starts.tolist()
        return zip(self.cases.tolist(), starts[:-1], starts[1:], strict=True)

    def ids(self, run: Run) -> Texts:
        """The ids of these hits; no copy of an Arrow column where they are neighbours in the run."""
        first, size = int(self.row[0]), len(self.row)
        if bool((self.row[1:] - self.row[:-1] == 1).all()):
            return run.ids[first : first + size]
        return list(map(run.ids.__getitem__, self.row.tolist())) if isinstance(run.ids, list) else run.ids[self.row]

    def ranks(self, run: Run) -> Ints:
        if run.rank is None:
            return np.arange(len(self.row)) - np.repeat(self.starts[:-1], np.diff(self.starts)) + 1
        return run.rank[self.row].astype(np.int64)


def batches(run: Run, rows: Ints, cases: Ints) -> Iterator[CaseBatch]:
    """The cases in groups with answers of about BATCH hits in all."""
    lengths = run.starts[rows[cases] + 1] - run.starts[rows[cases]]
    groups = np.cumsum(lengths) // BATCH
    for group in np.split(cases, np.flatnonzero(np.diff(groups)) + 1):
        if len(group):
            yield CaseBatch.of(run, rows, group)


def repetitive_answers(batch: CaseBatch, names: Texts) -> list[int]:
    """The answers of a batch, by number, that name something twice."""
    if isinstance(names, list):
        return [number for number, (_, start, end) in enumerate(batch.answers()) if len(set(names[start:end])) < end - start]
    keys = names.hash().to_numpy()
    found: list[int] = []
    lengths = np.diff(batch.starts)
    for length in np.unique(lengths).tolist():  # answers of one length are sorted together, each by itself
        numbers = np.flatnonzero(lengths == length)
        ordered = np.sort(keys[batch.starts[numbers][:, None] + np.arange(length)], axis=1)
        doubtful = numbers[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]  # two ids may have one key, if hardly ever
        found += [n for n in doubtful.tolist() if names[batch.starts[n] : batch.starts[n + 1]].n_unique() < length]
    return found


def distinct_ranks(run: Run, batch: CaseBatch, names: Texts, repetitive: list[int]) -> Ints:
    """The rank of every hit among the distinct hits of its answer, 0 for one that repeats a name."""
    ranks = batch.ranks(run)
    for number in repetitive:
        start, end = batch.starts[number : number + 2].tolist()
        best_first = start + np.argsort(ranks[start:end])
        ordered = [names[place] for place in best_first.tolist()]
        # Written from behind, a dictionary keeps the first position of every name.
        firsts = sorted(dict(zip(reversed(ordered), range(end - start - 1, -1, -1), strict=True)).values())
        ranks[start:end] = 0
        ranks[best_first[firsts]] = np.arange(1, len(firsts) + 1)
    return ranks


def by_lookup(suite: Suite, targets: list[str], batch: CaseBatch, names: list[str]) -> tuple[Ints, Ints]:
    """Hits of a batch and the judgments that they meet, through one dictionary per case."""
    starts = suite.judgments.starts.tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for case, start, end in batch.answers():
            first, last = starts[case], starts[case + 1]
            wanted = dict(zip(targets[first:last], range(first, last), strict=True))
            yield map(wanted.get, names[start:end], repeat(NO_JUDGMENT))

    return _found(judgments(), len(names))


def by_id_or_path(suite: Suite, targets: list[str], batch: CaseBatch, ids: list[str], paths: list[str]) -> tuple[Ints, Ints]:
    """The same where a case has both: the id of a hit is held against the ids first, then its path against either."""
    starts, by_path = suite.judgments.starts.tolist(), judged_by_path(suite).tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for case, start, end in batch.answers():
            first, last = starts[case], starts[case + 1]
            wanted_ids = {targets[row]: row for row in range(first, last) if not by_path[row]}
            wanted = wanted_ids | {targets[row]: row for row in range(first, last) if by_path[row]}
            yield map(wanted_ids.get, ids[start:end], map(wanted.get, paths[start:end], repeat(NO_JUDGMENT)))

    return _found(judgments(), len(ids))


def _found(judgments: Iterator[Iterator[int]], size: int) -> tuple[Ints, Ints]:
    judgment = np.fromiter(chain.from_iterable(judgments), np.int64, size)
    hit = np.flatnonzero(judgment >= 0)
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
    found = pl.DataFrame({"key": pair_keys(batch.case, ids)}).with_row_index("hit")
    pairs = wanted.join(found, on="key")
    hit, judgment = pairs["hit"].to_numpy().astype(np.int64), pairs["judgment"].to_numpy().astype(np.int64)
    same = (ids[hit] == targets[judgment]).to_numpy() & (batch.case[hit] == judgments.case[first + judgment])
    return hit[same], first + judgment[same]
