"""Formulas for line judgments: what somebody finds who reads an answer from its top until a budget is used up.

A hit on a whole file is read from its first line to its last, one with a range of lines from the first to the last of
these. A line that was read already costs nothing and finds nothing. A line that does not fit into what is left of the
budget ends the reading, so that the hit at which the budget ends is read up to there, in whole lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from searchmark.measures.formulas import Floats, GradedHits, Ints, ratio


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


def line_recall(hits: GradedHits, *, rel: int = 1, tokens: int = 0, lines: int = 0) -> Floats:
    """Relevant lines among those that are read, over all relevant lines. Not known what was read: NaN."""
    if hits.lines is None:
        return np.full(hits.cases, np.nan)
    found, _ = _read(hits.lines, hits.cases, rel, tokens, lines)
    wanted = hits.lines.place_grade >= rel
    below = np.bincount(hits.lines.place_case[wanted], hits.lines.place_lines[wanted], minlength=hits.cases)
    return ratio(found, below.astype(float))


def line_efficiency(hits: GradedHits, *, rel: int = 1, tokens: int = 0, lines: int = 0) -> Floats:
    """Relevant lines among those that are read, over these. Nothing read: 0; not known what was read: NaN."""
    if hits.lines is None:
        return np.full(hits.cases, np.nan)
    return ratio(*_read(hits.lines, hits.cases, rel, tokens, lines))


def _read(read: ReadLines, cases: int, rel: int, tokens: int, lines: int) -> tuple[Floats, Floats]:
    """How many relevant lines are read in every case, and how many lines at all."""
    rows = read.within(tokens, lines)
    case, relevant = read.case[rows], read.grade[rows] >= rel
    return np.bincount(case[relevant], minlength=cases).astype(float), np.bincount(case, minlength=cases).astype(float)
