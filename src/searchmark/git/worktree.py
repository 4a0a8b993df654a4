"""Snapshots as files on disk, ignored files, and the state of a work tree."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.errors import UsageError, shortened
from searchmark.git.process import ask_git
from searchmark.git.repository import ObjectStore, path_bytes, path_text
from searchmark.git.trees import EMPTY_SNAPSHOT, Snapshot
from searchmark.io.folders import NOT_A_FOLDER, FolderDescent, open_folder, remove_entry_in

# A snapshot as files on disk, for agents that need a folder: one folder, moved from commit to commit.
#
# It holds the regular files of the tree, as they were committed, and nothing else: no ``.git``, no links, no submodules.
# A move writes and removes only what differs. An agent may have put anything into the folder in the meantime, so every
# step down a path refuses to follow links: nothing is ever written or removed outside.

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW

_NO_SUCH_NAME = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}  # names that a file system cannot hold

LONGEST_PATH_SHOWN = 200  # characters of a path in a sentence

LONGEST_PATH = 4095  # bytes, in one call to the system; deeper folders are entered step by step, which no agent does


@dataclass
class Checkout:
    """A folder that shows one snapshot at a time. ``unwritten`` are files that it cannot hold, with the reason."""

    folder: Path
    objects: ObjectStore
    snapshot: Snapshot = EMPTY_SNAPSHOT
    unwritten: dict[str, str] = field(default_factory=dict)

    def sync_to(self, snapshot: Snapshot) -> Path:
        """Make the folder hold this snapshot, by writing and removing what differs from the one that it holds."""
        before, self.snapshot = self.snapshot, EMPTY_SNAPSHOT  # if this fails half-way, the next one begins from nothing
        try:
            if before is EMPTY_SNAPSHOT:
                self._clear()
            self._remove(before.versions.keys() - snapshot.versions.keys())  # first: a file may give way to a folder
            self._write(_differing_files(before, snapshot), snapshot.executable)
        except OSError as error:
            what = f"{error.strerror} (TMPDIR can put the folder elsewhere)"
            raise UsageError(f"{self.folder}: the files of commit {snapshot.commit} cannot be written: {what}") from error
        self.snapshot = snapshot
        self._refuse_unwritten()
        return self.folder

    def _refuse_unwritten(self) -> None:
        """A folder that lacks files would give an agent other documents than the rest is measured on."""
        for path, reason in self.unwritten.items():
            more = f" (and {len(self.unwritten) - 1} more)" if len(self.unwritten) > 1 else ""
            raise UsageError(
                f"the folder of commit {self.snapshot.commit} lacks {shortened(path, LONGEST_PATH_SHOWN)!r}{more}: {reason}"
            )

    def _clear(self) -> None:
        self.unwritten.clear()
        with _walk_down(self.folder, making=False) as way:
            for name in os.listdir(way.descent.here):  # noqa: PTH208  # what is opened has no path
                _clear_way(os.fsencode(name), way.descent.here)

    def _remove(self, paths: Iterable[str]) -> None:
        """Remove files, and the folders that have none left."""
        paths_on_disk = (path for path in paths if self.unwritten.pop(path, None) is None)
        with _walk_down(self.folder, making=False) as way:
            # Sorted by their parts, files of one folder are neighbours: each folder is entered once, and left when empty.
            for *parents, name in sorted(path_bytes(path).split(b"/") for path in paths_on_disk):
                folder = way.enter(parents)
                if folder is not None:
                    _clear_way(name, folder)

    def _write(self, blobs: Mapping[str, str], executable: Set[str]) -> None:
        paths = sorted(blobs, key=lambda path: path.split("/"))  # files of one folder are neighbours, as below
        with _walk_down(self.folder, making=True) as way:
            for path, content in zip(paths, self.objects.contents(blobs[path] for path in paths), strict=True):
                self._write_file(way, path, content, 0o755 if path in executable else 0o644)

    def _write_file(self, way: _FolderPath, path: str, content: bytes, mode: int) -> None:
        """Write one file as a new one. What was there is removed first: it could be a link, or have another name elsewhere."""
        *parents, name = path_bytes(path).split(b"/")
        self.unwritten.pop(path, None)
        if len(os.fsencode(self.folder)) + len(b"/") + len(path_bytes(path)) > LONGEST_PATH:
            self.unwritten[path] = f"no program can open it: its path has more than {LONGEST_PATH} bytes"
            return
        try:
            folder = way.enter(parents)
            assert folder is not None  # noqa: S101  # what is missing on the way is made
            _clear_way(name, folder)
            _create(name, folder, content, mode)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                raise
            self.unwritten[path] = f"the file system cannot hold it: {error.strerror}"


def _differing_files(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Files with another content, or that became executable or ceased to be."""
    contents = {path: blob for path, blob in after.versions.items() if before.versions.get(path) != blob}
    modes = (before.executable ^ after.executable) & after.versions.keys()
    return contents | {path: after.versions[path] for path in modes}


