"""Which share of all rankings a gate would let pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from math import perm, prod

import numpy as np

from searchmark.audit.check import AuditCell, AuditTable, Subject, check, once_per_subject
from searchmark.config.gates import NumberBound
from searchmark.gates.baselines import FixtureRule, row_of
from searchmark.gates.bounds import NumberRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.quantities import ROUNDING, AtOwnK, MeanOf, Rows, is_within, rows_of
from searchmark.gates.rules import AttainableValues, Rule
from searchmark.measures.grammar import AnyMeasure, parse_measure, undefined_cases
from searchmark.measures.hits import NEVER, Pool
from searchmark.records.columns import Bools, Floats, Ints
from searchmark.records.finding import GATE, Finding, FindingKind, finding
from searchmark.records.matching import normal_path
from searchmark.records.sentences import list_first, plain_count
from searchmark.records.suite import Suite
from searchmark.scoring.limits import can_be_drawn, regraded
from searchmark.scoring.statistics import SHOWN_LEVEL, binomial_tail, proportion_limits

# Rules of a gate that are about a mean: which one it is, of which cases, and whether a ranking can meet it.


def mean_of_rule(rule: Rule, suite: Suite) -> tuple[MeanOf | AtOwnK, Rows] | None:
    """The mean that a rule is about, and of which cases."""
    if isinstance(rule, FixtureRule):
        row = row_of(suite, rule.fixture)
        return None if row is None else (AtOwnK(rule.metric, (rule.fixture,)), np.array([row], np.intp))
    if isinstance(rule, NumberRule) and isinstance(rule.quantity, MeanOf | AtOwnK):
        rows = rows_of(suite, rule.segment)
        return None if rows is None else (rule.quantity, rows)
    return None


def bound_of_rule(rule: FixtureRule | NumberRule) -> tuple[NumberBound, float]:
    return ("at_least", rule.threshold) if isinstance(rule, FixtureRule) else (rule.bound, rule.expected)


def out_of_reach(rule: Rule, limits: AttainableValues) -> bool:
    """Whether it is known that no ranking meets the lowest mean that a rule asks for."""
    mean = mean_of_rule(rule, limits.suite)
    if mean is None or not isinstance(rule, FixtureRule | NumberRule):
        return False
    (bound, expected), best = bound_of_rule(rule), limits.highest(*mean)
    return bound in ("at_least", "above") and best is not None and not is_within(bound, best, expected)


# All rankings of the documents of every case where there are few, and random ones where there are many.
#
# The key documents of a case are its targets and the documents that are pinned there. Their ranks decide on every measure, so
# that of N documents with t key documents only N! / (N - t)! rankings differ.

MOST_LISTED = 720  # rankings of a case that are listed: all of six documents
DRAWS = 400
FEWEST_DRAWS = 20  # four of them must pass for more than 5 % to be shown
MOST_DRAWN = 4_000_000  # ranks, in all draws together: 100 draws of 40,000 targets


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of every case, all of them equally likely."""

    pool: Pool  # what there is to rank
    documents: Ints  # how many each case ranks
    tracked: Mapping[int, Sequence[str]]  # pinned documents by case

    @cached_property
    def counts(self) -> list[int]:
        """In how many ways the key documents can be ranked, by case."""
        return [perm(count, len(self._key_documents[case])) for case, count in enumerate(self.documents.tolist())]

    @cached_property
    def listed(self) -> Bools:
        """Cases whose rankings are all listed."""
        return np.array([count <= MOST_LISTED for count in self.counts], bool)

    @cached_property
    def draws(self) -> int:
        """How many rankings of the other cases are drawn."""
        ranks = sum(len(each) for each, listed in zip(self._key_documents, self.listed, strict=True) if not listed)
        return max(FEWEST_DRAWS, min(DRAWS, MOST_DRAWN // max(1, ranks)))

    def many(self, case: int) -> int:
        """How many rankings of a case there are here."""
        return self.counts[case] if self.listed[case] else self.draws

    def values(self, measure: AnyMeasure, pool: Pool | None = None) -> Floats:
        """The values of a measure, a row per ranking and a column per case, NaN below the last one of a case.

        ``pool`` may have other grades.
        """
        graded_pool = pool or self.pool
        undefined = undefined_cases(measure, graded_pool.traits)
        values = np.stack([measure.compute(graded_pool.ranked(rank, self.documents)) for rank in self._ranks])
        values[:, undefined] = np.nan
        return values

    def rank_of(self, case: int, document: str) -> Ints:
        """The rank of a tracked document in each of the rankings; one that is not among the documents is below all."""
        documents = self._key_documents[case]
        if document not in documents:
            return np.full(self.many(case), NEVER, np.int64)
        return self._orders[case][:, documents.index(document)]

    @cached_property
    def _ranks(self) -> Ints:
        """The ranks of the targets, a row per ranking and a column per judgment; a case with fewer of them has each again."""
        rows = max(map(len, self._orders), default=0)
        ranks = np.zeros((rows, len(self.pool.drawn)), np.int64)
        for case, order in enumerate(self._orders):
            targets = self._targets(case)
            ranks[:, list(targets.values())] = np.resize(order[:, : len(targets)], (rows, len(targets)))
        return ranks

    @cached_property
    def _orders(self) -> list[Ints]:
        """By case the ranks of the key documents, a row per ranking."""
        generator, orders = np.random.default_rng(0), list[Ints]()
        for case, (documents, keys) in enumerate(zip(self.documents.tolist(), self._key_documents, strict=True)):
            if self.listed[case]:  # without key documents there is one ranking
                orders.append(np.array(list(permutations(range(1, documents + 1), len(keys))), np.int64))
                orders[-1] = orders[-1].reshape(self.counts[case], len(keys))
            else:
                orders.append(_draw_ranks(documents, len(keys), self.draws, generator))
        return orders

    @cached_property
    def _key_documents(self) -> list[list[str]]:
        return [list(dict.fromkeys([*self._targets(case), *self.tracked.get(case, ())])) for case in range(len(self.documents))]

    def _targets(self, case: int) -> dict[str, int]:
        """The judgments of a case that documents can meet, by target."""
        start, end = self.pool.suite.judgments.starts[case : case + 2].tolist()
        return {self.pool.suite.judgments.targets[row]: row for row in range(start, end) if self.pool.drawn[row]}


def _draw_ranks(documents: int, size: int, draws: int, generator: np.random.Generator) -> Ints:
    """Different ranks in every row."""
    if size * size > documents:
        return np.stack([generator.choice(documents, size, replace=False) for _ in range(draws)]) + 1
    # Few ranks of many documents rarely collide: only rows with equal ranks are drawn again.
    ranks = generator.integers(1, documents + 1, (draws, size))
    while len(again := np.flatnonzero((np.diff(np.sort(ranks, axis=1), axis=1) == 0).any(axis=1))):
        ranks[again] = generator.integers(1, documents + 1, (len(again), size))
    return ranks


# Rules of a gate that rankings decide on, as values of every ranking of every case.

_SIGN: dict[NumberBound, tuple[int, float]] = {
    "at_least": (1, -ROUNDING),
    "above": (1, ROUNDING),
    "at_most": (-1, -ROUNDING),
    "below": (-1, ROUNDING),
}


@dataclass(frozen=True, eq=False)
class RankedRule:
    """A bound on the mean of some cases, or on each of them, with its value for every ranking."""

    name: str  # the rule
    rows: Rows  # the cases
    values: Floats  # a row per ranking and a column per case
    bound: NumberBound
    expected: float
    each: bool = False  # whether it bounds every case, and not their mean
    out_of_reach: bool = False  # met by no ranking, whether these are listed or drawn

    def met(self, values: Floats) -> Bools:
        """Which of some values, a row per suite of rankings and a column per case, meet the rule."""
        sign, least = _SIGN[self.bound]
        if self.each:
            return np.asarray((np.isnan(values) | (sign * (values - self.expected) >= least)).all(axis=1))
        defined = ~np.isnan(values)
        counts = defined.sum(axis=1)
        means = np.where(defined, values, 0.0).sum(axis=1) / np.maximum(1, counts)
        return np.asarray((counts > 0) & (sign * (means - self.expected) >= least))

    @property
    def by_case(self) -> bool:
        """Whether every case decides on its own."""
        return self.each or len(self.rows) == 1


def rankings_of(rules: Sequence[Rule], pool: Pool, ids: Set[str] | None) -> Rankings | None:
    """What rankings there are, with the documents that rules pin; None if it is not known what is ranked."""
    if pool.documents is None or pool.parts.any() or not pool.traits[0].all():
        return None
    pinned_documents: dict[int, list[str]] = {}
    own = pool.suite.table.documents
    for pin in (pin for rule in rules for pin in _pins_of(rule)):
        row = pool.suite.table.index.get(pin.pin.case)
        if row is not None:
            document_ids = {each.id for each in own[row]} if own is not None and own[row] else ids or frozenset()
            pinned_documents.setdefault(row, []).extend(name for name in map(normal_path, pin.targets) if name in document_ids)
    return Rankings(pool, pool.documents, pinned_documents)


def _pins_of(rule: Rule) -> Sequence[PinRule]:
    return (rule,) if isinstance(rule, PinRule) else rule.pins if isinstance(rule, KnownFailureRule) else ()


def ranked_rule(rule: Rule, rankings: Rankings) -> RankedRule | None:
    """A rule as values of rankings; None if something else decides on it, or if rankings do not say it all."""
    table = rankings.pool.suite.table
    if isinstance(rule, FixtureRule | NumberRule):
        mean = mean_of_rule(rule, rankings.pool.suite)
        values = None if mean is None else _values(*mean, rankings)
        return None if mean is None or values is None else RankedRule(rule.name, mean[1], values, *bound_of_rule(rule))
    if isinstance(rule, EachCaseRule):
        rows = np.array([row for row, case in enumerate(table.ids) if case not in rule.exempt], np.intp)
        values = _measured(rule.measure, rankings, rows) if len(rows) else None
        return None if values is None else RankedRule(rule.name, rows, values, "at_least", rule.expected, each=True)
    return _single(rule, rankings) if isinstance(rule, PinRule | KnownFailureRule) else None


def _values(quantity: MeanOf | AtOwnK, rows: Rows, rankings: Rankings) -> Floats | None:
    if isinstance(quantity, MeanOf):
        return _measured(quantity.measure, rankings, rows)
    suite, measures = quantity.as_measures(rankings.pool.suite, rows)
    if any(row not in measures for row in rows.tolist()):
        return None
    pool = regraded(rankings.pool, suite)
    values = {measure: rankings.values(measure, pool) for measure in set(measures.values())}
    return np.stack([values[measures[row]][:, row] for row in rows.tolist()], axis=1)


def _measured(measure: AnyMeasure, rankings: Rankings, rows: Rows) -> Floats | None:
    measure = measure.resolve(rankings.pool.suite.defaults)
    return rankings.values(measure)[:, rows] if can_be_drawn(measure, rankings.pool) else None


def _single(rule: PinRule | KnownFailureRule, rankings: Rankings) -> RankedRule | None:
    """A rule about one case: 1 where its pins are met, or the value of its measure."""
    is_pin, pins = isinstance(rule, PinRule), _pins_of(rule)
    row = rankings.pool.suite.table.index.get(rule.pin.case if isinstance(rule, PinRule) else rule.failure.case)
    if row is None:
        return None
    rows, expected = np.array([row], np.intp), 1.0
    bound: NumberBound = "at_least" if is_pin else "below"
    if isinstance(rule, PinRule) or pins:
        values: Floats | None = np.min([_met(pin, rankings, row) for pin in pins], axis=0)
    else:
        values, expected = _measured(parse_measure(rule.failure.measure), rankings, rows), rule.failure.at_least
    return None if values is None else RankedRule(rule.name, rows, values, bound, expected)


def _met(rule: PinRule, rankings: Rankings, row: int) -> Floats:
    """A column that is 1 where a pin is met; a longer one than there are rankings of its case begins again."""
    ranks = [rankings.rank_of(row, normal_path(each)) for each in rule.targets]
    match rule.bound:
        case "must_be_first":
            met = ranks[0] == 1
        case "must_contain":
            met = np.all([each <= rule.pin.k for each in ranks], axis=0)
        case "must_not_contain":
            met = np.all([each > rule.pin.k for each in ranks], axis=0)
        case _:
            met = ranks[0] < ranks[-1]
    return np.asarray(met, np.float64)[:, None]


# Which share of all rankings would pass a rule, the rules about one case, and the whole gate.
#
# A suite of rankings has one of each case, all as likely. Where every case decides on its own, the shares of the cases are
# multiplied. Means over several cases are added up value by value as long as there are few different sums. Where neither is
# possible, suites are drawn, and the 95 % interval is stated.

SAMPLED = 10_000
MOST_SAMPLED = 4_000_000  # values, in all samples of one rule together
MOST_SUMS = 20_000
_DIGITS = 12


@dataclass(frozen=True)
class PassShare:
    """A share of all rankings. Of none that passes in a sample, the share is not known to be 0."""

    share: float
    count: int | None = None  # rankings that pass, where they were counted
    of: int | None = None  # of how many
    interval: tuple[float, float] | None = None  # 95 %, where rankings were sampled; None if the share is exact


NO_RANKING = PassShare(0.0)


def share_of(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare:
    """The share of rankings that meet all of some rules."""
    if all(rule.by_case for rule in rules):
        exact = _by_case(rules, rankings)
    else:
        exact = _by_sums(rules[0], rankings) if len(rules) == 1 else _by_grid(rules, rankings)
    return exact or (NO_RANKING if any(rule.out_of_reach for rule in rules) else _sample_share(rules, rankings))


def _by_case(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare | None:
    """Where each case decides alone; None if not all of their rankings are listed."""
    cases = _cases(rules)
    if not rankings.listed[cases].all():
        return None
    shares = []
    for case in cases:
        passed = np.ones(rankings.counts[case], bool)
        for rule in rules:
            for column in np.flatnonzero(rule.rows == case).tolist():
                passed &= rule.met(rule.values[: len(passed), [column]])
        shares.append(PassShare(float(passed.sum() / len(passed)), int(passed.sum()), len(passed)))
    return shares[0] if len(cases) == 1 else PassShare(prod(each.share for each in shares))


def _by_sums(rule: RankedRule, rankings: Rankings) -> PassShare | None:
    """The distribution of the mean, case by case; None if it has too many different values, or one is not known."""
    if not rankings.listed[rule.rows].all():
        return None
    sums: Floats = np.zeros(1)
    weights: Floats = np.ones(1)
    defined = 0
    for column, case in enumerate(rule.rows.tolist()):
        values = rule.values[: rankings.many(case), column]
        if np.isnan(values).any():
            continue  # where a measure is undefined for a case, it is so for every ranking
        defined += 1
        own, counts = np.unique(values.round(_DIGITS), return_counts=True)
        if len(sums) * len(own) > MOST_SUMS * 10:
            return None
        sums, place = np.unique((sums[:, None] + own[None, :]).ravel().round(_DIGITS), return_inverse=True)
        weights = np.bincount(place.ravel(), np.outer(weights, counts / len(values)).ravel()).astype(np.float64)
        if len(sums) > MOST_SUMS:
            return None
    return PassShare(float(weights[rule.met(sums[:, None] / max(1, defined))].sum())) if defined else NO_RANKING


def _by_grid(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare | None:
    """Every ranking of each case with every one of the others; None if there are too many."""
    cases = _cases(rules)
    counts = [rankings.counts[case] for case in cases]
    if not rankings.listed[cases].all() or prod(counts) > MOST_SUMS * 10:
        return None
    every = np.arange(prod(counts))
    # A case with one ranking needs no axis, of which arrays have few.
    several = {case: count for case, count in zip(cases, counts, strict=True) if count > 1}
    numbers = dict(zip(several, np.unravel_index(every, tuple(several.values())), strict=True)) if several else {}
    passed = _are_all_met(rules, {case: numbers.get(case, np.zeros_like(every)) for case in cases})
    return PassShare(float(passed.mean()), int(passed.sum()), len(passed))


def _cases(rules: Sequence[RankedRule]) -> list[int]:
    return sorted({row for rule in rules for row in rule.rows.tolist()})


def _are_all_met(rules: Sequence[RankedRule], numbers: dict[int, Ints]) -> Bools:
    """Whether all rules are met, by the number of the ranking that was chosen for every case."""
    masks = [
        rule.met(np.stack([rule.values[numbers[case], column] for column, case in enumerate(rule.rows.tolist())], axis=1))
        for rule in rules
    ]
    return np.asarray(np.all(masks, axis=0))


def _sample_share(rules: Sequence[RankedRule], rankings: Rankings) -> PassShare:
    """Suites of rankings that were drawn: of what is not listed each draw is used once, so that samples are independent."""
    cases, generator = _cases(rules), np.random.default_rng(0)
    listed = rankings.listed[cases]
    most = max(1, min(SAMPLED, MOST_SAMPLED // max(1, sum(len(rule.rows) for rule in rules))))
    size = most if listed.all() else rankings.draws
    numbers = {
        case: generator.integers(rankings.counts[case], size=size) if rankings.listed[case] else np.arange(size) for case in cases
    }
    passed = _are_all_met(rules, numbers)
    low, high = proportion_limits(np.array([passed.mean()]), np.array([float(size)]), SHOWN_LEVEL)
    return PassShare(float(passed.mean()), int(passed.sum()), size, (float(low[0]), float(high[0])))


# Which share of all rankings a gate would let pass: the numbers, and what is found of them.

OFTEN_PASSED = 0.05  # the usual level: one random search in twenty goes unnoticed
FIXTURE_PASSED = 0.25  # of one case alone; of three documents even the best order has one ranking in six
LEVEL = 0.05  # of the test that a share which was drawn is as high: by luck one in twenty is taken for more than it is
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class GateChances:
    """The share of rankings that pass."""

    rules: Mapping[int, PassShare] = field(default_factory=dict)  # by the number of the rule
    fixtures: Mapping[str, PassShare] = field(default_factory=dict)  # by fixture, all of its rules
    all: PassShare | None = None  # all rules that rankings decide on


@once_per_subject
def gate_chances(subject: Subject) -> GateChances:
    """The shares of a gate."""
    limits = AttainableValues(subject.expanded, subject.ids)
    rankings = rankings_of(subject.rules, limits.pool, subject.ids) if subject.rules else None
    if rankings is None:
        return GateChances()
    ranked_rules: dict[int, RankedRule] = {}
    by_fixture: dict[str, list[RankedRule]] = {}
    for number, rule in enumerate(subject.rules):
        ranked_form = ranked_rule(rule, rankings)
        if ranked_form is not None:
            ranked_rules[number] = replace(ranked_form, out_of_reach=out_of_reach(rule, limits))
            if isinstance(rule, FixtureRule):
                case = subject.suite.table.ids[int(ranked_form.rows[0])]
                by_fixture.setdefault(case, []).append(ranked_rules[number])
    shares = {number: share_of([each], rankings) for number, each in ranked_rules.items()}
    fixtures = {case: share_of(rules, rankings) for case, rules in by_fixture.items()}
    return GateChances(shares, fixtures, share_of(list(ranked_rules.values()), rankings) if ranked_rules else None)


@check(FindingKind(
    "gate-passed-by-chance", "warning", "5 % or more of all rankings would pass the whole gate, beyond the luck of draws.",
    "A search that ranks at random would often not be noticed.",
    "Raise bounds, add cases, or give cases more documents to be told apart.",
    table="gate",
), FindingKind(
    "fixture-passed-by-chance", "warning", "A quarter or more of all rankings of a fixture's documents would pass its rules.",
    "A search that is broken for this fixture would often not be noticed.",
    "Give the fixture more documents, or ask for more of its order.",
    table="gate",
), theme=GATE, after="rule-without-cases")  # fmt: skip
def passed_by_chance(subject: Subject) -> Iterator[Finding]:
    chances = gate_chances(subject)
    if chances.all is not None and reaches(chances.all, OFTEN_PASSED):
        yield finding("gate-passed-by-chance", f"{share_text(chances.all)} pass the whole gate")
    often = {case: share for case, share in chances.fixtures.items() if reaches(share, FIXTURE_PASSED)}
    if often:
        shares = [f"{share_text(share)} of {case}" for case, share in often.items()]
        many = f"the rules of {len(often)} of {plain_count(len(chances.fixtures), 'fixture')} let many rankings pass"
        yield finding("fixture-passed-by-chance", f"{many}: {list_first(shares, MOST_NAMED)}", often)


def reaches(pass_share: PassShare, least: float) -> bool:
    """Whether a share is as high as that: one that was drawn, only if fewer passes than these would be likely otherwise."""
    if pass_share.interval is None or pass_share.count is None or pass_share.of is None:
        return pass_share.share >= least
    return binomial_tail(pass_share.count, pass_share.of, least) <= LEVEL


def share_text(pass_share: PassShare) -> str:
    """A share with what it rests on."""
    if pass_share.interval is not None:
        low, high = pass_share.interval
        return f"{pass_share.share:.2%} of {pass_share.of:,} random rankings (95 % interval {low:.2%} to {high:.2%})"
    if pass_share.count is not None:
        return f"{pass_share.count} of {pass_share.of} rankings"
    return f"{pass_share.share:.2%} of all rankings"


def gate_table(subject: Subject) -> AuditTable | None:
    """What is the most that each rule could get, what a random ranking gets, and which share of all rankings pass.

    Fixtures and the gate as a whole are after the rules. A share of rankings that were drawn has its 95 % interval.
    """
    if not subject.rules:
        return None
    limits, chances = AttainableValues(subject.expanded, subject.ids), gate_chances(subject)
    rows = list[tuple[AuditCell, ...]]()
    for number, rule in enumerate(subject.rules):
        mean = mean_of_rule(rule, limits.suite)
        best_and_random = (None, None) if mean is None else (limits.highest(*mean), limits.by_chance(*mean))
        rows.append((rule.name, *best_and_random, *_share_cells(chances.rules.get(number))))
    together = [*chances.fixtures.items(), *([("the whole gate", chances.all)] if chances.all is not None else [])]
    rows += [(name, None, None, *_share_cells(share)) for name, share in together]
    columns = ("rule", "highest", "random", "rankings that pass", "at least", "at most")
    unknown = " (which rankings pass is known only with the documents: --corpus, or documents of the cases)"
    drawn = " (at least, at most: the 95 % interval where rankings were drawn)"
    title = f"What the rules of the gate let pass{unknown if chances.all is None else drawn}"
    return AuditTable("gate", title, columns, tuple(rows))


def _share_cells(pass_share: PassShare | None) -> tuple[AuditCell, AuditCell, AuditCell]:
    return (None, None, None) if pass_share is None else (pass_share.share, *(pass_share.interval or (None, None)))
