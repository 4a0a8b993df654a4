"""Which part of the cases a run was asked, where they were divided among several machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated

from annotated_types import Ge

from searchmark.options.strict import strict_record

Place = Annotated[int, Ge(0)]


@strict_record(slots=True)
class ShardIdentity:
    """One of several parts of the cases, and what they are all together: enough to put the parts together without the suite.

    ``cases`` counts those of all shards, and ``queries`` and ``judgments`` are digests of them all. ``rows`` are the first and the
    last places of stretches of its own cases among them, in the order of the suite, from 0. ``searched`` is a digest of what its
    own cases search, to which those of the other shards can be added; None where that is not known.
    """

    number: Annotated[int, Ge(1)]
    of: Annotated[int, Ge(1)]
    cases: Place
    rows: tuple[tuple[Place, Place], ...] = ()
    queries: str | None = None
    judgments: str | None = None
    searched: str | None = None

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def size(self) -> int:
        """How many cases it has itself."""
        return sum(max(0, last + 1 - first) for first, last in self.rows)

    @property
    def places(self) -> Iterator[int]:
        """The place of each of its cases; a file may name more than anybody wants to count."""
        return chain.from_iterable(range(first, last + 1) for first, last in self.rows)


def stretches(places: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Places in ascending order as first and last ones of stretches without a gap."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1] = (found[-1][0], place)
        else:
            found.append((place, place))
    return tuple(found)
