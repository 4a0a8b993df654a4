"""Data that lies elsewhere is named by its address, and told from a path by how that begins."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: one is a drive


def is_address(text: object) -> bool:
    """Whether a text is the address of something, as ``https://host/corpus.jsonl``; whether it may be used is not said."""
    return isinstance(text, str) and _ADDRESS.match(text) is not None
