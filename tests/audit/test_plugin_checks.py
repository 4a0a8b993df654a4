"""Checks that installed packages add by an entry point: one file, and the audit runs it and lists what it finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark import Finding, load_suite
from searchmark.audit.check import all_kinds, spoils
from searchmark.cli.main import main
from searchmark.records.finding import FindingKind
from tests.conftest import ROOT

FAILED = "check-failed"
SUITE = ROOT / "examples" / "quickstart" / "suite.yaml"

CHECK = '''
from searchmark import FindingKind, Subject, check, finding

SHORT = FindingKind("short-queries", "error", "Queries of up to three words.", "They say little.", "Ask for more.")


@check(SHORT, theme="Gold against itself")
def short_queries(subject: Subject):
    """Cases whose query is hardly one."""
    cases = [case.id for case in subject.suite.cases if len((case.query or "").split()) <= 3]
    yield finding(SHORT, f"{len(cases)} of {len(subject.suite.cases)} queries are short", cases)
'''

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def searchmark(tmp_path: Path) -> Command:
    """A package with one file and an entry point, as an installer would leave it, and the commands of a machine that has it."""

    def command(code: str, *arguments: str, points: str = "short = acme_checks:short_queries") -> subprocess.CompletedProcess[str]:
        site = tmp_path / "site"
        info = site / "acme_checks-1.2.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (site / "acme_checks.py").write_text(code)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-checks\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[searchmark.checks]\n{points}\n")
        environment = {**os.environ, "PYTHONPATH": str(site)}
        words = [sys.executable, "-m", "searchmark", *arguments]
        return subprocess.run(words, capture_output=True, text=True, env=environment, check=False, timeout=120)

    return command


def findings(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, object]]:
    """What an audit in JSON has found, by code."""
    assert done.returncode == 0, done.stderr
    return {each["code"]: each for each in json.loads(done.stdout)["audit"]}


def test_a_check_of_an_installed_package_runs_in_an_audit(searchmark: Command) -> None:
    done = searchmark(CHECK, "audit", str(SUITE), "-o", "-")
    found = findings(done)["short-queries"]
    assert (found["severity"], found["why"], found["fix"]) == ("error", "They say little.", "Ask for more.")
    short = [case.id for case in load_suite(SUITE).cases if len((case.query or "").split()) <= 3]
    assert found["cases"] == short
    assert found["message"] == f"{len(short)} of 20 queries are short"
    assert done.stderr == ""


def test_its_codes_are_listed_under_their_theme(searchmark: Command) -> None:
    done = searchmark(CHECK, "audit", "--codes")
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.split("short-queries")
    assert before.rindex("Gold against itself") > before.rindex("Gold against its corpus")
    assert after.split("\n")[0].split(maxsplit=1) == ["error", "Queries of up to three words."]


def test_what_is_to_be_audited_is_not_passed_over_where_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(SUITE), "--codes"]) == 4
    assert "--codes lists what an audit may find" in capsys.readouterr().err


@pytest.mark.slow
def test_an_audit_that_was_written_has_its_findings_under_their_theme(searchmark: Command, tmp_path: Path) -> None:
    written = tmp_path / "audit.json"
    assert searchmark(CHECK.replace('"error"', '"note"'), "audit", str(SUITE), "-o", str(written)).returncode == 0
    page = tmp_path / "audit.html"
    assert searchmark(CHECK.replace('"error"', '"note"'), "report", str(written), "-o", str(page)).returncode == 0
    text = page.read_text()
    assert text.index("Gold against itself") < text.index("short-queries")
    assert "Other findings" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("yield finding('all-targets-missing', 'x')", "it found 'all-targets-missing', which is none of its kinds"),
        ("yield 'a sentence'", "'a sentence' is not a finding"),
        ("yield finding(SHORT, 'x', [7])", "a message or case of 'short-queries' is not a text"),
    ],
)
def test_a_check_that_fails_is_one_finding_and_the_rest_is_audited(searchmark: Command, body: str, reason: str) -> None:
    code = f"{CHECK.split('    cases = ', maxsplit=1)[0]}    {body}\n    yield from ()\n"
    found = findings(searchmark(code, "audit", str(SUITE), "-o", "-"))
    assert reason in str(found[FAILED]["message"])
    assert found[FAILED]["severity"] == "warning"
    assert found.keys() == {FAILED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "points", "reason"),
    [
        ("raise OSError('no disk')", "one = acme_checks:check", "OSError: no disk"),
        (
            CHECK.replace("short-queries", "circular-gold"),
            "one = acme_checks:short_queries",
            "there are findings with the code 'circular-gold' already",
        ),
        (CHECK.replace('"error"', '"fatal"'), "one = acme_checks:short_queries", "the severity 'fatal'"),
        (
            "def plain(subject): yield",
            "one = acme_checks:plain",
            "acme_checks:plain is not an object of searchmark.audit.check.Check",
        ),
    ],
)
def test_what_cannot_be_loaded_is_one_warning_and_the_rest_is_audited(
    searchmark: Command, code: str, points: str, reason: str
) -> None:
    done = searchmark(code, "audit", str(SUITE), "-o", "-", points=points)
    assert findings(done) == {}
    assert done.stderr.count("is not used: ") == 1
    assert "the plug-in 'one' (checks" in done.stderr
    assert reason in done.stderr


def test_a_finding_of_a_kind_that_no_module_has_loaded_is_known() -> None:
    """The process that reads a report has loaded no check: what it does not know yet, it looks up."""
    statement = (
        "from searchmark.audit.check import spoils; from searchmark.records.finding import FINDING_KINDS, Finding; "
        "print('nothing-judged' in FINDING_KINDS, *(spoils(Finding(code, severity, 'x')) for code, severity in "
        "[('nothing-judged', 'error'), ('circular-gold', 'error'), ('never-heard-of', 'error'), ('never-heard-of', 'note')]))"
    )
    done = subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False", "True", "False"]


def test_only_an_error_can_spoil_a_result_so_that_an_unknown_one_is_never_trusted() -> None:
    with pytest.raises(ValueError, match="only a finding of severity error can spoil"):
        FindingKind("half-true", "warning", "A result that is half true.", spoils=True)
    assert [kind.code for kind in all_kinds().values() if kind.spoils and not spoils(Finding("unknown", kind.severity, "x"))] == []
