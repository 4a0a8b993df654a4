"""Text as UTF-8 can hold it."""

from __future__ import annotations

import os
import sys


def encodable(text: str) -> str:
    """The text with a question mark for every lone surrogate.

    Bytes of a file that were not UTF-8 survive in memory as such; JSON, SQLite and tokenizers refuse them.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened_bytes(text: str, count: int) -> str:
    """The beginning of a text, in whole characters: names of files are bounded in bytes, of which a character may have four."""
    return os.fsencode(text)[:count].decode(sys.getfilesystemencoding(), "ignore")
