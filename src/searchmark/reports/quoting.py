"""Makes text of strangers harmless before it meets a terminal, a page or a file. Apart for security."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence

# Control and format characters (terminal codes, bidirectional overrides) and lone surrogates.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")


# What begins a list, a rule or a heading at the beginning of a line.
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


# What GitHub makes links of without any markup: addresses, e-mail addresses and mentions (a user's name may begin with a
# digit, and no letter is before it, as in P@5), numbers of issues, and names of commits.
_LINKED = re.compile(
    r"(?i)(?<=www)(?=\.)|(?<=@)(?=[a-z]|[\w-]+\.\w)|(?<=@)(?<!\w@)(?=\d)|(?<=:)(?=//)|(?<=#)(?=\d)"
    r"|(?<=\bgh-)(?=\d)|(?<=\b[0-9a-f]{7})(?=[0-9a-f]{33}\b)"
)


# What CI systems take for commands: at the beginning of a line, or anywhere in it.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.MULTILINE)

LONGEST_SENTENCE = 2_000  # that people read; the JSON has all of it

_AS_IT_IS = json.JSONEncoder(ensure_ascii=False)

_BREAK = "\u200b"  # a space without width

_NON_JOINER, _JOINER, _AS_EMOJI, _SKIN_TONES = "\u200c", "\u200d", "\ufe0f", "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"

_VIRAMA = 9  # the class of signs behind which Indic scripts have joiners


# Arabic letters that are never joined to the next one, so that a non-joiner behind them shows nothing.
_NEVER_JOINED = (
    "\u0621\u0622\u0623\u0624\u0625\u0627\u0629\u062f\u0630\u0631\u0632\u0648"
    "\u0671\u0688\u0691\u0698\u06c0\u06c3\u06cb\u06d2\u06d3\u06d5"
)


# The first letter, blanks aside, of what spreadsheets take for formulas, also in full width; CI commands; and our own quote.
_QUOTED_IN_CSV = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|\s*::|\s*##(?:\[|vso\[|teamcity\[)|'")


# What means something to XML (the third for the sake of ]]>), and the two visible characters that it does not have.
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\ufffe": r"\ufffe", "\uffff": r"\uffff"})


def visible(text: str, width: int | None = None) -> str:
    """The text on one line, anything invisible written out as an escape, cut to ``width``."""
    # Nearly every text is printable, which rules out all that is unseen, and takes a hundredth of the time to find out.
    line = text if text.isprintable() else "".join(_shown(text, at) for at in range(len(text)))
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def _shown(text: str, at: int) -> str:
    char = text[at]
    return _escape(char) if unicodedata.category(char) in _UNSEEN and not _joins(text, at) else char


def _joins(text: str, at: int) -> bool:
    """Whether a joiner or non-joiner is part of how a word or an emoji is written: elsewhere it makes two ids look the same."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] not in (_NON_JOINER, _JOINER) or not before or not after:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return unicodedata.category(after) == "Lo"
    if text[at] == _NON_JOINER:
        return _is_arabic(before) and _is_arabic(after) and before not in _NEVER_JOINED
    return _is_emoji(after) and (_is_emoji(before) or before == _AS_EMOJI or before in _SKIN_TONES)


def _is_arabic(char: str) -> bool:
    return unicodedata.bidirectional(char) == "AL"


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) == "So"


def _escape(char: str) -> str:
    return " " if char in "\t\n\r" else char.encode("unicode_escape").decode()


def without_commands(text: str) -> str:
    """Lines that no CI system takes for commands to itself."""
    return _COMMAND.sub(lambda match: match[0] + _BREAK, text)


def markdown_text(text: str, width: int | None = None) -> str:
    """The text for a Markdown cell: no markup, no pipe, no link, no mention, no command of a CI system."""
    unlinked_text = _LINKED.sub(_BREAK, visible(text, width)).replace("::", f":{_BREAK}:")
    return _MARKDOWN.sub(r"\\\1", unlinked_text)


def markdown_line(text: str, width: int | None = None) -> str:
    """The text for a line of its own or an item of a list: no list, rule or heading begins with it either."""
    return _BLOCK.sub(r"\1\\\2", markdown_text(text, width).lstrip())


def xml_text(text: str) -> str:
    """The text for XML, in an element or a quoted attribute: on one line, without characters that XML 1.0 does not have."""
    return visible(text).translate(_XML)


def html_in_markdown(text: str) -> str:
    """The text for an HTML element in Markdown, of which GitHub makes links and mentions, too."""
    return _LINKED.sub(_BREAK, visible(text)).replace("::", f":{_BREAK}:").translate(_XML)


def csv_text(text: str) -> str:
    """The text for a CSV cell: behind an apostrophe where a spreadsheet or a CI system would obey it.

    A text that begins with an apostrophe gets another one, so whoever takes one off has the text as it was.
    """
    line = visible(text)
    return f"'{line}" if _QUOTED_IN_CSV.match(line) else line


def json_cell(texts: Sequence[str]) -> str:
    """A list in one cell: a JSON array, which is no formula whatever it holds, and gives back every text as it was.

    What cannot be seen, and what CI systems obey, is escaped as JSON escapes it.
    """
    array = _AS_IT_IS.encode(texts)
    return (array if array.isprintable() else json.dumps(texts)).replace("##", r"#\u0023")
