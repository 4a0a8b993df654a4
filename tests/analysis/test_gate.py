"""Thresholds fail closed."""

from __future__ import annotations

import pytest

from searchmark import Answer, Case, Hit, Judgment, Run, Suite, check_gate, judge, parse_threshold, score
from searchmark.errors import UsageError
from searchmark.records import Defaults, Status


def scores_of(status: Status = "ok", measures: tuple[str, ...] = ("RR",), **suite: object):
    cases = [Case("c", judgments=(Judgment("a"),))]
    run = Run.from_answers("agent", [Answer("c", status, (Hit("x", 1), Hit("a", 2)))])
    return score(judge(Suite.from_cases("s", cases, **suite), run), measures)


@pytest.mark.parametrize(("minimum", "verdict"), [("0.5", "passed"), ("0.51", "failed"), ("1e-3", "passed")])
def test_the_mean_must_reach_the_minimum(minimum: str, verdict: str) -> None:
    assert check_gate(scores_of(), [parse_threshold(f"MRR={minimum}")]).verdict == verdict


def test_rounding_fails_nobody() -> None:
    """The mean of six times 0.2 is 0.19999999999999998."""
    cases = [Case(f"c{n}", judgments=(Judgment("a"),)) for n in range(6)]
    run = Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1),)) for n in range(6)])
    scores = score(judge(Suite.from_cases("s", cases), run), ["P@5"])
    assert check_gate(scores, [parse_threshold("P@5=0.2")]).verdict == "passed"


def test_one_failure_fails_the_gate() -> None:
    gate = check_gate(scores_of(), [parse_threshold("RR=0.1"), parse_threshold("RR=0.9")])
    assert (gate.verdict, [rule.verdict for rule in gate.rules]) == ("failed", ["passed", "failed"])


def test_no_rule_is_not_a_pass() -> None:
    assert check_gate(scores_of(), []).verdict == "untrusted"


@pytest.mark.parametrize("status", ["error", "not_run"])
def test_an_untrusted_run_never_passes(status: Status) -> None:
    assert check_gate(scores_of(status), [parse_threshold("RR=0")]).verdict == "untrusted"


def test_an_undefined_mean_never_passes() -> None:
    gate = check_gate(scores_of(measures=("Abstain",)), [parse_threshold("Abstain=0")])
    assert (gate.verdict, gate.rules[0].mean) == ("untrusted", None)


def test_suite_defaults_apply_to_thresholds() -> None:
    gate = check_gate(scores_of(defaults=Defaults(rel=2)), [parse_threshold("RR=0.1")])
    assert gate.rules[0].measure == "RR(rel=2)"


def test_a_measure_that_was_not_computed_is_an_error() -> None:
    with pytest.raises(UsageError, match="was not computed"):
        check_gate(scores_of(), [parse_threshold("AP=0.5")])


@pytest.mark.parametrize("text", ["RR", "RR=", "=0.5", "RR=high", "RR=nan", "RR=inf", "P(rel=2)@5"])
def test_an_unreadable_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_threshold(text)
