"""Can this gate fail? Copies of a run get worse by growing amounts until it notices. Does it fail for no reason?

A mutation happens to one case at a time, so its effect on every case is computed once; a trial then only chooses which cases
it has happened to. False alarms are counted on pairs that differ by chance alone: the answers of the run and of a
mutated copy are exchanged case by case, at random, so that neither side is the better one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from searchmark.analysis.comparison import unique_names
from searchmark.analysis.scores import Scores, score
from searchmark.gates.baselines import named_baseline
from searchmark.gates.mutations import Mutation, mutated_answers, mutations_of
from searchmark.gates.pins import KnownFailureRule, PinRule
from searchmark.gates.relative import RelativeRule
from searchmark.gates.rules import Evidence, Gate, GateVerdict, Rule, RuleResult, check_gates
from searchmark.judging.judge import judge
from searchmark.options.compare_options import CompareOptions
from searchmark.options.gate_options import POLICIES
from searchmark.records import Run

AMOUNTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
TRIALS = 20
OFTEN = 0.8  # caught in so many trials counts as caught
ALARM_TRIALS = 1000
TOGETHER = 100  # trials that are worked out at once
HALF = 0.5
Mask = NDArray[np.bool_]


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
    """What a gate can see. ``verdict`` is that on the run as it is."""

    verdict: GateVerdict
    caught: tuple[Caught, ...]
    chance: Chance | None


def self_test(
    scores: Scores,
    rules: Sequence[Rule],
    baseline: Scores | None = None,
    options: CompareOptions = CompareOptions(),
    *,
    seed: int = 0,
    alarm_trials: int = ALARM_TRIALS,
    on_progress: Callable[[str], None] = lambda _: None,
) -> SelfTest:
    """Try a gate on copies of a run; without a ``baseline`` the run itself is the baseline."""
    return _Trials(scores, rules, baseline, options, seed).result(alarm_trials, on_progress)


class _Trials:
    def __init__(self, scores: Scores, rules: Sequence[Rule], baseline: Scores | None, options: CompareOptions, seed: int) -> None:
        self._scores, self._rules, self._options, self._seed = scores, rules, options, seed
        self._baseline = _as_baseline(scores) if baseline is None else baseline
        self._looks_at_hits = any(isinstance(rule, PinRule | KnownFailureRule) for rule in rules)

    def result(self, alarm_trials: int, on_progress: Callable[[str], None]) -> SelfTest:
        found = self._gate(self._scores)
        caught = []
        for mutation in mutations_of(self._scores.judged):
            on_progress(mutation.name)
            caught.append(self._caught(mutation, found))
        on_progress("false alarms")
        return SelfTest(found.verdict, tuple(caught), self._by_chance(alarm_trials))

    def _gate(self, scores: Scores) -> Gate:
        return self._gates([(scores, self._baseline)], self._rules, foreseeing=True)[0]

    def _gates(self, pairs: Sequence[tuple[Scores, Scores]], rules: Sequence[Rule], *, foreseeing: bool = False) -> list[Gate]:
        """What becomes of candidates against baselines; what could be seen is the same in all trials, and asked once."""
        names = unique_names(pairs[0])
        evidence = [Evidence(dict(zip(names, pair, strict=True)), names[1], foreseeing=foreseeing) for pair in pairs]
        return check_gates(evidence, rules, self._options)

    def _caught(self, mutation: Mutation, before: Gate) -> Caught:
        if not mutation.rows:
            return Caught(mutation.name, 0, None, None, "no case can be changed in this way")
        worse = _Worse(self._scores, mutation, self._seed, with_hits=self._looks_at_hits)
        sizes = sorted({max(1, round(amount * len(mutation.rows))) for amount in AMOUNTS})
        caught = [self._share_caught(worse, size) >= OFTEN for size in sizes]
        if not caught[-1]:
            return Caught(mutation.name, len(mutation.rows), None, None, _why_not(before, self._gate(worse.all())))
        first = next(place for place in range(len(sizes)) if all(caught[place:]))
        return Caught(mutation.name, len(mutation.rows), sizes[first] / len(mutation.rows), sizes[first], "")

    def _share_caught(self, worse: _Worse, size: int) -> float:
        trials = 1 if size == len(worse.rows) else TRIALS
        generator = np.random.default_rng([self._seed, size])
        mixed = [worse.mixed(worse.chosen(size, generator)) for _ in range(trials)]
        gates = self._gates([(each, self._baseline) for each in mixed], self._rules)
        return sum(gate.verdict != "passed" for gate in gates) / trials

    def _by_chance(self, trials: int) -> Chance | None:
        rules = [rule for rule in self._rules if isinstance(rule, RelativeRule)]
        shuffle = next((each for each in mutations_of(self._scores.judged) if each.exchanged), None)
        if not rules or shuffle is None:
            return None
        worse, generator = _Worse(self._scores, shuffle, self._seed, with_hits=False), np.random.default_rng(self._seed)
        proofs = [rule.policy == "non-inferior" for rule in rules]
        red = not_shown = 0
        for start in range(0, trials, TOGETHER):
            masks = (generator.random(len(self._scores.values)) < HALF for _ in range(start, min(trials, start + TOGETHER)))
            for gate in self._gates([_exchanged(worse, mask) for mask in masks], rules):
                failed = [result.verdict == "failed" for result in gate.rules]
                not_shown += any(bad and proof for bad, proof in zip(failed, proofs, strict=True))
                red += any(bad and not proof for bad, proof in zip(failed, proofs, strict=True))
        return Chance(trials, None if all(proofs) else red, not_shown if any(proofs) else None)


def _exchanged(worse: _Worse, mask: Mask) -> tuple[Scores, Scores]:
    """A run and its mutated copy after these cases were exchanged, the second as the baseline."""
    other = worse.mixed(~mask)
    return worse.mixed(mask), _as_baseline(other)


def _as_baseline(scores: Scores) -> Scores:
    run = named_baseline(scores.judged.run).run or scores.judged.run
    return Scores(replace(scores.judged, run=run), scores.measures, scores.values)


class _Worse:
    """A run and its mutated copy, to be mixed case by case."""

    def __init__(self, scores: Scores, mutation: Mutation, seed: int, *, with_hits: bool) -> None:
        self._scores, self._with_hits = scores, with_hits
        self.rows = np.array(mutation.rows, np.intp)
        self._answers = mutated_answers(scores.judged, mutation, np.random.default_rng([seed, 1]))
        self._mutated = score(judge(scores.judged.suite, self._run(self._answers)), scores.measures)

    def chosen(self, size: int, generator: np.random.Generator) -> Mask:
        mask = np.zeros(len(self._scores.values), bool)
        mask[generator.choice(self.rows, size, replace=False)] = True
        return mask

    def all(self) -> Scores:
        mask = np.zeros(len(self._scores.values), bool)
        mask[self.rows] = True
        return self.mixed(mask)

    def mixed(self, mask: Mask) -> Scores:
        """The run in which these cases have the mutated answer."""
        before, after = self._scores, self._mutated
        values = np.where(mask[:, None], after.values, before.values)
        status = np.where(mask, after.judged.status, before.judged.status)
        run = (
            self._run({row: answer for row, answer in self._answers.items() if mask[row]}) if self._with_hits else before.judged.run
        )
        return Scores(replace(before.judged, status=status, run=run), before.measures, values)

    def _run(self, answers: Mapping[int, object]) -> Run:
        run, index = self._scores.judged.run, self._scores.judged.suite.table.index
        kept = [answers.get(index[answer.case], answer) if answer.case in index else answer for answer in run.answers]
        return Run.from_answers(run.label, kept, provenance=run.provenance)  # type: ignore[arg-type]  # answers all of them


def _why_not(before: Gate, after: Gate) -> str:
    """Why a gate is as content with the worst as with the run itself."""
    changed = [(old, new) for old, new in zip(before.rules, after.rules, strict=True) if old.actual != new.actual]
    if not changed:
        return "no number of this gate changes"
    return "; ".join(_still(old, new) for old, new in changed)


def _still(old: RuleResult, new: RuleResult) -> str:
    before, after = (f"{each:.4g}" if isinstance(each, float) else str(each) for each in (old.actual, new.actual))
    if new.bound in POLICIES:
        return f"{new.subject} changes by {after}, which these cases cannot show"
    return f"{new.subject} goes from {before} to {after}, and is still {new.bound.replace('_', ' ')} {new.expected}"
