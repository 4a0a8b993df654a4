"""Drift: what moved away from where it was, and what may have moved it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """One number of a run that is further from what it was than allowed.

    ``quantity`` is what moved, such as ``nDCG@10`` or ``latency warm p95``; ``change`` is relative, None where what it was is 0.
    ``runs`` are the entries of the archive that ``before`` is the median of; ``cause`` is what else differs, None if nothing
    is known to.
    """

    run: str
    quantity: str
    before: float
    now: float
    change: float | None
    runs: tuple[str, ...]
    cause: str | None
    sentence: str
