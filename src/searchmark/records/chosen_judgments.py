"""Judgments that a suite remembers as chosen because of what they would change, and not drawn at random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.records.suite import Suite

CHOSEN_JUDGMENTS = "chosen_judgments"  # in a suite's metadata: by case, the items that were chosen


def chosen_pairs(suite: Suite) -> Mapping[str, list[str]]:
    """By case, the items whose judgments were chosen; what is not of this shape says nothing."""
    kept = suite.metadata.get(CHOSEN_JUDGMENTS)
    pairs: Mapping[Any, Any] = kept if isinstance(kept, Mapping) else {}
    return {case: items for case, items in pairs.items() if isinstance(items, list) and items}


def chosen_rows(suite: Suite) -> NDArray[np.bool_]:
    """Which of the judgments were chosen."""
    judgments, starts = suite.judgments, suite.judgments.starts
    marked = np.zeros(len(judgments), bool)
    for case, items in chosen_pairs(suite).items():
        if case in suite.table.index:
            at = suite.table.index[case]
            for row in range(int(starts[at]), int(starts[at + 1])):
                marked[row] = judgments.targets[row] in items
    return marked
