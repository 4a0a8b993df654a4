"""Ids of chunks, taken apart by a rule such as ``{file}#chunk-{n}``: which file a chunk is of, and which lines.

What is right of ``{file}`` is read from the end of an id and what is left of it from the beginning, every placeholder as short
as it can be; ``{file}`` is the rest. So a file may hold whatever separates it from its chunks, and no id takes longer than another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from searchmark.agents.hits import FoundHit
from searchmark.errors import UsageError
from searchmark.records import is_line_range

NUMBERS = ("n", "first", "last")  # placeholders that are whole numbers; all others are any text
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LONGEST_NUMBER = 9


@dataclass(frozen=True)
class ChunkRule:
    """How ids of chunks are made of those of files.

    ``before`` and ``after`` are the placeholders on either side of the file, from the outside in, each with the text that is next
    to it towards the file.
    """

    start: str
    before: Sequence[tuple[str, str]]
    after: Sequence[tuple[str, str]]
    end: str

    def file_of(self, hit: FoundHit) -> FoundHit | None:
        """The hit as one on its file, with the lines that its id says; None if the id does not fit."""
        rest = hit.id
        if len(rest) < len(self.start) + len(self.end) or not (rest.startswith(self.start) and rest.endswith(self.end)):
            return None
        rest = rest[len(self.start) : len(rest) - len(self.end)]
        found: dict[str, str] = {}
        for name, text in self.before:
            found[name], met, rest = rest.partition(text)
            if not met or not _fits(name, found[name]):
                return None
        for name, text in self.after:
            rest, met, found[name] = rest.rpartition(text)
            if not met or not _fits(name, found[name]):
                return None
        return FoundHit(rest, hit.score, hit.lines or _lines(found)) if rest else None


@cache
def chunk_rule(text: str) -> ChunkRule:
    """The rule that a text is; refused is what could not tell a file from the rest."""
    pieces = _PLACEHOLDER.split(text)
    texts, names = pieces[::2], pieces[1::2]
    wrong = _wrong(texts, names)
    if wrong:
        raise UsageError(f"chunk_of must be such as '{{file}}#chunk-{{n}}', and {text!r} {wrong}")
    place = names.index("file")
    before = list(zip(names[:place], texts[1 : place + 1], strict=True))
    after = list(zip(names[place + 1 :], texts[place + 1 : -1], strict=True))
    return ChunkRule(texts[0], before, after[::-1], texts[-1])


def _wrong(texts: Sequence[str], names: Sequence[str]) -> str | None:
    checks: Sequence[tuple[Callable[[], bool], str]] = (
        (lambda: "file" not in names, "has no {file}, which is the part of an id that names the file"),
        (lambda: len(set(names)) < len(names), "has a placeholder twice"),
        (lambda: "last" in names and "first" not in names, "has {last} without {first}"),
        (lambda: any("{" in each or "}" in each for each in texts), "has braces that are not placeholders"),
        (lambda: not all(texts[1:-1]), "has two placeholders with nothing between them"),
        (lambda: not "".join(texts) and len(names) == 1, "says nothing but {file}"),
    )
    return next((sentence for fails, sentence in checks if fails()), None)


def _fits(name: str, value: str) -> bool:
    if name in NUMBERS:
        return value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
    return bool(value)


def _lines(found: dict[str, str]) -> tuple[int, int] | None:
    if "first" not in found:
        return None
    lines = (int(found["first"]), int(found.get("last", found["first"])))
    return lines if is_line_range(lines) else None
