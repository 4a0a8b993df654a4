"""How much two runs differ case by case: of one agent, which is noise, or of two agents, which is how builds may differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from searchmark.analysis.intervals import observations
from searchmark.analysis.paired_statistics import standard_errors
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.audit.subject import Subject
from searchmark.comparability import proven_repeat
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.segments import Rows
from searchmark.measures.formulas import Floats

FEWEST = 2  # independent cases that have a spread


@dataclass(frozen=True)
class PairedNoise:
    """Two runs in one mean: their names and means, the standard error of the difference, and how many independent cases there are.

    ``repeat``: they are of one agent that was asked the same. It has no true difference, so that all that differs is noise.
    """

    runs: tuple[str, str]
    means: tuple[float, float]
    error: float
    independent: int
    repeat: bool

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean of one run."""
        return self.error / sqrt(2)


def paired_noise(subject: Subject, quantity: MeanOf | AtOwnK, rows: Rows) -> PairedNoise | None:
    """Of two runs of one agent, or else of the first two; None if there are none, if they have no values, or if they are alike."""
    pair = _repeated(subject)
    chosen = pair or tuple(subject.scores)[:2]
    if len(chosen) < FEWEST:
        return None
    one, other = (_values(subject.scores[name], quantity, rows) for name in chosen)
    defined = ~np.isnan(one) & ~np.isnan(other)
    found = observations((one - other)[defined][:, None], clusters_of(subject.scores[chosen[0]].judged.suite, rows[defined]))
    if len(found) < FEWEST:
        return None
    error = sqrt(float((found.sums**2).sum())) / float(found.sizes.sum()) if pair else float(standard_errors(found)[0])
    means = float(one[defined].mean()), float(other[defined].mean())
    return PairedNoise((chosen[0], chosen[1]), means, error, len(found), pair is not None) if error else None


def _repeated(subject: Subject) -> tuple[str, str] | None:
    """The first two runs of one agent that are proven to have been asked the same."""
    runs = {name: scores.judged.run for name, scores in subject.scores.items()}
    return next((pair for pair in combinations(runs, 2) if proven_repeat(runs[pair[0]], runs[pair[1]])), None)


def _values(scores: Scores, quantity: MeanOf | AtOwnK, rows: Rows) -> Floats:
    if isinstance(quantity, AtOwnK):
        return np.array([np.nan if (value := quantity.value_of(scores, row)) is None else value for row in rows.tolist()])
    name = scores.known_as(quantity.measure)
    return np.full(len(rows), np.nan) if name is None else scores.values[rows, scores.names.index(name)]
