"""Runs of three agents over three real repositories, whoever runs them, and what of two such runs must be equal."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.support.histories import Script

REPOSITORIES = ("alpha", "beta", "gamma")
LABELS = ("bm25", "semantic", "foreign")
AGENTS = Path(__file__).with_name("scaled_agents.py")
FOREIGN = f"foreign={AGENTS}:Counts"
BLOCK = 5  # cases: many blocks, few of which are lost with a worker

_WORDS = [
    "session",
    "token",
    "login",
    "cache",
    "index",
    "query",
    "ranking",
    "score",
    "parser",
    "socket",
    "buffer",
    "thread",
    "clock",
    "ledger",
    "invoice",
    "shelf",
    "lamp",
    "river",
    "stone",
    "cloud",
    "garden",
    "window",
    "engine",
    "signal",
    "mirror",
    "carpet",
    "kettle",
    "ladder",
]

# What may differ between two runs that are equal, wherever it is in a run or a report, each for this reason.
DIFFERS = {
    "id": "every run has one of its own",
    "started": "when it was",
    "ended": "when it was",
    "sha256": "over all lines of a saved run, with their times",
    "environment": "the host",
    "parts": "one for each host",
    "resumed": "how many answers a run that was interrupted had before",
    "restarts": "how often a worker was lost",
    "workers": "how many there were",
    "start_seconds": "a time for every worker that was started",
    "memory_bytes": "measured, of the largest worker",
    "index": "seconds, builds and size: every worker builds an index of its own, and follows its own way through the history",
    "cold_ms": "a time",
    "warm_ms": "a time",
    "index_cold_ms": "a time",
    "index_warm_ms": "a time",
    "latency_ms": "times",
}
TOLD_OF_WORKERS = {
    "parallel-workers": "says that latencies were measured while others were at work",
}
TIMES_IN_MARKDOWN = re.compile(
    r"\| .* ms .*\||(- )?(index: |worker start ).*"
)  # rows of latencies, and the line about the index and starts


@dataclass(frozen=True)
class Work:
    """A folder with the repositories and the gold set that was mined from them."""

    folder: Path
    cases: int

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"SEARCHMARK_CACHE": str(self.folder / "cache"), "PYTHONPATH": str(ROOT)}

    @property
    def repositories(self) -> Path:
        return self.folder / "repositories"

    @property
    def cases_asked(self) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = json.loads((self.folder / "gold.json").read_text())["test_cases"]
        return asked

    @property
    def queries(self) -> list[str]:
        return [case["query"] for case in self.cases_asked]

    def command(self, verb: str, *arguments: str, where: str = "{name}={folder}/{name}") -> list[str]:
        """``where`` says for each repository where it is."""
        repositories = [part for name in REPOSITORIES for part in ("--repo", where.format(name=name, folder="repositories"))]
        gold_set = ("--gold-set", "gold.json", "--no-archive", "--num-runs", "1", "--block", str(BLOCK))
        return [sys.executable, "-m", "searchmark", verb, *gold_set, *repositories, *arguments]

    def comparison(self, out: Path, *arguments: str, agents: tuple[str, ...] = ("bm25", "semantic", FOREIGN)) -> list[str]:
        """Compare the agents; runs, reports and journals go to a folder."""
        files = ("--save-run", str(out), "-o", str(out / "report.json"), "-o", str(out / "report.md"))
        return self.command("compare", "--agents", *agents, *files, "--journal", str(out / "journal"), *arguments)

    def run(self, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment | variables
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300, check=False)

    def evaluation(self, out: Path, *arguments: str, where: str = "{name}={folder}/{name}") -> list[str]:
        """Evaluate some cases; the run is saved in a folder."""
        files = ("--save-run", str(out / "run.jsonl"), "--journal", str(out / "journal"))
        return self.command("evaluate", "--sample", "12", *files, *arguments, where=where)

    def agent(self, kind: str, **config: Any) -> tuple[str, ...]:
        """The arguments that name one of the agents of our own, by a config file with its options."""
        file = self.folder / f"{kind}-{len(list(self.folder.iterdir()))}.yaml"
        file.write_text(json.dumps({"agents": [{"name": "own", "source": f"{AGENTS}:{kind}", "config": config}]}))
        return ("--config", file.name, "--agent", f"own={AGENTS}:{kind}")

    @contextmanager
    def running(self, command: list[str], **variables: str) -> Iterator[subprocess.Popen[str]]:
        """The program at work, which is killed at the end if it has not ended."""
        pipe, environment = subprocess.PIPE, self.environment | variables
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=pipe,
            stderr=pipe,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads here
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def make_repositories(folder: Path, commits: int) -> tuple[str, ...]:
    """Repositories with so many commits each that become cases; each as ``NAME=PATH``."""
    folder.mkdir()
    for seed, name in enumerate(REPOSITORIES):
        _history(random.Random(seed), commits).build(folder / name)
    return tuple(f"{name}={folder / name}" for name in REPOSITORIES)


def make_work(folder: Path, commits: int) -> Work:
    """Repositories, and the gold set of all of them."""
    work = Work(folder, commits * len(REPOSITORIES))
    repositories = [part for each in make_repositories(work.repositories, commits) for part in ("--repo", each)]
    mined = work.run([sys.executable, "-m", "searchmark", "generate", *repositories, "--output", "gold.json"])
    assert mined.returncode == 0, mined.stderr
    assert len(work.queries) == work.cases
    return work


def _history(draw: random.Random, commits: int) -> Script:
    """Ten files, one or two of which every commit changes; its message has words that are in them."""
    script = Script()
    files = {f"src/{word}.py": f"def {word}():\n" for word in draw.sample(_WORDS, 10)}
    script.commit("root", "Start of everything here", dict(files), parent=None)
    for number in range(commits):
        words = draw.sample(_WORDS, 4)
        changed = {
            path: files[path] + f"    {words[0]} = {words[1]}  # {number}\n" for path in draw.sample(sorted(files), 1 + number % 2)
        }
        files |= changed
        message = f"Let {words[0]} number {number} follow the {words[1]} while {words[2]} waits for {words[3]}"
        script.commit(str(number), message, dict(changed))
    return script


def answered(out: Path) -> int:
    """How many answers have come home."""
    return sum(line.startswith(b'{"case"') for file in (out / "journal").glob("*.jsonl") for line in file.read_bytes().splitlines())


def comparable(out: Path) -> dict[str, str]:
    """Everything that a run has written but for what may differ, as text."""
    runs = {file.name: _lines(file) for file in sorted(out.glob("*.jsonl"))}
    return {**runs, "report.json": _text(_report(out / "report.json")), "report.md": _markdown(out / "report.md")}


def answers(file: Path) -> dict[str, Any]:
    """What a saved run says of every case."""
    return {line["case"]: line for line in map(json.loads, file.read_text().splitlines()[1:])}


def _lines(file: Path) -> str:
    return "\n".join(_text(json.loads(line)) for line in file.read_text().splitlines())


def _report(file: Path) -> Any:
    report = json.loads(file.read_text())
    return report | {"audit": [finding for finding in report["audit"] if finding["code"] not in TOLD_OF_WORKERS]}


def _text(value: Any) -> str:
    return json.dumps(_without(value))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(each) for key, each in value.items() if key not in DIFFERS}
    return [_without(each) for each in value] if isinstance(value, list) else value


def _markdown(file: Path) -> str:
    """Findings are a line each, and one below that says why."""
    lines = file.read_text().splitlines()
    left_out = {
        row + more for row, line in enumerate(lines) for more in (0, 1) if any(f"({code})" in line for code in TOLD_OF_WORKERS)
    }
    return "\n".join(line for row, line in enumerate(lines) if row not in left_out and not TIMES_IN_MARKDOWN.fullmatch(line))
