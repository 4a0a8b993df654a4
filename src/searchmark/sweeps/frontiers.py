"""Which settings no other one beats in both what it finds and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping

Point = tuple[float, float]


def beaten_by_none(points: Mapping[str, tuple[float | None, float | None]]) -> dict[str, bool]:
    """For all that have both numbers, more of the first and less of the second being better; equal ones share the frontier."""
    known = {name: (good, slow) for name, (good, slow) in points.items() if good is not None and slow is not None}
    return {name: not any(_beats(other, point) for other in known.values()) for name, point in known.items()}


def _beats(one: Point, other: Point) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one != other
