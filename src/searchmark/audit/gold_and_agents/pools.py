"""Pool bias: how many of the first hits of each run are judged, and what the others could be worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.controls import is_of_control
from searchmark.audit.judged_pools import hits_without_chosen, is_pooled
from searchmark.audit.result import AuditTable
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.judge import Judged
from searchmark.measures.formulas import Floats, precision
from searchmark.measures.formulas import judged as share_judged
from searchmark.records import OK

DEPTH = 10
FEWEST_CASES = 10
# A gap that could move P@k by a tenth; the upgrade by .096 that was retracted was made of such gaps. It must be beyond chance, too.
GAP, CERTAIN = 0.1, 3.0
FEW = 0.5  # of the first hits, from which on fewer are judged than are not


@dataclass(frozen=True)
class Pooled:
    """The first hits of one run: the share that is judged per case, P@k, and P@k if the others were like the judged ones."""

    judged: Floats
    precision: float
    likely: float

    @property
    def share(self) -> float:
        return float(self.judged.mean())


def pool_bias(subject: Subject) -> Iterator[Finding]:
    """Runs whose first hits are judged less often than those of another, or all of them hardly, controls apart."""
    depth, all_pools = _pools(subject)
    pools = {name: each for name, each in all_pools.items() if not is_of_control(subject.scores[name].judged.run)}
    if not pools or len(next(iter(pools.values())).judged) < FEWEST_CASES:
        return
    most, least = (pick(pools, key=lambda name: pools[name].share) for pick in (max, min))
    if pools[most].share < FEW:
        highest = sorted(pools, key=lambda name: -pools[name].share)[:3]
        shares = ", ".join(f"{name} {pools[name].share:.0%}" for name in highest)
        yield finding("hardly-judged", f"of the first {depth} hits at most {pools[most].share:.0%} are judged ({shares})")
    if _gap(pools[most], pools[least]):
        low = pools[least]
        likely = f"P@{depth} of {least} would be {low.likely:.3f} instead of {low.precision:.3f} if the others were like them"
        shares = f"{pools[most].share:.0%} of {most}, {low.share:.0%} of {least}"
        yield finding("judged-unevenly", f"judged among the first {depth} hits: {shares}; {likely}")


def _gap(most: Pooled, least: Pooled) -> bool:
    """Whether two runs differ by much, and by more than the cases vary."""
    difference = most.judged - least.judged
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return bool(difference.mean() >= GAP and difference.mean() >= CERTAIN * error)


def judged_table(subject: Subject) -> AuditTable | None:
    """How much of the first hits of each run is judged."""
    depth, pools = _pools(subject)
    columns = ("run", f"Judged@{depth}", f"P@{depth}", f"P@{depth} if unjudged hits were like judged ones")
    rows = tuple((name, each.share, each.precision, each.likely) for name, each in pools.items())
    return AuditTable("judged", "Judged among the first hits", columns, rows) if rows else None


def _pools(subject: Subject) -> tuple[int, Mapping[str, Pooled]]:
    """The first hits of every run on cases that all of them answer, to a depth that all of them reach."""
    of_runs = {name: scores.judged for name, scores in subject.scores.items()}
    if not of_runs or not is_pooled(subject.suite):
        return DEPTH, {}
    depth = max(1, min(DEPTH, *(judged.run.longest for judged in of_runs.values())))
    answered = np.logical_and.reduce([judged.answerable & (judged.status == OK) for judged in of_runs.values()])
    return depth, {name: _pooled(judged, answered, depth) for name, judged in of_runs.items()} if answered.any() else {}


def _pooled(judged: Judged, rows: NDArray[np.bool_], depth: int) -> Pooled:
    rel = judged.suite.defaults.rel
    (share, relevant), (looked_at, found) = (
        (share_judged(hits, k=depth)[rows], precision(hits, k=depth, rel=rel)[rows])
        for hits in (judged.hits, hits_without_chosen(judged))  # what was chosen is not like the rest
    )
    like_them = float(found.mean() / looked_at.mean()) if looked_at.any() else 0.0
    precise = float(relevant.mean())
    return Pooled(share, precise, min(1.0, precise + (1 - float(share.mean())) * like_them))
