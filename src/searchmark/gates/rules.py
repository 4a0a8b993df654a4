"""Rules, the gate that they make together, and what is found about the rules themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum, isfinite, isnan
from typing import Literal, Protocol

import numpy as np

from searchmark.config.gates import CompareSettings, GatePolicy, KnownFailure, NumberBound
from searchmark.config.strict import short_repr
from searchmark.errors import UsageError
from searchmark.gates.quantities import AtOwnK, MeanOf, Rows, digits_beside_bound, is_within, rule_name
from searchmark.gates.sequential import LookCounter
from searchmark.measures.grammar import AnyMeasure
from searchmark.measures.hits import Pool
from searchmark.records.columns import Floats
from searchmark.records.finding import FINDING_KINDS, GATE, Finding, FindingKind, finding, register
from searchmark.records.sentences import NotebookRecord, count_of, fit_line, list_first, quote_name
from searchmark.records.suite import Suite
from searchmark.scoring.comparison import unique_names
from searchmark.scoring.limits import attainable, drawn_values, expected_by_chance, pool_of, regraded, simulate_mean
from searchmark.scoring.planned_tests import PlannedDifference, planned_differences
from searchmark.scoring.scores import Scores
from searchmark.scoring.verdicts import Difference

# Whether a bound makes sense on a suite: whether any ranking can meet it, and whether a random one does.

Limit = Callable[[AnyMeasure, Pool], Floats | None]

DRAWS = 50

FEWEST_PER_CENT = 2


class AttainableValues:
    """The best and the random ranking of a suite, each worked out when something first asks for it."""

    def __init__(self, suite: Suite, corpus: Set[str] | None = None) -> None:
        self._suite, self._corpus = suite, corpus

    @property
    def suite(self) -> Suite:
        """What rankings are of."""
        return self._suite

    def findings(self, quantity: MeanOf | AtOwnK, bound: NumberBound, expected: float, rows: Rows) -> Iterator[Finding]:
        """What has to be known about a bound before it is relied on."""
        name = quantity.subject(None)
        by_range = _finding_by_range(name, quantity.low, quantity.high, bound, expected)
        if by_range is not None:
            yield by_range
        if by_range is not None or bound in ("at_most", "below"):
            return
        best = self.highest(quantity, rows)
        if best is not None and _is_missed(bound, best, expected):
            highest = digits_beside_bound(best, expected)
            message = f"the highest possible {name} on these cases is {highest}: no ranking can meet this bound"
            yield finding("unattainable-threshold", message)
        random = self.by_chance(quantity, rows)
        if random is not None and not _is_missed(bound, random, expected):
            message = f"a random ranking gets {random:.4g} on average and meets this bound, so it says nothing about quality"
            yield finding("threshold-below-random", message)

    def highest(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """The highest possible mean of some cases; None if it is not known."""
        return self._mean(attainable, quantity, rows)

    def by_chance(self, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """What a random ranking gets on average; None if it is not known what is ranked."""
        return self._mean(_expected, quantity, rows)

    def findings_of_each(self, measure: AnyMeasure, expected: float, exempt: Collection[str] = ()) -> Iterator[Finding]:
        """The same about a lowest value of every case but those that are spared."""
        by_range = _finding_by_range(measure.name, measure.low, measure.high, "at_least", expected)
        if by_range is not None:
            yield by_range
            return
        measure = measure.resolve(self._suite.defaults)
        for case, value in self._values(attainable(measure, self.pool), exempt):
            if _is_missed("at_least", value, expected):
                best = f"the highest possible {measure.name} of case {case} is {digits_beside_bound(value, expected)}"
                message = f"{best}: no ranking can meet this bound"
                yield finding("unattainable-threshold", message, [case])
                break
        tables = drawn_values([measure], self.pool, DRAWS)
        random_values = [[value for _, value in self._values(table[:, 0], exempt)] for table in tables]
        met = sum(bool(values) and not any(_is_missed("at_least", each, expected) for each in values) for values in random_values)
        if 2 * met > len(random_values):
            message = (
                f"{met} of {len(random_values)} random rankings meet this bound in every case, so it says nothing about quality"
            )
            yield finding("threshold-below-random", message)

    def _values(self, values: Floats | None, exempt: Collection[str]) -> Iterator[tuple[str, float]]:
        """The cases for which a measure is defined, and its values."""
        for case, value in zip(self._suite.table.ids, () if values is None else values.tolist(), strict=False):
            if case not in exempt and not isnan(value):
                yield case, value

    def _mean(self, limit: Limit, quantity: MeanOf | AtOwnK, rows: Rows) -> float | None:
        """The mean of what each case could get; None if that is not known for one of them."""
        if isinstance(quantity, MeanOf):
            return _mean_of(limit(quantity.measure.resolve(self._suite.defaults), self.pool), rows)
        suite, measures = quantity.as_measures(self._suite, rows)
        pool, values = regraded(self.pool, suite), np.full(len(suite), np.nan)
        limits = {measure: limit(measure, pool) for measure in set(measures.values())}
        for row, measure in measures.items():
            limit_values = limits[measure]
            values[row] = np.nan if limit_values is None else limit_values[row]
        return None if np.isnan(values[rows]).any() else _mean_of(values, rows)

    def lacking(self, ids: Sequence[str]) -> list[str]:
        """Those that are not among the documents, where these are known."""
        return [] if self._corpus is None else [each for each in ids if each not in self._corpus]

    @cached_property
    def pool(self) -> Pool:
        """What there is to rank."""
        return pool_of(self._suite, self._corpus)


register(GATE, FindingKind(
    "unattainable-threshold", "error", "A bound of a gate that no ranking can meet.",
    "The gate is red whatever the search does, and people learn to pass it over.",
    "Set the bound below the highest possible value, or judge more targets.",
), FindingKind(
    "threshold-always-met", "error", "A bound of a gate that no value of its measure could miss.",
    "The rule cannot fail, so that it protects nothing.",
    "Set a bound that a bad search would miss, or remove the rule.",
), FindingKind(
    "threshold-below-random", "warning", "A bound of a gate that a random ranking meets.",
    "A search that returns the documents in random order would pass on average.",
    "Raise the bound above what a random ranking gets, take a stricter measure, or give fixtures more documents.",
    table="gate",
))  # fmt: skip


def _mean_of(values: Floats | None, rows: Rows) -> float | None:
    defined_values = [] if values is None else values[rows][~np.isnan(values[rows])].tolist()
    return fsum(defined_values) / len(defined_values) if defined_values else None


def _expected(measure: AnyMeasure, pool: Pool) -> Floats | None:
    """What random rankings get on average, by formula or else by drawing them."""
    by_formula = expected_by_chance(measure, pool)
    simulation = simulate_mean(measure, pool) if by_formula is None else None
    return by_formula if simulation is None else simulation.values


def _is_missed(bound: NumberBound, value: float, expected: float) -> bool:
    return not is_within(bound, value, expected)


def _finding_by_range(name: str, low: float, high: float, bound: NumberBound, expected: float) -> Finding | None:
    """What the range of a measure alone says about a bound; None if it says nothing."""
    wants_much = bound in ("at_least", "above")
    if not low <= expected <= high:
        code = "unattainable-threshold" if wants_much is (expected > high) else "threshold-always-met"
        return finding(code, outside_range_message(name, low, high, expected))
    worst, best, beyond = (low, high, "lower") if wants_much else (high, low, "higher")
    if not _is_missed(bound, worst, expected):
        return finding("threshold-always-met", f"every ranking meets this bound: no {name} is {beyond} than {worst:g}")
    if not wants_much and _is_missed(bound, best, expected):
        return finding("unattainable-threshold", f"no ranking can meet this bound: no {name} is lower than {best:g}")
    return None


def outside_range_message(name: str, low: float, high: float, expected: float) -> str:
    """That a bound lies outside of the range of a measure."""
    highest = f"{high:g}" if isfinite(high) else "any number"
    return f"values of {name} lie between {low:g} and {highest}: {expected:.12g} is outside{_percent(expected, high)}"


def _percent(expected: float, high: float) -> str:
    """A hint for those who think in per cent."""
    is_percent = high == 1 and FEWEST_PER_CENT <= expected <= 100  # noqa: PLR2004  # per cent
    return f"; write {expected / 100:.12g} for {expected:.12g} %" if is_percent else ""


def check_known_failure(failure: KnownFailure, measure: AnyMeasure) -> KnownFailure:
    """A known failure, refused if its bound lies outside of the range of its measure: it would fail for ever."""
    if not measure.low <= failure.at_least <= measure.high:
        reason = outside_range_message(measure.name, measure.low, measure.high, failure.at_least)
        raise UsageError(f"at_least of the known failure {failure.case!r}: {reason}")
    return failure


def check_margin(measure: AnyMeasure, margin: float) -> float:
    """A margin, refused if no loss is larger."""
    span = measure.high - measure.low
    if margin >= span:
        raise UsageError(
            f"a margin of {margin:g} allows every loss, since none of {measure.name} is larger than {span:g}; lower it"
        )
    return margin


# Rules that runs must meet: passed, failed, unresolvable or untrusted. A rule that cannot be checked never passes.

GateVerdict = Literal["passed", "failed", "unresolvable", "untrusted"]

PinBound = Literal["must_be_first", "must_contain", "must_not_contain", "before", "known_failure"]

Bound = NumberBound | PinBound | GatePolicy


# From the best to the worst: a gate is as bad as the worst of its rules.
VERDICTS: tuple[GateVerdict, ...] = ("passed", "failed", "unresolvable", "untrusted")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rules are checked against."""

    scores: Mapping[str, Scores]  # every run under its display name
    baseline: str | None = None  # name of the run that the others are compared with; rules are about the others
    missing_baseline: str = "there is none"  # why there is none
    limits: AttainableValues | None = None  # what rankings could reach at all
    looks: LookCounter = LookCounter()  # noqa: RUF009  # frozen
    foreseeing: bool = True  # whether rules are asked what they could see at all
    min_effect: float = CompareSettings().min_effect
    differences: Mapping[PlannedDifference, Difference] = field(default_factory=dict)  # declared by rules, adjusted for each other

    __repr__ = short_repr

    @classmethod
    def of(cls, scores: Scores) -> Evidence:
        """The evidence that a single run gives."""
        return cls(dict(zip(unique_names([scores]), [scores], strict=True)))

    @property
    def family(self) -> int:
        """How many differences rules have declared."""
        return max(1, len(self.differences))

    @property
    def candidates(self) -> list[str]:
        """The runs that rules are about."""
        return [name for name in self.scores if name != self.baseline]


