"""A snapshot as files on disk, for agents that need a folder: one folder, moved from commit to commit.

It holds the regular files of the tree, as they were committed, and nothing else: no ``.git``, no links, no submodules.
A move writes and removes only what differs. An agent may have put anything into the folder in the meantime, so every
step down a path refuses to follow links: nothing is ever written or removed outside.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.errors import UsageError, shortened
from searchmark.files.folders import NOT_A_FOLDER, Descent, open_folder, remove
from searchmark.history.objects import ObjectStore
from searchmark.history.repository import path_bytes
from searchmark.history.trees import NOTHING, Snapshot

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NO_SUCH_NAME = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL}  # names that a file system cannot hold
LONGEST_SHOWN = 200  # characters of a path in a sentence
LONGEST_PATH = 4095  # bytes, in one call to the system; deeper folders are entered step by step, which no agent does


@dataclass
class Checkout:
    """A folder that shows one snapshot at a time. ``unwritten`` are files that it cannot hold, with the reason."""

    folder: Path
    objects: ObjectStore
    shown: Snapshot = NOTHING
    unwritten: dict[str, str] = field(default_factory=dict)

    def sync_to(self, snapshot: Snapshot) -> Path:
        """Make the folder hold this snapshot, by writing and removing what differs from the one that it holds."""
        before, self.shown = self.shown, NOTHING  # if this fails half-way, the next one begins from nothing
        try:
            if before is NOTHING:
                self._clear()
            self._remove(before.versions.keys() - snapshot.versions.keys())  # first: a file may give way to a folder
            self._write(_differing(before, snapshot), snapshot.executable)
        except OSError as error:
            what = f"{error.strerror} (TMPDIR can put the folder elsewhere)"
            raise UsageError(f"{self.folder}: the files of commit {snapshot.commit} cannot be written: {what}") from error
        self.shown = snapshot
        self._refuse_unwritten()
        return self.folder

    def _refuse_unwritten(self) -> None:
        """A folder that lacks files would give an agent other documents than the rest is measured on."""
        for path, reason in self.unwritten.items():
            more = f" (and {len(self.unwritten) - 1} more)" if len(self.unwritten) > 1 else ""
            raise UsageError(f"the folder of commit {self.shown.commit} lacks {shortened(path, LONGEST_SHOWN)!r}{more}: {reason}")

    def _clear(self) -> None:
        self.unwritten.clear()
        with _way_down(self.folder, making=False) as way:
            for name in os.listdir(way.descent.here):  # noqa: PTH208  # what is opened has no path
                _clear_way(os.fsencode(name), way.descent.here)

    def _remove(self, paths: Iterable[str]) -> None:
        """Remove files, and the folders that have none left."""
        written = (path for path in paths if self.unwritten.pop(path, None) is None)
        with _way_down(self.folder, making=False) as way:
            # Sorted by their parts, files of one folder are neighbours: each folder is entered once, and left when empty.
            for *parents, name in sorted(path_bytes(path).split(b"/") for path in written):
                folder = way.enter(parents)
                if folder is not None:
                    _clear_way(name, folder)

    def _write(self, blobs: Mapping[str, str], executable: Set[str]) -> None:
        paths = sorted(blobs, key=lambda path: path.split("/"))  # files of one folder are neighbours, as below
        with _way_down(self.folder, making=True) as way:
            for path, content in zip(paths, self.objects.contents(blobs[path] for path in paths), strict=True):
                self._write_file(way, path, content, 0o755 if path in executable else 0o644)

    def _write_file(self, way: _Way, path: str, content: bytes, mode: int) -> None:
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


def _differing(before: Snapshot, after: Snapshot) -> dict[str, str]:
    """Files with another content, or that became executable or ceased to be."""
    contents = {path: blob for path, blob in after.versions.items() if before.versions.get(path) != blob}
    modes = (before.executable ^ after.executable) & after.versions.keys()
    return contents | {path: after.versions[path] for path in modes}


@dataclass
class _Way:
    """The opened folder where we are, below the top, for paths that come in order.

    ``making`` a way means to create what is missing, and to take away what is no folder. Otherwise what is not there is
    left alone, and a folder that is empty when we leave it is removed.
    """

    descent: Descent
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
def _way_down(top: Path, *, making: bool) -> Iterator[_Way]:
    opened = open_folder(top)
    try:
        with Descent(opened) as descent:
            way = _Way(descent, making)
            yield way
            way.leave(0)  # where folders that are empty now are removed
    finally:
        os.close(opened)


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
    opened = _open(name, folder)
    if opened is None:
        _clear_way(name, folder)
        os.mkdir(name, 0o755, dir_fd=folder)
        opened = open_folder(name, folder)
        os.fchmod(opened, 0o755)  # whatever the umask: a sandboxed agent of root's reads it under a different user number
    return opened


def _clear_way(name: bytes, folder: int) -> None:
    """Remove whatever has this name in a folder; of a link only the link."""
    reason = remove(name, folder)
    if reason is not None:
        raise reason


def _create(name: bytes, folder: int, content: bytes, mode: int) -> None:
    opened = os.open(name, _NEW_FILE, mode, dir_fd=folder)
    try:
        os.fchmod(opened, mode)
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(opened, rest) :]
    finally:
        os.close(opened)
