"""Which fields of a record are its id, its title and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from searchmark.errors import shortened
from searchmark.files.plain_data import TOO_DEEP, is_too_deep
from searchmark.options.field_names import FieldNames
from searchmark.options.short_repr import short_repr
from searchmark.records import Document

ID = ("id", "_id", "doc_id", "docid", "item_id", "sku", "asin", "product_id")
TITLE = ("title", "name", "summary")
TEXT = ("text", "content", "contents", "body", "description")


@dataclass(frozen=True)
class FieldMapping:
    """Field names; None means the usual ones. Several texts are joined by line feeds, in this order.

    ``table`` is the one that is read of a database.
    """

    id: str | None = None
    title: str | None = None
    text: tuple[str, ...] | None = None
    table: str | None = None

    __repr__ = short_repr

    @classmethod
    def parse(cls, items: tuple[str, ...]) -> FieldMapping:
        """Read ``id=asin``, ``title=name``, ``text=bullets,description``; what is about suites and runs is left to them."""
        given = FieldNames.parse(items).corpus
        texts = tuple(given["text"].split(",")) if "text" in given else None
        return cls(given.get("id"), given.get("title"), texts, given.get("table"))

    @property
    def named(self) -> frozenset[str]:
        """The fields that were named, of which each should be found somewhere."""
        return frozenset(filter(None, (self.id, self.title, *(self.text or ()))))

    def document(self, record: dict[str, Any]) -> Document | str:
        """The document that a record describes, or the reason why it describes none."""
        id_field = self.id or next((name for name in ID if name in record), None)
        if id_field is None or record.get(id_field) is None:
            names, wanted = shortened(", ".join(map(str, record)), 300), self.id or ", ".join(ID)
            how = "name the right one with --map id=NAME, or call it id in the file"
            return f"has no id (looked for {wanted}); its fields are {names}: {how}"
        identity = record[id_field]
        if isinstance(identity, bool) or not (isinstance(identity, str) or hasattr(identity, "__index__")) or identity == "":
            return f"has the id {shortened(repr(identity), 60)}, which is neither text nor a whole number"
        deep = next((name for name, value in record.items() if isinstance(value, dict | list) and is_too_deep(value)), None)
        if deep is not None:
            return f"its field {deep!r} {TOO_DEEP}"
        title_field = self.title or next((name for name in TITLE if name in record), None)
        texts = self.text or tuple(name for name in TEXT if name in record)[:1]
        known = {id_field, title_field, *texts}
        return Document(
            id=identity,
            text="\n".join(filter(None, (plain(record.get(name)) for name in texts))),
            title=plain(record.get(title_field)) or None if title_field else None,
            fields={name: value for name, value in record.items() if name not in known},
        )


def plain(value: Any) -> str:
    """Any value of a record as text to search: lists line by line, nothing for nothing."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(plain, value)))
    if isinstance(value, dict):
        return "\n".join(filter(None, map(plain, value.values())))
    return str(value)
