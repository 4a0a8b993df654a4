"""What an index is: vectors under numbers, and the nearest of them to a query.

Also recall, statistics of vectors, and a clock around searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from time import perf_counter_ns
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.vectors.embedder import Vectors, normalize_rows, row_lengths
from searchmark.config.strict import strict_record
from searchmark.errors import UsageError
from searchmark.records.columns import distinct
from searchmark.records.provenance import VectorStatistics

# What an index is: vectors under numbers, and the nearest of them to a query.
#
# Whose vectors they are is for others to know. An index never hears of files, so two of them can be compared by the
# vectors that they find: the recall of an approximate one is what it finds of what an exact one does.

VectorNumbers = NDArray[np.int64]

VectorScores = NDArray[np.float64]

Distance = Literal["cosine", "ip", "l2"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Numbers of vectors and their scores, best first; equal scores are ordered by number."""

    numbers: VectorNumbers
    scores: VectorScores

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Scores of some vectors, and how far each of them may be from the exact one."""

    scores: Vectors | VectorScores
    error: float


@strict_record
class IndexSettings:
    """What every index takes: nothing. Each kind adds its own. ``AT_SEARCH``: those that can change after the index was built."""

    AT_SEARCH: ClassVar[frozenset[str]] = frozenset()

    def check_distance(self, distance: Distance) -> None:
        """Refuse a distance that such an index does not have; most have all."""

    def refuse_without_effect(self) -> None:
        """Refuse options that are set and that nothing heeds; most indexes heed all of theirs."""

    def ignored(self) -> set[str]:
        """Options that the chosen method has no use for."""
        return set()

    def least_candidates(self, k: int) -> int:
        """How many candidates a search keeps at least, for so many wanted vectors, where ``ef_search`` says fewer."""
        del k
        return 0

    def open(self, dimension: int, distance: Distance) -> VectorIndex:
        """An empty index."""
        raise NotImplementedError


SettingsType = TypeVar("SettingsType", bound=IndexSettings)

T = TypeVar("T")


def settings_for_search(current: SettingsType, settings: IndexSettings) -> SettingsType:
    """The options that are wanted, if an index that was built with others serves them as one of their own would."""
    if not isinstance(settings, type(current)):
        raise UsageError("an index takes options of its own kind; build another index")
    fixed_names = {field.name for field in fields(current)} - current.AT_SEARCH
    changed_names = sorted(name for name in fixed_names if getattr(current, name) != getattr(settings, name))
    if changed_names:
        raise UsageError(f"an index that is built cannot change its {', '.join(changed_names)}; build another one")
    return settings


class SearchedIndex(Protocol):
    """What can be searched, and nothing else."""

    def search(self, query: Vectors, k: int) -> Neighbours:
        """The nearest ``k`` vectors, or all if there are fewer. Zeros have no direction, so by
        ``cosine`` and ``ip`` a query of zeros is near to nothing."""


class ScoringIndex(SearchedIndex, Protocol):
    """What can say what any vector scores, and not only find the nearest."""

    def scores(self, query: Vectors, numbers: VectorNumbers) -> VectorScores:
        """The exact score of each of these vectors, in float64, whatever the search goes by."""

    def estimates(self, query: Vectors, numbers: VectorNumbers) -> Estimates:
        """The score of each of these vectors, as exact as it is cheap: for those who have to look at very many."""


class VectorIndex(SearchedIndex, Protocol):
    """Vectors, each under a number that the caller has chosen and may use again for another one.

    Numbers count from 0 without large gaps, so an index may use them as rows. A score is the cosine, the inner product, or the
    negative Euclidean distance: what is nearer scores more, by any distance. ``exact``: whether the nearest are found for sure.
    """

    dimension: int
    distance: Distance
    exact: bool

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        """Store one vector per number, in place of what was there."""

    def drop(self, numbers: VectorNumbers) -> None:
        """Forget vectors, all of which are here."""

    def build(self) -> None:
        """Get ready to be searched; called when vectors were put or dropped and before the next search."""

    def size(self) -> int | None:
        """Bytes that the index takes, in memory and on disk; None if that is not known."""

    def describe(self) -> Mapping[str, Any]:
        """Its name and all parameters that decide on what it finds, defaults included, as short plain data."""

    def close(self) -> None:
        """Let go of files, connections and tables that were made for it."""


class TunableIndex(VectorIndex, Protocol):
    """An index that can look at more or at less of itself without being built again."""

    def searching_with(self, options: IndexSettings) -> None:
        """Search by these options from now on; they differ from its own in nothing that was built (`settings_for_search`)."""


# Vectors and queries that an index cannot hold as they are, by their lengths and numbers.

SHORT, LONG = 0.25, 1.001  # squared lengths that may stay: far from what f16 loses, and no number beyond what i8 takes for one


def scale_to_unit(query: Vectors) -> Vectors:
    """A query for cosine: unchanged, unless it is so long or so short that small numbers cannot hold it."""
    return query if SHORT < float(query @ query) < LONG else normalize_rows(query[np.newaxis]).reshape(-1)


def has_no_direction(query: Vectors, distance: Distance) -> bool:
    """Zeros have no direction; by distance alone they are as good a query as any."""
    return distance != "l2" and not query.any()


def refuse_nonfinite_vectors(numbers: VectorNumbers, vectors: Vectors) -> None:
    """Refuse vectors that are near or far to nothing: one of them would spoil the order of others."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise UsageError(f"vector {numbers[wrong[0]]} holds NaN or infinity; an index takes finite numbers only")


