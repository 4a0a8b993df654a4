"""How many cases may be alike: with one and the same set of targets, or with one query but for names and numbers.

A file of settings that is edited for every new kind of thing would fill a fifth of a gold set with one question.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from searchmark.config import DatasetConfig
from searchmark.mining.ledger import RemovedCommit
from searchmark.mining.origins import Kinship, near_wording


def too_alike(queue: Iterable[Kinship], options: DatasetConfig) -> Iterator[RemovedCommit]:
    """The commits beyond the first ``max_alike`` of each kind, in the order in which they would be drawn."""
    most = options.max_alike or sys.maxsize
    by_targets, by_wording = (name not in options.without_rules for name in ("same_targets", "near_duplicate"))
    targets: Counter[tuple[str, ...]] = Counter()
    wordings: Counter[frozenset[str]] = Counter()
    for one in queue:
        wording = near_wording(one.family)
        if by_targets and targets[one.files] >= most:
            yield RemovedCommit(one.commit, "same_targets")
        elif by_wording and wordings[wording] >= most:
            yield RemovedCommit(one.commit, "near_duplicate")
        else:
            targets[one.files] += 1
            wordings[wording] += 1
