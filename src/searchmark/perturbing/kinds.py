"""The kinds of variants, each with what it does to a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from searchmark.errors import UsageError
from searchmark.perturbing import identifiers, letters, wording
from searchmark.perturbing.draws import Draws
from searchmark.perturbing.phrases import PhraseTable, read_phrases, replaced_once, replaced_throughout

# A query and numbers to choose by become variants, the ones to take first.
Edit = Callable[[str, Draws], Iterator[str]]

SYNONYM, TRANSLATION = "synonym", "translation"
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "typo": "a letter of a key beside the right one, on a US keyboard",
        "transposition": "two neighbouring letters have changed places",
        "dropped-letter": "a letter is missing",
        "case": "small letters, capitals, or capitals at the beginning of words",
        "word-order": "the words in another order",
        "plural": "a noun in the other number (English)",
        "identifier-split": "getUser and get_user become get user",
        "identifier-join": "get user becomes getUser or get_user; getUser becomes get_user",
        "accents": "Latin letters without accents",
        SYNONYM: "a phrase by one that --synonyms names",
        "stop-words-removed": "without function words",
        "stop-words-added": "one function word more",
        "truncation": "the last word not finished",
        TRANSLATION: "every phrase that --glossary names by its translation",
    }
)
_FILE_OF = {SYNONYM: "--synonyms", TRANSLATION: "--glossary"}
LANGUAGES = tuple(wording.ADDED)
OF_A_LANGUAGE = frozenset({"plural", "stop-words-removed", "stop-words-added"})
# What the field of a case may call each of them.
_CODES = {"english": "en", "dutch": "nl", "french": "fr", "german": "de", "italian": "it", "portuguese": "pt", "spanish": "es"}


@dataclass(frozen=True)
class WordFiles:
    """The files that some kinds need."""

    synonyms: Path | None = None
    glossary: Path | None = None

    def table_of(self, kind: str) -> PhraseTable | None:
        path = {SYNONYM: self.synonyms, TRANSLATION: self.glossary}.get(kind)
        return None if path is None else read_phrases(path, one_way=kind == TRANSLATION)


@dataclass(frozen=True)
class ChosenKinds:
    """What is done to queries, by kind; ``passed_over`` counts the lines of each file of words that say something else."""

    edits: Mapping[str, Edit]
    language: str = wording.ENGLISH
    passed_over: Mapping[str, int] = field(default_factory=dict)

    def suits(self, kind: str, language: str | None) -> bool:
        """Whether a kind can be had of a query in this language, by its name or code; None if that is not known."""
        if kind not in OF_A_LANGUAGE or language is None:
            return True
        return language.lower() == self.language or re.split("[-_]", language.lower())[0] == _CODES[self.language]


def choose_kinds(named: Sequence[str], files: WordFiles, language: str) -> ChosenKinds:
    """The kinds that were named, or else all that can be had: those that need a file need it."""
    tables = {kind: files.table_of(kind) for kind in _FILE_OF}
    for kind, flag in _FILE_OF.items():
        if kind in named and tables[kind] is None:
            raise UsageError(f"--kind {kind} needs a file of words; name it with {flag} FILE")
        if named and kind not in named and tables[kind] is not None:
            raise UsageError(f"{flag} is used by --kind {kind} alone; add that, or leave out {flag}")
    if "plural" in named and language != wording.ENGLISH:
        raise UsageError(f"--kind plural knows English alone; leave it out, or leave out --language {language}")
    simple: dict[str, Edit] = {
        "typo": letters.typos,
        "transposition": letters.transpositions,
        "dropped-letter": letters.dropped_letters,
        "case": letters.cases,
        "word-order": partial(wording.word_orders, language=language),
        **({"plural": wording.other_numbers} if language == wording.ENGLISH else {}),
        "identifier-split": identifiers.split_identifiers,
        "identifier-join": identifiers.joined_identifiers,
        "accents": letters.without_accents,
        "stop-words-removed": partial(wording.without_stop_words, language=language),
        "stop-words-added": partial(wording.with_stop_words, language=language),
        "truncation": letters.truncations,
    }
    with_files: dict[str, Edit] = {
        kind: partial(replaced_once, table=table)
        if kind == SYNONYM
        else partial(replaced_throughout, table=table, language=language)
        for kind, table in tables.items()
        if table is not None
    }
    every = simple | with_files
    edits = {kind: every[kind] for kind in KINDS if kind in every and (not named or kind in named)}
    passed_over = {_FILE_OF[kind]: table.passed_over for kind, table in tables.items() if table is not None and table.passed_over}
    return ChosenKinds(edits, language, passed_over)
