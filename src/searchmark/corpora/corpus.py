"""What is searched: documents in JSON, JSONL or CSV files, a directory, the tree of a commit, or what a suite brings along.

A corpus is streamed, never held: one pass reports its ids, duplicates and empty documents and takes its
digest, and every further pass yields the documents one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

from searchmark.corpora.field_mapping import FieldMapping
from searchmark.errors import NothingEvaluated
from searchmark.files.store import check_readable
from searchmark.records import Document, Suite

__all__ = ["Changes", "Corpus", "FieldMapping", "Survey", "corpus_of", "load_corpus"]


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus has seen: its ids, each once, and what is odd about it."""

    ids: Set[str]
    duplicates: int
    empty: int
    skipped: int
    digest: str


@dataclass(frozen=True, eq=False)
class Corpus:
    """A named set of documents that can be read any number of times; an id counts the first time it occurs.

    ``place`` gives a folder where the documents lie as files, each under its id, if there is or can be one.
    ``reader`` reads some documents by their ids, where that takes less than a pass over all. ``versions`` names the
    content of each document where that is known without reading it: equal names, equal content. ``origin`` is the
    repository and the commit whose tree this is.
    """

    name: str
    stream: Callable[[], Iterable[Document | None]] = field(repr=False)
    place: Callable[[], Path] | None = field(default=None, repr=False)
    reader: Callable[[Sequence[str]], Iterable[Document]] | None = field(default=None, repr=False)
    versions: Mapping[str, str] | None = field(default=None, repr=False)
    origin: tuple[Path, str] | None = None

    def __iter__(self) -> Iterator[Document]:
        """The documents, one by one; of several with one id only the first."""
        seen: set[str] = set()
        for document in self.stream():
            if document is not None and document.id not in seen:
                seen.add(document.id)
                yield document

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        """The documents with these ids, in any order; what is no text is left out."""
        if self.reader is not None:
            yield from self.reader(ids)
            return
        wanted = set(ids)
        yield from (document for document in self if document.id in wanted)

    @cached_property
    def folder(self) -> Path | None:
        """A folder with every document as a file, made when it is first asked for; None if there cannot be one."""
        return None if self.place is None else self.place()

    @cached_property
    def survey(self) -> Survey:
        """One pass over everything, which keeps only the ids. None in the stream is something that was skipped."""
        ids: set[str] = set()
        duplicates = empty = skipped = total = 0
        for document in self.stream():
            if document is None:
                skipped += 1
                continue
            if document.id in ids:
                duplicates += 1
                continue
            ids.add(document.id)
            empty += not (document.text.strip() or (document.title or "").strip())
            total += _digest(document)
        # A sum of digests does not depend on the order, and is taken without holding them all.
        if not ids:
            raise NothingEvaluated(f"the corpus {self.name!r} holds no documents")
        return Survey(ids, duplicates, empty, skipped, f"{total % (1 << 256):064x}")


@dataclass(frozen=True, eq=False)
class Changes:
    """The step from one state of a corpus to the next: what there is to search from now on, and what is different.

    ``written`` names documents that are new or have another content, ``removed`` those that are gone. A written one that
    ``corpus.read`` does not give is no text, or no longer: forget what was known about it.
    """

    corpus: Corpus
    written: tuple[str, ...]
    removed: tuple[str, ...]


def _digest(document: Document) -> int:
    content = "\0".join((document.id, document.title or "", document.text)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest())


def load_corpus(path: str | PathLike[str], mapping: FieldMapping | None = None) -> Corpus:
    """A corpus from a file (.json, .jsonl, .csv) or a directory; ``mapping`` says which fields are what."""
    place = Path(path)
    check_readable(place)
    if place.is_dir() and not (place / "corpus.jsonl").is_file():
        from searchmark.corpora.directory import stream_directory

        return Corpus(place.resolve().name, lambda: stream_directory(place), place.resolve)
    file = place / "corpus.jsonl" if place.is_dir() else place
    from searchmark.corpora.documents import stream_documents

    return Corpus(file.stem, lambda: stream_documents(file, mapping or FieldMapping()))


def corpus_of(suite: Suite) -> Corpus:
    """The documents that the cases of a suite bring along."""
    documents = [document for case in suite.cases for document in case.documents]
    if not documents:
        raise NothingEvaluated(f"the suite {suite.name!r} brings no documents along")
    return Corpus(suite.name, lambda: iter(documents))
