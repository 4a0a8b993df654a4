"""TypeScript, JavaScript and JSON literals with their positions. The code is read and never executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from searchmark.errors import FormatError, shortened
from searchmark.io.data import DEEPEST_NESTING, TOO_DEEP, check_plain

# Data that knows which characters of its text it was read from, so that one value can be changed and nothing else.
#
# ``start`` and ``end`` are positions in the text; a string has its quotes within, a list its brackets.


@dataclass(frozen=True)
class ScalarSpan:
    """A text, number, boolean or null."""

    start: int
    end: int
    value: Any


@dataclass(frozen=True)
class ListSpan:
    """A list and its items."""

    start: int
    end: int
    items: tuple[Span, ...]


@dataclass(frozen=True)
class MemberSpan:
    """A key of a mapping, where it begins, and its value."""

    start: int
    key: str
    value: Span


@dataclass(frozen=True)
class MappingSpan:
    """A mapping and its members in their order."""

    start: int
    end: int
    members: tuple[MemberSpan, ...]


Span: TypeAlias = ScalarSpan | ListSpan | MappingSpan


def value_of_span(span: Span) -> Any:
    """The data without its positions."""
    if isinstance(span, ListSpan):
        return [value_of_span(item) for item in span.items]
    if isinstance(span, MappingSpan):
        return {member.key: value_of_span(member.value) for member in span.members}
    return span.value


def line_of(text: str, position: int) -> int:
    """The number of the line, from 1, that a character is in."""
    return text.count("\n", 0, position) + 1


def indent_before(text: str, position: int) -> str | None:
    """The blanks between the beginning of the line and a character; None if there is anything else."""
    begin = text.rfind("\n", 0, position) + 1
    blanks = text[begin:position]
    return blanks if not blanks.strip(" \t") else None


def line_end(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


# Literals of JavaScript and TypeScript, and with them JSON: read as data with its positions, never executed.
#
# Strings (a template without ``${``), numbers, true, false, null, lists and objects, with comments, trailing commas, keys
# without quotes, ``as const`` and ``satisfies Type``. Anything else is refused with its line.

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

LITERALS_IN_WORDS = "strings, numbers, true, false, null, lists and objects"


@dataclass(frozen=True)
class LiteralReader:
    """Reads one literal after the other from a text; ``path`` is for errors."""

    path: str
    text: str

    def error(self, position: int, reason: str) -> FormatError:
        return FormatError(self.path, f"line {line_of(self.text, position)}", reason)

    def odd(self, position: int) -> FormatError:
        """The error about what is no literal, with the beginning of it."""
        line = self.text[position:].split("\n", 1)[0].strip()
        if not line:
            return self.error(len(self.text.rstrip()), "the text ends in the middle of a literal")
        return self.error(
            position, f"{shortened(line, 40)!r} is not a literal; only {LITERALS_IN_WORDS} are read, and nothing is executed"
        )

    def skip(self, position: int) -> int:
        """Past blanks and comments."""
        match = _BLANK.match(self.text, position)
        return match.end() if match else position

    def value(self, position: int, depth: int = 0) -> Span:
        """The literal that begins here; a cast behind it is skipped when the next token is read."""
        if depth > DEEPEST_NESTING:
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
        while match := _CAST.match(self.text, position):
            position = self.skip(match.end())
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
            span = self._string(start)
            return span.value, span.end
        match = _WORD.match(self.text, start) or _NUMBER.match(self.text, start)
        if not match:
            raise self.odd(start)
        return match[0], match.end()

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
        match = _STRINGS[quote].match(self.text, start)
        if not match:
            raise self.error(start, "a string is not closed")
        if quote == "`" and re.search(r"(?<!\\)(?:\\\\)*\$\{", match[1]):
            raise self.error(start, "a template with ${} is not a literal; write the text itself")
        return ScalarSpan(start, match.end(), self._unescaped(start, match[1]))

    def _unescaped(self, start: int, inner: str) -> str:
        if "\\" not in inner:
            return inner
        text = _ESCAPE.sub(lambda match: self._character(start, match), inner)
        # Two halves of one character, as \ud83d\ude00, are one; what is only a half stays one.
        has_pair = re.search("[\ud800-\udbff][\udc00-\udfff]", text)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if has_pair else text

    def _character(self, start: int, match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        following = match.string[match.start() : match.start() + 3]
        if (digits is None and _ODD_ESCAPE.match(following)) or (digits and int(digits, 16) > _LAST_CODE_POINT):
            raise self.error(start, f"{following!r} is not an escape that a string can have")
        return chr(int(digits, 16)) if digits else _ESCAPED.get(match[4], match[4])

    def _number_or_word(self, start: int) -> ScalarSpan:
        number = _NUMBER.match(self.text, start)
        if number:
            whole = not number["fraction"] and not number["exponent"]
            return ScalarSpan(start, number.end(), self._whole(start, number[0]) if whole else float(number[0]))
        word = _WORD.match(self.text, start)
        if not word or word[0] not in _WORDS:
            raise self.odd(start)
        return ScalarSpan(start, word.end(), _WORDS[word[0]])

    def _whole(self, start: int, digits: str) -> int:
        try:
            return int(digits)
        except ValueError as error:  # thousands of digits
            raise self.error(start, "a number has too many digits") from error


# Cases in a TypeScript or JavaScript file: ``export const BENCHMARK_CASES: BenchmarkCase[] = [...]``, read and never executed.

CASES_CONSTANTS = ("BENCHMARK_CASES", "TEST_CASES", "CASES", "QUERIES")


# At the beginning of a line, as what a file exports is.
_CONSTANT = re.compile(rf"^(?:export[ \t]+)?const[ \t]+({'|'.join(CASES_CONSTANTS)})\b", re.MULTILINE)


# What may hold anything, and the brackets by which the end of ${} in a template is found. A slash begins a regular expression
# where a value may begin.
_TOKEN = re.compile(
    r"""//[^\r\n]*+|/\*.*?\*/|"(?:[^"\\\r\n]|\\.)*+"|'(?:[^'\\\r\n]|\\.)*+'|[`{}]"""
    r"""|(?<=[(,=:\[!&|?{};+])[ \t]*/(?![*/])(?:[^/\\\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*+\])++/""",
    re.DOTALL,
)

