"""Whether a table of gains fits the judgments that it is for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from searchmark.errors import UsageError
from searchmark.measures.gains import gains_by_grade
from searchmark.measures.grammar import AnyMeasure
from searchmark.records import Suite


def refuse_unpaid_grades(measures: Iterable[AnyMeasure], suite: Suite) -> None:
    """A table that leaves out a grade of the suite would pay nothing for it, and one beside fractional gains contradicts them."""
    for part in (part for measure in measures for part in measure.parts):
        table = str(part.options.get("gains") or "")
        if not table:
            continue
        judgments, whose = suite.judgments, f"the judgments of {suite.name!r}"
        if judgments.gains is not None:
            raise UsageError(f"{whose} have gains of their own, which {part.name} would replace; leave gains= out")
        grades = set(np.unique(judgments.grades[judgments.grades > 0]).tolist())
        unpaid = sorted(grades - set(gains_by_grade(table)))
        if unpaid:
            raise UsageError(f"{part.name} says nothing about the grade {unpaid[0]}, which {whose} have; add {unpaid[0]}:GAIN")
