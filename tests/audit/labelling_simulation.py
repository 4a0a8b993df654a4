"""A comparison of two runs, half judged, and how many labels settle it: in the order of a plan, and in random order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark import Answer, Hit, Run, Suite, match_hits, score
from searchmark.experiments.audit import build_subject
from searchmark.judgments.next_pairs import plan_judging

CASES, DOCUMENTS, RELEVANT, DEPTH, STEP = 50, 60, 6, 10, 10
Pair = tuple[str, str]


@dataclass(frozen=True)
class Collection:
    """Two runs of different quality, all true grades, and the pairs that are judged so far."""

    truth: dict[Pair, int]
    runs: tuple[Run, Run]
    judged: frozenset[Pair]
    measure: str = "nDCG@10"

    def suite(self, more: Sequence[Pair] = ()) -> Suite:
        grades: dict[str, dict[str, int]] = {f"c{row:02}": {} for row in range(CASES)}
        for case, item in sorted(self.judged | set(more)):
            grades[case][item] = self.truth[case, item]
        return Suite.from_grades(grades)

    def difference(self, more: Sequence[Pair] = ()) -> float:
        suite = self.suite(more)
        weak, strong = (score(match_hits(suite, run), [self.measure]).mean(self.measure) for run in self.runs)
        return strong - weak

    @property
    def pool(self) -> list[Pair]:
        """What can still be judged of the first hits of both."""
        hits = {(answer.case, hit.id) for run in self.runs for answer in run.answers for hit in answer.hits}
        return sorted(hits - self.judged)

    def planned(self) -> list[Pair]:
        """The pool as a plan orders it, then what changes nothing."""
        subject = build_subject(self.suite(), None, self.runs, [self.measure])
        pairs = [(pair.case, pair.item) for pair in plan_judging(subject, len(self.pool)).pairs]
        return [*pairs, *sorted(set(self.pool) - set(pairs))]

    def labels_until_settled(self, order: Sequence[Pair], near: float) -> int:
        """After how many labels the difference stays as near to the final one, in steps."""
        final = self.difference(order)
        counts = range(0, len(order) + STEP, STEP)
        off = [count for count in counts if abs(self.difference(order[:count]) - final) > near]
        return max(off, default=-STEP) + STEP


def collection(seed: int, share: float = 0.3, measure: str = "nDCG@10") -> Collection:
    """``share`` of the pool is judged at random; ``measure`` is what the runs are compared by."""
    chance = random.Random(seed)
    truth = {(f"c{row:02}", f"d{at:02}"): int(at < RELEVANT) for row in range(CASES) for at in range(DOCUMENTS)}
    runs = tuple(_run(name, noise, chance) for name, noise in (("weak", 0.62), ("strong", 0.55)))
    pool = sorted({(answer.case, hit.id) for run in runs for answer in run.answers for hit in answer.hits})
    return Collection(truth, (runs[0], runs[1]), frozenset(chance.sample(pool, int(share * len(pool)))), measure)


def _run(name: str, noise: float, chance: random.Random) -> Run:
    answers = []
    for row in range(CASES):
        values = np.array([(at < RELEVANT) * 0.5 + noise * chance.gauss(0, 1) for at in range(DOCUMENTS)])
        best = np.argsort(-values)[:DEPTH].tolist()
        answers.append(Answer(f"c{row:02}", "ok", tuple(Hit(f"d{at:02}", rank) for rank, at in enumerate(best, 1))))
    return Run.from_answers(name, answers)


def in_random_order(pool: Sequence[Pair], seed: int) -> list[Pair]:
    order = list(pool)
    random.Random(f"order {seed}").shuffle(order)
    return order
