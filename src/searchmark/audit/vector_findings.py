"""Findings on stored vectors: what is odd about them, how many they are, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.findings import Finding, finding
from searchmark.records import Run, VectorStatistics

LENGTH_ONE = 1e-3  # how far from one a length may be that was rounded to half precision
ROUNDING = 1e-3  # of the mean: deviations of lengths that are no difference
_BY_LENGTH = ("ip", "l2", "inner product")  # distances that a vector's length decides on


def vector_findings(run: Run) -> Iterator[Finding]:
    """What must be known of the vectors of a run."""
    agent = run.provenance.agent
    distance = None if agent is None else agent.description.get("distance")
    for each in run.provenance.vectors:
        yield from _odd_ones(each)
        yield from _lengths(each, by_length=distance in _BY_LENGTH)


def _odd_ones(found: VectorStatistics) -> Iterator[Finding]:
    odd = (
        ("vectors-not-finite", found.not_finite, "hold a NaN or an infinity"),
        ("vectors-of-other-dimension", found.wrong_dimension, f"have another dimension than {found.dimension}"),
        ("zero-vectors", found.zero, "are all zeros"),
        ("duplicate-vectors", found.duplicates, "have the same numbers as an earlier one"),
    )
    for code, count, what in odd:
        if count:
            yield finding(code, f"{count:,} of {_vectors(found)} {what}")


def _lengths(found: VectorStatistics, *, by_length: bool) -> Iterator[Finding]:
    least = found.norm_min_nonzero if found.zero else found.norm_min  # zeros have a note of their own, and no scale helps them
    if found.norm_mean is None or found.norm_min is None or found.norm_max is None or least is None:
        return
    written = f"{found.norm_min:.4g} to {found.norm_max:.4g}, mean {found.norm_mean:.4g}"
    vectors = _vectors(found)
    are_one = vectors if not found.zero else f"{found.finite - found.zero:,} of {vectors}"
    is_one = max(abs(least - 1), abs(found.norm_max - 1)) <= LENGTH_ONE
    differ = found.norm_max - least > ROUNDING * found.norm_mean
    if found.normalized and not is_one:
        yield finding("unnormalised-vectors", f"{vectors} were to have length one, and have {written}")
    elif not found.normalized and not is_one and differ and by_length:
        yield finding("unnormalised-vectors", f"{vectors} have lengths of {written}, and the distance goes by length")
    elif found.normalized is False and is_one:
        yield finding("normalised-already", f"{are_one} have length one though normalize is false")
    if found.unit_before and found.unit_before >= found.seen - found.zero:
        yield finding("double-normalised", f"{are_one} had length one already and were normalised again, which changed nothing")


def _vectors(found: VectorStatistics) -> str:
    """Those that were looked at, and of how many."""
    looked_at = f"{found.seen:,} vectors{_of_arm(found)}"
    return looked_at if found.looked_at is None else f"{looked_at} that were looked at, of {found.count:,},"


def _of_arm(found: VectorStatistics) -> str:
    return "" if found.arm is None else f" of {found.arm}"
