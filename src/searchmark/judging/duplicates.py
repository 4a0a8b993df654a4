"""Hits that name something again: found in all answers of a batch, dropped, and those behind them moved up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from searchmark.judging.exact_ids import BatchNames, CaseBatch
from searchmark.measures.formulas import Ints
from searchmark.records import Run

if TYPE_CHECKING:
    import polars as pl


def distinct_ranks(run: Run, batch: CaseBatch, names: BatchNames | pl.Series) -> Ints | None:
    """The rank of every hit among the distinct hits of its answer, 0 for one that repeats a name; None if none does."""
    texts, begins = (names.texts, names.begins) if isinstance(names, BatchNames) else (names, batch.starts)
    repetitive = _repetitive_lists(batch, names) if isinstance(names, BatchNames) else _repetitive_columns(batch, names)
    if not repetitive:
        return None
    ranks = batch.ranks_of(run, np.arange(len(batch)))
    for number in repetitive:
        start, end = batch.starts[number : number + 2].tolist()
        best_first = np.argsort(ranks[start:end])
        ordered = [texts[place] for place in (begins[number] + best_first).tolist()]
        # Written from behind, a dictionary keeps the first place of every name.
        firsts = sorted(dict(zip(reversed(ordered), range(end - start - 1, -1, -1), strict=True)).values())
        ranks[start:end] = 0
        ranks[start + best_first[firsts]] = np.arange(1, len(firsts) + 1)
    return ranks


def _repetitive_lists(batch: CaseBatch, names: BatchNames) -> list[int]:
    """The answers, by number, that name something twice."""
    return [number for number, (_, hits) in enumerate(names.answers(batch)) if len(set(hits)) < len(hits)]


def _repetitive_columns(batch: CaseBatch, ids: pl.Series) -> list[int]:
    """The same of an Arrow column, by hashes: answers of one length are sorted together, each by itself."""
    hashes, lengths = ids.hash().to_numpy(), np.diff(batch.starts)
    found: list[int] = []
    for length in np.unique(lengths).tolist():
        numbers = np.flatnonzero(lengths == length)
        ordered = np.sort(hashes[batch.starts[numbers][:, None] + np.arange(length)], axis=1)
        doubtful = numbers[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]  # two ids may have one hash, if hardly ever
        found += [n for n in doubtful.tolist() if ids[batch.starts[n] : batch.starts[n + 1]].n_unique() < length]
    return found
