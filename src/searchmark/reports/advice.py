"""One piece of advice, grounded in cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

MOST_NAMED = 200


@dataclass(frozen=True)
class Recommendation:
    """What was seen, what to do about it, and the cases that show it. ``run`` is None if it is about all.

    ``cases`` are the first that show it, in the order of the suite, and ``count`` is how many there are.
    """

    code: str
    run: str | None
    seen: str
    advice: str
    cases: tuple[str, ...]
    count: int = 0


def recommendation(code: str, run: str | None, seen: str, advice: str, cases: Iterable[str], count: int) -> Recommendation:
    """Advice that names its first cases."""
    return Recommendation(code, run, seen, advice, tuple(islice(cases, MOST_NAMED)), count)


def percent(share: float) -> str:
    """A share in per cent, without digits behind the point."""
    return f"{100 * share:.0f} %"
