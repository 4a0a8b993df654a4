"""Gold that lies within the first hits of one run, in whatever order: chosen from them, it could not lie anywhere else.

Of four public data sets with several targets per case no honest run has more than 65 % of the targets among twice as many
first hits; gold that was chosen from the first six hits of an engine has all of them there. An agent that really finds nine of
ten targets so early is told in one of 70 suites with 20 cases of three targets, and one that finds eight of ten next to never.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from searchmark.analysis.controls import is_of_control
from searchmark.audit.gold_and_agents.circularity import agreement_of, circularity
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.judge import Judged

FEWEST_CASES = 20
TIMES = 2  # as many first hits as there are targets
WITHIN, OTHERS = 0.98, 0.8  # mean share of the targets, and what another run must stay below: else the suite is easy


def gold_within_first_hits(subject: Subject) -> Iterator[Finding]:
    """Runs that have nearly all targets among their first hits where another serious one misses a fifth of them."""
    serious = {name: each.judged for name, each in subject.scores.items() if not is_of_control(each.judged.run)}
    shares = {name: _share(judged, subject) for name, judged in serious.items()} if len(serious) > 1 else {}
    found = [name for name, share in shares.items() if share is not None and share >= WITHIN]
    lowest = min((share for share in shares.values() if share is not None), default=1.0)
    if not found or lowest > OTHERS or list(circularity(subject)):
        return
    for name in found:
        told = f"{shares[name]:.0%} of the targets are among its first hits, {TIMES} for each target"
        yield finding("gold-within-first-hits", f"{name}: {told}; of another run {lowest:.0%} are")


def _share(judged: Judged, subject: Subject) -> float | None:
    """The mean share of targets among the first hits, over cases with several of them; None if there are too few."""
    suite, matches, cases = judged.suite, judged.matches, agreement_of(judged, subject).cases
    if len(cases) < FEWEST_CASES:
        return None
    targets = np.bincount(suite.judgments.case[suite.judgments.grades >= suite.defaults.rel], minlength=len(suite))
    first = matches.valid & (matches.grade >= suite.defaults.rel) & (matches.rank <= TIMES * targets[matches.case])
    return float((np.bincount(matches.case[first], minlength=len(suite))[cases] / targets[cases]).mean())
