"""One spelling for what is written in several ways: accents composed, paths in their normal form."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize


def nfc(text: str) -> str:
    """The text with accents composed: one spelling for what looks the same."""
    return text if text.isascii() else normalize("NFC", text)


def normal_path(path: str) -> str:
    """A path without ``./``, ``//``, ``a/../`` or ``/`` behind, accents composed: what live answers are brought to as well."""
    return without_detours(nfc(path))


def without_detours(path: str) -> str:
    """A path without ``./``, ``//``, ``a/../`` or ``/`` behind, its accents as they are."""
    if not ("//" in path or "/." in path or path.startswith("./") or path.endswith("/")) or "\0" in path:
        return path  # nearly all; a dot behind a slash may also begin a hidden name, which stays as it is
    return posixpath.normpath(path)


def roots_of(folder: Path | None) -> tuple[str, ...]:
    """What absolute paths below a folder begin with: it may be named through a link, and an agent may have resolved it."""
    return () if folder is None else tuple(f"{each}/" for each in dict.fromkeys((str(folder), str(folder.resolve()))))


def relative(path: str, roots: Iterable[str]) -> str:
    """The path relative to the first of these roots that it is below, or as it is."""
    return next((path[len(root) :] for root in roots if path.startswith(root)), path)
