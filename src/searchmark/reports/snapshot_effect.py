"""What another state of the repository gets wrong: one agent, two snapshots, case by case.

Searching the head of a history errs in both directions. Files have moved or gone, so that a right answer cannot be
found any more; and the answer may already be in the code, so that it is found too easily.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from searchmark.analysis.scores import Scores
from searchmark.records import Run

TOO_HARD = "targets are gone"
TOO_EASY = "found better after the change"
OTHERWISE = "other files have changed"


@dataclass(frozen=True)
class TravelledCase:
    """One case whose value differs between two snapshots, and what speaks for the reason."""

    case: str
    query: str | None
    here: float
    there: float
    why: str
    gone: tuple[str, ...] = ()


@dataclass(frozen=True)
class SnapshotEffect:
    """One agent in two snapshots: the difference of the mean, and the cases behind it, the largest difference first."""

    here: str
    there: str
    measure: str
    cases: int
    lower: tuple[TravelledCase, ...]
    higher: tuple[TravelledCase, ...]

    @property
    def sentence(self) -> str:
        gone = sum(bool(case.gone) for case in self.lower)
        lost, won = (sum(abs(case.there - case.here) for case in cases) / self.cases for cases in (self.lower, self.higher))
        return (
            f"{self.there} against {self.here}, {self.measure}: {len(self.lower)} of {self.cases} cases score lower "
            f"(-{lost:.4f} of the mean; {gone} of them since targets are gone), {len(self.higher)} score higher (+{won:.4f})"
        )


def travels(scores: Mapping[str, Scores]) -> Iterator[SnapshotEffect]:
    """Every pair of runs of one agent in two snapshots, by the first measure; parents are what the others are held against."""
    names = sorted(scores, key=lambda name: scores[name].judged.run.label.snapshot != "parent")
    for position, here in enumerate(names):
        for there in names[position + 1 :]:
            if _same_agent(scores[here].judged.run, scores[there].judged.run):
                yield _travel(here, there, scores[here], scores[there])


def _same_agent(one: Run, other: Run) -> bool:
    snapshots = [run.label.snapshot for run in (one, other)]
    return None not in snapshots and snapshots[0] != snapshots[1] and one.provenance.agent == other.provenance.agent


def _travel(here: str, there: str, first: Scores, second: Scores) -> SnapshotEffect:
    found = sorted(_cases(first, second), key=lambda case: -abs(case.there - case.here))
    return SnapshotEffect(
        here,
        there,
        first.names[0],
        len(first.judged.suite),
        tuple(case for case in found if case.there < case.here),
        tuple(case for case in found if case.there > case.here),
    )


def _cases(first: Scores, second: Scores) -> Iterator[TravelledCase]:
    table = first.judged.suite.table
    gone = _gone(second.judged.run)
    pairs: Sequence[tuple[float, float]] = list(zip(first.values[:, 0].tolist(), second.values[:, 0].tolist(), strict=True))
    for row, (here, there) in enumerate(pairs):
        if math.isnan(here) or math.isnan(there) or here == there:
            continue
        missing = gone.get(table.ids[row], ())
        why = TOO_EASY if there > here else TOO_HARD if missing else OTHERWISE
        yield TravelledCase(table.ids[row], table.queries[row] if table.queries else None, here, there, why, missing)


def _gone(run: Run) -> dict[str, tuple[str, ...]]:
    details = zip(run.case_ids, run.details or (), strict=True) if run.details else ()
    return {case: each.unreachable for case, each in details if each.unreachable}
