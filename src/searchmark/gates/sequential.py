"""Counts the looks at builds for sequential rules, in a file beside the baseline."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.config.strict import Number, Whole, short_repr, strict_record
from searchmark.errors import FormatError, UsageError
from searchmark.gates.quantities import CaseSegment, rows_of
from searchmark.io.data import check_shape, parse_json, plain_json
from searchmark.io.folders import wait_for_lock
from searchmark.records.finding import GATE, Finding, FindingKind, finding, register
from searchmark.records.run import Run
from searchmark.scoring.planned_tests import Look, sequential_verdict
from searchmark.scoring.scores import Scores
from searchmark.scoring.verdicts import Difference, PairedEvidence, ReasonedVerdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# The looks at builds so far: a file beside the baseline, one JSON object per line.
#
# The level of a look depends on how many there were before, so that they must be counted. The same run, or another one with
# the same answers, is the same look, and gets the same number again. A different baseline starts at look 1.

# Long enough to rule out a lucky week, and often enough to rule out a single build.
LOOKS_ABOVE, DAYS_ABOVE = 10, 14

_LOCK_TIMEOUT = 30.0  # seconds


@dataclass(frozen=True)
class WatchedMeasure:
    """A measure over some cases, compared with one baseline."""

    baseline: str  # digest of all that its values rest on: its answers and the judgments
    measure: str
    where: str = ""  # the segment


@dataclass(frozen=True)
class Build:
    """A run, and a digest of its answers."""

    run: str
    answers: str
    date: datetime


@strict_record
class RecordedLook:
    """One line of the file."""

    number: Whole
    run: str
    answers: str  # digest
    date: datetime
    baseline: str  # digest
    measure: str
    cases: Whole
    where: str = ""
    difference: Number | None = None
    low: Number | None = None  # the interval at the level of the look
    high: Number | None = None
    p: Number | None = None

    @property
    def subject(self) -> WatchedMeasure:
        return WatchedMeasure(self.baseline, self.measure, self.where)


def looks_path(baseline: Path) -> Path:
    """Where the looks at builds against a baseline are: ``searchmark-baseline.looks.jsonl`` for ``searchmark-baseline.json``."""
    return baseline.with_name(f"{baseline.stem}.looks.jsonl")


def answers_digest(run: Run) -> str:
    """A digest of the answers of a run: cases, statuses, hits in their order, lines and scores; not how long they took."""
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
        self._looks = _parse_looks(path, content)
        # Bytes up to the last complete line, and whether that line has its line end.
        self._whole = len(content) if _has_whole_end(path, content) else content.rfind(b"\n") + 1
        self._closed = content[: self._whole].endswith(b"\n") or not self._whole

    def looks_at(self, subject: WatchedMeasure) -> list[RecordedLook]:
        return [look for look in self._looks if look.subject == subject]

    def number_of(self, subject: WatchedMeasure, build: Build) -> int:
        """The number of the look at a build: the one that it has, or the next one."""
        same = next((look.number for look in self.looks_at(subject) if _is_same_look(look, build)), None)
        return same or self.next_number(subject)

    def next_number(self, subject: WatchedMeasure) -> int:
        """The number of the first look at a new build."""
        earlier = self.looks_at(subject)
        # Branches that were merged may both have a look of one number: all of them count.
        return max(len(earlier), *(look.number for look in earlier), 0) + 1

    def record(self, subject: WatchedMeasure, build: Build, evidence: PairedEvidence) -> RecordedLook:
        """Write a look down, safely on disk; one that is there already stays as it is."""
        former_look = next((look for look in self.looks_at(subject) if _is_same_look(look, build)), None)
        if former_look is not None:
            return former_look
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
        """Append a line: a half-written one is removed first, and one that only lacks its line end gets it."""
        line = line if self._closed else b"\n" + line
        try:
            os.ftruncate(self._descriptor, self._whole)
            byte_count = os.pwrite(self._descriptor, line, self._whole)
            os.fsync(self._descriptor)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}") from error
        if byte_count < len(line):
            raise UsageError(f"{self._path} cannot be written: the disk is full")
        self._whole, self._closed = self._whole + len(line), True


def _is_same_look(look: RecordedLook, build: Build) -> bool:
    return look.run == build.run or look.answers == build.answers


@contextmanager
def open_looks(path: Path) -> Iterator[LookFile]:
    """The looks of a file, for one process at a time; the file is made if there is none."""
    descriptor = _open_locked(path)
    try:
        yield LookFile(path, descriptor)
    finally:
        os.close(descriptor)


def _open_locked(path: Path) -> int:
    """The file, locked; another process has it for as long as a verdict takes, and is waited for."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return wait_for_lock(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666, _LOCK_TIMEOUT)
    except BlockingIOError:
        raise UsageError(f"another process is writing to {path}; run this again once it has ended") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


