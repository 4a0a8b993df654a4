"""Directories as hits: a hit on a directory pays half of a target below it, where a measure asks for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TypeAlias

import numpy as np

from searchmark.measures.formulas import NEVER, DirectoryPairs

PairRow: TypeAlias = tuple[int, int, int, int, int, int]  # the columns of DirectoryPairs


def directories_above(paths: Iterable[str]) -> set[str]:
    """Every beginning of these paths that ends before a slash."""
    found: set[str] = set()
    for path in paths:
        end = path.rfind("/")
        while end >= 0 and path[:end] not in found:  # one that is known has brought those above it along
            found.add(path[:end])
            end = path.rfind("/", 0, end)
    return found


def pairs_of_case(case: int, targets: Mapping[str, tuple[int, int]], ranks: Mapping[str, int]) -> Iterator[PairRow]:
    """A hit above a target, for all such pairs of one case, both in path order.

    ``targets`` are the paths that are judged, each with the number of its judgment and its grade; ``ranks`` are the hits
    that exist. Path order is by segment: a directory precedes everything below it, and it decides who pays whom.
    """
    in_order = sorted(targets, key=_segments)
    for directory in sorted(directories_above(targets) & ranks.keys(), key=_segments):
        own_grade = targets[directory][1] if directory in targets else 0
        for target in in_order:
            if target.startswith(f"{directory}/"):
                judgment, grade = targets[target]
                yield case, ranks[directory], own_grade, judgment, grade, ranks.get(target, NEVER)


def _segments(path: str) -> list[str]:
    return path.split("/")


def pair_columns(rows: list[PairRow]) -> DirectoryPairs:
    rows.sort(key=lambda row: row[0])  # by case; within a case they are in path order already
    return DirectoryPairs(*np.array(rows, np.int64).reshape(-1, len(fields(DirectoryPairs))).T)
