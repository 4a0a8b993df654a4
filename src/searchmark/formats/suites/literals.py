"""Literals of JavaScript and TypeScript, and with them JSON: read as data with its positions, never executed.

Strings (a template without ``${``), numbers, true, false, null, lists and objects, with comments, trailing commas, keys
without quotes, ``as const`` and ``satisfies Type``. Anything else is refused with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from searchmark.errors import FormatError, shortened
from searchmark.files.plain_data import DEEPEST, TOO_DEEP
from searchmark.suites.spans import ListSpan, MappingSpan, MemberSpan, ScalarSpan, Span, line_of

_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?(?![\w$.])")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_CAST = re.compile(r"(?:as|satisfies)\s+(?:readonly\s+)?[A-Za-z_$][\w$.]*(?:<[^<>;=]*>)?(?:\[\])*(?![\w$])")
_STRINGS = {
    '"': re.compile(r'"((?:[^"\\\r\n]++|\\(?:\r\n|.))*+)"', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\\r\n]++|\\(?:\r\n|.))*+)'", re.DOTALL),
    "`": re.compile(r"`((?:[^`\\]++|\\(?:\r\n|.))*+)`", re.DOTALL),
}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r": "", "\r\n": ""}
_ODD_ESCAPE = re.compile(r"\\(?:[1-9]|0\d|[ux])")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_LAST_CODE_POINT = 0x10FFFF
KNOWN = "strings, numbers, true, false, null, lists and objects"


@dataclass(frozen=True)
class LiteralReader:
    """Reads one literal after the other from a text; ``path`` is for errors."""

    path: str
    text: str

    def error(self, position: int, reason: str) -> FormatError:
        return FormatError(self.path, f"line {line_of(self.text, position)}", reason)

    def odd(self, position: int) -> FormatError:
        """The error about what is no literal, with the beginning of it."""
        shown = self.text[position:].split("\n", 1)[0].strip()
        if not shown:
            return self.error(len(self.text.rstrip()), "the text ends in the middle of a literal")
        return self.error(position, f"{shortened(shown, 40)!r} is not a literal; only {KNOWN} are read, and nothing is executed")

    def skip(self, position: int) -> int:
        """Past blanks and comments."""
        found = _BLANK.match(self.text, position)
        return found.end() if found else position

    def value(self, position: int, depth: int = 0) -> Span:
        """The literal that begins here; a cast behind it is passed over by whoever asks for what follows."""
        if depth > DEEPEST:
            raise self.error(position, TOO_DEEP)
        first = self.text[position : position + 1]
        if first == "[":
            return self._list(position, depth)
        if first == "{":
            return self._object(position, depth)
        if first in _STRINGS:
            return self._string(position)
        return self._number_or_word(position)

    def after(self, span: Span) -> int:
        """Where the text continues behind a literal, past casts, blanks and comments."""
        position = self.skip(span.end)
        while found := _CAST.match(self.text, position):
            position = self.skip(found.end())
        return position

    def _list(self, start: int, depth: int) -> ListSpan:
        items: list[Span] = []
        position = self.skip(start + 1)
        while self.text[position : position + 1] != "]":
            items.append(self.value(position, depth + 1))
            position = self._next(self.after(items[-1]), "]")
        return ListSpan(start, position + 1, tuple(items))

    def _object(self, start: int, depth: int) -> MappingSpan:
        members: dict[str, MemberSpan] = {}
        position = self.skip(start + 1)
        while self.text[position : position + 1] != "}":
            member = self._member(position, depth)
            if members.setdefault(member.key, member) is not member:
                raise self.error(position, f"duplicate key {member.key!r}")
            position = self._next(self.after(member.value), "}")
        return MappingSpan(start, position + 1, tuple(members.values()))

    def _member(self, start: int, depth: int) -> MemberSpan:
        key, end = self._key(start)
        colon = self.skip(end)
        if self.text[colon : colon + 1] != ":":
            raise self.odd(start)
        return MemberSpan(start, key, self.value(self.skip(colon + 1), depth + 1))

    def _key(self, start: int) -> tuple[str, int]:
        if self.text[start : start + 1] in ('"', "'"):
            named = self._string(start)
            return named.value, named.end
        found = _WORD.match(self.text, start) or _NUMBER.match(self.text, start)
        if not found:
            raise self.odd(start)
        return found[0], found.end()

    def _next(self, position: int, closing: str) -> int:
        """Where the next item begins, or the closing bracket is."""
        following = self.text[position : position + 1]
        if following == ",":
            return self.skip(position + 1)
        if following != closing:
            raise self.odd(position)
        return position

    def _string(self, start: int) -> ScalarSpan:
        quote = self.text[start]
        found = _STRINGS[quote].match(self.text, start)
        if not found:
            raise self.error(start, "a string is not closed")
        if quote == "`" and re.search(r"(?<!\\)(?:\\\\)*\$\{", found[1]):
            raise self.error(start, "a template with ${} is not a literal; write the text itself")
        return ScalarSpan(start, found.end(), self._unescaped(start, found[1]))

    def _unescaped(self, start: int, inner: str) -> str:
        if "\\" not in inner:
            return inner
        text = _ESCAPE.sub(lambda found: self._character(start, found), inner)
        # Two halves of one character, as \ud83d\ude00, are one; what is only a half stays one.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if _has_pair(text) else text

    def _character(self, start: int, found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        following = found.string[found.start() : found.start() + 3]
        if (digits is None and _ODD_ESCAPE.match(following)) or (digits and int(digits, 16) > _LAST_CODE_POINT):
            raise self.error(start, f"{following!r} is not an escape that a string can have")
        return chr(int(digits, 16)) if digits else _ESCAPED.get(found[4], found[4])

    def _number_or_word(self, start: int) -> ScalarSpan:
        found = _NUMBER.match(self.text, start)
        if found:
            whole = not found["fraction"] and not found["exponent"]
            return ScalarSpan(start, found.end(), self._whole(start, found[0]) if whole else float(found[0]))
        word = _WORD.match(self.text, start)
        if not word or word[0] not in _WORDS:
            raise self.odd(start)
        return ScalarSpan(start, word.end(), _WORDS[word[0]])

    def _whole(self, start: int, digits: str) -> int:
        try:
            return int(digits)
        except ValueError as error:  # thousands of digits
            raise self.error(start, "a number has too many digits") from error


def _has_pair(text: str) -> bool:
    return re.search("[\ud800-\udbff][\udc00-\udfff]", text) is not None
