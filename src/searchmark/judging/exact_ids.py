"""Matching by exact id, many cases at once, in pieces that bound the memory it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from searchmark.measures.formulas import Ints
from searchmark.records import Run, Suite
from searchmark.records.id_columns import pair_keys

if TYPE_CHECKING:
    import polars as pl

# Hits that are matched at once: bounds the memory that it takes, whatever the size of the run.
CHUNK = 1 << 18
NO_JUDGMENT = -1


@dataclass(frozen=True, eq=False)
class Chunk:
    """The hits of some cases: their rows in the run, and the case of each."""

    cases: Ints
    row: Ints
    case: Ints
    lengths: Ints

    @classmethod
    def of(cls, run: Run, rows: Ints, cases: Ints) -> Chunk:
        starts = run.starts[rows[cases]]
        lengths = run.starts[rows[cases] + 1] - starts
        before = np.cumsum(lengths) - lengths
        row = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        return cls(cases, row, np.repeat(cases, lengths), lengths)

    def column(self, run: Run) -> pl.Series:
        """The ids of these hits as an Arrow column; no copy where they stand together in the run."""
        import polars as pl

        first, size = int(self.row[0]), len(self.row)
        together = bool((self.row[1:] - self.row[:-1] == 1).all())
        return pl.Series(run.ids[first : first + size] if together else run.ids[self.row], dtype=pl.String)

    def answers(self) -> Iterator[tuple[int, int, int]]:
        """Case, first row and end row of every answer."""
        first = self.row[np.cumsum(self.lengths) - self.lengths]
        return zip(self.cases.tolist(), first.tolist(), (first + self.lengths).tolist(), strict=True)


def chunks_of(cases: Ints, lengths: Ints) -> Iterator[Ints]:
    """Groups of cases with answers of about CHUNK hits in all."""
    total = np.cumsum(lengths[cases])
    groups = total // CHUNK
    yield from (group for group in np.split(cases, np.flatnonzero(np.diff(groups)) + 1) if len(group))


def cases_with_duplicates(run: Run, chunk: Chunk) -> Ints:
    if isinstance(run.ids, list):
        texts = run.ids
        return np.array([case for case, start, end in chunk.answers() if len(set(texts[start:end])) < end - start], np.int64)
    import polars as pl

    ids = chunk.column(run)
    if pair_keys(chunk.case, ids).n_unique() == len(ids):
        return np.zeros(0, np.int64)
    frame = pl.DataFrame({"case": chunk.case, "id": ids})
    return frame.filter(frame.is_duplicated())["case"].unique().to_numpy()


def by_lookup(suite: Suite, run: Run, chunk: Chunk) -> tuple[Ints, Ints]:
    """Through one dictionary per case: fastest where ids are Python strings already."""
    targets, starts = suite.judgments.targets, suite.judgments.starts.tolist()

    def judgments() -> Iterator[Iterator[int]]:
        for case, start, end in chunk.answers():
            first, last = starts[case], starts[case + 1]
            wanted = dict(zip(targets[first:last], range(first, last), strict=True))
            yield map(wanted.get, run.ids[start:end], repeat(NO_JUDGMENT))

    judgment = np.fromiter(chain.from_iterable(judgments()), np.int64, len(chunk.row))
    hit = np.flatnonzero(judgment >= 0)
    return hit, judgment[hit]


def target_column(suite: Suite, run: Run) -> pl.Series | None:
    """All targets as an Arrow column, where the run's ids are one; None where they are not, or cannot be."""
    if isinstance(run.ids, list):
        return None
    import polars as pl

    try:
        return pl.Series(suite.judgments.targets, dtype=pl.String)
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return None


def by_join(suite: Suite, run: Run, chunk: Chunk, column: pl.Series) -> tuple[Ints, Ints]:
    """Through a join of Arrow columns: fastest where no id is a Python string yet."""
    import polars as pl

    judgments = suite.judgments
    first, last = int(judgments.starts[chunk.cases[0]]), int(judgments.starts[chunk.cases[-1] + 1])
    targets = column[first:last]
    ids = chunk.column(run)
    wanted = pl.DataFrame({"key": pair_keys(judgments.case[first:last], targets)}).with_row_index("judgment")
    found = pl.DataFrame({"key": pair_keys(chunk.case, ids)}).with_row_index("hit")
    pairs = wanted.join(found, on="key")
    hit, judgment = pairs["hit"].to_numpy().astype(np.int64), pairs["judgment"].to_numpy().astype(np.int64)
    same = (ids[hit] == targets[judgment]).to_numpy() & (chunk.case[hit] == judgments.case[first + judgment])
    return hit[same], first + judgment[same]
