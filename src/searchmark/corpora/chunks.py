"""Content-defined chunks: pieces of a text whose borders depend on the text around them and on nothing else.

An edit therefore changes the chunk that it falls into and leaves all others as they were, wherever they
have moved to. Fixed windows of lines would shift from the edit to the end of the file.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 80  # lines; a function that is longer is cut again at its blank lines


def chunks(text: str, longest: int = LONGEST) -> list[str]:
    """Pieces that make up the text when joined: cut at blank lines before unindented text, long ones at any blank line."""
    return [piece for part in _cut(text.splitlines(keepends=True), unindented=True) for piece in _shorter(part, longest)]


def _shorter(lines: list[str], longest: int) -> Iterator[str]:
    if len(lines) <= longest:
        yield "".join(lines)
        return
    for part in _cut(lines, unindented=False):
        yield "".join(part)


def _cut(lines: list[str], *, unindented: bool) -> Iterator[list[str]]:
    """Cut before a line that follows a blank one, or only before such a line that is not indented."""
    start = 0
    after_blank = False
    for number, line in enumerate(lines):
        blank = not line.strip()
        if after_blank and not blank and not (unindented and line[0].isspace()):
            yield lines[start:number]
            start = number
        after_blank = blank
    if start < len(lines):
        yield lines[start:]
