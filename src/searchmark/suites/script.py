"""Cases in a TypeScript or JavaScript file: ``export const BENCHMARK_CASES: BenchmarkCase[] = [...]``, read and never executed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import FormatError
from searchmark.files.plain_data import check_plain
from searchmark.suites.literals import LiteralReader
from searchmark.suites.spans import ListSpan, line_of, plain_value

EXTENSIONS = frozenset({".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"})
NAMES = ("BENCHMARK_CASES", "TEST_CASES", "CASES", "QUERIES")
# At the beginning of a line, as what a file exports is; what follows // or the * of a comment is not.
_CONSTANT = re.compile(rf"^(?:export[ \t]+)?const[ \t]+({'|'.join(NAMES)})\b", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*.*?\*/", re.MULTILINE | re.DOTALL)
_ASSIGNS = re.compile(r"=(?![=>])")
# What would make something else of a literal if it followed one.
_CONTINUES = re.compile(r"[.\[(+\-*/%?&|^=<>`]|(?:in|instanceof|as|satisfies)\b")
_CHANGES = "push|unshift|splice|pop|shift|sort|reverse|fill|copyWithin"


@dataclass(frozen=True)
class ScriptCases:
    """The list of cases, and where its declaration begins."""

    start: int
    cases: ListSpan


def script_cases(path: Path, text: str) -> ScriptCases:
    """The one constant of the file that holds the cases."""
    comments = [found.span() for found in _COMMENT.finditer(text)]
    declared = [found for found in _CONSTANT.finditer(text) if not any(start <= found.start() < end for start, end in comments)]
    if not declared:
        raise FormatError(path, None, f"holds no cases; they are read from 'export const {NAMES[0]} = [...]'")
    if len(declared) > 1:
        raise FormatError(path, f"line {line_of(text, declared[1].start())}", f"{declared[1][1]} is a second list of cases")
    return ScriptCases(declared[0].start(), _assigned(LiteralReader(str(path), text), declared[0]))


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
    changed = re.search(rf"\b{declared[1]}\s*(?:\.\s*(?:{_CHANGES})\s*\(|\[[^\]]*\]\s*=(?!=))", reader.text)
    if changed:
        raise reader.error(changed.start(), f"{declared[1]} is changed after its declaration, so its literal is not all of it")
    check_plain(Path(reader.path), plain_value(value))
    return value
