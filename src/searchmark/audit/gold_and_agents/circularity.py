"""Whether the gold is what an agent answers: its first hits are the targets, in the order in which the gold lists them.

An honest agent does not get there, however good it is. Two people who judge the same documents agree on 42 to 49 % of what one
of them calls relevant (Voorhees, 2000), so that not even a second person would return exactly the targets of the first in nearly
all cases that have several. And equally relevant targets are listed in an order that says nothing of them: an agent
that knows only what is relevant has half of all neighbours the other way round. An order that the gold declares (expected ranks,
or grades that are as good as ranks) is one that an agent is asked for: meeting it may be right, and is told as a warning only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from searchmark.audit.gold_and_agents.list_orders import is_sorted
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.judging.judge import Judged
from searchmark.judging.matches import NOT_MET
from searchmark.measures.formulas import Ints
from searchmark.records import NO_RANK, OK, JudgmentTable, Run
from searchmark.records.id_columns import texts_at

SEVERAL = 3  # targets of a case: with two, both coming first is common
FEWEST_CASES = 10  # with several targets each, so that a lucky handful is not told
FOUND = 0.8  # mean share of the targets among as many first hits, together with their order
SAME_SET = 0.9  # share of cases whose first hits are exactly the targets
FAR_BEYOND, OTHERS = 0.5, 0.1  # the same, where all other runs have next to none
SAME_ORDER, FEWEST_PAIRS = 0.95, 20  # share of neighbours in the listed order, and how many there must be: by chance half of them
MANY_GRADES = 4  # targets of a case, each with a grade of its own: grades that are ranks, as no person gives them
BY_CHANCE = 20  # sets of documents that the targets are one of: with fewer, returning exactly them is easy


@dataclass(frozen=True)
class GoldAgreement:
    """How far the first hits of a run are the gold, over cases with several targets."""

    cases: Ints
    found: float  # mean share of the targets among as many first hits
    same: NDArray[np.bool_]  # per case: all of them
    pairs: int = 0
    in_order: float = 0.0
    declared: bool = False  # the order is one that the gold asks for

    @property
    def same_share(self) -> float:
        return float(self.same.mean()) if len(self.same) else 0.0

    @property
    def has_order_of_gold(self) -> bool:
        return self.found >= FOUND and self.pairs >= FEWEST_PAIRS and self.in_order >= SAME_ORDER


def circularity(subject: Subject) -> Iterator[Finding]:
    """Runs that the gold may have been made from."""
    found = {name: agreement_of(scores.judged, subject) for name, scores in subject.scores.items()}
    for name, agreement in found.items():
        if len(agreement.cases) < FEWEST_CASES:
            continue
        ids = subject.scores[name].judged.suite.table.ids
        cases = [ids[row] for row in agreement.cases[agreement.same]]
        best = max((each.same_share for other, each in found.items() if other != name), default=None)
        before = f"{name}: " if len(found) > 1 else ""
        others = "" if best is None else f", in the other runs in at most {best:.0%} of theirs"
        exactly = f"exactly the targets come first in {len(cases)} of {len(agreement.cases)} cases with {SEVERAL} or more{others}"
        order = f"{agreement.in_order:.0%} of {agreement.pairs} neighbouring targets are in"
        if agreement.has_order_of_gold and agreement.declared:
            yield finding("answers-equal-gold", f"{before}{order} the order that the gold asks for, and {exactly}", cases)
        elif agreement.has_order_of_gold:
            told = "the order in which the gold happens to list them (by chance 50%)"
            yield finding("circular-gold", f"{before}{order} {told}, and {exactly}", cases)
        elif agreement.same_share >= SAME_SET or _far_beyond(agreement, best):
            yield finding("answers-equal-gold", f"{before}{exactly}", cases)


def _far_beyond(agreement: GoldAgreement, best: float | None) -> bool:
    return best is not None and agreement.same_share >= FAR_BEYOND and best <= OTHERS


def agreement_of(judged: Judged, subject: Subject) -> GoldAgreement:
    """How far the first hits of a run are the gold."""
    suite = judged.suite
    relevant = suite.judgments.grades >= suite.defaults.rel
    targets = np.bincount(suite.judgments.case[relevant], minlength=len(suite))
    usable = (targets >= SEVERAL) & judged.answerable & judged.complete & judged.graded & (judged.status == OK)
    cases = np.flatnonzero(usable)
    cases = cases[_are_choices(targets[cases], _candidates(judged, subject, cases))]
    matches = judged.matches
    first = matches.valid & (matches.grade >= suite.defaults.rel) & (matches.rank <= targets[matches.case])
    met = np.bincount(matches.case[first], minlength=len(suite))
    if not len(cases):
        return GoldAgreement(cases, 0.0, np.zeros(0, bool))
    share = met[cases] / targets[cases]
    agreement = GoldAgreement(cases, float(share.mean()), share >= 1)
    if agreement.found < FOUND:
        return agreement
    return _with_order(agreement, judged, np.isin(suite.judgments.case, cases) & relevant, subject)


def _are_choices(targets: Ints, candidates: Ints) -> NDArray[np.bool_]:
    """Whether returning exactly the targets takes more than luck: they are one of many sets of candidates."""
    chosen = targets < candidates
    for row in np.flatnonzero(chosen & (candidates < BY_CHANCE)).tolist():
        chosen[row] = comb(int(candidates[row]), int(targets[row])) >= BY_CHANCE
    return chosen


def _candidates(judged: Judged, subject: Subject, cases: Ints) -> Ints:
    """How many documents each case chooses from, as far as that is known: its own, the corpus, or else all that were returned."""
    own = judged.suite.table.documents
    searched = _returned(judged.run) if subject.ids is None else len(subject.ids)
    owned = np.zeros(len(cases), np.int64) if own is None else np.array([len(own[row]) for row in cases.tolist()], np.int64)
    return np.where(owned > 0, owned, searched)


def _returned(run: Run) -> int:
    """At least how many documents there are: those of the longest answer, or of all answers where they are short."""
    if run.longest > BY_CHANCE:
        return run.longest
    return len(set(run.ids)) if isinstance(run.ids, list) else run.ids.n_unique()


def _with_order(agreement: GoldAgreement, judged: Judged, relevant: NDArray[np.bool_], subject: Subject) -> GoldAgreement:
    """The agreement with that of the order: of expected ranks, of grades that are as good as ranks, or of a list of equals."""
    judgments, rows = judged.suite.judgments, np.flatnonzero(relevant)
    equals = _without_rank(judgments, rows)
    for listed in (_by_rank(judgments, rows), _by_distinct_grade(judgments, rows), equals):
        in_order = _in_order(judged, listed, subject, equals=listed is equals)
        if len(in_order) >= FEWEST_PAIRS:
            return replace(agreement, pairs=len(in_order), in_order=float(in_order.mean()), declared=listed is not equals)
    return agreement


def _by_rank(judgments: JudgmentTable, rows: Ints) -> Ints:
    if judgments.ranks is None:
        return rows[:0]
    ranked = rows[judgments.ranks[rows] != NO_RANK]
    by_rank: Ints = ranked[np.lexsort((judgments.ranks[ranked], judgments.case[ranked]))]
    return by_rank


def _without_rank(judgments: JudgmentTable, rows: Ints) -> Ints:
    if judgments.ranks is None:
        return rows
    unranked: Ints = rows[judgments.ranks[rows] == NO_RANK]
    return unranked


def _by_distinct_grade(judgments: JudgmentTable, rows: Ints) -> Ints:
    """The targets of cases where each has a grade of its own, and there are more than people tell apart."""
    case, count = judgments.case[rows], len(judgments.starts) - 1
    grades = np.unique(np.stack([case, judgments.grades[rows]]), axis=1)[0]
    targets = np.bincount(case, minlength=count)
    distinct = (np.bincount(grades, minlength=count) == targets) & (targets >= MANY_GRADES)
    ranked = rows[distinct[case]]
    by_grade: Ints = ranked[np.lexsort((-judgments.grades[ranked], judgments.case[ranked]))]
    return by_grade


def _in_order(judged: Judged, listed: Ints, subject: Subject, *, equals: bool) -> NDArray[np.bool_]:
    """For each two neighbours that were both returned, whether they came in this order; equal scores have none.

    ``equals``: only neighbours of one grade count, since a good agent returns higher grades first.
    """
    matches, judgments = judged.matches, judged.suite.judgments
    one, two = listed[:-1], listed[1:]
    counted = (judgments.case[one] == judgments.case[two]) & (matches.met[one] != NOT_MET) & (matches.met[two] != NOT_MET)
    if equals:
        counted &= judgments.grades[one] == judgments.grades[two]
    one, two = one[counted], two[counted]
    ranks, scores = matches.rank[matches.met], judged.run.scores[matches.row[matches.met]]
    told = scores[one] != scores[two]
    in_order: NDArray[np.bool_] = (ranks[one] < ranks[two])[told]
    agrees = len(in_order) >= FEWEST_PAIRS and in_order.mean() >= SAME_ORDER
    if agrees and is_sorted(texts_at(judgments.targets, one), texts_at(judgments.targets, two), subject):
        return in_order[:0]
    return in_order
