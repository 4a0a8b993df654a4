"""What becomes of a token before it is counted: nothing if it is a stop word, otherwise its stem.

One analyser serves documents and queries alike. Tokens are cut by `tokens`, which no language changes, so chunks are cached and
counted by token, and only what is made of the counts depends on the analyser: a distinct token is analysed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from searchmark.agents.lexical.stop_words import STOP_WORDS
from searchmark.agents.lexical.tokens import IDENTIFIERS, WORDS, Tokeniser
from searchmark.options.strict import strict_record

# The algorithms of PyStemmer 3.1; `porter` is Porter's of 1980, `english` the one that he made of it in 2000.
Stemmed = Literal[
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter", "english", "esperanto", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali",
    "norwegian", "persian", "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
]  # fmt: skip
Language = Literal["auto", "none"] | Stemmed
LANGUAGES: tuple[str, ...] = get_args(Stemmed)
NONE = "none"
# Of a language without a list of its own: an algorithm has that of its language, and who searches code does so in English.
_LISTS = {"porter": "english", "dutch_porter": "dutch", NONE: "english"}
FunctionWords = Literal["kept", "left out of queries", "left out"]


@strict_record
class AnalyserOptions:
    """How words are treated.

    ``language``: whose stop words and endings are taken off; ``none`` leaves every word as it is, ``auto`` decides by
    the corpus. ``stop_words``: leave function words out. ``stemming``: reduce words to their stems.
    ``identifiers``: take identifiers apart (``getUser``, ``get_user``).
    """

    language: Language = "auto"
    stop_words: bool = True
    stemming: bool = True
    identifiers: bool = True

    def analyser(self, language: str) -> Analyser:
        """The analyser for texts of this language."""
        known = language != NONE
        return Analyser(language, "left out" if known and self.stop_words else "kept", known and self.stemming, self.identifiers)

    def analyser_for_code(self) -> Analyser:
        """Documents are left as they are, since ``for``, ``with`` and ``not`` say something there."""
        words: FunctionWords = "left out of queries" if self.stop_words else "kept"
        return Analyser(NONE, words, stemming=False, identifiers=self.identifiers)


@dataclass(frozen=True)
class Analyser:
    """Tokens to terms, for one language; equal ones give equal terms."""

    language: str = NONE
    stop_words: FunctionWords = "kept"
    stemming: bool = False
    identifiers: bool = True

    @property
    def tokeniser(self) -> Tokeniser:
        return IDENTIFIERS if self.identifiers else WORDS

    @property
    def keeps_tokens(self) -> bool:
        """Whether every token of a document is its own term."""
        return self.stop_words != "left out" and not self.stemming

    def is_stop_word(self, token: str) -> bool:
        """Whether a query does without this token if it has others."""
        return self.stop_words != "kept" and token in self._function_words

    def term(self, token: str) -> str | None:
        """What a token of a document counts as; None if it is left out."""
        if self.stop_words == "left out" and token in self._function_words:
            return None
        # An identifier (get_user, sha256) is a name, and names have no endings.
        return self._stem(token) if self.stemming and token.isalpha() else token

    def positions(self, text: str) -> list[str | None]:
        """The terms of a text in order, None where one is left out: neighbours stay as far apart as they are."""
        return list(map(self.term, self.tokeniser.tokens(text)))

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order, with repetitions."""
        return [term for term in self.positions(text) if term is not None]

    def query_terms(self, text: str) -> list[str]:
        """The terms that a query asks for; one of stop words alone asks for them, and finds them where documents have kept them."""
        tokens = self.tokeniser.tokens(text)
        telling = [token for token in tokens if not self.is_stop_word(token)] or tokens
        return [term for term in map(self.term, telling) if term is not None]

    def describe(self) -> dict[str, Any]:
        """Everything that decides what a text becomes."""
        return {
            "tokenizer": self.tokeniser.name,
            "language": self.language,
            "stop_words": self.stop_words,
            "stemmer": f"snowball {_stemmer_version()}" if self.stemming else None,
        }

    @cached_property
    def _function_words(self) -> frozenset[str]:
        return STOP_WORDS.get(_LISTS.get(self.language, self.language), frozenset())

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

        stem: Callable[[str], str] = Stemmer.Stemmer(self.language, 0).stemWord
        return stem


def _stemmer_version() -> str:
    import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

    return str(Stemmer.version())
