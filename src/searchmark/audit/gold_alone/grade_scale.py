"""Grades that do not belong to the scale of the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.records import Suite

Oddity = tuple[NDArray[np.bool_], str]  # the judgments, and what is to be said of them

LOWEST_OF_TREC = -2  # spam in the web tracks; -1 is pooled and not judged
HIGHEST_LABEL = 3  # exact, good, partial, none
# A grade that is as many times the next lower one and given to at most this share of what is relevant is taken for a slip:
# 22 for 2, 10 for 1. No scale in use has such a gap (the widest, 0 1 3 7 of exponential gains, doubles).
FAR_TIMES, FAR_SHARE = 3, 0.01
# With exponential gains one document of grade 11 outweighs a thousand of grade 1.
HIGHEST_EXPONENT = 10


def grade_scale(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the grades, in one finding."""
    suite = subject.suite
    odd = [each for each in (_too_low(suite), _too_high(suite)) if each is not None]
    if odd:
        rows = np.unique(np.concatenate([suite.judgments.case[marks] for marks, _ in odd]))
        message = "; ".join(sentence for _, sentence in odd)
        yield finding("grades-outside-scale", message, (suite.table.ids[row] for row in rows.tolist()))


def fractional_gains(subject: Subject) -> Iterator[Finding]:
    """Ratings that are not whole, which measures of gain and all others see differently."""
    judgments, ids = subject.suite.judgments, subject.suite.table.ids
    if judgments.gains is not None:
        own = judgments.gains != judgments.grades
        many = counted(int(own.sum()), "judgment has", "judgments have")
        message = f"{many} a fractional gain: nDCG and DCG pay it, other measures see it rounded up"
        yield finding("fractional-gains", message, (ids[row] for row in np.unique(judgments.case[own]).tolist()))


def _too_low(suite: Suite) -> Oddity | None:
    """Grades below those of TREC: a rating of what is bad, which counts as not judged."""
    grades = suite.judgments.grades
    below = grades < LOWEST_OF_TREC
    if not below.any():
        return None
    many = counted(int(below.sum()), "judgment has", "judgments have")
    return below, f"{many} a grade below {LOWEST_OF_TREC} (down to {grades.min()}), which counts as not judged"


def _too_high(suite: Suite) -> Oddity | None:
    """Grades above the scale of labels or of exponential gains, or far above all others."""
    grades = suite.judgments.grades
    highest = int(grades.max(initial=0))
    if suite.kind == "labels" and highest > HIGHEST_LABEL:
        above = grades > HIGHEST_LABEL
        many = counted(int(above.sum()), "label has", "labels have")
        return above, f"{many} a grade above {HIGHEST_LABEL} (up to {highest}), the highest of their scale"
    if suite.defaults.gain == "exp" and highest > HIGHEST_EXPONENT:
        above = grades > HIGHEST_EXPONENT
        many = counted(int(above.sum()), "grade is", "grades are")
        return above, f"{many} above {HIGHEST_EXPONENT} (up to {highest}), and the gain doubles with each"
    return _slip(grades)


def _slip(grades: NDArray[np.int64]) -> Oddity | None:
    """A grade that is rare and far beyond all others, which was probably mistyped."""
    known, counts = np.unique(grades[grades > 0], return_counts=True)
    far = _far_beyond(known, counts)
    if far is None:
        return None
    others = ", ".join(map(str, known[:-1].tolist()))
    return grades == far, f"the grade {far} is given {_times(int(counts[-1]))}, and all other relevant grades are {others}"


def _far_beyond(grades: NDArray[np.int64], counts: NDArray[np.int64]) -> int | None:
    """The highest grade, if it is rare and far above the next lower one."""
    if len(grades) < 2 or grades[-1] < FAR_TIMES * grades[-2] or grades[-1] <= HIGHEST_LABEL:  # noqa: PLR2004  # no other grade
        return None
    return int(grades[-1]) if counts[-1] <= max(1, FAR_SHARE * counts.sum()) else None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
