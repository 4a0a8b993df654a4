"""Text as UTF-8 can hold it."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The text with a question mark for every lone surrogate.

    Bytes of a file that were not UTF-8 survive in memory as such; JSON, SQLite and tokenizers refuse them.
    """
    return text.encode("utf-8", "replace").decode("utf-8")
