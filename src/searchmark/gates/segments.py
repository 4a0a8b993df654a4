"""Which cases a rule is about: all of them, or those with one value of a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.scores import category_name, segment_names, segment_rows
from searchmark.records import Suite

Rows = NDArray[np.intp]


class CaseSegment(NamedTuple):
    """A field of the cases and one of its values; without a field all cases."""

    by: str | None = None
    value: str = ""

    @property
    def where(self) -> dict[str, str]:
        return {} if self.by is None else {self.by: self.value}

    @property
    def words(self) -> str:
        """As it stands in a sentence, after the number that it is about."""
        return "" if self.by is None else f" in {self.by} {self.value}"


EVERYTHING = CaseSegment()


def segment_of(where: Mapping[str, str | int] | None) -> CaseSegment:
    """The segment that a rule names."""
    if not where:
        return EVERYTHING
    ((by, value),) = where.items()
    return CaseSegment(by, str(value))


def named_in(suite: Suite, segment: CaseSegment) -> CaseSegment:
    """The segment under the name that the suite has for it: categories may be given by number."""
    if segment.by != "category":
        return segment
    return segment._replace(value=category_name(suite, segment.value))


def rows_of(suite: Suite, segment: CaseSegment) -> Rows | None:
    """The cases of a segment; None if there are none."""
    if segment.by is None:
        return np.arange(len(suite))
    if segment.by not in (*segment_names(suite), "tags"):
        return None
    return segment_rows(suite, segment.by).get(named_in(suite, segment).value)
