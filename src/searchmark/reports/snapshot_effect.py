"""What another state of the repository gets wrong: one agent, two snapshots, case by case.

Searching the head of a history errs in both directions. Files have moved or gone, so that a right answer cannot be
found any more; and the answer may already be in the code, so that it is found too easily.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from searchmark.analysis.scores import Scores
from searchmark.records import Run

TOO_HARD = "targets are gone"
TOO_EASY = "found better after the change"
OTHERWISE = "other files have changed"


@dataclass(frozen=True)
class AffectedCase:
    """One case whose value differs between two snapshots, and what speaks for the reason."""

    case: str
    query: str | None
    reference: float
    other: float
    why: str
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class SnapshotEffect:
    """One agent in two snapshots: the difference of the mean, and the cases behind it, the largest difference first.

    ``reference`` and ``other`` are the display names of the two runs.
    """

    reference: str
    other: str
    measure: str
    cases: int
    lower: tuple[AffectedCase, ...]
    higher: tuple[AffectedCase, ...]

    @property
    def sentence(self) -> str:
        gone = sum(bool(case.gone) for case in self.lower)
        lost, won = (sum(abs(case.other - case.reference) for case in cases) / self.cases for cases in (self.lower, self.higher))
        return (
            f"{self.other} against {self.reference}, {self.measure}: {len(self.lower)} of {self.cases} cases score lower "
            f"(-{lost:.4f} of the mean; {gone} of them since targets are gone), {len(self.higher)} score higher (+{won:.4f})"
        )


def snapshot_effects(scores: Mapping[str, Scores]) -> Iterator[SnapshotEffect]:
    """Every pair of runs of one agent in two snapshots, by the first measure; the parents are the reference of the others."""
    names = sorted(scores, key=lambda name: scores[name].judged.run.label.snapshot != "parent")
    for reference, other in combinations(names, 2):
        if _same_agent(scores[reference].judged.run, scores[other].judged.run):
            yield _effect(reference, other, scores[reference], scores[other])


def _same_agent(one: Run, other: Run) -> bool:
    snapshots = [run.label.snapshot for run in (one, other)]
    return None not in snapshots and snapshots[0] != snapshots[1] and one.provenance.agent == other.provenance.agent


def _effect(reference: str, other: str, first: Scores, second: Scores) -> SnapshotEffect:
    found = sorted(_cases(first, second), key=lambda case: -abs(case.other - case.reference))
    return SnapshotEffect(
        reference,
        other,
        first.names[0],
        len(first.judged.suite),
        tuple(case for case in found if case.other < case.reference),
        tuple(case for case in found if case.other > case.reference),
    )


def _cases(first: Scores, second: Scores) -> Iterator[AffectedCase]:
    table = first.judged.suite.table
    gone = _gone(second.judged.run)
    pairs: Sequence[tuple[float, float]] = list(zip(first.values[:, 0].tolist(), second.values[:, 0].tolist(), strict=True))
    for row, (reference, other) in enumerate(pairs):
        if math.isnan(reference) or math.isnan(other) or reference == other:
            continue
        missing = gone.get(table.ids[row], ())
        why = TOO_EASY if other > reference else TOO_HARD if missing else OTHERWISE
        yield AffectedCase(table.ids[row], table.queries[row] if table.queries else None, reference, other, why, missing)


def _gone(run: Run) -> dict[str, tuple[str, ...]]:
    details = zip(run.case_ids, run.details or (), strict=True) if run.details else ()
    return {case: each.unreachable for case, each in details if each.unreachable}
