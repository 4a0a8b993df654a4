"""Tables of typed cells: a value to sort by, and the text that a reader gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from searchmark.records.sentences import seconds_text, three_digits

UNDEFINED = "–"

SMALLEST_P = 0.0001


# Steps of a thousand, as disks and networks are sold.
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))

Value = float | str | None


@dataclass(frozen=True)
class Cell:
    """One entry of a table."""

    breaks: ClassVar[bool] = False  # whether its text may be broken over several lines; a number may not

    @property
    def value(self) -> Value:
        """What it is sorted by; None where it is undefined."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Cell):
    """Words, ids and queries."""

    content: str

    breaks: ClassVar[bool] = True

    @property
    def value(self) -> str:
        return self.content

    @property
    def text(self) -> str:
        return self.content


@dataclass(frozen=True)
class VerdictCell(Cell):
    """One of the words in which a comparison ends."""

    word: str

    @property
    def value(self) -> str:
        return self.word

    @property
    def text(self) -> str:
        return self.word


@dataclass(frozen=True)
class Quantity(Cell):
    """A number that may be undefined; the kinds below say how it is written."""

    number: float | None

    @property
    def value(self) -> float | None:
        return self.number

    @property
    def text(self) -> str:
        return UNDEFINED if self.number is None else self.format(self.number)

    def format(self, number: float) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Quantity):
    """A value of a measure; ``signed`` for a difference."""

    digits: int = 4
    signed: bool = False

    def format(self, number: float) -> str:
        return f"{number:{'+' if self.signed else ''}.{self.digits}f}"


@dataclass(frozen=True)
class Count(Quantity):
    """How many."""

    def format(self, number: float) -> str:
        return f"{number:.0f}"


@dataclass(frozen=True)
class PValue(Quantity):
    """A probability under the null hypothesis; it is never 0."""

    def format(self, number: float) -> str:
        return f"< {SMALLEST_P}" if number < SMALLEST_P else f"{number:.4f}"


@dataclass(frozen=True)
class Milliseconds(Quantity):
    """A time to wait for an answer."""

    def format(self, number: float) -> str:
        return f"{three_digits(number)} ms"


@dataclass(frozen=True)
class Amount(Quantity):
    """How much per search: a mean or a percentile of whole numbers."""

    def format(self, number: float) -> str:
        return three_digits(number)


@dataclass(frozen=True)
class Seconds(Quantity):
    """A time to get ready; what is next to nothing is in a unit that shows it."""

    def format(self, number: float) -> str:
        return seconds_text(number)


@dataclass(frozen=True)
class Bytes(Quantity):
    """A size on disk or in memory."""

    def format(self, number: float) -> str:
        size, unit = next(((size, unit) for size, unit in _SIZES if number >= size), _SIZES[-1])
        return f"{three_digits(number / size)} {unit}"


@dataclass(frozen=True)
class Interval(Cell):
    """Two ends, or none; sorted by the lower one."""

    low: float | None
    high: float | None
    signed: bool = False
    digits: int = 4

    @property
    def value(self) -> float | None:
        return self.low

    @property
    def text(self) -> str:
        if self.low is None or self.high is None:
            return UNDEFINED
        return " to ".join(Number(end, self.digits, self.signed).text for end in (self.low, self.high))


@dataclass(frozen=True)
class SegmentMean(Cell):
    """The mean of a segment with its interval, and the cases behind it where they are not those of its row.

    Both ends are shown: an interval is rarely symmetric, and near the bounds of a measure it never is.
    """

    mean: float | None
    interval: Interval
    own_cases: int | None

    @property
    def value(self) -> float | None:
        return self.mean

    @property
    def text(self) -> str:
        if self.mean is None:
            return UNDEFINED
        interval = "" if self.interval.low is None else f" ({self.interval.text})"
        own = "" if self.own_cases is None else f" (of {self.own_cases})"
        return f"{Number(self.mean).text}{interval}{own}"


@dataclass(frozen=True)
class RankedMean(Cell):
    """A mean, and the letters of the runs that it beats with evidence."""

    mean: Number
    beats: tuple[str, ...]

    @property
    def value(self) -> float | None:
        return self.mean.value

    @property
    def text(self) -> str:
        return " ".join((self.mean.text, *self.beats))


@dataclass(frozen=True)
class WinsTiesLosses(Cell):
    """In how many cases a candidate was better, equal and worse; sorted by the surplus of wins."""

    wins: int
    ties: int
    losses: int

    @property
    def value(self) -> float:
        return self.wins - self.losses

    @property
    def text(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


@dataclass(frozen=True)
class OutOf(Cell):
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float:
        return self.count

    @property
    def text(self) -> str:
        return f"{self.count} of {self.of}"


@dataclass(frozen=True)
class MedianAndTail(Cell):
    """Two percentiles of one latency; sorted by the first."""

    median: float | None
    tail: float | None

    @property
    def value(self) -> float | None:
        return self.median

    @property
    def text(self) -> str:
        if self.median is None or self.tail is None:
            return UNDEFINED
        return f"{three_digits(self.median)} / {Milliseconds(self.tail).text}"


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Columns and rows of cells."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str | None = None  # above it, or above its first column where there is no room for titles
    keys: int = 1  # the first columns, which say what a row is about
    secondary: tuple[str, ...] = ()  # columns to leave out where the screen is narrow, the one that is missed least first

    def without(self, column: str) -> Table:
        return self.only([number for number, each in enumerate(self.columns) if each != column])

    def select(self, *columns: str, rows: int | None = None) -> Table:
        """The same with columns of these names, and not more than so many rows."""
        table = self.only([self.columns.index(column) for column in columns])
        return replace(table, rows=table.rows[:rows], secondary=())

    def only(self, columns: Sequence[int]) -> Table:
        """The same rows with some of the columns."""
        rows = tuple(tuple(row[number] for number in columns) for row in self.rows)
        return replace(self, columns=tuple(self.columns[number] for number in columns), rows=rows)


def table(
    columns: Iterable[str],
    rows: Iterable[Row],
    title: str | None = None,
    keys: int = 1,
    secondary: tuple[str, ...] = (),
) -> Table:
    return Table(tuple(columns), tuple(rows), title, keys, secondary)
