"""How much an unchanged search differs from run to run: from two runs of one agent that were asked the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from searchmark.analysis.intervals import observations
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.audit.subject import Subject
from searchmark.comparability import proven_repeat
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.segments import Rows
from searchmark.measures.formulas import Floats


@dataclass(frozen=True)
class MeasuredNoise:
    """The standard error of the difference of two runs of one agent in a mean, the mean of each, and how many cases it rests on.

    An unchanged search has no true difference, so that the differences of its cases are noise as they are.
    """

    run: str
    first: float
    second: float
    difference_error: float
    independent: int

    @property
    def error(self) -> float:
        """The standard deviation of the mean of one run."""
        return self.difference_error / sqrt(2)


def repeated_runs(subject: Subject) -> tuple[str, str] | None:
    """The first two runs of one agent that were proven to be asked the same."""
    runs = {name: scores.judged.run for name, scores in subject.scores.items()}
    return next((pair for pair in combinations(runs, 2) if proven_repeat(runs[pair[0]], runs[pair[1]])), None)


def measured_noise(subject: Subject, quantity: MeanOf | AtOwnK, rows: Rows) -> MeasuredNoise | None:
    """The noise of a mean; None if no agent was run twice, or if it has no value."""
    pair = repeated_runs(subject)
    if pair is None:
        return None
    one, other = (_values(subject.scores[name], quantity, rows) for name in pair)
    defined = ~np.isnan(one) & ~np.isnan(other)
    if not defined.any():
        return None
    table = subject.scores[pair[0]].judged.suite.table
    found = observations((one - other)[defined][:, None], clusters_of(table, rows[defined]))
    error = sqrt(float((found.sums**2).sum())) / float(found.sizes.sum())
    return MeasuredNoise(pair[0], float(one[defined].mean()), float(other[defined].mean()), error, len(found))


def _values(scores: Scores, quantity: MeanOf | AtOwnK, rows: Rows) -> Floats:
    if isinstance(quantity, AtOwnK):
        return np.array([np.nan if (value := quantity.value_of(scores, row)) is None else value for row in rows.tolist()])
    name = scores.known_as(quantity.measure)
    return np.full(len(rows), np.nan) if name is None else scores.values[rows, scores.names.index(name)]
