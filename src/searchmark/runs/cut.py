"""Runs with less in them: answers cut to their first hits, or without the answers to some cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import Incomparable
from searchmark.judging.query_texts import with_cases_of
from searchmark.records import Run, Suite
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


def narrowed(runs: Iterable[Run], whole: Suite, kept: Suite) -> list[Run]:
    """The runs under the ids of the suite's cases, without their answers to those that were left out of it.

    What is in neither stays, to be counted.
    """
    left_out = set(whole.table.ids).difference(kept.table.ids)
    return [without_cases(_on(whole, run), left_out) for run in runs]


def _on(whole: Suite, run: Run) -> Run:
    try:
        return with_cases_of(whole, run)
    except Incomparable:  # it may have been made for the cases that are kept; if not, judging says so
        return run


def without_cases(run: Run, cases: Collection[str]) -> Run:
    """The run without its answers to these cases."""
    kept = [row for row, case in enumerate(run.case_ids) if case not in cases]
    if len(kept) == len(run):
        return run
    return run.with_cases(tuple(run.case_ids[row] for row in kept), np.array(kept, np.int64))


def _ranks(run: Run) -> NDArray[np.int64] | NDArray[np.int32]:
    if run.rank is not None:
        return run.rank
    return np.arange(len(run.scores)) - np.repeat(run.starts[:-1], np.diff(run.starts)) + 1
