"""What a file tells of ids, scores and ranks: checked, each with its place in the file."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
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


def refuse_two_rankings(file: RunFile, case: str, ranks: Sequence[float], ids: Sequence[str]) -> None:
    """Refuse ranks that start again, or that all come twice: put in order, they would shuffle pages or systems into each other."""
    at_rank: dict[float, list[str]] = {}
    for rank, hit in zip(ranks, ids, strict=True):
        if hit not in (others := at_rank.setdefault(rank, [])):
            others.append(hit)
    lowest = min(at_rank, default=0.0)
    steps_back = {later for earlier, later in pairwise(ranks) if later < earlier}
    again = steps_back == {lowest} and len(at_rank[lowest]) > 1
    twice = len(at_rank) > 1 and all(len(hits) > 1 for hits in at_rank.values())
    if again or twice:
        first, second = map(_shown, at_rank[lowest][:2])
        raise file.error(
            shortened(case, 60),
            f"has two rankings: {first} and {second} are both at rank {lowest:g}; if these are several systems, name the column "
            "that tells them apart with --map run.agent=COLUMN; if they are pages, number the hits through",
        )


def two_queries(file: RunFile, case: str, one: str, other: str) -> FormatError:
    """What is called a case and asks several things is none: a topic or a category, for instance."""
    return file.error(
        shortened(case, 60),
        f"asks both {_shown(one)} and {_shown(other)}, so it is not one case; name the column that tells cases apart, which may be "
        "that of the query, with --map run.case=COLUMN",
    )


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
