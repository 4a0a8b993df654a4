"""Rules fail closed."""

from __future__ import annotations

import pytest

from searchmark import (
    Answer,
    Case,
    Defaults,
    Evidence,
    Hit,
    Judgment,
    Run,
    Scores,
    Suite,
    UsageError,
    check_gate,
    match_hits,
    mean_bound,
    parse_threshold,
    score,
)
from searchmark.config.gates import NumberBound as Bound
from searchmark.gates.quantities import is_within
from searchmark.records.answers import Status


def scores_of(
    status: Status = "ok", measures: tuple[str, ...] = ("RR",), above: tuple[str, ...] = ("x",), **suite: object
) -> Scores:
    """One case whose target has these hits above it."""
    cases = [Case("c", judgments=(Judgment("a"),))]
    hits = tuple(Hit(hit, rank) for rank, hit in enumerate((*above, "a"), 1))
    run = Run.from_answers("agent", [Answer("c", status, hits)])
    return score(match_hits(Suite.from_cases("s", cases, **suite), run), measures)


def evidence_of(*arguments: object, **named: object) -> Evidence:
    return Evidence.of(scores_of(*arguments, **named))  # type: ignore[arg-type]  # passed on as they are


@pytest.mark.parametrize(("minimum", "verdict"), [("0.5", "passed"), ("0.51", "failed"), ("1e-3", "passed")])
def test_the_mean_must_reach_the_minimum(minimum: str, verdict: str) -> None:
    assert check_gate(evidence_of(), [parse_threshold(f"MRR={minimum}")]).verdict == verdict


def test_rounding_fails_no_run() -> None:
    """The mean of six times 0.2 is 0.19999999999999998."""
    cases = [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(6)]
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1),)) for n in range(6)])
    scores = score(match_hits(Suite.from_cases("s", cases), run), ["P@5"])
    assert check_gate(Evidence.of(scores), [parse_threshold("P@5=0.2")]).verdict == "passed"


@pytest.mark.parametrize(
    ("bound", "below", "equal", "above"),
    [
        ("at_least", False, True, True),
        ("above", False, False, True),
        ("at_most", True, True, False),
        ("below", True, False, False),
    ],
)
def test_a_bound_holds_on_its_side_and_rounding_errors_count_as_equal(bound: Bound, below: bool, equal: bool, above: bool) -> None:
    assert [is_within(bound, actual, 0.2) for actual in (0.1, 0.2 - 1e-16, 0.2 + 1e-16, 0.3)] == [below, equal, equal, above]


def test_one_failure_fails_the_gate() -> None:
    gate = check_gate(evidence_of(), [parse_threshold("RR=0.1"), parse_threshold("RR=0.9")])
    assert (gate.verdict, [rule.verdict for rule in gate.rules]) == ("failed", ["passed", "failed"])


def test_a_result_says_what_was_expected_of_what() -> None:
    (result,) = check_gate(evidence_of(), [parse_threshold("RR=0.9")]).rules
    assert (result.subject, result.bound, result.expected, result.actual) == ("RR", "at_least", 0.9, 0.5)


def test_no_rule_is_not_a_pass() -> None:
    assert check_gate(evidence_of(), []).verdict == "untrusted"


@pytest.mark.parametrize("status", ["error", "not_run"])
def test_an_untrusted_run_never_passes(status: Status) -> None:
    assert check_gate(evidence_of(status), [parse_threshold("RR=0")]).verdict == "untrusted"


def test_an_undefined_mean_never_passes() -> None:
    gate = check_gate(evidence_of(measures=("Abstain",)), [parse_threshold("Abstain=0")])
    assert (gate.verdict, gate.rules[0].actual) == ("untrusted", None)


def test_a_measure_that_was_not_computed_never_passes() -> None:
    gate = check_gate(evidence_of(), [parse_threshold("AP=0.5")])
    assert (gate.verdict, gate.rules[0].subject, gate.rules[0].actual) == ("untrusted", "AP", None)


def test_suite_defaults_apply_to_thresholds() -> None:
    gate = check_gate(evidence_of(defaults=Defaults(rel=2)), [parse_threshold("RR=0.1")])
    assert gate.rules[0].subject == "RR(rel=2)"


class TestSeveralRuns:
    good, poor = scores_of(above=()), scores_of(above=("x", "y"))

    def test_every_run_must_meet_a_rule_and_the_worst_is_told(self) -> None:
        gate = check_gate(Evidence({"good": self.good, "poor": self.poor}), [parse_threshold("RR=0.5")])
        assert (gate.verdict, gate.rules[0].subject, gate.rules[0].actual) == ("failed", "poor: RR", 1 / 3)

    def test_of_an_upper_bound_the_highest_is_the_worst(self) -> None:
        rule = mean_bound("RR", "below", 0.1)
        assert rule.check(Evidence({"good": self.good, "poor": self.poor})).subject == "good: RR"

    def test_the_baseline_itself_need_not_meet_it(self) -> None:
        evidence = Evidence({"poor": self.poor, "good": self.good}, baseline="poor")
        assert check_gate(evidence, [parse_threshold("RR=0.5")]).verdict == "passed"

    def test_a_baseline_alone_is_not_a_pass(self) -> None:
        assert check_gate(Evidence({"good": self.good}, baseline="good"), [parse_threshold("RR=0.5")]).verdict == "untrusted"


@pytest.mark.parametrize("text", ["RR", "RR=", "=0.5", "RR=high", "RR=nan", "RR=inf", "P(rel=2)@5"])
def test_an_unreadable_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_threshold(text)
