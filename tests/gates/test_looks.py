"""The file of looks: every build counts once, and a writer that was killed costs no look."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from searchmark import Answer, FormatError, Hit, Run, UsageError
from searchmark.gates import sequential
from searchmark.gates.sequential import (
    Build,
    RecordedLook,
    WatchedMeasure,
    answers_digest,
    far_above_sentence,
    looks_path,
    open_looks,
)
from searchmark.scoring.verdicts import PairedEvidence

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SUBJECT = WatchedMeasure("baseline-1", "nDCG@10")
EVIDENCE = PairedEvidence(cases=50, mean=0.05, low=0.02, high=0.08, p=0.001)


def build(number: int) -> Build:
    return Build(f"run-{number}", f"answers-{number}", START + timedelta(days=number))


def record(path: Path, one: Build, subject: WatchedMeasure = SUBJECT) -> RecordedLook:
    with open_looks(path) as looks:
        return looks.record(subject, one, EVIDENCE)


def recorded(path: Path) -> list[RecordedLook]:
    with open_looks(path) as looks:
        return looks.looks_at(SUBJECT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return looks_path(tmp_path / "searchmark-baseline.json")


def test_the_file_is_beside_the_baseline(path: Path) -> None:
    assert path.name == "searchmark-baseline.looks.jsonl"


def test_looks_are_counted_and_read_back(path: Path) -> None:
    written = [record(path, build(number)) for number in (1, 2, 3)]
    assert [look.number for look in written] == [1, 2, 3]
    assert recorded(path) == written
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "again",
    [Build("run-1", "answers-9", START), Build("run-9", "answers-1", START)],
    ids=["same run", "same answers"],
)
def test_the_same_build_is_the_same_look(path: Path, again: Build) -> None:
    first = record(path, build(1))
    record(path, build(2))
    assert record(path, again) == first
    assert len(recorded(path)) == 2


@pytest.mark.parametrize(
    "other",
    [
        WatchedMeasure("baseline-2", "nDCG@10"),
        WatchedMeasure("baseline-1", "RR"),
        WatchedMeasure("baseline-1", "nDCG@10", "category=crud"),
    ],
)
def test_a_different_baseline_measure_or_segment_starts_at_look_1(path: Path, other: WatchedMeasure) -> None:
    record(path, build(1))
    assert record(path, build(2), other).number == 1
    assert record(path, build(3)).number == 2


def test_merged_branches_with_two_looks_of_one_number_count_as_two(path: Path) -> None:
    record(path, build(1))
    path.write_text(path.read_text() + path.read_text().replace("-1", "-2").replace("baseline-2", "baseline-1"))
    assert record(path, build(3)).number == 3


def test_a_half_written_last_line_is_no_look_and_is_repaired(path: Path) -> None:
    record(path, build(1))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert [look.run for look in recorded(path)] == ["run-1"]
    assert record(path, build(2)).number == 2
    assert path.read_bytes().startswith(whole)
    assert [look.run for look in recorded(path)] == ["run-1", "run-2"]


def test_a_last_line_that_lacks_only_its_end_is_kept(path: Path) -> None:
    record(path, build(1))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert record(path, build(2)).number == 2
    assert [look.run for look in recorded(path)] == ["run-1", "run-2"]


def test_a_damaged_line_before_the_last_is_named(path: Path) -> None:
    record(path, build(1))
    path.write_text('{"number": 1}\n' + path.read_text())
    with pytest.raises(FormatError, match=r"line 1\.run.*is missing"):
        recorded(path)


def test_no_file_is_no_look(path: Path) -> None:
    assert recorded(path) == []


def test_a_file_that_another_process_holds_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "_LOCK_TIMEOUT", 0.0)
    with open_looks(path), pytest.raises(UsageError, match="another process is writing to"), open_looks(path):
        pass


def _record_several(path: Path, first: int) -> None:
    for number in range(first, first + 10):
        record(path, build(number))


@pytest.mark.slow
def test_processes_that_write_at_once_lose_no_look(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_record_several, args=(path, first)) for first in (100, 200)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [look.number for look in recorded(path)] == list(range(1, 21))


def run_of(*ids: str, score: float | None = None, name: str = "a") -> Run:
    hits = tuple(Hit(each, rank, score) for rank, each in enumerate(ids, 1))
    return Run.from_answers(name, [Answer("q1", "ok", hits), Answer("q2", "empty")])


def test_answers_are_told_apart_by_what_they_say_and_not_by_who_says_it() -> None:
    first = answers_digest(run_of("x", "y"))
    assert first == answers_digest(run_of("x", "y", name="b"))
    assert (
        len({first, answers_digest(run_of("y", "x")), answers_digest(run_of("x")), answers_digest(run_of("x", "y", score=1.0))})
        == 4
    )


def above(count: int, days_apart: int, low: float = 0.02) -> list[RecordedLook]:
    dates = [START + timedelta(days=days_apart * number) for number in range(count)]
    return [RecordedLook(n, f"run-{n}", f"a-{n}", date, "b", "nDCG@10", 50, low=low) for n, date in enumerate(dates, 1)]


def test_a_baseline_left_far_behind_for_long_is_said_with_what_to_run() -> None:
    assert far_above_sentence(above(10, 2), 0.01) == (
        "it has been more than 0.01 above the baseline in the last 10 looks, for 18 days; "
        "to hold later builds to it, run: searchmark baseline update run-10"
    )


@pytest.mark.parametrize(
    "looks",
    [
        [],
        above(9, 5),  # too few looks
        above(10, 1),  # nine days
        above(10, 2, low=0.01),  # not above what counts
        [*above(20, 2), *above(1, 1, low=-0.1)],  # the last one is not above
    ],
)
def test_a_short_or_broken_row_of_looks_says_nothing(looks: list[RecordedLook]) -> None:
    assert far_above_sentence(looks, 0.01) is None
