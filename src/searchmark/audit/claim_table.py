"""Tables of published numbers from files: CSV, tab-separated, or a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from math import inf
from os import PathLike
from pathlib import Path

from searchmark.audit.claims.claim_table import Claim, ClaimedRow, ClaimTable
from searchmark.audit.claims.headers import ClaimColumn, Role, column
from searchmark.audit.claims.printed import LONGEST, MISSING, CellNumber, PrintedNumber, digits
from searchmark.errors import FormatError, shortened
from searchmark.files.csv_rows import csv_rows
from searchmark.files.store import check_readable, inner_suffix, read_utf8
from searchmark.options.user_paths import user_path

_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")  # an interval has a blank or a semicolon between its ends
_RULE = re.compile(r"[\s|:\-]+")
_INTERVAL = re.compile(r"(?P<value>[^[(]+?)\s*[\[(]\s*(?P<low>[^,;–]+?)\s*(?:,|;|\bto\b|–)\s*(?P<high>[^,;–]+?)\s*[\])]")
_WHOLE = re.compile(r"(?:n\s*=\s*)?(\d{1,3}(?:[,\s]\d{3})+|\d{1,12})", re.IGNORECASE)
LONGEST_INTERVAL = 3 * LONGEST + 10  # signs of a cell
MOST_CASES = 10**12
MOST_MEASURES, MOST_NUMBERS = 100, 100_000  # every measure of a row is compared with every other
LIKELY_PER_CENT = 10  # a column between 1 and this may be shares that are wrong as well as a very poor result in per cent

LineCells = tuple[int, list[str]]


def read_claims(path: str | PathLike[str]) -> ClaimTable:
    """Read a table of published numbers."""
    path = user_path(path)
    check_readable(path)
    lines = [(line, cells) for line, cells in _lines(path) if any(cell.strip() for cell in cells)]
    if len(lines) < 2:  # noqa: PLR2004  # a header and a row
        raise FormatError(path, None, "holds no table: a header line with name, n and measures is needed, and a row")
    return _ClaimReader(path, lines[0], lines[1:]).table()


def _lines(path: Path) -> Iterator[LineCells]:
    text, extension = read_utf8(path), inner_suffix(path)
    if extension in (".md", ".markdown"):
        return _markdown(text)
    if extension in (".tsv", ".tab"):
        return ((number, line.rstrip("\n").split("\t")) for number, line in enumerate(StringIO(text, newline=None), 1))
    if extension != ".csv":
        raise FormatError(path, None, "published numbers are read from .csv, .tsv or .md; name the file accordingly")
    lines = list(StringIO(text, newline=""))
    return _with_points(list(csv_rows(path, lines, ";"))) if _by_semicolons(lines) else csv_rows(path, lines)


def _by_semicolons(lines: Sequence[str]) -> bool:
    """Whether a header has cells between semicolons, as spreadsheets write them where a comma is the decimal point."""
    header = next((line for line in lines if line.strip()), "")
    return ";" in header and "," not in re.sub(r'"[^"]*"', "", header)


def _with_points(rows: list[LineCells]) -> Iterator[LineCells]:
    """Decimal commas become points, unless there are points already: then a comma parts thousands."""
    commas = not any(re.search(r"\d\.\d", cell) for _, cells in rows[1:] for cell in cells)
    return ((line, [_DECIMAL_COMMA.sub(".", cell) if commas else cell for cell in cells]) for line, cells in rows)


def _markdown(text: str) -> Iterator[LineCells]:
    """The rows of the first table."""
    begun = False
    for number, line in enumerate(StringIO(text, newline=None), 1):
        if not line.strip().startswith("|"):
            if begun:
                return
            continue
        begun = True
        if not _RULE.fullmatch(line):
            cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
            yield number, [re.sub(r"[*`]", "", cell).strip() for cell in cells]


@dataclass(frozen=True)
class _ClaimCell:
    """The numbers of a cell: a value, and its interval if that is beside it."""

    value: CellNumber
    low: CellNumber | None = None
    high: CellNumber | None = None


class _ClaimReader:
    """One file while it is read."""

    def __init__(self, path: Path, header: LineCells, rows: Sequence[LineCells]) -> None:
        self._path = path
        self._rows = rows
        self._columns = [column(cell) for cell in header[1]]
        self._check(header)

    def table(self) -> ClaimTable:
        skipped = tuple(each.header or "(no name)" for each in self._columns if each.role == "skipped")
        return ClaimTable(self._path.name, tuple(map(self._row, self._rows)), tuple(self._assumed), skipped)

    def _check(self, header: LineCells) -> None:
        place = f"line {header[0]}"
        for line, cells in self._rows:
            if len(cells) != len(self._columns):
                raise FormatError(self._path, f"line {line}", f"has {len(cells)} columns, the header {len(self._columns)}")
        measures = sum(each.role == "value" for each in self._columns)
        if not measures:
            raise FormatError(self._path, place, "no column is a measure such as P@10; `searchmark measures` lists the names")
        if measures > MOST_MEASURES or measures * len(self._rows) > MOST_NUMBERS:
            most = f"at most {MOST_MEASURES} and {MOST_NUMBERS:,} numbers are checked: divide the table"
            raise FormatError(self._path, place, f"has {measures} measures in {len(self._rows)} rows; {most}")
        seen: set[tuple[Role, str]] = set()
        for each in self._columns:
            key = (each.role, each.measure.name if each.measure else "")
            if each.role != "skipped" and key in seen:
                raise FormatError(self._path, place, f"duplicate column: {key[1] or each.role} is there twice")
            seen.add(key)

    @cached_property
    def _cells(self) -> dict[tuple[int, int], _ClaimCell]:
        """The numbers of all cells that have one, by line and column."""
        found = {}
        for line, cells in self._rows:
            for at, (each, cell) in enumerate(zip(self._columns, cells, strict=True)):
                if each.role in ("value", "low", "high", "p") and cell.strip().lower() not in MISSING:
                    found[line, at] = self._cell(line, each, cell)
        return found

    def _cell(self, line: int, of: ClaimColumn, cell: str) -> _ClaimCell:
        interval = _INTERVAL.fullmatch(cell.strip()) if len(cell) <= LONGEST_INTERVAL else None
        parts = [cell] if interval is None else [interval["value"], interval["low"], interval["high"]]
        numbers = [digits(part) for part in parts]
        if None in numbers or any(each and each.below and of.role != "p" for each in numbers):
            raise FormatError(
                self._path, f"line {line}", f"{of.header} is {shortened(cell, 40)!r}, not a number such as 0.35 or 35 %"
            )
        return _ClaimCell(*numbers)  # type: ignore[arg-type]  # none of them is None

    @cached_property
    def _per_cent(self) -> dict[str, bool]:
        """For each measure whether its numbers are in per cent; columns of one measure go together."""
        return {name: self._marked(name) or name in self._assumed.values() for name in self._measures}

    @property
    def _measures(self) -> dict[str, ClaimColumn]:
        return {each.measure.name: each for each in self._columns if each.role == "value" and each.measure is not None}

    def _marked(self, name: str) -> bool:
        """Whether the name of a column, or the sign in any cell, says so."""
        columns = [at for at, each in enumerate(self._columns) if each.measure and each.measure.name == name and each.role != "p"]
        if any(self._columns[at].per_cent for at in columns):
            return True
        signs = [(line, cell.value.signed) for (line, at), cell in self._cells.items() if at in columns and cell.value.number]
        signed = any(sign for _, sign in signs)
        without = next((line for line, sign in signs if not sign), None)
        if signed and without is not None:
            raise FormatError(self._path, f"line {without}", f"{name} has no % here, and elsewhere it has; write it everywhere")
        return signed

    @cached_property
    def _assumed(self) -> dict[str, str]:
        """Columns of shares that can only be in per cent, with their measures: all values are 1 or more, and some far more."""
        found = {}
        for at, each in enumerate(self._columns):
            if each.role != "value" or each.measure is None or each.measure.high == inf or self._marked(each.measure.name):
                continue
            values = [cell.value.number for (_, where), cell in self._cells.items() if where == at and cell.value.number]
            if values and min(values) >= 1 and max(values) >= LIKELY_PER_CENT:
                found[each.header] = each.measure.name
        return found

    def _row(self, cells: LineCells) -> ClaimedRow:
        line, texts = cells
        by_role = {each.role: text.strip() for each, text in zip(self._columns, texts, strict=True) if each.measure is None}
        name, system, segment = (by_role.get(role, "") for role in ("name", "system", "segment"))
        label = ", ".join(filter(None, (name, system, segment))) or f"line {line}"
        return ClaimedRow(
            label=shortened(label, 80),
            system=system or name,
            group=tuple(filter(None, (segment, name if system else ""))),
            line=line,
            n=self._n(line, by_role.get("n", "")),
            vs=by_role.get("vs") or None,
            p=next((self._p(line, at) for at, each in enumerate(self._columns) if each.role == "p" and each.measure is None), None),
            claims=tuple(self._claims(line)),
        )

    def _n(self, line: int, text: str) -> int | None:
        if text.lower() in MISSING:
            return None
        found = _WHOLE.fullmatch(text) if len(text) <= LONGEST else None
        number = int(re.sub(r"\D", "", found[1])) if found else 0
        if not 1 <= number <= MOST_CASES:
            said = f"n is {shortened(text, 40)!r}, not a whole number from 1 to {MOST_CASES:,}"
            raise FormatError(self._path, f"line {line}", said)
        return number

    def _p(self, line: int, at: int) -> PrintedNumber | None:
        cell = self._cells.get((line, at))
        return None if cell is None else cell.value.printed(per_cent=cell.value.signed)

    def _claims(self, line: int) -> Iterator[Claim]:
        for at, each in enumerate(self._columns):
            cell = self._cells.get((line, at))
            if each.role != "value" or each.measure is None or cell is None:
                continue
            per_cent = self._per_cent[each.measure.name]
            beside = {"low": cell.low, "high": cell.high} | self._limits(line, each.measure.name)
            limits = {name: None if number is None else number.printed(per_cent=per_cent) for name, number in beside.items()}
            claim = Claim(each.measure, each.header, cell.value.printed(per_cent=per_cent), limits["low"], limits["high"])
            yield replace(claim, p=self._own_p(line, each.measure.name))

    def _limits(self, line: int, measure: str) -> dict[str, CellNumber | None]:
        return {
            each.role: self._cells[line, at].value
            for at, each in enumerate(self._columns)
            if each.role in ("low", "high") and each.measure and each.measure.name == measure and (line, at) in self._cells
        }

    def _own_p(self, line: int, measure: str) -> PrintedNumber | None:
        of = (at for at, each in enumerate(self._columns) if each.role == "p" and each.measure and each.measure.name == measure)
        return next((self._p(line, at) for at in of), None)
