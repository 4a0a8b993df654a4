"""From counted tokens to counted terms: what an analyser makes of counts, each distinct token analysed once."""

from __future__ import annotations

from itertools import islice

import numpy as np

from searchmark.agents.lexical.analyser import Analyser
from searchmark.agents.lexical.vocabulary import Counts, Growing, Vocabulary

LEFT_OUT = -1


class AnalysedCounts:
    """The terms of a vocabulary under one analyser. Where every token is its own term, nothing is done and nothing is held."""

    def __init__(self, vocabulary: Vocabulary, analyser: Analyser) -> None:
        self.analyser = analyser
        self._vocabulary = vocabulary
        self._terms: dict[str, int] = vocabulary.numbers if analyser.keeps_tokens else {}
        self._term_of = Growing(np.int32)  # by the number of the token

    def counts(self, tokens: Counts) -> Counts:
        """The same texts as counts of terms; a text may hold a term several times over, once for each of its forms."""
        if self.analyser.keeps_tokens:
            return tokens
        self._learn()
        terms = self._term_of.values[tokens.terms]
        kept = terms != LEFT_OUT
        before = np.concatenate(([0], np.cumsum(kept)))
        words = np.concatenate(([0], np.cumsum(tokens.counts * kept, dtype=np.int64)))
        return Counts(before[tokens.starts], terms[kept], tokens.counts[kept], np.diff(words[tokens.starts]))

    def query(self, text: str) -> dict[int, int]:
        """The known terms of a query, in order, and how often each is asked for."""
        asked: dict[int, int] = {}
        for term in self.analyser.query_terms(text):
            number = self._terms.get(term)
            if number is not None:
                asked[number] = asked.get(number, 0) + 1
        return asked

    def number(self, term: str) -> int | None:
        """The number of a term; None if no document ever held it."""
        return self._terms.get(term)

    def _learn(self) -> None:
        """Analyse the tokens that are new in the vocabulary."""
        unknown = len(self._vocabulary) - len(self._term_of.values)
        # From the end: to pass over a million known tokens for every few new ones would take longer than these.
        new = list(islice(reversed(self._vocabulary.numbers), unknown))
        self._term_of.extend([self._number(token) for token in reversed(new)])

    def _number(self, token: str) -> int:
        term = self.analyser.term(token)
        return LEFT_OUT if term is None else self._terms.setdefault(term, len(self._terms))
