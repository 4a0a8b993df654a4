"""Tables as data: a title, columns, and rows of cells, each with a value to sort by and the text that a reader gets.

A table is made once from a report; the terminal, Markdown, the page, LaTeX and notebook cards each have one function that draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from searchmark.records.sentences import seconds_text, three_digits

UNDEFINED = "–"

SMALLEST_P = 0.0001


# Steps of a thousand, as disks and networks are sold.
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


@dataclass(frozen=True)
class Cell:
    """One entry of a table; the functions below make one of each kind."""

    value: float | str | None  # what it is sorted by; None where it is undefined
    text: str
    breaks: bool = False  # whether its text may be broken over several lines; a number may not
    raised: tuple[str, ...] = ()  # the letters at the end of the text, above the line where a format can
    estimate: Estimate | None = None  # what may be drawn beside the text of an interval


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval, as far as there is one."""

    mean: float | None
    low: float | None
    high: float | None
    signed: bool = False  # a difference, which lies on either side of 0


def text(content: str) -> Cell:
    """Words, ids and queries."""
    return Cell(content, content, breaks=True)


def verdict(word: str) -> Cell:
    """One of the words in which a comparison ends."""
    return Cell(word, word)


def _quantity(number: float | None, text_of: Callable[[float], str]) -> Cell:
    return Cell(number, UNDEFINED if number is None else text_of(number))


def number(number: float | None, digits: int = 4, *, signed: bool = False) -> Cell:
    """A value of a measure; ``signed`` for a difference."""
    return _quantity(number, f"{{:{'+' if signed else ''}.{digits}f}}".format)


def count(number: float | None) -> Cell:
    """How many."""
    return _quantity(number, "{:.0f}".format)


def p_value(number: float | None) -> Cell:
    """A probability under the null hypothesis; it is never 0."""
    return _quantity(number, lambda p: f"< {SMALLEST_P}" if p < SMALLEST_P else f"{p:.4f}")


def milliseconds(number: float | None) -> Cell:
    """A time to wait for an answer."""
    return _quantity(number, lambda time: f"{three_digits(time)} ms")


def amount(number: float | None) -> Cell:
    """How much per search: a mean or a percentile of whole numbers."""
    return _quantity(number, three_digits)


def seconds(number: float | None) -> Cell:
    """A time to get ready; what is next to nothing is in a unit that shows it."""
    return _quantity(number, seconds_text)


def size(number: float | None) -> Cell:
    """Bytes on disk or in memory."""
    return _quantity(number, _size_text)


def _size_text(number: float) -> str:
    unit_size, unit = next((each for each in _SIZES if number >= each[0]), _SIZES[-1])
    return f"{three_digits(number / unit_size)} {unit}"


def interval(low: float | None, high: float | None, *, mean: float | None = None, signed: bool = False, digits: int = 4) -> Cell:
    """Two ends, or none; sorted by the lower one. With its mean it may be drawn."""
    ends = "" if low is None or high is None else " to ".join(number(end, digits, signed=signed).text for end in (low, high))
    return Cell(low, ends or UNDEFINED, estimate=Estimate(mean, low, high, signed))


def segment_mean(mean: float | None, interval: Cell, own_cases: int | None = None) -> Cell:
    """The mean of a segment with its interval, and the cases behind it where they are not those of its row.

    Both ends are shown: an interval is rarely symmetric, and near the bounds of a measure it never is.
    """
    within = "" if interval.value is None else f" ({interval.text})"
    own = "" if own_cases is None else f" (of {own_cases})"
    return _quantity(mean, lambda each: f"{number(each).text}{within}{own}")


def ranked_mean(mean: float | None, beats: Iterable[str]) -> Cell:
    """A mean, and the letters of the runs that it beats with evidence."""
    letters = tuple(beats)
    return Cell(mean, " ".join((number(mean).text, *letters)), raised=letters)


def wins_ties_losses(wins: int, ties: int, losses: int) -> Cell:
    """In how many cases a candidate was better, equal and worse; sorted by the surplus of wins."""
    return Cell(wins - losses, f"{wins}/{ties}/{losses}")


def out_of(count: int, of: int) -> Cell:
    """How many of how many."""
    return Cell(count, f"{count} of {of}")


def median_and_tail(median: float | None, tail: float | None) -> Cell:
    """Two percentiles of one latency; sorted by the first."""
    return Cell(median, UNDEFINED if median is None or tail is None else f"{three_digits(median)} / {milliseconds(tail).text}")


def cell_of(value: Value, *, among_texts: bool = False) -> Cell:
    """What a plain value is: words, how many, or a number; None is undefined."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, bool):
        return text("yes" if value else "no")
    if isinstance(value, str):
        return text(value)
    if value is None:
        return Cell(None, UNDEFINED, breaks=among_texts)
    if isinstance(value, int):
        return count(value)
    return p_value(value) if 0 < value < SMALLEST_P else number(value)  # what is not 0 does not read 0.0000


Value = Cell | str | float | None

Row = tuple[Value, ...]


@dataclass(frozen=True)
class Table:
    """Columns and rows of cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
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
    rows: Iterable[Iterable[Any]],  # of values
    title: str | None = None,
    keys: int = 1,
    secondary: tuple[str, ...] = (),
) -> Table:
    """A table of cells and plain values; what is undefined among words stays on their side of the column."""
    columns, values = tuple(columns), [tuple(row) for row in rows]
    wordy = [any(isinstance(each, str) for each in column) for column in zip(*values, strict=True)]
    made = (tuple(cell_of(each, among_texts=among) for each, among in zip(row, wordy, strict=True)) for row in values)
    return Table(columns, tuple(made), title, keys, secondary)
