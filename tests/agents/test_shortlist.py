"""Who comes into question for many queries at once."""

from __future__ import annotations

import tracemalloc

import numpy as np

from searchmark.agents.vectors.exact import Shortlist


def test_a_crowd_takes_no_memory_for_its_pairs() -> None:
    scores = np.zeros((16, 1 << 15), dtype=np.float32)  # all are equally near, so each query is searched for alone
    shortlist = Shortlist(1, np.ones(16))
    tracemalloc.start()
    try:
        shortlist.offer(scores, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert shortlist.crowded.all()
    assert [len(each) for each in shortlist.pairs()] == [0, 0]
    assert peak < 3 * scores.nbytes  # with their queries, numbers and scores it would be more than eight times
