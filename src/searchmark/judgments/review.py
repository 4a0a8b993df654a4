"""A sample of pairs for people, without the rule's grades, and what they wrote back.

The sample is stratified: as many pairs of every grade, and of grade 0 as many near misses (an item with a word of the query in its
title or text) as others. Which pairs were drawn is known from the file, and how many there are of each kind from the catalogue, so
no grade of the rule has to be in the file. A digest tells whether the kinds are still those that the sample was drawn from.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.errors import FormatError, shortened
from searchmark.labelling.agreement import Stratum
from searchmark.labelling.label import GRADES, Labels, Pair
from searchmark.labelling.review_cells import same_text
from searchmark.labelling.review_file import CHOSEN, ReviewRow, graded_entries, is_chosen, rows_text
from searchmark.labelling.words import words
from searchmark.suites.source import Entry, as_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAR_MISS = "0, near miss"


@dataclass(frozen=True, eq=False)
class Strata:
    """All pairs of a catalogue, by kind."""

    labels: Labels

    @cached_property
    def by_query(self) -> dict[str, dict[str, NDArray[np.int64]]]:
        """For every query the rows of the catalogue in each stratum."""
        return {query: dict(self._of(query)) for query in self.labels.queries}

    @cached_property
    def all(self) -> list[Stratum]:
        """The strata that hold pairs."""
        names = {str(grade): grade for grade in GRADES} | {NEAR_MISS: 0}
        sizes = {name: sum(len(rows[name]) for rows in self.by_query.values()) for name in names}
        return [Stratum(name, names[name], sizes[name]) for name in sorted(names) if sizes[name]]

    @cached_property
    def digest(self) -> str:
        """What tells apart two ways to sort all pairs into strata."""
        ids, whole = self.labels.catalogue.ids, hashlib.sha256()
        whole.update(repr(ids).encode("utf-8", "surrogatepass"))
        for query, rows in self.by_query.items():
            whole.update(repr((query, self.labels.queries[query].text)).encode("utf-8", "surrogatepass"))
            for name in sorted(rows):
                whole.update(name.encode() + rows[name].astype("<i8").tobytes())
        return whole.hexdigest()[:12]

    def find(self, pair: Pair) -> str:
        query, item = pair
        row = self.labels.catalogue.rows[item]
        return next(name for name, rows in self.by_query[query].items() if row in rows)

    def _of(self, query: str) -> Iterator[tuple[str, NDArray[np.int64]]]:
        import numpy as np

        graded, total = self.labels.all[query], len(self.labels.catalogue.items)
        grades = np.zeros(total, np.int64)
        grades[graded.rows] = np.array([verdict.grade for verdict in graded.verdicts], np.int64)[graded.verdict_of]
        near = np.zeros(total, bool)
        for word in words(self.labels.queries[query].text):
            near[self._holding.get(word, [])] = True
        yield from ((str(grade), np.flatnonzero(grades == grade)) for grade in GRADES[1:])
        yield "0", np.flatnonzero((grades == 0) & ~near)
        yield NEAR_MISS, np.flatnonzero((grades == 0) & near)

    @cached_property
    def _holding(self) -> dict[str, list[int]]:
        """For each word of the queries the items that hold it."""
        holding: dict[str, list[int]] = {word: [] for query in self.labels.queries.values() for word in words(query.text)}
        for row, item in enumerate(self.labels.catalogue.items):
            for word in holding.keys() & set(words(f"{item.title or ''}\n{item.text}")):
                holding[word].append(row)
        return holding


def draw(strata: Strata, count: int, seed: int) -> list[Pair]:
    """So many pairs, evenly from every stratum and in an order that tells nothing; all of a stratum that has no more."""
    chance = random.Random(f"review {seed}")  # noqa: S311  # a sample, no secret
    shares = _shares([stratum.size for stratum in strata.all], count)
    pairs = [pair for stratum, share in zip(strata.all, shares, strict=True) for pair in _drawn(strata, stratum, share, chance)]
    chance.shuffle(pairs)
    return pairs


def _shares(sizes: Sequence[int], count: int) -> list[int]:
    """An even share for each, and what small ones leave to the others, the rarest kind first."""
    shares = [0] * len(sizes)
    while sum(shares) < min(count, sum(sizes)):
        row = min((row for row, size in enumerate(sizes) if shares[row] < size), key=lambda row: (shares[row], sizes[row]))
        shares[row] += 1
    return shares


def _drawn(strata: Strata, stratum: Stratum, share: int, chance: random.Random) -> Iterator[Pair]:
    queries = list(strata.by_query)
    ends = list(accumulate(len(strata.by_query[query][stratum.name]) for query in queries))
    for number in chance.sample(range(stratum.size), share):
        at = bisect_right(ends, number)
        rows = strata.by_query[queries[at]][stratum.name]
        yield queries[at], strata.labels.catalogue.ids[rows[number - ends[at]]]


def review_text(strata: Strata, pairs: Iterable[Pair], path: Path) -> str:
    """The file for people: the query, all that the item says, and an empty grade."""
    return rows_text([_row(strata, pair) for pair in pairs], path)


def _row(strata: Strata, pair: Pair) -> ReviewRow:
    labels = strata.labels
    item = labels.catalogue.items[labels.catalogue.rows[pair[1]]]
    about = (pair[0], labels.queries[pair[0]].text, item.id, item.title or "", item.text, dict(item.fields))
    return ReviewRow(*about, drawn_from=strata.digest)


@dataclass(frozen=True)
class GradedReview:
    """The grades that people gave, and the digests of the strata that their pairs were drawn from.

    ``sampled`` are the pairs that were drawn at random: only those tell how far the rule agrees with people.
    """

    grades: Mapping[Pair, int]
    sampled: frozenset[Pair]
    drawn_from: frozenset[str]


def read_review(path: Path, labels: Labels) -> GradedReview:
    """The grades that people wrote; every pair of a sample needs one."""
    grades: dict[Pair, int] = {}
    drawn_from: dict[Pair, str] = {}
    for entry in graded_entries(path, is_chosen)[0]:
        pair = _pair(entry, labels)
        if pair in grades:
            raise FormatError(path, entry.place, f"item {pair[1]!r} is graded a second time for query {pair[0]!r}")
        grades[pair], drawn_from[pair] = _grade(entry), entry.maybe_text("drawn_from") or ""
    sampled = {pair: digest for pair, digest in drawn_from.items() if digest != CHOSEN}
    return GradedReview(grades, frozenset(sampled), frozenset(sampled.values()))


def _pair(entry: Entry, labels: Labels) -> Pair:
    query, item = entry.text("query_id"), entry.text("item_id")
    if query not in labels.queries:
        raise FormatError(entry.path, entry.place, f"there is no query {query!r}; name the queries that the review was drawn from")
    if item not in labels.catalogue.rows:
        raise FormatError(
            entry.path, entry.place, f"the catalogue has no item {item!r}; name the one that the review was drawn from"
        )
    text, known = entry.maybe_text("query"), labels.queries[query].text
    if text is not None and not same_text(text, known):
        raise FormatError(
            entry.path, entry.place, f"query {query!r} is {shortened(text, 80)!r} here and {shortened(known, 80)!r} in the queries"
        )
    return query, item


def _grade(entry: Entry) -> int:
    written = entry.first("grade")
    grade = as_whole(written)
    if grade not in GRADES:
        raise FormatError(entry.path, entry.place, f"grade {shortened(str(written), 40)!r} is none of 0, 1, 2, 3")
    return grade