@dataclass(frozen=True)
class RuleResult:
    """What became of one rule."""

    subject: str  # which number
    where: Mapping[str, str]  # of which cases
    bound: Bound
    expected: float | str
    actual: float | str | None  # None where there is no such number
    cases: tuple[str, ...]  # those that decided, the worst first
    verdict: GateVerdict
    message: str  # all of it in a sentence
    findings: tuple[Finding, ...] = ()  # on the rule itself; in a report they are with all others
    run: str | None = None  # the one that it is about, the worst of several
    words: str = ""  # what users call the number
    unit: str = ""
    amounts: tuple[str, ...] = ()  # what each of the cases has of it, where that is known


class Rule(Protocol):
    """One condition of a gate."""

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """What must be computed for it."""

    def declared(self, evidence: Evidence) -> Sequence[PlannedDifference]:
        """The differences that it asks about."""

    @property
    def name(self) -> str:
        """The rule as it was written, on one line."""

    def check(self, evidence: Evidence) -> RuleResult: ...

    def own_findings(self, limits: AttainableValues) -> Iterable[Finding]:
        """What is wrong with the rule itself, independent of the run: a bound out of reach, or one that a random ranking meets."""


@dataclass(frozen=True, repr=False)
class Gate(NotebookRecord):
    """All rules together: as bad as the worst of them."""

    verdict: GateVerdict
    rules: tuple[RuleResult, ...]

    def __repr__(self) -> str:
        bad = [quote_name(rule.subject) for rule in self.rules if rule.verdict != "passed"]
        return fit_line(
            f"Gate({self.verdict}, {count_of(len(self.rules), 'rule')}{f'; not met: {list_first(bad, 3)}' if bad else ''})"
        )


