"""Objects of a repository through one git process, each held against its name.

Git itself does not do that: a damaged index of a pack, or a damaged base of a delta, hands out the content of another object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, TypeVar

from searchmark.errors import DamagedRepository

WINDOW = 64  # so many requests fit into any pipe, so that neither side ever waits for the other
BATCH_BYTES = 8_000_000  # of contents that are held at one time; one that is larger is held alone
_PIECE = 1 << 20
T = TypeVar("T")
COMMAND = ("cat-file", "--batch-command", "--buffer")


@dataclass(frozen=True)
class ObjectReader:
    """Reads objects by name: a hash, or anything that git understands, such as ``<commit>^{tree}``.

    ``path`` is what errors call the repository, ``digest`` the function that its names are made by.
    """

    path: str
    digest: str
    requests: IO[bytes]
    replies: IO[bytes]

    def read(self, name: str) -> bytes | None:
        """The content of one object; None if it is not here."""
        return next(self.read_all([name]))

    def read_all(self, names: Iterable[str]) -> Iterator[bytes | None]:
        """The contents of many objects that are known to be small, in order."""
        for window in windows(names):
            self._ask("contents", window)
            # All of them, so that two such loops may take turns.
            yield from [read_content(self.replies, self.path, self.digest) for _ in window]

    def sizes(self, names: Sequence[str]) -> list[int | None]:
        """How large the contents of a window of objects are; None for what is not here."""
        self._ask("info", names)
        headers = [_header(self.replies, self.path) for _ in names]
        return [None if header is None else header.size for header in headers]

    def check(self, names: Sequence[str]) -> list[str | None]:
        """Whether each of a window of objects is "missing" or "damaged"; their contents are never held."""
        self._ask("contents", names)
        return [_problem(self.replies, self.path, self.digest) for _ in names]

    def _ask(self, what: str, names: Sequence[str]) -> None:
        self.requests.write(("".join(f"{what} {name}\n" for name in names) + "flush\n").encode())
        self.requests.flush()


def windows(items: Iterable[T]) -> Iterator[list[T]]:
    """Items in their order, as many at a time as are asked for together."""
    rest = iter(items)
    while window := list(islice(rest, WINDOW)):
        yield window


def batches(sizes: Sequence[int]) -> Iterator[slice]:
    """Which of some contents, in their order, are held together."""
    start = total = 0
    for number, size in enumerate(sizes):
        if number > start and total + size > BATCH_BYTES:
            yield slice(start, number)
            start, total = number, 0
        total += size
    if sizes:
        yield slice(start, len(sizes))


@dataclass(frozen=True)
class _ReplyHeader:
    """What git says before the content of an object."""

    name: str
    kind: bytes
    size: int


def _header(replies: IO[bytes], path: str) -> _ReplyHeader | None:
    """The next header; None for an object that is not here."""
    line = replies.readline()
    if line.endswith((b" missing\n", b" ambiguous\n")):
        return None
    if not line.endswith(b"\n"):
        raise ended(path)
    name, kind, size = line.split(b" ")
    return _ReplyHeader(name.decode(), kind, int(size))


def read_content(replies: IO[bytes], path: str, digest: str) -> bytes | None:
    """The next content that git cat-file hands out; None for an object that is not here."""
    header = _header(replies, path)
    if header is None:
        return None
    content = replies.read(header.size)
    if len(content) < header.size or not replies.read(1):  # a newline follows every object
        raise ended(path)
    seen = hashlib.new(digest, b"%b %d\0" % (header.kind, header.size), usedforsecurity=False)
    seen.update(content)
    if seen.hexdigest() != header.name:
        raise DamagedRepository(f"{path} is damaged: the object {header.name} is not what its name says; check it with git fsck")
    return content


def _problem(replies: IO[bytes], path: str, digest: str) -> str | None:
    header = _header(replies, path)
    if header is None:
        return "missing"
    seen = hashlib.new(digest, b"%b %d\0" % (header.kind, header.size), usedforsecurity=False)
    left = header.size
    while left and (piece := replies.read(min(left, _PIECE))):
        seen.update(piece)
        left -= len(piece)
    if left or not replies.read(1):
        raise ended(path)
    return None if seen.hexdigest() == header.name else "damaged"


def ended(path: str) -> DamagedRepository:
    return DamagedRepository(f"{path} is damaged, or git was stopped: git cat-file ended early; check it with git fsck")
