"""The lines of a journal, sealed: each ends with a digest over all that comes before it in the file.

A line that was changed, removed, repeated or moved does not fit what is before it. The digest has no key: it shows accidents
and clumsy hands, not somebody who writes a whole new journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.errors import FormatError
from searchmark.files.schemas import Schema
from searchmark.files.store import parse_json, plain_json
from searchmark.records import STATUSES, AnswerDetails, Environment, Provenance, is_line_range
from searchmark.running.events import WorkerEvent
from searchmark.running.session import Outcome

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")
JOURNAL_SCHEMA = Schema("journal", 2)
PIECE = 1 << 20
compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # what is written can be read again
DIGEST_BYTES = 8
_BEFORE, _AFTER = b',"seal":"', b'"}\n'
_SEAL = len(_BEFORE) + 2 * DIGEST_BYTES + len(_AFTER)
DAMAGED = (
    "is damaged (its checksum is wrong); delete it and all lines after it to keep the answers before it, "
    "or run without --resume to start over"
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What became of a case, and which of its hits exist; None where that is not known.

    ``host`` is where it was asked, ``row`` the place of the case in its suite.
    """

    outcome: Outcome
    valid: tuple[bool, ...] | None
    host: int = 0
    row: int | None = None

    def to_plain(self, case: str) -> dict[str, Any]:
        """As JSON has it, with the case that it is about."""
        outcome = self.outcome
        line: dict[str, Any] = {"case": case, "status": outcome.status, "ids": outcome.ids, "details": outcome.details.to_plain()}
        if outcome.scores is not None:
            line["scores"] = outcome.scores
        if outcome.lines is not None:
            line["lines"] = outcome.lines
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


Answered = tuple[str, JournalEntry]
Record = Answered | WorkerEvent | SeenHost | RunEnd


class Damaged(Exception):
    """A line does not fit the lines before it."""


class Sealer:
    """Seals one line after the other, and opens them again in the same order."""

    def __init__(self) -> None:
        self._whole = blake2b(digest_size=DIGEST_BYTES)

    def seal(self, line: Mapping[str, Any]) -> bytes:
        content = compact(line).encode()[:-1]
        return content + self._sealed(content)

    def open(self, raw: bytes) -> bytes:
        """The content of a sealed line."""
        content = raw[:-_SEAL]
        if raw[-_SEAL:] != self._sealed(content):
            raise Damaged
        return content + b"}"

    def _sealed(self, content: bytes) -> bytes:
        whole = self._whole
        whole.update(content)
        seal = b"%s%s%s" % (_BEFORE, whole.hexdigest().encode(), _AFTER)
        whole.update(seal)
        return seal

    def fits(self, descriptor: int) -> bool:
        """Whether a file holds exactly what was sealed here."""
        there = blake2b(digest_size=DIGEST_BYTES)
        position = 0
        while piece := os.pread(descriptor, PIECE, position):
            there.update(piece)
            position += len(piece)
        return there.digest() == self._whole.digest()


def whole_size(descriptor: int) -> int:
    """How much of a file is whole lines; what follows was cut short. A device has no size and is not read."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - PIECE)
        newline = os.pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def has_answers(descriptor: int) -> bool:
    """Whether anything whole follows the header."""
    newlines = position = 0
    size = whole_size(descriptor)
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
        self._opened(1, raw)
        return header

    def records(self) -> Iterator[Record]:
        """What follows the header: answers with their cases, and events."""
        for number, raw in enumerate(self._lines, 2):
            data = parse_json(self._path, self._opened(number, raw).decode("utf-8", "replace"), number)
            try:
                yield self._record(data)
            except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
                raise FormatError(self._path, f"line {number}", "is not an answer") from error

    def _opened(self, number: int, raw: bytes) -> bytes:
        try:
            return self.sealer.open(raw)
        except Damaged:
            raise FormatError(self._path, f"line {number}", DAMAGED) from None

    def _record(self, data: Mapping[str, Any]) -> Record:
        if "seen_host" in data:
            return SeenHost(whole(data["seen_host"]), adapter(Environment).validate_python(data["environment"]))
        if "run_end" in data:
            return RunEnd(adapter(Provenance).validate_python(data["run_end"]))
        return plain_record(data, self._ids)


def plain_record(data: Mapping[str, Any], known_ids: dict[str, str]) -> Answered | WorkerEvent:
    """An answer or an event from plain data; equal ids become one text. Anything else raises what checking the shape raises."""
    return WorkerEvent.from_plain(data) if "event" in data else (text(data["case"]), _entry(data, known_ids))


def _entry(data: Mapping[str, Any], known_ids: dict[str, str]) -> JournalEntry:
    ids = tuple(known_ids.setdefault(each, each) for each in map(text, data["ids"]))
    flags = data.get("valid", _all_exist(len(ids)))
    scores, lines = data.get("scores"), data.get("lines")
    columns = [column for column in (flags, scores, lines) if column is not None]
    if data["status"] not in STATUSES or any(len(column) != len(ids) for column in columns):
        raise ValueError
    outcome = Outcome(
        data["status"], ids, _numbers(scores), _ranges(lines), adapter(AnswerDetails).validate_python(data["details"])
    )
    valid = flags if flags is None or isinstance(flags, tuple) else tuple(map(bool, flags))
    row = data.get("row")
    return JournalEntry(outcome, valid, whole(data.get("host", 0)), None if row is None else whole(row))


@cache
def _all_exist(hits: int) -> tuple[bool, ...]:
    """What most answers say of their hits, kept once for all of them."""
    return (True,) * hits


def _whole_lines(descriptor: int) -> Iterator[bytes]:
    """Each line with its end, read through a buffer of its own."""
    rest = whole_size(descriptor)
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
    return JOURNAL_SCHEMA.upgraded(path, data)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _numbers(scores: Any) -> tuple[float | None, ...] | None:
    return None if scores is None else tuple(None if score is None else float(score) for score in scores)


def _ranges(lines: Any) -> tuple[tuple[int, int] | None, ...] | None:
    if lines is None:
        return None
    if not all(span is None or is_line_range(span) for span in lines):
        raise ValueError
    return tuple(None if span is None else (span[0], span[1]) for span in lines)


def whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


@cache
def adapter(kind: type[T]) -> TypeAdapter[T]:
    """What reads a kind of record from plain data."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def journal_entries(path: Path) -> dict[str, JournalEntry]:
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
