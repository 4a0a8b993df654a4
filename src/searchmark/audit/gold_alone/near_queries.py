"""Queries that are nearly the same, found by an inverted index over their rarest words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil

from searchmark.audit.gold_alone.repeated_queries import folded
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.records import Suite
from searchmark.records.shown import listed, quoted

# Two sets of words are near duplicates from this share of common words on (Jaccard). Queries of fewer words change their
# meaning with each of them.
NEAR, FEWEST_WORDS = 0.9, 4
EXAMPLES = 3
MOST_PAIRS = 2_000_000  # compared at most

_WORD = re.compile(r"\w+")


def near_duplicate_queries(subject: Subject) -> Iterator[Finding]:
    """Pairs of cases without a common origin whose queries have nearly the same words."""
    suite = subject.suite
    texts = {row: folded(query) for row, query in enumerate(suite.table.queries or ()) if query}
    words = {row: frozenset(_WORD.findall(text)) for row, text in texts.items()}
    rows = [row for row, own in words.items() if len(own) >= FEWEST_WORDS]
    looked_at, pairs = 0, list[tuple[int, int]]()
    for first, second in _candidates([(row, words[row]) for row in rows]):
        looked_at += 1
        if looked_at > MOST_PAIRS:
            break
        if _near(words[first], words[second]) and texts[first] != texts[second] and not _of_one_origin(suite, first, second):
            pairs.append((first, second))
    if pairs:
        yield _found(suite, pairs, partly=looked_at > MOST_PAIRS)


def _found(suite: Suite, pairs: Sequence[tuple[int, int]], *, partly: bool) -> Finding:
    queries, ids = suite.table.queries or (), suite.table.ids
    cases = sorted({row for pair in pairs for row in pair})
    shown = listed(
        [f"{quoted(queries[one] or '')} ({ids[one]}) and {quoted(queries[two] or '')} ({ids[two]})" for one, two in pairs], EXAMPLES
    )
    part = f" (the first {MOST_PAIRS:,} pairs with a rare word in common were compared)" if partly else ""
    message = f"{counted(len(pairs), 'pair')} of nearly equal queries, of {len(cases)} cases: {shown}{part}"
    return finding("near-duplicate-queries", message, (ids[row] for row in cases))


def _candidates(queries: Sequence[tuple[int, frozenset[str]]]) -> Iterator[tuple[int, int]]:
    """Every pair that can be near: such sets share one of the rarest words of each (prefix filter: Chaudhuri et al., 2006)."""
    frequency = Counter(word for _, words in queries for word in words)
    index: dict[str, list[tuple[int, int]]] = {}
    for row, words in sorted(queries, key=lambda each: (len(each[1]), each[0])):
        rarest = sorted(words, key=lambda word: (frequency[word], word))[: len(words) - ceil(NEAR * len(words)) + 1]
        # The index holds shorter queries only: those that are too short for this one cannot be near it.
        others = {other for word in rarest for other, size in index.get(word, ()) if size >= NEAR * len(words)}
        yield from ((min(row, other), max(row, other)) for other in sorted(others))
        for word in rarest:
            index.setdefault(word, []).append((row, len(words)))


def _near(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two queries share nearly all words; where they differ in a number they ask for different things."""
    numbers = any(any(letter.isdigit() for letter in word) for word in one ^ other)
    return not numbers and len(one & other) >= NEAR * len(one | other)


def _of_one_origin(suite: Suite, first: int, second: int) -> bool:
    origins = suite.table.origins
    return origins is not None and origins[first] is not None and origins[first] == origins[second]
