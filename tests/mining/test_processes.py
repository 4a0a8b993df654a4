"""Processes that mine: what becomes of them when the one that started them is gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from threading import Event

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


def tell(_: int, news: str) -> None:
    sys.stdout.write(f"{news}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    side_by_side(wait_for_ever, [0], 1, tell)
