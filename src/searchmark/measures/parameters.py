"""The options of measures: which values they take, how they are read, and how they are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import TypeAlias

from searchmark.measures.line_tokens import BYTES_PER_TOKEN, MOST_LINES, MOST_TOKENS, TOKENIZER

Value: TypeAlias = int | float | str

HIGHEST_ERR_GRADE = 60
_PAIR = re.compile(r"\s*(?P<grade>\d{1,9})\s*:\s*(?P<pay>\d{1,15}(?:\.\d{1,15})?)\s*")
_YES_AND_NO = {"true": True, "false": False}


@dataclass(frozen=True)
class Parameter:
    """One option of a measure: its default, which values it takes, and what it does."""

    name: str
    default: Value
    accepts: Callable[[Value], bool]
    wanted: str
    summary: str


def _whole(value: Value, low: int, high: float = inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _number(value: Value, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _share(value: Value) -> bool:
    return _number(value, 0, 1) and value not in (0, 1)


_PERSISTENCE = ("a number between 0 and 1", "persistence of the reader")

PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter("rel", 1, lambda value: _whole(value, 1), "a whole number from 1", "lowest relevant grade"),
        Parameter("gain", "linear", ("linear", "exp").__contains__, "linear or exp", "what a grade g pays: g, or 2^g - 1"),
        Parameter(
            name="gains",
            default="",
            accepts=lambda value: isinstance(value, str) and ":" in value,
            wanted="grades and what they pay, like 0:0,1:1,2:10",
            summary="what each grade pays",
        ),
        Parameter("p", 0.8, _share, *_PERSISTENCE),
        Parameter(
            name="max",
            default=4,
            accepts=lambda value: _whole(value, 1, HIGHEST_ERR_GRADE),
            wanted=f"a whole number from 1 to {HIGHEST_ERR_GRADE}",
            summary="highest grade of the scale",
        ),
        Parameter("credit", "exact", ("exact", "dir").__contains__, "exact or dir", "dir: a directory of a target pays half"),
        Parameter(
            name="judged_only",
            default=False,
            accepts=lambda value: isinstance(value, bool),
            wanted="true or false",
            summary="true: hits without a judgment are removed first",
        ),
        Parameter("recall", 0.0, lambda value: _number(value, 0, 1), "a number from 0 to 1", "share of the relevant targets"),
        Parameter(
            name="beta",
            default=1,
            accepts=lambda value: _number(value, 0, 1e6),
            wanted="a number from 0",
            summary="weight of R beside P",
        ),
        Parameter(
            name="tokens",
            default=0,
            accepts=lambda value: _whole(value, 1, MOST_TOKENS),
            wanted=f"a whole number from 1 to {MOST_TOKENS}",
            summary=f"budget of tokens, counted by {TOKENIZER} (bytes of a line with its end, over {BYTES_PER_TOKEN}, rounded up)",
        ),
        Parameter(
            name="lines",
            default=0,
            accepts=lambda value: _whole(value, 1, MOST_LINES),
            wanted=f"a whole number from 1 to {MOST_LINES}",
            summary="budget of lines",
        ),
        Parameter("alpha", 0.5, lambda value: _number(value, 0, 1), "a number from 0 to 1", "what a repeated aspect pays less"),
    )
}


def parse_value(key: str, raw: str) -> Value:
    """The value of an option as it was written; one that makes no sense is returned as it is, for others to refuse."""
    if key == "gains":
        return _parse_gains(raw)
    if raw.lower() in _YES_AND_NO:
        return _YES_AND_NO[raw.lower()]
    for number in (int, float):
        try:
            return number(raw)
        except ValueError:
            continue
    return raw


def _parse_gains(raw: str) -> str:
    """Grades and what they pay, by grade; empty where they cannot be read or a grade comes twice."""
    pairs = [_PAIR.fullmatch(pair) for pair in raw.strip("{}").split(",")]
    known = {int(pair["grade"]): float(pair["pay"]) for pair in pairs if pair}
    return ",".join(f"{grade}:{_written(pay)}" for grade, pay in sorted(known.items())) if len(known) == len(pairs) else ""


def _written(pay: float) -> str:
    """All digits of a gain, without an exponent, so that the printed name of a measure means the same when it is read."""
    return f"{Decimal(repr(pay)):f}".removesuffix(".0")


def shown(value: Value) -> str:
    """A value as it is written in the name of a measure."""
    return str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")


def separate_options(text: str) -> list[str]:
    """The options of ``rel=2,gains=0:0,1:1``: a piece without a name continues the one before it."""
    items: list[str] = []
    for piece in text.split(","):
        if items and "=" not in piece and ":" in piece:
            items[-1] += f",{piece}"
        else:
            items.append(piece)
    return [item for item in items if item.strip()]
