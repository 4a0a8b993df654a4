"""JUnit: what CI systems read is well-formed, and red exactly where the exit code is not 0."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    GateRule,
    GateSettings,
    Hit,
    Judgment,
    KnownFailure,
    Pin,
    Report,
    Run,
    Suite,
    build_report,
    check_gate,
    match_hits,
    render,
    rules_of,
    score,
)
from searchmark.cli.output import exit_code
from searchmark.reports.render import write_report
from tests.reports.samples import HOSTILE, comparison_of, report_of

SUITE = Suite.from_cases("shop", [Case(f"c{n}", f"query {n}", (Judgment("a"), Judgment("b"))) for n in range(30)])


def gated(gates: GateSettings, missed: tuple[str, ...] = ("c1", "c2"), failed: tuple[str, ...] = ()) -> Report:
    """A run that finds ``a`` for all cases but some, checked by a gate."""
    answers = [
        Answer(
            case, "error" if case in failed else "ok", () if case in failed else (Hit("x" if case in missed else "a", 1),), DETAILS
        )
        for case in SUITE.table.ids
    ]
    scores = score(match_hits(SUITE, Run.from_answers("mine", answers)), ["RR", "Success@10"])
    return build_report(scores, (), check_gate(Evidence.of(scores), rules_of(gates)) if gates != GateSettings() else None)


DETAILS = AnswerDetails((12.5,), (1.0,))


def parsed(report: Report) -> ET.Element:
    return ET.fromstring(render(report, "junit"))  # noqa: S314  # our own


def named_tests(report: Report) -> dict[tuple[str, str], ET.Element]:
    root = parsed(report)
    return {(test.get("classname", ""), test.get("name", "")): test for test in root.iter("testcase")}


def ends(report: Report, element: str) -> list[str]:
    return [name for (_, name), test in named_tests(report).items() if test.find(element) is not None]


def test_there_is_a_test_per_rule_and_one_per_case() -> None:
    found = named_tests(gated(GateSettings(thresholds={"RR": 0.5}, rules=(GateRule(latency="cold.p95", at_most=50),))))
    assert [name for suite, name in found if suite == "shop.gate"] == ["RR >= 0.5", "latency cold.p95 <= 50"]
    assert [name for suite, name in found if suite == "shop.mine"] == list(SUITE.table.ids)
    assert all(len(test) == 0 for test in found.values())


def test_a_rule_that_is_not_met_is_a_failure_with_its_cases() -> None:
    failure = named_tests(gated(GateSettings(thresholds={"MRR": 0.99})))["shop.gate", "RR >= 0.99"].find("failure")
    assert failure is not None
    assert failure.get("message") == "Expected MRR (RR) >= 0.99, but got 0.9333"
    assert (failure.text or "").splitlines()[:2] == [failure.get("message"), "c1 'query 1': expected a, b; got x"]


def test_what_cannot_be_checked_is_an_error_and_no_failure() -> None:
    report = gated(GateSettings(thresholds={"Tau": 0.5}, rules=(GateRule(measure="RR", against="baseline"),)))
    assert ends(report, "error") == ["Tau >= 0.5", "RR against baseline (no evidence of harm)"]
    assert ends(report, "failure") == []


def test_a_case_that_failed_is_an_error_with_its_reason() -> None:
    report = gated(GateSettings(), failed=("c3",))
    error = named_tests(report)["shop.mine", "c3"].find("error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("error", "c3 ended with error")
    assert (error.text or "").splitlines()[1:] == ["query: query 3", "expected: a, b", "got: nothing"]


def test_pins_fail_at_their_case() -> None:
    report = gated(GateSettings(pins=(Pin("c1", must_be_first="a"), Pin("c4", must_be_first="a"))))
    assert ends(report, "failure") == ["case c1 must be first a", "c1"]


def test_a_lowest_value_of_each_case_fails_at_every_case_below_it_but_for_known_failures() -> None:
    low = tuple(f"c{n}" for n in range(1, 28))
    report = gated(GateSettings(each_case={"RR": 0.5}, known_failures=("c2",)), missed=low)
    assert ends(report, "failure") == ["RR of every case >= 0.5", "c1", *low[2:]]
    failure = named_tests(report)["shop.mine", "c27"].find("failure")
    assert failure is not None
    assert failure.get("message") == "c27: expected RR >= 0.5, but got 0"


def test_a_known_failure_is_skipped_with_its_message_until_it_passes() -> None:
    report = gated(GateSettings(known_failures=("c1", KnownFailure("c9"))))
    assert ends(report, "skipped") == ["case c1 known failure fails", "c1"]
    skipped = named_tests(report)["shop.mine", "c1"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "case c1 fails, as is known"
    assert ends(report, "failure") == ["case c9 known failure fails", "c9"]


def test_times_are_the_latencies_of_the_cases_in_seconds() -> None:
    root = parsed(gated(GateSettings()))
    assert {test.get("time") for test in root.iter("testcase")} == {"0.012500"}
    assert root.get("time") == "0.375000"


def test_counts_are_those_of_the_tests() -> None:
    report = gated(
        GateSettings(thresholds={"RR": 0.99}, known_failures=("c1",), pins=(Pin("c2", must_be_first="a"),)), failed=("c5",)
    )
    root = parsed(report)
    for suite in (root, *root.iter("testsuite")):
        known = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
        known = {name: element for name, element in known.items() if suite is not root or name != "skipped"}
        assert {name: suite.get(name) for name in known} == {name: str(len(list(suite.iter(each)))) for name, each in known.items()}


# Children and attributes by element, those that must be there in capitals: junit-10.xsd of jenkinsci/xunit-plugin.
SCHEMA = {
    "testsuites": ("testsuite", "name time tests failures disabled errors"),
    "testsuite": (
        "testcase properties system-out system-err",
        "name TESTS failures errors time skipped timestamp hostname id package",
    ),
    "testcase": ("skipped error failure system-out system-err", "NAME assertions time timestamp classname status file line"),
    **dict.fromkeys(("failure", "error", "skipped"), ("", "type message")),
}


REPORTS = pytest.mark.parametrize(
    "report",
    [
        gated(GateSettings(thresholds={"RR": 0.5})),
        gated(GateSettings(thresholds={"RR": 0.99})),
        gated(GateSettings(thresholds={"Tau": 0.5})),
        gated(GateSettings(), failed=tuple(f"c{n}" for n in range(9))),
        gated(GateSettings()),
        replace(gated(GateSettings()), agents={}),
        report_of(minimum=0.1),
        comparison_of(),
    ],
    ids=["passed", "failed", "untrusted rule", "untrusted run", "no gate", "nothing", "sample", "comparison"],
)


@REPORTS
def test_elements_and_attributes_are_those_of_the_schema(report: Report) -> None:
    for element in parsed(report).iter():
        children, attributes = SCHEMA[element.tag]
        assert {child.tag for child in element} <= {*children.split()}
        assert {*element.keys()} <= {*attributes.lower().split()}
        assert {each.lower() for each in attributes.split() if each.isupper()} <= {*element.keys()}


@REPORTS
def test_it_is_red_exactly_where_the_exit_code_is_not_0(report: Report) -> None:
    gate = next(parsed(report).iter("testsuite"))
    assert (int(gate.get("failures", "")) + int(gate.get("errors", "")) > 0) == (exit_code(report) != 0)


@pytest.mark.parametrize(
    "text", [HOSTILE, "]]>", "<!--", "a\x00b\x0bc\x1f\x7f", "\ufffe\uffff", "\ud800", "\"'&<>", "&#0;", "\r\n\t"]
)
def test_hostile_text_stays_text(text: str, tmp_path: Path) -> None:
    report = replace(report_of(text, hit=text, minimum=0.9), agents={text: report_of(text, hit=text).agents["agent"]})
    write_report(report, tmp_path / "report.junit.xml")
    root = ET.parse(tmp_path / "report.junit.xml").getroot()  # noqa: S314  # as above
    assert {each.tag for each in root.iter()} == {"testsuites", "testsuite", "testcase", "error", "skipped"}


@given(st.text(st.characters(codec=None)))
def test_any_text_is_well_formed(text: str) -> None:
    root = parsed(report_of(text, hit=text, minimum=0.9))
    assert len(list(root.iter("testcase"))) == 5
