"""From text to terms: tokens of code and prose, stop words and stems, and which analyser suits a corpus.

Documents and queries go through the same one.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import nsmallest
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from searchmark.config.strict import strict_record
from searchmark.records.file_kinds import classify

if TYPE_CHECKING:
    from searchmark.formats.corpora.corpus import Changes, Corpus
    from searchmark.records.document import Document


# Function words by language: articles, pronouns, prepositions, conjunctions, auxiliaries; nothing that could be a topic.
#
# They are left out of prose, and tell one language from another. Words are given as tokens: what follows an apostrophe is one
# of its own. Languages without a list are stemmed and keep all their words, which weigh little anyway where they are frequent.

_LINES = Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines()  # each a language, a colon and its words

STOP_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, _, words in (line.partition(":") for line in _LINES)
}


# Tokens of code and prose, the same ones for what is searched and for what is asked.
#
# A word is a run of letters, digits and underscores. It is cut at underscores, where the case changes
# (``camelCase``, ``HTTPServer``), and between letters and digits (``sha256``); the pieces are lower-cased. A word of
# several pieces is kept as a whole as well, after them: who writes an identifier means that one. A path is thereby cut at
# its separators, and a qualified name at its dots. Chinese, Japanese and Korean, which are written without spaces
# between words or bind much into one, give every two neighbouring characters and no whole.
#
# Whatever is not ASCII is brought to one form first (NFKC), so that a letter is the same however it was typed.
#
# Where identifiers are not taken apart, a word is one token, lower-cased.
#
# Bytes are taken apart by ASCII separators alone, which is the fast half; what is left is taken apart once per distinct
# word. Change anything here and change the name of the tokeniser with it: cached indexes are distinguished by it.

TOKENISER = f"identifiers-1-unicode-{unicodedata.unidata_version}"

_ASCII_WORD = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_SEPARATED = bytes(code if code in _ASCII_WORD or not chr(code).isascii() else ord(" ") for code in range(256))

_ASCII_PIECE = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


# The same cuts over the shape of a word: A a capital, a any other letter, 0 a digit, C a character without spaces around it.
_SHAPE_PIECE = re.compile(r"A+(?!a)|A?a+|0+|C+")

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")

_FIRST_MARK = 0x300  # what comes before has no marks, and what is above the first plane is rare enough to be cut

_FIRST_PLANE = 0x10000


def raw_words(text: str) -> list[bytes]:
    """What is between ASCII separators, in order; ``pieces`` takes each of them apart."""
    return text.encode("utf-8", "surrogatepass").translate(_SEPARATED).split()


def identifier_tokens(word: bytes) -> tuple[str, ...]:
    """The tokens of one raw word, in order."""
    if word.isascii():
        if word.islower() and word.isalpha():  # half of all distinct words
            return (word.decode(),)
        lowercase = word.decode().lower()
        return _append_whole_word([lowercase[match.start() : match.end()] for match in _ASCII_PIECE.finditer(word)], lowercase)
    text = unicodedata.normalize("NFKC", word.decode("utf-8", "surrogatepass"))
    return tuple(chain.from_iterable(map(_identifier_pieces, _any_word().findall(text))))


def word_tokens(word: bytes) -> tuple[str, ...]:
    """The tokens of one raw word where identifiers stay whole."""
    text = unicodedata.normalize("NFKC", word.decode("utf-8", "surrogatepass"))
    return tuple(chain.from_iterable(map(_whole_word_token, _any_word().findall(text))))


@dataclass(frozen=True)
class Tokeniser:
    """A way to cut words, and the name that it is known by."""

    name: str
    pieces: Callable[[bytes], tuple[str, ...]]

    def tokens(self, text: str) -> list[str]:
        """All tokens of a text, in order, with repetitions."""
        return list(chain.from_iterable(map(self.pieces, raw_words(text))))


IDENTIFIER_TOKENISER = Tokeniser(TOKENISER, identifier_tokens)

WORD_TOKENISER = Tokeniser(f"words-1-unicode-{unicodedata.unidata_version}", word_tokens)


def tokenize(text: str) -> list[str]:
    """All tokens of a text with identifiers taken apart, in order, with repetitions."""
    return IDENTIFIER_TOKENISER.tokens(text)


def _append_whole_word(pieces: list[str], word: str) -> tuple[str, ...]:
    return tuple(pieces) if len(pieces) == 1 else (*pieces, word.strip("_")) if pieces else ()


def _whole_word_token(word: str) -> tuple[str, ...]:
    if _UNSPACED.search(word):
        return _identifier_pieces(word)
    token = word.lower().strip("_")
    return (token,) if token else ()


def _identifier_pieces(word: str) -> tuple[str, ...]:
    if word.islower() and word.isalpha() and not _UNSPACED.search(word):
        return (word,)
    shape = "".join(map(_shape, word))
    spans = [match.span() for match in _SHAPE_PIECE.finditer(shape)]
    if "C" not in shape:
        return _append_whole_word([word[start:end].lower() for start, end in spans], word.lower())
    return tuple(chain.from_iterable(_character_pairs(word[start:end].lower(), shape[start]) for start, end in spans))


def _character_pairs(piece: str, shape: str) -> list[str]:
    if shape != "C" or len(piece) == 1:
        return [piece]
    return [piece[at : at + 2] for at in range(len(piece) - 1)]


def _shape(character: str) -> str:
    if _UNSPACED.match(character):
        return "C"
    if character == "_":
        return "_"
    return "A" if character.isupper() else "0" if character.isnumeric() else "a"


@cache
def _any_word() -> re.Pattern[str]:
    """Words of any script: Python's ``\\w`` leaves out the vowel signs that many of them are written with."""
    marks = (chr(code) for code in range(_FIRST_MARK, _FIRST_PLANE) if unicodedata.category(chr(code)).startswith("M"))
    return re.compile(rf"\w[\w{''.join(marks)}]*")