_IN_TEMPLATE = re.compile(r"\\.|`|\$\{", re.DOTALL)

_ASSIGNS = re.compile(r"=(?![=>])")


# What would make something else of a literal if it followed one.
_CONTINUES = re.compile(r"[.\[(+\-*/%?&|^=<>`]|(?:in|instanceof|as|satisfies)\b")

_PART = r"\s*+!?\s*+(?:\??\.\s*+[A-Za-z_$][\w$]*+|(?:\?\.\s*+)?\[[^\]]*+\])"

_CHANGES = "push|unshift|splice|pop|shift|sort|reverse|fill|copyWithin"


@dataclass(frozen=True)
class ScriptCases:
    """The list of cases, and where its declaration begins."""

    start: int
    cases: ListSpan


def script_cases(path: Path, text: str) -> ScriptCases:
    """The one constant of the file that holds the cases."""
    texts = list(_text_spans(text))
    declarations = [match for match in _CONSTANT.finditer(text) if not any(start <= match.start() < end for start, end in texts)]
    if not declarations:
        raise FormatError(path, None, f"holds no cases; they are read from 'export const {CASES_CONSTANTS[0]} = [...]'")
    if len(declarations) > 1:
        raise FormatError(path, f"line {line_of(text, declarations[1].start())}", f"{declarations[1][1]} is a second list of cases")
    return ScriptCases(declarations[0].start(), _assigned_list(LiteralReader(str(path), text), declarations[0]))


def _text_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where comments of several lines and templates are: what looks like code in them is none."""
    inside: list[tuple[str, int]] = []  # templates and brackets that are open
    position = 0
    while True:
        in_template = bool(inside) and inside[-1][0] == "`"
        match = (_IN_TEMPLATE if in_template else _TOKEN).search(text, position)
        if match is None:
            return
        token, position = match[0], match.end()
        if token == ("`" if in_template else "}") and inside:
            opener, start = inside.pop()
            if opener == "`":
                yield start, position
        elif token in ("`", "{", "${"):
            inside.append((token, match.start()))
        elif token.startswith("/*"):
            yield match.span()


def _assigned_list(reader: LiteralReader, declaration: re.Match[str]) -> ListSpan:
    assigns = _ASSIGNS.search(reader.text, declaration.end())
    if not assigns:
        raise reader.error(declaration.start(), f"{declaration[1]} has no value")
    start = reader.skip(assigns.end())
    value = reader.value(start)
    if not isinstance(value, ListSpan):
        raise reader.error(start, f"{declaration[1]} is not a list")
    following = reader.after(value)
    if _CONTINUES.match(reader.text, following):
        raise reader.odd(following)
    assignment, call = rf"(?:{_PART})+\s*+[-+*/%&|^?]{{0,3}}=(?![=>])", rf"(?:{_PART})*\s*\??\.\s*(?:{_CHANGES})\s*\("
    change = re.search(rf"\b{declaration[1]}(?:{assignment}|{call})|\bdelete\s+{declaration[1]}\b", reader.text)
    if change:
        raise reader.error(change.start(), f"{declaration[1]} is changed after its declaration, so its literal is not all of it")
    check_plain(Path(reader.path), value_of_span(value))
    return value
