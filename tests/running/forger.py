"""Agents that write into the runner's own channel, in the process that a worker is. ``FORGERY`` says what they write."""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from searchmark import Corpus, RetrievalAgent, RetrievalResult
from searchmark.running.worker import server

HUGE = "9" * 400
RIVALS_CACHE = Path(os.environ["SEARCHMARK_CACHE"]).parent if "SEARCHMARK_CACHE" in os.environ else None  # of built-in agents


def say(body: str) -> None:
    """A frame on every pipe that this process holds; whoever is not meant does not read it."""
    data = body.encode()
    frame = struct.pack(">4sI", b"\0SMK", len(data)) + data
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, frame)
        except OSError:
            continue


def question() -> str:
    """The id of the request that is being answered, from the frames above."""
    frame: Any = sys._getframe()
    while not (isinstance(frame.f_locals.get("request"), dict) and "id" in frame.f_locals["request"]):
        frame = frame.f_back
    found: str = frame.f_locals["request"]["id"]
    return found


def nest(depth: int) -> list[Any]:
    """So many lists inside each other."""
    inside: list[Any] = []
    for _ in range(depth - 1):
        inside = [inside]
    return inside


def forged(times: int = 1, then: str | None = None, **fields: str | None) -> None:
    """An answer to this question made of raw JSON, in place of the worker's own, which never comes; fields that are None are left out."""
    answer = {"id": json.dumps(question()), "ns": "1", "ids": '["f1.txt"]', "dropped": "{}", **fields}
    for _ in range(times):
        say("{" + ",".join(f'"{key}":{value}' for key, value in answer.items() if value is not None) + "}")
    if then is not None:
        say(then.replace("QUESTION", question()))
    time.sleep(3600)


class Forger(RetrievalAgent):
    """Right until it is asked for the sixth time; then it does what it is told to, once."""

    def __init__(self, what: str = "", often: bool = False) -> None:
        self._what, self._often, self._asked = what, often, 0

    def initialize(self, corpus: Corpus) -> None:
        self._doing("initialize")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        self._asked += 1
        if self._often or (self._asked == 6 and not Path("done").exists()):
            Path("done").touch()
            self._doing("retrieve")
        return RetrievalResult(["f1.txt"], [1.0])

    def close(self) -> None:
        self._doing("close")

    def _doing(self, moment: str) -> None:
        when, _, code = self._what.partition(":")
        if when == moment:
            exec(code, globals())  # noqa: S102  # the test itself says what


class ForgerOfMany(RetrievalAgent):
    """Forges the answers to some queries, each once: whoever asks again gets a right one."""

    def __init__(self, forgeries: Mapping[str, str]) -> None:
        self._forgeries = forgeries

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        done = Path(f"{query}.done")
        if query in self._forgeries and not done.exists():
            done.touch()
            exec(f"forged({self._forgeries[query]})", globals())  # noqa: S102  # the test itself says what
        return RetrievalResult(["f1.txt"], [1.0])


class Liar(RetrievalAgent):
    """Takes twenty hundredths of a second, by a clock of its own."""

    def initialize(self, corpus: Corpus) -> None:
        ticks = iter(range(10**9))
        server.perf_counter_ns = lambda: next(ticks) * 1000  # type: ignore[assignment]  # that is the lie

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        time.sleep(0.2)
        return RetrievalResult(["f1.txt"])


class EarlyHeader(Liar):
    """Writes the header of its answer when it is asked, and the rest when it is done."""

    def __init__(self) -> None:
        main: Any = sys.modules["__main__"]
        self._channel, self._send = int(sys.argv[2]), main.send
        self._begun = False
        main.send = self._sent

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        os.write(self._channel, struct.pack(">4sI", b"\0SMK", 4096))
        self._begun = True
        return super().retrieve(query, k)

    def _sent(self, descriptor: int, message: dict[str, Any]) -> None:
        if self._begun:
            self._begun = False
            os.write(descriptor, json.dumps(message).encode().ljust(4096))
        else:
            self._send(descriptor, message)


class SlowIndex(Liar):
    """Takes half a second to index, by a clock of its own."""

    def initialize(self, corpus: Corpus) -> None:
        super().initialize(corpus)
        time.sleep(0.5)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])


class Boaster(Liar):
    """Reports more than has passed."""

    def initialize(self, corpus: Corpus) -> None:
        ticks = iter(range(10**9))
        server.perf_counter_ns = lambda: next(ticks) * 10**12  # type: ignore[assignment]  # that is the lie

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])


class SlowToForget(RetrievalAgent):
    """Honest: it forgets slowly, and searches fast."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def reset(self) -> None:
        time.sleep(0.2)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])


class Nested(RetrievalAgent):
    """Honest but for its remarks: 600 lists inside each other, a cost and a time that are less than nothing."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def describe(self) -> Mapping[str, Any]:
        return {"engine": nest(600)}

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"], cost=-1.0, metadata={"a": nest(600)})


class Stopper(RetrievalAgent):
    """Stops its keeper, then ends."""

    def initialize(self, corpus: Corpus) -> None:
        pass

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        os.kill(os.getppid(), signal.SIGSTOP)
        os._exit(3)


class Poisoner(RetrievalAgent):
    """Replaces every cached vector by zeros, with seals of its own."""

    def initialize(self, corpus: Corpus) -> None:
        import numpy as np

        from searchmark.agents.vectors.cache import VectorCache

        cache = VectorCache(RIVALS_CACHE)
        rows = list(cache._database.execute("SELECT key, length(vector) / 4 FROM vectors"))
        cache.write({key: np.zeros(size, np.float32) for key, size in rows})
        cache.close()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(["f1.txt"])


class TableDropper(Poisoner):
    """The same, and takes away the table."""

    def initialize(self, corpus: Corpus) -> None:
        from searchmark.agents.vectors.cache import VectorCache

        super().initialize(corpus)
        cache = VectorCache(RIVALS_CACHE)
        cache._database.execute("DROP TABLE vectors")
        cache.close()


class Stillborn(Stopper):
    """Ends its process while it is made."""

    def __init__(self) -> None:
        os._exit(3)
