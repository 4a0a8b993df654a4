"""A gate is tried: it notices what it should, says what it cannot see, and is not red for no reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import (
    Answer,
    Case,
    Evaluation,
    GateRule,
    GateSettings,
    Judgment,
    Pin,
    Run,
    Suite,
    load_baseline,
    load_run,
    load_suite,
    named_baseline,
    rules_of,
)
from searchmark.gates.self_test import DetectionPoint, SelfTest
from searchmark.reports.text import self_test_text
from tests.gates.test_kinds_of_rules import run_of, suite_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "baselines"


def tried(good: int = 40, **gates: object) -> SelfTest:
    return Evaluation(suite_of(), rules=rules_of(GateSettings(**gates))).self_test([run_of(good)])  # type: ignore[arg-type]  # as it comes


def caught(found: SelfTest) -> dict[str, DetectionPoint]:
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


@pytest.mark.slow
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
    assert (found.verdict, found.caught, found.chance) == ("failed", (), None)
    assert self_test_text(found).splitlines() == [
        "the gate on the run as it is: failed",
        "  Expected P@2 >= 0.4, but got 0",
        "nothing was tried: only what a run passes can be seen to fail; give it a run that passes",
    ]


def test_rules_that_look_at_hits_see_what_becomes_of_them() -> None:
    found = caught(tried_on_fixtures())
    assert {name: each.cases for name, each in found.items()} == {
        "relevant hits dropped": 1,
        "first two results swapped": None,
        "order of the results shuffled": 1,
        "agent dead": 1,
    }
    assert "high_similarity_pair NDCG goes from 1 to 0.9225" in found["first two results swapped"].reason


def tried_on_fixtures() -> SelfTest:
    suite, run = load_suite(EXAMPLE / "fixtures.json"), load_run(EXAMPLE / "today.json")
    return Evaluation(suite, baseline=load_baseline(EXAMPLE / "baseline_metrics.json")).self_test([run])


def test_the_reasons_of_many_rules_are_told_by_the_first_of_them() -> None:
    even = caught(tried(thresholds={f"P(rel=1)@{k}": 0.01 for k in range(1, 6)}))["category even emptied"]
    assert even.reason.endswith("; and 2 more rules likewise")
    assert even.reason.count(" goes from ") == 3


def test_a_rule_of_averages_of_fixtures_sees_its_hits_too() -> None:
    suite, run = load_suite(EXAMPLE / "fixtures.json"), load_run(EXAMPLE / "today.json")
    rules = rules_of(GateSettings(rules=(GateRule(own_k="mrr", at_least=0.95),)))
    assert caught(Evaluation(suite, rules=rules).self_test([run]))["relevant hits dropped"].cases == 1


def test_a_pin_beside_other_rules_is_told_in_their_order() -> None:
    found = tried(pins=(Pin("c7", must_contain="a"),), thresholds={"P@2": 0.1})
    assert caught(found)["category even emptied"].reason == "P@2 goes from 1 to 0.5, and is still at least 0.1"
    assert caught(found)["category odd emptied"].share == 1.0


def test_without_the_file_of_the_baseline_a_comparison_is_untrusted() -> None:
    rules = rules_of(GateSettings(rules=(GateRule(measure="RR", against="baseline"),)))
    found = Evaluation(suite_of(), rules=rules, baseline=load_baseline("nothing.jsonl")).self_test([run_of(40)])
    assert (found.verdict, found.caught) == ("untrusted", ())
    assert "there is no file nothing.jsonl" in found.reasons[0]


def test_a_baseline_of_another_suite_makes_a_comparison_untrusted() -> None:
    rules = rules_of(GateSettings(rules=(GateRule(measure="RR", against="baseline"),)))
    other = named_baseline(Run.from_answers("other", [Answer("z", "empty")]))
    found = Evaluation(suite_of(), rules=rules, baseline=other).self_test([run_of(40)])
    assert found.verdict == "untrusted"
    assert "answers no case of the suite" in found.reasons[0]


def test_only_the_largest_of_many_categories_are_tried() -> None:
    cases = [Case(f"c{n}", "q", (Judgment("a"), Judgment("b")), category=f"k{min(n, 11):02}") for n in range(40)]
    found = Evaluation(Suite.from_cases("s", cases), rules=rules_of(GateSettings(thresholds={"P@2": 0.9}))).self_test([run_of(40)])
    names = [each.mutation for each in found.caught if each.mutation.startswith("category")]
    assert names == [f"category k{n:02} emptied" for n in (*range(9), 11)]
    assert "\nonly the 10 largest of 12 categories were tried\n" in self_test_text(found)


def test_what_is_tried_is_told_while_it_is() -> None:
    said: list[str] = []
    Evaluation(suite_of(), rules=rules_of(GateSettings(thresholds={"P@2": 0.9}))).self_test([run_of(40)], said.append)
    assert said[0] == "1 of 6: relevant hits dropped"
    assert said[-1] == "false alarms"


@pytest.mark.slow
def test_what_is_not_shown_is_no_false_alarm() -> None:
    found = tried(rules=(GateRule(measure="nDCG@10", against="baseline", policy="non-inferior", margin=0.1),))
    assert found.chance is not None
    assert found.chance.red is None
    assert found.chance.not_shown is not None
    assert "non-inferior: not shown for " in self_test_text(found)
