"""Judgments: what targets are worth to queries, one by one and in columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from searchmark.config.strict import Number, Whole, strict_record
from searchmark.errors import UsageError
from searchmark.records.columns import Texts, null_column, number_column, starts_of, text_column, text_list
from searchmark.records.digests import JudgmentColumns
from searchmark.records.document import id_text

if TYPE_CHECKING:
    import polars as pl


# Grades as a column of whole numbers.


def grade_column(grades: list[int], cases: Sequence[str], starts: NDArray[np.int64], targets: Sequence[str]) -> NDArray[np.int64]:
    """Grades as whole numbers; one that is none is refused, since cutting it would change what it is worth in silence."""
    try:
        return np.array(array("q", grades), np.int64)  # an array of whole numbers takes nothing else
    except TypeError:  # perhaps 2.0, which is 2
        whole = [_is_whole_number(grade) for grade in grades]
    if False in whole:
        row = whole.index(False)
        case = cases[int(np.searchsorted(starts, row, side="right")) - 1]
        raise UsageError(f"case {case!r}: the grade {grades[row]!r} of {targets[row]!r} is not a whole number; scale the grades")
    return np.array(grades, np.float64).astype(np.int64)


def _is_whole_number(grade: Any) -> bool:
    return not isinstance(grade, str) and hasattr(grade, "__float__") and float(grade).is_integer()


Match = Literal["id", "path", "glob", "symbol", "lines", "text"]

MATCHES: tuple[Match, ...] = get_args(Match)

ScoreRange = tuple[Number, Number]

NO_RANK = 0  # expected ranks start at 1


@strict_record(slots=True)
class Judgment:
    """What one target is worth to one query."""

    target: str
    match: Match = "id"
    grade: Whole = 1  # 0 means judged and not relevant
    rank: Whole | None = None
    # where the score of its hit should lie; by embedding model where it differs
    score_range: ScoreRange | Mapping[str, ScoreRange] | None = None
    # what it pays in measures of gain, where that is not its grade: ratings such as 0.5, whose grade is the gain rounded up
    gain: Number | None = None
    # grades of the query's aspects (subtopics, intents) that the target covers; the grade is the highest of them
    aspects: Mapping[str, Whole] | None = None

    def __post_init__(self) -> None:
        if type(self.target) is not str:
            object.__setattr__(self, "target", id_text(self.target, "the target of a judgment"))

    @classmethod
    def of_gain(cls, target: str, gain: float, match: Match = "id") -> Judgment:
        """A judgment by a rating that may be a fraction: anything above 0 is relevant, as grades above 0 are."""
        grade = math.ceil(gain)
        return cls(target, match, grade) if grade == gain else cls(target, match, grade, gain=gain)


@dataclass(frozen=True, eq=False)
class JudgmentTable:
    """The judgments of a suite: those of case ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``."""

    starts: NDArray[np.int64]
    targets: Texts
    grades: NDArray[np.int64]
    match: NDArray[np.uint8] | None = None  # None: every row matches by id
    ranks: NDArray[np.int64] | None = None  # NO_RANK where the judgment has none
    ranges: NDArray[np.float64] | None = None  # two columns, NaN where the judgment has none for all models
    model_ranges: Mapping[str, NDArray[np.float64]] | None = None  # the same for each model that judgments name
    gains: NDArray[np.float64] | None = None  # what judgments pay: their grade where they say nothing else
    aspects: Sequence[Mapping[str, int] | None] | None = None

    def __len__(self) -> int:
        return len(self.grades)

    def columns(self) -> JudgmentColumns:
        """Every column as Python values, as digests are taken of them."""
        return JudgmentColumns(
            targets=text_list(self.targets),
            match=None if self.match is None else [MATCHES[how] for how in self.match.tolist()],
            grades=self.grades.tolist(),
            ranks=None if self.ranks is None else [rank or None for rank in self.ranks.tolist()],
            ranges=self._ranges(0, len(self)) if self.has_ranges else None,
            gains=None if self.gains is None else self._own_gains(0, len(self)),
            aspects=None if self.aspects is None else [dict(sorted(each.items())) if each else None for each in self.aspects],
        )

    def _own_gains(self, start: int, end: int) -> list[float | None]:
        """The gains in some rows, None where the grade is the gain."""
        if self.gains is None:
            return [None] * (end - start)
        pairs = zip(self.gains[start:end].tolist(), self.grades[start:end].tolist(), strict=True)
        return [None if gain == grade else gain for gain, grade in pairs]

    def series(self) -> dict[str, pl.Series]:
        """Every column for a frame, null where a judgment has nothing; of score ranges those for all models."""
        count = len(self)
        bounds = (None, None) if self.ranges is None else self.ranges.T
        low, high = (null_column(float, count) if each is None else number_column(each, np.isnan(each)) for each in bounds)
        match = np.zeros(count, np.uint8) if self.match is None else self.match
        return {
            "target": text_column(self.targets),
            "match": text_column(MATCHES).gather(match),
            "grade": number_column(self.grades, np.zeros(count, bool)),
            "rank": null_column(int, count) if self.ranks is None else number_column(self.ranks, self.ranks == NO_RANK),
            "score_low": low,
            "score_high": high,
            "gain": number_column(self.grades.astype(float) if self.gains is None else self.gains, np.zeros(count, bool)),
        }

    def rows(self, start: int, end: int) -> Iterator[Judgment]:
        """The judgments in some rows as records."""
        size = end - start
        match, rank = (_as_list(None if each is None else each[start:end], size) for each in (self.match, self.ranks))
        ranges = self._ranges(start, end) if self.has_ranges else [None] * size
        grades = self.grades[start:end].tolist()
        gains = self._own_gains(start, end)
        aspects = [None] * size if self.aspects is None else self.aspects[start:end]
        columns = (self.targets[start:end], match, grades, rank, ranges, gains, aspects)
        for target, match_number, grade, place, score_range, gain, covers in zip(*columns, strict=True):
            yield Judgment(target, MATCHES[match_number or 0], grade, place or None, score_range, gain, covers)

    def of_cases(self, rows: Sequence[int]) -> JudgmentTable:
        """The judgments of some cases, in this order."""
        first, last = (self.starts[np.asarray(rows) + more].tolist() for more in (0, 1))
        own = np.fromiter(chain.from_iterable(map(range, first, last)), np.int64)
        return JudgmentTable(
            starts=starts_of((end - start for start, end in zip(first, last, strict=True)), len(rows)),
            targets=list(chain.from_iterable(self.targets[start:end] for start, end in zip(first, last, strict=True))),
            grades=self.grades[own],
            match=None if self.match is None else self.match[own],
            ranks=None if self.ranks is None else self.ranks[own],
            ranges=None if self.ranges is None else self.ranges[own],
            model_ranges=None if self.model_ranges is None else {model: each[own] for model, each in self.model_ranges.items()},
            gains=None if self.gains is None else self.gains[own],
            aspects=None if self.aspects is None else [self.aspects[row] for row in own.tolist()],
        )

    @property
    def has_ranges(self) -> bool:
        return self.ranges is not None or self.model_ranges is not None

    def _ranges(self, start: int, end: int) -> list[ScoreRange | dict[str, ScoreRange] | None]:
        """The score ranges in some rows as values, those of models by name."""
        ranges = [None if math.isnan(low) else (low, high) for low, high in self._bounds(self.ranges, start, end)]
        ranges_by_row: list[ScoreRange | dict[str, ScoreRange] | None] = list(ranges)
        for model, column in sorted((self.model_ranges or {}).items()):
            for row in np.flatnonzero(~np.isnan(column[start:end, 0])).tolist():
                low, high = column[start + row].tolist()
                of_models = ranges_by_row[row]
                ranges_by_row[row] = {**(of_models if isinstance(of_models, dict) else {}), model: (low, high)}
        return ranges_by_row

    @staticmethod
    def _bounds(column: NDArray[np.float64] | None, start: int, end: int) -> list[list[float]]:
        return [[math.nan, math.nan]] * (end - start) if column is None else column[start:end].tolist()

    def named_targets(self, start: int, end: int) -> Iterator[str]:
        """The relevant targets in some rows that are named by id or path, and so exist or not."""
        return compress(self.targets[start:end], self.named[start:end].tolist())

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """Which judgments say that a target is relevant which they name by id or path."""
        relevant: NDArray[np.bool_] = self.grades > 0
        return relevant if self.match is None else relevant & np.isin(self.match, [MATCHES.index(how) for how in ("id", "path")])

    @property
    def described(self) -> NDArray[np.bool_]:
        """Which judgments name their targets only by description: globs and symbols."""
        if self.match is None:
            return np.zeros(len(self), bool)
        return np.isin(self.match, [MATCHES.index(how) for how in ("glob", "symbol")])

    @property
    def of_text(self) -> NDArray[np.bool_]:
        """Which judgments expect a passage, by its text."""
        return np.zeros(len(self), bool) if self.match is None else self.match == MATCHES.index("text")

    @cached_property
    def case(self) -> NDArray[np.int64]:
        """The row of the case that each judgment belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def judgment_table(ids: Sequence[str], sizes: Sequence[int], judgments: Sequence[Judgment]) -> JudgmentTable:
    """The judgments of cases with these ids and as many judgments each."""
    match = np.array([MATCHES.index(j.match) for j in judgments], np.uint8)
    ranks = np.array([NO_RANK if j.rank is None else j.rank for j in judgments], np.int64)
    starts, targets = starts_of(sizes, len(ids)), [j.target for j in judgments]
    return JudgmentTable(
        starts=starts,
        targets=targets,
        grades=grade_column([j.grade for j in judgments], ids, starts, targets),
        match=match if match.any() else None,
        ranks=ranks if ranks.any() else None,
        ranges=_range_column([None if isinstance(j.score_range, Mapping) else j.score_range for j in judgments]),
        model_ranges=_model_ranges(judgments),
        gains=_gain_column(judgments),
        aspects=[j.aspects or None for j in judgments] if any(j.aspects for j in judgments) else None,
    )


def _gain_column(judgments: Sequence[Judgment]) -> NDArray[np.float64] | None:
    if all(judgment.gain is None for judgment in judgments):
        return None
    return np.array([j.grade if j.gain is None else j.gain for j in judgments], np.float64)


def _range_column(ranges: Sequence[ScoreRange | None]) -> NDArray[np.float64] | None:
    if not any(ranges):
        return None
    return np.array([each or (np.nan, np.nan) for each in ranges], np.float64).reshape(-1, 2)


def _model_ranges(judgments: Sequence[Judgment]) -> dict[str, NDArray[np.float64]] | None:
    columns: dict[str, NDArray[np.float64]] = {}
    for row, judgment in enumerate(judgments):
        if isinstance(judgment.score_range, Mapping):
            for model, bounds in judgment.score_range.items():
                columns.setdefault(model, np.full((len(judgments), 2), np.nan))[row] = bounds
    return columns or None


def _as_list(column: NDArray[Any] | None, size: int) -> list[Any]:
    return [None] * size if column is None else column.tolist()
