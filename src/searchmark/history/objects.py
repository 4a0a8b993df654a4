"""The objects of a repository by name, and commits in an order in which neighbours differ little."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

from searchmark.errors import DamagedRepository, UsageError
from searchmark.history.object_reader import ObjectReader, batches, windows
from searchmark.history.repository import Repository

T = TypeVar("T")


class ObjectStore:
    """The objects of a repository through one git process, which is started when needed and again if it has died."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._process = ExitStack()
        self._reader: ObjectReader | None = None
        self._lock = threading.Lock()  # an agent may read from several threads; the process has one pipe

    def read(self, names: Sequence[str]) -> list[bytes | None]:
        """The contents of objects that are known to be small, in order, all of them at once; None for what is not here."""
        return self._twice(lambda reader, asked: list(reader.read_all(asked)), names)

    def contents(self, names: Iterable[str]) -> Iterator[bytes]:
        """The contents of objects of any size, in order, of which only so many are held as memory can bear; all must be here."""
        for window in windows(names):
            sizes = self._twice(ObjectReader.sizes, window)
            if None in sizes:
                raise self.repository.lacks("content", window[sizes.index(None)])
            for batch in batches([size or 0 for size in sizes]):
                different = list(dict.fromkeys(window[batch]))
                contents = dict(zip(different, self.read(different), strict=True))
                yield from (contents[name] or b"" for name in window[batch])

    def problems(self, names: Iterable[str]) -> dict[str, str]:
        """Those of some objects that are missing or damaged, and which of the two; their contents are not held."""
        found: dict[str, str | None] = {}
        for window in windows(names):
            try:
                found |= zip(window, self._twice(ObjectReader.check, window), strict=True)
            except DamagedRepository:  # git stops at what it cannot read, so they are looked at one by one
                found |= {name: self._problem(name) for name in window}
        return {name: problem for name, problem in found.items() if problem is not None}

    def _problem(self, name: str) -> str | None:
        try:
            return self._twice(ObjectReader.check, [name])[0]
        except DamagedRepository:
            return "damaged"

    def _twice(self, work: Callable[[ObjectReader, Sequence[str]], T], names: Sequence[str]) -> T:
        """Have a process do some work; if it dies, have another one do it."""
        with self._lock:
            try:
                return self._once(work, names)
            except (OSError, DamagedRepository):
                return self._once(work, names)

    def _once(self, work: Callable[[ObjectReader, Sequence[str]], T], names: Sequence[str]) -> T:
        if self._reader is None:
            self._reader = self._process.enter_context(self.repository.objects_reader())
        try:
            return work(self._reader, names)
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
        contents = zip(wanted, reader.read_all(wanted), strict=True)
        dates = {commit: _date(repository, commit, content) for commit, content in contents}
    return sorted(wanted, key=lambda commit: (dates[commit], commit))


def ranks_along_history(repository: Repository, commits: Iterable[str]) -> dict[str, int]:
    """A number for each commit, larger than those of all its ancestors, whatever their dates say; all of history is walked."""
    wanted = set(commits)
    asked = "".join(f"{commit}\n" for commit in sorted(wanted)).encode()
    with repository.stream("rev-list", "--date-order", "--stdin", input=asked) as output:
        newest_first = (line.decode().rstrip("\n") for line in output)
        return {commit: -number for number, commit in enumerate(newest_first) if commit in wanted}


def _date(repository: Repository, commit: str, content: bytes | None) -> int:
    if content is None:
        raise repository.lacks_commit(commit)
    if not content.startswith(b"tree "):
        raise UsageError(f"{repository.path}: {commit!r} is not a commit of this repository")
    found = re.search(rb"^committer .* (-?\d+) [-+]\d+$", content.partition(b"\n\n")[0], re.MULTILINE)
    return int(found[1]) if found else 0
