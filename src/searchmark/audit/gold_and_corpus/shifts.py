"""Where rows fit their neighbours better than themselves: in all rows, or in a part of them from some row on.

One row too many in a table shifts all that comes after it, and none before. Parts are one to three quarters of the cases that
follow each other, so that a shift that is found begins in about the first three quarters or ends in the last three. With 4
shifts there are 40 windows; if own pairs were no better than those of neighbours, 4.5 standard errors in any of them would
come by chance about once in 1,000 suites. Own pairs of an honest suite are better, which makes it far rarer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from searchmark.measures.formulas import Floats

SHIFTS = (1, -1, 2, -2)
SURELY, SURELY_IN_PART = 4.0, 4.5  # standard errors by which neighbours must fit better: by chance once in 30,000, and see above
FEWEST_ROWS = 20
PARTS = 4


@dataclass(frozen=True)
class Shift:
    """Rows from ``first`` to before ``end`` fit what comes ``step`` rows later; ``whole``: all of them do."""

    step: int
    first: int
    end: int
    gain: float
    whole: bool


def best_shift(count: int, fit: Callable[[int], Floats]) -> Shift | None:
    """The shift that fits beyond doubt, if there is one; ``fit`` is that of every row by shift, NaN beyond the ends."""
    gains = {step: fit(step) - fit(0) for step in SHIFTS}
    found = [
        Shift(step, *rows, _gain(gain[slice(*rows)]), rows == (0, count))
        for step, gain in gains.items()
        for rows in _windows(count)
    ]
    sure = [each for each in found if each.gain >= (SURELY if each.whole else SURELY_IN_PART)]
    everywhere = [each for each in sure if each.whole and _in_all_parts(gains[each.step])]
    return max(everywhere or sure, key=lambda each: each.gain, default=None)


def _in_all_parts(gain: Floats) -> bool:
    return all(float(np.nansum(part)) > 0 for part in np.array_split(gain, PARTS))


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """All rows, and parts of them that are large enough."""
    cuts = [count * part // PARTS for part in range(PARTS + 1)]
    for first in range(PARTS):
        for end in range(first + 1, PARTS + 1):
            if cuts[end] - cuts[first] >= FEWEST_ROWS or (first, end) == (0, PARTS):
                yield cuts[first], cuts[end]


def _gain(differences: Floats) -> float:
    """Their mean in standard errors."""
    known = differences[~np.isnan(differences)]
    error = float(known.std(ddof=1)) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    return float(known.mean()) / error if error > 0 else 0.0
