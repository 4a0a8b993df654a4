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
    """What the suite says of every case, one row each; a column is empty if it says nothing of the kind.

    ``origins`` are numbers: cases of one origin are one observation, and one without an origin is its own.
    """

    categories: Sequence[str | None]
    labels: Sequence[Iterable[str]]
    languages: Sequence[str | None]
    origins: Ints

    @classmethod
    def of(cls, facts: Mapping[str, CaseFacts], ids: Sequence[str]) -> FactTable:
        """The facts in the order of these cases."""
        if isinstance(facts, FactColumns) and facts.table.ids == ids:
            return cls._of_columns(facts)
        rows = [facts.get(case, _NOTHING) for case in ids]
        labels = [(*each.tags, *filter(None, (each.category, each.variation))) for each in rows]
        origins = [each.origin for each in rows]
        return cls([each.category for each in rows], labels, [each.language for each in rows], _numbered(origins))

    @classmethod
    def _of_columns(cls, facts: FactColumns) -> FactTable:
        table = facts.table
        none = (None,) * len(table)
        texts = zip(table.tags or ((),) * len(table), table.categories or none, facts.variations or none, strict=True)
        labels = [(*tags, *filter(None, (category, variation))) for tags, category, variation in texts]
        return cls(table.categories or (), labels, facts.languages or (), _numbered(table.origins or none))

    def groups(self) -> Iterator[CaseGroup]:
        """All groups that something could be said about, those of one kind together."""
        typos = [row for row, labels in enumerate(self.labels) if any(map(_is_typo, labels))]
        if typos:
            yield CaseGroup("typos", "typos", np.array(typos))
        yield from _by_value("language", map(self._languages_of, range(len(self.labels))))
        yield from _by_value("category", ({name} if name and not _has_kind(name) else () for name in self.categories))

    def _languages_of(self, row: int) -> set[str]:
        said = self.languages[row] if self.languages else None
        return {said.lower()} if said else {found for label in self.labels[row] if (found := _language(label))}


_NOTHING = CaseFacts()


def _by_value(kind: GroupKind, values: Iterable[Iterable[str]]) -> Iterator[CaseGroup]:
    rows: dict[str, list[int]] = {}
    for row, found in enumerate(values):
        for value in found:
            rows.setdefault(value, []).append(row)
    return (CaseGroup(kind, value, np.array(rows[value])) for value in sorted(rows))


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
