"""BM25 over a set of documents that changes: an answer sees the statistics of the present state and nothing else.

Postings lie in segments, each sorted by term. New documents make a new segment, documents that are gone are only
marked, and segments of similar size are merged, so that a step costs what has changed. How many documents hold a term
is counted among those that are there when somebody asks, so there is no number that could drift away from the truth.

The score of a document d for a query, each distinct term t weighted by how often the query holds it:

    sum over t of   ln(1 + (N - df + 0.5) / (df + 0.5))  *  tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl))

with N documents, df of them holding t; tf is how often d holds t, dl the length of d in tokens and avgdl the mean of
that, all three with each field counted by its weight. That is the probabilistic model of Robertson and Sparck Jones with
the saturation and length normalisation of Okapi BM25, the idf that Lucene uses (it is never negative), and fields
combined before saturation (Robertson, Zaragoza, Taylor 2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.vocabulary import Counts, Ints

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=np.generic)
MERGED_AT = 3  # a segment is merged with its older neighbour unless that is so many times larger
ASKED_OFTEN = 16  # queries to one state after which it pays to prepare it for more
BLOCKS = 4  # for every document that is wanted, in the search for the best
SLACK = 1000  # slots of documents that are gone, beyond as many as there are documents, before they are given to others


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings sorted by term: which slot holds the term, and how often."""

    terms: NDArray[np.int32]
    slots: NDArray[np.intp]  # the type that arrays are indexed by, so that no query converts it
    frequencies: Floats

    def __len__(self) -> int:
        return len(self.terms)

    def where(self, kept: Any) -> Segment:
        return Segment(self.terms[kept], self.slots[kept], self.frequencies[kept])

    def followed_by(self, other: Segment) -> Segment:
        return Segment(
            np.concatenate((self.terms, other.terms)),
            np.concatenate((self.slots, other.slots)),
            np.concatenate((self.frequencies, other.frequencies)),
        )


