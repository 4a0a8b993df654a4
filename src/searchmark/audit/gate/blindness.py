"""Losses that a gate does not see."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.audit.gate.sight import LARGE_LOSS, RuleSight, rule_sights
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted
from searchmark.gates.fixture_baseline import FixtureRule
from searchmark.gates.pins import EachCaseRule, KnownFailureRule, PinRule
from searchmark.gates.rule_findings import with_rules
from searchmark.records.shown import listed

MOST_NAMED = 3
MOST_ADVISED = 5
_WITHOUT_RUN = "name a run (--run) for bounds on means, or add a rule against a baseline"
_OF_CASES = (FixtureRule, PinRule, EachCaseRule, KnownFailureRule)


def blindness(subject: Subject) -> Iterator[Finding]:
    """Rules that cannot be resolved, and losses that no rule, or not every rule, is sure to see."""
    sights = list(rule_sights(subject))
    yield from with_rules((each.name, _unresolvable(each)) for each in sights)
    if subject.foresight is not None:
        if subject.rules and not sights:
            yield finding("wanted-loss-unseen", f"no rule is known to see a loss of {subject.foresight:g}: {_WITHOUT_RUN}")
        yield from _missed([each for each in sights if each.blind is None], subject.foresight)
    elif not any(isinstance(rule, _OF_CASES) for rule in subject.rules):
        yield from _large_loss(sights)


def _unresolvable(sight: RuleSight) -> Iterator[Finding]:
    if sight.blind is not None:
        yield finding("unresolvable-rule", sight.blind)


def _missed(sights: list[RuleSight], wanted: float) -> Iterator[Finding]:
    """One finding for all rules: what each of them sees, and what it would take."""
    missed = [each for each in sights if not each.sees(wanted)]
    if missed:
        told = [f"{each.name}: {_seen(each)}; {each.advice}" for each in missed[:MOST_ADVISED]]
        rest = [f"{len(missed) - MOST_ADVISED} more are in the table"] if len(missed) > MOST_ADVISED else []
        many = f"{len(missed)} of {counted(len(sights), 'rule')} on means would often not see a loss of {wanted:g}"
        yield finding("wanted-loss-unseen", f"{many}. {'. '.join([*told, *rest])}")


def _large_loss(sights: list[RuleSight]) -> Iterator[Finding]:
    """Only of gates that look at means of all cases: what others see depends on which cases lose."""
    whole = [each for each in sights if each.everywhere and each.blind is None]
    if whole and len(whole) == len(sights) and not any(each.sees(LARGE_LOSS) for each in whole):
        told = listed([f"{each.name}: {_seen(each)}" for each in whole], MOST_NAMED)
        yield finding("large-loss-unseen", f"no rule is sure to see a loss of {LARGE_LOSS:g}; {told}")


def _seen(sight: RuleSight) -> str:
    loss = "no loss is sure to be seen" if sight.loss is None else f"the smallest loss that is seen is {sight.loss:.3g}"
    return f"{loss} (based on {sight.basis})" if sight.compares else f"{loss} ({sight.basis})"
