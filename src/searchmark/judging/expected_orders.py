"""The orders in which the targets of a case should come: that of their ranks, and others that are as right."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.errors import UsageError
from searchmark.measures.formulas import Ints
from searchmark.records import NO_RANK, Suite


@dataclass(frozen=True, eq=False)
class ExpectedOrders:
    """A row for every target of every expected order: the number of the order, the judgment, and its rank there."""

    order: Ints
    judgment: Ints
    rank: Ints


def expected_orders(suite: Suite) -> ExpectedOrders:
    """All expected orders of a suite, those of one case after each other."""
    ranks = suite.judgments.ranks
    ranked = np.zeros(0, np.int64) if ranks is None else np.flatnonzero(ranks != NO_RANK)
    by_rank = np.stack([suite.judgments.case[ranked], ranked, ranked if ranks is None else ranks[ranked]])
    others = np.array(list(_other_orders(suite)), np.int64).reshape(-1, 3).T
    return ExpectedOrders(*np.concatenate([by_rank, others], axis=1))


def _other_orders(suite: Suite) -> Iterator[tuple[int, int, int]]:
    """The further orders; their numbers go on behind those of the first orders, which are the numbers of their cases."""
    number, starts = len(suite), suite.judgments.starts.tolist()
    for case, orders in enumerate(suite.table.other_orders or ()):
        rows = {suite.judgments.targets[row]: row for row in range(starts[case], starts[case + 1])} if orders else {}
        for order in orders:
            wrong = wrong_in_order(order, rows)
            if wrong:
                raise UsageError(f"case {suite.table.ids[case]!r}: an expected order {wrong}")
            yield from ((number, rows[target], rank) for rank, target in enumerate(order, 1))
            number += 1


def wrong_in_order(order: Sequence[str], targets: Collection[str]) -> str | None:
    """What is wrong with an expected order of these targets; None if nothing is."""
    unknown = next((target for target in order if target not in targets), None)
    if unknown is not None:
        return f"names {unknown!r}, which is not a target of the case"
    return "names a target twice" if len(set(order)) < len(order) else None
