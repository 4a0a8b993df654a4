"""Which cases are one observation: those of one origin, the case that it names, and cases without one that share their targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.records.columns import starts_of
from searchmark.records.document import Document
from searchmark.records.id_columns import Texts
from searchmark.records.judgments import JudgmentTable
from searchmark.records.repository_states import state_of

Keys = NDArray[np.uint64]

NO_GOLD = 0  # the key of a case without any relevant target: what is nowhere to be found is not shared


def target_keys(
    judgments: JudgmentTable, documents: Sequence[Sequence[Document]] | None, fields: Sequence[Mapping[str, Any]] | None
) -> Keys:
    """A number for each case: that of another is the same if targets, grades, ranks and documents are, else hardly ever.

    Only relevant targets count. ``documents`` are those that cases bring along, ``fields`` may name repositories and commits.
    """
    cases, relevant = len(judgments.starts) - 1, np.flatnonzero(judgments.grades > 0)
    per_case = np.bincount(judgments.case[relevant], minlength=cases)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_judgment_keys(judgments, relevant), dtype=np.uint64)])
    # The sum of the keys of a case does not depend on the order of its judgments; unsigned numbers wrap around.
    keys = _mixed(np.diff(sums[starts_of(per_case.tolist(), cases)]))
    if documents is not None:
        keys ^= _hashed(tuple((each.id, each.text, each.title) for each in of_case) for of_case in documents)
    if fields is not None:
        keys ^= _hashed(map(state_of, fields))
    return np.where(per_case > 0, keys, np.uint64(NO_GOLD))


def clusters(ids: Sequence[str], origins: Sequence[str | None] | None, keys: Keys) -> NDArray[np.int64] | None:
    """A number for each case: those with the same number are one observation; None if all are observations of their own.

    Numbers are in the order of origins and ids, so that the order of the cases changes no digit of a sum over them.
    """
    shared = shared_rows(keys, origins)
    if origins is None and not len(shared):
        return None
    names = [
        f"origin {origin}" if origin else f"case {case}" for case, origin in zip(ids, origins or (None,) * len(ids), strict=True)
    ]
    joined = _Joined()
    named = set(filter(None, origins or ()))
    for case, name in zip(ids, names, strict=True):
        if case in named:  # it is what its variants were made of, whatever it says of itself
            joined.join(name, f"origin {case}")
    for first, *others in rows_by_key(keys, shared):
        for row in others:
            joined.join(names[first], names[row])
    return np.unique(np.array(list(map(joined.first, names)), dtype=object), return_inverse=True)[1].astype(np.int64)


class _Joined:
    """Names that mean one observation, each with one that comes before it; the first of all is the name of all."""

    def __init__(self) -> None:
        self._before: dict[str, str] = {}

    def first(self, name: str) -> str:
        while (before := self._before.get(name)) is not None:
            self._before[name] = self._before.get(before, before)  # the way is half as long next time
            name = before
        return name

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.first(one), self.first(other)))
        if first != second:
            self._before[second] = first


def shared_rows(keys: Keys, origins: Sequence[str | None] | None) -> NDArray[np.intp]:
    """The cases without an origin whose targets another of them has too."""
    rows = np.flatnonzero(keys != NO_GOLD)
    if origins is not None:
        rows = rows[[not origins[row] for row in rows.tolist()]]
    _, which, counts = np.unique(keys[rows], return_inverse=True, return_counts=True)
    return rows[counts[which] > 1]


def rows_by_key(keys: Keys, rows: NDArray[np.intp]) -> list[list[int]]:
    """Some cases, those of one key together, in the order of the first of each."""
    groups: dict[int, list[int]] = {}
    for row, key in zip(rows.tolist(), keys[rows].tolist(), strict=True):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _judgment_keys(judgments: JudgmentTable, rows: NDArray[np.intp]) -> Keys:
    """A number for each of some judgments, by target, how it is met, grade and rank."""
    keys = _text_hashes(judgments.targets if len(rows) == len(judgments) else _taken(judgments.targets, rows))
    for column in (judgments.grades, judgments.match, judgments.ranks):
        if column is not None:
            keys = _mixed(keys ^ _mixed(column[rows].astype(np.uint64)))
    return keys


def _taken(texts: Texts, rows: NDArray[np.intp]) -> Texts:
    return [texts[row] for row in rows.tolist()] if isinstance(texts, list) else texts[rows]


def _text_hashes(texts: Texts) -> Keys:
    if isinstance(texts, list):
        return np.fromiter(map(hash, texts), np.int64, len(texts)).astype(np.uint64)
    return np.asarray(texts.hash().to_numpy(), np.uint64)


def _hashed(values: Iterable[object]) -> Keys:
    return np.array([hash(value) for value in values], np.int64).astype(np.uint64)


def _mixed(keys: Keys) -> Keys:
    """Numbers whose bits all depend on all bits of the given ones (the finaliser of SplitMix64: Steele, Lea and Flood, 2014)."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
