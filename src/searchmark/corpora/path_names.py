"""Paths as agents print them, under the names that the documents of a folder have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from searchmark.judging.spelling import relative, roots_of, without_detours


class PathNames:
    """Makes paths relative to a folder, without ``./`` and ``a/../``; ``folder`` gives it once it is made.

    Nothing is looked up: whether there is such a document is for others to say.
    """

    def __init__(self, folder: Callable[[], Path | None]) -> None:
        self._folder_if_made = folder
        self._folder: Path | None = None
        self._roots: tuple[str, ...] = ()

    def name(self, path: str) -> str:
        folder = self._folder_if_made()
        if folder is not self._folder:
            self._folder, self._roots = folder, roots_of(folder)
        if "://" in path:
            return path  # an address, which is nobody's path
        return relative(without_detours(path), self._roots)
