"""One spelling for what is written in several ways: accents composed, paths in their normal form."""

from __future__ import annotations

import posixpath
from unicodedata import normalize


def nfc(text: str) -> str:
    """The text with accents composed: one spelling for what looks the same."""
    return text if text.isascii() else normalize("NFC", text)


def normal_path(path: str) -> str:
    """A path without ``./``, ``//``, ``a/../`` or ``/`` behind, accents composed: what live answers are brought to as well."""
    path = nfc(path)
    if not ("//" in path or "/." in path or path.startswith("./") or path.endswith("/")) or "\0" in path:
        return path  # nearly all; a dot behind a slash may also begin a hidden name, which stays as it is
    return posixpath.normpath(path)
