"""Postings by term in packed segments, and the BM25 formula over a set of documents that changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from searchmark.agents.lexical.analyser import IDENTIFIER_TOKENISER, Tokeniser, raw_words
from searchmark.records.columns import distinct, rows_from

# From texts to numbers: which terms occur how often in each of many texts, in arrays.

Ints = NDArray[np.int64]

IntegerType = TypeVar("IntegerType", bound=np.integer[Any])


@dataclass(frozen=True, eq=False)
class TermCounts:
    """How often each term occurs in each text: those of text ``i`` are the rows ``starts[i]`` to ``starts[i + 1]``."""

    starts: Ints
    terms: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: Ints  # of each text, in tokens

    def __len__(self) -> int:
        return len(self.lengths)

    def at(self, rows: Ints) -> TermCounts:
        """The counts of some of the texts, one after the other."""
        sizes = self.starts[rows + 1] - self.starts[rows]
        places = rows_from(self.starts[rows], sizes)[0]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return TermCounts(ends, self.terms[places], self.counts[places], self.lengths[rows])

    @classmethod
    def of_tokens(cls, terms: NDArray[np.int32], lengths: Ints) -> TermCounts:
        """Count the terms of texts that follow each other."""
        ends = np.concatenate(([0], np.cumsum(lengths)))
        terms = terms.copy()
        for start, end in pairwise(ends.tolist()):  # many short sorts take a quarter of the time of a long one
            terms[start:end].sort()
        new = np.diff(terms, prepend=-1) != 0
        new[ends[:-1][lengths > 0]] = True  # a text may begin with the term that the one before it ended with
        firsts = np.flatnonzero(new)
        counts = np.diff(firsts, append=len(terms)).astype(np.int32)
        return cls(np.searchsorted(firsts, ends), terms[firsts], counts, lengths)


class Vocabulary:
    """Numbers for terms, given when a term is first seen. Every distinct word is taken apart once."""

    def __init__(self, tokeniser: Tokeniser = IDENTIFIER_TOKENISER) -> None:
        self.tokeniser = tokeniser
        self.numbers: dict[str, int] = {}
        # A raw word ("getHTTPResponse") gets a number, and its terms ("get", "http", ...) lie in one array from
        # _starts[number] on: so a text that repeats a word costs a look-up and no cutting.
        self._words = _WordIds(self)
        self._starts = GrowingArray(np.int64)
        self._terms = GrowingArray(np.int32)
        self._starts.extend([0])

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, term: str) -> int:
        """The number of a term, a new one if need be."""
        return self.numbers.setdefault(term, len(self.numbers))

    def query(self, text: str) -> dict[int, int]:
        """The known terms of a query, in order, and how often each is asked for."""
        counts: dict[int, int] = {}
        for token in self.tokeniser.tokens(text):
            number = self.numbers.get(token)
            if number is not None:
                counts[number] = counts.get(number, 0) + 1
        return counts

    def count(self, texts: Iterable[str]) -> TermCounts:
        """Count the terms of each text."""
        words = list(map(raw_words, texts))
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        # __getitem__ and not get: a word that is missing is numbered on the way, without a line of Python per known word.
        numbers = np.fromiter(map(self._words.__getitem__, chain.from_iterable(words)), np.int64, int(sizes.sum()))
        self._learn()
        starts = self._starts.values
        lengths = (starts[1:] - starts[:-1])[numbers]
        # Tokens before each word, and words before each text: together, the tokens before each text.
        before = np.concatenate(([0], np.cumsum(lengths)))
        ends = np.concatenate(([0], np.cumsum(sizes)))
        return TermCounts.of_tokens(self._terms.values[rows_from(starts[:-1][numbers], lengths)[0]], np.diff(before[ends]))

    def _learn(self) -> None:
        """Move what new words consist of into the arrays."""
        new = self._words.new
        if new:
            self._terms.extend(list(chain.from_iterable(new)))
            self._starts.extend(self._starts.values[-1] + np.cumsum(list(map(len, new))))
            new.clear()


class _WordIds(dict[bytes, int]):
    """Raw words and their numbers; one that is missing is taken apart and remembered."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.new: list[list[int]] = []
        self._number = vocabulary.number
        self._pieces = vocabulary.tokeniser.pieces

    def __missing__(self, word: bytes) -> int:
        self.new.append(list(map(self._number, self._pieces(word))))
        number = self[word] = len(self)
        return number


class GrowingArray(Generic[IntegerType]):
    """An array that grows at its end, in constant time per value."""

    def __init__(self, kind: type[IntegerType]) -> None:
        self._room: NDArray[IntegerType] = np.empty(1024, kind)
        self._size = 0

    @property
    def values(self) -> NDArray[IntegerType]:
        return self._room[: self._size]

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        size = self._size + len(values)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = values
        self._size = size


