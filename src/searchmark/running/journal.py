"""The journal: every answer is written down as soon as it is there, and never again changed.

The first line says what was run: digests of the queries and the corpus, the agent and the options. Whoever wants to go
on must want to run the same. A line that was cut short by a crash is the last one, and is cut off; nothing else may be
damaged.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError, Incomparable, UsageError
from searchmark.records import STATUSES
from searchmark.running.session import Outcome
from searchmark.store import SCHEMA_VERSION, check_version, parse_json

FOLDER = ".searchmark"
SYNC_SECONDS = 1.0


@dataclass(frozen=True)
class Entry:
    """One line: what became of a case, and which of its hits exist."""

    outcome: Outcome
    valid: tuple[bool, ...]


class Journal:
    """An open journal, locked against other writers."""

    def __init__(self, path: Path, identity: Mapping[str, Any], *, resume: bool) -> None:
        self.path = path
        self._synced = time.monotonic()
        self._descriptor = _opened(path)
        try:
            if not resume and os.fstat(self._descriptor).st_size:
                self._set_aside()
            self.entries = self._continued(identity) if resume else self._begun(identity)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _set_aside(self) -> None:
        """Keep what was there: the run before this one is not lost by starting anew."""
        self.path.replace(self.path.with_name(f"{self.path.name}.previous"))
        os.close(self._descriptor)
        self._descriptor = _opened(self.path)

    def _begun(self, identity: Mapping[str, Any]) -> dict[str, Entry]:
        self._write({"schema_version": SCHEMA_VERSION, "record": "journal", "identity": identity})
        return {}

    def _continued(self, identity: Mapping[str, Any]) -> dict[str, Entry]:
        content = _content(self._descriptor)
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            raise UsageError(f"there is nothing to go on with: {self.path} holds no run")
        os.ftruncate(self._descriptor, len(whole))
        lines = whole.decode("utf-8", "replace").splitlines()
        header = _header(self.path, lines[0])
        _refuse_difference(self.path, header["identity"], identity)
        return dict(_entries(self.path, lines))

    def add(self, case: str, entry: Entry) -> None:
        outcome = entry.outcome
        line: dict[str, Any] = {"case": case, "status": outcome.status, "ids": outcome.ids, "details": outcome.details}
        if outcome.scores is not None:
            line["scores"] = outcome.scores
        if not all(entry.valid):
            line["valid"] = entry.valid
        self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append a line at once: what was handed to the system survives the end of this process."""
        rest = memoryview(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._descriptor)
                self._synced = time.monotonic()
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}; --resume goes on when that is mended") from error

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _keep_out_of_git(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise UsageError(f"another run is writing to {path}; wait for it, or name another folder by --journal") from error
    return descriptor


def _keep_out_of_git(folder: Path) -> None:
    ignore = folder / ".gitignore"
    if folder.name == FOLDER and not ignore.exists():
        ignore.write_text("*\n")


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    pieces = []
    while piece := os.read(descriptor, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


def _header(path: Path, line: str) -> Mapping[str, Any]:
    data = parse_json(path, line, 1)
    if not isinstance(data, dict) or data.get("record") != "journal" or not isinstance(data.get("identity"), dict):
        raise FormatError(path, "line 1", "is not the header of a journal")
    check_version(path, data)
    return data


def _refuse_difference(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    plain = json.loads(json.dumps(now))
    different = [key for key in {**then, **plain} if then.get(key) != plain.get(key)]
    if different:
        raise Incomparable(
            f"{path} was begun with another {', another '.join(different)}: it cannot be gone on with; start anew without --resume"
        )


def _entries(path: Path, lines: list[str]) -> Iterator[tuple[str, Entry]]:
    for number, line in enumerate(lines[1:], 2):
        data = parse_json(path, line, number)
        try:
            yield data["case"], _entry(data)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(path, f"line {number}", "is not an answer") from error


def _entry(data: Mapping[str, Any]) -> Entry:
    ids, scores = tuple(data["ids"]), data.get("scores")
    if data["status"] not in STATUSES:
        raise ValueError(data["status"])
    outcome = Outcome(data["status"], ids, None if scores is None else tuple(scores), dict(data["details"]))
    return Entry(outcome, tuple(data.get("valid") or [True] * len(ids)))


def journal_entries(path: Path) -> dict[str, Entry]:
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
    return dict(_entries(path, lines))
