"""Tables for a terminal of some width: no number is broken, and no text is squeezed until nobody can read it."""

from __future__ import annotations

from collections.abc import Iterator

import rich.table
import rich.text
from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement

from searchmark.reports.cells import Cell, Table
from searchmark.reports.quoting import visible

LONGEST_CELL = 90
# The width down to which a text may be squeezed before its table is laid out in another way.
READABLE = 20
UNLIMITED = 10_000


def fitted(table: Table, console: Console) -> Iterator[RenderableType]:
    """The table as it is, without what is secondary, in several parts below each other, or row by row as a list."""
    for column in ("", *table.secondary):
        table = table.without(column) if column else table
        drawn = _drawn(table)
        if narrowest(drawn, console) <= console.width:
            yield drawn
            return
    if _is_prose(table):
        yield from _as_list(table)
    else:
        yield from map(_drawn, _parts(table, console))


def _fits(table: Table, console: Console) -> bool:
    return narrowest(_drawn(table), console) <= console.width


def narrowest(part: RenderableType, console: Console) -> int:
    """The width that something needs at least; Rich itself never says more than there is."""
    return Measurement.get(console, console.options.update(width=UNLIMITED), part).minimum


def _is_prose(table: Table) -> bool:
    """Whether two columns or more, beside what a row is about, are words."""
    return sum(cell.breaks for cell in table.rows[0][table.keys :]) > 1


def _parts(table: Table, console: Console) -> Iterator[Table]:
    """As many columns as fit, then the next ones, each time behind the columns that say what a row is about."""
    keys = list(range(table.keys))
    shown: list[int] = []
    for column in range(table.keys, len(table.columns)):
        if shown and not _fits(table.only([*keys, *shown, column]), console):
            yield table.only([*keys, *shown])
            shown = []
        shown.append(column)
    yield table.only([*keys, *shown])


def _drawn(table: Table) -> rich.table.Table:
    """A title is written above the first column, and numbers are never broken."""
    shown = rich.table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
    headers = map(_cell, (table.title or table.columns[0], *table.columns[1:]))
    for header, column in zip(headers, zip(*table.rows, strict=True), strict=True):
        widest = max(text.cell_len for text in (header, *(_cell(cell.text) for cell in column)))
        if column[0].breaks:
            shown.add_column(header, overflow="fold", min_width=min(widest, READABLE))
        else:
            shown.add_column(header, justify="right", no_wrap=True, min_width=widest)
    for row in table.rows:
        shown.add_row(*(_cell(cell.text) for cell in row))
    return shown


def _as_list(table: Table) -> Iterator[RenderableType]:
    """Every row as a paragraph: what it is about, then a line for each of its other cells."""
    yield _cell(f"{table.title or table.columns[0]}:")
    for row in table.rows:
        yield _cell(" ".join(cell.text for cell in row[: table.keys]))
        yield _paragraph(table.columns[table.keys :], row[table.keys :])


def _paragraph(columns: tuple[str, ...], cells: tuple[Cell, ...]) -> rich.table.Table:
    shown = rich.table.Table.grid(padding=(0, 2), pad_edge=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for column, cell in zip(columns, cells, strict=True):
        shown.add_row(_cell(f"  {column}"), _cell(cell.text))
    return shown


def _cell(text: str) -> rich.text.Text:
    return rich.text.Text(visible(text, LONGEST_CELL))
