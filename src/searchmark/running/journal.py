"""The journal: every answer is written down as soon as it is there, and never again changed.

The first line says what was run: digests of the queries and the corpus, the agent and the options, and the run's id and
start. Only the same can be resumed. A line that was cut short by a crash is the last one, and is cut off; nothing else may
be damaged.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, Incomparable, UsageError
from searchmark.files.locks import lock_file
from searchmark.files.schemas import Schema
from searchmark.files.store import parse_json
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.records import STATUSES, AnswerDetails
from searchmark.running.events import WorkerEvent
from searchmark.running.session import Outcome
from searchmark.running.worker.frames import compact

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SYNC_SECONDS = 1.0
JOURNAL_SCHEMA = Schema("journal", 1)


@dataclass(frozen=True)
class RunStart:
    """Which run this is and when it began; a resumed run keeps both."""

    id: str
    started: datetime


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line: what became of a case, and which of its hits exist; None where that is not known."""

    outcome: Outcome
    valid: tuple[bool, ...] | None


Identity = Callable[[str], Mapping[str, Any]]  # from a salt to what must be the same


class Journal:
    """An open journal, locked against other writers."""

    def __init__(self, path: Path, identity: Identity, start: RunStart, *, resume: bool) -> None:
        self.path = path
        self.start = start
        self.entries: dict[str, JournalEntry] = {}
        self.events: list[WorkerEvent] = []
        self._synced = time.monotonic()
        self._descriptor = _opened(path)
        try:
            if not resume or not self._continued(identity):
                self._begin(identity)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _begin(self, identity: Identity) -> None:
        if _content(self._descriptor).count(b"\n") > 1:
            self._set_aside()
        if os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, 0)
        salt = secrets.token_hex(8)
        started = self.start.started.isoformat()
        run = {"run_id": self.start.id, "started": started}
        self._write({**JOURNAL_SCHEMA.header(), **run, "salt": salt, "identity": identity(salt)})

    def _set_aside(self) -> None:
        """Keep what was there: the run before this one is not lost by starting over."""
        self.path.replace(self.path.with_name(f"{self.path.name}.previous"))
        os.close(self._descriptor)
        self._descriptor = _opened(self.path)

    def _continued(self, identity: Identity) -> bool:
        """Take over what is there; False if that is not even a whole header."""
        content = _content(self._descriptor)
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            return False
        os.ftruncate(self._descriptor, len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        header = _header(self.path, lines[0])
        _refuse_difference(self.path, header["identity"], identity(header["salt"]))
        self.start = _run_start(self.path, header)
        for record in _records(self.path, lines):
            if isinstance(record, tuple):
                self.entries[record[0]] = record[1]
            else:
                self.events.append(record)
        return True

    def note(self, event: WorkerEvent) -> None:
        """Write down something that happened to a worker."""
        self._write(event.to_plain())

    def add(self, case: str, entry: JournalEntry) -> None:
        outcome = entry.outcome
        line: dict[str, Any] = {"case": case, "status": outcome.status, "ids": outcome.ids, "details": outcome.details.to_plain()}
        if outcome.scores is not None:
            line["scores"] = outcome.scores
        if outcome.lines is not None:
            line["lines"] = outcome.lines
        if entry.valid is None or not all(entry.valid):
            line["valid"] = entry.valid
        self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line at once: what was handed to the system survives the end of this process."""
        rest = memoryview(compact(line).encode() + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._descriptor)
                self._synced = time.monotonic()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}; fix this, then continue with --resume") from error

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(path: Path) -> int:
    """The file, locked; it must still be the one that lies there when the lock is ours."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _keep_out_of_git(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        while (descriptor := lock_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)) is None:
            pass  # another run has set the file aside just now: what is there next is locked
    except BlockingIOError as error:
        raise UsageError(f"another run is writing to {path}; wait for it, or name a different folder with --journal") from error
    except OSError as error:
        raise _unwritable(path, error) from error
    return descriptor


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}; name a different folder with --journal")


def _keep_out_of_git(folder: Path) -> None:
    ignore = folder / ".gitignore"
    if folder.name == OUR_FOLDER and not ignore.exists():
        ignore.write_text("*\n")


def _content(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size  # none for a device, which could be read for ever
    return os.pread(descriptor, size, 0)


def _header(path: Path, line: str) -> Mapping[str, Any]:
    data = parse_json(path, line, 1)
    if (
        not isinstance(data, dict)
        or data.get("record") != "journal"
        or not isinstance(data.get("identity"), dict)
        or not isinstance(data.get("salt"), str)
    ):
        raise FormatError(path, "line 1", "is not the header of a journal")
    return JOURNAL_SCHEMA.upgraded(path, data)


def _run_start(path: Path, header: Mapping[str, Any]) -> RunStart:
    try:
        return RunStart(_text(header["run_id"]), datetime.fromisoformat(header["started"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(path, "line 1", "is not the header of a journal") from error


def _refuse_difference(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    plain = json.loads(json.dumps(now))
    different = [key for key in {**then, **plain} if then.get(key) != plain.get(key)]
    if different:
        raise Incomparable(
            f"{path} cannot be resumed: different {', different '.join(different)}; rerun without --resume to start over"
        )


def _records(path: Path, lines: list[str]) -> Iterator[tuple[str, JournalEntry] | WorkerEvent]:
    """What follows the header: answers with their cases, and events."""
    for number, line in enumerate(lines[1:], 2):
        data = parse_json(path, line, number)
        try:
            yield WorkerEvent.from_plain(data) if "event" in data else (_text(data["case"]), _entry(data))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(path, f"line {number}", "is not an answer") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _entry(data: Mapping[str, Any]) -> JournalEntry:
    ids, scores, lines = tuple(map(_text, data["ids"])), data.get("scores"), data.get("lines")
    flags = data.get("valid", [True] * len(ids))
    valid = None if flags is None else tuple(map(bool, flags))
    if data["status"] not in STATUSES or (valid is not None and len(valid) != len(ids)):
        raise ValueError
    if scores is not None:
        scores = tuple(None if score is None else float(score) for score in scores)
        if len(scores) != len(ids):
            raise ValueError
    if lines is not None:
        lines = tuple(None if span is None else (int(span[0]), int(span[1])) for span in lines)
        if len(lines) != len(ids):
            raise ValueError
    return JournalEntry(Outcome(data["status"], ids, scores, lines, _details().validate_python(data["details"])), valid)


@cache
def _details() -> TypeAdapter[AnswerDetails]:
    from pydantic import TypeAdapter

    return TypeAdapter(AnswerDetails)


def journal_entries(path: Path) -> dict[str, JournalEntry]:
    """What a journal holds, whatever it was made for; nothing if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error
    lines = content[: content.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
    if not lines:
        return {}
    _header(path, lines[0])
    return dict(record for record in _records(path, lines) if isinstance(record, tuple))
