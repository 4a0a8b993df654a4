"""What a document is called: the one rule that every agent goes by which looks at names."""

from __future__ import annotations

from searchmark.records import Document


def name_of(document: Document) -> str:
    """The title of a document, or else its id, which is the path of a file."""
    return document.title or document.id
