"""Progress off a terminal: a line every ten seconds on stderr, and nothing for what is done before."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from searchmark import RunLabel
from searchmark.cli import progress
from searchmark.cli.main import main
from searchmark.cli.output import remark
from searchmark.cli.progress import ProgressLine, duration, heartbeat
from searchmark.running.request import RunProgress

BM25, KEYWORD = RunLabel("bm25"), RunLabel("keyword")


class Clock:
    """Seconds that pass when they are told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_line_has_cases_rate_and_time_left(clock: Clock) -> None:
    line = ProgressLine([BM25, KEYWORD], clock)
    assert line.line() is None
    line.take(RunProgress(BM25, 0, 200, 0))
    line.take(RunProgress(KEYWORD, 0, 200, 0))
    clock.now += 10
    line.take(RunProgress(BM25, 25, 200, 0))
    line.take(RunProgress(KEYWORD, 15, 200, 2))
    assert line.line() == "10 s: bm25 25/200, keyword 15/200 (2 failed); 4 cases/s, about 90 s left"


def test_cases_of_runs_that_have_not_begun_are_left_too(clock: Clock) -> None:
    line = ProgressLine([BM25, KEYWORD], clock)
    line.take(RunProgress(BM25, 0, 100, 0))
    clock.now += 10
    line.take(RunProgress(BM25, 50, 100, 0))
    assert line.line() == "10 s: bm25 50/100; 5 cases/s, about 30 s left"


def test_what_an_agent_prepares_is_said_while_no_case_is_answered(clock: Clock) -> None:
    line = ProgressLine([BM25], clock)
    line.take(RunProgress(BM25, 0, 100, 0, "indexing"))
    clock.now += 20
    assert line.line() == "20 s: bm25 0/100 (indexing)"


def test_answers_that_a_resumed_run_began_with_say_nothing_about_its_speed(clock: Clock) -> None:
    line = ProgressLine([BM25], clock)
    line.take(RunProgress(BM25, 90, 100, 0))
    clock.now += 10
    line.take(RunProgress(BM25, 95, 100, 0))
    assert line.line() == "10 s: bm25 95/100; 0.5 cases/s, about 10 s left"


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (119, "119 s"), (150, "2 min"), (7199, "120 min"), (36_000, "10 h")])
def test_time_spans_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_a_line_comes_again_and_again_until_the_work_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    said, twice = [], threading.Event()

    def line() -> str:
        said.append(f"line {len(said)}")
        if len(said) > 1:
            twice.set()
        return said[-1]

    with heartbeat(line):
        assert twice.wait(60)
    assert capsys.readouterr().err.splitlines() == said
    assert [thread.name for thread in threading.enumerate() if thread.name == "progress"] == []


def command(folder: Path, *more: str) -> list[str]:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "a.md").write_text("one two")
    (folder / "suite.json").write_text(
        '{"schema_version": 1, "cases": [{"id": "q", "query": "one", "judgments": [{"target": "a.md"}]}]}'
    )
    named = ["--gold-set", str(folder / "suite.json"), "--corpus", str(folder / "docs"), "--journal", str(folder / "journal")]
    return ["evaluate", *named, "--agent", "bm25", "--num-runs", "1", "--no-archive", "-m", "RR", *more]


@pytest.mark.slow
def test_a_short_run_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path)) == 0
    assert capsys.readouterr().err == ""


@contextmanager
def after_ten_seconds(line: Callable[[], str | None]) -> Iterator[None]:
    """The heartbeat of work that takes a little longer than ten seconds, without the ten seconds."""
    yield
    remark(line() or "")


@pytest.mark.slow
def test_lines_go_to_stderr_and_spoil_no_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "heartbeat", after_ten_seconds)
    assert main(command(tmp_path, "-o", "-")) == 0
    printed = capsys.readouterr()
    assert "s: bm25 1/1" in printed.err
    assert json.loads(printed.out)["agents"]["bm25"]["measures"]["RR"]["mean"] == 1.0
    assert main(command(tmp_path, "-q")) == 0
    assert capsys.readouterr().err == ""
