"""One pass over the documents of a corpus: which words of the queries they have, and which of them say what a query says.

Of a document nothing is kept but counts, and of relevant documents the share of the query's words that they have: a corpus may be
of any size. Words are cut and reduced as the lexical agents do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, pairwise
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import Analyser, AnalyserOptions
from searchmark.agents.lexical.choice import AnalyserChoice
from searchmark.agents.lexical.tokens import raw_words
from searchmark.audit.subject import Subject
from searchmark.judging.existence import Existing
from searchmark.judging.matching import names_lines, path_of_lines
from searchmark.labelling.words import words
from searchmark.measures.formulas import Floats, Ints
from searchmark.records import Document, Suite
from searchmark.records.id_columns import text_list

MOST_CASES = 1000  # that are looked at, evenly spread over the suite: more would say the same
_MOST_KNOWN = 300_000  # distinct words that are remembered as being in no query
_FEWEST_WORDS = 4  # of a query that can be a copy: "create issue" is many a title by chance
_LIKENESS = 0.8  # common words among all words of both from which on one is a copy of the other
_MOST_COPIES = 3  # of one query that are kept


@dataclass(frozen=True)
class Copied:
    """A document that says what a query says, nearly word for word."""

    case: str
    document: str
    relevant: bool


@dataclass(frozen=True, eq=False)
class QueryWords:
    """What documents have of the queries' words, query by query; ``rows`` are the cases that were looked at.

    ``terms`` counts the words of each query, ``gold`` its relevant documents in the corpus. ``held`` is the sum of the shares
    of its words that documents have, ``whole`` the number of documents that have all of them: of relevant ones, and of all.
    """

    rows: Ints
    available: int
    documents: int
    terms: Ints
    gold: Ints
    gold_held: Floats
    gold_whole: Ints
    held: Floats
    whole: Ints
    copies: tuple[Copied, ...]

    @property
    def partly(self) -> str:
        """How much was looked at, where that is not all."""
        return "" if len(self.rows) == self.available else f" (looked at: {len(self.rows)} of {self.available} cases)"


_KNOWN: WeakKeyDictionary[Subject, QueryWords | None] = WeakKeyDictionary()


def query_words(subject: Subject) -> QueryWords | None:
    """What the corpus has of the queries' words, worked out once; None where texts, queries or targets are not known."""
    if subject not in _KNOWN:
        _KNOWN[subject] = _read(subject)
    return _KNOWN[subject]


def _read(subject: Subject) -> QueryWords | None:
    suite, corpus = subject.expanded, subject.corpus
    if corpus is None or suite.table.queries is None or suite.table.documents is not None:
        return None
    existing, analyser = Existing(corpus.survey.ids, corpus.survey.folder), AnalyserChoice(AnalyserOptions()).of(corpus)
    asked = _AskedQueries.in_suite(suite, existing, analyser)
    if not len(asked.rows):
        return None
    counting = _Counting(asked)
    for document in corpus:
        counting.take(document)
    return counting.result if counting.has_texts else None


@dataclass(frozen=True, eq=False)
class _AskedQueries:
    """The queries that are looked at: their rows, their terms, all their words as a copy would have them, their targets."""

    suite: Suite
    analyser: Analyser
    rows: Ints
    available: int
    terms: Sequence[frozenset[str]]
    targets: Mapping[str, list[int]]  # queries that each document is relevant to

    @classmethod
    def in_suite(cls, suite: Suite, existing: Existing, analyser: Analyser) -> _AskedQueries:
        queries = suite.table.queries or ()
        relevant = list(_relevant(suite, existing))
        terms = {row: frozenset(analyser.query_terms(queries[row] or "")) for row in range(len(suite)) if relevant[row]}
        all_rows = np.array([row for row, known in terms.items() if known], np.int64)
        rows = all_rows[np.linspace(0, len(all_rows) - 1, min(MOST_CASES, len(all_rows))).astype(np.int64)]
        targets: dict[str, list[int]] = {}
        for number, row in enumerate(rows.tolist()):
            for target in relevant[row]:
                targets.setdefault(target, []).append(number)
        return cls(suite, analyser, rows, len(all_rows), [terms[row] for row in rows.tolist()], targets)

    def query(self, number: int) -> str:
        return (self.suite.table.queries or ())[int(self.rows[number])] or ""

    @cached_property
    def numbers(self) -> dict[str, int]:
        """A number for each term that is asked for."""
        return {term: number for number, term in enumerate(dict.fromkeys(term for terms in self.terms for term in terms))}

    @cached_property
    def postings(self) -> list[Ints]:
        """The queries that ask for each term."""
        asking: list[list[int]] = [[] for _ in self.numbers]
        for query, terms in enumerate(self.terms):
            for term in terms:
                asking[self.numbers[term]].append(query)
        return [np.array(queries, np.int64) for queries in asking]

    @cached_property
    def spoken(self) -> dict[int, list[str]]:
        """All words, in order, of the queries that are long enough to be a copy."""
        found = ((number, words(self.query(number))) for number in range(len(self.rows)))
        return {number: said for number, said in found if len(set(said)) >= _FEWEST_WORDS}

    @cached_property
    def may_be_copies(self) -> NDArray[np.bool_]:
        marks = np.zeros(len(self.rows), bool)
        marks[list(self.spoken)] = True
        return marks

    @cached_property
    def longest(self) -> int:
        """Letters that a text may have and still be the copy of a query."""
        return round(max((len(self.query(number)) for number in self.spoken), default=0) / _LIKENESS) + 20


