"""Which cases are asked, and in which order: a pure function of suite, seed and filters.

A digest of the seed and its own id decides where a case comes in the order, so that leaving out some cases does not
reorder the others.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, overload

import numpy as np

from searchmark.corpora.locations import Location
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.judging.unjoined import no_query
from searchmark.options.experiment_options import CaseSelection
from searchmark.records import Case, CaseTable, RunLabel, ShardIdentity, Suite
from searchmark.running.shards import shard_identity

FILTERED_OUT = "cases_filtered_out"


@dataclass(frozen=True, slots=True)
class Step:
    """One case, to be asked at one location; ``request`` is what it brings along for agents that can send it."""

    case: str
    query: str
    location: Location
    request: Mapping[str, Any] | None = field(default=None, hash=False)


def selected(suite: Suite, cases: CaseSelection, seed: int, only: frozenset[str] | None = None) -> Suite:
    """The suite without the cases that are not wanted; at least one is left. ``only`` limits it to some by their ids."""
    return planned(suite, cases, seed, only)[0]


def planned(
    suite: Suite, cases: CaseSelection, seed: int, only: frozenset[str] | None = None
) -> tuple[Suite, ShardIdentity | None]:
    """The same, and which shard it is, if it is a whole one."""
    whole = _chosen(suite, cases, seed)
    shard = None if cases.shard is None else shard_identity(whole, cases.shard)
    part = whole if shard is None else _of_shard(whole, shard)
    return (part, shard) if only is None else (_left(part, [case for case in part.table.ids if case in only]), None)


def _chosen(suite: Suite, cases: CaseSelection, seed: int) -> Suite:
    """The cases that are cut into shards, or asked as they are."""
    if (cases.text, cases.categories, cases.sample) == (None, (), None) and len(suite):
        return suite
    if cases.categories:
        _refuse_unknown_categories(suite, cases.categories)
    kept = [case for case in suite.cases if _wanted(case, cases)]
    if cases.sample is not None:
        kept = _drawn(kept, sorted(kept, key=lambda case: _position(f"sample {seed}", case.id))[: cases.sample])
    return _left(suite, [case.id for case in kept])


def _of_shard(whole: Suite, shard: ShardIdentity) -> Suite:
    """The cases of one shard."""
    if not shard.size:
        raise NothingEvaluated(f"the shard {shard} has no case, since there are only {shard.cases}; cut them into fewer")
    return _left(whole, [whole.table.ids[row] for row in shard.places])


def _left(suite: Suite, kept: Sequence[str]) -> Suite:
    """The suite with these cases, and how many others it had."""
    if not kept:
        raise NothingEvaluated(f"no case of the suite {suite.name!r} is left after filtering")
    if len(kept) == len(suite):
        return suite
    before = suite.dropped.get(FILTERED_OUT, 0)
    return replace(suite.only(set(kept)), dropped={**suite.dropped, FILTERED_OUT: before + len(suite) - len(kept)})


def _drawn(cases: Sequence[Case], drawn: Iterable[Case]) -> list[Case]:
    """The cases that were drawn, in the order of the suite."""
    chosen = {case.id for case in drawn}
    return [case for case in cases if case.id in chosen]


def _wanted(case: Case, cases: CaseSelection) -> bool:
    if cases.text is not None and cases.text.lower() not in f"{case.id}\n{case.query or ''}".lower():
        return False
    return not cases.categories or _is_in(case, cases.categories)


def _is_in(case: Case, categories: Collection[str]) -> bool:
    """By the name of the category, or by the number that the suite gives it."""
    number = case.fields.get("category_number")
    return case.category in categories or (number is not None and str(number) in categories)


def _refuse_unknown_categories(suite: Suite, wanted: Iterable[str]) -> None:
    for name in wanted:
        if not any(_is_in(case, (name,)) for case in suite.cases):
            known = ", ".join(sorted({case.category for case in suite.cases if case.category})) or "none"
            raise UsageError(f"no case is of the category {name!r}; the categories are: {known}")


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


def ordered(suite: Suite, locations: Mapping[str, Location], seed: int, *, shuffled: bool = True) -> Steps:
    """All cases as steps: location by location in the order of ``locations``, shuffled within each."""
    if None in (suite.table.queries or [None] * len(suite)):
        raise UsageError(no_query(suite))
    groups: dict[Location, array[int]] = {}
    # By identity: mostly a hundred thousand cases share one location, and to hash it takes longer than all else.
    own = {key: groups.setdefault(each, array("q")) for key, each in {id(each): each for each in locations.values()}.items()}
    for row, case in enumerate(suite.table.ids):
        own[id(locations[case])].append(row)
    placed = (_shuffled(rows, suite.table.ids, seed) if shuffled else rows for rows in groups.values())
    return Steps(suite.table, locations, chain.from_iterable(placed))


def _shuffled(rows: array[int], ids: Sequence[str], seed: int) -> array[int]:
    positions = np.fromiter((_position(f"order {seed}", ids[row]) for row in rows), np.uint64, len(rows))
    return array("q", np.asarray(rows)[np.argsort(positions, kind="stable")].tobytes())


def blocks(steps: Sequence[Step], size: int) -> Iterator[Sequence[Step]]:
    for start in range(0, len(steps), size):
        yield steps[start : start + size]


def turns(labels: Sequence[RunLabel], block: int) -> list[RunLabel]:
    """The order in which the agents take a block: each comes first equally often."""
    first = block % len(labels)
    return [*labels[first:], *labels[:first]]


def _position(salt: str, case: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\0{case}".encode("utf-8", "surrogatepass")).digest()[:8])