def check_gate(evidence: Evidence, rules: Iterable[Rule], options: CompareSettings = CompareSettings()) -> Gate:
    """Check every rule; without any, nothing is known and the gate is untrusted.

    The differences that rules ask about are one family: ten of them must not raise ten times as many false alarms as one.
    """
    return check_gates([evidence], rules, options)[0]


def check_gates(evidence: Sequence[Evidence], rules: Iterable[Rule], options: CompareSettings = CompareSettings()) -> list[Gate]:
    """The same for several sets of runs with the same names, at once."""
    rules = list(rules)
    return [gate_of_results(_check_rule(rule, each) for rule in rules) for each in _with_differences(evidence, rules, options)]


def _check_rule(rule: Rule, evidence: Evidence) -> RuleResult:
    result = rule.check(evidence)
    if evidence.limits is None or any(evidence.scores[name].distrust for name in evidence.candidates):
        return result
    return replace(result, findings=(*result.findings, *rule.own_findings(evidence.limits)))


def _with_differences(evidence: Sequence[Evidence], rules: Sequence[Rule], options: CompareSettings) -> list[Evidence]:
    baseline = evidence[0].baseline if evidence else None
    if baseline is None:
        return list(evidence)
    questions = list(dict.fromkeys(each for rule in rules for each in rule.declared(evidence[0])))
    difference_tables = planned_differences([each.scores for each in evidence], baseline, questions, options)
    return [
        replace(each, differences=differences, min_effect=options.min_effect)
        for each, differences in zip(evidence, difference_tables, strict=True)
    ]


