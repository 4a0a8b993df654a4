"""Text from queries, ids and files comes from strangers: made harmless before it meets a terminal or a page."""

from __future__ import annotations

import re
import unicodedata

# Control and format characters (terminal codes, bidirectional overrides) and lone surrogates.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MENTION = re.compile(r"@(?=[A-Za-z])")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")


def visible(text: str, width: int | None = None) -> str:
    """The text on one line, anything invisible written out as an escape, cut to ``width``."""
    shown = "".join(_escape(char) if unicodedata.category(char) in _UNSEEN else char for char in text)
    return shown if width is None or len(shown) <= width else shown[: width - 1] + "…"


def _escape(char: str) -> str:
    return " " if char in "\t\n\r" else char.encode("unicode_escape").decode()


def markdown_text(text: str, width: int | None = None) -> str:
    """The text for a Markdown cell: no markup, no pipe, no mention, no command of a CI system."""
    quoted = _MARKDOWN.sub(r"\\\1", visible(text, width))
    return _MENTION.sub("@\u200b", quoted).replace("::", ":\u200b:").replace("://", ":\u200b//")


def csv_text(text: str) -> str:
    """The text for a CSV cell: a spreadsheet must not take it for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
