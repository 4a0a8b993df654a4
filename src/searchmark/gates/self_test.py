"""Can this gate fail? Copies of a run get worse by growing amounts until it notices. Does it fail for no reason?

A mutation happens to one case at a time, so its effect on every case is computed once; a trial then only chooses which cases
it has happened to. False alarms are counted on pairs that differ by chance alone: the answers of the run and of a
mutated copy are exchanged case by case, at random, so that neither side is the better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.comparison import unique_names
from searchmark.analysis.scores import Scores, score
from searchmark.gates.baselines import NO_BASELINE, named_baseline
from searchmark.gates.bounds import NumberRule
from searchmark.gates.mutations import Mutation, categories_left_out, mutated_answers, mutations_of
from searchmark.gates.own_k import AtOwnK
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rules import Evidence, Gate, GateVerdict, Rule, RuleResult, check_gates, gate_of
from searchmark.judging.judge import judge
from searchmark.options.compare_options import CompareOptions
from searchmark.options.gate_options import POLICIES
from searchmark.records import Answer, Run

AMOUNTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
TRIALS = 20
OFTEN = 0.8  # caught in so many trials counts as caught
ALARM_TRIALS = 1000
TOGETHER = 100  # trials that are worked out at once
HALF = 0.5
REASONS_SHOWN = 3
Mask = NDArray[np.bool_]
# What a rule looks at: the values of measures, the answers to cases that it names, or the hits of any case.
Reads = Literal["values", "answers", "hits"]


@dataclass(frozen=True)
class Caught:
    """From which share of the cases on a mutation is caught, and in how many cases that is; None if it never is, and why."""

    mutation: str
    possible: int
    share: float | None
    cases: int | None
    reason: str


@dataclass(frozen=True)
class Chance:
    """How often rules that compare are red on pairs that differ by chance alone: a false alarm (``red``) where harm must be shown,

    and a proof that these cases do not give (``not_shown``) where it is its absence. None where no rule is of the kind.
    """

    trials: int
    red: int | None
    not_shown: int | None


@dataclass(frozen=True)
class SelfTest:
    """What a gate can see. ``verdict`` is that on the run as it is.

    Where it is not passed, nothing is tried, and ``reasons`` say why. ``left_out`` counts the categories that were not tried.
    """

    verdict: GateVerdict
    reasons: tuple[str, ...] = ()
    caught: tuple[Caught, ...] = ()
    chance: Chance | None = None
    left_out: int = 0


def self_test(
    scores: Scores,
    rules: Sequence[Rule],
    baseline: Scores | None = None,
    options: CompareOptions = CompareOptions(),
    *,
    missing_baseline: str = NO_BASELINE.missing,
    seed: int = 0,
    alarm_trials: int = ALARM_TRIALS,
    on_progress: Callable[[str], None] = lambda _: None,
) -> SelfTest:
    """Try a gate on copies of a run; rules that compare are untrusted without a ``baseline``."""
    return _Trials(scores, rules, baseline, options, missing_baseline, seed).result(alarm_trials, on_progress)


@dataclass(frozen=True, eq=False)
class _Trials:
    scores: Scores
    rules: Sequence[Rule]
    baseline: Scores | None
    options: CompareOptions
    missing_baseline: str
    seed: int

    def result(self, alarm_trials: int, on_progress: Callable[[str], None]) -> SelfTest:
        (found,) = self._gates([(self.scores, self.baseline)], self.rules, foreseeing=True)
        if found.verdict != "passed":
            return SelfTest(found.verdict, tuple(each.message for each in found.rules if each.verdict != "passed"))
        mutations = list(mutations_of(self.scores.judged))
        caught = []
        for number, mutation in enumerate(mutations, 1):
            on_progress(f"{number} of {len(mutations)}: {mutation.name}")
            caught.append(self._caught(mutation, found))
        on_progress("false alarms")
        chance = self._by_chance(mutations, alarm_trials)
        return SelfTest("passed", (), tuple(caught), chance, categories_left_out(self.scores.judged))

    def _gates(
        self, pairs: Sequence[tuple[Scores, Scores | None]], rules: Sequence[Rule], *, foreseeing: bool = False
    ) -> list[Gate]:
        """What becomes of candidates against baselines; what could be seen is the same in all trials, and asked once."""
        tables = [[each for each in pair if each is not None] for pair in pairs]
        names = unique_names(tables[0])
        held = names[1] if len(names) > 1 else None
        evidence = [
            Evidence(dict(zip(names, table, strict=True)), held, self.missing_baseline, foreseeing=foreseeing) for table in tables
        ]
        return check_gates(evidence, rules, self.options)

    def _tried(self, worse: _Worse, masks: Sequence[Mask]) -> list[Gate]:
        """The gate on mixed runs; every rule gets one with as much of the mutated answers in it as it looks at."""
        found: dict[int, Iterable[RuleResult]] = {}
        reads = [reads_of(rule) for rule in self.rules]
        for kind in dict.fromkeys(reads):
            places = [place for place, each in enumerate(reads) if each == kind]
            pairs = [(worse.mixed(mask, kind), self.baseline) for mask in masks]
            gates = self._gates(pairs, [self.rules[place] for place in places])
            found |= zip(places, zip(*(gate.rules for gate in gates), strict=True), strict=True)
        return [gate_of(results) for results in zip(*(found[place] for place in sorted(found)), strict=True)]

    def _caught(self, mutation: Mutation, before: Gate) -> Caught:
        possible = len(mutation.rows)
        if not possible:
            return Caught(mutation.name, 0, None, None, "no case can be changed in this way")
        worse = _Worse(self.scores, mutation, self.seed, _named_cases(self.rules))
        first = None
        # From the largest on: a size counts only if all that are larger are caught as well.
        for size in sorted({max(1, round(amount * possible)) for amount in AMOUNTS}, reverse=True):
            if self._share_caught(worse, size) < OFTEN:
                break
            first = size
        if first is None:
            return Caught(mutation.name, possible, None, None, _why_not(before, self._tried(worse, [worse.all()])[0]))
        return Caught(mutation.name, possible, first / possible, first, "")

    def _share_caught(self, worse: _Worse, size: int) -> float:
        trials = 1 if size == len(worse.rows) else TRIALS
        generator = np.random.default_rng([self.seed, size])
        gates = self._tried(worse, [worse.chosen(size, generator) for _ in range(trials)])
        return sum(gate.verdict != "passed" for gate in gates) / trials

    def _by_chance(self, mutations: Sequence[Mutation], trials: int) -> Chance | None:
        rules = [rule for rule in self.rules if isinstance(rule, RelativeRule)]
        shuffle = next((each for each in mutations if each.exchanged), None)
        if not rules or shuffle is None:
            return None
        worse, generator = _Worse(self.scores, shuffle, self.seed), np.random.default_rng(self.seed)
        proofs = [rule.policy == "non-inferior" for rule in rules]
        red = not_shown = 0
        for start in range(0, trials, TOGETHER):
            masks = (generator.random(len(self.scores.values)) < HALF for _ in range(start, min(trials, start + TOGETHER)))
            for gate in self._gates([_exchanged(worse, mask) for mask in masks], rules):
                failed = [result.verdict == "failed" for result in gate.rules]
                not_shown += any(bad and proof for bad, proof in zip(failed, proofs, strict=True))
                red += any(bad and not proof for bad, proof in zip(failed, proofs, strict=True))
        return Chance(trials, None if all(proofs) else red, not_shown if any(proofs) else None)


def reads_of(rule: Rule) -> Reads:
    """What a rule looks at; of one that is not known it could be anything."""
    if isinstance(rule, PinRule | KnownFailureRule):
        return "answers"
    by_value = isinstance(rule, RelativeRule | EachCaseRule) or (
        isinstance(rule, NumberRule)
        and not isinstance(rule.quantity, AtOwnK)
        and all(measure.per_case for measure in rule.measures)
    )
    return "values" if by_value else "hits"


def _named_cases(rules: Iterable[Rule]) -> frozenset[str]:
    pins = (rule.pin.case for rule in rules if isinstance(rule, PinRule))
    return frozenset(pins) | {rule.failure.case for rule in rules if isinstance(rule, KnownFailureRule)}


def _exchanged(worse: _Worse, mask: Mask) -> tuple[Scores, Scores]:
    """A run and its mutated copy after these cases were exchanged, the second as the baseline."""
    other = worse.mixed(~mask)
    return worse.mixed(mask), _as_baseline(other)


def _as_baseline(scores: Scores) -> Scores:
    run = named_baseline(scores.judged.run).run or scores.judged.run
    return Scores(replace(scores.judged, run=run), scores.measures, scores.values)


class _Worse:
    """A run and its mutated copy, to be mixed case by case; ``named`` are the cases that rules look at by name."""

    def __init__(self, scores: Scores, mutation: Mutation, seed: int, named: frozenset[str] = frozenset()) -> None:
        self._scores, self._named = scores, named
        self.rows = np.array(mutation.rows, np.intp)
        self._answers = list(scores.judged.run.answers)
        ids = scores.judged.suite.table.ids
        changed = mutated_answers(scores.judged, mutation, np.random.default_rng([seed, 1]))
        self._changed = {ids[row]: (row, answer) for row, answer in changed.items()}
        self._mutated = score(judge(scores.judged.suite, self._run(self.all())), scores.measures)

    def chosen(self, size: int, generator: np.random.Generator) -> Mask:
        mask = np.zeros(len(self._scores.values), bool)
        mask[generator.choice(self.rows, size, replace=False)] = True
        return mask

    def all(self) -> Mask:
        mask = np.zeros(len(self._scores.values), bool)
        mask[self.rows] = True
        return mask

    def mixed(self, mask: Mask, reads: Reads = "values") -> Scores:
        """The run in which these cases have the mutated answer, as far as it is read."""
        before, after = self._scores, self._mutated
        values = np.where(mask[:, None], after.values, before.values)
        if reads == "hits":
            return Scores(judge(before.judged.suite, self._run(mask)), before.measures, values)
        status = np.where(mask, after.judged.status, before.judged.status)
        run = self._run(mask, self._named) if reads == "answers" else before.judged.run
        return Scores(replace(before.judged, status=status, run=run), before.measures, values)

    def _run(self, mask: Mask, cases: frozenset[str] | None = None) -> Run:
        """The mixed run, or these cases of it: to build all of a large run in every trial would take hours."""
        run = self._scores.judged.run
        kept = (self._answer(each, mask) for each in self._answers if cases is None or each.case in cases)
        return Run.from_answers(run.label, kept, provenance=run.provenance)

    def _answer(self, answer: Answer, mask: Mask) -> Answer:
        row, changed = self._changed.get(answer.case, (0, None))
        return answer if changed is None or not mask[row] else changed


def _why_not(before: Gate, after: Gate) -> str:
    """Why a gate is as content with the worst as with the run itself."""
    changed = [(old, new) for old, new in zip(before.rules, after.rules, strict=True) if old.actual != new.actual]
    if not changed:
        return "no number of this gate changes"
    more = len(changed) - REASONS_SHOWN
    others = [f"and {more} more {'rule' if more == 1 else 'rules'} likewise"] if more > 0 else []
    return "; ".join([*(_still(old, new) for old, new in changed[:REASONS_SHOWN]), *others])


def _still(old: RuleResult, new: RuleResult) -> str:
    before, after = (f"{each:.4g}" if isinstance(each, float) else str(each) for each in (old.actual, new.actual))
    if new.bound in POLICIES:
        return f"{new.subject} changes by {after}, which these cases cannot show"
    if isinstance(new.expected, str):
        return f"{new.subject} goes from {before} to {after}, and still passes"
    return f"{new.subject} goes from {before} to {after}, and is still {new.bound.replace('_', ' ')} {new.expected:.12g}"
