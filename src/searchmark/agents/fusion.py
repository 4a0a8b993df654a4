"""One ranking from several. Pure functions: lists of ids and scores in, a score per id out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

Ranking = Mapping[str, float]  # ids, best first, each with its score

SMALLEST = 1e-9  # what a spread is at least taken for, so that equal scores do not divide by zero


def reciprocal_ranks(ids: Iterable[str], k: float = 60.0) -> dict[str, float]:
    """1 / (k + rank) for each id, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009); nothing for nothing."""
    return {name: 1 / (k + rank) for rank, name in enumerate(ids, 1)}


def min_max(scores: Ranking) -> dict[str, float]:
    """The lowest score becomes 0 and the highest 1; if all are the same, all become 0."""
    if not scores:
        return {}
    low = min(scores.values())
    spread = max(max(scores.values()) - low, SMALLEST)
    return {name: (score - low) / spread for name, score in scores.items()}


def z_score(scores: Ranking) -> dict[str, float]:
    """The mean becomes 0 and the standard deviation (of all, not of a sample) 1; if all are the same, all become 0."""
    if not scores:
        return {}
    mean = fsum(scores.values()) / len(scores)
    deviation = (fsum((score - mean) ** 2 for score in scores.values()) / len(scores)) ** 0.5
    return {name: (score - mean) / max(deviation, SMALLEST) for name, score in scores.items()}


NORMALIZATIONS: dict[str, Callable[[Ranking], dict[str, float]]] = {"min-max": min_max, "z-score": z_score}


def weighted_sum(rankings: Sequence[Ranking], weights: Sequence[float]) -> dict[str, float]:
    """Per id, the sum over all rankings of weight times score; an id that a ranking does not have gets 0 from it."""
    names = dict.fromkeys(name for ranking in rankings for name in ranking)
    return {name: sum(weight * ranking.get(name, 0.0) for ranking, weight in zip(rankings, weights, strict=True)) for name in names}
