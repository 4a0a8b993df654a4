"""A number as it was printed, and all that it can have been before it was rounded or truncated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MISSING = {"", "-", "–", "—", "n/a", "na", "nan", "none", "null", "?"}
_NUMBER = re.compile(r"(?P<below>[<≤]?)\s*(?P<number>[+\-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*(?P<sign>%?)")
LONGEST = 30


@dataclass(frozen=True)
class PrintedNumber:
    """``low`` and ``high`` are the least and the most that the number can have been, both included.

    Half a unit of the last digit below it, for one that was rounded up, and a whole unit above it, for one that was truncated.
    The ends are included because floating-point sums end up on either side of them.
    """

    text: str
    value: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class CellNumber:
    """A number as it is in a cell, before it is known whether the column is in per cent."""

    number: Fraction
    unit: Fraction
    text: str
    signed: bool
    below: bool

    def printed(self, *, per_cent: bool) -> PrintedNumber:
        scale = 100 if per_cent else 1
        text = f"{self.text} %" if per_cent else self.text
        number, unit = self.number / scale, self.unit / scale
        if self.below:
            return PrintedNumber(f"< {text}", number, Fraction(0), number)
        if number < 0:  # truncated towards zero
            return PrintedNumber(text, number, number - unit, number + unit / 2)
        return PrintedNumber(text, number, number - unit / 2, number + unit)


def digits(cell: str) -> CellNumber | None:
    """The number in a cell; None if there is none."""
    found = _NUMBER.fullmatch(cell.strip()) if len(cell) <= LONGEST else None
    if not found:
        return None
    text = found["number"].replace("−", "-")
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = Fraction(10) ** (int(exponent or 0) - decimals)
    return CellNumber(Fraction(text.removeprefix("+")), unit, text, bool(found["sign"]), bool(found["below"]))
