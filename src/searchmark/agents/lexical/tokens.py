"""Tokens of code and prose, the same ones for what is searched and for what is asked.

A word is a run of letters, digits and underscores. It is cut at underscores, where the case changes
(``camelCase``, ``HTTPServer``), and between letters and digits (``sha256``); the pieces are lower-cased. A word of
several pieces is kept as a whole as well, after them: who writes an identifier means that one. A path is thereby cut at
its separators, and a qualified name at its dots. Chinese, Japanese and Korean, which are written without spaces
between words or bind much into one, give every two neighbouring characters and no whole.

Whatever is not ASCII is brought to one form first (NFKC), so that a letter is the same however it was typed.

Where identifiers are not taken apart, a word is one token, lower-cased.

Bytes are taken apart by ASCII separators alone, which is the fast half; what is left is taken apart once per distinct
word. Change anything here and change the name of the tokeniser with it: indexes that are cached on disk are told apart by it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import chain

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


def pieces(word: bytes) -> tuple[str, ...]:
    """The tokens of one raw word, in order."""
    if word.isascii():
        if word.islower() and word.isalpha():  # half of all distinct words
            return (word.decode(),)
        lowered = word.decode().lower()
        return _with_whole([lowered[match.start() : match.end()] for match in _ASCII_PIECE.finditer(word)], lowered)
    text = unicodedata.normalize("NFKC", word.decode("utf-8", "surrogatepass"))
    return tuple(chain.from_iterable(map(_pieces_of_any, _any_word().findall(text))))


def whole_words(word: bytes) -> tuple[str, ...]:
    """The tokens of one raw word where identifiers stay whole."""
    text = unicodedata.normalize("NFKC", word.decode("utf-8", "surrogatepass"))
    return tuple(chain.from_iterable(map(_whole, _any_word().findall(text))))


@dataclass(frozen=True)
class Tokeniser:
    """A way to cut words, and the name that it is known by."""

    name: str
    pieces: Callable[[bytes], tuple[str, ...]]

    def tokens(self, text: str) -> list[str]:
        """All tokens of a text, in order, with repetitions."""
        return list(chain.from_iterable(map(self.pieces, raw_words(text))))


IDENTIFIERS = Tokeniser(TOKENISER, pieces)
WORDS = Tokeniser(f"words-1-unicode-{unicodedata.unidata_version}", whole_words)


def tokens(text: str) -> list[str]:
    """All tokens of a text with identifiers taken apart, in order, with repetitions."""
    return IDENTIFIERS.tokens(text)


def _with_whole(found: list[str], word: str) -> tuple[str, ...]:
    return tuple(found) if len(found) == 1 else (*found, word.strip("_")) if found else ()


def _whole(word: str) -> tuple[str, ...]:
    if _UNSPACED.search(word):
        return _pieces_of_any(word)
    stripped = word.lower().strip("_")
    return (stripped,) if stripped else ()


def _pieces_of_any(word: str) -> tuple[str, ...]:
    if word.islower() and word.isalpha() and not _UNSPACED.search(word):
        return (word,)
    shape = "".join(map(_shape, word))
    spans = [match.span() for match in _SHAPE_PIECE.finditer(shape)]
    if "C" not in shape:
        return _with_whole([word[start:end].lower() for start, end in spans], word.lower())
    return tuple(chain.from_iterable(_neighbours(word[start:end].lower(), shape[start]) for start, end in spans))


def _neighbours(piece: str, shape: str) -> list[str]:
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
