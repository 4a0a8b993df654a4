"""What to do next, each piece of advice grounded in cases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recommendation:
    """One piece of advice: what was seen, what to do about it, and the cases that show it. ``run`` is None if it is about all."""

    code: str
    run: str | None
    seen: str
    advice: str
    cases: tuple[str, ...]
