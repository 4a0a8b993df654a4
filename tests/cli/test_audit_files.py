"""Audits on the command line: written in every format, shown again, refused where that makes no sense."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from searchmark.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples" / "quickstart"
DOCS = Path(__file__).parents[2] / "docs" / "audit.md"
AUDIT = ["audit", str(EXAMPLES / "suite.yaml"), "--run", str(EXAMPLES / "bm25.trec")]
FORMATS = ("json", "md", "html", "txt")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(name: str) -> list[str]:
    return [part for each in FORMATS for part in ("-o", f"{name}.{each}")]


def test_an_audit_is_shown_again_from_its_json_in_every_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*AUDIT, *files("first")]) == 0
    printed = capsys.readouterr().out
    assert main(["report", "first.json", *files("second")]) == 0
    assert [Path(f"first.{each}").read_text() == Path(f"second.{each}").read_text() for each in FORMATS] == [True] * 4
    capsys.readouterr()
    assert main(["report", "first.json"]) == 0
    assert capsys.readouterr().out == printed
    assert main([*AUDIT, "--tables"]) == 0
    assert capsys.readouterr().out == Path("first.txt").read_text()


def test_json_goes_to_the_screen_where_it_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*AUDIT, "-o", "-"]) == 0
    assert "cases-missing" in [each["code"] for each in json.loads(capsys.readouterr().out)["audit"]]


def test_the_docs_show_what_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*AUDIT, "--corpus", str(EXAMPLES / "corpus.jsonl"), "-o", "-"]) == 0
    written = json.loads(capsys.readouterr().out)
    shown = DOCS.read_text().split("## JSON")[1].split("```")[1]
    assert re.findall(r'^[{ ]"(\w+)":', shown, re.MULTILINE) == list(written)
    named = [
        *written["suite"],
        *written["audit"][0],
        *written["tables"]["measures"],
        *list(written["tables"]["measures"]["rows"][0])[:4],
    ]
    assert [key for key in named if f'"{key}": ' not in shown] == []
    assert json.dumps(written["lacking"]) in shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("-o", "audit.csv"), "audit.csv: pairs to judge are written with --next, and an audit as .json, .md, .html or .txt"),
        (("--charts", "-o", "audit.md"), "an audit has no charts; leave out --charts"),
    ],
)
def test_what_an_audit_does_not_have_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    assert main([*AUDIT, "-o", "first.json"]) == 0
    assert main(["report", "first.json", *more]) == 4
    assert said in capsys.readouterr().err
    assert not list(folder.glob("audit.*"))


def test_a_file_that_is_neither_a_report_nor_an_audit_is_refused_as_before(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("other.json").write_text('{"a": 1}')
    assert main(["report", "other.json"]) == 4
    assert "schema_version: is missing" in capsys.readouterr().err


@pytest.mark.parametrize("loss", ["nan", "inf", "1e999"])
def test_a_loss_that_is_no_number_is_refused(loss: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "suite.yaml", "--sees", loss, "--no-config"]) == 4
    assert "is not a loss of a mean; give a number such as 0.02" in capsys.readouterr().err


def test_a_baseline_that_is_named_and_missing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "suite.yaml", "--fail-under", "nDCG@10=0.4", "--against", "nope.jsonl", "--no-config"]) == 4
    assert "nope.jsonl: cannot be read: No such file" in capsys.readouterr().err
