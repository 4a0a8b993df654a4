"""Formulas for line judgments: what somebody finds who reads an answer from its top until a budget is used up.

A hit on a whole file is read from its first line to its last, one with a range of lines from the first to the last of
these. A line that was read already costs nothing and finds nothing. A line that does not fit into what is left of the
budget ends the reading, so that the hit at which the budget ends is read up to there, in whole lines.
"""

from __future__ import annotations

import numpy as np

from searchmark.measures.formulas import Floats, GradedHits, ratio
from searchmark.measures.read_lines import ReadLines


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
