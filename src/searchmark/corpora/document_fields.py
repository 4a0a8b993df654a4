"""Which documents of a corpus have which values of a field, read once for each set of fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from searchmark.corpora.document_source import DocumentSource
from searchmark.records import Document, field_texts


@dataclass(frozen=True, eq=False)
class FieldTable:
    """Of some fields: the ids of documents by value. A field that no document has is not in it."""

    ids: Mapping[str, Mapping[str, frozenset[str]]]

    def having(self, name: str, values: Iterable[str]) -> frozenset[str]:
        """The documents whose field has one of these values."""
        by_value = self.ids.get(name, {})
        return frozenset().union(*(by_value.get(value, frozenset()) for value in values))


@dataclass(frozen=True, eq=False)
class DocumentFields:
    """The fields of the documents of one source; nothing is read before it is asked for."""

    source: DocumentSource
    _known: dict[frozenset[str], FieldTable] = field(default_factory=dict)

    def table(self, names: Iterable[str]) -> FieldTable:
        """Who has which value of these fields; one pass over the documents, kept for the next time."""
        wanted = frozenset(names)
        if wanted not in self._known:
            self._known[wanted] = self._read(wanted)
        return self._known[wanted]

    def _read(self, wanted: frozenset[str]) -> FieldTable:
        ids: dict[str, dict[str, set[str]]] = {}
        seen: set[str] = set()
        for document in self.source.stream():
            if document is None or document.id in seen:  # an id counts the first time it occurs
                continue
            seen.add(document.id)
            for name in wanted & _names(document):
                by_value = ids.setdefault(name, {})
                for value in field_texts(value_of(document, name)):
                    by_value.setdefault(value, set()).add(document.id)
        return FieldTable({name: {value: frozenset(of) for value, of in by.items()} for name, by in ids.items()})


def _names(document: Document) -> set[str]:
    return {*document.fields, *(("title",) if document.title is not None else ())}


def value_of(document: Document, name: str) -> object:
    """What a document says of a field; its title may be asked for as well."""
    return document.fields.get(name, document.title if name == "title" else None)
