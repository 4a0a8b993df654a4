"""How much two runs differ case by case: of one agent, which is noise, or of two agents, which is how builds may differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np

from searchmark.analysis.intervals import Observations, observations
from searchmark.analysis.paired_evidence import measure_span
from searchmark.analysis.scores import Scores, clusters_of
from searchmark.audit.subject import Subject
from searchmark.comparability import proven_repeat
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.quantities import MeanOf
from searchmark.gates.segments import Rows
from searchmark.measures.formulas import Floats

TWO = 2


@dataclass(frozen=True, eq=False)
class PairedNoise:
    """Two runs in one mean. By origin: how much they ``differ``, and, in another order, what the first one ``has``; in shares of
    the ``span``.

    ``repeat``: they are of one agent that was asked the same. It has no true difference, so that all that differs is noise.
    """

    runs: tuple[str, str]
    means: tuple[float, float]
    differ: Observations
    has: Observations
    span: float
    repeat: bool

    @property
    def error(self) -> float:
        """The standard error of the difference, which is truly 0."""
        return sqrt(float((self.differ.sums**2).sum())) / float(self.differ.sizes.sum()) * self.span

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean of one run."""
        return self.error / sqrt(2)


def paired_noise(subject: Subject, quantity: MeanOf | AtOwnK, rows: Rows) -> PairedNoise | None:
    """Of two runs of one agent, or else of the first two; None if there are none, or if they have no values.

    Two agents that are alike do not show how builds differ: None. One agent that answers the same twice has no noise.
    """
    pair = _repeated(subject)
    chosen = pair or tuple(subject.scores)[:TWO]
    if len(chosen) < TWO:
        return None
    one, other = (_values(subject.scores[name], quantity, rows) for name in chosen)
    defined = ~np.isnan(one) & ~np.isnan(other)
    if defined.sum() < TWO or (pair is None and (one == other)[defined].all()):
        return None
    one, other = one[defined], other[defined]
    low, span = _range(quantity, one, other)
    clusters = clusters_of(subject.scores[chosen[0]].judged.suite, rows[defined])
    differ, has = (observations(column[:, None] / span, clusters) for column in (one - other, one - low))
    means = float(one.mean()), float(other.mean())
    return PairedNoise((chosen[0], chosen[1]), means, differ, has, span, pair is not None)


def _range(quantity: MeanOf | AtOwnK, *values: Floats) -> tuple[float, float]:
    """The lowest value, and how far apart two can be."""
    span = 1.0 if isinstance(quantity, AtOwnK) else measure_span(quantity.measure, *values)
    return quantity.low if np.isfinite(quantity.low) else float(min(each.min() for each in values)), span


def _repeated(subject: Subject) -> tuple[str, str] | None:
    """The first two runs of one agent that are proven to have been asked the same."""
    runs = {name: scores.judged.run for name, scores in subject.scores.items()}
    return next((pair for pair in combinations(runs, 2) if proven_repeat(runs[pair[0]], runs[pair[1]])), None)


def _values(scores: Scores, quantity: MeanOf | AtOwnK, rows: Rows) -> Floats:
    if isinstance(quantity, AtOwnK):
        return np.array([np.nan if (value := quantity.value_of(scores, row)) is None else value for row in rows.tolist()])
    name = scores.known_as(quantity.measure)
    return np.full(len(rows), np.nan) if name is None else scores.values[rows, scores.names.index(name)]
