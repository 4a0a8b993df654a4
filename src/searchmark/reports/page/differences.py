"""In which cases runs differ, and by how much: told from whole values, since rounded ones differ by something else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.intervals import SAME
from searchmark.measures.formulas import Floats
from searchmark.reports.case_records import CaseSummary

_PAIR = 2
_DIGITS = 4


class Differences:
    """The values of all runs, by run, measure and case; NaN where there is none."""

    def __init__(self, runs: int, measures: list[str], cases: int) -> None:
        self._measures = measures
        self._values = np.full((runs, len(measures), cases), np.nan)

    def add(self, run: int, row: int, case: CaseSummary) -> None:
        found = (case.measures.get(name) for name in self._measures)
        self._values[run, :, row] = [np.nan if value is None else value for value in found]

    def plain(self) -> dict[str, Any]:
        """For every measure the cases in which any two runs differ, and how much the second run of a pair has more."""
        return {
            "different": [np.flatnonzero(marked).tolist() for marked in self._different()],
            "differences": list(map(_rounded, self._second_less_first())) if len(self._values) == _PAIR else [],
        }

    def _different(self) -> NDArray[np.bool_]:
        # A run without a value differs from none.
        known = np.isfinite(self._values)
        highest = np.where(known, self._values, -np.inf).max(axis=0, initial=-np.inf)
        lowest = np.where(known, self._values, np.inf).min(axis=0, initial=np.inf)
        return np.asarray(highest - lowest > SAME)

    def _second_less_first(self) -> Floats:
        first, second = np.where(np.isfinite(self._values), self._values, np.nan)
        return np.where(np.abs(second - first) <= SAME, 0.0, second - first)


def _rounded(differences: Floats) -> list[float | None]:
    return [float(f"{each:.{_DIGITS}f}") if np.isfinite(each) else None for each in differences.tolist()]
