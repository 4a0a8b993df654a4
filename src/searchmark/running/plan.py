"""Which cases are asked, in which order, and which of them a shard has. A pure function of suite, seed and filters."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from math import isfinite
from typing import Any, overload

import numpy as np

from searchmark.config.run import CaseSelection
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.formats.corpora.locations import Documents, Location
from searchmark.records.provenance import RunLabel, ShardIdentity, find_stretches
from searchmark.records.suite import Case, CaseTable, Suite, repository_of_case, repository_state_of_case
from searchmark.scoring.targets import describe_missing_queries

# Which cases a shard has: a stretch of one order of all cases, along which one worker can follow a history.
#
# The order and the cuts are functions of the suite alone. No repository is looked at, so that a machine needs only those
# of its own shard, and every machine cuts alike.

DATE_FIELDS = ("timestamp", "created_at", "date")  # of mined gold sets, of SWE-bench, and of others

MAX_BORDER_SHIFT = 10  # a cut moves to the next border if that is at most this part of a shard away


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
    return ShardIdentity(number, of, len(whole), find_stretches(places), hashes["queries"], hashes["judgments"])


def shard_rows(suite: Suite, number: int, of: int) -> list[int]:
    """The rows of the cases of one shard, in the order of the suite."""
    groups = _groups(suite)
    order = sorted(range(len(suite)), key=lambda row: (groups[row], *_history_key(_fields(suite, row)), row))
    borders = [place for place in range(1, len(order)) if groups[order[place - 1]] != groups[order[place]]]
    first, end = (_cut(len(order), place, of, borders) for place in (number - 1, number))
    return sorted(order[first:end])


def _fields(suite: Suite, row: int) -> Mapping[str, Any]:
    return {} if suite.table.fields is None else suite.table.fields[row]


def _groups(suite: Suite) -> list[int]:
    """A number for each case: those of one repository, or with the same documents, have the same, the first ones the lowest."""
    documents = suite.table.documents
    keys = [
        (repository_of_case(_fields(suite, row)), Documents.of("", documents[row]).digest if documents is not None else None)
        for row in range(len(suite))
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [numbers[key] for key in keys]


def _history_key(fields: Mapping[str, Any]) -> tuple[float, str]:
    """When a case comes in the history of its repository, and its commit; cases that do not say when come last."""
    moment = next((seconds for name in DATE_FIELDS if (seconds := _seconds_since_1970(fields.get(name))) is not None), float("inf"))
    return moment, "".join(commit or "" for commit in repository_state_of_case(fields)[1:])


def _seconds_since_1970(value: object) -> float | None:
    """A moment as seconds since 1970: a number is that already, and a text is ISO 8601, in UTC unless it says otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e15 and isfinite(value) else None  # noqa: PLR2004  # beyond any calendar
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _cut(size: int, shards: int, of: int, borders: Sequence[int]) -> int:
    """Where so many of all shards end: at the nearest border if one is close, and else where all are of one size."""
    at = bisect_left(borders, -(-size * shards // of))
    near = min(borders[max(0, at - 1) : at + 1], key=lambda border: abs(border * of - size * shards), default=None)
    if near is not None and 0 < shards < of and abs(near * of - size * shards) * MAX_BORDER_SHIFT <= size:
        return near
    return (2 * size * shards + of) // (2 * of)


# A digest of the seed and its own id decides where a case comes in the order, so that leaving out some cases does not
# reorder the others.

FILTERED_OUT_KEY = "cases_filtered_out"


@dataclass(frozen=True, slots=True)
class Step:
    """One case, to be asked at one location."""

    case: str
    query: str
    location: Location
    request: Mapping[str, Any] | None = field(default=None, hash=False)  # of the case, for agents that can send it


def select_cases(suite: Suite, cases: CaseSelection, seed: int, only: frozenset[str] | None = None) -> Suite:
    """The suite without the cases that are not wanted; at least one is left. ``only`` limits it to some by their ids."""
    return select_cases_and_shard(suite, cases, seed, only)[0]


def select_cases_and_shard(
    suite: Suite, cases: CaseSelection, seed: int, only: frozenset[str] | None = None
) -> tuple[Suite, ShardIdentity | None]:
    """The same, and which shard it is, if it is a whole one."""
    whole = _choose_cases(suite, cases, seed)
    shard = None if cases.shard is None else shard_identity(whole, cases.shard)
    part = whole if shard is None else _cases_of_shard(whole, shard)
    return (part, shard) if only is None else (_keep_cases(part, [case for case in part.table.ids if case in only]), None)


def _choose_cases(suite: Suite, cases: CaseSelection, seed: int) -> Suite:
    """The cases that are cut into shards, or asked as they are."""
    if (cases.text, cases.categories, cases.sample) == (None, (), None) and len(suite):
        return suite
    if cases.categories:
        _refuse_unknown_categories(suite, cases.categories)
    picks = [case for case in suite.cases if _is_wanted(case, cases)]
    if cases.sample is not None:
        picks = _in_suite_order(picks, sorted(picks, key=lambda case: _order_digest(f"sample {seed}", case.id))[: cases.sample])
    return _keep_cases(suite, [case.id for case in picks])


def _cases_of_shard(whole: Suite, shard: ShardIdentity) -> Suite:
    """The cases of one shard."""
    if not shard.size:
        raise NothingEvaluated(f"the shard {shard} has no case, since there are only {shard.cases}; cut them into fewer")
    return _keep_cases(whole, [whole.table.ids[row] for row in shard.places])


def _keep_cases(suite: Suite, ids: Sequence[str]) -> Suite:
    """The suite with these cases, and how many others it had."""
    if not ids:
        raise NothingEvaluated(f"no case of the suite {suite.name!r} is left after filtering")
    if len(ids) == len(suite):
        return suite
    before = suite.dropped.get(FILTERED_OUT_KEY, 0)
    return replace(suite.only(set(ids)), dropped={**suite.dropped, FILTERED_OUT_KEY: before + len(suite) - len(ids)})


def _in_suite_order(cases: Sequence[Case], sample: Iterable[Case]) -> list[Case]:
    """The cases that were drawn, in the order of the suite."""
    ids = {case.id for case in sample}
    return [case for case in cases if case.id in ids]


def _is_wanted(case: Case, cases: CaseSelection) -> bool:
    if cases.text is not None and cases.text.lower() not in f"{case.id}\n{case.query or ''}".lower():
        return False
    return not cases.categories or _is_in_category(case, cases.categories)


def _is_in_category(case: Case, categories: Collection[str]) -> bool:
    """By the name of the category, or by the number that the suite gives it."""
    number = case.fields.get("category_number")
    return case.category in categories or (number is not None and str(number) in categories)


def _refuse_unknown_categories(suite: Suite, names: Iterable[str]) -> None:
    for name in names:
        if not any(_is_in_category(case, (name,)) for case in suite.cases):
            categories = ", ".join(sorted({case.category for case in suite.cases if case.category})) or "none"
            raise UsageError(f"no case is of the category {name!r}; the categories are: {categories}")


class Steps(Sequence[Step]):
    """Steps in the order in which cases are asked, each made when it is looked at: only the rows of all cases are kept."""

    def __init__(self, table: CaseTable, locations: Mapping[str, Location], rows: Iterable[int]) -> None:
        self._table, self._locations, self._rows = table, locations, array("q", rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> Steps: ...
    def __getitem__(self, place: int | slice) -> Step | Steps:
        if isinstance(place, slice):
            return Steps(self._table, self._locations, self._rows[place])
        return self._step(self._rows[place])

    def __iter__(self) -> Iterator[Step]:
        return map(self._step, self._rows)

    def _step(self, row: int) -> Step:
        table, case = self._table, self._table.ids[row]
        query = table.queries[row] if table.queries else None
        assert query is not None  # noqa: S101  # it was looked at when they were put in order
        return Step(case, query, self._locations[case], table.requests[row] if table.requests else None)


def order_cases(suite: Suite, locations: Mapping[str, Location], seed: int, *, shuffled: bool = True) -> Steps:
    """All cases as steps: location by location in the order of ``locations``, shuffled within each."""
    if None in (suite.table.queries or [None] * len(suite)):
        raise UsageError(describe_missing_queries(suite))
    groups: dict[Location, array[int]] = {}
    # By identity: mostly a hundred thousand cases share one location, and to hash it takes longer than all else.
    own = {key: groups.setdefault(each, array("q")) for key, each in {id(each): each for each in locations.values()}.items()}
    for row, case in enumerate(suite.table.ids):
        own[id(locations[case])].append(row)
    ordered_rows = (_shuffle(rows, suite.table.ids, seed) if shuffled else rows for rows in groups.values())
    return Steps(suite.table, locations, chain.from_iterable(ordered_rows))


def _shuffle(rows: array[int], ids: Sequence[str], seed: int) -> array[int]:
    positions = np.fromiter((_order_digest(f"order {seed}", ids[row]) for row in rows), np.uint64, len(rows))
    return array("q", np.asarray(rows)[np.argsort(positions, kind="stable")].tobytes())


def split_into_blocks(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), size):
        yield steps[start : start + size]


def turns(labels: Sequence[RunLabel], block: int) -> list[RunLabel]:
    """The order in which the agents take a block: each comes first equally often."""
    first = block % len(labels)
    return [*labels[first:], *labels[:first]]


def _order_digest(salt: str, case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{case}".encode("utf-8", "surrogatepass")).digest()[:8])
