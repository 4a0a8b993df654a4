"""How the scores of the first hits are distributed: where they drift or are compressed, something about the vectors changed."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from searchmark.records import OK, Run

DEPTHS = {"top_1": 1, "top_10": 10}


@dataclass(frozen=True)
class Spread:
    """The mean and the standard deviation over answers; None where one answer has no deviation."""

    mean: float
    std: float | None
    answers: int


def similarity_of(run: Run) -> dict[str, Spread]:
    """The score of the first hit, and the mean score of the first ten, over the answers that have scores."""
    spreads = ((name, _spread(_means(run, depth))) for name, depth in DEPTHS.items())
    return {name: spread for name, spread in spreads if spread is not None}


def _means(run: Run, depth: int) -> list[float]:
    """The mean score of the first hits of every answer, as far as all of them have one."""
    answered = np.flatnonzero(run.status == OK)
    rows, starts = run.first_rows(answered, depth)
    scores = run.scores[rows]
    sizes = np.diff(starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sums = np.add.reduceat(np.append(scores, 0.0), starts[:-1]) if len(answered) else np.zeros(0)
        means = sums / sizes
    known: list[float] = means[(sizes > 0) & np.isfinite(means)].tolist()
    return known


def _spread(values: list[float]) -> Spread | None:
    """Summed exactly, so that the order of the answers changes no digit."""
    try:
        mean = fsum(values) / len(values) if values else None
        squares = 0.0 if mean is None else fsum((value - mean) ** 2 for value in values)
    except OverflowError:  # scores that no vectors have
        return None
    return None if mean is None else Spread(mean, sqrt(squares / (len(values) - 1)) if len(values) > 1 else None, len(values))
