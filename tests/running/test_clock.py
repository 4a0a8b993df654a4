"""The clock runs around the agent's own methods, and around hits that are searched for only when they are read. Time is told by a clock that only this test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark import Corpus, load_agent
from searchmark.formats.corpora.locations import Commit, Folder
from searchmark.formats.corpora.snapshots import HistoryWalk
from searchmark.git.worktree import Checkout
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
    monkeypatch.setattr("searchmark.running.worker.protocol.perf_counter_ns", clock)
    monkeypatch.setattr("searchmark.formats.corpora.corpus.perf_counter_ns", clock)
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
    loaded = server.answer({"op": "load", "memory_limit_mb": None, "foreign": True, "network": True})
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


SEARCH = 50_000_000  # nanoseconds that it takes to search


class LazyRows:
    """Like the query set of a database: it searches when it is iterated, and is not an iterator itself."""

    def __init__(self, clock: Clock, rows: list[Any]) -> None:
        self.clock, self.rows = clock, rows

    def __iter__(self) -> Iterator[Any]:
        self.clock.now += SEARCH
        return iter(self.rows)


class LazySequence(Sequence[Any]):
    """Searches for every entry that it is asked for."""

    def __init__(self, clock: Clock, rows: list[Any]) -> None:
        self.clock, self.rows = clock, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        self.clock.now += SEARCH if place == 0 else 0
        return self.rows[place]


class LazyList(list[Any]):
    """A list that is filled when it is iterated."""

    def __init__(self, clock: Clock, rows: list[Any]) -> None:
        self.clock, self.rows = clock, rows

    def __iter__(self) -> Iterator[Any]:
        self.clock.now += SEARCH
        return iter(self.rows)


class LazyResult:
    """Files that are there at once, and scores that are not."""

    def __init__(self, clock: Clock, rows: list[str]) -> None:
        self.files, self.scores = rows, LazyRows(clock, [1.0] * len(rows))


def generated(clock: Clock, rows: list[str]) -> Iterator[str]:
    clock.now += SEARCH
    yield from rows


def searched(retrieve: Callable[[str, int], Any], folder: Path, *operations: str) -> list[dict[str, Any]]:
    server = Server(load_agent(retrieve))
    server.answer({"op": "load", "memory_limit_mb": None, "foreign": True, "network": True})
    server.answer({"op": "prepare", "location": Folder("shop", folder).to_plain()})
    return [server.answer({"op": operation, "query": "q", "depth": 2}) for operation in operations]


@pytest.mark.parametrize("lazy", [generated, LazyRows, LazySequence, LazyList, LazyResult])
def test_hits_that_are_searched_for_when_they_are_read_cost_what_the_search_costs(lazy: Any, clock: Clock, tmp_path: Path) -> None:
    cold, warm = searched(lambda query, k: lazy(clock, ["a", "b", "c"]), tmp_path, "search", "again")
    assert (cold["ids"], cold["ns"], cold["dropped"]) == (["a", "b"], SEARCH, {"beyond_depth": 1})
    assert (warm["same"], warm["ns"]) == (True, SEARCH)


@pytest.mark.parametrize("lazy", [generated, LazyRows, LazySequence, LazyList])
def test_pairs_of_id_and_score_may_be_lazy_too(lazy: Any, clock: Clock, tmp_path: Path) -> None:
    (cold,) = searched(lambda query, k: lazy(clock, [("a", 2.0), ("b", 1.0)]), tmp_path, "search")
    assert (cold["ids"], cold["scores"], cold["ns"]) == (["a", "b"], [2.0, 1.0], SEARCH)


def test_a_search_that_fails_says_how_long_it_took(clock: Clock, tmp_path: Path) -> None:
    def late(query: str, k: int) -> list[str]:
        clock.now += SEARCH
        raise OSError("the index is sad")

    replies = searched(late, tmp_path, "search", "again")
    assert [(reply["failed"], reply["ns"]) for reply in replies] == [("OSError: the index is sad", SEARCH)] * 2


def test_a_request_that_fails_before_its_search_has_no_time(clock: Clock, tmp_path: Path) -> None:
    assert searched(lambda query, k: [], tmp_path, "nothing that is known") == [{"failed": "KeyError: 'nothing that is known'"}]
