"""The files of a git directory, looked at before git opens them: regular ones only, and packs that match their checksums.

Git opens whatever has the right name, and would wait for a pipe without end. It takes packs and their indexes as they are:
checksums are only looked at by ``git fsck``.
"""

from __future__ import annotations

import hashlib
import os
import stat
from functools import lru_cache
from pathlib import Path

from searchmark.errors import DamagedRepository, UsageError

_READ = ("refs", "objects", "info", "worktrees")  # folders of a git directory that git looks into
_DEEPEST_ALTERNATES = 5  # as in git
_PIECE = 1 << 20
_LARGEST_LIST = 64_000_000  # bytes of a list of shallow commits or alternates


def refuse_odd_files(folder: Path, given: str) -> None:
    """Refuse a repository in which something that git opens is a pipe or a device."""
    git_dir = git_dir_at(folder)
    common = common_dir(git_dir)
    _refuse_odd(git_dir, given, deep=False)
    _refuse_odd(common, given, deep=False)
    for name in _READ:
        _refuse_odd(common / name, given, deep=True)
    for objects in object_folders(common / "objects", given)[1:]:
        _refuse_odd(objects, given, deep=True)


def _refuse_odd(top: Path, given: str, *, deep: bool) -> None:
    waiting = [os.fspath(top)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue  # git says what is wrong with it
        for entry in entries:
            if _is_odd(entry):
                raise _unreadable(given, entry.path)
            if deep and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _is_odd(entry: os.DirEntry[str]) -> bool:
    """Whether opening this could wait for ever. A link counts as what it leads to; a socket, as fsmonitor has, cannot be opened."""
    try:
        if entry.is_file() or entry.is_dir():
            return False
        mode = entry.stat().st_mode
    except OSError:  # a link that leads nowhere
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _unreadable(given: str, file: str | Path) -> UsageError:
    return UsageError(f"{given} is not a Git repository that can be read: {file} is not a regular file; remove it")


def git_dir_at(folder: Path) -> Path:
    """Where git would look: the folder's own ``.git``, what that names if it is a file, or the folder itself."""
    inside = folder / ".git"
    if inside.is_dir():
        return inside
    if inside.is_file():
        named = list_in(inside, str(folder))[:1]
        if named and named[0].startswith(b"gitdir: "):
            return folder / os.fsdecode(named[0].removeprefix(b"gitdir: "))
    elif inside.exists():
        raise _unreadable(str(folder), inside)
    return folder


def common_dir(git_dir: Path) -> Path:
    """The directory that a worktree shares with its repository."""
    named = list_in(git_dir / "commondir", str(git_dir))[:1]
    return git_dir / os.fsdecode(named[0]) if named else git_dir


def list_in(file: Path, given: str) -> list[bytes]:
    """The lines of a small file of git's; none if it is not there."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return []
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable(given, file)
    if found.st_size > _LARGEST_LIST:
        raise UsageError(f"{given} is not a Git repository that can be read: {file} has {found.st_size:,} bytes; remove it")
    try:
        return file.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{given}: {file} cannot be read: {error.strerror}") from error


def object_folders(objects: Path, given: str) -> list[Path]:
    """The folder of objects, and those that it borrows from, directly or not."""
    found, level = [objects], [objects]
    for _ in range(_DEEPEST_ALTERNATES):
        lines = [(folder, line) for folder in level for line in list_in(folder / "info" / "alternates", given)]
        level = [folder / os.fsdecode(line) for folder, line in lines if line and not line.startswith(b"#")]
        found += level
    return list(dict.fromkeys(found))


def check_packs(objects: Path, digest: str, given: str) -> None:
    """Refuse a repository with a pack, or an index of one, that does not match its own checksum."""
    for folder in object_folders(objects, given):
        for index in sorted((folder / "pack").glob("*.idx")):
            for file in (index, index.with_suffix(".pack")):
                _check(file, digest, given)


def refuse_half_packs(objects: Path, given: str) -> None:
    """Refuse a repository with a pack without its index, or the other way round: git passes over what is in it."""
    for folder in object_folders(objects, given):
        for file in sorted((folder / "pack").glob("pack-*")):
            other = {".idx": ".pack", ".pack": ".idx"}.get(file.suffix)
            if other is not None and not file.with_suffix(other).exists():
                raise DamagedRepository(f"{given} is damaged: {file} is here without its {other} file; check it with git fsck")


def _check(file: Path, digest: str, given: str) -> None:
    try:
        found = file.stat()
        matches = _matches(file, found.st_size, found.st_mtime_ns, digest)
    except FileNotFoundError:  # packed again meanwhile
        return
    except OSError as error:
        raise DamagedRepository(f"{given} is damaged: {file} cannot be read: {error.strerror}") from error
    if not matches:
        raise DamagedRepository(f"{given} is damaged: {file} does not match its checksum; check it with git fsck")


@lru_cache(maxsize=1024)
def _matches(file: Path, size: int, _: int, digest: str) -> bool:
    """Whether a file ends with the checksum of what is before; its time is a part of the question."""
    seen = hashlib.new(digest, usedforsecurity=False)
    with file.open("rb") as stream:
        left = size - seen.digest_size
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            seen.update(piece)
            left -= len(piece)
        return left == 0 and stream.read() == seen.digest()


def is_partial(objects: Path, given: str) -> bool:
    """Whether a repository is a partial clone, as far as its packs say."""
    return any(any((folder / "pack").glob("*.promisor")) for folder in object_folders(objects, given))
