"""A corpus as ``corpus.jsonl`` of a BEIR folder, written document by document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from searchmark.corpora.corpus import Corpus
from searchmark.files.store import atomic_write
from searchmark.records import Document

NAME = "corpus.jsonl"
TAKEN = frozenset({"_id", "id", "title", "text"})  # names that mean something there, whatever they meant before


@dataclass(frozen=True)
class WrittenCorpus:
    """How many documents were written, and how many of their fields could not be, since their names are taken."""

    documents: int
    lost_fields: int

    def losses(self) -> Iterator[str]:
        if self.lost_fields:
            yield f"fields of documents that are called {', '.join(sorted(TAKEN))}: {self.lost_fields}"


def write_corpus(corpus: Corpus, folder: Path) -> WrittenCorpus:
    """Write every document once; what is read from the file is what was written."""
    documents = lost = 0
    with atomic_write(folder / NAME) as file:
        for document in corpus:
            file.write(_line(document))
            documents += 1
            lost += len(TAKEN & document.fields.keys())
    return WrittenCorpus(documents, lost)


def _line(document: Document) -> bytes:
    fields = {name: value for name, value in document.fields.items() if name not in TAKEN}
    record = {"_id": document.id, "title": document.title or "", "text": document.text, **fields}
    return json.dumps(record, default=str).encode("ascii") + b"\n"
