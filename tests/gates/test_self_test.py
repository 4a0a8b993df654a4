"""A gate is tried: it notices what it should, says what it cannot see, and is not red for no reason."""

from __future__ import annotations

from searchmark import GateOptions, GateRule, Pin, rules_of
from searchmark.experiments import gate_self_test
from searchmark.gates.self_test import Caught, SelfTest
from searchmark.reports.self_test import self_test_text
from tests.gates.test_kinds_of_rules import run_of, suite_of


def tried(good: int = 40, **gates: object) -> SelfTest:
    return gate_self_test(suite_of(), [run_of(good)], rules_of(GateOptions(**gates)))  # type: ignore[arg-type]  # as it comes


def caught(found: SelfTest) -> dict[str, Caught]:
    return {each.mutation: each for each in found.caught}


def test_a_tight_bound_catches_what_a_loose_one_does_not() -> None:
    tight, loose = (caught(tried(thresholds={"P@2": minimum}))["relevant hits dropped"].cases for minimum in (0.99, 0.5))
    assert (tight, loose) == (1, 30)  # 0.5 of 40 is 20: the next size that is tried is 30


def test_what_no_number_of_the_gate_depends_on_is_not_visible() -> None:
    swapped = caught(tried(thresholds={"P@2": 0.5}))["first two results swapped"]
    assert (swapped.share, swapped.reason) == (None, "no number of this gate changes")


def test_what_changes_a_number_too_little_is_told_with_the_number() -> None:
    even = caught(tried(thresholds={"P@2": 0.4}))["category even emptied"]
    assert (even.share, even.possible) == (None, 20)
    assert even.reason == "P@2 goes from 1 to 0.5, and is still at least 0.4"


def test_a_dead_agent_is_always_noticed() -> None:
    assert caught(tried(thresholds={"P@2": 0.1}))["agent dead"].cases == 4  # one in twenty errors may be


def test_a_pin_sees_its_own_case() -> None:
    assert caught(tried(pins=(Pin("c7", must_be_first="a"),)))["first two results swapped"].share == 1.0


def test_a_comparison_sees_less_than_a_tight_bound_and_raises_few_false_alarms() -> None:
    found = tried(rules=(GateRule(measure="RR", against="baseline"),))
    assert caught(found)["relevant hits dropped"].cases == 8
    assert found.chance is not None
    assert (found.chance.trials, found.chance.not_shown) == (1000, None)
    assert (found.chance.red or 0) <= 64


def test_without_a_comparison_there_are_no_false_alarms_to_count() -> None:
    assert tried(thresholds={"P@2": 0.4}).chance is None


def test_a_run_that_does_not_pass_tells_nothing_about_its_gate() -> None:
    found = tried(good=0, thresholds={"P@2": 0.4})
    assert found.verdict == "failed"
    assert "give it a run that passes" in self_test_text(found)


def test_what_is_not_shown_is_no_false_alarm() -> None:
    found = tried(rules=(GateRule(measure="nDCG@10", against="baseline", policy="non-inferior", margin=0.1),))
    assert found.chance is not None
    assert found.chance.red is None
    assert found.chance.not_shown is not None
    assert "non-inferior: not shown for " in self_test_text(found)
