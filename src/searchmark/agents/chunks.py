"""Documents as passages: what ranks documents then ranks passages, and its hits say which lines they are.

A passage is a content-defined chunk, as ``semantic`` cuts texts. It is a document whose id ends in its lines, ``a.py#L3-L9``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from searchmark.agents.agent import RetrievalResult
from searchmark.corpora.chunks import chunks
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.selection import DocumentSelection
from searchmark.records import Document


@dataclass(frozen=True)
class Passage:
    """A passage as a document, and the document and the lines that it is."""

    document: Document
    source: str
    lines: tuple[int, int]


class Passages:
    """The passages of a corpus that is followed from state to state; they are held in memory."""

    def __init__(self) -> None:
        self._of: dict[str, list[Passage]] = {}
        self._by_id: dict[str, Passage] = {}

    def corpus(self, corpus: Corpus) -> Corpus:
        self._of, self._by_id = {}, {}
        self._add(corpus)
        return self._all(corpus.name)

    def changes(self, changes: Changes) -> Changes:
        """A document that is written anew has new passages, wherever it was changed: their lines move."""
        gone = [each.document.id for name in (*changes.removed, *changes.written) for each in self._of.pop(name, ())]
        for passage in gone:
            del self._by_id[passage]
        written = self._add(changes.corpus.read(changes.written))
        return Changes(self._all(changes.corpus.name), tuple(written), tuple(sorted(set(gone).difference(written))))

    def source_of(self, passage: str) -> str:
        """The id of the document that a passage is of."""
        return self._by_id[passage].source

    def hits(self, ids: Sequence[str], scores: list[float]) -> RetrievalResult:
        """Passages as hits: documents, and their lines."""
        found = [self._by_id[each] for each in ids]
        return RetrievalResult([each.source for each in found], scores, lines=[each.lines for each in found])

    def _add(self, documents: Iterable[Document]) -> list[str]:
        new = {document.id: list(passages(document)) for document in documents}
        self._of |= new
        by_id = {each.document.id: each for each in chain.from_iterable(new.values())}
        self._by_id |= by_id
        return list(by_id)

    def _all(self, name: str) -> Corpus:
        return Corpus.of(name, [each.document for each in chain.from_iterable(self._of.values())])


def passages(document: Document) -> Iterator[Passage]:
    """The passages of a document, without the blank lines around them; each has the title of the document, or else its id."""
    begun = 1
    for chunk in chunks(document.text):
        text = chunk.strip("\n")
        if text.strip():
            first = begun + len(chunk) - len(chunk.lstrip("\n"))
            last = first + text.count("\n")
            made = Document(f"{document.id}#L{first}-L{last}", text, document.title or document.id, document.fields)
            yield Passage(made, document.id, (first, last))
        begun += chunk.count("\n")


def check_lines(wanted: bool, selection: DocumentSelection) -> None:
    """Refuse lines of what is not the text as it is."""
    if wanted and not selection.keeps_lines:
        raise ValueError("lines are those of the text: leave out the option lines, or all fields but title and text")


def describe_lines(wanted: bool) -> dict[str, str]:
    """What hits are, where they are not documents."""
    return {"hits": "passages"} if wanted else {}
