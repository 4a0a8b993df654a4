"""What can be found. Every process of an agent imports this module, so it imports little itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from searchmark.options.strict import strict_record
from searchmark.records.ids import id_text


@strict_record(slots=True)
class Document:
    """Something that can be found."""

    id: str
    text: str
    title: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, "the id of a document"))
