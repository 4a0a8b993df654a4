"""Rules that runs must meet: passed, failed, unresolvable or untrusted. A rule that cannot be checked never passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from searchmark.analysis.comparison import unique_names
from searchmark.analysis.declared import Declared, declared_differences
from searchmark.analysis.scores import Scores
from searchmark.analysis.verdicts import Difference
from searchmark.findings import Finding
from searchmark.gates.looking import LookBook
from searchmark.gates.reach import Reach
from searchmark.measures.grammar import AnyMeasure
from searchmark.options.compare_options import CompareOptions
from searchmark.options.gate_options import NumberBound, Policy
from searchmark.options.short_repr import short_repr
from searchmark.records.shown import NotebookRecord, counted, listed, on_a_line, quoted

GateVerdict = Literal["passed", "failed", "unresolvable", "untrusted"]
PinBound = Literal["must_be_first", "must_contain", "must_not_contain", "before", "known_failure"]
Bound = NumberBound | PinBound | Policy
# From the best to the worst: a gate is as bad as the worst of its rules.
VERDICTS: tuple[GateVerdict, ...] = ("passed", "failed", "unresolvable", "untrusted")


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rules are checked against: the scores of every run under its display name.

    ``baseline`` is the name of the run that the others are compared with; rules are about the others. ``differences``
    are those that rules have declared, adjusted for each other. ``reach`` knows what rankings could reach at all,
    and ``looks`` which builds were looked at before. ``foreseeing``: whether rules are asked what they could see at all.
    """

    scores: Mapping[str, Scores]
    baseline: str | None = None
    missing_baseline: str = "there is none"
    reach: Reach | None = None
    looks: LookBook = LookBook()  # noqa: RUF009  # frozen
    foreseeing: bool = True
    min_effect: float = CompareOptions().min_effect
    differences: Mapping[Declared, Difference] = field(default_factory=dict)

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
    """What became of one rule: which number of which cases (``where``), what was expected of it, and what it is.

    ``actual`` is None where there is no such number. ``cases`` are those that decided, the worst first. ``message`` says it in a
    sentence, and ``findings`` are what has to be known of the rule itself; in a report they are with all others. ``run`` is
    the one that it is about, the worst if there are several. ``words`` is what users call the number, and ``unit`` its unit.
    ``amounts`` is what each of the cases has of it, where it is stated of single searches.
    """

    subject: str
    where: Mapping[str, str]
    bound: Bound
    expected: float | str
    actual: float | str | None
    cases: tuple[str, ...]
    verdict: GateVerdict
    message: str
    findings: tuple[Finding, ...] = ()
    run: str | None = None
    words: str = ""
    unit: str = ""
    amounts: tuple[str, ...] = ()


class Rule(Protocol):
    """One condition of a gate."""

    @property
    def measures(self) -> Sequence[AnyMeasure]:
        """What must be computed for it."""

    def declared(self, evidence: Evidence) -> Sequence[Declared]:
        """The differences that it asks about."""

    @property
    def name(self) -> str:
        """The rule as it was written, on one line."""

    def check(self, evidence: Evidence) -> RuleResult: ...

    def worth(self, reach: Reach) -> Iterable[Finding]:
        """What has to be known before it is relied on, whatever the run: a bound out of reach, one that a random ranking meets."""


@dataclass(frozen=True, repr=False)
class Gate(NotebookRecord):
    """All rules together: as bad as the worst of them."""

    verdict: GateVerdict
    rules: tuple[RuleResult, ...]

    def __repr__(self) -> str:
        bad = [quoted(rule.subject) for rule in self.rules if rule.verdict != "passed"]
        return on_a_line(f"Gate({self.verdict}, {counted(len(self.rules), 'rule')}{f'; not met: {listed(bad, 3)}' if bad else ''})")


def check_gate(evidence: Evidence, rules: Iterable[Rule], options: CompareOptions = CompareOptions()) -> Gate:
    """Check every rule; without any, nothing is known and the gate is untrusted.

    The differences that rules ask about are one family: ten of them must not raise ten times as many false alarms as one.
    """
    return check_gates([evidence], rules, options)[0]


def check_gates(evidence: Sequence[Evidence], rules: Iterable[Rule], options: CompareOptions = CompareOptions()) -> list[Gate]:
    """The same for several sets of runs with the same names, at once."""
    asked = list(rules)
    return [gate_of(_checked(rule, each) for rule in asked) for each in _with_differences(evidence, asked, options)]


def _checked(rule: Rule, evidence: Evidence) -> RuleResult:
    found = rule.check(evidence)
    return found if evidence.reach is None else replace(found, findings=(*found.findings, *rule.worth(evidence.reach)))


def _with_differences(evidence: Sequence[Evidence], rules: Sequence[Rule], options: CompareOptions) -> list[Evidence]:
    baseline = evidence[0].baseline if evidence else None
    if baseline is None:
        return list(evidence)
    wanted = list(dict.fromkeys(each for rule in rules for each in rule.declared(evidence[0])))
    found = declared_differences([each.scores for each in evidence], baseline, wanted, options)
    return [
        replace(each, differences=differences, min_effect=options.min_effect)
        for each, differences in zip(evidence, found, strict=True)
    ]


def gate_of(results: Iterable[RuleResult]) -> Gate:
    """The gate that these results make."""
    kept = tuple(results)
    worst = max((VERDICTS.index(result.verdict) for result in kept), default=len(VERDICTS) - 1)
    return Gate(VERDICTS[worst], kept)


def worst_run(evidence: Evidence, check: Callable[[str], RuleResult]) -> RuleResult:
    """What a rule says of the run that meets it least; of the first of them where all are alike."""
    results = [replace(check(name), run=name) for name in evidence.candidates]
    return max(results, key=lambda result: VERDICTS.index(result.verdict))
