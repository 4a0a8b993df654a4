"""Every kind of rule, on runs that meet it, that do not, and that do not have the number at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from searchmark import (
    Answer,
    AnswerDetails,
    Baseline,
    Case,
    CompareSettings,
    Document,
    Evaluation,
    Gate,
    GateRule,
    GateSettings,
    Hit,
    Judgment,
    KnownFailure,
    LookCounter,
    Pin,
    Provenance,
    Run,
    RunLabel,
    Suite,
    UsageError,
    compare_runs,
    evaluate_run,
    load_corpus,
    named_baseline,
    parse_measure,
    render,
    rules_of,
)
from searchmark.gates.baselines import NO_BASELINE
from searchmark.gates.quantities import digits_beside_bound
from searchmark.gates.rules import AttainableValues, RuleResult
from searchmark.records.provenance import IndexBuild, VectorStatistics

CASES = 40


def suite_of(cases: int = CASES, **more: object) -> Suite:
    """Half of the cases are of the category even, half of odd; each is an observation of its own."""
    return Suite.from_cases(
        "s",
        [
            Case(
                f"c{n}",
                f"q{n}",
                (Judgment("a"), Judgment("b"), Judgment("x", grade=0)),
                category="odd" if n % 2 else "even",
                tags=("t",),
                origin=f"o{n}",
            )
            for n in range(cases)
        ],
        **more,
    )


def run_of(good: int, cases: int = CASES, *, name: str = "agent", **rest: object) -> Run:
    """The first ``good`` cases have both targets first, the others have none of them."""
    details = AnswerDetails(cold_ms=(20.0,), warm_ms=(10.0,), cost=0.5, tokens=300, tokens_by="gpt", retries=2)
    return Run.from_answers(
        RunLabel(name),
        [
            Answer(
                f"c{n}",
                "ok",
                tuple(Hit(each, rank) for rank, each in enumerate(("a", "b") if n < good else ("x", "y"), 1)),
                details,
            )
            for n in range(cases)
        ],
        **rest,
    )


def gate_on(run: Run, baseline: Baseline = NO_BASELINE, suite: Suite | None = None, **gates: object) -> Gate:
    _, gate = Evaluation(suite or suite_of(), ["RR"], rules=rules_of(GateSettings(**gates)), baseline=baseline).gate([run])  # type: ignore[arg-type]  # as it comes
    assert gate is not None
    return gate


def rule(**fields: object) -> tuple[GateRule]:
    return (GateRule(**fields),)  # type: ignore[arg-type]  # as it comes


def test_the_message_has_the_users_word_and_ours_expected_and_actual() -> None:
    (found,) = gate_on(run_of(30), thresholds={"Precision@2": 0.85}).rules
    assert found.message == "Expected Precision@2 (P@2) >= 0.85, but got 0.75"
    assert (found.subject, found.bound, found.expected, found.actual, found.verdict) == ("P@2", "at_least", 0.85, 0.75, "failed")
    assert found.cases == tuple(f"c{n}" for n in range(30, 40))


def test_a_number_that_rounds_to_its_bound_is_told_apart() -> None:
    (found,) = gate_on(run_of(30), rules=rule(measure="P@2", above=0.75)).rules
    assert found.message == "Expected P@2 > 0.75, but got 0.75"
    (found,) = gate_on(run_of(30), rules=rule(measure="P@2", at_least=0.7500001)).rules
    assert found.message == "Expected P@2 >= 0.7500001, but got 0.75"


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (0.46009797, 0.46009797009, "0.46009797"),  # 0.4601 would be above the bound that it misses
        (0.460049, 0.46004, "0.46005"),
        (0.2 - 1e-16, 0.2, "0.2"),
        (123456.0, 123460.0, "123456"),
        (0.3227, 0.3, "0.3227"),
    ],
)
def test_a_number_is_written_on_its_side_of_the_bound(actual: float, expected: float, text: str) -> None:
    assert digits_beside_bound(actual, expected) == text


@pytest.mark.parametrize(
    ("fields", "verdict", "actual"),
    [
        ({"measure": "RR", "at_least": 0.75}, "passed", 0.75),
        ({"measure": "RR", "above": 0.75}, "failed", 0.75),
        ({"measure": "RR", "at_most": 0.75}, "passed", 0.75),
        ({"measure": "RR", "below": 0.75}, "failed", 0.75),
        ({"measure": "RR", "where": {"category": "even"}, "at_least": 0.76}, "failed", 0.75),
        ({"measure": "RR", "where": {"tag": "t"}, "at_least": 0.7}, "passed", 0.75),
        ({"measure": "RR", "where": {"category": "none"}, "at_least": 0.0}, "untrusted", None),
        ({"measure": "RR", "where": {"colour": "red"}, "at_least": 0.0}, "untrusted", None),
        ({"measure": "Tau", "at_least": 0.5}, "untrusted", None),
        ({"latency": "warm.p95", "at_most": 10}, "passed", 10.0),
        ({"latency": "cold.p50", "below": 20}, "failed", 20.0),
        ({"latency": "index_only.p95", "at_most": 250}, "untrusted", None),
        ({"latency": "warm.p95", "where": {"category": "odd"}, "at_most": 10}, "passed", 10.0),
        ({"cost": "per_query", "at_most": 0.5}, "passed", 0.5),
        ({"cost": "total", "below": 20}, "failed", 20.0),
        ({"tokens": "p95", "at_most": 300}, "passed", 300.0),
        ({"tokens": "mean", "below": 300}, "failed", 300.0),
        ({"tokens": "total", "where": {"category": "odd"}, "at_most": 6000}, "passed", 6000.0),
        ({"retries": "attempts", "at_most": 79}, "failed", 80.0),
        ({"retries": "searches", "at_most": 40}, "passed", 40.0),
        ({"retries": "share", "at_most": 0.1}, "failed", 1.0),
        ({"latency": "first_hit.p95", "at_most": 10}, "untrusted", None),
        ({"index": "bytes", "at_most": 1000}, "passed", 1000.0),
        ({"index": "seconds", "below": 2}, "failed", 2.0),
        ({"memory": "bytes", "at_most": 5}, "untrusted", None),
        ({"index": "bytes", "where": {"category": "odd"}, "at_most": 1000}, "untrusted", None),
        ({"ann_recall": 10, "at_least": 0.95}, "untrusted", None),
    ],
)
def test_a_bound_on_any_number(fields: dict[str, object], verdict: str, actual: float | None) -> None:
    run = run_of(30, provenance=Provenance(index=IndexBuild(seconds=2.0, bytes=1000)))
    (found,) = gate_on(run, rules=rule(**fields)).rules
    assert (found.verdict, found.actual) == (verdict, actual)
    assert found.where == fields.get("where", {})


def with_index(*known: AnswerDetails, vectors: tuple[VectorStatistics, ...] = ()) -> Run:
    """A run with details of its own for its first answers, and the last of them for all others."""
    each = [*known, *[known[-1]] * (CASES - len(known))]
    answers = [Answer(f"c{n}", "ok", (Hit("a", 1),), details) for n, details in enumerate(each)]
    return Run.from_answers("agent", answers, provenance=Provenance(vectors=vectors))


WARM = AnswerDetails(index_cold_ms=9.0, index_warm_ms=(2.0, 3.0), ann_k=10, ann_recall=1.0, ann_overlap=0.9)
LOW = replace(WARM, ann_recall=0.5)
SEVEN = VectorStatistics(count=7, dimension=8)


@pytest.mark.parametrize(
    ("fields", "run", "verdict", "actual", "said"),
    [
        ({"latency": "index_only.p95", "at_most": 3}, with_index(WARM), "passed", 3.0, ""),
        ({"latency": "index_only.p95", "below": 3}, with_index(WARM), "failed", 3.0, ""),
        ({"latency": "index_only.p50", "at_most": 9}, with_index(replace(WARM, index_warm_ms=())), "passed", 9.0, ""),
        (
            {"latency": "index_only.p50", "at_most": 9},
            with_index(AnswerDetails(), WARM),
            "untrusted",
            None,
            "it is known for 39 of 40",
        ),
        ({"ann_recall": 10, "at_least": 0.95}, with_index(WARM), "passed", 1.0, ""),
        ({"ann_recall": 10, "at_least": 0.99}, with_index(LOW, WARM), "failed", 0.9875, ""),
        ({"ann_recall": 10, "at_least": 0.95, "where": {"category": "odd"}}, with_index(LOW, WARM), "passed", 1.0, ""),
        (
            {"ann_recall": 10, "at_least": 0.5},
            with_index(AnswerDetails(), WARM),
            "untrusted",
            None,
            "it is known for 39 of 40 answers",
        ),
        ({"ann_recall": 20, "at_least": 0.5}, with_index(WARM), "untrusted", None, "it was measured at k = 10; set recall_k: 20"),
        ({"ann_recall": 5, "at_least": 0.5}, with_index(WARM), "untrusted", None, "or ask for ann_recall: 10"),
        ({"ann_recall": 10, "at_least": 0.5}, with_index(AnswerDetails()), "untrusted", None, "says nothing about ANN recall"),
        (
            {"ann_recall": 10, "at_least": 0.5},
            with_index(AnswerDetails(), vectors=(replace(SEVEN, arm="a"), replace(SEVEN, arm="b.c"))),
            "untrusted",
            None,
            "several arms have an index (a, b.c), and of several there is no single number; evaluate one of them alone",
        ),
        (
            {"ann_recall": 10, "at_least": 0.5},
            with_index(AnswerDetails(), vectors=(replace(SEVEN, arm="a"),)),
            "untrusted",
            None,
            "says nothing about ANN recall",
        ),
        ({"ann_recall": 10, "at_least": 0.5}, with_index(replace(WARM, ann_k=7), vectors=(SEVEN,)), "passed", 1.0, ""),
        ({"ann_recall": 10, "at_least": 0.5}, with_index(replace(WARM, ann_k=7)), "untrusted", None, "it was measured at k = 7"),
    ],
)
def test_a_bound_on_what_an_index_takes_and_finds(
    fields: dict[str, object], run: Run, verdict: str, actual: float | None, said: str
) -> None:
    (found,) = gate_on(run, rules=rule(**fields)).rules
    assert (found.verdict, found.actual) == (verdict, actual)
    assert said in found.message


def test_a_bound_on_the_time_of_an_index_names_the_cases_in_which_the_index_was_slow() -> None:
    slow_elsewhere = replace(WARM, cold_ms=(900.0,), index_warm_ms=(1.0,))
    run = with_index(slow_elsewhere, replace(WARM, index_warm_ms=(50.0,)), WARM)
    (found,) = gate_on(run, rules=rule(latency="index_only.p99", at_most=10)).rules
    assert found.cases[0] == "c1"


def told(*details: AnswerDetails) -> Run:
    """A run that states these of its first answers, and of all others the last."""
    run = run_of(30)
    return replace(run, details=(*details, *[details[-1]] * (CASES - len(details))))


@pytest.mark.parametrize(
    ("run", "fields", "reason"),
    [
        (told(AnswerDetails()), {"tokens": "p95"}, "the agent does not say what its answers take"),
        (told(AnswerDetails(tokens=1), AnswerDetails()), {"tokens": "p95"}, "they are known for 1 of 40 answers"),
        (
            told(AnswerDetails(tokens=1, tokens_by="x"), AnswerDetails(tokens=1, tokens_by="y")),
            {"tokens": "mean"},
            "they were counted by x and y, which cannot be put together",
        ),
        (told(AnswerDetails()), {"retries": "share"}, "the agent does not say whether it tries again"),
        (told(AnswerDetails(retries=0), AnswerDetails()), {"retries": "searches"}, "it is known for 1 of 40 searches"),
    ],
)
def test_a_number_that_is_not_stated_of_all_is_not_trusted(run: Run, fields: dict[str, object], reason: str) -> None:
    (found,) = gate_on(run, rules=rule(**fields, at_most=10**9)).rules
    assert (found.verdict, found.actual) == ("untrusted", None)
    assert found.message.endswith(f"but there is no such number: {reason}")


def test_the_cases_that_took_most_tokens_and_attempts_are_the_cause() -> None:
    run = told(AnswerDetails(tokens=9, retries=0), AnswerDetails(tokens=50, retries=7), AnswerDetails(tokens=1, retries=0))
    tokens, retries = gate_on(run, rules=(*rule(tokens="total", at_most=1), *rule(retries="attempts", at_most=1))).rules
    assert (tokens.cases[:2], retries.cases) == (("c1", "c0"), ("c1",))
    assert retries.message == "Expected further attempts <= 1, but got 7"
    assert (tokens.amounts[:2], retries.amounts) == (("50 tokens", "9 tokens"), ("7 further attempts",))


def test_an_answer_without_hits_has_no_first_hit_and_spoils_no_rule_about_it() -> None:
    timed = AnswerDetails(cold_ms=(20.0,), first_hit_ms=4.0)
    answers = [Answer(f"c{n}", "ok", (Hit("a", 1),), timed) for n in range(CASES - 1)]
    empty = Answer(f"c{CASES - 1}", "empty", (), AnswerDetails(cold_ms=(20.0,)))
    run = Run.from_answers("agent", [*answers, empty])
    (found,) = gate_on(run, rules=rule(latency="first_hit.p95", at_most=5)).rules
    assert (found.verdict, found.actual) == ("passed", 4.0)


def test_a_warning_is_said_and_fails_nothing() -> None:
    (found,) = gate_on(run_of(30), rules=rule(latency="warm.p95", at_most=250, warn_above=5)).rules
    assert (found.verdict, said(found)) == ("passed", {"warning-level": "10 ms is above 5 ms, a warning and not a failure"})


UNATTAINABLE, ALWAYS_MET, BELOW_RANDOM = "unattainable-threshold", "threshold-always-met", "threshold-below-random"


def said(found: RuleResult) -> dict[str, str]:
    return {each.code: each.message for each in found.findings}


@pytest.mark.parametrize(
    ("name", "expected", "worth"),
    [
        ("nDCG@10", 90, {UNATTAINABLE: "values of nDCG@10 lie between 0 and 1: 90 is outside; write 0.9 for 90 %"}),
        ("P@5", 0.5, {UNATTAINABLE: "the highest possible P@5 on these cases is 0.4: no ranking can meet this bound"}),
        ("P@5", 0.4, {}),
        ("RR", 0.0, {ALWAYS_MET: "every ranking meets this bound: no RR is lower than 0"}),
        ("RR", -1, {ALWAYS_MET: "values of RR lie between 0 and 1: -1 is outside"}),
        ("nDCG@10", 1.0000001, {UNATTAINABLE: "values of nDCG@10 lie between 0 and 1: 1.0000001 is outside"}),
    ],
)
def test_what_a_bound_is_worth_is_said_with_the_gate(name: str, expected: float, worth: dict[str, str]) -> None:
    (found,) = gate_on(run_of(40), thresholds={name: expected}).rules
    assert said(found) == worth


@pytest.mark.parametrize(
    ("bound", "expected", "worth"),
    [
        ("at_most", 1.0, {ALWAYS_MET: "every ranking meets this bound: no RR is higher than 1"}),
        ("at_most", 90, {ALWAYS_MET: "values of RR lie between 0 and 1: 90 is outside; write 0.9 for 90 %"}),
        ("below", 0.0, {UNATTAINABLE: "no ranking can meet this bound: no RR is lower than 0"}),
        ("below", 1.0, {}),
        ("at_most", 0.0, {}),
    ],
)
def test_what_a_highest_value_is_worth_is_said_as_well(bound: str, expected: float, worth: dict[str, str]) -> None:
    (found,) = gate_on(run_of(40), rules=rule(measure="RR", **{bound: expected})).rules
    assert said(found) == worth


@pytest.mark.parametrize(
    ("measure", "expected", "spared", "note"),
    [
        ("RR", 0.0, (), "every ranking meets this bound: no RR is lower than 0"),
        ("RR", 90.0, (), "values of RR lie between 0 and 1: 90 is outside; write 0.9 for 90 %"),
        ("RR", 0.9, (), None),
        ("P@3", 0.65, (), "50 of 50 random rankings meet this bound in every case, so it says nothing about quality"),
        ("P@3", 0.7, (), "the highest possible P@3 of case c0 is 0.6667: no ranking can meet this bound"),
        ("P@3", 0.7, [f"c{n}" for n in range(12)], None),
    ],
)
def test_what_a_lowest_value_of_every_case_is_worth(measure: str, expected: float, spared: Sequence[str], note: str | None) -> None:
    documents = tuple(Document(each, each) for each in ("a", "b", "z"))
    cases = [Case(f"c{n}", "q", (Judgment("a"), Judgment("b")), documents=documents) for n in range(12)]
    found = AttainableValues(Suite.from_cases("s", cases)).findings_of_each(parse_measure(measure), expected, spared)
    assert [each.message for each in found] == ([] if note is None else [note])


@pytest.mark.parametrize(
    ("gates", "reason"),
    [
        (
            {"rules": (GateRule(measure="RR", against="baseline", policy="non-inferior", margin=2),)},
            "a margin of 2 allows every loss, since none of RR is larger than 1; lower it",
        ),
        (
            {"known_failures": (KnownFailure("c1", "RR", 90),)},
            "at_least of the known failure 'c1': values of RR lie between 0 and 1: 90 is outside; write 0.9 for 90 %",
        ),
    ],
)
def test_what_could_never_be_met_or_missed_is_refused(gates: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        rules_of(GateSettings(**gates))  # type: ignore[arg-type]  # as it comes


def test_a_warning_of_a_rule_that_compares_is_refused() -> None:
    with pytest.raises(UsageError, match="a warning belongs to rules with a bound"):
        GateRule(measure="RR", against="baseline", warn_below=0.5)


def test_a_measure_without_a_highest_value_takes_any_margin() -> None:
    assert rules_of(GateSettings(rules=(GateRule(measure="DCG@10", against="baseline", policy="non-inferior", margin=2),)))


def test_a_finding_names_its_rules_and_is_said_once() -> None:
    rules = (GateRule(measure="RR", at_least=0.0), GateRule(measure="RR", above=90, where={"category": "odd"}))
    report = evaluate_run(suite_of(), [run_of(40)], rules=rules_of(GateSettings(thresholds={"R@5": 0}, rules=rules)))
    assert [each.message for each in report.audit if each.code == ALWAYS_MET] == [
        "R@5 >= 0: every ranking meets this bound: no R@5 is lower than 0",
        "RR >= 0: every ranking meets this bound: no RR is lower than 0",
    ]
    assert [each.message for each in report.audit if each.code == UNATTAINABLE] == [
        "RR in category odd > 90: values of RR lie between 0 and 1: 90 is outside; write 0.9 for 90 %"
    ]
    assert render(report, "markdown").count("no RR is lower than 0") == 1
    assert render(report, "json").count("no RR is lower than 0") == 1


def test_rules_with_one_finding_are_named_together() -> None:
    rules = [GateRule(measure="RR", at_least=0.0, where={"category": name}) for name in ("odd", "even")]
    report = evaluate_run(suite_of(), [run_of(40)], rules=rules_of(GateSettings(rules=tuple(rules))))
    (found,) = (each.message for each in report.audit if each.code == ALWAYS_MET)
    assert found.startswith("RR in category odd >= 0, RR in category even >= 0: every ranking meets this bound")


def test_a_long_list_of_findings_about_rules_is_cut() -> None:
    thresholds = {f"P@{k}": 0.0 for k in range(1, 10)}
    report = evaluate_run(suite_of(), [run_of(40)], rules=rules_of(GateSettings(thresholds=thresholds)))
    found = [each.message for each in report.audit if each.code == ALWAYS_MET]
    assert len(found) == 5  # four, and the rest
    assert found[-1] == "P@5 >= 0, P@6 >= 0, P@7 >= 0, 2 more: likewise: A bound of a gate that no value of its measure could miss."


def test_a_warning_names_its_rule() -> None:
    rules = rules_of(GateSettings(rules=(GateRule(latency="warm.p95", at_most=250, warn_above=5),)))
    report = evaluate_run(suite_of(), [run_of(40)], rules=rules)
    (found,) = (each.message for each in report.audit if each.code == "warning-level")
    assert found == "latency warm.p95 <= 250: 10 ms is above 5 ms, a warning and not a failure"


@pytest.mark.parametrize(("good", "more"), [(0, "and at least 17 more cases"), (30, "and 7 more cases")])
def test_cases_that_are_not_counted_to_the_end_are_told_as_a_lower_bound(good: int, more: str) -> None:
    rules = rules_of(GateSettings(thresholds={"RR": 0.99}))
    assert f"  {more}\n" in render(evaluate_run(suite_of(), [run_of(good)], rules=rules))


def test_a_bound_that_a_random_ranking_meets_is_said() -> None:
    """Of three documents two are relevant: whatever their order, P@3 is two thirds."""
    documents = tuple(Document(each, each) for each in ("a", "b", "z"))
    cases = [Case(f"c{n}", "q", (Judgment("a"), Judgment("b")), documents=documents) for n in range(12)]
    gate = gate_on(run_of(12, 12), suite=Suite.from_cases("s", cases), thresholds={"P@3": 0.65, "RR": 0.9})
    random, real = gate.rules
    sentence = "a random ranking gets 0.6667 on average and meets this bound, so it says nothing about quality"
    assert (said(random), said(real)) == ({BELOW_RANDOM: sentence}, {})


@pytest.mark.parametrize(
    ("pin", "verdict"),
    [
        ({"must_be_first": "a"}, "passed"),
        ({"must_be_first": "b"}, "failed"),
        ({"must_contain": "b"}, "passed"),
        ({"must_contain": ("a", "b"), "k": 1}, "failed"),
        ({"must_not_contain": "x"}, "passed"),
        ({"must_not_contain": "b", "k": 1}, "passed"),
        ({"must_not_contain": ("x", "b")}, "failed"),
        ({"before": ("a", "b")}, "passed"),
        ({"before": ("b", "a")}, "failed"),
        ({"before": ("b", "never")}, "passed"),
        ({"before": ("never", "b")}, "failed"),
        ({"before": ("never", "neither")}, "failed"),
    ],
)
def test_a_pinned_case(pin: dict[str, object], verdict: str) -> None:
    (found,) = gate_on(run_of(40), pins=(Pin("c7", **pin),)).rules  # type: ignore[arg-type]  # as it comes
    assert (found.subject, found.cases, found.verdict) == ("case c7", ("c7",), verdict)


def test_a_pin_names_what_was_expected_and_what_came() -> None:
    (found,) = gate_on(run_of(0), pins=(Pin("c7", must_be_first="a"),)).rules
    assert found.message == "case c7: expected a to be first, but got x, y"


def test_a_pin_on_a_case_that_is_not_there_or_failed_is_untrusted() -> None:
    assert gate_on(run_of(40), pins=(Pin("c99", must_be_first="a"),)).verdict == "untrusted"
    whole = run_of(200, 200)
    failed = Run.from_answers(
        "agent", [replace(each, status="error", hits=()) if each.case == "c0" else each for each in whole.answers]
    )
    gate = gate_on(failed, suite=suite_of(200), pins=(Pin("c0", must_be_first="a"),))
    assert gate.rules[0].message == "case c0 cannot be checked: it ended with error"
    assert gate.verdict == "untrusted"


@pytest.mark.parametrize(("good", "verdict"), [(0, "passed"), (40, "failed")])
def test_a_known_failure_is_news_when_it_passes(good: int, verdict: str) -> None:
    (found,) = gate_on(run_of(good), known_failures=("c7",)).rules
    assert (found.verdict, found.bound) == (verdict, "known_failure")
    (found,) = gate_on(run_of(good), known_failures=(KnownFailure("c7", "RR", 0.5),)).rules
    assert found.verdict == verdict


def test_a_pin_of_a_known_failure_may_fail() -> None:
    pins = (Pin("c7", must_be_first="b"),)
    (found,) = gate_on(run_of(40), pins=pins, known_failures=("c7",)).rules
    assert (found.bound, found.verdict) == ("known_failure", "passed")
    assert gate_on(run_of(40), pins=(Pin("c7", must_be_first="a"),), known_failures=("c7",)).verdict == "failed"


def test_every_case_must_reach_its_own_minimum_but_for_known_failures() -> None:
    (found,) = gate_on(run_of(39), each_case={"MRR": 0.5}).rules
    assert found.message == "Expected MRR (RR) of every case >= 0.5, but 1 of 40 have less, the lowest 0"
    assert found.cases == ("c39",)
    assert gate_on(run_of(39), each_case={"MRR": 0.5}, known_failures=("c39",)).verdict == "passed"


def test_a_regression_fails_where_a_gate_asks_for_it() -> None:
    baseline = named_baseline(run_of(40))
    (found,) = gate_on(run_of(30), baseline, rules=rule(measure="RR", against="baseline")).rules
    assert (found.verdict, found.bound, found.actual) == ("failed", "no-evidence-of-harm", -0.25)
    assert found.message.startswith("Expected RR against the baseline not to be worse, but it REGRESSED: -0.2500, interval -0.4")
    assert found.cases == tuple(f"c{n}" for n in range(30, 40))
    (same,) = gate_on(run_of(40), baseline, rules=rule(measure="RR", against="baseline")).rules
    assert same.verdict == "passed"


def test_non_inferior_must_be_shown() -> None:
    baseline = named_baseline(run_of(40))
    narrow = rule(measure="RR", against="baseline", policy="non-inferior", margin=0.05)
    wide = rule(measure="RR", against="baseline", policy="non-inferior", margin=0.2)
    assert gate_on(run_of(40), baseline, rules=narrow).verdict == "unresolvable"  # 40 ties do not show that much
    assert gate_on(run_of(40), baseline, rules=wide).verdict == "passed"
    assert gate_on(run_of(34), baseline, rules=wide).verdict == "failed"


def test_too_few_cases_resolve_nothing() -> None:
    suite, baseline = suite_of(8), named_baseline(run_of(8, 8))
    gate = gate_on(run_of(0, 8), baseline, suite, rules=rule(measure="RR", against="baseline"))
    assert gate.verdict == "unresolvable"
    assert (
        "cases worth fewer than 10 independent ones get no interval and no verdict: 2 more independent cases are needed for a verdict"
        in gate.rules[0].message
    )


def test_a_baseline_that_is_missing_is_not_met() -> None:
    (found,) = gate_on(run_of(40), rules=rule(measure="RR", against="baseline")).rules
    assert (found.verdict, found.message) == ("untrusted", "RR cannot be held against the baseline: there is none")


def test_rules_that_compare_are_one_family() -> None:
    """Seven cases lost everything: a difference that is significant alone, and not among twenty."""
    baseline, worse = named_baseline(run_of(40)), run_of(34)
    alone = gate_on(worse, baseline, rules=rule(measure="RR", against="baseline"))
    measures = [f"P@{k}" for k in range(1, 20)]
    among = gate_on(worse, baseline, rules=tuple(GateRule(measure=name, against="baseline") for name in ("RR", *measures)))
    assert (alone.verdict, among.rules[0].verdict) == ("failed", "passed")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "a rule of a gate is about one of measure, latency"),
        ({"measure": "RR", "latency": "warm.p95", "at_least": 1}, "not measure and latency"),
        ({"measure": "RR"}, "needs a bound"),
        ({"latency": "p95", "at_most": 1}, "write it like warm.p95"),
        ({"cost": "much", "at_most": 1}, "cost must be total or per_query, not 'much'"),
        ({"measure": "RR", "at_least": 1, "margin": 0.1}, "a margin belongs to"),
        ({"measure": "RR", "at_least": 1, "against": "baseline"}, "not both"),
        ({"latency": "warm.p95", "against": "baseline"}, "is for measures"),
        ({"measure": "RR", "against": "baseline", "margin": 0.1}, "a margin belongs to the policy non-inferior"),
        ({"measure": "RR", "at_least": 1, "where": {"a": "b", "c": "d"}}, "'where' names one field"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        rule(**fields)


def test_a_preset_has_its_exact_measures() -> None:
    found = [(each.subject, each.bound, each.expected) for each in gate_on(run_of(40), preset="fts5-vector-reranker").rules]
    assert found == [("P@5", "above", 0.6), ("P@10", "above", 0.5), ("RR@10", "above", 0.5), ("Success@5", "above", 0.8)]
    found = [(each.subject, each.expected) for each in gate_on(run_of(40), preset="search-relevance").rules]
    assert found == [("Relevance", 0.85), ("RR@5", 0.8), ("P@5", 0.85)]
    assert gate_on(run_of(40), preset="fashion-vectors").verdict == "untrusted"
    with pytest.raises(UsageError, match="there is no preset 'none' of gates; there are: search-relevance"):
        gate_on(run_of(40), preset="none")


def test_of_several_runs_the_worst_is_told_with_its_own_answers() -> None:
    report = compare_runs(
        suite_of(), [run_of(40, name="good"), run_of(10, name="bad")], ["RR"], rules=rules_of(GateSettings(thresholds={"MRR": 0.9}))
    )
    assert report.gate is not None
    assert [(rule.run, rule.message) for rule in report.gate.rules] == [("bad", "Expected bad: MRR (RR) >= 0.9, but got 0.25")]
    assert "c10 'q10': expected a, b; got x, y" in render(report)


def test_a_comparison_holds_rules_against_its_baseline() -> None:
    runs = [run_of(40, name="old"), run_of(40, name="same"), run_of(20, name="worse")]
    rules = rules_of(GateSettings(rules=rule(measure="RR", against="baseline")))
    report = compare_runs(suite_of(), runs, ["RR"], rules=rules, options=CompareSettings(baseline="old"))
    assert report.gate is not None
    assert (report.gate.verdict, report.gate.rules[0].run) == ("failed", "worse")
    assert compare_runs(suite_of(), runs[:2], ["RR"], rules=rules).gate.verdict == "passed"  # type: ignore[union-attr]  # there are rules


def errors_in(run: Run, cases: range) -> Run:
    """The run after the agent failed on some cases."""
    failed = {f"c{n}" for n in cases}
    return Run.from_answers(
        run.label, [replace(each, status="error", hits=()) if each.case in failed else each for each in run.answers]
    )


@pytest.mark.parametrize("policy", ["no-evidence-of-harm", "sequential"])
def test_a_category_that_crashes_is_a_regression(policy: str) -> None:
    """Few enough of all cases that the run is trusted."""
    cases = [Case(f"c{n}", f"q{n}", (Judgment("a"),), category="x" if n < 40 else "y", origin=f"o{n}") for n in range(1000)]
    suite = Suite.from_cases("s", cases)
    gates = rule(measure="RR", against="baseline", where={"category": "x"}, policy=policy)
    gate = gate_on(errors_in(run_of(1000, 1000), range(40)), named_baseline(run_of(1000, 1000)), suite, rules=gates)
    assert gate.verdict == "failed"


@pytest.mark.parametrize("policy", ["no-evidence-of-harm", "non-inferior", "sequential"])
def test_a_measure_that_tells_nothing_of_quality_gets_no_verdict(policy: str) -> None:
    gates = rule(measure="Judged@10", against="baseline", policy=policy)
    assert gate_on(run_of(0), named_baseline(run_of(40)), rules=gates).verdict == "unresolvable"


@pytest.mark.slow
def test_a_look_that_is_too_strict_for_the_cases_resolves_nothing(tmp_path: Path) -> None:
    """Of twelve cases even the loss of all of them is not enough for the level of a late look."""
    suite, baseline, rules = (
        suite_of(12),
        named_baseline(run_of(12, 12)),
        rules_of(GateSettings(rules=rule(measure="RR", against="baseline", policy="sequential"))),
    )
    book = LookCounter(tmp_path / "looks.jsonl")
    verdicts = []
    for build in range(45):
        run = replace(run_of(0 if build == 44 else 12, 12), provenance=Provenance(id=f"r{build}"))
        run = run if build == 44 else replace(run, scores=np.full(len(run.scores), float(build)))  # other answers each time
        report = evaluate_run(suite, [run], ["RR"], rules=rules, baseline=baseline, looks=book)
        verdicts.append(report.gate.verdict)  # type: ignore[union-attr]  # there are rules
    assert verdicts[0] == "passed"
    assert verdicts[-2:] == ["unresolvable", "unresolvable"]


@pytest.mark.parametrize(
    ("pin", "full", "cut"),
    [
        ({"must_not_contain": "b"}, "failed", "untrusted"),
        ({"must_contain": "b"}, "passed", "untrusted"),
        ({"must_be_first": "a"}, "passed", "passed"),
    ],
)
def test_what_lies_below_the_depth_is_not_known(pin: dict[str, object], full: str, cut: str) -> None:
    whole = run_of(40)
    asked = Provenance(options={"depth": 1})
    short = Run.from_answers("agent", [replace(each, hits=each.hits[:1]) for each in whole.answers], provenance=asked)
    found = [gate_on(run, pins=(Pin("c7", **pin),)).verdict for run in (whole, short)]  # type: ignore[arg-type]  # as it comes
    assert found == [full, cut]


@pytest.mark.parametrize("field", ["pins", "known_failures", "thresholds", "each_case"])
def test_no_rule_passes_on_an_untrusted_run(field: str) -> None:
    run = errors_in(run_of(40), range(10, 20))
    rules = {
        "pins": (Pin("c0", must_be_first="a"),),
        "known_failures": (KnownFailure("c0", "P@5", 0.9),),
        "thresholds": {"RR": 0.1},
        "each_case": {"P@9": 0.0},
    }
    assert gate_on(run, **{field: rules[field]}).verdict == "untrusted"


def test_a_cost_that_is_known_for_some_answers_is_not_the_total() -> None:
    known = [
        replace(each, details=AnswerDetails(cost=0.01) if each.case == "c0" else AnswerDetails()) for each in run_of(40).answers
    ]
    (found,) = gate_on(Run.from_answers("agent", known), rules=rule(cost="total", at_most=0.05)).rules
    assert (found.verdict, found.message) == (
        "untrusted",
        "Expected total cost <= 0.05, but there is no such number: it is known for 1 of 40 answers",
    )


def test_a_run_that_finds_nothing_names_its_cases() -> None:
    (found,) = gate_on(run_of(0), thresholds={"RR": 0.5}).rules
    assert found.cases == tuple(f"c{n}" for n in range(20))


def test_a_pin_on_a_document_that_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "a"}\n{"id": "b", "text": "b"}\n')
    survey = load_corpus(tmp_path / "docs.jsonl").survey
    rules = rules_of(GateSettings(pins=(Pin("c7", must_not_contain=("z", "x")),)))
    report = evaluate_run(suite_of(), [run_of(40)], ["RR"], rules=rules, corpus=survey)
    found = [(each.message, each.cases) for each in report.audit if each.code == "pin-outside-corpus"]
    name = "case c7 must not contain z, x"
    assert found == [(f"{name}: {each} is not among the documents that are searched", ("c7",)) for each in ("z", "x")]


def test_a_run_with_too_few_values_is_unresolvable_whatever_the_baseline_has() -> None:
    """Of scores that the candidate gives in five cases alone, nothing can be shown."""
    judged = (Judgment("a", score_range=(0.0, 1.0)),)
    suite = Suite.from_cases("s", [Case(f"c{n}", f"q{n}", judged, origin=f"o{n}") for n in range(40)])
    scored, short = (
        Run.from_answers("agent", [Answer(f"c{n}", "ok", (Hit("a", 1, 0.5 if n < known else None),)) for n in range(40)])
        for known in (40, 5)
    )
    gates = rule(measure="InRange", against="baseline")
    assert gate_on(scored, named_baseline(scored), suite, rules=gates).verdict == "passed"
    gate = gate_on(short, named_baseline(scored), suite, rules=gates)
    assert gate.verdict == "unresolvable"
    assert gate.rules[0].message.endswith("is unresolvable: worth fewer than 10 independent cases")
