"""The history of a repository as a stream of commits."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from searchmark.errors import UsageError
from searchmark.git.process import split_at_nul
from searchmark.git.repository import Repository, path_text

_FIELDS = 6  # hash, parents, time, author, e-mail, message; the changes follow

_FORMAT = "%H%x00%P%x00%ct%x00%an%x00%ae%x00%B"

_CHUNK = 1 << 17  # small, so that git and we work at the same time

_LAST_SECOND = 253402300799  # of the year 9999: what a date can hold


class LoggedCommit(NamedTuple):
    """One commit as Git tells it. ``raw`` holds modes, blobs and status of each change, ``paths`` the paths beside them."""

    hash: str
    parents: tuple[str, ...]
    time: int
    author: bytes
    email: bytes
    message: bytes
    raw: list[bytes]
    paths: list[bytes]
    record: bytes  # all of it as Git printed it: what a kept commit is kept as


class MalformedCommit(NamedTuple):
    """A commit that has no date or no author, or whose record makes no sense."""

    hash: str
    reason: str
    parents: tuple[str, ...] = ()


class PathChange(NamedTuple):
    """One changed path. ``status`` is A, D, M or T, as Git prints it without looking for renames."""

    old_mode: bytes
    new_mode: bytes
    old_blob: bytes
    new_blob: bytes
    status: bytes
    path: bytes


@dataclass(frozen=True)
class CommitRange:
    """Which commits are read: all that ``tip`` reaches and ``excluded`` does not."""

    tip: str
    excluded: str | None = None
    first_parent: bool = False
    merges: bool = False


def commit_range(repository: Repository, revisions: str | None) -> tuple[str, str | None]:
    """The pinned commit at the end of ``B`` or ``A..B``, and the one that it starts behind."""
    if revisions is None or ".." not in revisions:
        return repository.commit(revisions or "HEAD"), None
    if "..." in revisions:
        raise UsageError(f"{revisions!r} is not a range; write A..B, or one revision for all that leads to it")
    first, last = revisions.split("..", 1)
    return repository.commit(last or "HEAD"), repository.commit(first or "HEAD")


def log_arguments(span: CommitRange, mark: str) -> list[str]:
    """The one command that reads a history. Children come before their parents, whatever the clocks said."""
    merges = "--diff-merges=first-parent" if span.merges else "--diff-merges=off"
    return [
        "log", "--topo-order", "--raw", "-z", "--no-abbrev", "--no-renames", merges, "--encoding=UTF-8",
        "--no-show-signature", "--no-notes", "--no-color", "--no-ext-diff", "--no-decorate",
        *(["--first-parent"] if span.first_parent else []),
        f"--format=tformat:%x00{mark}{_FORMAT}",
        span.tip, *([] if span.excluded is None else [f"^{span.excluded}"]), "--",
    ]  # fmt: skip


def read_history(
    repository: Repository, span: CommitRange, on_read: Callable[[int], None] | None = None
) -> Iterator[LoggedCommit | MalformedCommit]:
    """Every commit of a span; ``on_read`` hears now and then how many have been read."""
    mark = secrets.token_hex(8)
    separator = b"\0" + mark.encode()
    count, rest, first = 0, b"", True
    with repository.stream(*log_arguments(span, mark)) as output:
        while chunk := output.read1(_CHUNK):
            *records, rest = (rest + chunk).split(separator)  # the last one may be cut short: it waits for the next chunk
            if first and records:
                records, first = records[1:], False  # there is nothing before the first mark
            for record in records:
                yield parse_record(record)
            count += len(records)
            if on_read is not None:
                on_read(count)
    if rest and not first:
        yield parse_record(rest)
    elif rest:
        yield parse_record(rest.removeprefix(separator))


def commits_per_path(repository: Repository, revisions: str, below: str = "") -> Counter[str]:
    """How many of some commits changed each path below a folder, by one pass over the history that is never held."""
    flags = ("--format=", "--name-only", "--no-renames", "--no-merges", f"--relative={below}", "-z")
    with repository.stream("log", *flags, revisions, "--") as output:
        return Counter(path_text(path) for path in split_at_nul(output) if path)


def parse_record(record: bytes) -> LoggedCommit | MalformedCommit:
    """One record of the log, by position."""
    fields = record.split(b"\0", _FIELDS)
    name = fields[0].decode("ascii", "replace")
    if len(fields) <= _FIELDS:
        return MalformedCommit(name, "its record is cut short")
    _, lineage, time, author, email, message, changes = fields
    parents = tuple(lineage.decode("ascii").split())
    if not time.isdigit() or int(time) > _LAST_SECOND:
        return MalformedCommit(name, "its date is not valid", parents)
    if not author and not email:
        return MalformedCommit(name, "it has no author", parents)
    tokens = changes.split(b"\0")
    tokens.pop()  # there is nothing behind the last NUL
    raw, paths = tokens[0::2], tokens[1::2]
    if raw:
        raw[0] = raw[0].lstrip(b"\n")  # git sets the changes off from the message
    if len(raw) != len(paths) or (raw and not (raw[0].startswith(b":") and raw[-1].startswith(b":"))):
        return MalformedCommit(name, "its changes cannot be told apart", parents)
    return LoggedCommit(name, parents, int(time), author, email, message, raw, paths, record)


def changes_of(commit: LoggedCommit) -> list[PathChange]:
    """The changes of a commit, taken apart."""
    changes = []
    for meta, path in zip(commit.raw, commit.paths, strict=True):
        old_mode, new_mode, old_blob, new_blob, status = meta[1:].split(b" ")
        changes.append(PathChange(old_mode, new_mode, old_blob, new_blob, status, path))
    return changes


def message_text(commit: LoggedCommit) -> tuple[str, bool]:
    """The message, and whether its encoding had to be guessed: Git says UTF-8, and not every commit listens."""
    try:
        text, is_guess = commit.message.decode("utf-8"), False
    except UnicodeDecodeError:
        text, is_guess = _guess_encoding(commit.message), True
    return text.replace("\r\n", "\n").replace("\r", "\n"), is_guess


def _guess_encoding(message: bytes) -> str:
    try:
        return message.decode("cp1252")
    except UnicodeDecodeError:
        return message.decode("latin-1")
