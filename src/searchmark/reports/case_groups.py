"""Which cases belong together, by what the suite says of them: typos, languages, categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from searchmark.measures.formulas import Ints
from searchmark.reports.case_columns import FactColumns
from searchmark.reports.case_records import CaseFacts

Rows = dict[str, list[int]]
Column = Sequence[str | None] | None
GroupKind = Literal["typos", "language", "category"]

MOST_WORDS = 3  # a longer label is about more than typos
_WORD = re.compile(r"[^\W\d_]+")
_TYPOS = frozenset({"typo", "typos", "misspelling", "misspellings", "misspelled", "misspelt"})
_NAMED_LANGUAGE = re.compile(r"\s*(?:lang|language|locale)\s*[:=/_-]\s*(\S+)\s*", re.IGNORECASE)
_REGION = re.compile(r"([a-z]{2})[-_][a-z]{2}")
# A tag of two letters is taken for a language only if it is hardly ever anything else: not go, is, it, no, cs, id, or, ts.
_CODES = frozenset(
    _WORD.findall("ar bg da de el en es et fa fi fr he hi hu ja ko lt lv nl pl pt ro ru sk sl sr sv th tr uk ur vi zh")
)
_LANGUAGES = frozenset(
    _WORD.findall(
        "arabic bulgarian chinese czech danish dutch english estonian finnish french german greek hebrew hindi hungarian "
        "indonesian italian japanese korean latvian lithuanian norwegian persian polish portuguese romanian russian serbian slovak "
        "slovenian spanish swedish thai turkish ukrainian urdu vietnamese"
    )
)


@dataclass(frozen=True, eq=False)
class CaseGroup:
    """Cases that have something in common, as rows."""

    kind: GroupKind
    name: str
    rows: Ints


@dataclass(frozen=True, eq=False)
class FactTable:
    """What the suite says of its cases: for each category, tag, variation and language the rows of its cases.

    ``origins`` has a number for each case: those of one origin are one observation, and one without an origin is its own.
    """

    categories: Rows
    tags: Rows
    variations: Rows
    languages: Rows
    origins: Ints

    @classmethod
    def of(cls, facts: Mapping[str, CaseFacts], ids: Sequence[str]) -> FactTable:
        """The facts in the order of these cases."""
        if isinstance(facts, FactColumns) and facts.table.ids == ids:
            table = facts.table
            return cls.of_columns(table.categories, table.tags, facts.variations, facts.languages, table.origins, len(ids))
        rows = [facts.get(case, _NOTHING) for case in ids]
        single = (tuple(getattr(each, name) for each in rows) for name in ("category", "variation", "language", "origin"))
        category, variation, language, origin = single
        return cls.of_columns(category, tuple(each.tags for each in rows), variation, language, origin, len(ids))

    @classmethod
    def of_columns(
        cls, category: Column, tags: Sequence[Iterable[str]] | None, variation: Column, language: Column, origin: Column, size: int
    ) -> FactTable:
        """The facts of so many cases; a column is None where no case has any."""
        tagged: Rows = {}
        for row, found in enumerate(tags or ()):
            for tag in found:
                tagged.setdefault(tag, []).append(row)
        return cls(_rows(category), tagged, _rows(variation), _rows(language), _numbered(origin or (None,) * size))

    def groups(self) -> Iterator[CaseGroup]:
        """All groups that something could be said about, those of one kind together."""
        labels = (self.categories, self.tags, self.variations)
        typos = [rows for labelled in labels for label, rows in labelled.items() if _is_typo(label)]
        if typos:
            yield CaseGroup("typos", "typos", np.unique(np.concatenate(typos)))
        yield from _groups("language", self._languages())
        yield from _groups("category", {name: [rows] for name, rows in self.categories.items() if not _has_kind(name)})

    def _languages(self) -> dict[str, list[list[int]]]:
        """The cases of each language, by their field; where no case has one by tags and categories."""
        found: dict[str, list[list[int]]] = {}
        if self.languages:
            for name, rows in self.languages.items():
                found.setdefault(name.lower(), []).append(rows)
            return found
        for labelled in (self.categories, self.tags):
            for label, rows in labelled.items():
                if language := _language(label):
                    found.setdefault(language, []).append(rows)
        return found


_NOTHING = CaseFacts()


def _rows(column: Column) -> Rows:
    rows: Rows = {}
    for row, value in enumerate(column or ()):
        if value:
            rows.setdefault(value, []).append(row)
    return rows


def _groups(kind: GroupKind, rows: Mapping[str, list[list[int]]]) -> Iterator[CaseGroup]:
    return (CaseGroup(kind, name, np.unique(np.concatenate(rows[name]))) for name in sorted(rows))


def _numbered(origins: Sequence[str | None]) -> Ints:
    """A number for every origin, that of its first case; a case without one has its own."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(origin, row) if origin else row for row, origin in enumerate(origins)], np.int64)


@lru_cache(maxsize=4096)
def _is_typo(label: str) -> bool:
    words = _WORD.findall(label.lower())
    return len(words) <= MOST_WORDS and not _TYPOS.isdisjoint(words)


@lru_cache(maxsize=4096)
def _language(label: str) -> str | None:
    """The language that a tag or a category names; None if it names none."""
    named = _NAMED_LANGUAGE.fullmatch(label)
    if named:
        return named[1].lower()
    text = label.strip().lower()
    region = _REGION.fullmatch(text)
    return text if text in _CODES or text in _LANGUAGES or (region and region[1] in _CODES) else None


def _has_kind(category: str) -> bool:
    """Whether a category is looked at as something else."""
    return _is_typo(category) or _language(category) is not None
