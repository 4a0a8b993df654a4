"""Whether a gate can fail: copies of a run get worse until it notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from searchmark.config.gates import GATE_POLICIES, CompareSettings
from searchmark.gates.baselines import NO_BASELINE, named_baseline
from searchmark.gates.bounds import NumberRule, RelativeRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.quantities import AtOwnK
from searchmark.gates.rules import Evidence, Gate, GateVerdict, Rule, RuleResult, check_gates, gate_of_results
from searchmark.records.answers import Answer, Hit
from searchmark.records.run import Run
from searchmark.scoring.comparison import unique_names
from searchmark.scoring.match import MatchedRun, match_hits, target_ranks
from searchmark.scoring.scores import Scores, score

# Ways in which search gets worse, case by case: what a gate should notice.

MOST_CATEGORIES = 10  # that are emptied, each on its own

Change = Callable[[Answer, frozenset[int], np.random.Generator], Answer]


@dataclass(frozen=True)
class Mutation:
    """A way to get worse."""

    name: str
    change: Change  # of an answer, given the ranks of its relevant hits
    rows: tuple[int, ...]  # the cases that it can happen to
    exchanged: bool = False  # case by case, to see what chance alone does


def mutations_of(matched: MatchedRun) -> Iterator[Mutation]:
    """Every mutation that this run can undergo."""
    rows = tuple(row for row, case in enumerate(matched.suite.table.ids) if case in matched.run.index)
    yield Mutation("relevant hits dropped", _remove_relevant, rows)
    yield Mutation("first two results swapped", _swap_first_two, rows)
    yield Mutation("order of the results shuffled", _shuffle, rows, exchanged=True)
    yield Mutation("agent dead", _fail, rows)
    categories = matched.suite.table.categories or ()
    for category in sorted(_by_size(matched)[:MOST_CATEGORIES]):
        yield Mutation(f"category {category} emptied", _empty, tuple(row for row in rows if categories[row] == category))


def categories_left_out(matched: MatchedRun) -> int:
    """How many categories are too many to be emptied one by one."""
    return max(0, len(_by_size(matched)) - MOST_CATEGORIES)


def _by_size(matched: MatchedRun) -> list[str]:
    """The categories, the largest first."""
    counts = Counter(each for each in matched.suite.table.categories or () if each)
    return sorted(counts, key=lambda category: (-counts[category], category))


def mutated_answers(matched: MatchedRun, mutation: Mutation, generator: np.random.Generator) -> dict[int, Answer]:
    """The answers to all cases that the mutation can happen to, after it has happened, by the row of the case."""
    run, ids = matched.run, matched.suite.table.ids
    answers = {}
    for row in mutation.rows:
        relevant = frozenset(rank for rank in target_ranks(matched, row).values() if rank is not None)
        answers[row] = mutation.change(run.answer(run.index[ids[row]]), relevant, generator)
    return answers


def _remove_relevant(answer: Answer, relevant: frozenset[int], _: np.random.Generator) -> Answer:
    return _with_hits(answer, [hit for hit in answer.hits if hit.rank not in relevant])


def _swap_first_two(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return _with_hits(answer, [*answer.hits[1:2], *answer.hits[:1], *answer.hits[2:]])


def _shuffle(answer: Answer, _: frozenset[int], generator: np.random.Generator) -> Answer:
    return _with_hits(answer, [answer.hits[place] for place in generator.permutation(len(answer.hits)).tolist()])


def _empty(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return _with_hits(answer, [])


def _fail(answer: Answer, _: frozenset[int], __: np.random.Generator) -> Answer:
    return replace(answer, status="error", hits=())


def _with_hits(answer: Answer, hits: Sequence[Hit]) -> Answer:
    """The answer with other hits, renumbered; scores would contradict a new order, and stay with their ranks."""
    scores = [hit.score for hit in answer.hits]
    new_hits = tuple(replace(hit, rank=rank, score=scores[rank - 1]) for rank, hit in enumerate(hits, 1))
    return replace(answer, hits=new_hits, status=answer.status if new_hits or answer.status != "ok" else "empty")


# Can this gate fail? Copies of a run get worse by growing amounts until it notices. And how often does it fail for no reason?
#
# A mutation happens to one case at a time, so its effect on every case is computed once; a trial then only chooses which
# cases it has happened to. False alarms are counted on pairs that differ by chance alone: the answers of the run and of a
# mutated copy are exchanged case by case, at random, so that neither side is the better one.

AMOUNTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)

TRIALS = 20

OFTEN = 0.8  # share of trials in which a mutation must be caught

ALARM_TRIALS = 1000

TRIALS_AT_ONCE = 100  # trials that are worked out at once

EXCHANGED_SHARE = 0.5

REASONS_SHOWN = 3

Mask = NDArray[np.bool_]


# What a rule looks at: the values of measures, the answers to cases that it names, or the hits of any case.
Reads = Literal["values", "answers", "hits"]


@dataclass(frozen=True)
class DetectionPoint:
    """When a gate notices a mutation."""

    mutation: str
    possible: int  # cases that it can happen to
    share: float | None  # of these from which on it is caught; None if it never is
    cases: int | None  # how many that is
    reason: str  # why it is never caught


@dataclass(frozen=True)
class FalseAlarmRate:
    """How often rules that compare are red on pairs that differ by chance alone; None where no rule is of the kind."""

    trials: int
    red: int | None  # false alarms of rules that must show harm
    not_shown: int | None  # failures of rules that must show its absence


@dataclass(frozen=True)
class SelfTest:
    """What a gate can see."""

    verdict: GateVerdict  # on the run as it is; unless it is passed, nothing is tried
    reasons: tuple[str, ...] = ()  # why it is not passed
    caught: tuple[DetectionPoint, ...] = ()
    chance: FalseAlarmRate | None = None  # false alarms
    left_out: int = 0  # categories that were not tried


def self_test(
    scores: Scores,
    rules: Sequence[Rule],
    baseline: Scores | None = None,
    options: CompareSettings = CompareSettings(),
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
    options: CompareSettings
    missing_baseline: str
    seed: int

    def result(self, alarm_trials: int, on_progress: Callable[[str], None]) -> SelfTest:
        (gate,) = self._gates([(self.scores, self.baseline)], self.rules, foreseeing=True)
        if gate.verdict != "passed":
            return SelfTest(gate.verdict, tuple(each.message for each in gate.rules if each.verdict != "passed"))
        mutations = list(mutations_of(self.scores.matched))
        points = []
        for number, mutation in enumerate(mutations, 1):
            on_progress(f"{number} of {len(mutations)}: {mutation.name}")
            points.append(self._detection_point(mutation, gate))
        on_progress("false alarms")
        chance = self._by_chance(mutations, alarm_trials)
        return SelfTest("passed", (), tuple(points), chance, categories_left_out(self.scores.matched))

    def _gates(
        self, pairs: Sequence[tuple[Scores, Scores | None]], rules: Sequence[Rule], *, foreseeing: bool = False
    ) -> list[Gate]:
        """The gates of candidates against baselines; what could be seen is the same in all trials, and only worked out once."""
        tables = [[each for each in pair if each is not None] for pair in pairs]
        names = unique_names(tables[0])
        baseline = names[1] if len(names) > 1 else None
        evidence = [
            Evidence(dict(zip(names, table, strict=True)), baseline, self.missing_baseline, foreseeing=foreseeing)
            for table in tables
        ]
        return check_gates(evidence, rules, self.options)

    def _gates_on_mixes(self, worse: _WorseRun, masks: Sequence[Mask]) -> list[Gate]:
        """The gate on mixed runs; every rule gets one with as much of the mutated answers in it as it looks at."""
        by_place: dict[int, Iterable[RuleResult]] = {}
        reads = [reads_of(rule) for rule in self.rules]
        for kind in dict.fromkeys(reads):
            places = [place for place, each in enumerate(reads) if each == kind]
            pairs = [(worse.mixed(mask, kind), self.baseline) for mask in masks]
            gates = self._gates(pairs, [self.rules[place] for place in places])
            by_place |= zip(places, zip(*(gate.rules for gate in gates), strict=True), strict=True)
        return [gate_of_results(results) for results in zip(*(by_place[place] for place in sorted(by_place)), strict=True)]

    def _detection_point(self, mutation: Mutation, before: Gate) -> DetectionPoint:
        possible = len(mutation.rows)
        if not possible:
            return DetectionPoint(mutation.name, 0, None, None, "no case can be changed in this way")
        worse = _WorseRun(self.scores, mutation, self.seed, _named_cases(self.rules))
        first = None
        # From the largest on: a size counts only if all that are larger are caught as well.
        for size in sorted({max(1, round(amount * possible)) for amount in AMOUNTS}, reverse=True):
            if self._share_caught(worse, size) < OFTEN:
                break
            first = size
        if first is None:
            return DetectionPoint(
                mutation.name, possible, None, None, _why_not_caught(before, self._gates_on_mixes(worse, [worse.all()])[0])
            )
        return DetectionPoint(mutation.name, possible, first / possible, first, "")

    def _share_caught(self, worse: _WorseRun, size: int) -> float:
        trials = 1 if size == len(worse.rows) else TRIALS
        generator = np.random.default_rng([self.seed, size])
        gates = self._gates_on_mixes(worse, [worse.chosen(size, generator) for _ in range(trials)])
        return sum(gate.verdict != "passed" for gate in gates) / trials

    def _by_chance(self, mutations: Sequence[Mutation], trials: int) -> FalseAlarmRate | None:
        rules = [rule for rule in self.rules if isinstance(rule, RelativeRule)]
        shuffle = next((each for each in mutations if each.exchanged), None)
        if not rules or shuffle is None:
            return None
        worse, generator = _WorseRun(self.scores, shuffle, self.seed), np.random.default_rng(self.seed)
        proofs = [rule.policy == "non-inferior" for rule in rules]
        red = not_shown = 0
        for start in range(0, trials, TRIALS_AT_ONCE):
            masks = (
                generator.random(len(self.scores.values)) < EXCHANGED_SHARE
                for _ in range(start, min(trials, start + TRIALS_AT_ONCE))
            )
            for gate in self._gates([_exchange(worse, mask) for mask in masks], rules):
                failed = [result.verdict == "failed" for result in gate.rules]
                not_shown += any(bad and proof for bad, proof in zip(failed, proofs, strict=True))
                red += any(bad and not proof for bad, proof in zip(failed, proofs, strict=True))
        return FalseAlarmRate(trials, None if all(proofs) else red, not_shown if any(proofs) else None)


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


def _exchange(worse: _WorseRun, mask: Mask) -> tuple[Scores, Scores]:
    """A run and its mutated copy after these cases were exchanged, the second as the baseline."""
    other = worse.mixed(~mask)
    return worse.mixed(mask), _as_baseline(other)


def _as_baseline(scores: Scores) -> Scores:
    run = named_baseline(scores.matched.run).run or scores.matched.run
    return Scores(replace(scores.matched, run=run), scores.measures, scores.values)


class _WorseRun:
    """A run and its mutated copy, to be mixed case by case; ``named`` are the cases that rules look at by name."""

    def __init__(self, scores: Scores, mutation: Mutation, seed: int, named: frozenset[str] = frozenset()) -> None:
        self._scores, self._named = scores, named
        self.rows = np.array(mutation.rows, np.intp)
        self._answers = list(scores.matched.run.answers)
        ids = scores.matched.suite.table.ids
        worse_answers = mutated_answers(scores.matched, mutation, np.random.default_rng([seed, 1]))
        self._worse_answers = {ids[row]: (row, answer) for row, answer in worse_answers.items()}
        self._mutated = score(match_hits(scores.matched.suite, self._run(self.all())), scores.measures)

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
            return Scores(match_hits(before.matched.suite, self._run(mask)), before.measures, values)
        status = np.where(mask, after.matched.status, before.matched.status)
        run = self._run(mask, self._named) if reads == "answers" else before.matched.run
        return Scores(replace(before.matched, status=status, run=run), before.measures, values)

    def _run(self, mask: Mask, cases: frozenset[str] | None = None) -> Run:
        """The mixed run, or these cases of it: to build all of a large run in every trial would take hours."""
        run = self._scores.matched.run
        answers = (self._answer(each, mask) for each in self._answers if cases is None or each.case in cases)
        return Run.from_answers(run.label, answers, provenance=run.provenance)

    def _answer(self, answer: Answer, mask: Mask) -> Answer:
        row, worse_answer = self._worse_answers.get(answer.case, (0, None))
        return answer if worse_answer is None or not mask[row] else worse_answer


def _why_not_caught(before: Gate, after: Gate) -> str:
    """Why a gate is as content with the worst as with the run itself."""
    changes = [(old, new) for old, new in zip(before.rules, after.rules, strict=True) if old.actual != new.actual]
    if not changes:
        return "no number of this gate changes"
    more = len(changes) - REASONS_SHOWN
    others = [f"and {more} more {'rule' if more == 1 else 'rules'} likewise"] if more > 0 else []
    return "; ".join([*(_why_still_passed(old, new) for old, new in changes[:REASONS_SHOWN]), *others])


def _why_still_passed(old: RuleResult, new: RuleResult) -> str:
    before, after = (f"{each:.4g}" if isinstance(each, float) else str(each) for each in (old.actual, new.actual))
    if new.bound in GATE_POLICIES:
        return f"{new.subject} changes by {after}, which these cases cannot show"
    if isinstance(new.expected, str):
        return f"{new.subject} goes from {before} to {after}, and still passes"
    return f"{new.subject} goes from {before} to {after}, and is still {new.bound.replace('_', ' ')} {new.expected:.12g}"
