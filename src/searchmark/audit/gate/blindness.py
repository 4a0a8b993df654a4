"""Losses that a gate does not see."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.gate.sight import LARGE_LOSS, RuleSight, rule_sights
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.gates.fixture_baseline import FixtureRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.rule_findings import with_rules
from searchmark.records.shown import listed

MOST_NAMED = 3
_OF_CASES = (FixtureRule, PinRule, EachCaseRule, KnownFailureRule)


def blindness(subject: Subject) -> Iterator[Finding]:
    """Rules that cannot be resolved, and losses that no rule, or not every rule, is sure to see."""
    sights = list(rule_sights(subject))
    yield from with_rules((each.name, _unresolvable(each)) for each in sights)
    if subject.foresight is not None:
        yield from with_rules((each.name, _missed(each, subject.foresight)) for each in sights)
    elif not any(isinstance(rule, _OF_CASES) for rule in subject.rules):
        yield from _large_loss(sights)


def _unresolvable(sight: RuleSight) -> Iterator[Finding]:
    if sight.blind is not None:
        yield finding("unresolvable-rule", sight.blind)


def _missed(sight: RuleSight, wanted: float) -> Iterator[Finding]:
    if sight.blind is None and not sight.sees(wanted):
        yield finding("wanted-loss-unseen", f"{_seen(sight)}, not {wanted:g}; {sight.advice}")


def _large_loss(sights: list[RuleSight]) -> Iterator[Finding]:
    """Only of gates that look at means of all cases: what others see depends on which cases lose."""
    whole = [each for each in sights if each.everywhere and each.blind is None]
    if whole and len(whole) == len(sights) and not any(each.sees(LARGE_LOSS) for each in whole):
        told = listed([f"{each.name}: {_seen(each)}" for each in whole], MOST_NAMED)
        yield finding("large-loss-unseen", f"no rule is sure to see a loss of {LARGE_LOSS:g}; {told}")


def _seen(sight: RuleSight) -> str:
    loss = "no loss is sure to be seen" if sight.loss is None else f"the smallest loss that is seen is {sight.loss:.3g}"
    return f"{loss} (by {sight.basis})" if sight.compares else f"{loss} ({sight.basis})"
