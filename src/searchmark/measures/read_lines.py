"""The lines that readers of answers see, in columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadLines:
    """Every line that is read, in that order, and what there was to find.

    The lines of case ``i`` are the rows ``starts[i]`` to ``starts[i + 1]`` of ``tokens``, what each costs, and ``grade``, 0 for
    one that is not judged. ``place_*`` describe the places to find: ranges of lines that do not overlap, each with its case,
    its grade, and how many lines it has.
    """

    starts: Ints
    tokens: Ints
    grade: Ints
    place_case: Ints
    place_lines: Ints
    place_grade: Ints

    @property
    def case(self) -> Ints:
        """The case of every line that is read."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def within(self, tokens: int, lines: int) -> Ints:
        """The rows of lines that are read under a budget, of tokens unless that is 0, else of lines."""
        costs = self.tokens if tokens else np.ones(len(self.tokens), np.int64)
        spent = np.concatenate([[0], np.cumsum(costs)])
        return np.flatnonzero(spent[1:] - spent[self.starts[self.case]] <= (tokens or lines))
