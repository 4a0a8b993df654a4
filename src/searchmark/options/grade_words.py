"""Grades that are written as words or letters, as ``--grades`` says what they are worth: ``E=3,S=2,C=1,I=0``."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from searchmark.errors import UsageError

GRADES_HELP = "What grades that are words are worth, by commas: E=3,S=2,C=1,I=0 or good=1,bad=0; fractions are allowed."
_HOW = "write it like E=3,S=2,C=1,I=0"


def parse_grade_words(text: str | None) -> dict[str, float]:
    """Read ``E=3,S=2``: each word once, each worth a number."""
    found: dict[str, float] = {}
    for item in (text or "").split(","):
        if not item.strip() and text is None:
            continue
        word, separator, number = (part.strip() for part in item.rpartition("="))
        if not separator or not word:
            raise UsageError(f"--grades {text!r} cannot be read; {_HOW}")
        if word in found:
            raise UsageError(f"--grades names {word!r} twice; {_HOW}")
        found[word] = _number(word, number)
    return found


def check_grade_words(words: Mapping[str, float]) -> dict[str, float]:
    """The same from Python: every word is text, and worth a finite number."""
    return {str(word): _number(str(word), value) for word, value in words.items()}


def _number(word: str, value: str | float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise UsageError(f"the grade {word!r} is worth {value!r}, which is not a number; {_HOW}")
    return number