def gate_of_results(results: Iterable[RuleResult]) -> Gate:
    """The gate that these results make."""
    results = tuple(results)
    # Without any rule nothing is known, which is as bad as it gets.
    worst = max((VERDICTS.index(result.verdict) for result in results), default=len(VERDICTS) - 1)
    return Gate(VERDICTS[worst], results)


def only_if_trusted(scores: Scores, result: RuleResult) -> RuleResult:
    """A result of a rule; of a run that cannot be relied on only why that is."""
    if not scores.distrust:
        return result
    rule = rule_name(result.subject, result.where, result.bound, result.expected)
    message = f"{rule} cannot be checked, the run is untrusted: {scores.why_untrusted}"
    return replace(result, actual=None, cases=(), verdict="untrusted", message=message, findings=(), amounts=())


def worst_run(evidence: Evidence, check: Callable[[str], RuleResult]) -> RuleResult:
    """What a rule says of the run that meets it least; of the first of them where all are alike."""
    results = [replace(only_if_trusted(evidence.scores[name], check(name)), run=name) for name in evidence.candidates]
    return max(results, key=lambda result: VERDICTS.index(result.verdict))


# What is found about the rules of a gate, each finding with the rules that it is about.

MOST_NAMED = 3

MOST_OF_A_CODE = 5


def split_findings(gate: Gate | None) -> tuple[Gate | None, list[Finding]]:
    """A gate without its findings, and these with the names of their rules."""
    if gate is None:
        return None, []
    findings = with_rule_names((rule_text(each), each.findings) for each in gate.rules)
    return replace(gate, rules=tuple(replace(each, findings=()) for each in gate.rules)), findings


def rule_text(result: RuleResult) -> str:
    """The rule of a result as it was written, without the name of the run."""
    subject = result.subject.removeprefix(f"{result.run}: ")
    return rule_name(subject, result.where, result.bound, result.expected)


def with_rule_names(findings_by_rule: Iterable[tuple[str, Iterable[Finding]]]) -> list[Finding]:
    """Findings with the names of their rules: what several rules have in common appears once, and a long list is cut."""
    about: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for name, findings in findings_by_rule:
        for each in findings:
            about.setdefault((each.code, each.message), []).append((name, each))
    by_code: dict[str, list[Sequence[tuple[str, Finding]]]] = {}
    for (code, _), same in about.items():
        by_code.setdefault(code, []).append(same)
    return [each for of_code in by_code.values() for each in _shorten(of_code)]


def _shorten(of_code: Sequence[Sequence[tuple[str, Finding]]]) -> list[Finding]:
    """All of one code, or the first ones and how many rules there are beside them."""
    if len(of_code) <= MOST_OF_A_CODE:
        return [_with_names(same) for same in of_code]
    rest = [each for same in of_code[MOST_OF_A_CODE - 1 :] for each in same]
    message = f"likewise: {FINDING_KINDS[rest[0][1].code].about}"
    likewise = _with_names([(name, replace(each, message=message)) for name, each in rest])
    return [*map(_with_names, of_code[: MOST_OF_A_CODE - 1]), likewise]


def _with_names(same: Sequence[tuple[str, Finding]]) -> Finding:
    names = list(dict.fromkeys(name for name, _ in same))
    cases = dict.fromkeys(case for _, each in same for case in each.cases)
    return replace(same[0][1], message=f"{list_first(names, MOST_NAMED)}: {same[0][1].message}", cases=tuple(cases))