class Postings:
    """Documents by the terms that they hold. ``weights`` says how much an occurrence in each field counts."""

    def __init__(self, k1: float, b: float, weights: Sequence[float]) -> None:
        self._k1, self._b = k1, b
        self._weights = weights
        self._segments: list[Segment] = []
        self._slot: dict[str, int] = {}
        self._ids: list[str] = []
        self._lengths: Ints = np.zeros((0, len(weights)), np.int64)
        self._live: NDArray[np.bool_] = np.zeros(0, bool)
        self._norms: Floats | None = None
        self._all_shares: list[Floats] | None = None
        self._asked = 0  # queries since the last change

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, document: str) -> bool:
        return document in self._slot

    @property
    def nbytes(self) -> int:
        arrays = [array for segment in self._segments for array in (segment.terms, segment.slots, segment.frequencies)]
        return sum(array.nbytes for array in [*arrays, self._lengths, self._live])

    def remove(self, ids: Iterable[str]) -> None:
        """Forget documents; ids that are not there are passed over."""
        gone = [slot for slot in (self._slot.pop(document, None) for document in ids) if slot is not None]
        # Postings are sorted by term, so those of one document lie everywhere: they are passed over until a merge drops them.
        self._live[gone] = False
        self._changed()

    def _changed(self) -> None:
        self._norms = self._all_shares = None
        self._asked = 0

    def add(self, ids: Sequence[str], fields: Sequence[tuple[Counts, Ints]]) -> None:
        """Take in new documents. Each field is counted texts, and the document (its position in ``ids``) of each text."""
        first = len(self._ids)
        self._ids += ids
        self._slot.update(zip(ids, range(first, len(self._ids)), strict=True))
        self._live = np.concatenate((self._live, np.ones(len(ids), bool)))
        # bincount adds in float64, which is exact for whole numbers up to 2**53.
        lengths = [np.bincount(owner, counts.lengths, len(ids)).astype(np.int64) for counts, owner in fields]
        self._lengths = np.concatenate((self._lengths, np.stack(lengths, axis=1)))
        self._segments.append(self._segment(first, fields))
        self._merge()
        self._changed()

    def _segment(self, first: int, fields: Sequence[tuple[Counts, Ints]]) -> Segment:
        """A document may hold a term in several of its texts: one posting is made of those."""
        # A field of weight 0 would make postings of frequency 0, which count as holding the term.
        used = [(field, weight) for field, weight in zip(fields, self._weights, strict=True) if weight]
        slots = [np.repeat(first + owner, np.diff(counts.starts)).astype(np.intp) for (counts, owner), _ in used]
        frequencies = [counts.counts * float(weight) for (counts, _), weight in used]
        terms = np.concatenate([counts.terms for (counts, _), _ in used])
        apart = Segment(terms, np.concatenate(slots), np.concatenate(frequencies)).where(_order(terms, np.concatenate(slots)))
        return _joined(apart)

    def _merge(self) -> None:
        """Segments grow geometrically towards the oldest one; what is gone is left behind on the way."""
        while len(self._segments) > 1 and len(self._segments[-2]) <= MERGED_AT * len(self._segments[-1]):
            older, newer = (segment.where(self._live[segment.slots]) for segment in (self._segments[-2], self._segments[-1]))
            both = older.followed_by(newer)
            self._segments[-2:] = [both.where(np.argsort(both.terms, kind="stable"))]  # two runs are merged, not sorted
        if len(self._ids) > 2 * len(self._slot) + SLACK:
            self._renumber()

    def _renumber(self) -> None:
        """Give the slots of documents that are gone to others."""
        # The order of slots stays, so every segment stays sorted by term, then slot.
        numbers = np.cumsum(self._live, dtype=np.intp) - 1
        kept = (segment.where(self._live[segment.slots]) for segment in self._segments)
        self._segments = [Segment(segment.terms, numbers[segment.slots], segment.frequencies) for segment in kept]
        self._ids = [self._ids[slot] for slot in np.flatnonzero(self._live)]
        self._slot = {document: slot for slot, document in enumerate(self._ids)}
        self._lengths = self._lengths[self._live]
        self._live = np.ones(len(self._ids), bool)

    def rank(self, query: Mapping[int, int], k: int) -> list[tuple[str, float]]:
        """The ``k`` best documents that hold any term of the query, equal scores in the order of their ids."""
        self._asked += 1
        terms = np.fromiter(query, np.int32, len(query))  # of the type of the column, which would otherwise be copied
        found = [self._found(place, terms) for place in range(len(self._segments))]
        holding = [sum(sizes) for sizes in zip(*(sizes for _, _, sizes in found), strict=True)]
        # Without any segment there is nothing to zip, and nothing to weigh.
        weights = [times * (self._k1 + 1) * self._idf(count) for times, count in zip(query.values(), holding, strict=False)]
        scores = np.zeros(len(self._ids))
        for slots, shares, sizes in found:
            # A document lies in one segment, and its terms are added up in the order of the query: always the same sum.
            scores += np.bincount(slots, shares * np.repeat(weights, sizes), len(scores))
        return self._best(scores, k)

    def idf(self, terms: Sequence[int]) -> list[float]:
        """What each term is worth in the present state."""
        asked = np.array(terms, np.int32)
        sizes = [self._holding(segment, asked) for segment in self._segments]
        return [self._idf(sum(counts)) for counts in zip(*sizes, strict=True)] if sizes else [self._idf(0)] * len(terms)

    def _holding(self, segment: Segment, terms: NDArray[np.int32]) -> list[int]:
        starts, ends = np.searchsorted(segment.terms, terms, "left"), np.searchsorted(segment.terms, terms, "right")
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [int(np.count_nonzero(self._live[segment.slots[start:end]])) for start, end in pairs]

    def _idf(self, holding: int) -> float:
        return math.log(1 + (len(self) - holding + 0.5) / (holding + 0.5))

    @property
    def mean_length(self) -> float:
        """The mean length of a document, each field counted by its weight; 1 if there is nothing."""
        sums = self._lengths[self._live].sum(axis=0).tolist()
        return math.fsum(weight * total for weight, total in zip(self._weights, sums, strict=True)) / max(len(self), 1) or 1.0

    def _found(self, place: int, terms: NDArray[np.int32]) -> tuple[NDArray[np.intp], Floats, list[int]]:
        """The live postings of the terms in a segment: slots, saturated frequencies, and how many each term has."""
        segment = self._segments[place]
        starts = np.searchsorted(segment.terms, terms, "left").tolist()
        ends = np.searchsorted(segment.terms, terms, "right").tolist()
        slices = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
        slots = _taken(segment.slots, slices)
        if self._asked >= ASKED_OFTEN:
            shares = _taken(self._shares()[place], slices)
        else:
            shares = self._saturated(_taken(segment.frequencies, slices), slots)
        sizes = [end - start for start, end in zip(starts, ends, strict=True)]
        if len(self._slot) == len(self._ids):  # nothing is gone, so nothing has to be sorted out
            return slots, shares, sizes
        live = self._live[slots]
        kept = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[live], minlength=len(sizes)).tolist()
        return slots[live], shares[live], kept

    def _saturated(self, frequencies: Floats, slots: NDArray[np.intp]) -> Floats:
        return frequencies / (frequencies + self._normalisation()[slots])

    def _shares(self) -> list[Floats]:
        """The saturated frequencies of all postings: worth it where one state is asked many times."""
        if self._all_shares is None:
            self._all_shares = [self._saturated(segment.frequencies, segment.slots) for segment in self._segments]
        return self._all_shares

    def _normalisation(self) -> Floats:
        """k1 * (1 - b + b * dl / avgdl) of every slot, from whole numbers, so that it does not depend on what was before."""
        if self._norms is None:
            # Field by field in a fixed order: a matrix product may add in another one, and so round otherwise.
            lengths = np.zeros(len(self._ids))
            for field, weight in enumerate(self._weights):
                lengths += weight * self._lengths[:, field]
            self._norms = self._k1 * (1 - self._b + self._b * (lengths / self.mean_length))
        return self._norms

    def _best(self, scores: Floats, k: int) -> list[tuple[str, float]]:
        """Everything that is as good as the last one wanted takes part in the sorting, so that ties do not depend on slots.

        A score that the best ones of k blocks reach is reached by k documents: that spares a look at most of them.
        """
        size = max(len(scores) // (BLOCKS * max(k, 1)), 1)
        blocks = len(scores) // size
        maxima = scores[: blocks * size].reshape(blocks, size).max(axis=1) if blocks else scores
        # Zero means that fewer than k blocks have a hit: then every document with a score takes part, and no other.
        least = np.partition(maxima, blocks - k)[blocks - k] if 0 < k < blocks else 0.0
        places = np.flatnonzero(scores >= least if least > 0 else scores)
        found = sorted((-score, self._ids[place]) for place, score in zip(places.tolist(), scores[places].tolist(), strict=True))
        return [(document, -score) for score, document in found[:k]]


def _taken(column: NDArray[Kind], slices: list[slice]) -> NDArray[Kind]:
    return np.concatenate([column[:0], *(column[piece] for piece in slices)])


def _order(terms: NDArray[np.int32], slots: NDArray[np.intp]) -> Ints:
    """The order by term, then slot; two stable passes over halves are twice as fast as one over the whole."""
    # numpy sorts 16 bits by radix, in linear time, and wider numbers by comparing. Slots come in a few sorted runs.
    order = np.argsort(slots, kind="stable")
    for half in ((terms & 0xFFFF), terms >> 16):
        order = order[np.argsort(half.astype(np.uint16)[order], kind="stable")]
    return order


def _joined(postings: Segment) -> Segment:
    """Add up neighbours with the same term and slot."""
    same = (np.diff(postings.terms, prepend=-1) == 0) & (np.diff(postings.slots, prepend=-1) == 0)
    firsts = np.flatnonzero(~same)
    if not len(firsts):
        return postings
    return Segment(postings.terms[firsts], postings.slots[firsts], np.add.reduceat(postings.frequencies, firsts))
