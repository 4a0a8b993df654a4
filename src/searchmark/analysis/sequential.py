"""A verdict for those who look every day: build after build against one baseline, on the same cases.

Thirty looks at 5 % each are not one at 5 %. Here every look is made at a level of its own, and all levels, of however many
looks, add up to 5 %. By the union bound the probability of any false verdict is then at most 5 %, however the builds
depend on one another; that is needed, because they share the cases, the baseline and most of their code. Bounds that are
narrower (martingales, tests over all looks together) hold only for builds that depend in a known way. E-values would
hold too, but a test of fixed cases loses more by becoming one than by the smaller level.

What must hold is that each test keeps its level if the signs of the differences are a matter of chance: it is the test of
`verdicts` with the p of the exact test and not the mid-p, which is smaller. The interval of the same level must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark.analysis.intervals import FEWEST_CASES, LEAN, Level
from searchmark.analysis.paired_evidence import Question, Rigour, Rows, evidence_for
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import SIGNIFICANT, Judgement, PairedEvidence, Verdict, undone_by_failures
from searchmark.records import ERROR, TIMEOUT

# So many looks spend half of the error, as many again a sixth of it. A loss may come with any build, so that the first looks
# are alike: their levels fall by a factor of four, where the usual 1/t² would make the thirtieth 900 times as strict as the first.
HALF_SPENT = 30


@dataclass(frozen=True)
class Look:
    """The ``number``-th build against one baseline; the interval of its evidence is at ``level``, a share of false verdicts."""

    number: int
    level: float
    evidence: PairedEvidence


def level_of(number: int, family: int = 1) -> float:
    """The share of false verdicts that a look may cost; those of all looks, without end, add up to 5 %.

    The sum telescopes: the first n looks spend n / (n + 30) of it. ``family`` is how many builds a look has.
    """
    if number < 1:
        raise ValueError("looks are counted from 1")
    return SIGNIFICANT * HALF_SPENT / ((number + HALF_SPENT - 1) * (number + HALF_SPENT)) / family


def rigour_of(level: float) -> Rigour:
    """What evidence at a level is made with."""
    return Rigour(Level(level / 2, LEAN), mid_p=False)


def take_look(baseline: Scores, candidate: Scores, column: int, number: int, rows: Rows | None = None, family: int = 1) -> Look:
    """The evidence of one look on the measure in ``column``, over all cases or some of them."""
    everything = np.arange(len(baseline.judged.suite)) if rows is None else rows
    return Look(number, level_of(number, family), _evidence((baseline, candidate), column, everything, level_of(number, family)))


def _evidence(scores: Sequence[Scores], column: int, rows: Rows, level: float) -> PairedEvidence:
    (found,) = evidence_for(scores, [Question(0, 1, column)], rows, rigour_of(level)).values()
    return found


def judge_look(look: Look, min_effect: float) -> Judgement:
    """IMPROVED or REGRESSED where test and interval agree at the level of the look, else INCONCLUSIVE."""
    evidence, at = look.evidence, f"{look.level:.2g} (look {look.number})"
    if evidence.mean is None:
        return Judgement("INCONCLUSIVE", "no case has a value on both sides")
    if evidence.low is None or evidence.high is None or evidence.p is None:
        return Judgement("INCONCLUSIVE", f"worth fewer than {FEWEST_CASES} independent cases")
    if evidence.p >= look.level:
        return Judgement("INCONCLUSIVE", f"p is {evidence.p:.2g}, not below {at}")
    if evidence.low <= 0 <= evidence.high:
        return Judgement("INCONCLUSIVE", f"p is below {at}, but the interval contains 0")
    if abs(evidence.mean) < min_effect:
        return Judgement("INCONCLUSIVE", f"a difference, but smaller than {min_effect:g}")
    side: tuple[Verdict, str] = ("IMPROVED", "above") if evidence.mean > 0 else ("REGRESSED", "below")
    return Judgement(side[0], f"the interval lies {side[1]} 0, and p is below {at}")


def sequential_verdict(
    baseline: Scores, candidate: Scores, column: int, number: int, min_effect: float, rows: Rows | None = None, family: int = 1
) -> tuple[Look, Judgement]:
    """One look and its verdict, which must be the same one without the cases that either side failed on."""
    look = take_look(baseline, candidate, column, number, rows, family)
    found = judge_look(look, min_effect)
    everything = np.arange(len(baseline.judged.suite)) if rows is None else rows
    failed = np.logical_or(*(np.isin(each.judged.status[everything], (ERROR, TIMEOUT)) for each in (baseline, candidate)))
    if failed.any():
        rest = take_look(baseline, candidate, column, number, everything[~failed], family)
        if judge_look(rest, min_effect).verdict != found.verdict:
            return look, undone_by_failures(found.verdict)
    return look, found
