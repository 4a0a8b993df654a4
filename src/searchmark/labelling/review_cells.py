"""Texts of others in the cells of a file for people: no formula, no terminal code, and ids that read back as they are."""

from __future__ import annotations

import re

from searchmark.errors import UsageError
from searchmark.services.secret_forms import HIDDEN

# What makes a spreadsheet compute a cell, and the sign that keeps it from that.
_QUOTED = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]|'")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def text_cell(text: str) -> str:
    """A text for people: what is unseen is written out."""
    return _quoted(_shown(text))


def id_cell(name: str) -> str:
    """An id, which must read back; one with control characters is refused."""
    if _UNSEEN.search(name):
        raise UsageError(f"id {name!r} has control characters, which a CSV for people cannot hold; write .jsonl instead")
    return _quoted(name)


def read_cell(cell: str) -> str:
    """What was written as this cell."""
    return cell[1:] if cell.startswith("'") and _QUOTED.match(cell[1:]) else cell


def same_text(written: str, known: str) -> bool:
    """Whether a text is the known one, as far as it was written: secrets are removed, what is unseen is written out."""
    if written.strip() in (known.strip(), _shown(known).strip()):
        return True
    pieces = written.strip().split(HIDDEN)
    return len(pieces) > 1 and _shown(known).strip().startswith(pieces[0]) and _shown(known).strip().endswith(pieces[-1])


def _quoted(text: str) -> str:
    return f"'{text}" if _QUOTED.match(text) else text


def _shown(text: str) -> str:
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))