def _content(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()


def _parse_looks(path: Path, content: bytes) -> list[RecordedLook]:
    *lines, last = content.split(b"\n")
    numbered_lines = enumerate([*lines, last] if last and _has_whole_end(path, content) else lines, 1)
    return [_look(path, number, line) for number, line in numbered_lines if line.strip()]


def _has_whole_end(path: Path, content: bytes) -> bool:
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


def far_above_sentence(looks: Sequence[RecordedLook], min_effect: float) -> str | None:
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


# Counting looks at builds for rules that are sequential, and saying when a baseline has been left behind.


@dataclass(frozen=True)
class LookCounter:
    """Where looks are counted; without a file every look is the first."""

    path: Path | None = None

    __repr__ = short_repr

    def look(
        self, before: Scores, after: Scores, segment: CaseSegment, measure: str, min_effect: float, family: int
    ) -> tuple[Look, ReasonedVerdict, tuple[Finding, ...]]:
        """One look at a build and its verdict, written down; and a finding if builds have been far above the baseline for long."""
        column, rows = after.names.index(measure), rows_of(after.matched.suite, segment)
        if self.path is None:
            return *sequential_verdict(before, after, column, 1, min_effect, rows, family), ()
        subject, build = _subject(before, measure, segment), _build(after.matched.run)
        with open_looks(self.path) as looks:
            number = looks.number_of(subject, build)
            look, judgement = sequential_verdict(before, after, column, number, min_effect, rows, family)
            looks.record(subject, build, look.evidence)
            return look, judgement, _left_behind_findings(looks, subject, min_effect)

    def next_number(self, before: Scores, measure: str, segment: CaseSegment) -> int:
        """Which look the next new build will be."""
        if self.path is None or not self.path.exists():
            return 1
        with open_looks(self.path) as looks:
            return looks.next_number(_subject(before, measure, segment))

    def note(
        self, before: Scores, after: Scores, segment: CaseSegment, comparison: Difference, min_effect: float
    ) -> tuple[Finding, ...]:
        """Write down a look of a rule that does not count them, for the finding alone."""
        if self.path is None:
            return ()
        subject = _subject(before, comparison.measure, segment)
        evidence = PairedEvidence(comparison.cases, comparison.difference, comparison.low, comparison.high, p=comparison.p)
        with open_looks(self.path) as looks:
            looks.record(subject, _build(after.matched.run), evidence)
            return _left_behind_findings(looks, subject, min_effect)


register(GATE, FindingKind(
    "baseline-left-behind", "warning", "Builds that have been far above their baseline for long.",
    "What was gained since could be lost again without a red build.",
    "Update the baseline.",
))  # fmt: skip


def _left_behind_findings(looks: LookFile, subject: WatchedMeasure, min_effect: float) -> tuple[Finding, ...]:
    sentence = far_above_sentence(looks.looks_at(subject), min_effect)
    return () if sentence is None else (finding("baseline-left-behind", sentence),)


def _subject(before: Scores, measure: str, segment: CaseSegment) -> WatchedMeasure:
    """Its values rest on the answers of the baseline and on today's judgments."""
    judgments = before.matched.suite.hashes["judgments"]
    return WatchedMeasure(
        f"{answers_digest(before.matched.run)} {judgments}", measure, "" if segment.by is None else f"{segment.by}={segment.value}"
    )


def _build(run: Run) -> Build:
    answers = answers_digest(run)
    return Build(run.provenance.id or answers, answers, run.provenance.ended or datetime.now(UTC))
