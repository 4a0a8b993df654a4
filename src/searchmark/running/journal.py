"""The journal of a run: answers written as they come, each line sealed by a digest of all before it.

Reads it again to resume a run.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from searchmark.config.run import hide_from_git
from searchmark.errors import FormatError, Incomparable, UsageError
from searchmark.io.data import Schema, parse_json, plain_json
from searchmark.io.folders import lock_file, make_private_folder
from searchmark.records.answers import STATUSES, AnswerDetails
from searchmark.records.document import is_line_range
from searchmark.records.provenance import Environment, Provenance
from searchmark.running.session import SearchOutcome, WorkerEvent

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# The lines of a journal, sealed: each ends with a digest over all that comes before it in the file.
#
# A line that was changed, removed, repeated or moved does not fit what is before it. The digest has no key: it shows accidents
# and clumsy hands, not somebody who writes a whole new journal.

T = TypeVar("T")

JOURNAL_SCHEMA = Schema("journal", 2)

PIECE = 1 << 20

encode_compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # what is written can be read again

SEAL_BYTES = 8

_SEAL_START, _SEAL_END = b',"seal":"', b'"}\n'

_SEAL = len(_SEAL_START) + 2 * SEAL_BYTES + len(_SEAL_END)


DAMAGED_ADVICE = (
    "is damaged (its checksum is wrong); delete it and all lines after it to keep the answers before it, "
    "or run without --resume to start over"
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What became of a case."""

    outcome: SearchOutcome
    valid: tuple[bool, ...] | None  # which of its hits exist; None where that is not known
    host: int = 0  # the number of the machine where it was asked
    row: int | None = None  # of the case in its suite

    def to_plain(self, case: str) -> dict[str, Any]:
        """As JSON has it, with the case that it is about."""
        outcome = self.outcome
        line: dict[str, Any] = {"case": case, "status": outcome.status, "ids": outcome.ids, "details": outcome.details.to_plain()}
        if outcome.scores is not None:
            line["scores"] = outcome.scores
        if outcome.lines is not None:
            line["lines"] = outcome.lines
        if outcome.texts is not None:
            line["texts"] = outcome.texts
        if self.valid is None or not all(self.valid):
            line["valid"] = self.valid
        if self.host:
            line["host"] = self.host
        if self.row is not None:
            line["row"] = self.row
        return line


@dataclass(frozen=True, slots=True)
class SeenHost:
    """A machine that answers came from, and the number that they call it by."""

    number: int
    environment: Environment

    def to_plain(self) -> dict[str, Any]:
        return {"seen_host": self.number, "environment": plain_json(self.environment)}


@dataclass(frozen=True, slots=True)
class RunEnd:
    """That the run came to its end, and all that is known of it then."""

    provenance: Provenance

    def to_plain(self) -> dict[str, Any]:
        return {"run_end": plain_json(self.provenance)}


AnsweredCase = tuple[str, JournalEntry]

Record = AnsweredCase | WorkerEvent | SeenHost | RunEnd


class SealBroken(Exception):
    """A line does not fit the lines before it."""


class Sealer:
    """Seals one line after the other, and opens them again in the same order."""

    def __init__(self) -> None:
        self._whole = blake2b(digest_size=SEAL_BYTES)

    def seal(self, line: Mapping[str, Any]) -> bytes:
        content = encode_compact(line).encode()[:-1]
        return content + self._next_seal(content)

    def open(self, raw: bytes) -> bytes:
        """The content of a sealed line."""
        content = raw[:-_SEAL]
        if raw[-_SEAL:] != self._next_seal(content):
            raise SealBroken
        return content + b"}"

    def _next_seal(self, content: bytes) -> bytes:
        whole = self._whole
        whole.update(content)
        seal = b"%s%s%s" % (_SEAL_START, whole.hexdigest().encode(), _SEAL_END)
        whole.update(seal)
        return seal

    def fits(self, descriptor: int) -> bool:
        """Whether a file holds exactly what was sealed here."""
        there = blake2b(digest_size=SEAL_BYTES)
        position = 0
        while piece := os.pread(descriptor, PIECE, position):
            there.update(piece)
            position += len(piece)
        return there.digest() == self._whole.digest()


