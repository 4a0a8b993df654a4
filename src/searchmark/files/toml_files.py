"""TOML, with keys and values that are nested to a bound."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.plain_data import DEEPEST, TOO_DEEP, check_plain, dates_as_text, is_too_deep

# Every character belongs to one piece, and no piece is looked at twice: strings (an open one ends with the text), comments,
# what keys are made of, dots, and all else one by one.
_PIECE = re.compile(
    r'''(?P<part>"""(?:[^"\\]|\\(?:.|\Z)|"(?!""))*+(?:"""|\Z)|\'\'\'(?:[^']|'(?!''))*+(?:\'\'\'|\Z)'''
    r"""|"(?:[^"\\\n]|\\(?:.|\Z))*+(?:"|\n|\Z)|'[^'\n]*+(?:'|\n|\Z)|[A-Za-z0-9_-]++|[ \t]++)|(?P<dot>\.)|#[^\n]*+|.""",
    re.DOTALL,
)


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Plain data, dates and times as text. Keys with many dots are refused unread: each dot costs more than the one before it."""
    if _longest_key(text) > DEEPEST:
        raise FormatError(path, None, f"not valid TOML: a key has more than {DEEPEST} dots")
    try:
        data = tomllib.loads(text)
    except RecursionError as error:
        raise FormatError(path, None, TOO_DEEP) from error
    except ValueError as error:  # a number with thousands of digits is no TOMLDecodeError
        raise FormatError(path, None, f"not valid TOML: {error}") from error
    if is_too_deep(data):
        raise FormatError(path, None, TOO_DEEP)
    plain: dict[str, Any] = dates_as_text(data)
    check_plain(path, plain)
    return plain


def _longest_key(text: str) -> int:
    """The most dots that stand between parts of one key; those in strings, comments and numbers do not count."""
    longest = dots = 0
    for piece in _PIECE.finditer(text):
        if piece["dot"]:
            dots += 1
            longest = max(longest, dots)
        elif not piece["part"]:
            dots = 0
    return longest
