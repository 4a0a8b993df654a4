"""Whether the judgments of a suite are those of a pool, so that what is judged tells about what is not."""

from __future__ import annotations

import numpy as np

from searchmark.judging.judge import Judged
from searchmark.measures.formulas import GradedHits
from searchmark.records import Suite
from searchmark.records.chosen_judgments import chosen_rows

# Cases with a target that is judged not relevant: below, the gold names what is relevant, and no pool was judged.
POOLED = 0.5


def is_pooled(suite: Suite) -> bool:
    """Whether more was judged than what is relevant, so that a hit without a judgment is one that was not looked at.

    Judgments that were chosen to settle a comparison do not count.
    """
    judgments, count = suite.judgments, len(suite)
    against = judgments.case[(judgments.grades == 0) & ~chosen_rows(suite)]
    return int(np.count_nonzero(np.bincount(against, minlength=count))) >= POOLED * count


def hits_without_chosen(judged: Judged) -> GradedHits:
    """The hits as if what was chosen were not judged."""
    chosen = np.r_[chosen_rows(judged.suite), False]  # the last one stands for NO_JUDGMENT, which is -1
    kept = ~chosen[judged.matches.judgment[judged.matches.valid]]
    hits = judged.hits
    return hits if kept.all() else hits.taken(kept)
