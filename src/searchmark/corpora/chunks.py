"""Content-defined chunks: pieces of a text whose borders depend on the text around them and on nothing else.

An edit therefore changes the chunk that it falls into and leaves all others as they were, wherever they
have moved to. Fixed windows of lines would shift from the edit to the end of the file.
"""

from __future__ import annotations

import re

LONGEST = 80  # lines; a function that is longer is cut again at its blank lines

# A blank line, and right behind it what begins a chunk. Neither repeats what the other has looked at, so time is linear.
_BEFORE_UNINDENTED = re.compile(r"\n[^\S\n]*\n(?=\S)")
_BEFORE_ANY = re.compile(r"\n[^\S\n]*\n(?=[^\S\n]*\S)")


def chunks(text: str, longest: int = LONGEST) -> list[str]:
    """Pieces that make up the text when joined: cut at blank lines before unindented text, long ones at any blank line."""
    found = []
    for part in _cut(text, _BEFORE_UNINDENTED):
        if part.count("\n", 0, -1) < longest:
            found.append(part)
        else:
            found += _cut(part, _BEFORE_ANY)
    return found


def _cut(text: str, border: re.Pattern[str]) -> list[str]:
    cuts = [match.end() for match in border.finditer(text)]  # never the end, since something follows
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)] if text else []
