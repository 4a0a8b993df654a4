"""What an agent names, held against what exists: paths are brought to the form that the corpus uses.

Absolute paths below the corpus become relative, ``./`` and ``a/../`` go. A hit that does not exist stays as it is, in
its rank, and is marked.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

from searchmark.judging.matching import names_lines, nfc, path_of_lines


class Existing:
    """What can be found in one corpus: its ids, and the directories above them."""

    def __init__(self, ids: Collection[str], folder: Path | None = None) -> None:
        self._ids = ids
        self._roots = () if folder is None else tuple(dict.fromkeys((str(folder), str(folder.resolve()))))

    @cached_property
    def _known(self) -> dict[str, str]:
        """Every spelling that stands for something, and what the corpus calls that."""
        known = {nfc(each): each for each in self._ids}
        for each in self._ids:
            for parent in _parents(each):
                known.setdefault(nfc(parent), parent)
        return known

    def settled(self, hit: str) -> tuple[str, bool]:
        """The id by which the corpus knows a hit, and whether it does."""
        if hit in self._ids:
            return hit, True
        found = self._known.get(nfc(hit)) or self._by_path(hit)
        return (hit, False) if found is None else (found, True)

    def _by_path(self, hit: str) -> str | None:
        path, lines = (path_of_lines(hit), hit[hit.rindex("#") :]) if names_lines(hit) else (hit, "")
        if not path or "\0" in path:
            return None
        path = os.path.normpath(path)
        below = next((root for root in self._roots if path.startswith(root + "/")), None)
        found = self._known.get(nfc(path if below is None else path[len(below) + 1 :]))
        return None if found is None else found + lines


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        if path:
            yield path
