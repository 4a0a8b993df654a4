"""Content-defined chunks of texts, and passages of documents made from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from searchmark.agents.protocol import RetrievalResult
from searchmark.formats.corpora.corpus import Changes, Corpus, DocumentSelection
from searchmark.records.document import Document

# What a document is called: the one rule that every agent goes by which looks at names.


def document_name(document: Document) -> str:
    """The title of a document, or else its id, which is the path of a file."""
    return document.title or document.id


# Content-defined chunks: pieces of a text whose borders depend on the text around them and on nothing else.
#
# An edit therefore changes the chunk that it falls into and leaves all others as they were, wherever they
# have moved to. Fixed windows of lines would shift from the edit to the end of the file.

LONGEST_CHUNK_LINES = 80  # lines; a function that is longer is cut again at its blank lines


# A blank line, and right behind it what begins a chunk. Neither repeats what the other has looked at, so time is linear.
_BEFORE_UNINDENTED = re.compile(r"\n[^\S\n]*\n(?=\S)")

_BEFORE_ANY = re.compile(r"\n[^\S\n]*\n(?=[^\S\n]*\S)")


def content_chunks(text: str, longest: int = LONGEST_CHUNK_LINES) -> list[str]:
    """Pieces that make up the text when joined: cut at blank lines before unindented text, long ones at any blank line."""
    chunks = []
    for part in _cut_at(text, _BEFORE_UNINDENTED):
        if part.count("\n", 0, -1) < longest:
            chunks.append(part)
        else:
            chunks += _cut_at(part, _BEFORE_ANY)
    return chunks


def _cut_at(text: str, border: re.Pattern[str]) -> list[str]:
    cuts = [match.end() for match in border.finditer(text)]  # never the end, since something follows
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)] if text else []


# Documents as passages: what ranks documents then ranks passages, and its hits say which lines they are.
#
# A passage is a content-defined chunk, as ``semantic`` cuts texts. It is a document whose id ends in its lines, ``a.py#L3-L9``.


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
        ids_gone = [each.document.id for name in (*changes.removed, *changes.written) for each in self._of.pop(name, ())]
        for passage in ids_gone:
            del self._by_id[passage]
        new_ids = self._add(changes.corpus.read(changes.written))
        return Changes(self._all(changes.corpus.name), tuple(new_ids), tuple(sorted(set(ids_gone).difference(new_ids))))

    def source_of(self, passage: str) -> str:
        """The id of the document that a passage is of."""
        return self._by_id[passage].source

    def hits(self, ids: Sequence[str], scores: list[float]) -> RetrievalResult:
        """Passages as hits: documents, and their lines."""
        hits = [self._by_id[each] for each in ids]
        return RetrievalResult([each.source for each in hits], scores, lines=[each.lines for each in hits])

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
    start = 1
    for chunk in content_chunks(document.text):
        text = chunk.strip("\n")
        if text.strip():
            first = start + len(chunk) - len(chunk.lstrip("\n"))
            last = first + text.count("\n")
            pieces = Document(f"{document.id}#L{first}-L{last}", text, document.title or document.id, document.fields)
            yield Passage(pieces, document.id, (first, last))
        start += chunk.count("\n")


def refuse_lines_of_selection(lines: bool, selection: DocumentSelection) -> None:
    """Refuse lines of what is not the text as it is."""
    if lines and not selection.keeps_lines:
        raise ValueError("lines are those of the text: leave out the option lines, or all fields but title and text")


def lines_description(lines: bool) -> dict[str, str]:
    """What hits are, where they are not documents."""
    return {"hits": "passages"} if lines else {}
