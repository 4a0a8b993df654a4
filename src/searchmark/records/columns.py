"""Columns and frames: rows of many cases in one array, and ids as text columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.records.sentences import NotebookRecord

if TYPE_CHECKING:
    import polars as pl


Floats = NDArray[np.float64]

Bools = NDArray[np.bool_]

Ints = NDArray[np.int64]


# Where the rows of each case start in a column that holds those of all cases, one after the other; lines as columns.

NO_LINE = 0  # lines are counted from 1


def starts_of(lengths: Iterable[int], count: int) -> NDArray[np.int64]:
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, count), out=starts[1:])
    return starts


def rows_from(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of many stretches, one after the other, and where those of each begin among them."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1]), starts


def rows_or_none(starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A table in which every case has one row at least: whose each row is, its number among them, and its row; -1 for none."""
    lengths = np.diff(starts)
    lengths_or_one = np.maximum(lengths, 1)
    rows, begins = rows_from(starts[:-1], lengths_or_one)
    owner = np.repeat(np.arange(len(lengths_or_one)), lengths_or_one)
    rows[begins[:-1][lengths == 0]] = -1
    return owner, np.arange(len(rows)) - begins[owner], rows


def line_columns(lines: Sequence[tuple[int, int] | None]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """The first and the last lines of many hits; None and None if every hit is on a whole document."""
    if not any(lines):
        return None, None
    pairs = np.array([each or (NO_LINE, NO_LINE) for each in lines], np.int32)
    return pairs[:, 0], pairs[:, 1]


def hit_texts(texts: Iterable[str | None]) -> tuple[str | None, ...] | None:
    """What many hits say; None if that is known of none."""
    column = tuple(texts)
    return column if any(text is not None for text in column) else None


# Columns of text: many ids, as a Python list or an Arrow column, and the order that trec_eval gives them.

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
    answers = _unordered_answers(ids, scores, starts)
    if not len(answers):
        return None
    rank = ranks_in_order(starts)
    for same, length in _group_by_length(starts, answers):
        _rank_together(ids, scores, same, length, rank)
    return rank


def order_by_score(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The rows of every answer by score descending, equal scores in any order; None if they are in such an order already."""
    answers = _answers_marked(_clear_boundaries(scores[1:] > scores[:-1], starts), starts)
    if not len(answers):
        return None
    order = np.arange(len(scores))
    for same, length in _group_by_length(starts, answers):
        rows = _contiguous_rows(same, length)
        order[rows] = (np.argsort(-scores[rows].reshape(-1, length), axis=1) + same[:, None]).ravel()
    return order


def split_mix(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits all depend on all bits of the given ones (the finaliser of SplitMix64: Steele, Lea and Flood, 2014)."""
    bits = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)), np.uint64)


T = TypeVar("T", bound=np.generic)


def distinct(values: NDArray[T]) -> NDArray[T]:
    """The different values, ascending: np.unique, which loads numpy.ma for masked arrays unless it is asked for more."""
    different: NDArray[T] = np.unique(values, return_counts=True)[0]
    return different


