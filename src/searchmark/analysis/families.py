"""Which comparisons belong together, so that looking often does not make something out of nothing.

The primary measure of all pairs is one family. Once it is IMPROVED or REGRESSED for a pair, the other measures of that pair and its
segments by the primary measure become questions; those of all such pairs are one more family. All else is EXPLORATORY: it
may give an idea, and no verdict. Within a family p is adjusted by Holm (1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from searchmark.analysis.paired_statistics import holm
from searchmark.analysis.verdicts import PairedEvidence

Key = TypeVar("Key")


@dataclass(frozen=True)
class Adjusted:
    """A p adjusted for as many comparisons as its family has."""

    p: float | None
    family: int


def adjusted(evidence: Mapping[Key, PairedEvidence], members: Iterable[Key]) -> dict[Key, Adjusted]:
    """The members of one family; one without enough cases for a test is not counted among them."""
    everyone = list(members)
    tested = {key: p for key in everyone if (p := evidence[key].p) is not None}
    family = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {key: Adjusted(family.get(key), len(tested)) for key in everyone}
