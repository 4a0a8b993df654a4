"""Files of words that stand for each other, and what they make of a query.

One entry per line: ``a = b`` or ``a, b, c`` go both ways, ``a => b, c`` goes one way, as in the synonym files of Solr and
Elasticsearch. ``#`` begins a comment. Lines that say something else in a file for ``searchmark label`` (``a < b``, ``[color]``) are
passed over and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from searchmark.agents.lexical.stop_words import STOP_WORDS
from searchmark.errors import FormatError, shortened
from searchmark.files.store import read_utf8
from searchmark.perturbing.draws import Draws
from searchmark.perturbing.edits import rewritten

_WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}]\w+)*")
_OF_LABELS = re.compile(r"\[.*\]\Z|[^=,]*<")
LONGEST_PHRASE = 8  # words
LEAST_TRANSLATED = 0.5  # of the words of a query that are no function words: "attach um screenshot" is English

Key = tuple[str, ...]


@dataclass(frozen=True)
class PhraseTable:
    """What each phrase, as lower-cased words, may be replaced by; ``passed_over`` counts lines that say something else."""

    replacements: Mapping[Key, tuple[str, ...]]
    passed_over: int = 0

    def matches(self, query: str) -> list[tuple[int, int, tuple[str, ...]]]:
        """Where phrases of the table are in a query, the longest at each place, none over another."""
        words = list(_WORD.finditer(query))
        keys = [word[0].casefold() for word in words]
        found, place = [], 0
        while place < len(words):
            lengths = range(min(LONGEST_PHRASE, len(words) - place), 0, -1)
            count = next((n for n in lengths if tuple(keys[place : place + n]) in self.replacements), 0)
            if count:
                options = self.replacements[tuple(keys[place : place + count])]
                found.append((words[place].start(), words[place + count - 1].end(), options))
            place += count or 1
        return found


def read_phrases(path: Path, *, one_way: bool = False) -> PhraseTable:
    """The phrases of a file; with ``one_way`` only what comes first on a line is replaced, as in a glossary."""
    table: dict[Key, dict[str, None]] = {}
    passed_over = 0
    for number, line in enumerate(read_utf8(path).splitlines(), 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if _OF_LABELS.match(text):
            passed_over += 1
            continue
        for source, target in _pairs(path, number, text, one_way):
            table.setdefault(source, {})[target] = None
    if not table:
        raise FormatError(path, None, "holds no phrases; write one entry per line, such as: ticket = issue")
    return PhraseTable({source: tuple(targets) for source, targets in table.items()}, passed_over)


def replaced_once(query: str, draws: Draws, table: PhraseTable) -> Iterator[str]:
    """One phrase by another that means the same."""
    options = [(start, end, text) for start, end, texts in table.matches(query) for text in texts]
    for drawn in draws.order(len(options)):
        start, end, text = options[drawn]
        yield f"{query[:start]}{text}{query[end:]}"


def replaced_throughout(query: str, draws: Draws, table: PhraseTable, language: str) -> Iterator[str]:
    """Every phrase that is known by one of its translations, first by the first of each; nothing where too little is known."""
    found = table.matches(query)
    telling = [word.start() for word in _WORD.finditer(query) if word[0].lower() not in STOP_WORDS[language]]
    known = [place for place in telling if any(start <= place < end for start, end, _ in found)]
    if not known or len(known) < LEAST_TRANSLATED * len(telling):
        return
    yield rewritten(query, [(start, end, texts[0]) for start, end, texts in found])
    for _ in range(max(len(texts) for _, _, texts in found) - 1):
        yield rewritten(query, [(start, end, texts[draws.below(len(texts))]) for start, end, texts in found])


def _pairs(path: Path, number: int, text: str, one_way: bool) -> Iterator[tuple[Key, str]]:
    left, arrow, right = text.partition("=>")
    sides = (left, right) if arrow else tuple(text.split("=")) if "=" in text else (text,)
    groups = [[" ".join(each.split()) for each in side.split(",") if each.strip()] for side in sides]
    if not all(groups) or (len(groups) == 1 and len(groups[0]) == 1):
        reason = f"{shortened(text, 60)!r} names one phrase; write both sides: ticket = issue"
        raise FormatError(path, f"line {number}", reason)
    if arrow or (one_way and len(groups) > 1):
        sources, targets = groups[0], [phrase for group in groups[1:] for phrase in group]
    else:
        everything = [phrase for group in groups for phrase in group]
        sources, targets = (everything[:1] if one_way else everything), everything
    for source in sources:
        key = tuple(word[0].casefold() for word in _WORD.finditer(source))
        if not 0 < len(key) <= LONGEST_PHRASE:
            raise FormatError(path, f"line {number}", f"{shortened(source, 60)!r} must have 1 to {LONGEST_PHRASE} words")
        yield from ((key, target) for target in targets if target.casefold() != source.casefold())