def _group_by_length(starts: NDArray[np.int64], answers: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Where some answers begin, and how long they are: many of one length at a time, which are sorted together."""
    lengths = np.diff(starts)[answers]
    for length in distinct(lengths).tolist():
        same, at_once = starts[answers[lengths == length]], max(1, _SORTED_AT_ONCE // length)
        yield from ((same[begin : begin + at_once], length) for begin in range(0, len(same), at_once))


def _contiguous_rows(starts: NDArray[np.int64], length: int) -> slice | NDArray[np.int64]:
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
    rows = _contiguous_rows(starts, length)
    part = scores[rows].reshape(-1, length)
    order = np.argsort(-part, axis=1)
    sorted_scores = np.take_along_axis(part, order, axis=1)
    ties = sorted_scores[:, 1:] == sorted_scores[:, :-1]
    for answer in np.flatnonzero(ties.any(axis=1)).tolist():
        start = int(starts[answer])
        _sort_ties(list(ids[start : start + length]), order[answer], np.flatnonzero(ties[answer]))
    ranks = np.empty(part.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(1, length + 1, dtype=np.int32)[None], axis=1)
    rank[rows] = ranks.ravel()


def _unordered_answers(ids: Texts, scores: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answers, by number, with a hit that belongs before the one above it."""
    rises = _clear_boundaries(scores[1:] >= scores[:-1], starts)
    above = np.flatnonzero(scores[1:] == scores[:-1])
    above = above[rises[above]]
    pairs = zip(texts_at(ids, above), texts_at(ids, above + 1), strict=True)
    rises[above] = [original_bytes(first) < original_bytes(second) for first, second in pairs]
    return _answers_marked(rises, starts)


def _clear_boundaries(rises: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """What is said of every hit and the next, and nothing where the next belongs to another answer; in place."""
    rises[starts[(starts > 0) & (starts <= len(rises))] - 1] = False
    return rises


def _answers_marked(rises: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answers, by number, with a hit that is marked; the last hit of all has none below it and no mark."""
    nonempty = np.flatnonzero(np.diff(starts))
    return nonempty[np.logical_or.reduceat(np.append(rises, False), starts[nonempty])] if len(nonempty) else nonempty


def original_bytes(text: str) -> bytes:
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
    values: list[str] = texts.to_list()
    return values


def texts_at(texts: Texts, rows: NDArray[np.int64]) -> list[str]:
    """The texts in some rows."""
    if isinstance(texts, list) or len(rows) < _GATHERED_FROM:
        return [texts[row] for row in rows.tolist()]
    values: list[str] = texts[rows].to_list()
    return values


def _sort_ties(ids: list[str], order: NDArray[np.int64], ties: NDArray[np.int64]) -> None:
    """Sort stretches of equal scores by id, descending, in place; ``ties`` are the positions equal to the next."""
    for stretch in np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1):
        places = slice(stretch[0], stretch[-1] + 2)
        order[places] = sorted(order[places].tolist(), key=lambda row: original_bytes(ids[row]), reverse=True)


# Records as tables: a polars frame for those who compute on, and Arrow for everything else that takes a table.


class HasFrame(NotebookRecord):
    """A record with a frame, which other libraries take as it is."""

    def frame(self) -> pl.DataFrame:
        """The record as a tidy table, one row per smallest thing in it."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The frame for whatever reads Arrow: pyarrow, pandas, DuckDB."""
        return self.frame().__arrow_c_stream__(requested_schema)

    def __narwhals_dataframe__(self) -> Any:
        """The frame for whatever reads tables by narwhals: altair, which takes no Arrow, and plotly."""
        import narwhals  # never ours to install: only a library that has it asks

        return narwhals.from_native(self.frame(), eager_only=True)._compliant_frame


def text_column(texts: Texts | Sequence[str | None]) -> pl.Series:
    """Texts as a column; half of a surrogate pair, which Arrow cannot hold, is written out."""
    import polars as pl

    if isinstance(texts, pl.Series):
        return texts
    try:
        return pl.Series(values=texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(values=list(map(_encodable, texts)), dtype=pl.String)


def _encodable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def number_column(numbers: NDArray[Any], missing: NDArray[np.bool_]) -> pl.Series:
    """Numbers as a column, null where they are missing."""
    import polars as pl

    column = pl.Series(values=numbers)
    return column.set(pl.Series(values=missing), None) if missing.any() else column


def gather_rows(column: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """The entries in some rows, null for a row below 0; the column itself where that is what they are."""
    if len(rows) == len(column) and (rows == np.arange(len(rows))).all():
        return column
    return column.gather(number_column(rows, rows < 0))


def null_column(kind: type, count: int) -> pl.Series:
    import polars as pl

    return pl.Series(values=[None], dtype=pl.DataType.from_python(kind)).new_from_index(0, count)


def constant_columns(values: Mapping[str, str | None], count: int) -> dict[str, pl.Series]:
    """Columns that say the same in every row."""
    return {name: text_column([value]).new_from_index(0, count) for name, value in values.items()}


def typed_frame(rows: Sequence[Mapping[str, Any]], types: Mapping[str, type]) -> pl.DataFrame:
    """A few records as a frame whose columns have these types, also where all of a column is null."""
    import polars as pl

    return pl.DataFrame({name: _typed_column([row[name] for row in rows], kind) for name, kind in types.items()})


def _typed_column(values: list[Any], kind: type) -> pl.Series:
    import polars as pl

    return text_column(values) if kind is str else pl.Series(values=values, dtype=pl.DataType.from_python(kind))
