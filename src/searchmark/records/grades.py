"""Grades as a column of whole numbers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError


def grade_column(grades: list[int], cases: Sequence[str], starts: NDArray[np.int64], targets: Sequence[str]) -> NDArray[np.int64]:
    """Grades as whole numbers; one that is none is refused, since cutting it would change what it is worth in silence."""
    try:
        return np.array(array("q", grades), np.int64)  # an array of whole numbers takes nothing else
    except TypeError:  # perhaps 2.0, which is 2
        whole = [_is_whole(grade) for grade in grades]
    if False in whole:
        row = whole.index(False)
        case = cases[int(np.searchsorted(starts, row, side="right")) - 1]
        raise UsageError(f"case {case!r}: the grade {grades[row]!r} of {targets[row]!r} is not a whole number; scale the grades")
    return np.array(grades, np.float64).astype(np.int64)


def _is_whole(grade: Any) -> bool:
    return not isinstance(grade, str) and hasattr(grade, "__float__") and float(grade).is_integer()
