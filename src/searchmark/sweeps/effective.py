"""Which options of an index have an effect: those that its method ignores, or raises to the same value, make no other setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from searchmark.indexes import check_index
from searchmark.indexes.hnsw import HnswOptions
from searchmark.indexes.index import IndexOptions
from searchmark.indexes.pgvector import LARGEST_EF, PgvectorOptions

NAME, REACH, PGVECTOR = "name", "ef_search", "pgvector"


@dataclass(frozen=True)
class EffectiveIndex:
    """An index as it is searched for so many vectors: as it was chosen, in full with its defaults, and what that changed."""

    chosen: Any
    in_full: Mapping[str, Any]
    notes: tuple[str, ...]


def effective_index(choice: Any, asked: int) -> EffectiveIndex:
    """A choice without what its method ignores, and with what it raises."""
    given = {NAME: choice} if isinstance(choice, str) else dict(choice)
    options = check_index(choice)
    ignored, least = _ignored(options), _least_reach(options, asked)
    left_out = [key for key in given if key in ignored]
    kept = {key: value for key, value in given.items() if key not in ignored}
    whole = {NAME: given[NAME], **{key: value for key, value in asdict(options).items() if key not in ignored}}
    notes = [f"{given[NAME]} with method {whole['method']} has no use for {' and '.join(left_out)}"] if left_out else []
    if REACH in whole and whole[REACH] < least:
        if REACH in kept:
            notes.append(f"{REACH} {kept[REACH]} of {given[NAME]} is raised to {least}, as many vectors as are asked for")
            kept[REACH] = least
        whole[REACH] = least
    return EffectiveIndex(choice if isinstance(choice, str) else kept, whole, tuple(notes))


def _ignored(options: IndexOptions) -> set[str]:
    if not isinstance(options, PgvectorOptions):
        return set()
    return asdict(options).keys() - {"dsn", "method", "type", "schema", *options.parameters, *options.reach}


def _least_reach(options: IndexOptions, asked: int) -> int:
    """A graph keeps at least as many candidates as it is asked for."""
    if isinstance(options, PgvectorOptions):
        return min(asked, LARGEST_EF)
    return asked if isinstance(options, HnswOptions) else 0


def exact_for(indexes: Sequence[Any], otherwise: str) -> Any:
    """What finds the true neighbours where these do: in the database if all are there, since no other search costs as much."""
    names = [each if isinstance(each, str) else each.get(NAME) for each in indexes]
    if not names or any(name != PGVECTOR for name in names):
        return otherwise
    first = {} if isinstance(indexes[0], str) else indexes[0]
    return {NAME: PGVECTOR, "method": "none", **{key: first[key] for key in ("dsn", "schema") if key in first}}