def size_of_whole_lines(descriptor: int) -> int:
    """How much of a file is whole lines; what follows was cut short. A device has no size and is not read."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - PIECE)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def has_lines_after_header(descriptor: int) -> bool:
    """Whether anything whole follows the header."""
    newlines = position = 0
    size = size_of_whole_lines(descriptor)
    while newlines < 2 and position < size:  # noqa: PLR2004  # the header's, and one more
        piece = os.pread(descriptor, PIECE, position)
        newlines += piece.count(b"\n")
        position += len(piece)
    return newlines > 1


class JournalReader:
    """A journal from its first line to its last whole one, a line at a time, whatever its size."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.sealer = Sealer()
        self._path = path
        self._lines = _whole_lines(descriptor)
        self._ids: dict[str, str] = {}  # answers share their ids, and most of them are equal to one before

    def header(self) -> Mapping[str, Any] | None:
        """What the first line says; None if there is none."""
        raw = next(self._lines, None)
        if raw is None:
            return None
        header = _header(self._path, raw)
        self._open(1, raw)
        return header

    def records(self) -> Iterator[Record]:
        """What follows the header: answers with their cases, and events."""
        for number, raw in enumerate(self._lines, 2):
            data = parse_json(self._path, self._open(number, raw).decode("utf-8", "replace"), number)
            try:
                yield self._record(data)
            except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise FormatError(self._path, f"line {number}", "is not an answer") from error

    def _open(self, number: int, raw: bytes) -> bytes:
        try:
            return self.sealer.open(raw)
        except SealBroken:
            raise FormatError(self._path, f"line {number}", DAMAGED_ADVICE) from None

    def _record(self, data: Mapping[str, Any]) -> Record:
        if "seen_host" in data:
            return SeenHost(check_count(data["seen_host"]), type_adapter(Environment).validate_python(data["environment"]))
        if "run_end" in data:
            return RunEnd(type_adapter(Provenance).validate_python(data["run_end"]))
        return parse_record(data, self._ids)


def parse_record(data: Mapping[str, Any], known_ids: dict[str, str]) -> AnsweredCase | WorkerEvent:
    """An answer or an event from plain data; equal ids become one text. Anything else raises what checking the shape raises."""
    return WorkerEvent.from_plain(data) if "event" in data else (check_text(data["case"]), _parse_entry(data, known_ids))


def _parse_entry(data: Mapping[str, Any], known_ids: dict[str, str]) -> JournalEntry:
    ids = tuple(known_ids.setdefault(each, each) for each in map(check_text, data["ids"]))
    flags = data.get("valid", _shared_all_exist(len(ids)))
    scores, lines, texts = (data.get(name) for name in ("scores", "lines", "texts"))
    columns = [column for column in (flags, scores, lines, texts) if column is not None]
    if data["status"] not in STATUSES or any(len(column) != len(ids) for column in columns):
        raise ValueError
    details = type_adapter(AnswerDetails).validate_python(data["details"])
    own_texts = None if texts is None else tuple(None if each is None else check_text(each) for each in texts)
    outcome = SearchOutcome(data["status"], ids, _parse_scores(scores), _ranges(lines), own_texts, details=details)
    valid = flags if flags is None or isinstance(flags, tuple) else tuple(map(bool, flags))
    row = data.get("row")
    return JournalEntry(outcome, valid, check_count(data.get("host", 0)), None if row is None else check_count(row))


@cache
def _shared_all_exist(hits: int) -> tuple[bool, ...]:
    """What most answers say of their hits, kept once for all of them."""
    return (True,) * hits


def _whole_lines(descriptor: int) -> Iterator[bytes]:
    """Each line with its end, read through a buffer of its own."""
    rest = size_of_whole_lines(descriptor)
    with os.fdopen(os.dup(descriptor), "rb", PIECE) as file:
        file.seek(0)
        for line in file:
            rest -= len(line)
            if rest < 0:
                return
            yield line


def _header(path: Path, raw: bytes) -> Mapping[str, Any]:
    data = parse_json(path, raw.decode("utf-8", "replace"), 1)
    if (
        not isinstance(data, dict)
        or data.get("record") != "journal"
        or not isinstance(data.get("identity"), dict)
        or not isinstance(data.get("salt"), str)
    ):
        raise FormatError(path, "line 1", "is not the header of a journal")
    return JOURNAL_SCHEMA.upgrade(path, data)


def check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _parse_scores(scores: Any) -> tuple[float | None, ...] | None:
    return None if scores is None else tuple(None if score is None else float(score) for score in scores)


def _ranges(lines: Any) -> tuple[tuple[int, int] | None, ...] | None:
    if lines is None:
        return None
    if not all(span is None or is_line_range(span) for span in lines):
        raise ValueError
    return tuple(None if span is None else (span[0], span[1]) for span in lines)


def check_count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


@cache
def type_adapter(kind: type[T]) -> TypeAdapter[T]:
    """What reads a kind of record from plain data."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def read_journal_entries(path: Path) -> dict[str, JournalEntry]:
    """What a journal holds, whatever it was made for; nothing if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {error.strerror}") from error
    try:
        reader = JournalReader(path, descriptor)
        return {} if reader.header() is None else dict(record for record in reader.records() if isinstance(record, tuple))
    finally:
        os.close(descriptor)


