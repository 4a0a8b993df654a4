"""Runs whose answers are cut to their first hits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from searchmark.records import Run
from searchmark.records.columns import starts_of

CUT_OFF = "below_same_depth"


def cut_to(run: Run, depth: int) -> Run:
    """The run with at most so many hits in each answer; what is cut off is counted."""
    if run.longest <= depth:
        return run
    kept = _ranks(run) <= depth
    rows = np.flatnonzero(kept)
    return replace(
        run,
        starts=starts_of(np.minimum(np.diff(run.starts), depth).tolist(), len(run)),
        ids=[run.ids[row] for row in rows.tolist()] if isinstance(run.ids, list) else run.ids[rows],
        scores=run.scores[kept],
        rank=None if run.rank is None else run.rank[kept],
        valid=None if run.valid is None else run.valid[kept],
        first_line=None if run.first_line is None else run.first_line[kept],
        last_line=None if run.last_line is None else run.last_line[kept],
        dropped={**run.dropped, CUT_OFF: int((~kept).sum())},
    )


def _ranks(run: Run) -> NDArray[np.int64] | NDArray[np.int32]:
    if run.rank is not None:
        return run.rank
    return np.arange(len(run.scores)) - np.repeat(run.starts[:-1], np.diff(run.starts)) + 1
