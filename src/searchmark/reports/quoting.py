"""Text from queries, ids and files comes from strangers: made harmless before it meets a terminal or a page."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

# Control and format characters (terminal codes, bidirectional overrides) and lone surrogates.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")
# What GitHub makes links of without any markup: addresses, e-mail addresses and mentions, numbers of issues.
_LINKED = re.compile(r"(?i)(?<=www)(?=\.)|(?<=@)(?=[a-z]|[\w-]+\.\w)|(?<=:)(?=//)|(?<=#)(?=\d)")
# What CI systems take for commands: at the beginning of a line, or anywhere in it.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.MULTILINE)
_AS_IT_IS = json.JSONEncoder(ensure_ascii=False)
_BREAK = "\u200b"  # a space without width
# The first letter, blanks aside, of what spreadsheets take for formulas, also in full width; CI commands; and our own quote.
_QUOTED_IN_CSV = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|\s*::|\s*##(?:\[|vso\[|teamcity\[)|'")

# What means something to XML (the third for the sake of ]]>), and the two visible characters that it does not have.
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\ufffe": r"\ufffe", "\uffff": r"\uffff"})


def visible(text: str, width: int | None = None) -> str:
    """The text on one line, anything invisible written out as an escape, cut to ``width``."""
    # Nearly every text is printable, which rules out all that is unseen, and takes a hundredth of the time to find out.
    shown = text if text.isprintable() else "".join(_escape(char) if _unseen(char) else char for char in text)
    return shown if width is None or len(shown) <= width else shown[: width - 1] + "…"


def _unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN


def _escape(char: str) -> str:
    return " " if char in "\t\n\r" else char.encode("unicode_escape").decode()


def without_commands(text: str) -> str:
    """Lines that no CI system takes for commands to itself."""
    return _COMMAND.sub(lambda found: found[0] + _BREAK, text)


def markdown_text(text: str, width: int | None = None) -> str:
    """The text for a Markdown cell: no markup, no pipe, no link, no mention, no command of a CI system."""
    unlinked = _LINKED.sub(_BREAK, visible(text, width)).replace("::", f":{_BREAK}:")
    return _MARKDOWN.sub(r"\\\1", unlinked)


def xml_text(text: str) -> str:
    """The text for XML, in an element or a quoted attribute: on one line, without characters that XML 1.0 does not have."""
    return visible(text).translate(_XML)


def csv_text(text: str) -> str:
    """The text for a CSV cell: behind an apostrophe where a spreadsheet or a CI system would obey it.

    A text that begins with an apostrophe gets another one, so whoever takes one off has the text as it was.
    """
    shown = visible(text)
    return f"'{shown}" if _QUOTED_IN_CSV.match(shown) else shown


def json_cell(texts: Sequence[str]) -> str:
    """A list in one cell: a JSON array, which is no formula whatever it holds, and gives back every text as it was.

    What cannot be seen, and what CI systems obey, is escaped as JSON escapes it.
    """
    written = _AS_IT_IS.encode(texts)
    return (written if written.isprintable() else json.dumps(texts)).replace("##", r"#\u0023")
