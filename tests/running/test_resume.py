"""Nothing is lost: whatever ends the runner, going on ends with the answers of a run that was never interrupted."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.running.worker.process_tree import LINUX

HERE = Path(__file__).parent
KILLS = int(os.environ.get("SEARCHMARK_TEST_KILLS", "1"))
CASES = 120
PATIENCE = 60.0


def make_project(folder: Path) -> None:
    (folder / "corpus").mkdir()
    for number in range(6):
        (folder / "corpus" / f"f{number}.txt").write_text("text")
    cases = [{"id": f"c{i}", "query": f"query {i}", "ground_truth_files": [f"f{i % 6}.txt"]} for i in range(CASES)]
    (folder / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch) -> Path:
    make_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the journal of a run that came to its end, and with its report."""
    folder = tmp_path_factory.mktemp("whole")
    make_project(folder)
    with chdir(folder):
        assert main(command("-o", "whole.json")) == 0
    return folder


@pytest.fixture
def after_run(whole_run: Path, tmp_path: Path, monkeypatch) -> None:
    """We are in a copy of that project."""
    shutil.copytree(whole_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def command(*more: str) -> list[str]:
    return [
        "evaluate",
        "--gold-set",
        "suite.json",
        "--agent",
        f"{HERE / 'slow.py'}:SlowAgent",
        "--corpus",
        "corpus",
        "--num-runs",
        "1",
        *more,
    ]


def start(*more: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "searchmark", *command(*more)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
        # Whoever starts us in the background has SIGINT ignored, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads here
    )


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for something that a process brings about, or for its end."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and process.poll() is None and time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.003)  # rather than keep a processor busy that it needs itself


def journal() -> Path:
    return Path(".searchmark/suite.SlowAgent.jsonl")


def lines() -> int:
    return journal().read_bytes().count(b"\n") if journal().exists() else 0


def answers(report: Path) -> dict[str, Any]:
    agent = json.loads(report.read_text())["agents"]["SlowAgent"]
    return {case: (data["status"], data["measures"], data["hits"]) for case, data in agent["cases"].items()} | agent["measures"]


def marked(mark: str) -> list[str]:
    def carries(pid: str) -> bool:
        try:
            return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    return [pid for pid in os.listdir("/proc") if pid.isdigit() and carries(pid)]


@pytest.mark.skipif(not LINUX, reason="looks for processes by /proc")
@pytest.mark.parametrize("kills", [KILLS, pytest.param(6, marks=pytest.mark.slow)])
def test_killed_again_and_again_the_run_ends_with_the_same_answers(kills: int, workplace: Path, whole_run: Path, capsys) -> None:
    draw = random.Random(kills + 10)  # a single kill comes after 58 answers
    mark = f"SEARCHMARK_TEST_KILL={os.getpid()}"
    for number in range(kills):
        process = start(*(["--resume"] if lines() else []), **dict([mark.split("=")]))
        wanted = lines() + draw.choice([0, 1, 2, draw.randrange(1, 1 + CASES // max(kills, 1))])
        until(lambda wanted=wanted: lines() >= wanted, process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        deadline = time.monotonic() + PATIENCE
        while marked(mark) and time.monotonic() < deadline:
            os.sched_yield()
        assert marked(mark) == [], f"kill {number} left workers behind"
    assert main(command("-o", "broken.json", *(["--resume"] if lines() else []))) == 0
    assert answers(Path("broken.json")) == answers(whole_run / "whole.json")


@pytest.mark.skipif(not LINUX, reason="looks for processes by /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow)])
def test_interrupted_the_runner_takes_its_workers_along(number: int, code: int, workplace: Path) -> None:
    mark = f"SEARCHMARK_TEST_STOP={os.getpid()}{number}"
    process = start(**dict([mark.split("=")]))
    until(lambda: lines() > 5, process)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == code
    assert "searchmark: the answers so far are saved; run the same command with --resume to continue\n" in said.decode()
    assert said.decode().endswith("searchmark: interrupted\n")
    deadline = time.monotonic() + PATIENCE
    while marked(mark) and time.monotonic() < deadline:
        os.sched_yield()
    assert marked(mark) == []
    assert main(command("--resume")) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("after_run")
def test_a_line_that_was_cut_short_is_asked_again(capsys) -> None:
    content = journal().read_bytes()
    for cut in (1, 20, 100, len(content) // 2, len(content) - content.index(b"\n") - 1):
        journal().write_bytes(content[:-cut])
        assert main(command("-o", "again.json", "--resume")) == 0
        assert answers(Path("again.json")) == answers(Path("whole.json"))


@pytest.mark.slow
@pytest.mark.usefixtures("after_run")
def test_damage_elsewhere_is_refused(capsys) -> None:
    rows = journal().read_text().split("\n")
    for line, text in [(3, "{"), (4, '{"case":"c1"}'), (0, '{"record":"run"}')]:
        journal().write_text("\n".join([*rows[:line], text, *rows[line + 1 :]]))
        assert main(command("--resume")) == 4
        assert f"line {line + 1}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: Path("corpus/f1.txt").write_text("other text"), "different corpus"),
        (
            lambda: Path("suite.json").write_text(Path("suite.json").read_text().replace("query 7", "question 7")),
            "different queries",
        ),
    ],
    ids=["corpus", "suite"],
)
@pytest.mark.usefixtures("after_run")
def test_a_journal_of_something_else_is_refused(change, said: str, capsys) -> None:
    change()
    assert main(command("--resume")) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("after_run")
def test_a_journal_of_other_options_is_refused(capsys) -> None:
    assert main(command("--resume", "--depth", "3")) == 2
    assert "different options" in capsys.readouterr().err


@pytest.mark.slow
def test_with_nothing_to_resume_it_starts_and_says_so(workplace: Path, capsys) -> None:
    assert main(command("--resume")) == 0
    first = capsys.readouterr().err
    assert first.splitlines()[0] == "nothing to resume: no answers are saved yet, so this starts with the first case"
    assert main(command("--resume")) == 0
    assert "nothing to resume" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("after_run")
def test_the_run_before_is_set_aside_and_not_lost(capsys) -> None:
    before = journal().read_bytes()
    assert main(command()) == 0
    assert journal().with_name("suite.SlowAgent.jsonl.previous").read_bytes() == before


@pytest.mark.slow
def test_two_runs_do_not_share_a_journal(workplace: Path, capsys) -> None:
    process = start()
    until(lambda: lines() > 1, process)
    process.send_signal(signal.SIGSTOP)  # it must not end before the other one has tried
    code = main(command())
    process.kill()
    process.communicate()
    assert code == 4
    assert "another run is writing" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can make a device that is always full")
def test_a_full_disk_stops_the_run_with_a_sentence(workplace: Path, capsys) -> None:
    Path(".searchmark").mkdir()
    os.mknod(journal(), 0o600 | stat.S_IFCHR, Path("/dev/full").stat().st_rdev)
    assert main(command()) == 4
    assert "No space left on device; fix this, then continue with --resume" in capsys.readouterr().err


@pytest.mark.slow
def test_another_version_of_the_agent_is_refused_and_one_that_cannot_be_loaded_leaves_the_journal_alone(
    workplace: Path, capsys
) -> None:
    mine = Path("mine.py")
    mine.write_text((HERE / "slow.py").read_text())
    again = [*command()[:4], "mine.py:SlowAgent", *command()[5:]]
    assert main(again) == 0
    before = journal().read_bytes()
    mine.write_text(mine.read_text().replace("0.002", "0.001"))
    assert main([*again, "--resume"]) == 2
    assert "different agent" in capsys.readouterr().err
    mine.write_text("class SlowAgent(")
    assert main(again) == main(again) == 4
    assert journal().read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("after_run")
def test_a_choice_of_cases_has_a_journal_of_its_own(capsys) -> None:
    before = journal().read_bytes()
    assert main(command("-k", "c1")) == main(command("--sample", "3")) == 0
    assert journal().read_bytes() == before
    assert len(list(Path(".searchmark").glob("*.jsonl"))) == 3


@pytest.mark.usefixtures("after_run")
def test_what_is_known_of_the_first_part_is_known_after_resuming(capsys) -> None:
    assert main(command("-o", "again.json", "--resume")) == 0
    whole, again = (json.loads(Path(name).read_text())["agents"]["SlowAgent"] for name in ("whole.json", "again.json"))
    assert again["index"] == whole["index"]
    assert again["run"]["memory_bytes"] == whole["run"]["memory_bytes"]


@pytest.mark.slow
def test_the_journal_is_no_part_of_what_is_searched(workplace: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(workplace / "corpus")
    here = ["evaluate", "--gold-set", "../suite.json", "--agent", f"{HERE / 'slow.py'}:SlowAgent", "--repo", ".", "--num-runs", "1"]
    assert main([*here, "-o", "../first.json"]) == 0
    assert main([*here, "-o", "../second.json", "--resume"]) == 0
    assert answers(Path("../first.json")) == answers(Path("../second.json"))


@pytest.mark.slow
def test_failures_in_a_row_are_remembered(workplace: Path, capsys) -> None:
    Path("bad.py").write_text(
        "class Bad:\n    def initialize(self, corpus): pass\n    def retrieve(self, query): raise OSError('down')\n"
    )
    bad = ["evaluate", "--gold-set", "suite.json", "--agent", "bad.py:Bad", "--corpus", "corpus", "--max-failures", "6"]
    main([*bad, "-o", "whole.json"])
    file = Path(".searchmark/suite.Bad.jsonl")
    file.write_text("".join(f"{line}\n" for line in file.read_text().split("\n")[:7]))
    main([*bad, "-o", "again.json", "--resume"])
    whole, again = (json.loads(Path(name).read_text())["agents"]["Bad"]["counts"] for name in ("whole.json", "again.json"))
    assert again == whole
    assert whole["error"] == 6