@dataclass
class _FolderPath:
    """The opened folder where we are, below the top, for paths that come in order.

    ``making`` a way means to create what is missing, and to take away what is no folder. Otherwise what is not there is
    left alone, and a folder that is empty when we leave it is removed.
    """

    descent: FolderDescent
    making: bool
    names: list[bytes] = field(default_factory=list)

    def enter(self, names: Sequence[bytes]) -> int | None:
        """Go to a folder; None if there is none. Not through links: they could lead anywhere."""
        # Only as far back up as the two paths differ.
        common = next((n for n, (old, new) in enumerate(zip(self.names, names, strict=False)) if old != new), None)
        self.leave(min(len(self.names), len(names)) if common is None else common)
        for name in names[len(self.names) :]:
            here = self.descent.here
            folder = _open_or_make(name, here) if self.making else _open(name, here)
            if folder is None:
                return None
            self.descent.enter(folder)
            self.names.append(name)
        return self.descent.here

    def leave(self, depth: int) -> None:
        while len(self.names) > depth:
            self.descent.leave()
            name = self.names.pop()
            if not self.making:
                with suppress(OSError):  # it is not empty
                    os.rmdir(name, dir_fd=self.descent.here)


@contextmanager
def _walk_down(top: Path, *, making: bool) -> Iterator[_FolderPath]:
    descriptor = open_folder(top)
    try:
        with FolderDescent(descriptor) as descent:
            way = _FolderPath(descent, making)
            yield way
            way.leave(0)  # where folders that are empty now are removed
    finally:
        os.close(descriptor)


