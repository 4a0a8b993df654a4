"""The clock of indexing runs around the agent's own methods. Time is told by a clock that only this test moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from searchmark import Corpus
from searchmark.corpora.locations import Commit, Folder
from searchmark.corpora.walk import HistoryWalk
from searchmark.history.checkout import Checkout
from searchmark.registry import load_agent
from searchmark.running.worker.server import Server
from tests.support.small_histories import FILE, write_history

OURS, THEIRS = 1_000_000_000, 7  # nanoseconds that our own work and the agent's method take


class Clock:
    """Nanoseconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def passing(self, work: Callable[..., Any], nanoseconds: int) -> Callable[..., Any]:
        def slow(*arguments: Any, **named: Any) -> Any:
            self.now += nanoseconds
            return work(*arguments, **named)

        return slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Our own walk through history, our checkout and our reading of a folder take a second each time."""
    clock = Clock()
    monkeypatch.setattr("searchmark.running.worker.server.perf_counter_ns", clock)
    monkeypatch.setattr("searchmark.corpora.corpus.perf_counter_ns", clock)
    monkeypatch.setattr(HistoryWalk, "move_to", clock.passing(HistoryWalk.move_to, OURS))
    monkeypatch.setattr(Checkout, "sync_to", clock.passing(Checkout.sync_to, OURS))
    return clock


class Counting:
    """An agent whose index takes seven nanoseconds, with or without a folder."""

    def __init__(self, clock: Clock, *, folder: bool) -> None:
        self.clock, self.folder = clock, folder

    def initialize(self, corpus: Corpus) -> None:
        assert not self.folder or corpus.folder is not None
        self.clock.now += THEIRS

    def retrieve(self, query: str, k: int) -> list[str]:
        return []


def indexing_ns(agent: Counting, *locations: Commit | Folder) -> list[int]:
    server = Server(load_agent(agent))
    loaded = server.answer({"op": "load", "memory_limit_mb": None, "foreign": True})
    assert "failed" not in loaded, loaded
    replies = [server.answer({"op": "prepare", "location": location.to_plain()}) for location in locations]
    server.answer({"op": "close"})
    return [reply["ns"] for reply in replies]


@pytest.mark.parametrize("folder", [False, True])
def test_neither_the_walk_through_history_nor_the_export_of_a_folder_is_charged_to_the_agent(
    folder: bool, clock: Clock, tmp_path: Path
) -> None:
    states = [{b"a.py": (FILE, b"one")}, {b"a.py": (FILE, b"two")}]
    commits = write_history(tmp_path / "shop", states)
    locations = [Commit("shop", tmp_path / "shop", commit) for commit in commits]
    assert indexing_ns(Counting(clock, folder=folder), *locations) == [THEIRS, THEIRS]
    assert clock.now >= 2 * OURS


def test_a_folder_that_is_there_already_costs_nothing(clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    assert indexing_ns(Counting(clock, folder=True), Folder("shop", tmp_path)) == [THEIRS]
