"""One pass over the documents of a corpus, with all that checks want to know of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from searchmark.agents.lexical.tokens import tokens
from searchmark.audit.gold_and_corpus.marks import deprecation, new_names, old_names
from searchmark.audit.gold_and_corpus.own_files import OwnFiles
from searchmark.audit.subject import Subject
from searchmark.corpora.corpus import Corpus
from searchmark.records import Document

FEWEST_CHARACTERS = 20  # of a content that is worth calling the same: shorter ones are the same by chance
MOST_CHARACTERS = 20_000  # of a document, whose words are held against queries

# Fields that differ between copies: who they are, where they are, when they were made.
_IDENTITIES = frozenset(
    {"id", "_id", "uid", "uuid", "guid", "key", "sku", "asin", "url", "uri", "href", "link", "path", "file", "filename", "slug",
     "created", "created_at", "updated", "updated_at", "modified", "timestamp", "date", "version", "position", "index", "order"}
)  # fmt: skip

_FACTS: WeakKeyDictionary[Subject, DocumentFacts] = WeakKeyDictionary()


@dataclass(frozen=True)
class DocumentFacts:
    """Of relevant targets: why they should not be used any more, what they are called now, which other ids have the same
    content, whose id several contents have, and their words. Of all documents: which are files of a benchmark, and why.
    """

    deprecated: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    twins: dict[str, list[str]] = field(default_factory=dict)
    ambiguous: dict[str, int] = field(default_factory=dict)
    words: dict[str, frozenset[str]] = field(default_factory=dict)
    own_files: dict[str, str] = field(default_factory=dict)


def document_facts(subject: Subject) -> DocumentFacts | None:
    """Read once for all checks; None where there are no documents to read."""
    if subject.corpus is None:
        return None
    if subject not in _FACTS:
        _FACTS[subject] = _read(subject, subject.corpus)
    return _FACTS[subject]


def relevant_targets(subject: Subject) -> Iterator[tuple[int, str]]:
    """The row of the case and the id of every relevant target, as far as they are ids."""
    judgments = subject.expanded.judgments
    cases = judgments.case
    return ((int(cases[row]), judgments.targets[row]) for row in np.flatnonzero(judgments.named).tolist())


def _read(subject: Subject, corpus: Corpus) -> DocumentFacts:
    reader = _Reader(subject)
    for document in corpus.source.stream():
        if document is not None:
            reader.take(document)
    return reader.facts()


def _content(document: Document) -> int:
    """What two documents have in common that are copies: title, text, and fields that do not tell copies apart by nature."""
    fields = {name: value for name, value in document.fields.items() if str(name).casefold() not in _IDENTITIES}
    said = json.dumps(fields, sort_keys=True, default=str) if fields else ""
    return hash((document.title or "", " ".join(document.text.split()), said))


class _Reader:
    """What is known after some documents."""

    def __init__(self, subject: Subject) -> None:
        self._wanted = {target for _, target in relevant_targets(subject)}
        self._facts = DocumentFacts()
        self._own_files = OwnFiles(subject)
        self._ids: Sequence[str] | frozenset[str] = frozenset(subject.ids or ())
        self._first: dict[str, int] = {}
        self._same: dict[int, list[str]] = {}

    def take(self, document: Document) -> None:
        content = _content(document)
        if document.id in self._first:
            if self._first[document.id] != content and document.id in self._wanted:
                self._facts.ambiguous[document.id] = self._facts.ambiguous.get(document.id, 1) + 1
            return
        self._first[document.id] = content
        if len(document.text.strip()) >= FEWEST_CHARACTERS:
            self._same.setdefault(content, []).append(document.id)
        for old in old_names(document):
            if old in self._wanted and old not in self._ids:
                self._facts.renamed.setdefault(old, document.id)
        reason = self._own_files.reason(document)
        if reason is not None:
            self._facts.own_files[document.id] = reason
        if document.id in self._wanted:
            self._take_target(document)

    def _take_target(self, document: Document) -> None:
        why = deprecation(document)
        if why is not None:
            self._facts.deprecated[document.id] = why
        new = next((each for each in new_names(document) if each in self._ids and each != document.id), None)
        if new is not None:
            self._facts.renamed[document.id] = new
        text = f"{document.id} {document.title or ''} {document.text[:MOST_CHARACTERS]}"
        self._facts.words[document.id] = frozenset(tokens(text))

    def facts(self) -> DocumentFacts:
        for same in self._same.values():
            for each in same if len(same) > 1 else ():
                if each in self._wanted:
                    self._facts.twins[each] = [other for other in same if other != each]
        return self._facts
