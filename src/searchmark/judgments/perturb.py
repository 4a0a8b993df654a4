"""Cases in which words point to the wrong document: one that is not relevant has more of the query's words than any that is.

Words weigh by their inverse document frequency, and are cut and reduced as bm25 does it. How often a word is in a document, and
how long that is, do not count: what is found here cannot be told by which words are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import chain
from math import log

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import Analyser, AnalyserOptions
from searchmark.agents.lexical.choice import AnalyserChoice
from searchmark.agents.lexical.tokens import raw_words
from searchmark.corpora.corpus import Corpus
from searchmark.corpora.exclusions import with_exclusions
from searchmark.errors import NothingEvaluated
from searchmark.judging.existence import Existing
from searchmark.judging.judge import expand_suite
from searchmark.judging.matching import names_lines, path_of_lines
from searchmark.records import Case, Document, Suite

TAG = "lexical-trap"
DISTRACTOR, DISTRACTORS = "distractor", "distractors"
MOST_NAMED = 3  # distractors of one case
_MOST_KNOWN = 300_000  # distinct words that are remembered as being in no query
SAME = 1e-9  # weights that differ by less are equal

# Why a case was not looked at.
UNANSWERABLE, NO_WORDS = "unanswerable", "without words to search for"
NOTHING_RELEVANT = "without a relevant document in the corpus"

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Trap:
    """One case, the documents that draw a search for words, the strongest first, and what share of the query's weight they have.

    ``share`` is that of the first distractor, ``relevant_share`` that of the best relevant document; ``more`` counts all
    documents that have more than that.
    """

    case: str
    distractors: tuple[str, ...]
    share: float
    relevant_share: float
    more: int


@dataclass(frozen=True)
class LexicalTraps:
    """The traps among the cases that were looked at, and why others were not."""

    suite: Suite
    traps: Mapping[str, Trap]
    looked_at: int
    skipped: Mapping[str, int]

    def trapped(self) -> Suite:
        """The suite of these cases alone, each tagged, its distractors named."""
        if not self.traps:
            raise NothingEvaluated(f"no case of the suite {self.suite.name!r} is a lexical trap; nothing was written")
        cases = [_tagged(case, self.traps[case.id]) for case in self.suite.cases if case.id in self.traps]
        kept = {name: getattr(self.suite, name) for name in ("defaults", "description", "model", "metadata", "kind")}
        return Suite.from_cases(f"{self.suite.name}-traps", cases, **kept)


def _tagged(case: Case, trap: Trap) -> Case:
    fields = {**case.fields, DISTRACTOR: trap.distractors[0], DISTRACTORS: list(trap.distractors)}
    return replace(case, tags=tuple(dict.fromkeys((*case.tags, TAG))), fields=fields)


def lexical_traps(suite: Suite, corpus: Corpus | None) -> LexicalTraps:
    """The traps of a suite in one corpus; without one, each case in the documents that it brings along."""
    found, skipped, looked_at = dict[str, Trap](), Counter[str](), 0
    parts = [(suite, corpus)] if corpus is not None else _brought_along(suite)
    for part, searched in parts:
        answerable = part.only([case.id for case in part.cases if not case.unanswerable])
        skipped[UNANSWERABLE] += len(part) - len(answerable)
        if not len(answerable):
            continue
        search = _TrapSearch(answerable, searched)
        for case, trap in search.cases():
            if isinstance(trap, str):
                skipped[trap] += 1
                continue
            looked_at += 1
            found |= {} if trap is None else {case: trap}
    return LexicalTraps(suite, found, looked_at, {reason: count for reason, count in skipped.items() if count})


def _brought_along(suite: Suite) -> Iterator[tuple[Suite, Corpus]]:
    """Cases with the same documents together."""
    together: dict[tuple[Document, ...] | tuple[tuple[str, str], ...], list[Case]] = {}
    for case in suite.cases:
        together.setdefault(tuple((each.id, each.text) for each in case.documents), []).append(case)
    for cases in together.values():
        documents = cases[0].documents
        if documents:
            yield Suite.from_cases(suite.name, cases, defaults=suite.defaults), Corpus.of(suite.name, documents)


class _TrapSearch:
    """The queries of a suite against one corpus, which is read once."""

    def __init__(self, suite: Suite, corpus: Corpus) -> None:
        self._suite = expand_suite(with_exclusions(suite, corpus.survey), corpus.survey.ids)
        self._existing = Existing(corpus.survey.ids, corpus.survey.folder)
        self._analyser = AnalyserChoice(AnalyserOptions()).of(corpus)
        self._terms = {case.id: sorted(set(self._analyser.query_terms(case.query or ""))) for case in suite.cases}
        self._postings = _TermDocuments(self._analyser, set(chain.from_iterable(self._terms.values())))
        for document in corpus:
            self._postings.take(document)
        self._names = list(self._postings.rows)

    def cases(self) -> Iterator[tuple[str, Trap | str | None]]:
        """Every case with its trap, None where there is none, or the reason why it was not looked at."""
        for case in self._suite.cases:
            yield case.id, self._look_at(case)

    def _look_at(self, case: Case) -> Trap | str | None:
        terms = self._terms[case.id]
        if not terms:
            return NO_WORDS
        relevant = self._rows(case, self._suite.defaults.rel)
        if not relevant:
            return NOTHING_RELEVANT
        weights, whole = self._postings.weights(terms)
        best = float(weights[relevant].max())
        weights[self._rows(case, 1)] = -1.0  # what is relevant to a lower degree is no wrong document
        more = np.flatnonzero(weights > best + SAME)
        if not len(more):
            return None
        names, heavy = self._names, weights.tolist()
        strongest = nsmallest(MOST_NAMED, more.tolist(), key=lambda row: (-heavy[row], names[row]))
        return Trap(
            case.id,
            tuple(names[row] for row in strongest),
            float(weights[strongest[0]]) / whole,
            best / whole,
            len(more),
        )

    def _rows(self, case: Case, lowest: int) -> list[int]:
        """The documents that are judged to be of at least this grade."""
        named = (judgment.target for judgment in case.judgments if judgment.grade >= lowest)
        settled = (self._existing.settled(path_of_lines(name) if names_lines(name) else name) for name in named)
        rows = self._postings.rows
        return sorted({rows[name] for name, exists in settled if exists and name in rows})


class _TermDocuments:
    """Which documents have which of some terms; of all other words nothing is kept."""

    def __init__(self, analyser: Analyser, terms: Iterable[str]) -> None:
        self._analyser = analyser
        self._having: dict[str, list[int]] = {term: [] for term in sorted(terms)}
        self._asked_for: dict[bytes, tuple[str, ...]] = {}
        self._other_words: set[bytes] = set()
        self.rows: dict[str, int] = {}

    def take(self, document: Document) -> None:
        row = self.rows.setdefault(document.id, len(self.rows))
        said = {*raw_words(document.title or ""), *raw_words(document.text)} - self._other_words
        for term in {term for word in said for term in self._terms_in(word)}:
            self._having[term].append(row)

    def _terms_in(self, word: bytes) -> tuple[str, ...]:
        if word not in self._asked_for:
            terms = map(self._analyser.term, self._analyser.tokeniser.pieces(word))
            found = tuple(term for term in terms if term is not None and term in self._having)
            if found:
                self._asked_for[word] = found
            elif len(self._other_words) < _MOST_KNOWN:
                self._other_words.add(word)
            return found
        return self._asked_for[word]

    def weights(self, terms: Sequence[str]) -> tuple[Weights, float]:
        """What every document has of the weight of a query, and all that there is to have."""
        weights, whole = np.zeros(len(self.rows)), 0.0
        for term in terms:
            having = self._having[term]
            weight = log(1 + (len(self.rows) - len(having) + 0.5) / (len(having) + 0.5))  # as bm25 has it
            weights[having] += weight
            whole += weight
        return weights, whole
