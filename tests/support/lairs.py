"""A folder with everything that a spy would want, and a run of the spy in it."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

SPY = Path(__file__).parents[1] / "running" / "spy.py"
MAKE, IPC_RMID = 0o1600, 0
VARIABLES = {"SPY_TOKEN": "t", "SPY_PASSED_KEY": "k", "SPY_COLOUR": "blue", "SPY_ALLOWED": "yes", "OMP_NUM_THREADS": "1"}


class Lair:
    """A folder with everything that a spy would want, a bystander, and servers that listen."""

    def __init__(self, folder: Path, until_the_end: ExitStack) -> None:
        self.folder = folder
        self.bystander = subprocess.Popen(["sleep", "600"])
        until_the_end.callback(self.bystander.wait)
        until_the_end.callback(self.bystander.kill)
        for name in ("corpus", "code", "home", "journals", "tmp", "cache/bm25"):
            (folder / name).mkdir(parents=True)
        for name, text in {
            "corpus/f1.txt": "word1",
            "corpus/f2.txt": "word2",
            "home/diary.txt": "dear",
            "rival.jsonl": "r",
        }.items():
            (folder / name).write_text(text)
        (folder / "journals" / "rival.jsonl").write_text("answers\n")
        self.private = folder / "tmp" / f"searchmark-{os.getuid()}"
        self.private.mkdir(mode=0o700)
        (self.private / "rival").write_text("index of a rival")
        (folder / "cache" / "bm25" / "chunks").write_text("vectors\n")
        cases = [{"id": f"c{number}", "query": f"word{number}", "ground_truth_files": [f"f{number}.txt"]} for number in (1, 2)]
        (folder / "code" / "hidden-suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
        shutil.copy(SPY, folder / "code" / "spy.py")
        self.targets = {
            "bystander": self.bystander.pid,
            "suite": str(folder / "code" / "hidden-suite.json"),
            "saved": str(folder / "rival.jsonl"),
            "home": str(folder / "home"),
            "journal": str(folder / "journals" / "rival.jsonl"),
            "cache": str(folder / "cache" / "bm25" / "chunks"),
            "corpus": str(folder / "corpus" / "f1.txt"),
            "rival": str(self.private / "rival"),
            "udp": bound(until_the_end, socket.SOCK_DGRAM, socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1],
            "tcp": listening(until_the_end, socket.AF_INET, ("127.0.0.1", 0))[1],
            "unix": listening(until_the_end, socket.AF_UNIX, str(folder / "s")),
            "abstract": listening(until_the_end, socket.AF_UNIX, f"\0searchmark-test-{os.getpid()}-{folder.name}")[1:].decode(),
            "unix beside the code": listening(until_the_end, socket.AF_UNIX, str(folder / "code" / "s")),
            "datagrams": bound(until_the_end, socket.SOCK_DGRAM, socket.AF_UNIX, str(folder / "d")).getsockname(),
            "datagrams beside the code": bound(
                until_the_end, socket.SOCK_DGRAM, socket.AF_UNIX, str(folder / "code" / "d")
            ).getsockname(),
            **shared(until_the_end),
            "mark": f"{600 + os.getpid()}.{time.time_ns()}",
        }
        (folder / "code" / "targets.json").write_text(json.dumps(self.targets))

    def command(self, agent: str, *arguments: str) -> list[str]:
        paths = (
            "--gold-set",
            "hidden-suite.json",
            "--corpus",
            "../corpus",
            "--journal",
            "../journals",
            "--save-run",
            "../run.jsonl",
        )
        names = ("--agent", f"spy=spy.py:{agent}", "--num-runs", "1", "-o", "../out.json")
        return [sys.executable, "-m", "searchmark", "evaluate", *paths, *names, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        folders = {"HOME": "home", "TMPDIR": "tmp", "SEARCHMARK_CACHE": "cache"}
        return os.environ | VARIABLES | {name: str(self.folder / folder) for name, folder in folders.items()}

    def run(self, agent: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = self.command(agent, *arguments)
        return subprocess.run(command, cwd=self.folder / "code", env=self.environment, capture_output=True, text=True, check=False)

    def provenance(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "run.jsonl").read_text().splitlines()[0])["provenance"]
        return found

    def report(self) -> dict[str, Any]:
        """What the spy has printed."""
        found: dict[str, Any] = json.loads(self.provenance()["printed"][0]["text"])
        return found


def listening(until_the_end: ExitStack, family: int, address: Any) -> Any:
    server = bound(until_the_end, socket.SOCK_STREAM, family, address)
    server.listen()
    return server.getsockname()


def shared(until_the_end: ExitStack) -> dict[str, Any]:
    """Memory, semaphores and queues that any process of this user can open: the key of three, and the name of the fourth."""
    libc = ctypes.CDLL(None, use_errno=True)
    key, queue = secrets.randbelow(1 << 30) + 1, f"/searchmark-test-{secrets.token_hex(8)}"
    memory, semaphores, messages = libc.shmget(key, 4096, MAKE), libc.semget(key, 1, MAKE), libc.msgget(key, MAKE)
    named = libc.mq_open(queue.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
    assert min(memory, semaphores, messages, named) >= 0
    until_the_end.callback(libc.shmctl, memory, IPC_RMID, None)
    until_the_end.callback(libc.semctl, semaphores, 0, IPC_RMID)
    until_the_end.callback(libc.msgctl, messages, IPC_RMID, None)
    until_the_end.callback(libc.mq_unlink, queue.encode())
    until_the_end.callback(os.close, named)
    return {"key": key, "queue": queue}


def bound(until_the_end: ExitStack, kind: int, family: int, address: Any) -> socket.socket:
    server = until_the_end.enter_context(socket.socket(family, kind))
    server.bind(address)
    if family == socket.AF_UNIX and not address.startswith("\0"):
        Path(address).chmod(0o777)  # its mode must not be what keeps an agent away
    return server
