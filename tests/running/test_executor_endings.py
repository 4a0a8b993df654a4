"""Runs on processes that go wrong: what is written down is what one process would have written down, and nothing gets out."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.running.journal import Sealer

CASES = 20
AGENTS = """
import fcntl, os, sys

class Fails:
    def initialize(self, corpus): pass
    def retrieve(self, query):
        if query in os.environ.get("FAILING", "").split(","):
            raise RuntimeError("no")
        return ["f1.txt"]

class Locks(Fails):
    def __init__(self):
        self._lock = open("lock", "w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

class Tells(Fails):
    def retrieve(self, query):
        print("the code is", os.environ.get("TEAM_CODE"), flush=True)
        return ["f1.txt"]
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text("text")
    cases = [{"id": f"c{i}", "query": f"q{i}", "ground_truth_files": ["f1.txt"]} for i in range(CASES)]
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    (tmp_path / "own.py").write_text(AGENTS)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, agents: tuple[str, ...] = ("own=own.py:Fails",)) -> int:
    verb = ["evaluate", "--agent", *agents] if len(agents) == 1 else ["compare", "--agents", *agents]
    common = ["--gold-set", "suite.json", "--corpus", "corpus", "--num-runs", "1", "--no-randomize-order", "--no-archive"]
    return main([*verb, *common, "-o", "out.json", *arguments])


def statuses(agent: str = "own") -> dict[str, int]:
    counts = json.loads(Path("out.json").read_text())["agents"][agent]["counts"]
    return {status: count for status, count in counts.items() if count}


def failing(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    monkeypatch.setenv("FAILING", ",".join(f"q{number}" for number in numbers))


def journal(folder: str) -> Path:
    (found,) = Path(folder).glob("*.jsonl")
    return found


@pytest.mark.slow
def test_failures_between_answers_that_came_before_are_not_consecutive_in_one_process_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the machine had gone that was to ask these cases, and the run were resumed without an executor."""
    failing(monkeypatch, 4, 9, 14)
    limit = ("--journal", "journal", "--max-failures", "3")
    run(*limit, "--jobs", "2", "--block", "1")
    whole = statuses()
    without(journal("journal"), {"c4", "c9", "c14", "c16"})
    run(*limit, "--resume")
    assert statuses() == whole == {"ok": 17, "error": 3}


def without(path: Path, cases: set[str]) -> None:
    """Take these cases, and the end, out of a journal."""
    sealer, kept = Sealer(), b""
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        del record["seal"]
        if record.get("case") not in cases and "run_end" not in record:
            kept += sealer.seal(record)
    path.write_bytes(kept)


@pytest.mark.slow
def test_a_journal_tells_of_an_agent_that_was_left_alone_what_the_run_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, 4, 5, 6, 7)
    run("--journal", "journal", "--max-failures", "3", "--jobs", "2", "--block", "4", "--shard", "1/1", "--save-run", "run.jsonl")
    assert statuses() == {"ok": 4, "error": 3, "not_run": 13}
    assert main(["merge", str(journal("journal")), "-o", "merged.jsonl"]) == 0
    assert saved_statuses("merged.jsonl") == saved_statuses("run.jsonl")


def saved_statuses(path: str) -> dict[str, str]:
    answers = [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]
    return {answer["case"]: answer.get("status", "ok") for answer in answers}


@pytest.mark.slow
def test_an_agent_that_can_be_made_once_is_asked_there() -> None:
    assert run("--jobs", "3", "--block", "2", agents=("own=own.py:Locks",)) == 0
    assert statuses() == {"ok": CASES}


@pytest.mark.slow
def test_others_are_compared_beside_it() -> None:
    assert run("--jobs", "2", agents=("bm25", "own=own.py:Locks")) == 0
    assert statuses() == {"ok": CASES}


class Echo(BaseHTTPRequestHandler):
    """A service that repeats what it was told in confidence."""

    def do_GET(self) -> None:
        body = json.dumps({"results": [{"sku": f"f1.txt?team={self.headers['X-Team']}"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.slow
def test_processes_know_what_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service repeats a value that looks like any other, and code of others must not get it."""
    monkeypatch.setenv("TEAM_CODE", "hunter2x9")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    options = {
        "url": f"http://127.0.0.1:{server.server_port}/search",
        "parameters": {"q": "{query}"},
        "headers": {"X-Team": "${TEAM_CODE}"},
        "results": {"hits": "results", "id": "sku"},
    }
    shop = {"name": "shop", "source": "http", "config": options}
    Path("config.yaml").write_text(json.dumps({"agents": [shop]}))
    run("--config", "config.yaml", "--jobs", "2", "--journal", "journal", "--save-run", "runs", agents=("shop", "own=own.py:Tells"))
    server.shutdown()
    server.server_close()
    assert statuses("shop") == {"ok": CASES}
    written = [path for folder in ("journal", "runs") for path in Path(folder).iterdir() if path.is_file()]
    assert [path.name for path in written if b"hunter2x9" in path.read_bytes()] == []
    own = Path("runs/own.jsonl").read_text()
    assert "the code is None" in own


def wheel(name: str, **modules: str) -> str:
    path = f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for module, code in modules.items():
            archive.writestr(f"{module}.py", code)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


@pytest.mark.slow
def test_code_of_a_wheel_is_for_agents_that_are_code(capsys: pytest.CaptureFixture[str]) -> None:
    sent = wheel("helper", sitecustomize="open('owned', 'a').write('x')", numpy="raise SystemExit(9)")
    assert run("--wheel", sent, "--no-exec", agents=("bm25",)) == 4
    assert "--wheel brings code that is not built in, and --no-exec allows none" in capsys.readouterr().err
    assert run("--wheel", sent, agents=("bm25",)) == 0
    assert not Path("owned").exists()


def hold(_: int) -> int:
    return os.getpid()


def test_a_process_that_was_forked_does_not_keep_the_journal(tmp_path: Path) -> None:
    from searchmark.running.journal import Journal, start_run

    held = Journal(tmp_path / "j.jsonl", lambda _: {}, start_run(), resume=False)
    with ProcessPoolExecutor(1) as forked:
        assert forked.submit(hold, 0).result() != os.getpid()
        held.close()
        Journal(tmp_path / "j.jsonl", lambda _: {}, start_run(), resume=True).close()


@pytest.mark.slow
def test_a_machine_that_lost_a_block_and_answered_nothing_is_no_host() -> None:
    """Nor is the one that tells of it."""
    Path("far.py").write_text(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "import socket\n"
        "def elsewhere():\n"
        "    from searchmark.running.run_builder import environment\n"
        "    socket.gethostname = lambda: 'node-2'\n"
        "    environment.cache_clear()\n"
        "def pool():\n"
        "    return ProcessPoolExecutor(1, initializer=elsewhere)\n"
    )
    Path("own.py").write_text(
        AGENTS + "\nimport signal, time\nclass Ends(Fails):\n    def retrieve(self, query):\n        if query == 'q7':\n"
        "            above = open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1]\n"
        "            os.kill(int(above), signal.SIGKILL)\n            time.sleep(60)\n        return ['f1.txt']\n"
    )
    run("--executor", "far.py:pool", "--block", "5", "--save-run", "run.jsonl", agents=("own=own.py:Ends",))
    header = json.loads(Path("run.jsonl").read_text().splitlines()[0])
    assert Counter(saved_statuses("run.jsonl").values())["error"] == 5
    assert header["provenance"].get("parts", []) == []
    assert header["provenance"]["environment"]["host"] == "node-2"
