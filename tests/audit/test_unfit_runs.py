"""A run that does not fit the suite is a finding, and everything else is audited without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from searchmark import AnswerDetails, Baseline, GateRule, GateSettings, Incomparable, Run, audit_suite, rules_of
from searchmark.audit.check import Audit
from searchmark.cli.main import main
from tests.audit.clean import MEASURES, clean
from tests.audit.mutations.corpus import MUTATIONS

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"
SUITE, FITTING = str(QUICKSTART / "suite.yaml"), str(QUICKSTART / "bm25.trec")


def foreign(name: str = "foreign") -> Run:
    return Run.from_answers(name, [replace(each, case=f"other-{each.case}") for each in clean().answers["strong"]])


def asked_differently() -> Run:
    """A run of ours knows what it was asked."""
    asked = AnswerDetails(asked="another query")
    return Run.from_answers("native", [replace(each, details=asked) for each in clean().answers["strong"]])


def fitting() -> Run:
    return Run.from_answers("weak", clean().answers["weak"])


def audit(runs: Sequence[Run], **more: object) -> Audit:
    subject = clean().subject()
    return audit_suite(subject.suite, subject.corpus, runs, MEASURES, **more)  # type: ignore[arg-type]  # its parameters


def messages(found: Audit, code: str = "run-not-scored") -> list[str]:
    return [each.message for each in found.findings if each.code == code]


def test_every_run_that_does_not_fit_is_an_error_with_the_reason_and_the_others_are_audited() -> None:
    found = audit([foreign(), fitting(), asked_differently()])
    cases = "its cases are named like 'other-c00', the suite's like 'c00'"
    assert messages(found) == [
        f"the run 'foreign' answers no case of the suite 'clean': {cases}",
        "the run 'native' was asked different queries than those of the suite 'clean': 'c00' is one of them",
    ]
    (measures,) = (each for each in found.tables if each.name == "measures")
    assert measures.columns[-1] == "weak"


def test_runs_of_one_name_are_told_apart() -> None:
    assert [each.split(":")[0] for each in messages(audit([foreign(), foreign()]))] == [
        "the run 'foreign' answers no case of the suite 'clean'",
        "foreign#2",
    ]


def test_shifted_judgments_are_found_although_no_run_fits() -> None:
    subject = MUTATIONS["shifted-judgments"](clean())
    found = audit_suite(subject.suite, subject.corpus, [asked_differently()], MEASURES)
    assert {"run-not-scored", "shifted-judgments"} <= {each.code for each in found.findings}


def test_a_baseline_that_does_not_fit_is_a_finding_too() -> None:
    rules = rules_of(GateSettings(rules=(GateRule(measure="RR", against="baseline"),)))
    (said,) = messages(audit([fitting()], rules=rules, baseline=Baseline(foreign("old"))))
    assert said.startswith("the baseline: the run 'old' answers no case of the suite")


def test_on_the_command_line_only_strict_fails_by_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alien = tmp_path / "alien.trec"
    alien.write_text("q1 Q0 d 1 1.0 alien\n")
    both = ["audit", SUITE, "--run", str(alien), "--run", FITTING]
    assert main(both) == 0
    shown = capsys.readouterr().out
    assert "error run-not-scored: the run 'alien' answers no case of the suite 'quickstart'" in shown
    assert "warning cases-missing" in shown
    assert main([*both, "--strict"]) == 1


def test_a_run_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    broken = tmp_path / "broken.trec"
    broken.write_text("not a run\n")
    assert main(["audit", SUITE, "--run", str(broken)]) == 4
    assert main(["audit", SUITE, "--run", str(tmp_path / "missing.trec")]) == 4


def test_pairs_to_judge_need_two_runs_that_fit() -> None:
    with pytest.raises(Incomparable, match="no two runs to compare for --next: the run 'foreign' answers no case"):
        audit([foreign(), fitting()], judge_next=3)