# What becomes of a token before it is counted: nothing if it is a stop word, otherwise its stem.
#
# One analyser serves documents and queries alike. Tokens are cut by `tokens`, which no language changes, so chunks are cached
# and counted by token, and only what is made of the counts depends on the analyser: a distinct token is analysed once.

# The algorithms of PyStemmer 3.1; `porter` is Porter's of 1980, `english` the one that he made of it in 2000.
Stemmed = Literal[
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "dutch_porter", "english", "esperanto", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali",
    "norwegian", "persian", "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
]  # fmt: skip

Language = Literal["auto", "none"] | Stemmed

LANGUAGES: tuple[str, ...] = get_args(Stemmed)

NO_STEMMING = "none"


# Of a language without a list of its own: an algorithm has that of its language, and who searches code does so in English.
_STOP_WORDS_OF_STEMMER = {"porter": "english", "dutch_porter": "dutch", NO_STEMMING: "english"}

FunctionWords = Literal["kept", "left out of queries", "left out"]


@strict_record
class AnalyserSettings:
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
        has_language = language != NO_STEMMING
        return Analyser(
            language, "left out" if has_language and self.stop_words else "kept", has_language and self.stemming, self.identifiers
        )

    def analyser_for_code(self) -> Analyser:
        """Documents are left as they are, since ``for``, ``with`` and ``not`` say something there."""
        words: FunctionWords = "left out of queries" if self.stop_words else "kept"
        return Analyser(NO_STEMMING, words, stemming=False, identifiers=self.identifiers)


@dataclass(frozen=True)
class Analyser:
    """Tokens to terms, for one language; equal ones give equal terms."""

    language: str = NO_STEMMING
    stop_words: FunctionWords = "kept"
    stemming: bool = False
    identifiers: bool = True

    @property
    def tokeniser(self) -> Tokeniser:
        return IDENTIFIER_TOKENISER if self.identifiers else WORD_TOKENISER

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
        words = [token for token in tokens if not self.is_stop_word(token)] or tokens
        return [term for term in map(self.term, words) if term is not None]

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
        return STOP_WORDS.get(_STOP_WORDS_OF_STEMMER.get(self.language, self.language), frozenset())

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

        stem: Callable[[str], str] = Stemmer.Stemmer(self.language, 0).stemWord
        return stem


