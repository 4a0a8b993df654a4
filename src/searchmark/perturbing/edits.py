"""Stretches of a query that are written anew."""

from __future__ import annotations

from collections.abc import Sequence


def rewritten(query: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The query with new texts in some stretches, given in their order: from where, to where, what."""
    pieces, done = list[str](), 0
    for start, end, text in changes:
        pieces += [query[done:start], text]
        done = end
    return "".join((*pieces, query[done:]))
