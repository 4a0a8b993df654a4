"""A corpus seen through a selection: some fields of its documents, and only the documents that a filter lets through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.document_source import DocumentSource
from searchmark.corpora.field_mapping import plain
from searchmark.errors import UsageError, shortened
from searchmark.records import Document

OWN = ("id", "title", "text")  # what every document may have, beside its fields
NO_NAME = " "  # a title in which nothing is found; without one, the id would be searched in its place
SHOWN = 10  # values in a message


@dataclass(frozen=True)
class DocumentSelection:
    """Which fields are searched (None: title, text and id, as ever), and which values a document must have in others."""

    fields: tuple[str, ...] | None = None
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: Sequence[str] | None, filters: Mapping[str, Any]) -> DocumentSelection:
        """From the options of an agent; what cannot be is a ValueError of one sentence."""
        if fields is not None and (not fields or len(set(fields)) < len(fields)):
            raise ValueError(f"fields is {list(fields)}, and must name one field or more, none of them twice")
        return cls(None if fields is None else tuple(fields), {name: _wanted(name, value) for name, value in filters.items()})

    def __bool__(self) -> bool:
        return self.fields is not None or bool(self.filter)

    @property
    def ids(self) -> bool:
        """Whether ids are searched."""
        return self.fields is None or "id" in self.fields

    @property
    def keeps_lines(self) -> bool:
        """Whether a line of what is searched is the same line of the text."""
        return self.fields is None or set(self.fields) <= set(OWN)

    def describe(self) -> dict[str, Any]:
        """What is selected; nothing if everything is."""
        fields = {} if self.fields is None else {"fields": list(self.fields)}
        return fields | ({"filter": {name: list(values) for name, values in self.filter.items()}} if self.filter else {})

    def corpus(self, corpus: Corpus) -> Corpus:
        """What is seen of a corpus; a field that no document has is refused, and so is a filter that lets none through."""
        if not self:
            return corpus
        _check(self, corpus)
        return self._seen(corpus)

    def changes(self, changes: Changes) -> Changes:
        """What is seen of the next state; a document that is filtered out from now on is written and cannot be read."""
        return Changes(self._seen(changes.corpus), changes.written, changes.removed) if self else changes

    def document(self, document: Document) -> Document | None:
        """What is seen of a document; None if it is filtered out."""
        if not all(self._admits(document, name) for name in self.filter):
            return None
        if self.fields is None:
            return document
        title = document.title if "title" in self.fields else None
        texts = [field_text(document, name) for name in self.fields if name not in ("id", "title")]
        return replace(document, title=title or (None if self.ids else NO_NAME), text="\n".join(filter(None, texts)))

    def _admits(self, document: Document, name: str) -> bool:
        return any(_normal(value) in self.filter[name] for value in field_values(document, name))

    def _seen(self, corpus: Corpus) -> Corpus:
        return Corpus(corpus.name, SelectedSource(corpus, self))


@dataclass(frozen=True, eq=False)
class SelectedSource(DocumentSource):
    """The documents of a corpus, as far as they are selected. The names of their contents are not those of what is seen."""

    whole: Corpus
    selection: DocumentSelection

    def stream(self) -> Iterator[Document]:
        return self._selected(self.whole)

    @property
    def reads_by_id(self) -> bool:
        return self.whole.reads_by_id

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        return self._selected(self.whole.read(ids))

    def names(self) -> Iterable[str] | None:
        return None if self.selection.filter else self.whole.names

    def _selected(self, documents: Iterable[Document]) -> Iterator[Document]:
        return (seen for document in documents if (seen := self.selection.document(document)) is not None)


def field_text(document: Document, name: str) -> str:
    """A field as text to search: lists line by line, nothing for nothing."""
    return plain({"id": document.id, "title": document.title, "text": document.text}.get(name, document.fields.get(name)))


def field_values(document: Document, name: str) -> list[str]:
    """The values of a field, each of them where it holds a list."""
    value = document.fields.get(name)
    values = value if name not in OWN and isinstance(value, list) else [field_text(document, name)]
    return [text for each in values if (text := plain(each).strip())]


def _wanted(name: str, value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(each, str | int | float) and _normal(plain(each)) for each in values):
        raise ValueError(f"filter: {name} is {shortened(repr(value), 60)}, and must be a value or a list of values")
    return tuple(_normal(plain(each)) for each in values)


def _normal(value: str) -> str:
    return value.strip().casefold()


def _check(selection: DocumentSelection, corpus: Corpus) -> None:
    """Documents are read until every field was seen and one got through the filter: mostly the first few."""
    unseen = dict.fromkeys((*(selection.fields or ()), *selection.filter))
    names: dict[str, None] = dict.fromkeys(OWN)
    values: dict[str, dict[str, None]] = {name: {} for name in selection.filter}
    admitted = False
    for document in corpus:
        names.update(dict.fromkeys(document.fields))
        unseen = {name: None for name in unseen if not field_values(document, name)}
        for name, known in values.items():
            known.update(dict.fromkeys(field_values(document, name)))
        admitted = admitted or selection.document(document) is not None
        if admitted and not unseen:
            return
    if unseen:
        raise UsageError(f"no document of {corpus.name} has the field {next(iter(unseen))!r}; available: {', '.join(names)}")
    wanted = "; ".join(f"{name}: {', '.join(each)}" for name, each in selection.filter.items())
    raise UsageError(f"no document of {corpus.name} gets through the filter ({wanted}); {_existing(values)}")


def _existing(values: Mapping[str, Mapping[str, None]]) -> str:
    """The values that there are, so that the right one can be chosen."""
    return "; ".join(f"values of {name}: {_some(list(known))}" for name, known in values.items())


def _some(values: list[str]) -> str:
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    return ", ".join(shortened(value, 40) for value in islice(sorted(values), SHOWN)) + more