def _stemmer_version() -> str:
    import Stemmer  # type: ignore[import-not-found,unused-ignore]  # it has no types

    return str(Stemmer.version())


# Which analyser is right for a corpus, if the options do not say it: code is searched by its words, prose by their stems.
#
# The choice is a function of one state of a corpus. What an agent has seen before never enters, so an index that has followed a
# history and one that is made from scratch choose alike.

CODE_SHARE = 0.1  # of the files that are code or documentation, from which on a corpus is code

SAMPLE = 64  # documents whose language is looked at

SAMPLED_CHARACTERS = 2000  # of each of them

SAMPLED_HEAD = 500  # records whose ids are looked at, where ids are not known without reading

MIN_LANGUAGE_SHARE = 0.08  # of all words that must be function words of a language; running text has 0.3 to 0.5

MIN_DISTINCT_WORDS = 5  # function words of a language that must occur: a word or two may be anything

MIN_LEAD = 1.25  # over the language that comes second, so that two languages in one corpus are told from one

_MARKUP = (".html", ".htm", ".xhtml")  # says nothing: it may be a page of text or part of a program


class AnalyserSelector:
    """Follows a corpus from state to state and says which analyser each of them gets."""

    def __init__(self, options: AnalyserSettings) -> None:
        self._options = options
        self._is_code: dict[str, bool] = {}  # the names that say something
        self._code = 0  # how many of them are code
        self._sample: list[str] | None = None  # ids of the documents whose language was looked at
        self._language = NO_STEMMING
        self._counts = False

    @property
    def description(self) -> str:
        """How the language was found."""
        if self._options.language != "auto":
            return "given"
        if not self._counts:
            return "not chosen yet"
        return "the corpus is code" if self._holds_code() else "the corpus is prose"

    def of(self, corpus: Corpus) -> Analyser:
        """The analyser for a corpus that was not looked at before."""
        if self._options.language != "auto":
            return self._options.analyser(self._options.language)
        self._is_code, self._code, self._sample, self._counts = {}, 0, None, True
        names = corpus.names
        head = list(islice(corpus, SAMPLED_HEAD)) if names is None else []
        self._take((document.id for document in head) if names is None else names)
        if self._holds_code():
            return self._options.analyser_for_code()
        if names is None or not corpus.reads_by_id:
            self._language = detect_language(head[:SAMPLE] or islice(corpus, SAMPLE))
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

    def _look_again(self, corpus: Corpus, names: Iterable[str], written_names: Sequence[str]) -> None:
        """The documents of the sample are those of the smallest checksums: another document seldom changes which they are."""
        prose = [name for name, code in self._is_code.items() if not code]
        sample = nsmallest(SAMPLE, prose or names, key=lambda name: (zlib.crc32(name.encode("utf-8", "surrogatepass")), name))
        if sample != self._sample or not set(written_names).isdisjoint(sample):
            self._sample = sample
            self._language = detect_language(corpus.read(sample))


def _is_code(name: str) -> bool | None:
    """Whether a name is that of a code file or of a text; None if it is neither, as the id of a record is."""
    base = name.rsplit("/", 1)[-1]  # not the folder: an example below docs/ is code like any other
    if base.lower().endswith(_MARKUP):
        return None
    return {"code": True, "test": True, "doc": False}.get(classify(base))


def detect_language(documents: Iterable[Document]) -> str:
    """The language whose function words the texts are full of; ``none`` if there is no such, or more than one."""
    texts = (f"{document.title or ''} {document.text[:SAMPLED_CHARACTERS]}" for document in documents)
    counts = Counter(chain.from_iterable(map(IDENTIFIER_TOKENISER.tokens, texts)))
    shares = {language: sum(counts[word] for word in words) for language, words in STOP_WORDS.items()}
    (first, most), (_, second) = sorted(shares.items(), key=lambda entry: (-entry[1], entry[0]))[:2]
    evident = len(STOP_WORDS[first] & counts.keys()) >= MIN_DISTINCT_WORDS
    return first if evident and most >= max(MIN_LANGUAGE_SHARE * counts.total(), MIN_LEAD * second) else NO_STEMMING
