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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.segments import AT_ONCE, Floats, Segment, gathered, merged, sorted_segment
from searchmark.agents.lexical.vocabulary import Counts, Ints

Field = tuple[Counts, Ints]  # counted texts, and the document of each (its position among those that it comes with)
Kind = TypeVar("Kind", bound=np.generic)
MERGED_AT = 3  # a segment is merged with its older neighbour unless that is so many times larger
ASKED_OFTEN = 16  # queries to one state after which it pays to prepare it for more
BLOCKS = 4  # for every document that is wanted, in the search for the best
SLACK = 1000  # slots of documents that are gone, beyond as many as there are documents, before they are given to others


class Postings:
    """Documents by the terms that they hold. ``weights`` says how much an occurrence in each field counts."""

    def __init__(self, k1: float, b: float, weights: Sequence[float]) -> None:
        self._k1, self._b = k1, b
        self._weights = weights
        self._segments: list[Segment] = []
        self._slot: dict[str, int] | None = None
        self._count = 0
        self._ids: list[str] = []
        self._lengths: Ints = np.zeros((0, len(weights)), np.int64)
        self._live: NDArray[np.bool_] = np.zeros(0, bool)
        self._norms: Floats | None = None
        self._all_shares: list[Floats] | None = None
        self._asked = 0  # queries since the last change

    def __len__(self) -> int:
        return self._count

    def __contains__(self, document: str) -> bool:
        return document in self._slots()

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self._segments) + self._lengths.nbytes + self._live.nbytes

    def remove(self, ids: Iterable[str]) -> None:
        """Forget documents; ids that are not there are passed over."""
        slots = self._slots()
        gone = [slot for slot in (slots.pop(document, None) for document in ids) if slot is not None]
        # Postings are sorted by term, so those of one document lie everywhere: they are passed over until a merge drops them.
        self._live[gone] = False
        self._count -= len(gone)
        self._changed()

    def _changed(self) -> None:
        self._norms = self._all_shares = None
        self._asked = 0

    def add(self, ids: Sequence[str], fields: Sequence[Field]) -> None:
        """Take in new documents, counted field by field."""
        self.add_parts([(ids, fields)])

    def add_parts(self, parts: Iterable[tuple[Sequence[str], Sequence[Field]]]) -> None:
        """Take in new documents a part at a time: what it takes to sort them is that of one part, and of all only the result."""
        first = len(self._ids)
        ids: list[str] = []
        lengths = [self._lengths]

        def segments() -> Iterator[Segment]:
            for own, fields in parts:
                yield self._segment(first + len(ids), fields)
                # bincount adds in float64, which is exact for whole numbers up to 2**53.
                columns = [np.bincount(owner, counts.lengths, len(own)).astype(np.int64) for counts, owner in fields]
                lengths.append(np.stack(columns, axis=1))
                ids.extend(own)

        new = gathered(segments())
        if not new:
            return
        self._take(ids)
        self._lengths = np.concatenate(lengths)
        self._segments.append(merged(new))
        self._merge()
        self._changed()

    def _take(self, ids: Sequence[str]) -> None:
        """Give slots to new documents."""
        if self._slot is not None:
            self._slot.update(zip(ids, range(len(self._ids), len(self._ids) + len(ids)), strict=True))
        self._ids += ids
        self._live = np.concatenate((self._live, np.ones(len(ids), bool)))
        self._count += len(ids)

    def _slots(self) -> dict[str, int]:
        """The slot of every document: looked up only where documents go, and a corpus of a million seldom loses any."""
        if self._slot is None:
            self._slot = {self._ids[slot]: slot for slot in np.flatnonzero(self._live).tolist()}
        return self._slot

    def _segment(self, first: int, fields: Sequence[Field]) -> Segment:
        """A document may hold a term in several of its texts: one posting is made of those."""
        # A field of weight 0 would make postings of frequency 0, which count as holding the term.
        used = [(field, weight) for field, weight in zip(fields, self._weights, strict=True) if weight]
        slots = np.concatenate([np.repeat(first + owner, np.diff(counts.starts)) for (counts, owner), _ in used])
        frequencies = np.concatenate([counts.counts * float(weight) for (counts, _), weight in used])
        terms = np.concatenate([counts.terms for (counts, _), _ in used])
        return sorted_segment(terms, slots, frequencies)

    def _merge(self) -> None:
        """Segments grow geometrically towards the oldest one; what is gone is left behind on the way."""
        while len(self._segments) > 1 and len(self._segments[-2]) <= MERGED_AT * len(self._segments[-1]):
            self._segments[-2:] = [merged([segment.where(self._live[segment.slots]) for segment in self._segments[-2:]])]
        if len(self._ids) > 2 * self._count + SLACK:
            self._renumber()

    def _renumber(self) -> None:
        """Give the slots of documents that are gone to others."""
        # The order of slots stays, so every segment stays sorted by term, then slot.
        numbers = np.cumsum(self._live, dtype=np.int32) - np.int32(1)
        kept = (segment.where(self._live[segment.slots]) for segment in self._segments)
        self._segments = [replace(segment, slots=numbers[segment.slots]) for segment in kept]
        self._ids = [self._ids[slot] for slot in np.flatnonzero(self._live)]
        self._slot = None
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
        return [int(np.count_nonzero(self._live[segment.slots[piece]])) for piece in segment.slices(terms)]

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
        slices = segment.slices(terms)
        slots = _taken(segment.slots, slices, np.intp)  # the type that arrays are indexed by
        if self._asked >= ASKED_OFTEN:
            shares = _taken(self._shares()[place], slices, np.float64)
        else:
            shares = self._saturated(_taken(segment.frequencies, slices, np.float64), slots)
        sizes = [piece.stop - piece.start for piece in slices]
        if self._count == len(self._ids):  # nothing is gone, so nothing has to be sorted out
            return slots, shares, sizes
        live = self._live[slots]
        kept = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[live], minlength=len(sizes)).tolist()
        return slots[live], shares[live], kept

    def _saturated(self, frequencies: NDArray[Any], slots: NDArray[np.integer]) -> Floats:
        saturated: Floats = frequencies / (frequencies + self._normalisation()[slots])
        return saturated

    def _shares(self) -> list[Floats]:
        """The saturated frequencies of all postings: worth it where one state is asked many times."""
        if self._all_shares is None:
            self._all_shares = [self._all_saturated(segment) for segment in self._segments]
        return self._all_shares

    def _all_saturated(self, segment: Segment) -> Floats:
        shares = np.empty(len(segment))
        for begin in range(0, len(segment), AT_ONCE):
            piece = slice(begin, begin + AT_ONCE)
            shares[piece] = self._saturated(segment.frequencies[piece], segment.slots[piece])
        return shares

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


def _taken(column: NDArray[Any], slices: list[slice], kind: type[Kind]) -> NDArray[Kind]:
    return np.concatenate([column[:0], *(column[piece] for piece in slices)], dtype=kind)
