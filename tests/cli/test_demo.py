"""The demo's repository is the same everywhere, gives cases worth asking, and every agent of the demo searches it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import main
from searchmark.cli.verbs.demo import AGENTS, DEMO_FILES, demo_steps
from searchmark.git.builtin import build_shop, place_shop
from tests.conftest import ROOT
from tests.printed import first_difference
from tests.support.histories import run

LINES_THAT_ARE_READ = 80
PERIODS = ["2023", "2024"]


BUILD = "import sys; from pathlib import Path; from searchmark.git.builtin import build_shop; build_shop(Path(sys.argv[1]))"


def built_elsewhere(folder: Path, **environment: str) -> str:
    """Make the repository in a process with other settings; the hash of its last commit."""
    subprocess.run([sys.executable, "-c", BUILD, str(folder)], env=environment, check=True)
    return run(folder, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "repository"
    build_shop(folder)
    return folder


@pytest.fixture(scope="module")
def gold_set(repository: Path) -> Path:
    file = repository.parent / "gold_set.json"
    assert main(["generate", "--repo", f"larder={repository}", "-o", str(file)]) == 0
    return file


def test_the_hashes_are_the_same_whatever_the_settings_are(repository: Path, tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n\tautocrlf = true\n[init]\n\tdefaultObjectFormat = sha256\n[user]\n\tname = X\n")
    odd = {"HOME": str(tmp_path), "TZ": "Asia/Tokyo", "GIT_COMMITTER_NAME": "X", "GIT_AUTHOR_DATE": "1 +0000", "LC_ALL": "C"}
    assert built_elsewhere(tmp_path / "again", PATH=os.environ["PATH"], **odd) == run(repository, "rev-parse", "HEAD").strip()


def test_the_work_tree_is_that_of_the_last_commit(repository: Path) -> None:
    assert run(repository, "status", "--porcelain") == ""
    assert (repository / "larder/__init__.py").is_file()


@pytest.mark.slow
def test_every_version_of_every_module_is_valid_python(repository: Path) -> None:
    listed = (line.partition(" ") for line in run(repository, "rev-list", "--all", "--objects").splitlines())
    blobs = [blob for blob, _, path in listed if path.endswith(".py")]
    assert len(blobs) > 200
    for blob in blobs:
        ast.parse(run(repository, "cat-file", "blob", blob))


def test_the_history_has_what_histories_have(repository: Path) -> None:
    subjects = run(repository, "log", "--format=%s").splitlines()
    for kind in (r"Merge branch", r"Revert \"", r"Version \d", r"Bump ", r"style: ", r"docs: ", r"feat\(", r"refactor: "):
        assert any(re.match(kind, subject) for subject in subjects), kind
    assert {line[:4] for line in run(repository, "log", "--format=%as").splitlines()} == set(PERIODS)
    assert "R100" in run(repository, "log", "--name-status", "-M")


def test_the_readme_shows_as_many_cases_as_there_are(repository: Path, gold_set: Path) -> None:
    commits, cases = run(repository, "rev-list", "--count", "HEAD").strip(), len(json.loads(gold_set.read_text())["test_cases"])
    assert f"larder: {commits} commits read, {cases} passed, {cases} cases" in (ROOT / "README.md").read_text()


def test_at_least_sixty_cases_and_all_their_files_are_there_to_be_found(repository: Path, gold_set: Path) -> None:
    cases = json.loads(gold_set.read_text())["test_cases"]
    assert len(cases) >= 60
    for case in cases:
        there = run(repository, "ls-tree", "-r", "--name-only", case["parent_commit"]).splitlines()
        assert case["ground_truth_files"]
        assert set(case["ground_truth_files"]) <= set(there)


@pytest.mark.slow
def test_the_demo_runs_to_its_end_with_a_red_gate_and_pages_to_open(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "searchmark", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "gate failed: Expected nDCG@10 against the baseline not to be worse, but it REGRESSED" in done.stdout
    assert "fts5+vector against fts5 by P@5: " in done.stdout
    assert len(done.stdout.splitlines()) < LINES_THAT_ARE_READ
    pages = [tmp_path / "demo-output" / name for name in ("comparison.html", "symbols.html", "broken.html", "audit.md")]
    assert all(page.stat().st_size > 0 for page in pages)
    values = dict(re.findall(r"^(\w+): nDCG@10 ([\d.]+), ", done.stdout, re.MULTILINE))
    assert [*values] == [*AGENTS]
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1].splitlines()
    assert first_difference(["...", *shown, "..."], done.stdout, done.stderr) is None


def test_every_step_of_the_demo_is_a_command_that_can_be_typed(tmp_path: Path) -> None:
    verbs = [step.arguments[0] for step in demo_steps(tmp_path, "larder=larder", own=False)]
    assert verbs == ["generate", "compare", "compare", "audit", "evaluate"]


def test_a_folder_in_the_way_of_the_example_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "demo-output" / "larder" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert main(["demo"]) == 4
    assert "is in the way of the example repository" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_a_repository_of_the_user_that_is_called_like_the_example_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "larder"
    mine.mkdir()
    run(mine, "init", "--quiet")
    (mine / "mine.txt").write_text("mine")
    assert main(["demo", "-o", "."]) == 4
    assert "larder is in the way of the example repository; move it away" in capsys.readouterr().err
    assert (mine / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["gold_set.json", "audit.md", "comparison.html", "runs"])
def test_files_that_no_demo_wrote_are_not_replaced(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quality").mkdir()
    Path("quality", name).write_text("mine")
    assert main(["demo", "-o", "quality"]) == 4
    assert f"quality has {name} already, which no demo wrote; name another folder with -o" in capsys.readouterr().err
    assert [(each.name, each.read_text()) for each in Path("quality").iterdir()] == [(name, "mine")]


def test_all_that_the_demo_writes_is_known_so_that_nothing_else_is_replaced(tmp_path: Path) -> None:
    typed = {word for step in demo_steps(tmp_path, "larder=larder", own=False) for word in step.arguments}
    written = {Path(word).relative_to(tmp_path).parts[0] for word in typed if word.startswith(f"{tmp_path}/")}
    assert written == set(DEMO_FILES)


def test_the_example_is_taken_as_it_is_if_it_is_there(repository: Path) -> None:
    note = repository / "note.txt"
    note.write_text("mine")
    place_shop(repository)
    assert note.read_text() == "mine"
    note.unlink()


@pytest.mark.slow
def test_a_demo_that_ends_early_says_where_all_of_it_can_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    run(tmp_path / "empty", "init", "--quiet")
    assert main(["demo", "--repo", "empty"]) == 4
    told = capfd.readouterr().err
    assert "the repository has no commits" in told
    assert "'searchmark demo' without --repo shows all steps on an example" in told
