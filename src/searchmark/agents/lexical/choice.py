"""Which analyser is right for a corpus, if nobody says it: code is searched by its words, prose by their stems.

The choice is a function of one state of a corpus. What an agent has seen before never enters, so an index that has followed a
history and one that is made from scratch choose alike.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING

from searchmark.agents.lexical.analyser import NONE, Analyser, AnalyserOptions
from searchmark.agents.lexical.stop_words import STOP_WORDS
from searchmark.agents.lexical.tokens import IDENTIFIERS
from searchmark.corpora.file_kinds import classify

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes, Corpus
    from searchmark.records import Document

CODE_SHARE = 0.1  # of the files that are code or documentation, from which on a corpus is code
SAMPLE = 64  # documents whose language is looked at
SAMPLED_CHARACTERS = 2000  # of each of them
HEAD = 500  # records whose ids are looked at, where ids are not known without reading
LEAST_SHARE = 0.08  # of all words that must be function words of a language; running text has 0.3 to 0.5
LEAST_DISTINCT = 5  # function words of a language that must occur: a word or two may be anything
LEAST_LEAD = 1.25  # over the language that comes second, so that two languages in one corpus are told from one
_MARKUP = (".html", ".htm", ".xhtml")  # says nothing: it may be a page of text or part of a program


class AnalyserChoice:
    """Follows a corpus from state to state and says which analyser each of them gets."""

    def __init__(self, options: AnalyserOptions) -> None:
        self._options = options
        self._is_code: dict[str, bool] = {}  # the names that say something
        self._code = 0  # how many of them are code
        self._sample: list[str] | None = None  # ids of the documents whose language was looked at
        self._language = NONE
        self._looked = False

    @property
    def described(self) -> str:
        """How the language was found."""
        if self._options.language != "auto":
            return "given"
        if not self._looked:
            return "not chosen yet"
        return "the corpus is code" if self._holds_code() else "the corpus is prose"

    def of(self, corpus: Corpus) -> Analyser:
        """The analyser for a corpus that was not looked at before."""
        if self._options.language != "auto":
            return self._options.analyser(self._options.language)
        self._is_code, self._code, self._sample, self._looked = {}, 0, None, True
        names = corpus.names
        head = list(islice(corpus, HEAD)) if names is None else []
        self._take((document.id for document in head) if names is None else names)
        if self._holds_code():
            return self._options.analyser_for_code()
        if names is None or not corpus.reads_by_id:
            self._language = language_of(head[:SAMPLE] or islice(corpus, SAMPLE))
        else:
            self._look_again(corpus, names, ())
        return self._options.analyser(self._language)

    def after(self, changes: Changes) -> Analyser:
        """The analyser for the next state of the corpus that was looked at last."""
        if self._options.language != "auto":
            return self._options.analyser(self._options.language)
        names = changes.corpus.names
        if names is None or not changes.corpus.reads_by_id:
            return self.of(changes.corpus)
        self._drop(changes.removed)
        self._take(changes.written)
        if self._holds_code():
            self._sample = None  # what is not looked at meanwhile has to be looked at again
            return self._options.analyser_for_code()
        self._look_again(changes.corpus, names, changes.written)
        return self._options.analyser(self._language)

    def _holds_code(self) -> bool:
        return self._code > 0 and self._code >= CODE_SHARE * len(self._is_code)

    def _take(self, names: Iterable[str]) -> None:
        for name in names:
            kind = _is_code(name)
            if kind is not None and name not in self._is_code:
                self._is_code[name] = kind
                self._code += kind

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._code -= self._is_code.pop(name, False)

    def _look_again(self, corpus: Corpus, names: Iterable[str], written: Sequence[str]) -> None:
        """The documents of the sample are those of the smallest checksums: another document seldom changes which they are."""
        prose = [name for name, code in self._is_code.items() if not code]
        sample = nsmallest(SAMPLE, prose or names, key=lambda name: (zlib.crc32(name.encode("utf-8", "surrogatepass")), name))
        if sample != self._sample or not set(written).isdisjoint(sample):
            self._sample = sample
            self._language = language_of(corpus.read(sample))


def _is_code(name: str) -> bool | None:
    """Whether a name is that of a code file or of a text; None if it is neither, as the id of a record is."""
    base = name.rsplit("/", 1)[-1]  # not the folder: an example below docs/ is code like any other
    if base.lower().endswith(_MARKUP):
        return None
    return {"code": True, "test": True, "doc": False}.get(classify(base))


def language_of(documents: Iterable[Document]) -> str:
    """The language whose function words the texts are full of; ``none`` if there is no such, or more than one."""
    texts = (f"{document.title or ''} {document.text[:SAMPLED_CHARACTERS]}" for document in documents)
    counted = Counter(chain.from_iterable(map(IDENTIFIERS.tokens, texts)))
    held = {language: sum(counted[word] for word in words) for language, words in STOP_WORDS.items()}
    (first, most), (_, second) = sorted(held.items(), key=lambda entry: (-entry[1], entry[0]))[:2]
    evident = len(STOP_WORDS[first] & counted.keys()) >= LEAST_DISTINCT
    return first if evident and most >= max(LEAST_SHARE * counted.total(), LEAST_LEAD * second) else NONE
