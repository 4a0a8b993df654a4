"""history and report: what was measured before, listed, followed, rendered again and removed."""

from __future__ import annotations

import csv
import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from searchmark import Archive
from searchmark.cli.main import main
from tests.conftest import ROOT
from tests.support import commands

pytestmark = pytest.mark.slow

LIVE = ["--gold-set", "suite.yaml", "--corpus", "corpus.jsonl", "--num-runs", "1"]
SAVED = ["evaluate", "--gold-set", "suite.yaml", "--run", "bm25.trec"]
FOLDER = Path(".searchmark/runs")
SPY = """
import pathlib

class Spy:
    def initialize(self, repo_path): pass
    def retrieve(self, query):
        found = pathlib.Path(__file__).parent.rglob("summary.json")
        return [str(path) for path in found if readable(path)] or ["nothing"]

def readable(path):
    try:
        return bool(path.read_text())
    except PermissionError:  # under Landlock a file that cannot be read is seen to exist
        return False
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("suite.yaml", "corpus.jsonl", "bm25.trec"):
        shutil.copy(ROOT / "examples" / "quickstart" / name, tmp_path)
    suite = tmp_path / "suite.yaml"
    suite.write_text(suite.read_text() + "missing: zero\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_entries(project: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The ids of two entries, the older first."""
    for _ in range(2):
        assert main([*SAVED, "--archive"]) == 0
    capsys.readouterr()
    return [entry.id for entry in reversed(Archive(FOLDER).entries())]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


