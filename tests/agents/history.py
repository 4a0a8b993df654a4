"""This repository's own history as corpora: real files, real edits, real renames."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence

import pytest

from searchmark import Corpus, Document
from tests.agents.corpora import Read, Streamed
from tests.conftest import ROOT


def git(*arguments: str, data: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, input=data, capture_output=True, check=True).stdout


def commits(count: int) -> list[str]:
    """Some commits of the history, evenly spread, oldest first."""
    if not (ROOT / ".git").exists():
        pytest.skip("this copy of the sources has no history")
    every = git("rev-list", "--reverse", "HEAD").decode().split()
    if len(every) < count:
        pytest.skip("this copy of the history is too short")
    return [every[place * (len(every) - 1) // (count - 1)] for place in range(count)]


_CONTENTS: dict[str, bytes] = {}


def read_blobs(names: Iterable[str]) -> None:
    """Read contents by one process of Git for all that are not known yet."""
    new = [name for name in dict.fromkeys(names) if name not in _CONTENTS]
    rest = git("cat-file", "--batch", data="".join(f"{name}\n" for name in new).encode())
    for name in new:
        header, _, rest = rest.partition(b"\n")
        size = int(header.split()[2])
        _CONTENTS[name], rest = rest[:size], rest[size + 1 :]


def corpus_at(commit: str, *, versions: bool = True, ending: str = "") -> Corpus:
    """The text files of a commit whose names end so, read one by one."""
    listed = [line.split("\t", 1) for line in git("ls-tree", "-r", "-z", commit).decode().split("\0")[:-1]]
    blobs = {path: entry.split()[2] for entry, path in listed if path.endswith(ending)}
    read_blobs(blobs.values())

    def read(ids: Sequence[str]) -> Iterator[Document]:
        for path in ids:
            content = _CONTENTS[blobs[path]]
            if b"\0" not in content:
                yield Document(path, content.decode("utf-8", "replace"))

    return Corpus("history", Read(read, blobs) if versions else Streamed(lambda: read(list(blobs))))


def difference(before: Corpus, after: Corpus) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was written and what was removed between two states."""
    old, new = before.versions or {}, after.versions or {}
    return tuple(path for path in new if old.get(path) != new[path]), tuple(old.keys() - new)
