"""How Quepid makes one rating of several judges' (`RatingsManager` in its source)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

TOP = 3


def combined_rating(ratings: Sequence[float], *, whole: bool) -> float:
    """The mean of one or two ratings, of more the lowest of the highest three; rounded where a book has whole ratings only."""
    best = sorted(ratings, reverse=True)[:TOP]
    rating = best[-1] if len(ratings) >= TOP else sum(best) / len(best)
    return float(_rounded(rating)) if whole else rating


def _rounded(number: float) -> int:
    """Halves go away from 0, as in Ruby."""
    return floor(number + 0.5) if number >= 0 else ceil(number - 0.5)