def refuse_nonfinite_query(query: Vectors) -> None:
    """Refuse a query that nothing can be compared with."""
    if not np.isfinite(query).all():
        raise UsageError("a query holds NaN or infinity; an index takes finite numbers only")


# What an approximate index has found of the true nearest vectors.


@dataclass(frozen=True)
class NeighbourRecall:
    """Of the nearest ``k`` vectors: the share that was found, ties being as good (``recall``) or not (``overlap``)."""

    k: int
    recall: float
    overlap: float


def neighbour_recall(truth: ScoringIndex, query: Vectors, numbers: VectorNumbers, k: int) -> NeighbourRecall | None:
    """How many of the first ``k`` that were found, best first, are among the true nearest; None if nothing is near.

    ``recall``: a vector counts if its exact score is that of the k-th true neighbour or more, as in
    ann-benchmarks but without its tolerance.
    ``overlap``: it counts if it is one of the true ``k``, of which equal scores are ordered by number. If there are fewer
    vectors than ``k``, the result is for as many as there are.
    """
    true = truth.search(query, k).numbers
    if not len(true):
        return None
    first = distinct(numbers[: len(true)])  # the same vector twice would be found once
    # All by one call, so that equal vectors are equal, whatever the scores of a search were rounded to.
    scores = truth.scores(query, np.concatenate((true, first)))
    as_near = np.count_nonzero(scores[len(true) :] >= scores[: len(true)].min())
    same = len(np.intersect1d(first, true))
    return NeighbourRecall(len(true), int(as_near) / len(true), same / len(true))


# What stored vectors are like, kept up as they come and go: sixteen bytes for each, and no second copy of any.
#
# They are looked at when they are put, block by block, and never in the time of a search.

BLOCK = 4096  # vectors that are looked at together

REMOVED_LENGTH = -1.0  # in place of a length


