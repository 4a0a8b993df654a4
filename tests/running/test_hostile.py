"""What a review by somebody hostile has found, and what must stay found."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.running.worker.protocol import longest_answer, reply_problem
from tests.support.archives import texts_below

pytestmark = pytest.mark.slow

CASES = [{"id": f"c{i}", "query": f"word{i}", "ground_truth_files": ["f1.txt"]} for i in range(12)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number}")
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": CASES, "metadata": {}}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(code: str, *arguments: str, expected: int | None = None) -> dict[str, Any]:
    """Evaluate an agent whose class body is given."""
    body = "".join(f"    {line}\n" for line in code.strip().split("\n"))
    Path("mine.py").write_text(f"import os, sys, time\n\n\nclass Mine:\n    def initialize(self, corpus): pass\n{body}")
    found = main(
        [
            "evaluate",
            "--gold-set",
            "suite.json",
            "--agent",
            "mine.py:Mine",
            "--corpus",
            "corpus",
            "--num-runs",
            "1",
            *arguments,
            "-o",
            "out.json",
        ]
    )
    assert expected is None or found == expected
    report: dict[str, Any] = json.loads(Path("out.json").read_text())["agents"]["Mine"]
    return report


def test_work_that_is_put_off_is_still_timed(place: Path) -> None:
    agent = run("def retrieve(self, query):\n    time.sleep(0.02)\n    yield 'f1.txt'")
    assert agent["latency_ms"]["cold"]["p50"] >= 20


def test_a_set_has_no_order_and_is_no_answer(place: Path) -> None:
    assert (
        run("def retrieve(self, query): return {'f1.txt', 'f2.txt'}", expected=2)["counts"]["error"] == 12 - 2
    )  # ten, then the rest is not run


def test_a_fork_that_comes_back_harms_nobody(place: Path) -> None:
    agent = run("def retrieve(self, query):\n    if query == 'word3': os.fork()\n    return ['f1.txt']", expected=0)
    assert agent["counts"]["ok"] == 12


def test_a_search_that_raises_at_once_counts_with_its_own_time_and_its_repeats_never_took_place(place: Path) -> None:
    agent = run(
        "def retrieve(self, query):\n    if query == 'word3': raise OSError\n    return ['f1.txt']",
        "--num-runs",
        "3",
        "--timeout",
        "7",
    )
    cold, warm = agent["latency_ms"]["cold"], agent["latency_ms"]["warm"]
    assert (cold["samples"], cold["failures"], warm["samples"], warm["failures"]) == (12, 1, 22, 0)
    assert cold["p99"] < 7000.0


def test_repeats_that_fail_count_as_failures_in_a_row(place: Path) -> None:
    code = "def reset(self): self.cold = True\ndef retrieve(self, query):\n    if not self.cold: os._exit(1)\n    self.cold = False\n    return ['f1.txt']"
    assert run(code, "--num-runs", "2", "--max-failures", "3", expected=2)["counts"] == {
        "ok": 3,
        "empty": 0,
        "error": 0,
        "timeout": 0,
        "not_run": 9,
    }


def test_an_answer_is_bounded_by_what_was_asked_for() -> None:
    assert longest_answer(100) < 16 << 20  # a hundred hits with the longest ids and texts
    assert (
        reply_problem("search", {"ns": 1, "ids": ["a"] * 11, "dropped": {}}, 10)
        == "the worker's answer is malformed: 'ids' is wrong"
    )
    assert reply_problem("search", {"ns": 1, "ids": ["a"] * 10, "scores": [None] * 10, "dropped": {}}, 10) is None


def test_side_by_side_a_worker_that_cannot_start_leaves_the_work_to_the_others(place: Path) -> None:
    code = "def initialize(self, corpus):\n    os.close(os.open('lock', os.O_CREAT | os.O_EXCL))\ndef retrieve(self, query): return ['f1.txt']"
    assert run(code, "--jobs", "3", expected=0)["counts"]["ok"] == 12


def test_so_does_one_that_has_failed_often_before_the_others_are_ready(place: Path) -> None:
    """Whoever has the lock is ready long after the others were told three times that they cannot have it."""
    code = """
