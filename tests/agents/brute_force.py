"""What an exact index is held to: every vector scored in float64, one by one, and sorted."""

from __future__ import annotations

import numpy as np

from searchmark.agents.vectors.exact import ExactIndex, ExactSettings
from searchmark.agents.vectors.index import Distance, Neighbours

DISTANCES: tuple[Distance, ...] = ("cosine", "ip", "l2")
Found = tuple[list[int], list[float]]


def float64_score(row: np.ndarray, query: np.ndarray, distance: Distance) -> float:
    wide, asked = row.astype(np.float64), query.astype(np.float64)
    if distance == "l2":
        return -float(np.sqrt(((wide - asked) ** 2).sum()))
    product = float((wide * asked).sum())
    length = float(np.sqrt((wide**2).sum() * (asked**2).sum()))
    return product / length if distance == "cosine" and length else product


def brute_force(rows: np.ndarray, query: np.ndarray, k: int, distance: Distance) -> Found:
    """Numbers and scores of the nearest; equal scores are ordered by number."""
    scores = [float64_score(row, query, distance) for row in rows]
    best = sorted(range(len(rows)), key=lambda number: (-scores[number], number))[:k]
    return best, [scores[number] for number in best]


def plain(found: Neighbours) -> Found:
    return found.numbers.tolist(), found.scores.tolist()


def filled(rows: np.ndarray, distance: Distance = "cosine", options: ExactSettings | None = None) -> ExactIndex:
    index = ExactIndex(rows.shape[1], distance, options)
    index.put(np.arange(len(rows)), rows)
    return index
