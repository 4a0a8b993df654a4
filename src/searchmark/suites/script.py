"""Cases in a TypeScript or JavaScript file: ``export const BENCHMARK_CASES: BenchmarkCase[] = [...]``, read and never executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.plain_data import check_plain
from searchmark.suites.literals import LiteralReader
from searchmark.suites.spans import ListSpan, line_of, plain_value

EXTENSIONS = frozenset({".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"})
NAMES = ("BENCHMARK_CASES", "TEST_CASES", "CASES", "QUERIES")
# At the beginning of a line, as what a file exports is.
_CONSTANT = re.compile(rf"^(?:export[ \t]+)?const[ \t]+({'|'.join(NAMES)})\b", re.MULTILINE)
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
    texts = list(_texts(text))
    declared = [found for found in _CONSTANT.finditer(text) if not any(start <= found.start() < end for start, end in texts)]
    if not declared:
        raise FormatError(path, None, f"holds no cases; they are read from 'export const {NAMES[0]} = [...]'")
    if len(declared) > 1:
        raise FormatError(path, f"line {line_of(text, declared[1].start())}", f"{declared[1][1]} is a second list of cases")
    return ScriptCases(declared[0].start(), _assigned(LiteralReader(str(path), text), declared[0]))


def _texts(text: str) -> Iterator[tuple[int, int]]:
    """Where comments of several lines and templates are: what looks like code in them is none."""
    inside: list[tuple[str, int]] = []  # templates and brackets that are open
    position = 0
    while True:
        in_template = bool(inside) and inside[-1][0] == "`"
        found = (_IN_TEMPLATE if in_template else _TOKEN).search(text, position)
        if found is None:
            return
        token, position = found[0], found.end()
        if token == ("`" if in_template else "}") and inside:
            opened, start = inside.pop()
            if opened == "`":
                yield start, position
        elif token in ("`", "{", "${"):
            inside.append((token, found.start()))
        elif token.startswith("/*"):
            yield found.span()


def _assigned(reader: LiteralReader, declared: re.Match[str]) -> ListSpan:
    assigns = _ASSIGNS.search(reader.text, declared.end())
    if not assigns:
        raise reader.error(declared.start(), f"{declared[1]} has no value")
    start = reader.skip(assigns.end())
    value = reader.value(start)
    if not isinstance(value, ListSpan):
        raise reader.error(start, f"{declared[1]} is not a list")
    following = reader.after(value)
    if _CONTINUES.match(reader.text, following):
        raise reader.odd(following)
    assigned, called = rf"(?:{_PART})+\s*+[-+*/%&|^?]{{0,3}}=(?![=>])", rf"(?:{_PART})*\s*\??\.\s*(?:{_CHANGES})\s*\("
    changed = re.search(rf"\b{declared[1]}(?:{assigned}|{called})|\bdelete\s+{declared[1]}\b", reader.text)
    if changed:
        raise reader.error(changed.start(), f"{declared[1]} is changed after its declaration, so its literal is not all of it")
    check_plain(Path(reader.path), plain_value(value))
    return value
