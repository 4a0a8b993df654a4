"""What can be found: ids of a corpus and the directories above them, under every spelling that means one of them.

Absolute paths below the corpus become relative, ``./`` and ``a/../`` go, ``/`` at the end goes, and accents may be
encoded either way. A hit that does not exist stays as it is, in its rank, and is marked. The runner and the judge ask
the same class, so that a hit exists for both of them or for neither.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable, Set
from functools import cached_property
from pathlib import Path

from searchmark.judging.matching import names_lines, path_of_lines
from searchmark.judging.spelling import nfc, normal_path, relative, roots_of
from searchmark.records import JudgmentTable


class Existing:
    """What can be found in one corpus; ``folder`` is where it lies, for hits that are absolute paths."""

    def __init__(self, ids: Collection[str], folder: Path | None = None) -> None:
        self._ids: Set[str] = ids if isinstance(ids, Set) else frozenset(ids)
        self._roots = roots_of(folder)

    def settled(self, hit: str) -> tuple[str, bool]:
        """The id by which the corpus knows a hit, and whether it does."""
        if hit in self._ids:  # nearly all hits, and for them nothing has to be prepared
            return hit, True
        found = self._known.get(nfc(hit)) or self._known.get(normal_path(hit)) or self._by_path(hit)
        return (hit, False) if found is None else (found, True)

    def __contains__(self, hit: str) -> bool:
        return self.settled(hit)[1]

    def missing_targets(self, judgments: JudgmentTable, start: int, end: int) -> list[str]:
        """The relevant targets in some rows, named by id or path, that no hit could be: they do not exist here."""
        return [target for target in judgments.named_targets(start, end) if not self.has_target(target)]

    def has_target(self, target: str) -> bool:
        """Whether a hit could be this target; one that ends as a directory does never means a document."""
        return target in self._ids or (target in self and not (target.endswith("/") and self.settled(target)[0] in self._ids))

    @cached_property
    def _known(self) -> dict[str, str]:
        """Every spelling that means something, and what the corpus calls that; an id goes before a directory."""
        known = {nfc(each): each for each in self._ids}
        for each in self._ids:
            known.setdefault(normal_path(each), each)
        for directory in _directories(self._ids):
            known.setdefault(nfc(directory), directory)
            known.setdefault(normal_path(directory), directory)
        return known

    def _by_path(self, hit: str) -> str | None:
        """As a path, which may name lines: those stay behind the name that the corpus has for the file."""
        path, lines = (path_of_lines(hit), hit[hit.rindex("#") :]) if names_lines(hit) else (hit, "")
        if not path or "\0" in path:
            return None
        found = self._known.get(path) or self._known.get(nfc(relative(os.path.normpath(path), self._roots)))
        return None if found is None else found + lines


def _directories(paths: Iterable[str]) -> set[str]:
    """All directories above some paths: they exist where the paths do."""
    found: set[str] = set()
    for path in paths:
        parent = path.rpartition("/")[0]
        while parent and parent not in found:  # whoever has named one has named those above it too
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return found
