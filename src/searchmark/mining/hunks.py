"""Which lines a commit changes, as Git compares the contents before and after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO

from searchmark.errors import UsageError
from searchmark.history.repository import Repository, path_bytes, path_text
from searchmark.mining.drafts import Draft

Hunk = tuple[int, int]  # first line at the parent, number of lines there
Hunks = dict[tuple[str, str], list[Hunk]]  # by old and new content

# Lines of files begin with one of "+-\", so whatever they hold, they are none of these.
_TELLING = re.compile(rb"\n(?:@@ -(\d+)(?:,(\d+))? \+|index ([0-9a-f]+)\.\.([0-9a-f]+)|([0-9a-f]{40}|[0-9a-f]{64})(?=\n))")
_CHUNK = 1 << 20
_PASSED_OVER = 64  # folders that git is told to pass over
_DIFF = (
    "diff-tree", "--stdin", "--root", "-r", "-p", "-U0", "--no-renames", "--full-index", "--no-color", "--no-ext-diff",
    "--no-textconv", "--diff-filter=a",
)  # fmt: skip  # what a commit creates is not compared: it is no target


@dataclass(frozen=True)
class Lines:
    """The lines of a file at the parent that a commit changes or deletes, and those behind which it inserts."""

    changed: tuple[tuple[int, int], ...]
    inserted_after: tuple[int, ...]

    @classmethod
    def of(cls, hunks: Iterable[Hunk]) -> Lines:
        """Git writes an insertion as no line at all behind the line that it names."""
        found = list(hunks)
        changed = tuple((first, first + count - 1) for first, count in found if count)
        return cls(changed, tuple(first for first, count in found if not count))

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The lines at the parent that a reader must see: those that change, and the one behind which something is inserted.

        What is inserted at the top of a file is in front of its first line. Ranges that touch are one.
        """
        merged: list[tuple[int, int]] = []
        for first, last in sorted([*self.changed, *((max(line, 1), max(line, 1)) for line in self.inserted_after)]):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(merged[-1][1], last)
            else:
                merged.append((first, last))
        return tuple(merged)


def hunks_of(repository: Repository, drafts: Sequence[Draft]) -> dict[str, Hunks]:
    """What differs in the targets of some commits, by commit."""
    try:
        return _compared(repository, drafts)
    except UsageError:  # Git stops at the first content that is missing, as in a partial clone, and does not say which
        missing = repository.missing(sorted(set().union(*map(_blobs, drafts))))
        if missing:
            raise repository.lacks("content", min(missing)) from None
        raise


def _compared(repository: Repository, drafts: Sequence[Draft]) -> dict[str, Hunks]:
    """A file is told by its two contents and not by its path, which Git would quote where it is odd."""
    asked = "".join(f"{draft.commit.hash} {draft.commit.parents[0]}\n" for draft in drafts).encode()
    found: dict[str, Hunks] = {}
    current: Hunks = {}
    hunks: list[Hunk] = []
    with repository.stream(*_DIFF, *_pathspecs(drafts), input=asked) as output:
        for text in _whole_lines(output):
            for first, count, old, new, commit in _TELLING.findall(text):
                if first:
                    hunks.append((int(first), int(count or 1)))
                elif old:
                    hunks = current[old.decode(), new.decode() if new.strip(b"0") else ""] = []
                else:
                    current = found[commit.decode()] = {}
    return found


def _whole_lines(output: IO[bytes]) -> Iterator[bytes]:
    """A text in large pieces that begin before a line and end behind one."""
    rest = b"\n"
    while chunk := output.read(_CHUNK):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = b"\n" + chunk[end:]
        else:
            rest += chunk


def _pathspecs(drafts: Sequence[Draft]) -> list[str]:
    """What git need not compare: folders, as large as possible, that hold no target of these commits but much else."""
    targets = {path_bytes(target.path) for draft in drafts for target in draft.reachable}
    needed = {folder for path in targets for folder in _folders(path)}
    others: Counter[bytes] = Counter()
    for draft in drafts:
        for path in draft.commit.paths:
            others.update(islice((folder for folder in _folders(path) if folder not in needed), 1))
    return ["--", *(f":(top,exclude,literal){path_text(folder)}" for folder, _ in others.most_common(_PASSED_OVER))]


def _folders(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the outermost first."""
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _blobs(draft: Draft) -> set[str]:
    """Every content that a comparison of this commit would read."""
    links = (b"160000",)
    old = {change.old_blob for change in draft.changes if change.old_mode not in links}
    new = {change.new_blob for change in draft.changes if change.new_mode not in links}
    return {blob.decode() for blob in old | new if blob.strip(b"0")}
