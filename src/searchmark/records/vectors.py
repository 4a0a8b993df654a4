"""What stored vectors are like: whoever compares runs sees here that a model, its normalisation or its data has changed."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge

from searchmark.options.strict import strict_record

Count = Annotated[int, Ge(0)]


@strict_record(slots=True)
class VectorStatistics:
    """One set of vectors: how many, how long they are, and what is odd about them.

    ``normalized``: whether they were meant to have length one; None where that is not known. ``unit_before``: how many had that
    length before they were normalised, so that it changed nothing; None where they were not, or it is not known. ``zero`` vectors
    are near to nothing; ``duplicates`` have the same numbers as an earlier one and are not zero (those of ids, beside texts,
    are not counted); ``not_finite`` ones hold a NaN or an infinity;
    ``wrong_dimension`` ones have another length than most. Norms are those of all ``finite`` vectors of the
    dimension, None if there are none: that of a vector of zeros is 0, and ``norm_min_nonzero`` is the least of the others.
    ``norm_std`` is that of the whole set. ``looked_at``: how many of a large table were looked at for all of this; None for all of
    them. ``arm`` is the agent whose they are, where one asks several.
    """

    count: Count
    dimension: Count
    normalized: bool | None = None
    unit_before: Count | None = None
    norm_mean: float | None = None
    norm_std: float | None = None
    norm_min: float | None = None
    norm_min_nonzero: float | None = None
    norm_max: float | None = None
    zero: Count = 0
    duplicates: Count = 0
    not_finite: Count = 0
    wrong_dimension: Count = 0
    looked_at: Count | None = None
    arm: str | None = None

    @property
    def seen(self) -> int:
        """How many were looked at."""
        return self.count if self.looked_at is None else self.looked_at

    @property
    def finite(self) -> int:
        """How many of those that were looked at have a norm."""
        return self.seen - self.not_finite - self.wrong_dimension
