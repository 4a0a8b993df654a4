"""The answers of several runs one after the other, column by column: there may be millions of hits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.records import NO_LINE, NOTHING_KNOWN, Run
from searchmark.records.columns import starts_of
from searchmark.records.id_columns import Texts, ranks_in_order, text_list


def stacked(runs: Sequence[Run]) -> Run:
    """All answers as one run with the label of the first; what is left out is counted over all, by reason."""
    lengths = np.concatenate([np.diff(run.starts) for run in runs])
    return Run(
        label=runs[0].label,
        case_ids=tuple(chain.from_iterable(run.case_ids for run in runs)),
        starts=starts_of(lengths.tolist(), len(lengths)),
        ids=_ids(runs),
        scores=np.concatenate([run.scores for run in runs]),
        status=np.concatenate([run.status for run in runs]),
        rank=_ranks(runs),
        valid=_valid(runs),
        first_line=_lines(runs, [run.first_line for run in runs]),
        last_line=_lines(runs, [run.last_line for run in runs]),
        unique=all(run.unique for run in runs),
        dropped={key: sum(run.dropped.get(key, 0) for run in runs) for key in sorted({key for run in runs for key in run.dropped})},
        details=_per_answer(runs, [run.details for run in runs], NOTHING_KNOWN),
        queries=_per_answer(runs, [run.queries for run in runs], None),
    )


def _ids(runs: Sequence[Run]) -> Texts:
    """An Arrow column if all of them are, and else a list."""
    columns = [run.ids for run in runs]
    if any(isinstance(column, list) for column in columns):
        return list(chain.from_iterable(map(text_list, columns)))
    import polars as pl

    return pl.concat([column for column in columns if not isinstance(column, list)])


def _ranks(runs: Sequence[Run]) -> NDArray[np.int32] | None:
    columns = [run.rank for run in runs]
    if all(column is None for column in columns):
        return None
    return np.concatenate([ranks_in_order(run.starts) if rank is None else rank for run, rank in zip(runs, columns, strict=True)])


def _valid(runs: Sequence[Run]) -> NDArray[np.bool_] | None:
    """Which hits exist; as in a single run, None if that is not known of all of them."""
    known = [run.valid for run in runs if run.valid is not None]
    return np.concatenate(known) if len(known) == len(runs) else None


def _lines(runs: Sequence[Run], columns: Sequence[NDArray[np.int32] | None]) -> NDArray[np.int32] | None:
    if all(column is None for column in columns):
        return None
    whole = [np.full(len(run.scores), NO_LINE, np.int32) for run in runs]
    return np.concatenate([none if column is None else column for none, column in zip(whole, columns, strict=True)])


def _per_answer(runs: Sequence[Run], columns: Sequence[Sequence[Any] | None], unknown: Any) -> tuple[Any, ...] | None:
    """A column with one value per answer; None where no run has it."""
    if all(column is None for column in columns):
        return None
    return tuple(
        chain.from_iterable((unknown,) * len(run) if column is None else column for run, column in zip(runs, columns, strict=True))
    )
