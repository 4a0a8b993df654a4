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
_LISTS = {"porter": "english", "dutch_porter": "dutch"}  # an algorithm that has the stop words of a language


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
        return Analyser(language, known and self.stop_words, known and self.stemming, self.identifiers)


@dataclass(frozen=True)
class Analyser:
    """Tokens to terms, for one language; equal ones give equal terms."""

    language: str = NONE
    stop_words: bool = False
    stemming: bool = False
    identifiers: bool = True

    @property
    def tokeniser(self) -> Tokeniser:
        return IDENTIFIERS if self.identifiers else WORDS

    @property
    def keeps_tokens(self) -> bool:
        """Whether every token is its own term."""
        return not self.stop_words and not self.stemming

    def term(self, token: str) -> str | None:
        """What a token counts as; None for a stop word."""
        if token in self._left_out:
            return None
        # An identifier (get_user, sha256) is a name, and names have no endings.
        return self._stem(token) if self.stemming and token.isalpha() else token

    def positions(self, text: str) -> list[str | None]:
        """The terms of a text in order, None where a stop word is: neighbours stay as far apart as they are."""
        return list(map(self.term, self.tokeniser.tokens(text)))

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order, with repetitions."""
        return [term for term in self.positions(text) if term is not None]

    def describe(self) -> dict[str, Any]:
        """Everything that decides what a text becomes."""
        stemmer = f"snowball {_stemmer_version()}" if self.stemming else None
        return {
            "tokenizer": self.tokeniser.name,
            "language": self.language,
            "stop_words": len(self._left_out),
            "stemmer": stemmer,
        }

    @cached_property
    def _left_out(self) -> frozenset[str]:
        return STOP_WORDS.get(_LISTS.get(self.language, self.language), frozenset()) if self.stop_words else frozenset()

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

        stem: Callable[[str], str] = Stemmer.Stemmer(self.language, 0).stemWord
        return stem


def _stemmer_version() -> str:
    import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

    return str(Stemmer.version())
