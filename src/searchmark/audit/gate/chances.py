"""Which share of all rankings a gate would let pass: the numbers, and what is found of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from searchmark.audit.gate.means_of_rules import out_of_reach
from searchmark.audit.gate.pass_share import PassShare, share_of_gate, share_of_rule
from searchmark.audit.gate.ranked_rules import RankedRule, ranked_rule, rankings_of
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.gates.fixture_baseline import FixtureRule
from searchmark.gates.reach import Reach
from searchmark.records.shown import listed

OFTEN_PASSED = 0.05  # the usual level: one random search in twenty goes unnoticed
FIXTURE_PASSED = 0.25  # of one case alone; of three documents even the best order has one ranking in six
LEVEL = 0.05  # of the test that a share which was drawn is as high: by luck one in twenty is taken for more than it is
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class GateChances:
    """The share of rankings that pass: by the number of the rule, by fixture, and of ``all`` rules that rankings decide on."""

    rules: Mapping[int, PassShare] = field(default_factory=dict)
    fixtures: Mapping[str, PassShare] = field(default_factory=dict)
    all: PassShare | None = None


_KNOWN: WeakKeyDictionary[Subject, GateChances] = WeakKeyDictionary()  # for the table and the findings of one audit


def gate_chances(subject: Subject) -> GateChances:
    """The shares of a gate, worked out once for each audit."""
    if subject not in _KNOWN:
        _KNOWN[subject] = _chances(subject)
    return _KNOWN[subject]


def _chances(subject: Subject) -> GateChances:
    reach = Reach(subject.expanded, subject.ids)
    rankings = rankings_of(subject.rules, reach.pool, subject.ids) if subject.rules else None
    if rankings is None:
        return GateChances()
    ranked = {
        number: replace(found, out_of_reach=out_of_reach(rule, reach))
        for number, rule in enumerate(subject.rules)
        if (found := ranked_rule(rule, rankings)) is not None
    }
    shares = {number: share_of_rule(each, rankings) for number, each in ranked.items()}
    fixtures = {case: share_of_gate(rules, rankings) for case, rules in _of_fixtures(subject, ranked).items()}
    return GateChances(shares, fixtures, share_of_gate(list(ranked.values()), rankings) if ranked else None)


def _of_fixtures(subject: Subject, ranked: Mapping[int, RankedRule]) -> dict[str, list[RankedRule]]:
    found: dict[str, list[RankedRule]] = {}
    for number, each in ranked.items():
        if isinstance(subject.rules[number], FixtureRule):
            found.setdefault(subject.suite.table.ids[int(each.rows[0])], []).append(each)
    return found


def passed_by_chance(subject: Subject) -> Iterator[Finding]:
    """What is found of a gate and of fixtures that many rankings pass."""
    chances = gate_chances(subject)
    if chances.all is not None and reaches(chances.all, OFTEN_PASSED):
        yield finding("gate-passed-by-chance", f"{share_text(chances.all)} pass the whole gate")
    often = {case: share for case, share in chances.fixtures.items() if reaches(share, FIXTURE_PASSED)}
    if often:
        told = [f"{share_text(share)} of {case}" for case, share in often.items()]
        many = f"the rules of {len(often)} of {counted(len(chances.fixtures), 'fixture')} let many rankings pass"
        yield finding("fixture-passed-by-chance", f"{many}: {listed(told, MOST_NAMED)}", often)


def reaches(found: PassShare, least: float) -> bool:
    """Whether a share is as high as that: one that was drawn, only if fewer passes than these would be likely otherwise."""
    if found.interval is None or found.count is None or found.of is None:
        return found.share >= least
    from searchmark.analysis.exact_tests import binomial_tail

    return binomial_tail(found.count, found.of, least) <= LEVEL


def share_text(found: PassShare) -> str:
    """A share with what it rests on."""
    if found.interval is not None:
        low, high = found.interval
        return f"{found.share:.2%} of {found.of:,} random rankings (95 % interval {low:.2%} to {high:.2%})"
    if found.count is not None:
        return f"{found.count} of {found.of} rankings"
    return f"{found.share:.2%} of all rankings"
