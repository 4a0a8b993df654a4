"""What an index is: vectors under numbers, and the nearest of them to a query.

Whose vectors they are is for others to know. An index never hears of files, so two of them can be compared by the
vectors that they find: the recall of an approximate one is what it finds of what an exact one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.embedders.embedder import Vectors
from searchmark.errors import UsageError
from searchmark.options.strict import strict_record

Numbers = NDArray[np.int64]
Scores = NDArray[np.float64]
Distance = Literal["cosine", "ip", "l2"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Numbers of vectors and their scores, best first; equal scores are ordered by number."""

    numbers: Numbers
    scores: Scores

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Scores of some vectors, and how far each of them may be from the exact one."""

    scores: Vectors | Scores
    error: float


@strict_record
class IndexOptions:
    """What every index takes: nothing. Each kind adds its own. ``AT_SEARCH``: those that can change after the index was built."""

    AT_SEARCH: ClassVar[frozenset[str]] = frozenset()

    def check_distance(self, distance: Distance) -> None:
        """Refuse a distance that such an index does not have; most have all."""

    def refuse_without_effect(self) -> None:
        """Refuse options that are set and that nothing heeds; most indexes heed all of theirs."""

    def open(self, dimension: int, distance: Distance) -> VectorIndex:
        """An empty index."""
        raise NotImplementedError


Options = TypeVar("Options", bound=IndexOptions)


def check_same_build(built: Options, wanted: IndexOptions) -> Options:
    """The options that are wanted, if an index that was built with others serves them as one of their own would."""
    if not isinstance(wanted, type(built)):
        raise UsageError("an index takes options of its own kind; build another index")
    fixed = {field.name for field in fields(built)} - built.AT_SEARCH
    changed = sorted(name for name in fixed if getattr(built, name) != getattr(wanted, name))
    if changed:
        raise UsageError(f"an index that is built cannot change its {', '.join(changed)}; build another one")
    return wanted


class VectorIndex(Protocol):
    """Vectors, each under a number that the caller has chosen and may use again for another one.

    Numbers count from 0 without large gaps, so an index may use them as rows. A score is the cosine, the inner product, or the
    negative Euclidean distance: what is nearer scores more, by any distance. ``exact``: whether the nearest are found for sure.
    """

    dimension: int
    distance: Distance
    exact: bool

    def put(self, numbers: Numbers, vectors: Vectors) -> None:
        """Store one vector per number, in place of what was there."""

    def drop(self, numbers: Numbers) -> None:
        """Forget vectors, all of which are here."""

    def build(self) -> None:
        """Get ready to be searched; called when vectors were put or dropped and before the next search."""

    def search(self, query: Vectors, k: int) -> Neighbours:
        """The nearest ``k`` vectors, or all if there are fewer. Zeros have no direction, so by
        ``cosine`` and ``ip`` a query of zeros is near to nothing."""

    def size(self) -> int | None:
        """Bytes that the index takes, in memory and on disk; None if that is not known."""

    def describe(self) -> Mapping[str, Any]:
        """Its name and all parameters that decide on what it finds, defaults included, as short plain data."""

    def close(self) -> None:
        """Let go of files, connections and tables that were made for it."""


class TunableIndex(VectorIndex, Protocol):
    """An index that can look at more or at less of itself without being built again."""

    def searching_with(self, options: IndexOptions) -> None:
        """Search by these options from now on; they differ from its own in nothing that was built (`check_same_build`)."""


class ScoringIndex(VectorIndex, Protocol):
    """An index that can say what any vector scores, and not only find the nearest."""

    def scores(self, query: Vectors, numbers: Numbers) -> Scores:
        """The exact score of each of these vectors, in float64, whatever the search goes by."""

    def estimates(self, query: Vectors, numbers: Numbers) -> Estimates:
        """The score of each of these vectors, as exact as it is cheap: for those who have to look at very many."""

    def contents(self, numbers: Numbers) -> Vectors:
        """The vectors under these numbers, row by row, as they were put."""
