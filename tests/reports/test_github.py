"""GitHub Actions: the summary of a step and its annotations, and no text that the runner takes for a command."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from searchmark import GateSettings, Pin
from searchmark.reports.ci import (
    LARGEST_SUMMARY,
    MOST_ANNOTATIONS,
    Annotation,
    SuiteLine,
    SuiteLines,
    annotations_of,
    append_summary,
)
from tests.conftest import ROOT
from tests.reports.samples import report_of
from tests.reports.test_junit import gated
from tests.support.commands import searchmark

QUICKSTART = ROOT / "examples" / "quickstart"
RUN = ("examples/quickstart/bm25.json", "--gold-set", "examples/quickstart/suite.yaml", "--no-config")
# As the runner reads a line (ActionCommand.cs of actions/runner): the command, its properties, and the rest as data.
_COMMAND = re.compile(r"::(?P<name>\w+) (?P<properties>[^:]*)::(?P<data>.*)")


def as_the_runner_reads(line: str) -> tuple[str, dict[str, str], str]:
    found = _COMMAND.fullmatch(line)
    assert found is not None, line
    properties = dict(each.split("=", 1) for each in found["properties"].split(","))
    return found["name"], {name: unescaped(value) for name, value in properties.items()}, unescaped(found["data"])


def unescaped(text: str) -> str:
    return re.sub("%(25|0D|0A|3A|2C)", lambda found: bytes.fromhex(found[1]).decode(), text)


@given(st.text(), st.text(), st.text(min_size=1))
def test_an_annotation_is_one_command_whatever_is_in_it(title: str, message: str, file: str) -> None:
    line = Annotation("error", title, message, SuiteLine(file, 3)).command
    assert line.splitlines() == [line]
    name, properties, data = as_the_runner_reads(line)
    assert (name, set(properties), properties["line"]) == ("error", {"title", "file", "line"}, "3")
    assert not re.search(r"^\s*::|##\[", data, re.MULTILINE)


@pytest.mark.parametrize(
    "text", ["::set-output name=x::y", "::stop-commands::t", "a\n::error::b", "%0A::error::x", "##[error]x", "a,b:c=d"]
)
def test_a_query_cannot_become_a_command(text: str) -> None:
    (first, *_) = annotations_of(report_of(text, hit=text, minimum=0.9))
    name, properties, data = as_the_runner_reads(first.command)
    assert (name, properties) == ("error", {"title": "Search gate untrusted"})
    assert data.startswith("RR >= 0.9 cannot be checked, the run is untrusted: 1 of 3 cases ")
    assert not re.search(r"^\s*::|::(set-output|stop-commands|error)|##\[", data, re.MULTILINE)


def test_there_are_ten_annotations_at_most_and_the_last_counts_the_rest() -> None:
    pins = tuple(Pin("c1", must_contain=str(n)) for n in range(30))
    found = annotations_of(gated(GateSettings(pins=pins)))
    assert len(found) == MOST_ANNOTATIONS
    assert {each.level for each in found[:-1]} == {"error"}
    assert found[-1] == Annotation("warning", "Searchmark", "21 more are in the summary of the step and in the report")


def test_what_is_met_is_not_annotated() -> None:
    assert annotations_of(gated(GateSettings(thresholds={"RR": 0.5}))) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("cases:\n  - id: c1\n    query: x\n", 2),
        ("cases:\n  - {id: 'c1', query: x}\n", 2),
        ('{"cases": [\n {"query": "c1",\n  "id": "c1"}]}', 3),
        ('{"id": "c0"}\n{"id": "c1", "query": "x"}\n', 2),
        ("cases:\n  - id: c10\n", None),
        ("- id: c1\n- id: c1\n", None),
        ("c1 0 doc 1\n", None),
    ],
)
def test_the_line_of_a_case_is_given_where_it_is_known(tmp_path: Path, text: str, line: int | None) -> None:
    (tmp_path / "suite").write_text(text)
    found = SuiteLines(tmp_path / "suite", tmp_path).find("c1")
    assert found == (None if line is None else SuiteLine("suite", line))


def test_a_suite_outside_of_the_workspace_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("- id: c1\n")
    (tmp_path / "work").mkdir()
    assert SuiteLines(tmp_path / "suite.yaml", tmp_path / "work").find("c1") is None
    assert SuiteLines(tmp_path / "missing.yaml", tmp_path).find("c1") is None


def test_the_summary_is_appended_with_the_verdict_first(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("# before\n")
    append_summary(gated(GateSettings(thresholds={"RR": 0.99})), file)
    assert file.read_text().startswith("# before\n## ❌ Search quality: the gate failed\n")
    assert "# shop: search quality" in file.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, LARGEST_SUMMARY - 5000, LARGEST_SUMMARY - 10, LARGEST_SUMMARY])
def test_a_summary_is_never_larger_than_github_shows(tmp_path: Path, before: int) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * before)
    report = gated(GateSettings(thresholds={"RR": 0.99}))
    (note,) = [each for each in report_of().audit if each.severity == "error"]
    append_summary(replace(report, audit=(replace(note, message="é" * 1000),) * 1200), file)
    assert before <= file.stat().st_size <= LARGEST_SUMMARY
    text = file.read_text()[before:]
    assert text == "" or text.endswith("Cut here: GitHub shows 1 MiB per step. The report file has everything._\n")


@pytest.mark.parametrize("verb", ["gate", "evaluate", "compare"])
def test_every_verb_with_a_report_tells_the_step(verb: str, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.touch()
    runs = {
        "gate": RUN[:1],
        "evaluate": ("--run", RUN[0]),
        "compare": ("--run", RUN[0], "--run", "examples/quickstart/semantic.json"),
    }
    asked = (verb, *runs[verb], *RUN[1:], "--fail-under", "RR=0.99", "--github", "-o", "-")
    environment = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = searchmark(*asked, cwd=ROOT, env=environment)
    assert done.returncode == 1, done.stderr
    assert summary.read_text().startswith("## ❌")
    shown = {"gate": "evaluate", "evaluate": "evaluate", "compare": "compare"}[verb]
    step = f"searchmark {shown} --gold-set examples/quickstart/suite.yaml --no-config --run examples/quickstart/bm25.json"
    assert f"next: {step}" in done.stderr
    assert f"```sh\n{step}" in summary.read_text()
    (first, *_) = [line for line in done.stderr.splitlines() if line.startswith("::")]
    _, properties, data = as_the_runner_reads(first)
    assert properties["file"] == "examples/quickstart/suite.yaml"
    assert "Expected RR >= 0.99" in data.replace("bm25: ", "").replace("semantic: ", "")
    assert done.stdout.startswith("{")


@pytest.mark.parametrize(
    ("value", "sentence"), [("", "--github needs the variable GITHUB_STEP_SUMMARY"), ("gone/x.md", "is not a file")]
)
def test_without_a_summary_nothing_is_run(value: str, sentence: str) -> None:
    done = searchmark(
        "gate", *RUN, "--fail-under", "RR=0.1", "--github", cwd=ROOT, env={"GITHUB_STEP_SUMMARY": value, "PATH": "/usr/bin"}
    )
    assert (done.returncode, done.stdout) == (4, "")
    assert sentence in done.stderr


def test_a_secret_of_the_environment_is_in_no_annotation_and_no_summary(tmp_path: Path) -> None:
    secret, summary = "hunter2,%:secret-value", tmp_path / "summary.md"
    summary.touch()
    (tmp_path / "suite.yaml").write_text("schema_version: 1\nname: s\ncases:\n  - {id: c1, query: x, judgments: [{target: a}]}\n")
    (tmp_path / "run.json").write_text('{"c1": ["' + secret + '"]}')
    asked = ("gate", "run.json", "--gold-set", "suite.yaml", "--fail-under", "RR=0.9", "--github", "--no-config", "-o", "r.xml")
    environment = {"GITHUB_STEP_SUMMARY": str(summary), "API_TOKEN": secret, "PATH": "/usr/bin:/bin"}
    done = searchmark(*asked, cwd=tmp_path, env=environment)
    told = done.stdout + done.stderr + summary.read_text() + (tmp_path / "r.xml").read_text()
    assert "::error" in done.stderr
    assert "hunter2" not in told
