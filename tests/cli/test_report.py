"""``searchmark report``: what it refuses, and what it does with the parts of an archive."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchmark import Archive
from tests.support import commands

QUICKSTART = commands.ROOT / "examples" / "quickstart"
FOLDER = Path(".searchmark/runs")
COMPARED = (
    "compare",
    "--gold-set",
    "suite.yaml",
    "--run",
    "bm25.trec",
    "--run",
    "other.trec",
    "--missing",
    "zero",
    "--archive",
    "-o",
    "out.json",
)


@pytest.fixture(autouse=True)
def archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison in a file and in an archive."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(QUICKSTART / "suite.yaml", "suite.yaml")
    shutil.copy(QUICKSTART / "bm25.trec", "bm25.trec")
    lines = Path("bm25.trec").read_text().splitlines(keepends=True)
    Path("other.trec").write_text("".join(lines[::2]).replace(" bm25", " other"))
    done = commands.searchmark(*COMPARED)
    assert done.returncode == 0, done.stderr


def first_case(agent: dict[str, Any]) -> dict[str, Any]:
    return next(iter(agent["cases"].values()))


SPOILED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "status": (lambda data: first_case(next(iter(data["agents"].values()))).update(status="odd"), "has the unknown status 'odd'"),
    "no agents": (lambda data: data.update(agents={}, pairs=[]), "it has no run"),
    "primary": (lambda data: data["pairs"][0].update(primary="inf"), "are not compared by 'inf'"),
    "pair": (lambda data: data["pairs"][0].update(candidate="gone"), "a pair names the unknown run 'gone'"),
    "worst": (lambda data: next(iter(data["agents"].values())).update(worst=["gone"]), "has no case 'gone'"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "sentence"), SPOILED.values(), ids=SPOILED)
def test_a_file_that_contradicts_itself_is_refused_in_one_sentence(spoil: Callable[[dict[str, Any]], Any], sentence: str) -> None:
    data = json.loads(Path("out.json").read_text())
    spoil(data)
    Path("out.json").write_text(json.dumps(data))
    done = commands.searchmark("report", "out.json", "-o", "x.summary.txt")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert sentence in done.stderr


@pytest.mark.slow
def test_the_summary_of_an_entry_means_the_whole_entry() -> None:
    folder = Archive(FOLDER).path("latest")
    assert commands.searchmark("report", str(folder / "summary.json")).stdout == commands.searchmark("report", "latest").stdout


def test_the_summary_of_an_entry_alone_is_refused() -> None:
    shutil.copy(Archive(FOLDER).path("latest") / "summary.json", "alone.json")
    done = commands.searchmark("report", "alone.json")
    assert (done.returncode, done.stdout) == (4, "")
    assert "alone.json has no cases: it is the summary of an entry of an archive" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--hits", "3"), ("-m", "RR"), ("--by", "tag"), ("--hit-texts",), ("--run-format", "trec")])
@pytest.mark.parametrize("source", ["out.json", "latest"])
def test_what_a_saved_run_is_judged_by_is_refused_for_a_report(source: str, flags: tuple[str, ...]) -> None:
    done = commands.searchmark("report", source, *flags)
    assert (done.returncode, done.stdout) == (4, "")
    assert "needs a saved run, or an entry, with --gold-set SUITE" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("source", ["latest", "folder"])
def test_the_runs_of_an_entry_are_judged_again(source: str) -> None:
    named = str(Archive(FOLDER).path("latest")) if source == "folder" else source
    done = commands.searchmark("report", named, "--gold-set", "suite.yaml", "-m", "RR", "-o", "-")
    assert done.returncode == 0, done.stderr
    measures = {name: set(agent["measures"]) for name, agent in json.loads(done.stdout)["agents"].items()}
    assert measures == {"bm25": {"RR"}, "other": {"RR"}}


def test_an_option_about_running_belongs_to_a_run() -> None:
    done = commands.searchmark("evaluate", "--gold-set", "suite.yaml", "--run", "bm25.trec", "--save-run", "x.jsonl")
    assert done.returncode == 4
    assert "--save-run belongs to a run with --agent" in done.stderr
