"""Grades that do not belong to the scale of the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.records import Suite

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
    wrong = np.zeros(len(suite.judgments), bool)
    said = []
    for rows, sentence in _oddities(suite):
        wrong |= rows
        said.append(sentence)
    if said:
        rows = np.unique(suite.judgments.case[wrong])
        yield finding("grades-outside-scale", "; ".join(said), (suite.table.ids[row] for row in rows.tolist()))


def _oddities(suite: Suite) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """The judgments of each oddity, and the sentence about it."""
    grades = suite.judgments.grades
    known, counts = np.unique(grades, return_counts=True)
    if len(known) and known[0] < LOWEST_OF_TREC:
        below = grades < LOWEST_OF_TREC
        yield (
            below,
            f"{int(below.sum())} judgments have a grade below {LOWEST_OF_TREC} (down to {known[0]}), which counts as not judged",
        )
    high = len(known) > 0 and known[-1] > HIGHEST_LABEL
    if high and suite.kind == "labels":
        above = grades > HIGHEST_LABEL
        yield above, f"{int(above.sum())} labels have a grade above {HIGHEST_LABEL} (up to {known[-1]}), the highest of their scale"
        return
    if high and suite.defaults.gain == "exp" and known[-1] > HIGHEST_EXPONENT:
        above = grades > HIGHEST_EXPONENT
        yield (
            above,
            f"{int(above.sum())} grades are above {HIGHEST_EXPONENT} (up to {known[-1]}), and the gain doubles with each",
        )
        return
    positive = known > 0
    far = _far_beyond(known[positive], counts[positive])
    if far is not None:
        alone = grades == far
        others = ", ".join(str(grade) for grade in known[positive].tolist() if grade != far)
        yield alone, f"the grade {far} is given {_times(int(alone.sum()))}, and all other relevant grades are {others}"


def _far_beyond(grades: NDArray[np.int64], counts: NDArray[np.int64]) -> int | None:
    """The highest grade, if it is rare and far above the next lower one."""
    if len(grades) < 2 or grades[-1] < FAR_TIMES * grades[-2] or grades[-1] <= HIGHEST_LABEL:  # noqa: PLR2004  # no other grade
        return None
    return int(grades[-1]) if counts[-1] <= max(1, FAR_SHARE * counts.sum()) else None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