def _open(name: bytes, folder: int) -> int | None:
    try:
        return open_folder(name, folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in NOT_A_FOLDER:
            return None
        raise


def _open_or_make(name: bytes, folder: int) -> int:
    descriptor = _open(name, folder)
    if descriptor is None:
        _clear_way(name, folder)
        os.mkdir(name, 0o755, dir_fd=folder)
        descriptor = open_folder(name, folder)
        os.fchmod(descriptor, 0o755)  # whatever the umask: a sandboxed agent of root's reads it under a different user number
    return descriptor


def _clear_way(name: bytes, folder: int) -> None:
    """Remove whatever has this name in a folder; of a link only the link."""
    reason = remove_entry_in(name, folder)
    if reason is not None:
        raise reason


def _create(name: bytes, folder: int, content: bytes, mode: int) -> None:
    descriptor = os.open(name, _NEW_FILE, mode, dir_fd=folder)
    try:
        os.fchmod(descriptor, mode)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


# What Git leaves out of a work tree: the rules of its ``.gitignore`` files, told by Git itself.

LONGEST_PROBLEM = 120

_THE_FOLDER_ITSELF = "./"  # what git says of a folder with nothing but ignored files, each of which it names as well


# The rules of the work tree alone: those of a user would make another corpus of the same files.
_OWN_RULES = ("-c", "core.excludesFile=/dev/null")

_LIST_IGNORED = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")


@dataclass(frozen=True)
class IgnoredPaths:
    """Paths below a folder, those of folders with a slash at the end; ``problem`` is why Git could not be asked.

    ``silent``: it is missing, or was waited for as long as anything is; asking again would take as long again.
    """

    paths: tuple[str, ...] = ()
    problem: str | None = None
    silent: bool = False


def ignored_below(folder: Path) -> IgnoredPaths:
    """What Git ignores below a folder; nothing outside of a work tree, and of a folder that is ignored as a whole.

    Who names such a folder wants it searched.
    """
    if not any((each / ".git").exists() for each in (folder, *folder.parents)):
        return IgnoredPaths()
    try:
        if not (folder / ".git").exists() and ask_git(folder, *_OWN_RULES, "check-ignore", "--quiet", ".").returncode == 0:
            return IgnoredPaths()
        answer = ask_git(folder, *_OWN_RULES, *_LIST_IGNORED)
    except (UsageError, OSError) as error:
        return IgnoredPaths(problem=str(error), silent=True)
    if answer.returncode:
        message = path_text(answer.stderr).strip().partition("\n")[0]
        return IgnoredPaths(problem=f"git cannot tell what it ignores in {folder.name}: {shortened(message, LONGEST_PROBLEM)}")
    return IgnoredPaths(tuple(path for path in path_text(answer.stdout).split("\0") if path and path != _THE_FOLDER_ITSELF))


def committed_paths(folder: Path, commit: str) -> list[str]:
    """The paths of all files of a commit; none where Git cannot say."""
    try:
        answer = ask_git(folder, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    except (UsageError, OSError):
        return []
    return [path for path in path_text(answer.stdout).split("\0") if path] if answer.returncode == 0 else []


def is_tracked(folder: Path, path: str) -> bool:
    """Whether Git has a file of this work tree under version control; False where it cannot say."""
    try:
        answer = ask_git(folder, "--literal-pathspecs", "ls-files", "-z", "--", path)
    except (UsageError, OSError):
        return False
    return answer.returncode == 0 and bool(answer.stdout)


# The state that a work tree is in: its commit, and whether anything in it is not committed.

# What Git remembers of each file in its index: path, time and size.
_INDEX_ENTRY = re.compile(r"([^\0]+)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n.*\n.*\n  size: (\d+)\tflags: [0-9a-f]+\n")


@dataclass(frozen=True)
class RepositoryState:
    """A commit, and whether the work tree differs from it; None if that cannot be said."""

    commit: str
    dirty: bool | None


def repository_state(folder: Path) -> RepositoryState | None:
    """The state of the work tree that a folder belongs to; None if it is none or git is missing.

    Files are told by size and time and never read, since reading them the way Git does would run its filters.
    """
    commit = _ask_line(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    index = _ask_line(folder, "ls-files", "--debug", "-z")
    staged = _ask_line(folder, "diff-index", "--cached", "--name-only", "--ignore-submodules", "-z", "HEAD")
    untracked = _ask_line(folder, "ls-files", "--others", "--exclude-standard", "--directory", "-z")
    if index is None or staged is None or untracked is None:
        return RepositoryState(commit.strip(), None)
    has_edits = any(_differs(folder / entry[1], entry) for entry in _INDEX_ENTRY.finditer(index))
    return RepositoryState(commit.strip(), has_edits or bool(staged) or bool(untracked))


def _ask_line(folder: Path, *arguments: str) -> str | None:
    try:
        answer = ask_git(folder, *arguments)
    except (UsageError, OSError):
        return None
    return path_text(answer.stdout) if answer.returncode == 0 else None


def _differs(path: Path, entry: re.Match[str]) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return True
    if stat.S_ISDIR(status.st_mode):  # a submodule, which has a state of its own
        return False
    seconds, nanoseconds, size = (int(entry[group]) for group in (2, 3, 4))
    return (status.st_size, status.st_mtime_ns) != (size, seconds * 10**9 + nanoseconds)
