"""An agent that misbehaves on purpose, in one way at a time, when it is asked for ``trigger``."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from searchmark import Corpus, RetrievalAgent, RetrievalResult

TRIGGER = "trigger"
NOTHING = object()  # None, from a fault that returns something


def for_ever() -> None:
    while True:
        time.sleep(3600)


class FaultyAgent(RetrievalAgent):
    """Answers every query with the corpus in the order of its ids, except for the fault."""

    def __init__(self, fault: str, pids: str | None = None) -> None:
        self._fault: Callable[[FaultyAgent], Any] = FAULTS[fault]
        self._where = fault
        self._pids = pids
        self.ids: list[str] = []
        self.folder: Path | None = None
        self.armed = False

    def initialize(self, corpus: Corpus) -> None:
        self.ids = sorted(document.id for document in corpus)
        self.folder = corpus.folder
        if self._where.endswith(" in initialize"):
            self._fault(self)

    def retrieve(self, query: str, k: int) -> Any:
        self.armed = query == TRIGGER
        result = self._fault(self) if self.armed and not self._where.endswith(" in initialize") else None
        return RetrievalResult(self.ids[:k]) if result is None else None if result is NOTHING else result

    def reset(self) -> None:
        if self._where == "raise in reset" and self.armed:
            self.armed = False
            raise RuntimeError("reset is out of order")

    def born(self, pid: int) -> None:
        """Remember a child, for the test to look for."""
        if self._pids:
            with Path(self._pids).open("a") as file:
                file.write(f"{pid}\n")

    def fork(self, work: Callable[[], None]) -> None:
        pid = os.fork()
        if not pid:
            work()
            os._exit(0)
        self.born(pid)


class Odd(BaseException):
    pass


def _raise(error: BaseException) -> Callable[[FaultyAgent], None]:
    def fault(_: FaultyAgent) -> None:
        raise error

    return fault


def _stream(agent: FaultyAgent, between: Callable[[FaultyAgent], Any]) -> Iterator[str]:
    """Two hits, and a fault between them."""
    yield "a.py"
    between(agent)
    yield "b.py"


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _stubborn(_: FaultyAgent) -> None:
    _ignore_signals()
    for_ever()


def _holds_the_pipe(agent: FaultyAgent) -> None:
    agent.fork(for_ever)
    os._exit(7)


def _leaves(agent: FaultyAgent) -> None:
    """A grandchild in a session of its own, whose parent has gone."""

    def leave() -> None:
        os.setsid()
        _ignore_signals()
        pid = os.fork()
        if pid:
            agent.born(pid)
            os._exit(0)
        for_ever()

    agent.fork(leave)
    os.wait()


def _leaves_and_hangs(agent: FaultyAgent) -> None:
    _leaves(agent)
    for_ever()


def _breeds(agent: FaultyAgent) -> None:
    for _ in range(30):
        agent.fork(lambda: (os.setsid(), for_ever()))  # type: ignore[arg-type, return-value]


def _eats(_: FaultyAgent) -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))


def _shouts(_: FaultyAgent) -> None:
    block = b"x" * (1 << 20)
    for _ in range(50):
        os.write(1, block)
        os.write(2, block)


def _scribbles(_: FaultyAgent) -> None:
    for descriptor in range(256):
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, b"\xff garbage \x00" * 10)
        except OSError:
            pass


def _leaks(_: FaultyAgent) -> None:
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        pass


def _keeps_threads(_: FaultyAgent) -> None:
    for _ in range(3):
        threading.Thread(target=for_ever, daemon=False).start()


def _deep() -> Any:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def _recurse(agent: FaultyAgent) -> Any:
    return _recurse(agent)


class _Bomb:
    @property
    def files(self) -> list[str]:
        raise RuntimeError("no files for you")


class _Text(str):
    def __len__(self) -> int:
        raise RuntimeError("nobody measures me")


def _endless(_: FaultyAgent) -> RetrievalResult:
    def numbers() -> Any:
        number = 0
        while True:
            yield f"ghost{number}"
            number += 1

    return RetrievalResult(numbers())


FAULTS: dict[str, Callable[[FaultyAgent], Any]] = {
    "none": lambda agent: None,
    "sleeps for ever": lambda agent: for_ever(),
    "spins for ever": lambda agent: [None for _ in iter(int, 1)],
    "ignores signals": _stubborn,
    "stops itself": lambda agent: os.kill(os.getpid(), signal.SIGSTOP),
    "stops its keeper": lambda agent: os.kill(os.getppid(), signal.SIGSTOP),
    "kills its keeper": lambda agent: (os.kill(os.getppid(), signal.SIGKILL), for_ever()),
    "forks a child that holds the pipe": _holds_the_pipe,
    "leaves its session": _leaves,
    "leaves its session and hangs": _leaves_and_hangs,
    "breeds": _breeds,
    "segfaults": lambda agent: ctypes.string_at(0),
    "aborts": lambda agent: os.abort(),
    "exits with 0": lambda agent: os._exit(0),
    "exits with 3": lambda agent: os._exit(3),
    "calls sys.exit": lambda agent: sys.exit(0),
    "exhausts memory": _eats,
    "prints 100 MB": _shouts,
    "writes garbage everywhere": _scribbles,
    "closes everything": lambda agent: os.closerange(0, 256),
    "leaks descriptors": _leaks,
    "keeps threads": _keeps_threads,
    "returns 10 million hits": lambda agent: RetrievalResult(agent.ids + ["ghost"] * 10_000_000),
    "returns endless hits": _endless,
    "returns a number": lambda agent: 42,
    "returns text": lambda agent: "a.py",
    "returns bytes": lambda agent: b"a.py",
    "returns None": lambda agent: NOTHING,
    "returns a set": lambda agent: {"a.py"},
    "returns scores by id": lambda agent: {"a.py": 1.0, "b.py": 2, "d.py": 2.0},
    "returns scores that are none": lambda agent: {"a.py": float("nan")},
    "returns one hit": lambda agent: {"id": 3, "score": 0.5},
    "returns a method": lambda agent: iter(int, 1).__next__,
    "returns a trap": lambda agent: _Bomb(),
    "returns None as an entry": lambda agent: RetrievalResult(["a.py", None]),  # type: ignore[list-item]
    "returns a number as an entry": lambda agent: [3.5],
    "returns an object as an entry": lambda agent: [object()],
    "returns a list as an entry": lambda agent: ["a.py", ["a.py"]],
    "returns true as an entry": lambda agent: [True],
    "returns a huge number as an entry": lambda agent: [10**5000],
    "returns a long id": lambda agent: ["a.py", "x" * 1_000_000],
    "returns a score that is text": lambda agent: [("a.py", "high")],
    "returns odd entries beyond the depth": lambda agent: [*(f"ghost{i}" for i in range(10)), None],
    "yields and raises": lambda agent: _stream(agent, _raise(ValueError("the stream is cut"))),
    "yields for ever the same": lambda agent: iter(lambda: "a.py", None),
    "yields and hangs": lambda agent: _stream(agent, lambda _: for_ever()),
    "yields and exits": lambda agent: _stream(agent, lambda _: os._exit(3)),
    "yields an odd entry": lambda agent: iter(["a.py", None]),
    "yields in a child too": lambda agent: _stream(agent, lambda agent: agent.born(os.fork())),
    "returns bytes as entries": lambda agent: RetrievalResult([b"b.py", b"\xff.py"]),  # type: ignore[list-item]
    "returns odd text": lambda agent: RetrievalResult([_Text("b.py"), "\ud800", "nul\0"]),
    "returns an empty id": lambda agent: RetrievalResult(["b.py", ""]),
    "returns odd scores": lambda agent: RetrievalResult(agent.ids[:4], [float("nan"), float("inf"), "7", 0.5]),  # type: ignore[list-item]
    "returns too few scores": lambda agent: RetrievalResult(agent.ids[:4], [0.5]),
    "returns deep metadata": lambda agent: RetrievalResult(agent.ids, metadata={"deep": _deep()}),
    "returns paths outside": lambda agent: RetrievalResult(["../a.py", "/etc/passwd", "/", "..", "missing.py", "a.py"]),
    "returns absolute paths": lambda agent: RetrievalResult(
        [f"{agent.folder}/b.py", f"{agent.folder}/./sub/../a.py", "./sub/c.py"]
    ),
    "returns duplicates": lambda agent: RetrievalResult(["b.py", "b.py", "./b.py", "a.py"]),
    "raises": _raise(ValueError("the index is sad")),
    "raises without a word": _raise(ValueError()),
    "raises something odd": _raise(Odd("odd")),
    "raises KeyboardInterrupt": _raise(KeyboardInterrupt()),
    "raises something long": _raise(ValueError("long " * 1_000_000)),
    "recurses": _recurse,
    "raise in reset": lambda agent: None,
    "raises in initialize": _raise(ValueError("cannot read the corpus")),
    "hangs in initialize": lambda agent: for_ever(),
    "exits in initialize": lambda agent: os._exit(1),
}