# The journal: every answer is written down while the next one is waited for, and never again changed.
#
# The first line says what was run: digests of the queries and the corpus, the agent and the options, and the run's id and
# start. Only the same can be resumed. A line that was cut short by a crash is the last one, and is cut off; nothing else may
# be damaged. What others write into the file while the run is going on is noticed when it ends.

SYNC_SECONDS = 1.0


@dataclass(frozen=True)
class RunStart:
    """Which run this is and when it began; a resumed run keeps both."""

    id: str
    started: datetime


def start_run() -> RunStart:
    """An id that nobody else has, and that sorts by time."""
    now = datetime.now(UTC)
    return RunStart(f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", now)


IdentityOfRun = Callable[[str], Mapping[str, Any]]  # from a salt to what must be the same

HeaderOfRun = Callable[[], Mapping[str, Any]]  # what else is known when it begins


class Journal:
    """An open journal, locked against other writers."""

    def __init__(
        self, path: Path, identity: IdentityOfRun, start: RunStart, beginning: HeaderOfRun = dict, *, resume: bool
    ) -> None:
        self.path = path
        self.start = start
        self.entries: dict[str, JournalEntry] = {}
        self.events: list[WorkerEvent] = []
        self.hosts: list[Environment] = []
        self._synced = time.monotonic()
        self._sealer = Sealer()
        self._whole = True  # whether the file ends where the last line that was sealed ends
        self._descriptor = _open_locked(path)
        _open_journals.add(self)
        try:
            if not resume or not self._resume(identity):
                self._begin(identity, beginning)
        except BaseException:
            os.close(self._descriptor)
            self._descriptor = -1
            raise

    def _begin(self, identity: IdentityOfRun, beginning: HeaderOfRun) -> None:
        if has_lines_after_header(self._descriptor):
            self._set_aside()
        if os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, 0)
        salt = secrets.token_hex(8)
        run = {"run_id": self.start.id, "started": self.start.started.isoformat()}
        self._write({**JOURNAL_SCHEMA.header(), **run, "salt": salt, "identity": identity(salt), **beginning()})

    def _set_aside(self) -> None:
        """Keep what was there: the run before this one is not lost by starting over."""
        self.path.replace(self.path.with_name(f"{self.path.name}.previous"))
        os.close(self._descriptor)
        self._descriptor = _open_locked(self.path)

    def _resume(self, identity: IdentityOfRun) -> bool:
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
        os.ftruncate(self._descriptor, size_of_whole_lines(self._descriptor))
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
        changed = self._is_changed()
        os.close(self._descriptor)
        self._descriptor = -1
        if not changed:
            return None
        with suppress(OSError):  # it may have been removed
            self.path.replace(aside_path(self.path))
        return f"the journal {self.path} was changed by another process during the run, and cannot be resumed"

    def _is_changed(self) -> bool:
        ours = os.fstat(self._descriptor)
        if not self._whole or not stat.S_ISREG(ours.st_mode):
            return False
        try:
            return not os.path.samestat(ours, self.path.stat()) or not self._sealer.fits(self._descriptor)
        except OSError:
            return True


def _close_in_child() -> None:
    """A child that was forked has the locks of its parent, and would keep them when that is killed."""
    for journal in list(_open_journals):
        if journal._descriptor >= 0:
            os.close(journal._descriptor)
            journal._descriptor = -1


_open_journals: WeakSet[Journal] = WeakSet()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def has_begun(path: Path) -> bool:
    """Whether there is a journal that could be resumed."""
    return path.exists() and path.stat().st_size > 0


def aside_path(path: Path) -> Path:
    """Where a journal is kept that others have changed: nothing of it is believed."""
    return path.with_name(f"{path.name}.changed")


def _open_locked(path: Path) -> int:
    """The file, locked; it must still be the one that lies there when the lock is ours."""
    try:
        make_private_folder(path.parent)
        hide_from_git(path.parent)
    except OSError as error:
        raise _unwritable_error(path, error) from error
    try:
        while (descriptor := lock_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)) is None:
            pass  # another run has set the file aside just now: what is there next is locked
    except BlockingIOError as error:
        raise UsageError(f"another run is writing to {path}; wait for it, or name a different folder with --journal") from error
    except OSError as error:
        raise _unwritable_error(path, error) from error
    return descriptor


def _unwritable_error(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}; name a different folder with --journal")


def _run_start(path: Path, header: Mapping[str, Any]) -> RunStart:
    try:
        return RunStart(check_text(header["run_id"]), datetime.fromisoformat(header["started"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(path, "line 1", "is not the header of a journal") from error


def _refuse_difference(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    plain = json.loads(json.dumps(now))
    different = [key for key in {**then, **plain} if then.get(key) != plain.get(key)]
    if different:
        raise Incomparable(
            f"{path} cannot be resumed: different {', different '.join(different)}; rerun without --resume to start over"
        )
