"""What differs between trees that follow each other, for thousands of them through one git process."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from searchmark.history.git import nul_ended
from searchmark.history.repository import Repository, TreeEntry

_COMPARE = ("diff-tree", "--stdin", "-r", "--raw", "-z", "--no-abbrev", "--no-renames")


class TreeStep(NamedTuple):
    """What is new or different in the later of two trees, and what is gone from the earlier one."""

    written: list[TreeEntry]
    removed: list[bytes]


def tree_steps(repository: Repository, trees: Sequence[str]) -> Iterator[TreeStep]:
    """The step to each tree from the one before it."""
    asked = "".join(f"{before} {after}\n" for before, after in pairwise(trees) if before != after).encode()
    with repository.stream(*_COMPARE, input=asked) as output:
        answers = _answers(output)
        header, step = next(answers, (b"", None))
        for before, after in pairwise(trees):
            if step is not None and header == f"{before} {after}".encode():
                yield step
                header, step = next(answers, (b"", None))
            else:  # the same tree, or one whose files are the same
                yield TreeStep([], [])


def _answers(output: io.BufferedReader) -> Iterator[tuple[bytes, TreeStep]]:
    """What git says of each pair of trees, behind the line that names the two."""
    header, step = b"", TreeStep([], [])
    pieces = nul_ended(output)
    for piece in pieces:
        *headers, change = piece.split(b"\n")
        if headers:
            if header:
                yield header, step
            header, step = headers[-1], TreeStep([], [])
        _, mode, _, blob, status = change.split(b" ")
        path = next(pieces)
        if status == b"D":
            step.removed.append(path)
        else:
            step.written.append(TreeEntry(int(mode, 8), blob.decode(), path))
    if header:
        yield header, step
