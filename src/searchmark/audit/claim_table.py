"""Reads tables of published numbers: columns, rounding, per cent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from io import StringIO
from math import inf
from os import PathLike
from pathlib import Path
from typing import Literal

from searchmark.errors import FormatError, UsageError, shortened
from searchmark.io.packed import inner_suffix
from searchmark.io.paths import user_path
from searchmark.io.rows import csv_rows
from searchmark.io.store import check_readable, read_utf8
from searchmark.measures.definition import MeasureDefinition
from searchmark.measures.grammar import AnyMeasure, Formula, parse_measure

# A number as it was printed, and all that it can have been before it was rounded or truncated.

MISSING = {"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "?"}
_NUMBER = re.compile(r"(?P<below>[<≤]?)\s*(?P<number>[+\-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*(?P<sign>%?)")
LONGEST_NUMBER = 30


@dataclass(frozen=True)
class PrintedNumber:
    """A number as it was printed, and the range of what it can have been before it was rounded or truncated.

    The range reaches half a unit of the last digit below it, for one that was rounded up, and a whole unit above it, for one
    that was truncated. Both ends are included because floating-point sums end up on either side of them.
    """

    text: str  # as printed
    value: Fraction
    low: Fraction  # the least that it can have been
    high: Fraction  # the most


@dataclass(frozen=True)
class CellNumber:
    """A number as it is in a cell, before it is known whether the column is in per cent."""

    number: Fraction
    unit: Fraction  # of its last digit
    text: str
    signed: bool  # written with a per cent sign
    below: bool  # written as "< 0.05"

    def printed(self, *, per_cent: bool) -> PrintedNumber:
        scale = 100 if per_cent else 1
        text = f"{self.text} %" if per_cent else self.text
        number, unit = self.number / scale, self.unit / scale
        if self.below:
            return PrintedNumber(f"< {text}", number, Fraction(0), number)
        if number < 0:  # truncated towards zero
            return PrintedNumber(text, number, number - unit, number + unit / 2)
        return PrintedNumber(text, number, number - unit / 2, number + unit)


def number_in_cell(cell: str) -> CellNumber | None:
    """The number in a cell; None if there is none."""
    match = _NUMBER.fullmatch(cell.strip()) if len(cell) <= LONGEST_NUMBER else None
    if not match:
        return None
    text = match["number"].replace("−", "-")
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = Fraction(10) ** (int(exponent or 0) - decimals)
    return CellNumber(Fraction(text.removeprefix("+")), unit, text, bool(match["sign"]), bool(match["below"]))


# A table of published numbers: rows of systems, each with n and measures.


@dataclass(frozen=True)
class Claim:
    """What a row says of one measure."""

    measure: AnyMeasure
    header: str  # the measure in the words of the table
    value: PrintedNumber
    low: PrintedNumber | None = None  # the ends of its interval
    high: PrintedNumber | None = None
    p: PrintedNumber | None = None  # of a column beside it

    @property
    def text(self) -> str:
        return f"{self.header} {self.value.text}"

    @property
    def definition(self) -> MeasureDefinition | None:
        """The measure without its cutoff and options; none of a formula and of credit that is not whole."""
        partial = isinstance(self.measure, Formula) or self.measure.options.get("credit") == "dir"
        return None if partial else self.measure.parts[0].definition

    @property
    def base(self) -> str:
        return self.definition.name if self.definition else ""

    @property
    def cutoff(self) -> int | None:
        return None if isinstance(self.measure, Formula) else self.measure.cutoff

    @property
    def rel(self) -> object:
        """The lowest grade that counts: where none is named, as in nDCG, every grade above 0 does."""
        return None if isinstance(self.measure, Formula) else self.measure.options.get("rel", 1)


@dataclass(frozen=True)
class ClaimedRow:
    """One row of a table."""

    label: str  # how findings name it
    system: str  # what it is a result of
    group: tuple[str, ...]  # what else it is about: rows of one group may be compared
    line: int  # in the file
    n: int | None  # number of cases
    vs: str | None  # the system that it is compared with
    p: PrintedNumber | None
    claims: tuple[Claim, ...]

    @property
    def ps(self) -> Iterator[tuple[str, PrintedNumber]]:
        """Every p of the row, with how findings name it."""
        columns = (("p", self.p), *((f"{each.header} p", each.p) for each in self.claims))
        return ((f"{header} {p.text}", p) for header, p in columns if p is not None)


@dataclass(frozen=True)
class ClaimTable:
    """A whole table."""

    name: str  # of its file
    rows: tuple[ClaimedRow, ...]
    per_cent: tuple[str, ...] = ()  # columns that were read as per cent without a sign
    skipped: tuple[str, ...] = ()  # columns that were not read


# What the columns of a table of published numbers are.

Role = Literal["name", "system", "segment", "n", "vs", "p", "value", "low", "high", "skipped"]

_NAMES: dict[Role, tuple[str, ...]] = {
    "name": ("name", "row"),
    "system": ("system", "agent", "run", "model", "method", "engine", "retriever"),
    "segment": ("segment", "category", "dataset", "subset", "split", "language", "repository", "repo", "benchmark"),
    "n": ("n", "cases", "queries", "topics", "questions", "# queries", "#queries", "n queries"),
    "vs": ("vs", "vs.", "against", "baseline"),
    "p": ("p-value", "p value", "pvalue", "p_value"),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}

LONGEST_HEADER = 100  # signs that the name of a measure has at most

_LIMITS: dict[str, Role] = {
    **dict.fromkeys(("low", "lower", "ci low", "ci lower", "95% low"), "low"),
    **dict.fromkeys(("high", "upper", "ci high", "ci upper", "95% high"), "high"),
    **dict.fromkeys(("p", "p-value", "p value"), "p"),
}

_LIMIT = re.compile(rf"(?P<measure>.+?)[\s_]+(?P<what>{'|'.join(map(re.escape, _LIMITS))})", re.IGNORECASE)
_PER_CENT = re.compile(r"\(?\s*(%|percent|per cent|in %)\s*\)?", re.IGNORECASE)
_SPELLINGS = ((r"\bhits?@", "HitRate@"), (r"\s+at\s+(?=\d)", "@"), (r"^mean\s+", ""), (r"[\s-]score\b", ""), (r"[*`]", ""))


@dataclass(frozen=True)
class ClaimColumn:
    """One column."""

    role: Role  # what it is
    header: str  # its name in the file
    measure: AnyMeasure | None = None  # None where it is about no measure
    per_cent: bool = False  # whether its name says so


def column_of_header(header: str) -> ClaimColumn:
    """What a column is, by its name."""
    name = re.sub(r"[*`]", "", header).strip()
    if len(name) > LONGEST_HEADER:
        return ClaimColumn("skipped", shortened(name, LONGEST_HEADER))
    role = "p" if name == "p" else _ROLES.get(name.lower())  # P is precision
    if role is not None:
        return ClaimColumn(role, name)
    limit, text = _LIMIT.fullmatch(name), name
    if limit is not None and (measure := _measure(limit["measure"])) is not None:
        role, text = _LIMITS[limit["what"].lower()], limit["measure"]
    elif (measure := _measure(name)) is None:
        return ClaimColumn("skipped", name)
    per_cent = role != "p" and bool(_PER_CENT.search(text))
    return ClaimColumn(role or "value", _PER_CENT.sub("", text).strip(), measure, per_cent)


def _measure(header: str) -> AnyMeasure | None:
    text = _PER_CENT.sub("", header).strip()
    for pattern, ours in _SPELLINGS:
        text = re.sub(pattern, ours, text, flags=re.IGNORECASE)
    try:
        return parse_measure(text)
    except UsageError:
        return None


# Tables of published numbers from files: CSV, tab-separated, or a Markdown table.

_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")  # an interval has a blank or a semicolon between its ends
_RULE = re.compile(r"[\s|:\-]+")
_INTERVAL = re.compile(r"(?P<value>[^[(]+?)\s*[\[(]\s*(?P<low>[^,;–]+?)\s*(?:,|;|\bto\b|–)\s*(?P<high>[^,;–]+?)\s*[\])]")
_WHOLE = re.compile(r"(?:n\s*=\s*)?(\d{1,3}(?:[,\s]\d{3})+|\d{1,12})", re.IGNORECASE)
LONGEST_INTERVAL = 3 * LONGEST_NUMBER + 10  # signs of a cell
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
    header = next((line for line in lines if line.strip()), "")
    if ";" not in header or "," in re.sub(r'"[^"]*"', "", header):
        return csv_rows(path, lines)
    # Spreadsheets write semicolons where a comma is the decimal point. If there are points, a comma parts thousands.
    rows = list(csv_rows(path, lines, ";"))
    points = any(re.search(r"\d\.\d", cell) for _, cells in rows[1:] for cell in cells)
    return ((line, cells if points else [_DECIMAL_COMMA.sub(".", cell) for cell in cells]) for line, cells in rows)


def _markdown(text: str) -> Iterator[LineCells]:
    """The rows of the first table."""
    in_table = False
    for number, line in enumerate(StringIO(text, newline=None), 1):
        if not line.strip().startswith("|"):
            if in_table:
                return
            continue
        in_table = True
        if not _RULE.fullmatch(line):
            cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
            yield number, [re.sub(r"[*`]", "", cell).strip() for cell in cells]


@dataclass(frozen=True)
class _ClaimCell:
    """The numbers of a cell: a value, and its interval if that is beside it."""

    value: CellNumber
    low: CellNumber | None = None
    high: CellNumber | None = None


def _printed_p(number: CellNumber | None) -> PrintedNumber | None:
    return None if number is None else number.printed(per_cent=number.signed)


class _ClaimReader:
    """One file while it is read."""

    def __init__(self, path: Path, header: LineCells, rows: Sequence[LineCells]) -> None:
        self._path = path
        self._rows = rows
        self._columns = [column_of_header(cell) for cell in header[1]]
        self._check(header)

    def table(self) -> ClaimTable:
        skipped_headers = tuple(each.header or "(no name)" for each in self._columns if each.role == "skipped")
        return ClaimTable(self._path.name, tuple(map(self._row, self._rows)), tuple(self._assumed), skipped_headers)

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
        keys: set[tuple[Role, str]] = set()
        for each in self._columns:
            key = (each.role, each.measure.name if each.measure else "")
            if each.role != "skipped" and key in keys:
                raise FormatError(self._path, place, f"duplicate column: {key[1] or each.role} is there twice")
            keys.add(key)

    @cached_property
    def _cells(self) -> dict[tuple[int, int], _ClaimCell]:
        """The numbers of all cells that have one, by line and column."""
        numbers = {}
        for line, cells in self._rows:
            for at, (each, cell) in enumerate(zip(self._columns, cells, strict=True)):
                if each.role in ("value", "low", "high", "p") and cell.strip().lower() not in MISSING:
                    numbers[line, at] = self._cell(line, each, cell)
        return numbers

    def _cell(self, line: int, of: ClaimColumn, cell: str) -> _ClaimCell:
        interval = _INTERVAL.fullmatch(cell.strip()) if len(cell) <= LONGEST_INTERVAL else None
        parts = [cell] if interval is None else [interval["value"], interval["low"], interval["high"]]
        numbers = [number_in_cell(part) for part in parts]
        if None in numbers or any(each and each.below and of.role != "p" for each in numbers):
            raise FormatError(
                self._path, f"line {line}", f"{of.header} is {shortened(cell, 40)!r}, not a number such as 0.35 or 35 %"
            )
        return _ClaimCell(*numbers)  # type: ignore[arg-type]  # none of them is None

    @cached_property
    def _per_cent(self) -> dict[str, bool]:
        """For each measure whether its numbers are in per cent; columns of one measure go together."""
        names = [each.measure.name for each in self._columns if each.role == "value" and each.measure is not None]
        return {name: self._marked(name) or name in self._assumed.values() for name in names}

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
        names_by_header = {}
        for at, each in enumerate(self._columns):
            if each.role != "value" or each.measure is None or each.measure.high == inf or self._marked(each.measure.name):
                continue
            values = [cell.value.number for (_, where), cell in self._cells.items() if where == at and cell.value.number]
            if values and min(values) >= 1 and max(values) >= LIKELY_PER_CENT:
                names_by_header[each.header] = each.measure.name
        return names_by_header

    def _row(self, cells: LineCells) -> ClaimedRow:
        line, texts = cells
        by_role = {each.role: text.strip() for each, text in zip(self._columns, texts, strict=True) if each.measure is None}
        name, system, segment = (by_role.get(role, "") for role in ("name", "system", "segment"))
        label = ", ".join(filter(None, (name, system, segment))) or f"line {line}"
        n = self._n(line, by_role.get("n", ""))
        of_row = (self._cells.get((line, at)) for at, each in enumerate(self._columns) if each.role == "p" and each.measure is None)
        p = next((_printed_p(None if cell is None else cell.value) for cell in of_row), None)
        group, vs = tuple(filter(None, (segment, name if system else ""))), by_role.get("vs") or None
        return ClaimedRow(shortened(label, 80), system or name, group, line, n, vs, p, tuple(self._claims(line)))

    def _n(self, line: int, text: str) -> int | None:
        if text.lower() in MISSING:
            return None
        match = _WHOLE.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
        number = int(re.sub(r"\D", "", match[1])) if match else 0
        if not 1 <= number <= MOST_CASES:
            reason = f"n is {shortened(text, 40)!r}, not a whole number from 1 to {MOST_CASES:,}"
            raise FormatError(self._path, f"line {line}", reason)
        return number

    def _claims(self, line: int) -> Iterator[Claim]:
        for at, column in enumerate(self._columns):
            cell, measure = self._cells.get((line, at)), column.measure
            if column.role != "value" or measure is None or cell is None:
                continue
            beside = {"low": cell.low, "high": cell.high, "p": None} | {
                each.role: self._cells[line, where].value
                for where, each in enumerate(self._columns)
                if each.role in ("low", "high", "p")
                and each.measure
                and each.measure.name == measure.name
                and (line, where) in self._cells
            }
            per_cent = self._per_cent[measure.name]
            low, high = (None if each is None else each.printed(per_cent=per_cent) for each in (beside["low"], beside["high"]))
            yield Claim(measure, column.header, cell.value.printed(per_cent=per_cent), low, high, _printed_p(beside["p"]))
