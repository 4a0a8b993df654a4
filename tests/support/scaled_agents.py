"""Agents of a user's own, for runs on executors. Each is loaded from this file, or from a wheel that holds it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


class Counts:
    """Follows the changes, so that a wrong one shows in the answers; takes its time, so that others can end it meanwhile."""

    def __init__(self, seconds: float = 0.004) -> None:
        self._seconds = seconds

    def initialize(self, corpus: Any) -> None:
        self._texts = {document.id: document.text for document in corpus}

    def update(self, changes: Any) -> bool:
        for path in (*changes.removed, *changes.written):
            self._texts.pop(path, None)
        self._texts |= {document.id: document.text for document in changes.corpus.read(changes.written)}
        return True

    def retrieve(self, query: str, k: int) -> list[str]:
        time.sleep(self._seconds)
        found = {path: sum(text.count(word) for word in query.split()) for path, text in self._texts.items()}
        return sorted(found, key=lambda path: (-found[path], path))[:k]


class EndsWorkers(Counts):
    """At one query it ends the process that has started it, which is the parent of its keeper."""

    def __init__(self, query: str, seconds: float = 0.0) -> None:
        super().__init__(seconds)
        self._query = query

    def retrieve(self, query: str, k: int) -> list[str]:
        if query == self._query:
            keeper = os.getppid()
            above = int(Path(f"/proc/{keeper}/stat").read_bytes().rpartition(b")")[2].split()[1])
            os.kill(above, signal.SIGKILL)
            time.sleep(60)
        return super().retrieve(query, k)


class Waits(Counts):
    """Answers nothing once it was asked this query, until somebody ends it."""

    def __init__(self, query: str) -> None:
        super().__init__(0.0)
        self._query = query

    def retrieve(self, query: str, k: int) -> list[str]:
        if query == self._query:
            time.sleep(600)
        return super().retrieve(query, k)


class Fails(Counts):
    """Fails in one way when it is asked a query that has this word."""

    def __init__(self, word: str, how: str) -> None:
        super().__init__(0.0)
        self._word, self._how = word, how

    def initialize(self, corpus: Any) -> None:
        super().initialize(corpus)
        if self._how == "initialize":
            raise RuntimeError("there is no index")

    def retrieve(self, query: str, k: int) -> list[str]:
        if self._word in query.split():
            if self._how == "exit":
                os._exit(7)
            raise RuntimeError(f"{self._word} is too much")
        return super().retrieve(query, k)


class Locks(Counts):
    """Can be started in one process and in no other."""

    owned = False

    def __init__(self, lock: str) -> None:
        super().__init__(0.0)
        self._lock = lock

    def initialize(self, corpus: Any) -> None:
        if not Locks.owned:
            Path(self._lock).mkdir()
            Locks.owned = True
        super().initialize(corpus)


class NeedsKey(Counts):
    """Has a key in its config, or in the environment."""

    def __init__(self, api_key: str | None = None) -> None:
        super().__init__(0.0)
        self._key = api_key or os.environ["SCALED_KEY"]
