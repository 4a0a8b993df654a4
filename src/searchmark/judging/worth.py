"""What judgments say beside a grade: gains of their own, and the aspects that their targets cover."""

from __future__ import annotations

import numpy as np

from searchmark.judging.matches import NO_JUDGMENT, Matches
from searchmark.measures.formulas import Coverage, Floats
from searchmark.records import Suite
from searchmark.records.id_columns import text_list

MOST_DIGITS = 9  # of an aspect that is a number


def gains_of_hits(suite: Suite, matches: Matches) -> Floats | None:
    """What each judged hit pays, None where that is its grade everywhere.

    NaN for a hit that is known by description only, in a case where descriptions have gains: which of them fit is not kept.
    """
    judgments = suite.judgments
    if judgments.gains is None:
        return None
    described = judgments.described & (judgments.gains != judgments.grades)
    open_cases = np.isin(matches.case, judgments.case[described])
    by_description = np.where(open_cases & (matches.grade > 0), np.nan, matches.grade.astype(np.float64))
    return np.where(matches.judgment == NO_JUDGMENT, by_description, judgments.gains[matches.judgment])


def coverage_of(suite: Suite, matches: Matches) -> Coverage | None:
    """Which aspects targets cover, and which target each judged hit is; None where no judgment names an aspect."""
    coverage = coverage_of_targets(suite)
    return None if coverage is None else coverage.of_hits(matches.judgment)


def coverage_of_targets(suite: Suite) -> Coverage | None:
    judgments = suite.judgments
    if judgments.aspects is None:
        return None
    covered = [each or {} for each in judgments.aspects]
    names = sorted({name for each in covered for name in each}, key=_natural)
    number = {name: place for place, name in enumerate(names)}
    _, name_order = np.unique(np.array(text_list(judgments.targets), object), return_inverse=True)
    return Coverage(
        hit=np.zeros(0, np.int64),
        starts=np.concatenate([[0], np.cumsum([len(each) for each in covered])]).astype(np.int64),
        aspect=np.array([number[name] for each in covered for name in each], np.int64),
        grade=np.array([grade for each in covered for grade in each.values()], np.int64),
        name_order=name_order.reshape(-1).astype(np.int64),
    )


def _natural(name: str) -> tuple[bool, int, str]:
    """Numbers first, by their value: in this order ndeval adds what aspects pay."""
    is_number = name.isdecimal() and len(name) <= MOST_DIGITS
    return not is_number, int(name) if is_number else 0, name
