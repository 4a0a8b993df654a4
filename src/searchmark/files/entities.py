"""Entities of HTML in a stranger's text."""

from __future__ import annotations

import re
from html import unescape

_NO_CHARACTER = re.compile(r"&#[0-9]{20,}+;?")  # Python refuses to make a number of thousands of digits
_REPLACEMENT = "\ufffd"  # what HTML makes of a number that is no character


def unescaped(text: str) -> str:
    """The text with characters in place of entities, as browsers read it."""
    return unescape(_NO_CHARACTER.sub(_REPLACEMENT, text)) if "&" in text else text
