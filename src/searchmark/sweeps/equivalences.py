"""Rankings that should be the same, compared: cosine, inner product and Euclidean distance order vectors of length one alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import combinations

from searchmark.records import Run, VectorStatistics
from searchmark.sweeps.grid import GridSetting
from searchmark.sweeps.result import Equivalence

DISTANCE = "distance"
MOST_NAMED = 20
TOLERANCE = 1e-3


def equivalences(runs: Sequence[tuple[GridSetting, Run]]) -> Iterator[Equivalence]:
    """Every pair of settings that differ in the distance alone, and whose vectors were measured to have length one."""
    groups: dict[str, list[tuple[str, Run]]] = {}
    for setting, run in runs:
        if DISTANCE in setting.choices and _of_length_one(run):
            groups.setdefault(_apart_from_distance(setting), []).append((setting.name, run))
    for members in groups.values():
        for (first, one), (second, other) in combinations(members, 2):
            yield _compared(first, second, one, other)


def _of_length_one(run: Run) -> bool:
    """Whether all vectors were measured to have length one; those of zeros are near to nothing by one distance alone."""
    found = run.provenance.vectors
    return bool(found) and all(map(_all_of_length_one, found))


def _all_of_length_one(vectors: VectorStatistics) -> bool:
    lengths = (vectors.norm_min, vectors.norm_max)
    odd = vectors.zero or vectors.not_finite or vectors.wrong_dimension
    return not odd and all(each is not None and abs(each - 1) <= TOLERANCE for each in lengths)


def _apart_from_distance(setting: GridSetting) -> str:
    return json.dumps({key: value for key, value in setting.options.items() if key != DISTANCE}, sort_keys=True, default=repr)


def _compared(first: str, second: str, one: Run, other: Run) -> Equivalence:
    cases = [case for case in one.case_ids if case in other.index]
    differing = [case for case in cases if one.ids_of(one.index[case]) != other.ids_of(other.index[case])]
    return Equivalence(first, second, len(cases), len(cases) - len(differing), tuple(differing[:MOST_NAMED]))
