"""What documents say of themselves: that they should not be used any more, and what they are called now, or were."""

from __future__ import annotations

import re
from collections.abc import Iterator

from searchmark.records import Document, field_texts

FIRST_LINES, FIRST_CHARACTERS = 10, 2000  # of a document, where such a mark is about all of it

_FLAGS = frozenset(
    {"deprecated", "is_deprecated", "x-deprecated", "obsolete", "is_obsolete", "archived", "is_archived", "removed", "internal",
     "is_internal"}
)  # fmt: skip
_STATES = frozenset({"status", "state", "stage", "lifecycle", "stability", "availability", "visibility", "tags", "labels"})
_ENDED = frozenset(
    {"deprecated", "archived", "obsolete", "removed", "internal", "retired", "superseded", "withdrawn", "discontinued", "eol",
     "end-of-life"}
)  # fmt: skip
_NOT_SO = frozenset({"", "false", "no", "none", "null", "0", "n", "never"})
_NEW_NAMES = frozenset(
    {"renamed_to", "replaced_by", "moved_to", "superseded_by", "redirect_to", "use_instead", "replacement", "new_id"}
)
_OLD_NAMES = frozenset(
    {"renamed_from", "previous_id", "previous_ids", "old_id", "old_ids", "moved_from", "aliases", "former_names",
     "redirect_from", "replaces"}
)  # fmt: skip

# Marks of programming languages and of documentation, each at the start of a line or unmistakable wherever it is.
_IN_TEXT = re.compile(
    r"@deprecated\b|\.\. deprecated::|#\[deprecated\b|\[\[deprecated\b|\[Obsolete\b|[(\[]deprecated[)\]]"
    r"|^\W{0,8}(?:deprecated|obsolete)\b(?=[\s:.,!;(-])(?! ?(?:apis?|features?|methods?|functions?|fields?|options?)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def deprecation(document: Document) -> str | None:
    """How a document says that it should not be used any more, as it is written; None if it does not."""
    for name, value in document.fields.items():
        texts, known = field_texts(value), str(name).casefold()
        if known in _FLAGS and any(text.casefold() not in _NOT_SO for text in texts):
            return f"{name}: {texts[0]}"
        ended = [text for text in texts if text.casefold() in _ENDED] if known in _STATES else []
        if ended:
            return f"{name}: {ended[0]}"
    found = _IN_TEXT.search(_beginning(document))
    return f"its text says {found.group().strip()!r}" if found else None


def new_names(document: Document) -> Iterator[str]:
    """What a document says to use in its stead."""
    return _listed(document, _NEW_NAMES)


def old_names(document: Document) -> Iterator[str]:
    """Under which other names a document says that it is, or was, known."""
    return _listed(document, _OLD_NAMES)


def _listed(document: Document, names: frozenset[str]) -> Iterator[str]:
    for name, value in document.fields.items():
        if str(name).casefold() in names:
            yield from field_texts(value)


def _beginning(document: Document) -> str:
    lines = f"{document.title or ''}\n{document.text[:FIRST_CHARACTERS]}".split("\n", FIRST_LINES)
    return "\n".join(lines[:FIRST_LINES])
