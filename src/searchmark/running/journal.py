"""The journal: every answer is written down while the next one is waited for, and never again changed.

The first line says what was run: digests of the queries and the corpus, the agent and the options, and the run's id and
start. Only the same can be resumed. A line that was cut short by a crash is the last one, and is cut off; nothing else may
be damaged. What others write into the file while the run is going on is noticed when it ends.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakSet

from searchmark.errors import FormatError, Incomparable, UsageError
from searchmark.files.folders import make_private_folder
from searchmark.files.locks import lock_file
from searchmark.files.our_folder import keep_out_of_git
from searchmark.records import Environment
from searchmark.running.events import WorkerEvent
from searchmark.running.journal_lines import (
    JOURNAL_SCHEMA,
    JournalEntry,
    JournalReader,
    RunEnd,
    Sealer,
    SeenHost,
    has_answers,
    text,
    whole_size,
)

SYNC_SECONDS = 1.0


@dataclass(frozen=True)
class RunStart:
    """Which run this is and when it began; a resumed run keeps both."""

    id: str
    started: datetime


def new_run_start() -> RunStart:
    """An id that nobody else has, and that sorts by time."""
    now = datetime.now(UTC)
    return RunStart(f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", now)


Identity = Callable[[str], Mapping[str, Any]]  # from a salt to what must be the same
Beginning = Callable[[], Mapping[str, Any]]  # what else is known when it begins


class Journal:
    """An open journal, locked against other writers."""

    def __init__(self, path: Path, identity: Identity, start: RunStart, beginning: Beginning = dict, *, resume: bool) -> None:
        self.path = path
        self.start = start
        self.entries: dict[str, JournalEntry] = {}
        self.events: list[WorkerEvent] = []
        self.hosts: list[Environment] = []
        self._synced = time.monotonic()
        self._sealer = Sealer()
        self._whole = True  # whether the file ends where the last line that was sealed ends
        self._descriptor = _opened(path)
        _of_this_process.add(self)
        try:
            if not resume or not self._continued(identity):
                self._begin(identity, beginning)
        except BaseException:
            os.close(self._descriptor)
            self._descriptor = -1
            raise

    def _begin(self, identity: Identity, beginning: Beginning) -> None:
        if has_answers(self._descriptor):
            self._set_aside()
        if os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, 0)
        salt = secrets.token_hex(8)
        started = self.start.started.isoformat()
        run = {"run_id": self.start.id, "started": started}
        self._write({**JOURNAL_SCHEMA.header(), **run, "salt": salt, "identity": identity(salt), **beginning()})

    def _set_aside(self) -> None:
        """Keep what was there: the run before this one is not lost by starting over."""
        self.path.replace(self.path.with_name(f"{self.path.name}.previous"))
        os.close(self._descriptor)
        self._descriptor = _opened(self.path)

    def _continued(self, identity: Identity) -> bool:
        """Take over what is there; False if that is not even a whole header."""
        reader = JournalReader(self.path, self._descriptor)
        header = reader.header()
        if header is None:
            return False
        _refuse_difference(self.path, header["identity"], identity(header["salt"]))
        self.start = _run_start(self.path, header)
        for record in reader.records():
            match record:
                case WorkerEvent():
                    self.events.append(record)
                case SeenHost():
                    self.hosts.append(record.environment)
                case (case, entry):
                    self.entries[case] = entry
        self._sealer = reader.sealer
        os.ftruncate(self._descriptor, whole_size(self._descriptor))
        return True

    def note(self, record: WorkerEvent | SeenHost | RunEnd) -> None:
        """Write down something that happened."""
        self._write(record.to_plain())

    def add(self, case: str, entry: JournalEntry) -> None:
        self._write(entry.to_plain(case))

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line at once: what was handed to the system survives the end of this process."""
        whole, self._whole = self._whole, False  # nobody knows what an interruption in here leaves behind
        try:
            rest = memoryview(self._sealer.seal(line))
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._descriptor)
                self._synced = time.monotonic()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}; fix this, then continue with --resume") from error
        self._whole = whole

    def close(self) -> str | None:
        """Let go of the file; a sentence if it is not what was written here, and has been set aside for that."""
        if self._descriptor < 0:
            return None
        changed = self._was_changed()
        os.close(self._descriptor)
        self._descriptor = -1
        if not changed:
            return None
        with suppress(OSError):  # it may have been removed
            self.path.replace(set_aside(self.path))
        return f"the journal {self.path} was changed by another process during the run, and cannot be resumed"

    def _was_changed(self) -> bool:
        ours = os.fstat(self._descriptor)
        if not self._whole or not stat.S_ISREG(ours.st_mode):
            return False
        try:
            return not os.path.samestat(ours, self.path.stat()) or not self._sealer.fits(self._descriptor)
        except OSError:
            return True


def _leave_to_parent() -> None:
    """A child that was forked has the locks of its parent, and would keep them when that is killed."""
    for journal in list(_of_this_process):
        if journal._descriptor >= 0:
            os.close(journal._descriptor)
            journal._descriptor = -1


_of_this_process: WeakSet[Journal] = WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def has_begun(path: Path) -> bool:
    """Whether there is a journal that could be resumed."""
    return path.exists() and path.stat().st_size > 0


def set_aside(path: Path) -> Path:
    """Where a journal is kept that others have changed: nothing of it is believed."""
    return path.with_name(f"{path.name}.changed")


def _opened(path: Path) -> int:
    """The file, locked; it must still be the one that lies there when the lock is ours."""
    try:
        make_private_folder(path.parent)
        keep_out_of_git(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        while (descriptor := lock_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)) is None:
            pass  # another run has set the file aside just now: what is there next is locked
    except BlockingIOError as error:
        raise UsageError(f"another run is writing to {path}; wait for it, or name a different folder with --journal") from error
    except OSError as error:
        raise _unwritable(path, error) from error
    return descriptor


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}; name a different folder with --journal")


def _run_start(path: Path, header: Mapping[str, Any]) -> RunStart:
    try:
        return RunStart(text(header["run_id"]), datetime.fromisoformat(header["started"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(path, "line 1", "is not the header of a journal") from error


def _refuse_difference(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    plain = json.loads(json.dumps(now))
    different = [key for key in {**then, **plain} if then.get(key) != plain.get(key)]
    if different:
        raise Incomparable(
            f"{path} cannot be resumed: different {', different '.join(different)}; rerun without --resume to start over"
        )
