"""Where the rows of each case start in a column that holds those of all cases, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def starts_of(lengths: Iterable[int], count: int) -> NDArray[np.int64]:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=starts[1:])
    return starts


def rows_from(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of many stretches, one after the other, and where those of each begin among them."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1]), starts
