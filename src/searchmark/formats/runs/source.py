"""A file that runs are read from, and checks of the ids, scores and ranks in it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.formats.input_file import InputFile
from searchmark.io.data import parse_json
from searchmark.records.dataframes import RUN_COLUMN_NAMES, normalize_name

# A file on its way to becoming a run: read once, parsed once, with the names that --map gives its fields.

HEAD_SIZE = 1 << 16  # bytes that tell the format: the header of a CSV may name a hundred columns


@lru_cache(maxsize=4096)
def first_named(names: tuple[str, ...], words: tuple[str, ...]) -> str | None:
    """The first of some names that is one of the words, in the order of the words."""
    by_word = {normalize_name(name): name for name in reversed(names)}
    return next((by_word[word] for word in map(normalize_name, words) if word in by_word), None)


@dataclass(frozen=True, eq=False)
class RunFile(InputFile):
    """One file or folder that runs are read from."""

    format_given: bool = False  # by a user, who knows better than what a file looks like

    @cached_property
    def head(self) -> bytes:
        return self.start(HEAD_SIZE).lstrip()

    @cached_property
    def data(self) -> Any:
        """The content of a JSON file; NaN is let in, and refused with its place where it is a score."""
        return parse_json(self.path, self.text, constants=True)

    @cached_property
    def by_line(self) -> bool:
        """Whether every line is a separate JSON value, by the name of the file or by its first two lines."""
        first, separator, rest = self.head.partition(b"\n")
        if not separator or not rest.strip():
            return self.extension in {".jsonl", ".ndjson"}
        return first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")

    def column(self, role: str, names: tuple[str, ...], words: tuple[str, ...] | None = None) -> str | None:
        """Which of some names has a role: the one that was given for it, or one that says so; None if none does."""
        name = self.field_names.get(role)
        if name is None:
            return first_named(names, RUN_COLUMN_NAMES[role] if words is None else words)
        if name not in names:
            raise FormatError(
                self.path, None, f"has no field {name!r}, which --map run.{role} names; it has {', '.join(map(repr, names))}"
            )
        return name


# What a file tells of ids, scores and ranks: checked, each with its place in the file.

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


def parse_number(file: RunFile, place: str, text: str, what: str) -> float:
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


def two_queries_error(file: RunFile, case: str, one: str, other: str) -> FormatError:
    """What is called a case and asks several things is none: a topic or a category, for instance."""
    return file.error(
        shortened(case, 60),
        f"asks both {_shown(one)} and {_shown(other)}, so it is not one case; name the column that tells cases apart, which may be "
        "that of the query, with --map run.case=COLUMN",
    )


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
