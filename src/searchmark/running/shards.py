"""Which cases a shard has: a stretch of one order of all cases, along which one worker can follow a history.

The order and the cuts are functions of the suite alone. No repository is looked at, so that a machine needs only those
of its own shard, and every machine cuts alike.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from searchmark.corpora.locations import Documents
from searchmark.errors import UsageError
from searchmark.records import ShardIdentity, Suite
from searchmark.records.repository_states import repository_of, state_of
from searchmark.records.shards import stretches

MOMENTS = ("timestamp", "created_at", "date")  # of mined gold sets, of SWE-bench, and of others
MOVED = 10  # a cut moves to the next border if that is at most this part of a shard away


def parse_shard(text: str) -> tuple[int, int]:
    """Read ``2/5``: the second of five parts."""
    first, _, second = text.partition("/")
    if not (first.isascii() and first.isdigit() and second.isascii() and second.isdigit()) or not 1 <= int(first) <= int(second):
        raise UsageError(f"shard {text!r} cannot be read; write it like 1/4, the first of four")
    return int(first), int(second)


def shard_identity(whole: Suite, shard: str) -> ShardIdentity:
    """One shard of all the cases that were chosen; ``searched`` is known when they have been."""
    number, of = parse_shard(shard)
    hashes = whole.hashes
    places = shard_rows(whole, number, of)
    return ShardIdentity(number, of, len(whole), stretches(places), hashes["queries"], hashes["judgments"])


def shard_rows(suite: Suite, number: int, of: int) -> list[int]:
    """The rows of the cases of one shard, in the order of the suite."""
    groups = _groups(suite)
    order = sorted(range(len(suite)), key=lambda row: (groups[row], *_along_history(_fields(suite, row)), row))
    borders = [place for place in range(1, len(order)) if groups[order[place - 1]] != groups[order[place]]]
    first, end = (_cut(len(order), place, of, borders) for place in (number - 1, number))
    return sorted(order[first:end])


def _fields(suite: Suite, row: int) -> Mapping[str, Any]:
    return {} if suite.table.fields is None else suite.table.fields[row]


def _groups(suite: Suite) -> list[int]:
    """A number for each case: those of one repository, or with the same documents, have the same, the first ones the lowest."""
    brought = suite.table.documents
    keys = [
        (repository_of(_fields(suite, row)), Documents.of("", brought[row]).digest if brought is not None else None)
        for row in range(len(suite))
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] for key in keys]


def _along_history(fields: Mapping[str, Any]) -> tuple[float, str]:
    """When a case comes in the history of its repository, and its commit; cases that do not say when come last."""
    moment = next((found for name in MOMENTS if (found := _seconds(fields.get(name))) is not None), float("inf"))
    return moment, "".join(commit or "" for commit in state_of(fields)[1:])


def _seconds(value: object) -> float | None:
    """A moment as seconds since 1970: a number is that already, and a text is ISO 8601, in UTC unless it says otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e15 and isfinite(value) else None  # noqa: PLR2004  # beyond any calendar
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return None


def _cut(size: int, shards: int, of: int, borders: Sequence[int]) -> int:
    """Where so many of all shards end: at the nearest border if one is close, and else where all are of one size."""
    at = bisect_left(borders, -(-size * shards // of))
    near = min(borders[max(0, at - 1) : at + 1], key=lambda border: abs(border * of - size * shards), default=None)
    if near is not None and 0 < shards < of and abs(near * of - size * shards) * MOVED <= size:
        return near
    return (2 * size * shards + of) // (2 * of)
