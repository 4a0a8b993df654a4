"""Documents as passages: what ranks documents then ranks passages, and its hits say which lines they are.

A passage is a content-defined chunk, as ``semantic`` cuts texts. It is a document whose id ends in its lines, ``a.py#L3-L9``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from searchmark.agents.agent import RetrievalResult
from searchmark.corpora.chunks import chunks
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.selection import DocumentSelection
from searchmark.judging.matching import apart
from searchmark.records import Document


class Passages:
    """The passages of a corpus that is followed from state to state; they are held in memory."""

    def __init__(self) -> None:
        self._of: dict[str, list[Document]] = {}

    def corpus(self, corpus: Corpus) -> Corpus:
        self._of = {document.id: list(passages(document)) for document in corpus}
        return self._all(corpus.name)

    def changes(self, changes: Changes) -> Changes:
        """A document that is written anew has new passages, wherever it was changed: their lines move."""
        gone = [each.id for name in (*changes.removed, *changes.written) for each in self._of.pop(name, ())]
        new = {document.id: list(passages(document)) for document in changes.corpus.read(changes.written)}
        self._of |= new
        written = tuple(each.id for of_document in new.values() for each in of_document)
        removed = tuple(sorted(set(gone).difference(written)))
        return Changes(self._all(changes.corpus.name), written, removed)

    def _all(self, name: str) -> Corpus:
        return Corpus.of(name, list(chain.from_iterable(self._of.values())))


def passages(document: Document) -> Iterator[Document]:
    """The passages of a document, without the blank lines around them; each has the title of the document, or else its id."""
    begun = 1
    for chunk in chunks(document.text):
        text = chunk.strip("\n")
        if text.strip():
            first = begun + len(chunk) - len(chunk.lstrip("\n"))
            last = first + text.count("\n")
            yield Document(f"{document.id}#L{first}-L{last}", text, document.title or document.id, document.fields)
        begun += chunk.count("\n")


def check_lines(wanted: bool, selection: DocumentSelection) -> None:
    """Refuse lines of what is not the text as it is."""
    if wanted and not selection.keeps_lines:
        raise ValueError("lines are those of the text: leave out the option lines, or all fields but title and text")


def describe_lines(wanted: bool) -> dict[str, str]:
    """What hits are, where they are not documents."""
    return {"hits": "passages"} if wanted else {}


def with_lines(ids: Iterable[str], scores: list[float]) -> RetrievalResult:
    """Passages as hits: files, and their lines."""
    found = [apart(each) for each in ids]
    return RetrievalResult([document for document, _ in found], scores, lines=[lines for _, lines in found])
