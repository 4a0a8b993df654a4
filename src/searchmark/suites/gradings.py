"""Grades as files have them: whole numbers, fractions, or words that somebody says the worth of.

Words that nobody explained are counted while a file is read, and named together at its end: one error tells them all.
"""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.records import Judgment, Match
from searchmark.records.shown import listed
from searchmark.suites.source import HIGHEST_NUMBER, Entry, Source

SHOWN = 10
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
ESCI = {"E": 3, "S": 2, "C": 1, "I": 0}  # exact, substitute, complement, irrelevant
GRADED = ("table", "quepid", "opensearch", "rank-eval", "beir", "mteb", "labels", "ltr", "rre")  # formats that may have words


class Gradings:
    """Reads the grades of one file."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        self._worth = source.grades
        self._unknown: Counter[str] = Counter()
        self._names: dict[str, None] = {}

    def judgment(self, entry: Entry, target: str, *names: str, match: Match = "id") -> Judgment:
        """What a target is worth by the first of these names that the entry has."""
        return Judgment.of_gain(target, self.value(entry, *names), match)

    def value(self, entry: Entry, *names: str) -> float:
        name, value = entry.named(*names)
        return self.worth(entry, name, value)

    def worth(self, entry: Entry, name: str, value: Any) -> float:
        """What is written, as a number; ``name`` is where."""
        if value is None:
            raise entry.error(name, "is missing")
        written = str(value).lower() if isinstance(value, bool) else str(value).strip()
        if written in self._worth:
            return self._worth[written]
        number = _number(value)
        if number is not None:
            if not isfinite(number) or abs(number) > HIGHEST_NUMBER:
                raise entry.error(name, f"{shortened(written, 60)!r} is not a number of at most nine digits")
            return number
        if not isinstance(value, str | bool) or not written:
            raise entry.error(name, f"{shortened(repr(value), 60)} is neither a number nor a word")
        if _DECIMAL_COMMA.fullmatch(written):
            raise entry.error(name, f"{shortened(written, 60)!r} has a decimal comma; write it with a point")
        self._unknown[written] += 1
        self._names[name] = None
        return 0.0

    def check(self) -> None:
        """Refuse the file if it has words that nobody explained; to be called when all of it is read."""
        if not self._unknown:
            return
        counted = [f"{shortened(word, 40)!r} ({count}×)" for word, count in self._unknown.most_common()]
        words = [shortened(" ".join(word.split()), 20) for word, _ in self._unknown.most_common(4)]
        meant = f"--grades {','.join(f'{word}={worth}' for word, worth in ESCI.items())}"
        if not self._unknown.keys() <= ESCI.keys():
            more = ",…" if len(self._unknown) > len(words) else ""
            meant = f"--grades {','.join(f'{word}=NUMBER' for word in words)}{more}"
        reason = f"holds grades that are not numbers: {listed(counted, SHOWN)}; say what they are worth: {meant}"
        raise FormatError(self._path, ", ".join(self._names), reason)


def _number(value: Any) -> float | None:
    """A number, also where it is written as text; anything else not at all."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value) if "_" not in str(value) else None
    except (ValueError, OverflowError):
        return None
