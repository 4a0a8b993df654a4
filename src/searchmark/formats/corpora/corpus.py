"""What is searched: documents in JSON, JSONL or CSV files, a directory, the tree of a commit, or what a suite brings along.

A corpus is streamed, never held: one pass reports its ids, duplicates and empty documents and takes its
digest, and every further pass yields the documents one by one.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from searchmark.corpora.document_fields import DocumentFields
from searchmark.corpora.document_source import DocumentList, DocumentSource
from searchmark.corpora.downloads import local_path
from searchmark.corpora.field_mapping import FieldMapping
from searchmark.corpora.folder_files import LEFT_OUT, FolderFiles, files_of, read_from, refuse_choice
from searchmark.corpora.path_names import PathNames
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.files.store import check_readable, inner_stem
from searchmark.options.corpus_choice import CorpusChoice, FileChoice
from searchmark.options.short_repr import short_repr
from searchmark.records import Document
from searchmark.records.shown import quoted
from searchmark.services.network import network_allowed

if TYPE_CHECKING:
    from searchmark.records import Suite

__all__ = ["Changes", "Corpus", "FieldMapping", "Survey", "corpus_of", "load_corpus", "opened"]


@dataclass(frozen=True)
class Survey:
    """What one pass over a corpus has seen: its ids, each once, and what is odd about it.

    ``folder`` is where the documents lie as files, where they do so anyway, and ``files`` says which of its files they are.
    ``fields`` reads what they say of themselves.
    """

    ids: Set[str]
    duplicates: int
    empty: int
    skipped: int
    digest: str
    folder: Path | None = None
    files: FolderFiles | None = field(default=None, compare=False, repr=False)
    fields: DocumentFields | None = field(default=None, compare=False, repr=False)

    def positions(self, ids: Set[str]) -> dict[str, int]:
        """Where these documents first come in the corpus, which is read again for it; empty where it cannot be."""
        found: dict[str, int] = {}
        for position, document in enumerate(() if self.fields is None else self.fields.source.stream()):
            if document is not None and document.id in ids:
                found.setdefault(document.id, position)
        return found


class Corpus:
    """A named set of documents that can be read any number of times; an id counts the first time it occurs.

    A corpus pickles: what another process gets is the name and the source, and it looks for itself.
    """

    def __init__(self, name: str, source: DocumentSource) -> None:
        self.name = name
        self.source = source
        self._folder: Path | None = None
        self._folder_ns = 0
        self._making = threading.Lock()  # an agent may ask from several threads, and there is one folder

    @classmethod
    def of(cls, name: str, documents: Sequence[Document], versions: Mapping[str, str] | None = None) -> Corpus:
        """A corpus of documents in memory."""
        return cls(name, DocumentList(documents, versions))

    @classmethod
    def from_frame(cls, table: Any, name: str = "corpus", mapping: FieldMapping | Mapping[str, str] | None = None) -> Corpus:
        """A corpus from a DataFrame of pandas or polars or an Arrow table, one row per document.

        The columns are found by their usual names (id, title, text); ``mapping`` names others: {"id": "asin"}. All other
        columns are fields of the documents.
        """
        from searchmark.corpora.frame_documents import documents_of_frame

        return cls.of(name, documents_of_frame(table, mapping))

    def __reduce__(self) -> tuple[type[Corpus], tuple[str, DocumentSource]]:
        return Corpus, (self.name, self.source)

    def __repr__(self) -> str:
        return f"Corpus({quoted(self.name)})"

    def __iter__(self) -> Iterator[Document]:
        """The documents, one by one; of several with one id only the first."""
        seen: set[str] = set()
        for document in self.source.stream():
            if document is not None and document.id not in seen:
                seen.add(document.id)
                yield document

    def read(self, ids: Sequence[str]) -> Iterator[Document]:
        """The documents with these ids, in any order; what is no text is left out."""
        if self.reads_by_id:
            yield from self.source.read(ids)
            return
        wanted = set(ids)
        yield from (document for document in self if document.id in wanted)

    @property
    def reads_by_id(self) -> bool:
        """Whether ``read`` takes less than a pass over everything."""
        return self.source.reads_by_id

    @property
    def versions(self) -> Mapping[str, str] | None:
        """A name for the content of each document, where that is known without reading it: equal names, equal content."""
        return self.source.versions

    @property
    def names(self) -> Iterable[str] | None:
        """The ids, where they are known without reading the documents; some of them may turn out to be no text."""
        return self.source.names()

    @property
    def origin(self) -> tuple[Path, str] | None:
        """The repository and the commit whose tree this is, if it is one."""
        return self.source.origin

    @property
    def folder(self) -> Path | None:
        """A folder with every document as a file, made when it is first asked for; None if there cannot be one."""
        with self._making:
            if self._folder is None:
                start = perf_counter_ns()
                self._folder = self.source.folder()
                self._folder_ns += perf_counter_ns() - start
            return self._folder

    @property
    def folder_if_made(self) -> Path | None:
        """The folder if anybody has asked for it; asking here makes none."""
        return self._folder

    @cached_property
    def path_names(self) -> PathNames | None:
        """How paths that agents print are called here; None where ids are no paths. No folder is made for this."""
        is_folder = self.origin is not None or self.folder is not None  # that of a commit would have to be made
        return PathNames(lambda: self._folder) if is_folder else None

    @property
    def folder_ns(self) -> int:
        """Nanoseconds that the folder has taken to make: our own work, which no agent is charged for."""
        return self._folder_ns

    @cached_property
    def survey(self) -> Survey:
        """One pass over everything, which keeps only the ids. None in the stream is something that was skipped."""
        ids: set[str] = set()
        duplicates = empty = skipped = total = 0
        for document in self.source.stream():
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
            raise NothingEvaluated(f"the corpus {self.name!r} holds no documents{_why_empty(self.source.chosen_files, skipped)}")
        folder = self.folder if self.origin is None else None  # that of a commit would have to be made
        digest = f"{total % (1 << 256):064x}"
        return Survey(ids, duplicates, empty, skipped, digest, folder, self.source.chosen_files, DocumentFields(self.source))


@dataclass(frozen=True, eq=False)
class Changes:
    """The step from one state of a corpus to the next: what there is to search from now on, and what is different.

    ``written`` names documents that are new or have another content, ``removed`` those that are gone. A written one that
    ``corpus.read`` does not give is no text, or no longer: forget what was known about it.
    """

    corpus: Corpus
    written: tuple[str, ...]
    removed: tuple[str, ...]

    __repr__ = short_repr


def _digest(document: Document) -> int:
    fields = (
        json.dumps(document.fields, sort_keys=True, default=str) if document.fields else ""
    )  # they are searched and filtered by
    content = "\0".join((document.id, document.title or "", document.text, fields)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest())


def _why_empty(files: FolderFiles | None, skipped: int) -> str:
    known = () if files is None else files.left_out
    left_out = [f"{each.count} {LEFT_OUT[each.reason]}, like {each.examples[0]!r}" for each in known]
    left_out += [f"{skipped} that hold no text"] if skipped else []
    return f": left out are {'; '.join(left_out)}" if left_out else ""


def load_corpus(
    path: str | PathLike[str],
    mapping: FieldMapping | None = None,
    files: FileChoice | FolderFiles | None = None,
    never: Iterable[Path] = (),
) -> Corpus:
    """A corpus from a file or a directory; ``mapping`` says which fields are what, ``files`` which files are documents.

    A file may be named by its address, ``https://host/corpus.jsonl#sha256=HEX``; it is then downloaded once.

    ``never`` are files of a directory that are no documents: the suite that is asked, for one.
    """
    from searchmark.corpora.directory import DirectorySource
    from searchmark.corpora.documents import FileSource
    from searchmark.corpora.folder_layouts import documents_in

    given = local_path(path, network=network_allowed())
    check_readable(given)
    file = documents_in(given) if given.is_dir() else given
    if file is not None:
        if isinstance(files, FileChoice):
            refuse_choice(read_from(given, file), files)
        name = given.resolve().name if file.is_dir() else inner_stem(file)
        return Corpus(name, FileSource(file, mapping or FieldMapping()))
    if mapping is not None and mapping.named:
        raise UsageError(f"{given} is a directory of files, which have no fields that a mapping could name; leave the mapping out")
    found = files if isinstance(files, FolderFiles) else files_of(given, files or FileChoice(), never)
    return Corpus(given.resolve().name, DirectorySource(given, found))


def opened(choice: CorpusChoice) -> Corpus:
    """The corpus that somebody has named."""
    if choice.corpus is None:
        raise UsageError("there is nothing to search; name documents with --corpus")
    return load_corpus(choice.corpus, FieldMapping.parse(choice.mapping), choice.files, choice.never)


def corpus_of(suite: Suite) -> Corpus:
    """The documents that the cases of a suite bring along."""
    documents = [document for case in suite.cases for document in case.documents]
    if not documents:
        raise NothingEvaluated(f"the suite {suite.name!r} has no documents of its own")
    return Corpus.of(suite.name, documents)
