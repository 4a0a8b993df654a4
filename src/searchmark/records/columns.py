"""Where the rows of each case start in a column that holds those of all cases, one after the other; lines as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

NO_LINE = 0  # lines are counted from 1


def starts_of(lengths: Iterable[int], count: int) -> NDArray[np.int64]:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=starts[1:])
    return starts


def rows_from(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of many stretches, one after the other, and where those of each begin among them."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1]), starts


def rows_or_none(starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A table in which every case has one row at least: whose each row is, its number among them, and its row; -1 for none."""
    lengths = np.diff(starts)
    shown = np.maximum(lengths, 1)
    rows, begins = rows_from(starts[:-1], shown)
    owner = np.repeat(np.arange(len(shown)), shown)
    rows[begins[:-1][lengths == 0]] = -1
    return owner, np.arange(len(rows)) - begins[owner], rows


def line_columns(lines: Sequence[tuple[int, int] | None]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """The first and the last lines of many hits; None and None if every hit is on a whole document."""
    if not any(lines):
        return None, None
    pairs = np.array([each or (NO_LINE, NO_LINE) for each in lines], np.int32)
    return pairs[:, 0], pairs[:, 1]
