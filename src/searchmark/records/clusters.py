"""Which cases are one observation: those of one origin, and those without an origin that share their targets."""

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
    origins = with_originals(ids, origins)
    shared = shared_rows(keys, origins)
    if origins is None and not len(shared):
        return None
    names = [
        f"origin {origin}" if origin else f"case {case}" for case, origin in zip(ids, origins or (None,) * len(ids), strict=True)
    ]
    for group in rows_by_key(keys, shared):
        first = min(names[row] for row in group)
        for row in group:
            names[row] = first
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


def with_originals(ids: Sequence[str], origins: Sequence[str | None] | None) -> Sequence[str | None] | None:
    """The origins, where a case that others name as theirs is of that origin too, though it says nothing of itself."""
    if origins is None:
        return None
    named = set(filter(None, origins))
    return [origin or (case if case in named else None) for case, origin in zip(ids, origins, strict=True)]


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
