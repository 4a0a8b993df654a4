"""How many more independent cases a gate needs to see a loss of a wanted size with 80 % power."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np

from searchmark.analysis.foresight import MOST_ORIGINS, GateQuestion, LosableColumn, detectable_loss, ties_for_margin
from searchmark.analysis.intervals import Observations


def more_cases_to_see(column: LosableColumn, question: GateQuestion, wanted: float) -> int | None:
    """So many more independent cases, like these; None if no number that is tried would do.

    A gate that is non-inferior is asked with the wanted loss as its margin.
    """
    here = len(column.values)
    if not here or not isfinite(column.span) or wanted <= 0:
        return None
    if question.policy == "non-inferior":
        return max(0, ties_for_margin(wanted, column.span) - here)
    if wanted <= question.min_effect:
        return None  # a true loss as large as what counts is missed half of the time, however many cases there are

    def sees(origins: int) -> bool:
        found = detectable_loss(_alike(column, origins), question)
        return found is not None and found <= wanted

    return _fewest(sees, here)


def _fewest(sees: Callable[[int], bool], here: int) -> int | None:
    """How many more than there are."""
    low, high = here - 1, here
    while not sees(high):
        if high >= MOST_ORIGINS:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high - here


def _alike(column: LosableColumn, origins: int) -> LosableColumn:
    """The same with more origins, or fewer, that are like those that there are."""
    values, losable = (
        Observations(np.resize(each.sums, (origins, 1)), np.resize(each.sizes, origins)) for each in (column.values, column.losable)
    )
    return LosableColumn(values, losable, column.span, column.known)
