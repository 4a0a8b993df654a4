"""Processes that mine: what becomes of them when the one that started them is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from searchmark.files.private_folders import private_folder
from searchmark.mining.processes import side_by_side


def wait_for_ever(_: int, on_news: Callable[[str], None]) -> None:
    on_news("at work")
    Event().wait()


def test_a_process_does_not_outlive_a_parent_that_is_killed() -> None:
    """Both have the same standard output, which ends when the last of them does."""
    command = [sys.executable, "-m", "tests.mining.test_processes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "at work\n"
        parent.kill()
        assert parent.communicate(timeout=60)[0] == ""


def tell_for_ever(_: int, on_news: Callable[[str], None]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that only the pipe can end it
    while True:
        on_news("at work")


def fail(_: int, on_news: Callable[[str], None]) -> None:
    on_news("at work")
    _ = 1 // 0


def test_a_process_that_talks_to_a_parent_that_is_killed_says_nothing_else() -> None:
    command = [sys.executable, "-m", "tests.mining.test_processes", "tell_for_ever"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "at work\n"
        parent.kill()
        assert parent.communicate(timeout=60)[1] == ""


def test_a_defect_in_a_process_is_said_by_its_parent_alone(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError: integer division or modulo by zero"):
        side_by_side(fail, [0], 1)
    assert capfd.readouterr().err == ""


def leave_a_folder_or_fail(number: int, on_news: Callable[[str], None]) -> None:
    """The first dies of the signal as one does that is in the middle of its clean-up; the second makes it be stopped."""
    if number == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with private_folder():
            on_news("has a folder")
            Event().wait()
    ended = Path(os.environ["TMPDIR"]) / "has a folder"
    while not ended.exists():
        pass
    _ = 1 // 0


def test_the_folder_of_a_process_that_is_stopped_in_its_clean_up_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        side_by_side(leave_a_folder_or_fail, [0, 1], 2, lambda _, news: (tmp_path / news).touch())
    assert list(tmp_path.glob("searchmark-*/*")) == []


def tell(_: int, news: str) -> None:
    sys.stdout.write(f"{news}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    side_by_side(tell_for_ever if "tell_for_ever" in sys.argv else wait_for_ever, [0], 1, tell)
