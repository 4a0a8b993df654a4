"""Real servers on loopback, started for a test and ended by their own process id, and the whole command that asks them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from searchmark import Answer, load_run
from tests.support.commands import searchmark

START_SECONDS = 60
BIN = Path(sys.executable).parent

DOCUMENTS = {
    "a.md": ("Parser", "open a file and parse it (a:b)"),
    "b.md": ("Open", 'open open C++ file "quoted" text -minus OR'),
    "c.md": ("Other", "nothing here; it's 100% plain"),
    "d e.md": ("Ünï", "größe ✓ of a file"),
}
# Whatever a query language may mean by them, they are texts; none may end in an error, and none may be read as another one.
TEXTS = (
    "open file", '"quoted', "(a:b", "a:b)", "C++", "-minus", "open OR", "OR", "AND NOT", "\\", "it's", "*", "open*", ">", "~<x",
    '"; rm -rf / #', "--help", "a & b | c", "{query} {k} ${HOME}", "größe ✓", "100%", "%22", "a+b=c", '"', '""', "title:@x", "[1 TO 2]",
    "NEAR(a b)", "^a", "a;drop table x", "{!lucene}x",
)  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(command: Sequence[str], address: str, folder: Path) -> Iterator[None]:
    """A server until the end of the block; it is waited for by asking it."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
        try:
            _wait_for(process, address, folder)
            yield
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def _wait_for(process: subprocess.Popen[bytes], address: str, folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        try:
            with urlopen(address, timeout=5):  # noqa: S310  # an address of this test
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"{address} does not answer: {(folder / 'server.log').read_text()[-2000:]}")


def asked(address: str, body: Any = None) -> Any:
    """What the server itself says, asked without us."""
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, content, {"Content-Type": "application/json"}), timeout=30) as answer:  # noqa: S310  # as above
        return json.loads(answer.read())


def evaluated(
    folder: Path, config: Mapping[str, Any], queries: Sequence[str] = ("open file",), code: int = 0
) -> tuple[dict[str, Answer], str]:
    """The answers, by query, of ``searchmark evaluate`` with this config of an agent, and what the command printed."""
    cases = [
        {"id": f"q{number}", "query": query, "judgments": [{"target": "b.md", "grade": 1}]} for number, query in enumerate(queries)
    ]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
    agent = {"name": "engine", "source": "http", "config": {"retries": 0, **config}}
    (folder / "agents.yaml").write_text(json.dumps({"agents": [agent]}))
    done = searchmark("evaluate", "--suite", "suite.json", "--config", "agents.yaml", "--agent", "engine", cwd=folder)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    (saved,) = folder.glob(".searchmark/runs/*/runs/engine.jsonl")
    return {queries[int(answer.case[1:])]: answer for answer in load_run(saved).answers}, done.stdout


def hits_of(answer: Answer) -> list[tuple[str, float | None]]:
    return [(hit.id, hit.score) for hit in answer.hits]
