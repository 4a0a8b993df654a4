"""What a measure can be on a suite, case by case: the attainable, and what a random order gets on average."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.attainable import attainable
from searchmark.analysis.chance import by_chance
from searchmark.analysis.pools import Pool
from searchmark.measures.formulas import Floats
from searchmark.measures.grammar import AnyMeasure


@dataclass(frozen=True, eq=False)
class MeasureLimits:
    """Per case: the highest value of a measure and the expectation of a random order, None where they are not known."""

    measure: AnyMeasure
    attainable: Floats | None
    random: Floats | None

    @property
    def tells_of_rankings(self) -> bool:
        return self.measure.decides and not any(part.definition.unanswerable for part in self.measure.parts)


def measure_limits(measures: Iterable[AnyMeasure], pool: Pool) -> tuple[MeasureLimits, ...]:
    return tuple(MeasureLimits(each, attainable(each, pool), by_chance(each, pool)) for each in measures)


def mean_of(values: Floats | None, rows: NDArray[np.intp] | None = None) -> float | None:
    """The mean over cases where a value is defined; None if there is none."""
    kept = np.zeros(0) if values is None else values if rows is None else values[rows]
    kept = kept[~np.isnan(kept)]
    return float(kept.mean()) if len(kept) else None
