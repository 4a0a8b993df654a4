"""From one vector per token to one per text, in the ways of sentence-transformers, whose names for them are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors

Lengths = NDArray[np.int64]


def _mask(tokens: Vectors, lengths: Lengths) -> Vectors:
    mask: Vectors = (np.arange(tokens.shape[1]) < lengths[:, np.newaxis]).astype(np.float32)
    return mask


def _sum(tokens: Vectors, weights: Vectors) -> Vectors:
    total: Vectors = np.matmul(weights[:, np.newaxis], tokens)[:, 0]
    return total


def _at_least_one(lengths: Lengths) -> Vectors:
    return np.maximum(lengths, 1).astype(np.float32)[:, np.newaxis]


def _mean(tokens: Vectors, lengths: Lengths) -> Vectors:
    return _sum(tokens, _mask(tokens, lengths)) / _at_least_one(lengths)


def _mean_sqrt_len(tokens: Vectors, lengths: Lengths) -> Vectors:
    root: Vectors = np.sqrt(_at_least_one(lengths))
    return _sum(tokens, _mask(tokens, lengths)) / root


def _weighted_mean(tokens: Vectors, lengths: Lengths) -> Vectors:
    """The later a token, the more it counts: by its number from 1."""
    weights = _mask(tokens, lengths) * np.arange(1, tokens.shape[1] + 1, dtype=np.float32)
    mean: Vectors = _sum(tokens, weights) / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    return mean


def _max(tokens: Vectors, lengths: Lengths) -> Vectors:
    present = _mask(tokens, lengths)[:, :, np.newaxis] > 0
    highest: Vectors = np.max(tokens, axis=1, where=present, initial=-np.inf)
    return highest


def _cls(tokens: Vectors, _: Lengths) -> Vectors:
    return tokens[:, 0]


def _last_token(tokens: Vectors, lengths: Lengths) -> Vectors:
    last: Vectors = tokens[np.arange(len(tokens)), np.maximum(lengths, 1) - 1]
    return last


POOLINGS: dict[str, Callable[[Vectors, Lengths], Vectors]] = {
    "cls": _cls,
    "max": _max,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_sqrt_len,
    "weightedmean": _weighted_mean,
    "lasttoken": _last_token,
}


def pooled(modes: tuple[str, ...], tokens: Vectors, lengths: Lengths) -> Vectors:
    """One row per text, several modes one after the other; what follows the ``lengths`` tokens of a text is padding."""
    return np.concatenate([POOLINGS[mode](tokens, lengths) for mode in modes], axis=1)