class VectorStatisticsTracker:
    """The length of every vector, and a hash that equal vectors share."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._lengths: NDArray[np.float64] = np.empty(0)
        self._hashes: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def put(self, numbers: VectorNumbers, vectors: Vectors) -> None:
        """Vectors that have come, in place of what was under their numbers."""
        self._grow(int(numbers.max(initial=-1)) + 1)
        for start in range(0, len(numbers), BLOCK):
            some, block = numbers[start : start + BLOCK], vectors[start : start + BLOCK]
            self._lengths[some] = row_lengths(block)
            self._hashes[some] = _row_hashes(block)

    def drop(self, numbers: VectorNumbers) -> None:
        """Vectors that are gone."""
        self._lengths[numbers] = REMOVED_LENGTH

    def statistics(self, *, normalized: bool | None = None, names: Sequence[int] = ()) -> VectorStatistics:
        """Of those that are here. ``normalized``: whether they were meant to have length one.

        ``names`` are numbers of vectors that are of no text but of the id of a document, of which many may be alike.
        """
        here = self._lengths != REMOVED_LENGTH
        finite = here & np.isfinite(self._lengths)
        sound = finite & (self._lengths != 0)
        texts = sound.copy()
        texts[np.asarray(names, dtype=np.int64)] = False
        lengths, others = self._lengths[finite], self._lengths[sound]
        return VectorStatistics(
            count=int(here.sum()),
            dimension=self._dimension,
            normalized=normalized,
            norm_mean=float(lengths.mean()) if len(lengths) else None,
            norm_std=float(lengths.std()) if len(lengths) else None,
            norm_min=float(lengths.min()) if len(lengths) else None,
            norm_min_nonzero=float(others.min()) if len(others) else None,
            norm_max=float(lengths.max()) if len(lengths) else None,
            zero=len(lengths) - len(others),
            duplicates=int(texts.sum()) - len(distinct(self._hashes[texts])),
            not_finite=int((here & ~np.isfinite(self._lengths)).sum()),
        )

    def _grow(self, rows: int) -> None:
        if rows > len(self._lengths):
            more = max(rows, 2 * len(self._lengths)) - len(self._lengths)  # growing bit by bit does not copy it each time
            self._lengths = np.concatenate((self._lengths, np.full(more, REMOVED_LENGTH)))
            self._hashes = np.concatenate((self._hashes, np.zeros(more, dtype=np.int64)))


def statistics_of(blocks: Iterable[Vectors], dimension: int, *, normalized: bool | None = None) -> VectorStatistics:
    """Of vectors that come in blocks, from wherever they are kept."""
    ledger, count = VectorStatisticsTracker(dimension), 0
    for block in blocks:
        ledger.put(np.arange(count, count + len(block)), block)
        count += len(block)
    return ledger.statistics(normalized=normalized)


def _row_hashes(vectors: Vectors) -> NDArray[np.int64]:
    """Python's hash of bytes, which is 64 bits of SipHash; adding zero makes -0.0 the same as 0.0."""
    return np.fromiter((hash(row.tobytes()) for row in vectors + np.float32(0)), np.int64, len(vectors))


# An index with a clock: what its searches take, apart from whatever else an agent does for a query.


class TimedIndex:
    """A `SearchedIndex` that adds up in ``spent_ns`` what its searches take."""

    def __init__(self, index: SearchedIndex) -> None:
        self._index = index
        self.spent_ns = 0

    def search(self, query: Vectors, k: int) -> Neighbours:
        return self._timed(lambda: self._index.search(query, k))

    def _timed(self, work: Callable[[], T]) -> T:
        start = perf_counter_ns()
        try:
            return work()
        finally:
            self.spent_ns += perf_counter_ns() - start


class TimedScoringIndex(TimedIndex):
    """A `ScoringIndex` whose scores and estimates count as search too, since files are found by them."""

    def __init__(self, index: ScoringIndex) -> None:
        super().__init__(index)
        self._scoring = index

    def scores(self, query: Vectors, numbers: VectorNumbers) -> VectorScores:
        return self._timed(lambda: self._scoring.scores(query, numbers))

    def estimates(self, query: Vectors, numbers: VectorNumbers) -> Estimates:
        return self._timed(lambda: self._scoring.estimates(query, numbers))