class TestArchiving:
    def test_a_run_of_an_agent_is_archived_and_stderr_says_where(self, project: Path) -> None:
        done = commands.searchmark("evaluate", *LIVE, "--agent", "bm25")
        (entry,) = Archive(FOLDER).entries()
        assert (done.returncode, done.stderr) == (0, f"archived: .searchmark/runs/{entry.folder}\n")
        assert Archive(FOLDER).run(entry, "bm25").label.agent == "bm25"

    def test_a_comparison_is_one_entry_with_all_runs(self, project: Path) -> None:
        done = commands.searchmark("compare", *LIVE, "--agents", "bm25", "keyword", "--brief")
        assert done.returncode == 0, done.stderr
        (entry,) = Archive(FOLDER).entries()
        assert [path.name for path in Archive(FOLDER).runs(entry)] == ["bm25.jsonl", "keyword.jsonl"]

    @pytest.mark.parametrize(
        ("arguments", "kept"),
        [
            ([*SAVED], 0),
            ([*SAVED, "--archive"], 1),
            ([*SAVED, "--no-archive"], 0),
            (["gate", "bm25.trec", "--gold-set", "suite.yaml", "--fail-under", "RR=0.1"], 0),
            (["gate", "bm25.trec", "--gold-set", "suite.yaml", "--fail-under", "RR=0.1", "--archive"], 1),
            (["evaluate", *LIVE, "--agent", "bm25", "--no-archive"], 0),
            (["evaluate", *LIVE, "--agent", "bm25", "--fail-under", "RR=0.1", "--bisect"], 0),
        ],
    )
    def test_what_is_archived(self, project: Path, arguments: list[str], kept: int) -> None:
        assert main(arguments) == 0
        assert len(Archive(FOLDER).entries()) == kept

    @pytest.mark.parametrize("more", [["--config", "mine.yaml"], ["--no-config", "--archive-folder", "kept"]])
    def test_the_folder_can_be_chosen(self, project: Path, more: list[str]) -> None:
        Path("mine.yaml").write_text("archive: {directory: kept}\n")
        assert main([*SAVED, "--archive", *more]) == 0
        assert (len(Archive("kept").entries()), FOLDER.exists()) == (1, False)

    def test_it_can_be_switched_off_for_good_and_asked_for_all_the_same(self, project: Path) -> None:
        Path("searchmark.yaml").write_text("archive: {enabled: false}\n")
        assert main(["evaluate", *LIVE, "--agent", "bm25"]) == 0
        assert Archive(FOLDER).entries() == []
        assert main([*SAVED, "--archive"]) == 0
        assert len(Archive(FOLDER).entries()) == 1

    def test_a_config_that_was_only_found_does_not_write_elsewhere(
        self, project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        Path("searchmark.yaml").write_text(f"archive: {{directory: {outside}}}\n")
        _, error = said(capsys, *SAVED, "--archive", code=4)
        assert "archive.directory: is outside of the project" in error
        assert list(outside.iterdir()) == []

    @pytest.mark.parametrize("link", [".searchmark", ".searchmark/runs"])
    @pytest.mark.parametrize(
        "arguments",
        [
            ["evaluate", *LIVE, "--agent", "bm25"],
            [*SAVED, "--archive"],
            ["history"],
            ["history", "prune", "--keep", "0"],
            ["report", "latest"],
        ],
        ids=lambda arguments: " ".join(arguments[:2]),
    )
    def test_a_project_with_a_link_in_the_stead_of_its_archive_reaches_nothing_outside(
        self,
        project: Path,
        tmp_path_factory: pytest.TempPathFactory,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        link: str,
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        assert main([*SAVED, "--archive", "--archive-folder", str(outside / "runs")]) == 0
        entries = Archive(outside / "runs").entries()
        Path(link).parent.mkdir(exist_ok=True)
        Path(link).symlink_to(outside / Path(link).relative_to(".searchmark"))
        capsys.readouterr()
        output, error = said(capsys, *arguments, code=4)
        assert error.startswith("searchmark: .searchmark/runs leads out of the working directory, to ")
        assert (output, error.count("\n")) == ("", 1)
        assert [path.name for path in outside.iterdir()] == ["runs"]
        assert Archive(outside / "runs").entries() == entries

    def test_a_journal_is_not_written_through_a_link(self, project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        outside = tmp_path_factory.mktemp("outside")
        assert main(["evaluate", *LIVE, "--agent", "bm25", "--no-archive"]) == 0
        (journal,) = Path(".searchmark").glob("*.jsonl")
        (outside / "precious").write_text("precious")
        journal.unlink()
        journal.symlink_to(outside / "precious")
        assert main(["evaluate", *LIVE, "--agent", "bm25", "--no-archive"]) == 4
        assert (outside / "precious").read_text() == "precious"
        shutil.rmtree(".searchmark")
        Path(".searchmark").symlink_to(outside)
        assert main(["evaluate", *LIVE, "--agent", "bm25", "--no-archive"]) == 4
        assert [path.name for path in outside.iterdir()] == ["precious"]

    @pytest.mark.parametrize("folder", ["docs", ".", "docs/new", "docs/../docs/kept"])
    @pytest.mark.parametrize("named", [["--corpus", "docs"], ["--repo", "docs"]])
    def test_an_archive_in_what_is_searched_is_refused(
        self, project: Path, capsys: pytest.CaptureFixture[str], folder: str, named: list[str]
    ) -> None:
        Path("docs").mkdir()
        Path("docs/a.txt").write_text("text")
        searched = ["--gold-set", "suite.yaml", *named, "--num-runs", "1", "--archive-folder", folder]
        for verb in (["evaluate", "--agent", "bm25"], ["compare", "--agents", "bm25", "keyword"]):
            output, error = said(capsys, verb[0], *searched, *verb[1:], code=4)
            assert f"the archive {Path(folder)} and {project / 'docs'}, which is searched, are one in the other" in error
            assert (output, error.count("\n")) == ("", 1)
        assert [path.name for path in Path("docs").iterdir()] == ["a.txt"]

    def test_our_own_folder_may_lie_in_what_is_searched(self, project: Path) -> None:
        (project / "a.txt").write_text("text")
        assert main(["evaluate", "--gold-set", "suite.yaml", "--corpus", ".", "--num-runs", "1", "--agent", "bm25"]) == 0
        assert len(Archive(FOLDER).entries()) == 1

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes")
    def test_a_sandboxed_agent_beside_the_archive_does_not_read_it(
        self, project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
    ) -> None:
        corpus = tmp_path_factory.mktemp("elsewhere")
        (corpus / "a.txt").write_text("text")
        Path("spy.py").write_text(SPY)
        spied = ["evaluate", "--gold-set", "suite.yaml", "--corpus", str(corpus), "--num-runs", "1"]
        spied += ["--agent", "spy.py:Spy", "--sandbox", "--archive-folder", "."]
        for _ in range(2):
            assert main(spied) == 2  # nothing of what is looked for is in that corpus
        entry = Archive(".").find("latest")
        assert {*Archive(".").run(entry, "Spy").ids} == {"nothing"}

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            (["--drift-limit", "nan"], "limit must be a number"),
            (["--drift-limit", "inf"], "limit must be a number"),
            (["--archive", "--archive-folder", ""], "the folder of the archive has no name"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(
        self, project: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
    ) -> None:
        assert sentence in said(capsys, *SAVED, *more, code=4)[1]

    def test_a_report_says_what_drifted_since_the_last_one(self, project: Path) -> None:
        assert main([*SAVED, "--archive"]) == 0
        run = Path("bm25.trec").read_text().splitlines(keepends=True)
        Path("bm25.trec").write_text("".join(run[: len(run) // 2]))
        assert main([*SAVED, "--archive", "-o", "out.json"]) == 0
        report = json.loads(Path("out.json").read_text())
        assert "nDCG@10" in [drift["quantity"] for drift in report["drifts"]]
        latest = Archive(FOLDER).find("latest").id
        assert {trend["points"][-1]["entry"] for trend in report["trends"]} == {latest}

    def test_an_archive_that_cannot_be_written_costs_no_report(self, project: Path) -> None:
        Path(".searchmark").mkdir()
        FOLDER.touch()
        done = commands.searchmark("evaluate", *LIVE, "--agent", "bm25", "-o", "out.json")
        assert (done.returncode, Path("out.json").exists()) == (0, True)
        assert "searchmark: the archive .searchmark/runs cannot be " in done.stderr
        assert commands.searchmark(*SAVED, "--archive").returncode == 4


class TestList:
    def test_entries_are_listed_the_newest_first(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        output, _ = said(capsys, "history")
        header, *lines = output.splitlines()
        assert header.split() == ["entry", "time", "(UTC)", "suite", "run", "verdict", "measures"]
        assert [line.split()[0] for line in lines] == two_entries[::-1]
        assert "quickstart" in lines[0]
        assert "measured" in lines[0]
        assert "nDCG@10 0.4601 (" in lines[0]

    @pytest.mark.parametrize(
        ("more", "shown"),
        [
            (["-n", "1"], 1),
            (["--suite", "quickstart"], 2),
            (["--suite", "quick"], 0),
            (["--agent", "bm25"], 2),
            (["--agent", "keyword"], 0),
            (["--since", "1h"], 2),
            (["--since", "2100-01-01"], 0),
            (["list", "-n", "1"], 1),
        ],
    )
    def test_they_can_be_chosen(
        self, two_entries: list[str], capsys: pytest.CaptureFixture[str], more: list[str], shown: int
    ) -> None:
        output, _ = said(capsys, "history", *more, "-o", "-")
        assert len(json.loads(output)["runs"]) == shown

    def test_help_is_that_of_the_list_where_options_of_it_come_first(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "Number of entries." in said(capsys, "history", "-n", "1", "--help")[0]
        assert "Commands:" in said(capsys, "history", "--help")[0]

    def test_files_have_every_measure(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        output, error = said(capsys, "history", "-o", "h.json", "-o", "h.csv")
        assert (output, error) == ("", "written: h.json\nwritten: h.csv\n")
        newest = json.loads(Path("h.json").read_text())["runs"][0]
        rows = [row for row in csv.DictReader(Path("h.csv").read_text().splitlines()) if row["entry"] == newest["entry"]]
        assert {row["measure"]: float(row["mean"]) for row in rows} == {
            name: found["mean"] for name, found in newest["measures"].items()
        }

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["history", "--since", "soon"], "--since: 'soon' is neither a date"),
            (["history", "-o", "x.tex"], "x.tex: the extension must be one of .json, .csv"),
            (["history", "prune"], "say how long entries are kept: either --keep N or --older-than AGE"),
            (["history", "prune", "--keep", "1", "--older-than", "1d"], "say how long entries are kept"),
            (["history", "--archive-folder", "nowhere"], "there is no archive nowhere"),
            (["report", "nope"], "has no entry 'nope'"),
            (["report", "nope.json"], "nope.json: cannot be read: there is no such file"),
            (["report", "bm25.trec"], "bm25.trec is a saved run; name what it is judged by: --gold-set SUITE"),
            (["report", "suite.yaml"], "suite.yaml"),
        ],
    )
    def test_what_cannot_be_done_is_one_sentence(
        self, two_entries: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
    ) -> None:
        output, error = said(capsys, *arguments, code=4)
        assert sentence in error
        assert (output, error.count("\n")) == ("", 1)

    def test_a_damaged_entry_is_a_warning(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        (Archive(FOLDER).path(two_entries[1]) / "summary.json").write_text("{")
        output, error = said(capsys, "history")
        assert two_entries[0] in output
        assert error.startswith(f"searchmark: the entry {two_entries[1]} is damaged and is left out: ")

    def test_a_run_of_some_cases_says_so(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["evaluate", *LIVE, "--agent", "bm25", "--sample", "3"]) == 0
        capsys.readouterr()
        assert "measured, 3 of 20 cases " in said(capsys, "history")[0]
        (row,) = json.loads(said(capsys, "history", "-o", "-")[0])["runs"]
        assert (row["verdict"], row["cases"], row["suite_cases"]) == ("measured", 3, 20)

    def test_drifts_that_may_be_noise_are_not_counted(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*SAVED, "--archive"]) == 0
        run = Path("bm25.trec").read_text().splitlines(keepends=True)
        Path("bm25.trec").write_text("".join(run[: len(run) // 2]))
        assert main([*SAVED, "--archive", "-o", "out.json"]) == 0
        report = json.loads(Path("out.json").read_text())
        outside = sum(drift["noise"] == "outside" for drift in report["drifts"])
        capsys.readouterr()
        rows = json.loads(said(capsys, "history", "-o", "-")[0])["runs"]
        assert (rows[0]["drifts"], len(report["drifts"]) > outside) == (outside, True)

    def test_no_archive_yet_is_no_failure(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for arguments in (["history"], ["history", "trend", "-o", "trends.csv"], ["history", "prune", "--keep", "1"]):
            assert said(capsys, *arguments)[1].startswith("searchmark: there is no archive .searchmark/runs; ")
        assert Path("trends.csv").exists()
        assert not Path(".searchmark").exists()


class TestTrend:
    @pytest.fixture
    def two_runs(self, project: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
        """The ids of two entries of different runs, the older first."""
        assert main([*SAVED, "--archive"]) == 0
        Path("bm25.trec").write_text("".join(Path("bm25.trec").read_text().splitlines(keepends=True)[10:]))
        assert main([*SAVED, "--archive"]) == 0
        capsys.readouterr()
        return [entry.id for entry in reversed(Archive(FOLDER).entries())]

    def test_every_measure_is_followed(self, two_runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        output, _ = said(capsys, "history", "trend", "-m", "nDCG@10")
        header, first, *others = output.splitlines()
        assert header.split()[:8] == ["suite", "agent", "where", "measure", "cases", "runs", "left", "out"]
        assert first.split()[:6] == ["quickstart", "bm25", "all", "nDCG@10", "18", "2"]
        assert any("category boards" in line for line in others)

    @pytest.mark.parametrize("name", ["MRR", "rr", "RR"])
    def test_a_measure_has_any_of_its_names(self, two_entries: list[str], capsys: pytest.CaptureFixture[str], name: str) -> None:
        output, _ = said(capsys, "history", "trend", "-m", name, "-o", "-")
        assert {trend["measure"] for trend in json.loads(output)["trends"]} == {"RR"}

    def test_files_have_every_point(self, two_runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        said(capsys, "history", "trend", "-o", "t.json", "-o", "t.csv")
        trends = json.loads(Path("t.json").read_text())["trends"]
        assert [point["entry"] for point in trends[0]["points"]] == two_runs
        rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
        assert len(rows) == sum(len(trend["points"]) for trend in trends)
        assert {"begins", "changed", "cases", "queries", "left_out", "left_out_since", "sentence"} < rows[0].keys()

    def test_a_job_that_was_tried_again_is_one_run(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        trends = json.loads(said(capsys, "history", "trend", "-o", "-")[0])["trends"]
        assert [point["entry"] for point in trends[0]["points"]] == two_entries[:1]

    def test_nothing_has_become_worse(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert said(capsys, "history", "trend", "--worse")[0] == "no trend in .searchmark/runs fits\n"


class TestPrune:
    def test_what_goes_is_named(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        oldest = Archive(FOLDER).find(two_entries[0]).folder
        assert said(capsys, "history", "prune", "--keep", "1", "--dry-run")[0] == f"would be removed: {oldest}\n"
        assert len(Archive(FOLDER).entries()) == 2
        assert said(capsys, "history", "prune", "--keep", "1")[0] == f"removed: {oldest}\n"
        assert [entry.id for entry in Archive(FOLDER).entries()] == two_entries[1:]

    def test_what_is_young_enough_stays(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert said(capsys, "history", "prune", "--older-than", "90d") == ("", "")
        assert len(Archive(FOLDER).entries()) == 2

    def test_the_run_of_the_baseline_stays(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for _ in range(2):
            assert main(["evaluate", *LIVE, "--agent", "bm25"]) == 0
        newest, oldest = Archive(FOLDER).entries()
        run = str(Archive(FOLDER).runs(oldest)[0])
        assert main(["baseline", "update", run, "--gold-set", "suite.yaml", "--author", "Ada", "--yes"]) == 0
        capsys.readouterr()
        output, _ = said(capsys, "history", "prune", "--keep", "0")
        assert output == f"removed: {newest.folder}\nkept, since it is the baseline: {oldest.folder}\n"
        assert [entry.id for entry in Archive(FOLDER).entries()] == [oldest.id]


class TestReport:
    @pytest.mark.parametrize("source", ["latest", "report.json", "folder", "run"])
    def test_a_report_is_rendered_again_without_running_anything(
        self, two_entries: list[str], capsys: pytest.CaptureFixture[str], source: str
    ) -> None:
        wanted, _ = said(capsys, *SAVED, "-o", "report.json")
        judged = ["bm25.trec", "--gold-set", "suite.yaml"]
        sources = {"folder": [str(Archive(FOLDER).path("latest"))], "run": judged}
        output, _ = said(capsys, "report", *sources.get(source, [source]))
        assert output.startswith(wanted)

    def test_other_formats_are_written(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        output, error = said(capsys, "report", two_entries[0][:6], "-o", "x.md", "-o", "x.csv")
        assert (output, error) == ("", "written: x.md\nwritten: x.csv\n")
        assert Path("x.md").read_text().startswith("#")

    def test_json_goes_to_stdout(self, two_entries: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert json.loads(said(capsys, "report", "latest", "-o", "-")[0])["suite"]["name"] == "quickstart"

    @pytest.mark.parametrize("named", [["-o", "page.html"], []])
    def test_the_browser_gets_the_page(self, two_entries: list[str], project: Path, named: list[str]) -> None:
        browser = project / "browser"
        browser.write_text(f'#!/bin/sh\necho "$1" > {project}/asked\n')
        browser.chmod(0o755)
        done = commands.searchmark("report", "latest", *named, "--open", env={**os.environ, "BROWSER": f"{browser} %s"})
        assert done.returncode == 0, done.stderr
        opened = Path(done.stderr.splitlines()[-1].removeprefix("opened: "))
        assert (project / "asked").read_text().strip() == opened.absolute().as_uri()
        assert "<html" in opened.read_text()
        if not named:
            assert stat.S_IMODE(opened.parent.stat().st_mode) == 0o700
            shutil.rmtree(opened.parent)