# Postings by term, in columns that waste no byte: how they are sorted, packed, and merged with others.
#
# A million documents have fifty million postings. They are sorted a part at a time, and parts are merged by copying.

Floats = NDArray[np.float64]

POSTINGS_PER_PART = 1 << 20  # postings that are copied at once: bounds what that takes beside its result

LARGE_SEGMENT = 1 << 23  # postings of a segment that is kept until the last one of many is there

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings by term: those of ``terms[i]`` are the rows ``starts[i]`` to ``starts[i + 1]``, in the order of their slots.

    A million documents have fifty million postings, so every byte of one counts: slots have half the width that arrays are indexed
    by, and frequencies the narrowest type that holds all of them exactly. What a query takes is widened as it is copied.
    """

    terms: NDArray[np.int32]  # distinct, ascending
    starts: Ints
    slots: NDArray[np.int32]
    frequencies: NDArray[Any]

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.terms, self.starts, self.slots, self.frequencies))

    def slices(self, terms: NDArray[np.int32]) -> list[slice]:
        """The rows of each term; none of one that is not here."""
        first, last = (self.starts[np.searchsorted(self.terms, terms, side)].tolist() for side in _SIDES)
        return [slice(start, end) for start, end in zip(first, last, strict=True)]

    def where(self, mask: NDArray[np.bool_]) -> Segment:
        """The postings that are marked."""
        if mask.all():
            return self
        sizes = np.diff(np.concatenate(([0], np.cumsum(mask)))[self.starts])
        has_rows = sizes > 0
        return Segment(self.terms[has_rows], _starts_of_sizes(sizes[has_rows]), self.slots[mask], self.frequencies[mask])


def build_segment(terms: NDArray[np.int32], slots: Ints, frequencies: Floats) -> Segment:
    """Postings in any order as a segment; those with the same term and slot are added up."""
    order = _posting_order(terms, slots)
    terms, slots, frequencies = terms[order], slots[order], frequencies[order]
    same_term = np.diff(terms, prepend=-1) == 0
    firsts = np.flatnonzero(~(same_term & (np.diff(slots, prepend=-1) == 0)))
    sums = np.add.reduceat(frequencies, firsts) if len(firsts) else frequencies
    begins = np.flatnonzero(~same_term[firsts])
    starts = np.append(begins, len(firsts))
    return Segment(terms[firsts[begins]], starts, slots[firsts].astype(np.int32), _narrow_dtype(sums))


def merge_small_segments(segments: Iterable[Segment]) -> list[Segment]:
    """The same postings in few large segments: only large pieces of memory go back to the system when they are let go."""
    large: list[Segment] = []
    small: list[Segment] = []
    for segment in segments:
        small.append(segment)
        if sum(map(len, small)) >= LARGE_SEGMENT:
            large.append(merge_segments(small))
    return [*large, *small]


def merge_segments(segments: list[Segment]) -> Segment:
    """One segment of several; the slots of each lie above those of the one before. Takes the segments out of the list."""
    if len(segments) == 1:
        return segments.pop()
    # Every posting is copied to where it belongs, so nothing is sorted but the terms.
    terms = distinct(np.concatenate([segment.terms for segment in segments]))
    sizes = np.zeros(len(terms), np.int64)
    for segment in segments:
        sizes[np.searchsorted(terms, segment.terms)] += np.diff(segment.starts)
    starts = _starts_of_sizes(sizes)
    slots = np.empty(int(starts[-1]), np.int32)
    frequencies = np.empty(len(slots), np.result_type(*(segment.frequencies for segment in segments)))
    free = starts[:-1].copy()
    while segments:
        segment = segments.pop(0)  # so that it can go as soon as it was copied
        places, own = np.searchsorted(terms, segment.terms), np.diff(segment.starts)
        for first, last in pairwise(_split_points(segment.starts)):
            rows = rows_from(free[places[first:last]], own[first:last])[0]
            piece = slice(segment.starts[first], segment.starts[last])
            slots[rows], frequencies[rows] = segment.slots[piece], segment.frequencies[piece]
        free[places] += own
    return Segment(terms, starts, slots, frequencies)


def _narrow_dtype(frequencies: Floats) -> NDArray[Any]:
    """The same numbers in the narrowest type that holds all of them exactly: mostly a byte, since most are small and whole."""
    for kind in (np.uint8, np.uint16, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):  # what does not fit becomes something else, and is found by that
            narrow = frequencies.astype(kind)
        if np.array_equal(narrow, frequencies):
            return narrow
    return frequencies


def _posting_order(terms: NDArray[np.int32], slots: Ints) -> Ints:
    """The order by term, then slot; two stable passes over halves are twice as fast as one over the whole."""
    # numpy sorts 16 bits by radix, in linear time, and wider numbers by comparing. Slots come in a few sorted runs.
    order = np.argsort(slots, kind="stable")
    for half in ((terms & 0xFFFF), terms >> 16):
        order = order[np.argsort(half.astype(np.uint16)[order], kind="stable")]
    return order


def _split_points(starts: Ints) -> list[int]:
    """Terms between which there are so many postings that a look at them all at once would take much memory."""
    inner: list[int] = np.searchsorted(starts, np.arange(POSTINGS_PER_PART, starts[-1], POSTINGS_PER_PART)).tolist()
    return [0, *inner, len(starts) - 1]


def _starts_of_sizes(sizes: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes)))


# BM25 over a set of documents that changes: an answer sees the statistics of the present state and nothing else.
#
# Postings lie in segments, each sorted by term. New documents make a new segment, documents that are gone are only
# marked, and segments of similar size are merged, so that a step costs what has changed. How many documents hold a term
# is counted among those that are there when somebody asks, so there is no number that could drift away from the truth.
#
# The score of a document d for a query, each distinct term t weighted by how often the query holds it:
#
#     sum over t of   ln(1 + (N - df + 0.5) / (df + 0.5))  *  tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl))
#
# with N documents, df of them holding t; tf is how often d holds t, dl the length of d in tokens and avgdl the mean of
# that, all three with each field counted by its weight. That is the probabilistic model of Robertson and Sparck Jones with
# the saturation and length normalisation of Okapi BM25, the idf that Lucene uses (it is never negative), and fields
# combined before saturation (Robertson, Zaragoza, Taylor 2004).

Field = tuple[TermCounts, Ints]  # counted texts, and the document of each (its position among those that it comes with)

ScalarType = TypeVar("ScalarType", bound=np.generic)

SEGMENTS_BEFORE_MERGE = 3  # a segment is merged with its older neighbour unless that is so many times larger

FREQUENT_TERM_QUERIES = 16  # queries to one state after which it pays to prepare it for more

FREQUENCY_BLOCKS = 4  # for every document that is wanted, in the search for the best

SLOT_SLACK = 1000  # slots of documents that are gone, beyond as many as there are documents, before they are given to others


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
        self._queries = 0  # queries since the last change

    def __len__(self) -> int:
        return self._count

    def __contains__(self, document: str) -> bool:
        return document in self._slots()

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self._segments) + self._lengths.nbytes + self._live.nbytes

    def remove(self, ids: Iterable[str]) -> None:
        """Forget documents; ids that are not there are passed over."""
        slot_of = self._slots()
        slots = [slot for slot in (slot_of.pop(document, None) for document in ids) if slot is not None]
        # Postings are sorted by term, so those of one document lie everywhere: they are passed over until a merge drops them.
        self._live[slots] = False
        self._count -= len(slots)
        self._invalidate()

    def _invalidate(self) -> None:
        self._norms = self._all_shares = None
        self._queries = 0

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

        new = merge_small_segments(segments())
        if not new:
            return
        self._take(ids)
        self._lengths = np.concatenate(lengths)
        self._segments.append(merge_segments(new))
        self._merge()
        self._invalidate()

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
        weighted_fields = [(field, weight) for field, weight in zip(fields, self._weights, strict=True) if weight]
        slots = np.concatenate([np.repeat(first + owner, np.diff(counts.starts)) for (counts, owner), _ in weighted_fields])
        frequencies = np.concatenate([counts.counts * float(weight) for (counts, _), weight in weighted_fields])
        terms = np.concatenate([counts.terms for (counts, _), _ in weighted_fields])
        return build_segment(terms, slots, frequencies)

    def _merge(self) -> None:
        """Segments grow geometrically towards the oldest one; what is gone is left behind on the way."""
        while len(self._segments) > 1 and len(self._segments[-2]) <= SEGMENTS_BEFORE_MERGE * len(self._segments[-1]):
            self._segments[-2:] = [merge_segments([segment.where(self._live[segment.slots]) for segment in self._segments[-2:]])]
        if len(self._ids) > 2 * self._count + SLOT_SLACK:
            self._renumber()

    def _renumber(self) -> None:
        """Give the slots of documents that are gone to others."""
        # The order of slots stays, so every segment stays sorted by term, then slot.
        numbers = np.cumsum(self._live, dtype=np.int32) - np.int32(1)
        segments = (segment.where(self._live[segment.slots]) for segment in self._segments)
        self._segments = [replace(segment, slots=numbers[segment.slots]) for segment in segments]
        self._ids = [self._ids[slot] for slot in np.flatnonzero(self._live)]
        self._slot = None
        self._lengths = self._lengths[self._live]
        self._live = np.ones(len(self._ids), bool)

    def rank(self, query: Mapping[int, int], k: int) -> list[tuple[str, float]]:
        """The ``k`` best documents that hold any term of the query, equal scores in the order of their ids."""
        self._queries += 1
        terms = np.fromiter(query, np.int32, len(query))  # of the type of the column, which would otherwise be copied
        matches = [self._matches(place, terms) for place in range(len(self._segments))]
        frequencies = [sum(sizes) for sizes in zip(*(sizes for _, _, sizes in matches), strict=True)]
        # Without any segment there is nothing to zip, and nothing to weigh.
        weights = [times * (self._k1 + 1) * self._idf(count) for times, count in zip(query.values(), frequencies, strict=False)]
        scores = np.zeros(len(self._ids))
        for slots, shares, sizes in matches:
            # A document lies in one segment, and its terms are added up in the order of the query: always the same sum.
            scores += np.bincount(slots, shares * np.repeat(weights, sizes), len(scores))
        return self._best(scores, k)

    def idf(self, terms: Sequence[int]) -> list[float]:
        """What each term is worth in the present state."""
        numbers = np.array(terms, np.int32)
        sizes = [self._document_frequencies(segment, numbers) for segment in self._segments]
        return [self._idf(sum(counts)) for counts in zip(*sizes, strict=True)] if sizes else [self._idf(0)] * len(terms)

    def _document_frequencies(self, segment: Segment, terms: NDArray[np.int32]) -> list[int]:
        return [int(np.count_nonzero(self._live[segment.slots[piece]])) for piece in segment.slices(terms)]

    def _idf(self, frequencies: int) -> float:
        return math.log(1 + (len(self) - frequencies + 0.5) / (frequencies + 0.5))

    @property
    def mean_length(self) -> float:
        """The mean length of a document, each field counted by its weight; 1 if there is nothing."""
        sums = self._lengths[self._live].sum(axis=0).tolist()
        return math.fsum(weight * total for weight, total in zip(self._weights, sums, strict=True)) / max(len(self), 1) or 1.0

    def _matches(self, place: int, terms: NDArray[np.int32]) -> tuple[NDArray[np.intp], Floats, list[int]]:
        """The live postings of the terms in a segment: slots, saturated frequencies, and how many each term has."""
        segment = self._segments[place]
        slices = segment.slices(terms)
        slots = _take_slices(segment.slots, slices, np.intp)  # the type that arrays are indexed by
        if self._queries >= FREQUENT_TERM_QUERIES:
            shares = _take_slices(self._shares()[place], slices, np.float64)
        else:
            shares = self._saturate(_take_slices(segment.frequencies, slices, np.float64), slots)
        sizes = [piece.stop - piece.start for piece in slices]
        if self._count == len(self._ids):  # nothing is gone, so nothing has to be sorted out
            return slots, shares, sizes
        is_live = self._live[slots]
        live_sizes = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[is_live], minlength=len(sizes)).tolist()
        return slots[is_live], shares[is_live], live_sizes

    def _saturate(self, frequencies: NDArray[Any], slots: NDArray[np.integer]) -> Floats:
        saturation: Floats = frequencies / (frequencies + self._normalisation()[slots])
        return saturation

    def _shares(self) -> list[Floats]:
        """The saturated frequencies of all postings: worth it where one state is asked many times."""
        if self._all_shares is None:
            self._all_shares = [self._saturate_all(segment) for segment in self._segments]
        return self._all_shares

    def _saturate_all(self, segment: Segment) -> Floats:
        shares = np.empty(len(segment))
        for begin in range(0, len(segment), POSTINGS_PER_PART):
            piece = slice(begin, begin + POSTINGS_PER_PART)
            shares[piece] = self._saturate(segment.frequencies[piece], segment.slots[piece])
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
        size = max(len(scores) // (FREQUENCY_BLOCKS * max(k, 1)), 1)
        blocks = len(scores) // size
        maxima = scores[: blocks * size].reshape(blocks, size).max(axis=1) if blocks else scores
        # Zero means that fewer than k blocks have a hit: then every document with a score takes part, and no other.
        least = np.partition(maxima, blocks - k)[blocks - k] if 0 < k < blocks else 0.0
        places = np.flatnonzero(scores >= least if least > 0 else scores)
        matches = sorted((-score, self._ids[place]) for place, score in zip(places.tolist(), scores[places].tolist(), strict=True))
        return [(document, -score) for score, document in matches[:k]]


def _take_slices(column: NDArray[Any], slices: list[slice], kind: type[ScalarType]) -> NDArray[ScalarType]:
    return np.concatenate([column[:0], *(column[piece] for piece in slices)], dtype=kind)