def initialize(self, corpus):
    try:
        os.close(os.open('lock', os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        os.write(os.open('refused', os.O_CREAT | os.O_APPEND | os.O_WRONLY), b'x')
        raise
    while not os.path.exists('refused') or os.path.getsize('refused') < 3: time.sleep(0.01)
    time.sleep(1)
def retrieve(self, query): return ['f1.txt']"""
    assert run(code, "--jobs", "2", "--sample", "2", expected=0)["counts"]["ok"] == 2


def test_files_of_the_working_directory_pass_for_no_module(place: Path) -> None:
    for name in ("json", "unicodedata", "numpy", "searchmark"):
        Path(f"{name}.py").write_text("open('owned', 'a').write(__name__)\nraise SystemExit(9)\n")
    for arguments in (
        ["evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--corpus", "corpus", "--no-exec"],
        ["agents"],
        ["doctor"],
    ):
        done = subprocess.run([Path(sys.executable).parent / "searchmark", *arguments], capture_output=True, check=False)
        assert (done.returncode, Path("owned").exists()) == (0, False), done.stderr


@pytest.mark.parametrize("closed", ["<&- 2>&-", "<&- >&-", "<&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_survived(closed: str, place: Path) -> None:
    program = Path(sys.executable).parent / "searchmark"
    command = f"{program} evaluate --gold-set suite.json --agent bm25 --corpus corpus --num-runs 1 -o out.json {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], check=False, capture_output=True)
    assert done.returncode == 0
    assert json.loads(Path("out.json").read_text())["agents"]["bm25"]["counts"]["not_run"] == 0


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e10", "2000000"])
def test_a_deadline_must_be_one(seconds: str, place: Path, capsys) -> None:
    assert main(["evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--corpus", "corpus", "--timeout", seconds]) == 4
    assert (
        main(
            [
                "evaluate",
                "--gold-set",
                "suite.json",
                "--agent",
                "bm25",
                "--corpus",
                "corpus",
                "--num-runs",
                "1",
                "--timeout",
                "900000",
            ]
        )
        == 0
    )


def test_what_agents_write_to_temporary_folders_is_removed(place: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    code = "def initialize(self, corpus):\n    import tempfile\n    self.folder = tempfile.mkdtemp()\ndef retrieve(self, query):\n    if query == 'word3': os._exit(1)\n    return ['f1.txt']"
    run(code)
    assert [path for path in (tmp_path / "tmp").rglob("*") if path.is_file() or path.name.startswith("tmp")] == []


def test_secrets_reach_no_file_through_errors_or_output(place: Path, capsys) -> None:
    Path("searchmark.yaml").write_text("agents: [{name: Mine, config: {api_key: SUPERSECRET123}}]\n")
    code = "def __init__(self, api_key):\n    self.key = api_key\n    print('using', api_key)\ndef retrieve(self, query): raise OSError(f'401 for {self.key}')"
    run(code, "-o", "out.md", "--save-run", "run.jsonl", "--config", "searchmark.yaml")
    for text in (Path("run.jsonl").read_text(), Path("out.md").read_text(), *texts_below(Path(".searchmark"))):
        assert "SUPERSECRET123" not in text
    assert "SUPERSECRET123" not in "".join(capsys.readouterr())


def test_a_corpus_that_changes_during_the_run_makes_it_untrusted(place: Path, capsys) -> None:
    run("def retrieve(self, query):\n    open('corpus/new.txt', 'w').write(query)\n    return ['f1.txt']", expected=2)
    assert "what was searched changed during the run" in capsys.readouterr().out


def test_a_saved_run_of_other_queries_is_not_scored(place: Path, capsys) -> None:
    run("def retrieve(self, query): return ['f1.txt']", "--save-run", "run.jsonl")
    Path("other.json").write_text(Path("suite.json").read_text().replace("word", "other"))
    assert main(["evaluate", "--gold-set", "other.json", "--run", "run.jsonl"]) == 2
    assert "was asked different queries" in capsys.readouterr().err


def test_a_forgotten_shard_is_not_run_and_not_empty(place: Path, capsys) -> None:
    run("def retrieve(self, query): return ['f1.txt']", "--shard", "1/3", "--save-run", "1.jsonl")
    assert main(["evaluate", "--gold-set", "suite.json", "--run", "1.jsonl", "-o", "out.json"]) == 2
    assert json.loads(Path("out.json").read_text())["agents"]["Mine"]["counts"] == {
        "ok": 4,
        "empty": 0,
        "error": 0,
        "timeout": 0,
        "not_run": 8,
    }


def test_repositories_of_one_name_are_kept_apart(place: Path) -> None:
    for name in ("one", "two"):
        (place / name / "app").mkdir(parents=True)
        (place / name / "app" / "f1.txt").write_text(name)
    cases = [CASES[0] | {"repository": "a"}, CASES[1] | {"repository": "b"}]
    Path("suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    command = [
        "evaluate",
        "--gold-set",
        "suite.json",
        "--agent",
        "bm25",
        "--repo",
        "a=one/app",
        "--repo",
        "b=two/app",
        "--num-runs",
        "1",
    ]
    assert main(command) == 0
    (place / "one" / "app" / "f1.txt").write_text("changed")
    assert main([*command, "--resume"]) == 2


def test_names_that_no_file_can_have_do_not_meet(place: Path) -> None:
    assert (
        main(["compare", "--gold-set", "suite.json", "--agents", "a/b=bm25", "a-b=random", "--corpus", "corpus", "--num-runs", "1"])
        == 0
    )


def test_the_environment_does_not_forbid_scoring_a_saved_run(place: Path, monkeypatch) -> None:
    run("def retrieve(self, query): return ['f1.txt']", "--save-run", "run.jsonl")
    monkeypatch.setenv("SEARCHMARK_TIMEOUT", "5")
    assert main(["evaluate", "--gold-set", "suite.json", "--run", "run.jsonl"]) == 0


def test_an_option_of_the_agent_is_not_taken_for_a_number_of_hits(place: Path) -> None:
    agent = run(
        "def retrieve(self, query, case_sensitive=False):\n    assert case_sensitive is False\n    return ['f1.txt']", expected=0
    )
    assert agent["counts"]["ok"] == 12


def test_shards_are_of_one_size(place: Path) -> None:
    sizes = [
        run("def retrieve(self, query): return ['f1.txt']", "--shard", f"{number}/6")["counts"]["ok"] for number in range(1, 7)
    ]
    assert sizes == [2] * 6


def test_many_open_files_are_no_obstacle(place: Path) -> None:
    code = "import os, resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))\nfiles = [os.open('/dev/null', 0) for _ in range(1500)]\nfrom searchmark.cli.main import main\nsys.exit(main())"
    arguments = ["evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--corpus", "corpus", "--num-runs", "1"]
    _, hard = __import__("resource").getrlimit(__import__("resource").RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("this machine allows fewer open files than the test needs")
    assert subprocess.run([sys.executable, "-c", code, *arguments], check=False, capture_output=True).returncode == 0
