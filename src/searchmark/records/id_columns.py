"""Columns of text: many ids, as a Python list or an Arrow column, and the order that trec_eval gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

# One text per row: a list, or an Arrow string column when the rows came from a large file.
Texts: TypeAlias = "list[str] | pl.Series"

# Rows of an Arrow column from which on it is faster to take them together than one by one.
_GATHERED_FROM = 100

# Hits that are sorted at once: bounds the memory that ordering a run takes.
_SORTED_AT_ONCE = 1 << 18


def pair_keys(case: NDArray[np.int64], ids: pl.Series) -> pl.Series:
    """A number for each pair of case and id: equal pairs have equal numbers, others hardly ever."""
    import polars as pl

    return pl.Series(ids.hash().to_numpy() + case.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def ranks_by_score(ids: Texts, scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """Ranks by score descending, then id descending, as trec_eval does; None if the rows are in this order already."""
    unordered = _unordered_answers(ids, scores, starts)
    if not len(unordered):
        return None
    rank = ranks_in_order(starts)
    for same, length in _of_one_length(starts, unordered):
        _rank_together(ids, scores, same, length, rank)
    return rank


def order_by_score(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The rows of every answer by score descending, equal scores in any order; None if they are in such an order already."""
    unordered = _answers_with(_without_seams(scores[1:] > scores[:-1], starts), starts)
    if not len(unordered):
        return None
    order = np.arange(len(scores))
    for same, length in _of_one_length(starts, unordered):
        rows = _rows_together(same, length)
        order[rows] = (np.argsort(-scores[rows].reshape(-1, length), axis=1) + same[:, None]).ravel()
    return order


def _of_one_length(starts: NDArray[np.int64], answers: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Where some answers begin, and how long they are: many of one length at a time, which are sorted together."""
    lengths = np.diff(starts)[answers]
    for length in np.unique(lengths).tolist():
        same, at_once = starts[answers[lengths == length]], max(1, _SORTED_AT_ONCE // length)
        yield from ((same[begin : begin + at_once], length) for begin in range(0, len(same), at_once))


def _rows_together(starts: NDArray[np.int64], length: int) -> slice | NDArray[np.int64]:
    """The rows of some answers of one length."""
    in_one_piece = int(starts[-1]) - int(starts[0]) == (len(starts) - 1) * length
    return slice(int(starts[0]), int(starts[-1]) + length) if in_one_piece else (starts[:, None] + np.arange(length)).ravel()


def ranks_in_order(starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """From 1 on in every answer: a running count that is set back where an answer begins, in one piece of memory."""
    lengths = np.diff(starts)
    begins, lengths = starts[:-1][lengths > 0], lengths[lengths > 0]
    rank = np.ones(int(starts[-1]), np.int32)
    rank[begins[1:]] -= lengths[:-1].astype(np.int32)
    return np.cumsum(rank, dtype=np.int32, out=rank)


def _rank_together(
    ids: Texts, scores: NDArray[np.float64], starts: NDArray[np.int64], length: int, rank: NDArray[np.int32]
) -> None:
    """Fill in the ranks of some answers of one length."""
    rows = _rows_together(starts, length)
    part = scores[rows].reshape(-1, length)
    order = np.argsort(-part, axis=1)
    ordered = np.take_along_axis(part, order, axis=1)
    tied = ordered[:, 1:] == ordered[:, :-1]
    for answer in np.flatnonzero(tied.any(axis=1)).tolist():
        start = int(starts[answer])
        _settle_ties(list(ids[start : start + length]), order[answer], np.flatnonzero(tied[answer]))
    ranked = np.empty(part.shape, np.int32)
    np.put_along_axis(ranked, order, np.arange(1, length + 1, dtype=np.int32)[None], axis=1)
    rank[rows] = ranked.ravel()


def _unordered_answers(ids: Texts, scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answers, by number, with a hit that belongs before the one above it."""
    rises = _without_seams(scores[1:] >= scores[:-1], starts)
    above = np.flatnonzero(scores[1:] == scores[:-1])
    above = above[rises[above]]
    pairs = zip(texts_at(ids, above), texts_at(ids, above + 1), strict=True)
    rises[above] = [in_bytes(first) < in_bytes(second) for first, second in pairs]
    return _answers_with(rises, starts)


def _without_seams(rises: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """What is said of every hit and the next, and nothing where the next belongs to another answer; in place."""
    rises[starts[(starts > 0) & (starts <= len(rises))] - 1] = False
    return rises


def _answers_with(rises: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answers, by number, with a hit that is marked; the last hit of all has none below it and no mark."""
    filled = np.flatnonzero(np.diff(starts))
    return filled[np.logical_or.reduceat(np.append(rises, False), starts[filled])] if len(filled) else filled


def in_bytes(text: str) -> bytes:
    """The bytes that a text had in its file: what ids are ordered by."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, which no byte gives
        return text.encode("utf-8", "surrogatepass")


def are_plain(texts: list[str]) -> bool:
    """Whether all texts are printable ASCII without what JSON escapes and what sorts before a quotation mark.

    Between quotation marks such texts are JSON as they are, and sort there as they do alone.
    """
    many = "".join(texts)
    return many.isascii() and many.isprintable() and not any(letter in many for letter in ' !"\\')


def text_list(texts: Texts) -> list[str]:
    """All texts as a list: going through an Arrow column one by one takes many times as long."""
    if isinstance(texts, list):
        return texts
    listed: list[str] = texts.to_list()
    return listed


def texts_at(texts: Texts, rows: NDArray[np.int64]) -> list[str]:
    """The texts in some rows."""
    if isinstance(texts, list) or len(rows) < _GATHERED_FROM:
        return [texts[row] for row in rows.tolist()]
    taken: list[str] = texts[rows].to_list()
    return taken


def _settle_ties(ids: list[str], order: NDArray[np.int64], tied: NDArray[np.int64]) -> None:
    """Sort stretches of equal scores by id, descending, in place; ``tied`` are the positions equal to the next."""
    for stretch in np.split(tied, np.flatnonzero(np.diff(tied) > 1) + 1):
        places = slice(stretch[0], stretch[-1] + 2)
        order[places] = sorted(order[places].tolist(), key=lambda row: in_bytes(ids[row]), reverse=True)