def _relevant(suite: Suite, existing: Existing) -> Iterator[set[str]]:
    """The relevant documents of each case, as the corpus calls them; what does not exist is left out."""
    judgments, targets = suite.judgments, text_list(suite.judgments.targets)
    starts, good = judgments.starts.tolist(), (judgments.grades >= suite.defaults.rel).tolist()
    for start, end in pairwise(starts):
        named = (targets[row] for row in range(start, end) if good[row])
        settled = (existing.settled(path_of_lines(name) if names_lines(name) else name) for name in named)
        yield {name for name, exists in settled if exists}


class _Counting:
    """Counts document by document."""

    def __init__(self, asked: _AskedQueries) -> None:
        count = len(asked.rows)
        self._asked = asked
        self._sizes = np.array([len(terms) for terms in asked.terms], np.int64)
        self._held, self._gold_held = np.zeros(count), np.zeros(count)
        self._whole, self._gold, self._gold_whole = (np.zeros(count, np.int64) for _ in range(3))
        self._copies: dict[int, list[Copied]] = {}
        self._documents = 0
        self.has_texts = False
        self._asked_for: dict[bytes, tuple[int, ...]] = {}  # words and the terms of queries that are in them
        self._other_words: set[bytes] = set()

    def take(self, document: Document) -> None:
        """Count one more document."""
        self._documents += 1
        self.has_texts = self.has_texts or bool(document.text or document.title)
        relevant = self._asked.targets.get(document.id, [])
        self._gold[relevant] += 1
        terms = self._terms(document)
        if not terms:
            return
        found = np.bincount(np.concatenate([self._asked.postings[term] for term in terms]), minlength=len(self._sizes))
        share, whole = found / self._sizes, found == self._sizes
        self._held += share
        self._whole += whole
        self._gold_held[relevant] += share[relevant]
        self._gold_whole[relevant] += whole[relevant]
        near = np.flatnonzero(self._asked.may_be_copies & (share >= _LIKENESS))
        if len(near):
            self._look_for_copies(document, near.tolist(), relevant)

    def _terms(self, document: Document) -> set[int]:
        """The terms of the queries that a document has; every distinct word is taken apart once."""
        said = {*raw_words(document.title or ""), *raw_words(document.text)}
        others = said - self._other_words  # sets throughout: only between two of them does Python go through the smaller one
        known = {word for word in others if word in self._asked_for}
        found = set(chain.from_iterable(map(self._asked_for.__getitem__, known)))
        for word in others - known:
            terms = self._terms_in(word)
            found.update(terms)
            if terms:
                self._asked_for[word] = terms
            elif len(self._other_words) < _MOST_KNOWN:  # what is frequent comes early
                self._other_words.add(word)
        return found

    def _terms_in(self, word: bytes) -> tuple[int, ...]:
        analyser, numbers = self._asked.analyser, self._asked.numbers
        terms = map(analyser.term, analyser.tokeniser.pieces(word))
        return tuple(numbers[term] for term in terms if term is not None and term in numbers)

    def _look_for_copies(self, document: Document, near: Iterable[int], relevant: Sequence[int]) -> None:
        said = [words(text) for text in _sayings(document, self._asked.longest)]
        for query in near:
            spoken, kept = self._asked.spoken[query], self._copies.setdefault(query, [])
            if len(kept) < _MOST_COPIES and any(_is_copy(spoken, each) for each in said):
                case = self._asked.suite.table.ids[int(self._asked.rows[query])]
                kept.append(Copied(case, document.id, query in relevant))

    @property
    def result(self) -> QueryWords:
        copies = tuple(each for query in sorted(self._copies) for each in self._copies[query])
        asked = self._asked
        return QueryWords(
            rows=asked.rows,
            available=asked.available,
            documents=self._documents,
            terms=self._sizes,
            gold=self._gold,
            gold_held=self._gold_held,
            gold_whole=self._gold_whole,
            held=self._held,
            whole=self._whole,
            copies=copies,
        )


def _is_copy(spoken: Sequence[str], said: Sequence[str]) -> bool:
    """Whether two texts have nearly the same words, and those in the same order."""
    one, two = set(spoken), set(said)
    alike = len(one & two) >= _LIKENESS * len(one | two)
    return alike and SequenceMatcher(None, spoken, said, autojunk=False).ratio() >= _LIKENESS


def _sayings(document: Document, longest: int) -> Iterator[str]:
    """What of a document may be a query: its title, a field, its text, the first line or sentence of it."""
    line = document.text.lstrip()[: longest + 1].partition("\n")[0]
    sentences = (line[: line.find(end) + 1] for end in "?.!" if end in line)
    fields = (value for value in document.fields.values() if isinstance(value, str))
    for text in (document.title or "", document.text, line, *sentences, *fields):
        if text and len(text) <= longest:
            yield text
