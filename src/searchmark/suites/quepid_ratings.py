"""Rated documents by query, and how Quepid makes one rating of several judges' (`RatingsManager` in its source)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from searchmark.errors import FormatError
from searchmark.records import Case, Judgment, Suite
from searchmark.records.shown import quoted
from searchmark.suites.checks import check_cases
from searchmark.suites.source import Entry, Source

TOP = 3


@dataclass
class Rated:
    """The rated documents of each query, and what was not rated."""

    judged: dict[str, dict[str, Judgment]] = field(default_factory=dict)
    fields: dict[str, dict[str, object]] = field(default_factory=dict)
    unrated: int = 0

    def add(self, entry: Entry, query: str, judgment: Judgment) -> None:
        judgments = self.judged.setdefault(query, {})
        if judgment.target in judgments:
            raise entry.error("document", f"{judgment.target!r} is rated a second time for query {quoted(query)}")
        judgments[judgment.target] = judgment

    def suite(self, source: Source, name: str, notes: Iterable[str] = ()) -> Suite:
        """All queries with a rating; others are counted."""
        cases = [
            Case(query, query, tuple(judgments.values()), fields=self.fields.get(query, {}))
            for query, judgments in self.judged.items()
            if judgments
        ]
        if not cases:
            raise FormatError(source.path, None, "holds no ratings")
        check_cases(source.path, cases)
        counts = {"hits_without_rating": self.unrated, "queries_without_judgments": len(self.judged) - len(cases)}
        dropped = {reason: count for reason, count in counts.items() if count}
        return Suite.from_cases(name, cases, dropped=dropped, notes=tuple(notes))


def combined_rating(ratings: Sequence[float], *, whole: bool) -> float:
    """The mean of one or two ratings, of more the lowest of the highest three; rounded where a book has whole ratings only."""
    best = sorted(ratings, reverse=True)[:TOP]
    rating = best[-1] if len(ratings) >= TOP else sum(best) / len(best)
    return float(_rounded(rating)) if whole else rating


def _rounded(number: float) -> int:
    """Halves go away from 0, as in Ruby."""
    return floor(number + 0.5) if number >= 0 else ceil(number - 0.5)


def several_judges(several: int) -> list[str]:
    """What is said of documents that more than one judge rated."""
    how = "the mean of two, of more the lowest of the highest three"
    return [f"ratings of several judges are combined as Quepid does it ({how}): {several}"] if several else []
