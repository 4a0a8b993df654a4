"""``~`` is the home of the user wherever a path is named: on the command line behind quotes, in a config, in Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from searchmark import ResumeSettings, SearchScope, load_config, load_corpus, load_run, load_suite, save_run, save_suite
from searchmark.cli.main import main
from searchmark.config.sections import ArchiveSettings
from searchmark.io.paths import user_path, user_text

RUN_TEXT = "q1 Q0 a 1 3.0 t\nq2 Q0 c 1 1.0 t\n"
DOCUMENTS = '{"_id": "a", "text": "one"}\n{"_id": "c", "text": "two"}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one of each file, and a working directory elsewhere."""
    folder, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\n")
    (folder / "topics.tsv").write_text("q1\tone\nq2\ttwo\n")
    (folder / "bm25.run").write_text(RUN_TEXT)
    (folder / "corpus.jsonl").write_text(DOCUMENTS)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.chdir(elsewhere)
    return folder


def unchanged() -> bool:
    """Whether no folder called ``~`` was made."""
    return not list(Path().glob("*~*"))


def test_suites_topics_runs_corpora_and_outputs_of_the_command_line(home: Path) -> None:
    code = main(
        ["evaluate", "--suite", "~/qrels.txt", "--topics=~/topics.tsv", "--run=~/bm25.run", "--corpus", "~/corpus.jsonl"]
        + ["-m", "RR", "-o", "~/reports/report.json", "-o", "~/folder/"]
    )
    assert code == 0
    assert json.loads((home / "reports" / "report.json").read_text())
    assert list((home / "folder").iterdir())
    assert unchanged()


def test_runs_journals_and_the_archive_of_the_command_line(home: Path) -> None:
    code = main(
        ["evaluate", "--suite", "~/qrels.txt", "--topics", "~/topics.tsv", "--agent", "bm25", "--corpus", "~/corpus.jsonl"]
        + ["-m", "RR", "--save-run", "~/runs/bm25.trec", "--archive-folder", "~/archive", "--journal", "~/journals"]
    )
    assert code == 0
    assert load_run("~/runs/bm25.trec").case_ids == ("q1", "q2")
    assert list((home / "archive").iterdir())
    assert (home / "journals").is_dir()
    assert unchanged()
    assert main(["history", "--archive-folder", "~/archive"]) == 0


def test_arguments_that_are_files(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "~/qrels.txt", "~/suite.jsonl"]) == 0
    assert (home / "suite.jsonl").is_file()
    assert main(["audit", "~/suite.jsonl"]) in (0, 2)
    assert main(["gate", "~/bm25.run", "--suite", "~/qrels.txt", "--against", "~/baseline.jsonl"]) == 2
    assert f"there is no file {home}" in " ".join("".join(capsys.readouterr()).split())
    assert (
        main(
            [
                "baseline",
                "update",
                "~/bm25.run",
                "--suite",
                "~/qrels.txt",
                "--against",
                "~/baseline.jsonl",
                "--author",
                "a",
                "--yes",
            ]
        )
        == 0
    )
    assert (home / "baseline.jsonl").is_file()
    assert unchanged()


def test_folders_of_a_config(home: Path) -> None:
    (home / "sm.yaml").write_text('output: {directory: "~/reports"}\narchive: {directory: "~/archive"}\n')
    assert (
        main(["evaluate", "--suite", "~/qrels.txt", "--run", "~/bm25.run", "-m", "RR", "--config", "~/sm.yaml", "--archive"]) == 0
    )
    assert list((home / "reports").iterdir())
    assert list((home / "archive").iterdir())
    assert unchanged()


def test_repositories_with_and_without_a_name(home: Path) -> None:
    for command in (["init", "-q"], ["config", "user.email", "a@b.c"], ["config", "user.name", "a"]):
        subprocess.run(["git", *command], cwd=home, check=True)
    (home / "main.py").write_text("x = 1\n")
    subprocess.run(["git", "add", "main.py"], cwd=home, check=True)
    subprocess.run(["git", "commit", "-qm", "Count the things that matter"], cwd=home, check=True)
    assert main(["generate", "--repo", "mine=~", "-o", "~/gold.json"]) == 5  # a first commit has no parent
    assert SearchScope(repositories=("mine=~/code", "~", "./~")).repositories == (f"mine={home}/code", str(home), "./~")
    where = SearchScope(corpus="~/corpus.jsonl", repository_path="~/code")
    assert (where.corpus, where.repository_path) == (str(home / "corpus.jsonl"), str(home / "code"))


def test_python(home: Path) -> None:
    suite = load_suite("~/qrels.txt", topics="~/topics.tsv")
    assert [case.query for case in suite.cases] == ["one", "two"]
    assert [document.id for document in load_corpus("~/corpus.jsonl")] == ["a", "c"]
    save_run(load_run("~/bm25.run"), "~/out/run.jsonl")
    save_suite(suite, "~/out/suite.json")
    assert {path.name for path in (home / "out").iterdir()} == {"run.jsonl", "suite.json"}
    assert ResumeSettings(journal_folder="~/j").journal_folder == str(home / "j")
    assert ArchiveSettings(directory="~/a").directory == str(home / "a")
    assert unchanged()


def test_baselines_and_repositories_of_a_config(home: Path) -> None:
    (home / "sm.yaml").write_text('gates: {baseline: "~/b.jsonl"}\ndataset: {repository_path: ["~/code", "x=~/more"]}\n')
    config = load_config("~/sm.yaml")
    assert config.gates.baseline == str(home / "b.jsonl")
    assert config.dataset.repository_path == (str(home / "code"), f"x={home}/more")


@pytest.mark.parametrize("name", ["./~x", "a~b", "a/~/b", "~no-such-user-here/x", "x=y", ""])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert user_text(name) == name
    assert user_path(name) == Path(name)


def test_a_file_that_is_called_so_can_be_named(home: Path) -> None:
    del home
    Path("~").write_text(RUN_TEXT)
    assert load_run("./~").case_ids == ("q1", "q2")
