"""Clean-up seen from the outside: whatever an agent, a repository or a kill leaves, this command and the next ones work."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import commands
from tests.support.small_histories import git

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="agents are not run on Windows")]

EVALUATE = ["evaluate", "--gold-set=suite.json", "--corpus=corpus", "--num-runs=1"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a suite and its corpus, and TMPDIR in it."""
    for name in ("corpus", "temporary", "outside/sub"):
        (tmp_path / name).mkdir(parents=True)
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number}")
    cases = [{"id": f"c{number}", "query": f"word{number}", "ground_truth_files": [f"f{number}.txt"]} for number in range(3)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    (tmp_path / "outside" / "file").write_text("not yours")
    for folder in ("outside/sub", "outside"):
        (tmp_path / folder).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    yield tmp_path
    subprocess.run(
        ["rm", "-rf", "--", str(tmp_path / "temporary")], check=True
    )  # what a failed test leaves, pytest could not remove


def searchmark(*arguments: str, limits: str = "", code: int = 0) -> str:
    """Run a command under some limits of the shell; what it says on stderr."""
    if limits:
        command = ["bash", "-c", f'{limits} && exec "$@"', "-", sys.executable, "-m", "searchmark", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    else:
        done = commands.searchmark(*arguments)
    assert done.returncode == code, done.stderr
    return done.stderr


def left_over(here: Path) -> list[str]:
    return sorted(path.name for path in (here / "temporary").glob("searchmark-*/*"))


def write_repository(folder: Path, path: str) -> None:
    """A history whose commits all change a file at this path, and that is never checked out."""
    git(folder.parent, "init", "-q", "--bare", "-b", "main", str(folder))
    commits = []
    for number in range(6):
        message, content = f"Return a better number from the login, round {'abcdef'[number] * 3}", f"login {number}\n"
        commits.append(
            f"commit refs/heads/main\ncommitter A <a@x.org> {1_600_000_000 + 600 * number} +0000\ndata {len(message)}\n{message}\n"
            f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"
            f"M 100644 inline src/login.py\ndata {len(content)}\n{content}\n"
        )
    git(folder, "fast-import", "--quiet", data="".join(commits).encode())


def test_a_repository_with_a_file_below_1200_folders_is_searched_and_put_away(here: Path) -> None:
    write_repository(here / "deep.git", "d/" * 1200 + "deep.py")
    searchmark("generate", "--repo=deep.git", "--output=gold.json")
    live = ["evaluate", "--gold-set=gold.json", "--repo=deep.git", "--agent=keyword", "--num-runs=1", "--output=report.json"]
    searchmark(*live, limits="ulimit -n 256")
    assert json.loads(Path("report.json").read_text())["agents"]["keyword"]["counts"]["ok"] == 5
    searchmark("doctor")
    assert left_over(here) == []


AGENT = """
import os, shutil, subprocess

SCRATCH = os.environ["TMPDIR"]
OUTSIDE = os.path.abspath("outside")


class Mine:
    def initialize(self, corpus):
        {0}

    def retrieve(self, query):
        return ["f1.txt"]
"""
DEEP = "os.chdir(SCRATCH)\n        for _ in range(1100):\n            os.mkdir('d')\n            os.chdir('d')"
LINK = "shutil.rmtree(SCRATCH)\n        os.symlink(OUTSIDE, SCRATCH)"
INNER_LINK = "os.symlink(OUTSIDE, SCRATCH + '/link')\n        os.chmod(SCRATCH, 0o500)"
FILE = "shutil.rmtree(SCRATCH)\n        open(SCRATCH, 'w').close()"
CLOSED = "os.makedirs(SCRATCH + '/a/b')\n        [os.chmod(SCRATCH + name, 0) for name in ('/a/b', '/a', '')]"
LINKS_BESIDE = "[os.symlink(OUTSIDE, SCRATCH + name) for name in ('x', 'y.lock')]\n        open(SCRATCH + 'x.lock', 'w').close()"
FOLDER_BESIDE = "os.mkdir(SCRATCH + 'x.lock')"
PIPE_BESIDE = "os.mkfifo(SCRATCH + 'x.lock')"
UNDELETABLE = "open(SCRATCH + '/x', 'w').close()\n        subprocess.run(['chattr', '+i', SCRATCH + '/x'], check=True)"


@pytest.mark.parametrize(
    ("evil", "left"),
    [(DEEP, 0), (LINK, 0), (INNER_LINK, 0), (FILE, 0), (CLOSED, 0), (LINKS_BESIDE, 1), (FOLDER_BESIDE, 1), (PIPE_BESIDE, 0)],
    ids=["deep", "link", "inner link", "file", "closed", "links beside", "folder beside", "pipe beside"],
)
def test_whatever_an_agent_makes_of_its_temporary_folder_this_run_and_the_next_work(here: Path, evil: str, left: int) -> None:
    Path("mine.py").write_text(AGENT.replace("{0}", evil))
    said = searchmark(*EVALUATE, "--agent=mine.py:Mine", "--output=report.json", "--no-archive")
    assert said == "written: report.json\n"
    searchmark("doctor")
    searchmark(*EVALUATE, "--agent=bm25")
    assert len(left_over(here)) == left  # what only looks like a lock is nothing of ours
    assert [stat.S_IMODE(Path(name).stat().st_mode) for name in ("outside", "outside/sub")] == [0o755, 0o755]
    assert Path("outside/file").read_text() == "not yours"


def test_what_cannot_be_deleted_is_told_once_and_goes_when_it_can_be(here: Path) -> None:
    Path("probe").touch()
    if subprocess.run(["chattr", "+i", "probe"], capture_output=True, check=False).returncode:
        pytest.skip("this file system or this user cannot make a file undeletable")
    subprocess.run(["chattr", "-i", "probe"], check=True)
    Path("mine.py").write_text(AGENT.replace("{0}", UNDELETABLE))
    try:
        said = searchmark(*EVALUATE, "--agent=mine.py:Mine", "--output=report.json")
        assert said.count("cannot be removed completely (Operation not permitted); later runs will try again") == 1
        assert json.loads(Path("report.json").read_text())["agents"]["Mine"]["counts"]["ok"] == 3
        assert "cannot be removed" not in searchmark(*EVALUATE, "--agent=bm25")
        assert len(left_over(here)) == 2
    finally:
        subprocess.run(["chattr", "-R", "-i", "temporary"], check=True)
    searchmark(*EVALUATE, "--agent=bm25")
    assert left_over(here) == []


def test_a_second_interrupt_shows_no_traceback(here: Path) -> None:
    code = (
        "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import searchmark.experiments.evaluation as experiments\n"
        "experiments.match_hits = lambda *_: (print('begun', flush=True), time.sleep(600))\n"
        "from searchmark.cli.main import main; sys.exit(main())"
    )
    Path("run.json").write_text(json.dumps({"c1": ["f1.txt"]}))
    command = [sys.executable, "-c", code, "evaluate", "--gold-set=suite.json", "--run=run.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "\n"  # Click's first word on it
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1].strip() in {"searchmark: interrupted", ""}
    assert process.returncode == 130


def test_what_cannot_be_read_is_not_called_the_output(here: Path) -> None:
    write_repository(here / "bad.git", "a.py")
    (here / "bad.git" / "shallow").mkdir()
    assert "gold.json" not in searchmark("generate", "--repo=bad.git", "--output=gold.json", code=4)
    assert not Path("gold.json").exists()


@pytest.mark.parametrize("verb", [["evaluate", "--gold-set=x.json", "--run=x.json"], ["generate", "--repo=.", "--output=x.json"]])
def test_a_working_directory_that_is_gone_is_called_that(here: Path, verb: list[str]) -> None:
    said = searchmark(*verb, limits="mkdir gone && cd gone && rmdir ../gone", code=4)
    assert said == "searchmark: the working directory no longer exists; change to another one\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_temporary_folder_that_is_full_is_called_that(here: Path, jobs: int) -> None:
    """A limit on the size of files stands for a full disk."""
    for name in ("a", "b"):
        write_repository(here / f"{name}.git", "some/file.py")
    command = ["generate", "--repo=a.git", "--repo=b.git", "--output=gold.json", f"--jobs={jobs}"]
    said = searchmark(*command, limits="ulimit -f 1", code=4)
    assert said.startswith("searchmark: the temporary ")
    assert said.endswith(" File too large; set TMPDIR to another folder\n")
    assert said.count("\n") == 1
    assert left_over(here) == []


def test_a_suite_may_have_a_long_name_in_any_script(here: Path) -> None:
    for end in ("一", "二"):
        suite = Path("suite.json").rename("名" * 79 + f"{end}.json")
        searchmark("evaluate", f"--gold-set={suite}", "--corpus=corpus", "--num-runs=1", "--agent=bm25")
        suite.rename("suite.json")
    assert len(list((here / ".searchmark").glob("*.jsonl"))) == 2


def modes(folder: Path, kind: str) -> set[int]:
    found = [folder, *folder.rglob("*")]
    return {stat.S_IMODE(path.stat().st_mode) for path in found if (path.is_dir() if kind == "folders" else path.is_file())}


def test_files_of_one_kind_have_one_mode_whatever_the_umask(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", str(here / "new" / "cache"))
    Path("searchmark.yaml").write_text(
        "agents:\n  - name: semantic\n    config: {embedder: {name: hashing, cache: true}, index_file: index/saved.npz}\n"
    )
    agents = ["--agent=bm25", "--agent=semantic"]
    outputs = ["--output=report.json", "--save-run=runs"]
    searchmark("compare", *EVALUATE[1:], *agents, *outputs, "--config=searchmark.yaml", limits="umask 0")
    for folder in (".searchmark", "new", "index"):
        assert modes(here / folder, "folders") == {0o700}, folder
        assert modes(here / folder, "files") == {0o600}, folder
    assert modes(here / "runs", "files") == {stat.S_IMODE(Path("report.json").stat().st_mode)} == {0o666}
    Path("report.json").unlink()
    searchmark(*EVALUATE, "--agent=bm25", "--output=report.json", limits="umask 027")
    assert stat.S_IMODE(Path("report.json").stat().st_mode) == 0o640
