"""Which builds were looked at already: a file of looks beside the baseline, one JSON object per line.

The level of a look depends on how many there were before, so that they must be counted. The same run, or another one with the
same answers, is the same look, and gets the same number again. A different baseline starts at look 1.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.analysis.verdicts import PairedEvidence
from searchmark.errors import FormatError, UsageError
from searchmark.files.locks import wait_for_lock
from searchmark.files.store import check_shape, parse_json, plain_json
from searchmark.options.strict import strict_record
from searchmark.records import Run

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# Long enough that it is no lucky week, and often enough that it is no single build.
LOOKS_ABOVE, DAYS_ABOVE = 10, 14
_PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class WatchedMeasure:
    """What is looked at: a measure over some cases, against one baseline.

    ``baseline`` is a digest of all that its values rest on: its answers and the judgments.
    """

    baseline: str
    measure: str
    where: str = ""


@dataclass(frozen=True)
class Build:
    """Who is looked at: a run, and a digest of its answers."""

    run: str
    answers: str
    date: datetime


@strict_record
class RecordedLook:
    """One line of the file. ``low`` and ``high`` are the interval at the level of the look."""

    number: int
    run: str
    answers: str
    date: datetime
    baseline: str
    measure: str
    cases: int
    where: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def subject(self) -> WatchedMeasure:
        return WatchedMeasure(self.baseline, self.measure, self.where)


def looks_path(baseline: Path) -> Path:
    """Where the looks at builds against a baseline are: ``searchmark-baseline.looks.jsonl`` for ``searchmark-baseline.json``."""
    return baseline.with_name(f"{baseline.stem}.looks.jsonl")


def answers_digest(run: Run) -> str:
    """What tells the answers of runs apart: cases, statuses, hits in their order, lines and scores; not how long they took."""
    digest = hashlib.sha256()
    for row in sorted(range(len(run)), key=run.case_ids.__getitem__):
        answer = run.answer(row)
        hits = [(hit.id, hit.rank, hit.score, hit.lines) for hit in answer.hits]
        digest.update(json.dumps([answer.case, answer.status, hits]).encode() + b"\n")
    return digest.hexdigest()


class LookFile:
    """The looks of one file, which is locked as long as it is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        content = _content(descriptor)
        self._looks = _parsed(path, content)
        self._whole = len(content) if _ends_whole(path, content) else content.rfind(b"\n") + 1
        self._closed = content[: self._whole].endswith(b"\n") or not self._whole

    def looks_at(self, subject: WatchedMeasure) -> list[RecordedLook]:
        return [look for look in self._looks if look.subject == subject]

    def number_of(self, subject: WatchedMeasure, build: Build) -> int:
        """The number of the look at a build: the one that it has, or the next one."""
        same = next((look.number for look in self.looks_at(subject) if _same(look, build)), None)
        return same or self.next_number(subject)

    def next_number(self, subject: WatchedMeasure) -> int:
        """The number of the look at a build that was not looked at yet."""
        earlier = self.looks_at(subject)
        # Branches that were merged may both have a look of one number: all of them count.
        return max(len(earlier), *(look.number for look in earlier), 0) + 1

    def record(self, subject: WatchedMeasure, build: Build, evidence: PairedEvidence) -> RecordedLook:
        """Write a look down, safely on disk; one that is there already stays as it is."""
        known = next((look for look in self.looks_at(subject) if _same(look, build)), None)
        if known is not None:
            return known
        look = RecordedLook(
            number=self.number_of(subject, build),
            run=build.run,
            answers=build.answers,
            date=build.date,
            baseline=subject.baseline,
            measure=subject.measure,
            cases=evidence.cases,
            where=subject.where,
            difference=evidence.mean,
            low=evidence.low,
            high=evidence.high,
            p=evidence.p,
        )
        self._append(json.dumps(plain_json(look)).encode() + b"\n")
        self._looks.append(look)
        return look

    def _append(self, line: bytes) -> None:
        """What was half written goes first; a last line that only lacks its end is ended."""
        line = line if self._closed else b"\n" + line
        try:
            os.ftruncate(self._descriptor, self._whole)
            written = os.pwrite(self._descriptor, line, self._whole)
            os.fsync(self._descriptor)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error
        if written < len(line):
            raise UsageError(f"{self._path} cannot be written: the disk is full")
        self._whole, self._closed = self._whole + len(line), True


def _same(look: RecordedLook, build: Build) -> bool:
    return look.run == build.run or look.answers == build.answers


@contextmanager
def open_looks(path: Path) -> Iterator[LookFile]:
    """The looks of a file, for one process at a time; the file is made if there is none."""
    descriptor = _locked(path)
    try:
        yield LookFile(path, descriptor)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """The file, locked; another process has it for as long as a verdict takes, and is waited for."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return wait_for_lock(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666, _PATIENCE)
    except BlockingIOError:
        raise UsageError(f"another process is writing to {path}; run this again once it has ended") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()


def _parsed(path: Path, content: bytes) -> list[RecordedLook]:
    *lines, last = content.split(b"\n")
    numbered = enumerate([*lines, last] if last and _ends_whole(path, content) else lines, 1)
    return [_look(path, number, line) for number, line in numbered if line.strip()]


def _ends_whole(path: Path, content: bytes) -> bool:
    """Whether the last line is one: an editor may have left out its end, and a writer that was killed half of it."""
    last = content[content.rfind(b"\n") + 1 :]
    if not last:
        return True
    try:
        _look(path, 0, last)
    except FormatError:
        return False
    return True


def _look(path: Path, number: int, line: bytes) -> RecordedLook:
    data = parse_json(path, line.decode("utf-8", "replace"), number)
    return check_shape(path, _adapter(), data, f"line {number}")


@cache
def _adapter() -> TypeAdapter[RecordedLook]:
    from pydantic import TypeAdapter

    return TypeAdapter(RecordedLook)


def far_above(looks: Sequence[RecordedLook], min_effect: float) -> str | None:
    """A sentence if builds have been far above their baseline for long: what was gained could be lost again without a red build.

    ``looks`` are those at one subject, oldest first. Long is ten looks in a row over fourteen days, the last one included, all
    with an interval above ``min_effect``.
    """
    row: list[RecordedLook] = []
    for look in reversed(looks):
        if look.low is None or look.low <= min_effect:
            break
        row.append(look)
    days = (row[0].date.date() - row[-1].date.date()).days if row else 0
    if len(row) < LOOKS_ABOVE or days < DAYS_ABOVE:
        return None
    return (
        f"it has been more than {min_effect:g} above the baseline in the last {len(row)} looks, for {days} days; "
        f"to hold later builds to it, run: searchmark baseline update {row[0].run}"
    )
