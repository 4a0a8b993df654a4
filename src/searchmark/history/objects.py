"""The objects of a repository by name, and commits in an order in which neighbours differ little."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from searchmark.errors import UsageError
from searchmark.history.repository import ObjectReader, Repository

AT_ONCE = 64  # contents in memory at one time


class ObjectStore:
    """The objects of a repository through one git process, which is started when needed and again if it has died."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._process = ExitStack()
        self._reader: ObjectReader | None = None
        self._lock = threading.Lock()  # an agent may read from several threads; the process has one pipe

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents of objects, in order, all of them at once; None for what is not here."""
        with self._lock:
            try:
                return self._read(names)
            except (OSError, UsageError):  # the process has died
                return self._read(names)

    def _read(self, names: Sequence[str]) -> list[bytes | None]:
        if self._reader is None:
            self._reader = self._process.enter_context(self.repository.objects_reader())
        try:
            return list(self._reader.read_all(names))
        except BaseException:  # whatever it was, an answer that was not read to its end must not become the next one
            self.close()
            raise

    def close(self) -> None:
        self._reader = None
        self._process.close()


def order_along_history(repository: Repository, commits: Iterable[str]) -> list[str]:
    """Commits, each once, in an order in which neighbours differ little: by date, then by hash.

    The date is that of the committer, who is the one to put commits on top of each other. Measured on real histories
    this is as good as the order of ancestry, and it is known without walking the history.
    """
    wanted = sorted(set(commits))
    with repository.objects_reader() as reader:
        dates = {commit: _date(commit, content) for commit, content in zip(wanted, reader.read_all(wanted), strict=True)}
    return sorted(wanted, key=lambda commit: (dates[commit], commit))


def _date(commit: str, content: bytes | None) -> int:
    if content is None or not content.startswith(b"tree "):
        raise UsageError(f"{commit!r} is not a commit of this repository")
    found = re.search(rb"^committer .* (-?\d+) [-+]\d+$", content.partition(b"\n\n")[0], re.MULTILINE)
    return int(found[1]) if found else 0
