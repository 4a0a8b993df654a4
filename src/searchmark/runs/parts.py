"""What a file tells of ids, scores and ranks: checked, each with its place in the file."""

from __future__ import annotations

import math
import re
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.runs.source import RunFile

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)


def id_of(file: RunFile, place: str, value: Any) -> str:
    """An id: text, or a whole number as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise file.error(place, f"{_shown(value)} is not an id")
    return value


def score_of(file: RunFile, place: str, value: Any, what: str = "score") -> float:
    """A finite number; NaN where there is none."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise file.error(place, f"the {what} {_shown(value)} is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise file.error(place, f"the {what} is too large; {what}s must be finite numbers") from None
    if not math.isfinite(number):
        raise file.error(place, f"the {what} is {number}; {what}s must be finite numbers")
    return number


def written_number(file: RunFile, place: str, text: str, what: str) -> float:
    """A number as CSV has it; NaN where the field is empty."""
    text = text.strip()
    if not text:
        return math.nan
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    raise FormatError(file.path, place, f"the {what} {_shown(text)} is not a finite number")


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
