"""Which times of a worker are believed, by clocks and waits that only these tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, cycle, repeat
from pathlib import Path
from threading import Thread
from time import thread_time
from typing import Any

import pytest

from searchmark import load_agent
from searchmark.formats.corpora.locations import Commit, Folder, Location
from searchmark.running import clock_check
from searchmark.running.clock_check import ClockCheck, Load
from searchmark.running.worker.client import InProcessWorker

MS = 1_000_000
SEARCHES = 300
ONE = Load(10)


class Scripted(InProcessWorker):
    """A worker that took and waited as long as a test says."""

    def __init__(self) -> None:
        super().__init__(load_agent(lambda query, k: []))
        self.waited: int | None = 0

    def waited_ns(self) -> int | None:
        return self.waited


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    monkeypatch.setattr(clock_check, "own_wait_for_core", lambda: 0)
    monkeypatch.setattr(clock_check, "wait_for_core_of_other_threads", lambda: 0)
    return Scripted()


def doubted(worker: Scripted, hidden_ms: Iterator[float], load: Load = ONE, waits_ms: float = 0, **reply: Any) -> int:
    """How many of 300 searches are not believed, if each hides so much and the worker waits so long."""
    check = ClockCheck(load)
    check.begin(worker)
    believed = []
    for _ in range(SEARCHES):
        worker.took_ns = MS + round(next(hidden_ms) * MS)
        if worker.waited is not None:
            worker.waited += round(waits_ms * MS)
        believed.append(check.believes({"ns": MS, **reply}, worker, "query"))
    return believed.count(False)


@pytest.mark.parametrize(("hidden", "least"), [(4, 240), (6, 270), (20, 290), (40, 295), (200, 300)])
def test_what_is_hidden_in_every_search_is_seen_after_a_few(hidden: float, least: int, worker: Scripted) -> None:
    assert doubted(worker, repeat(hidden)) >= least


def test_what_is_hidden_in_every_fifth_search_is_seen_as_well(worker: Scripted) -> None:
    assert doubted(worker, cycle([0, 0, 0, 0, 40])) >= 50


@pytest.mark.parametrize("hidden", [[0.1], [2.4], [0.2] * 99 + [45], [0.5, 5, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]])
def test_what_is_usual_or_rare_is_believed(hidden: list[float], worker: Scripted) -> None:
    assert doubted(worker, cycle(hidden)) == 0


def test_waiting_for_a_core_explains_what_is_hidden(worker: Scripted) -> None:
    assert doubted(worker, repeat(12.0), waits_ms=10) == 0
    assert doubted(worker, repeat(30.0), waits_ms=10) > 250


def test_waiting_is_no_credit_for_later_searches(worker: Scripted) -> None:
    check = ClockCheck(Load(10))
    check.begin(worker)
    worker.took_ns, worker.waited = MS + 60 * MS, 100_000 * MS
    assert check.believes({"ns": MS}, worker, "query")
    worker.took_ns = MS + 20 * MS
    assert [check.believes({"ns": MS}, worker, "query") for _ in range(100)].count(False) > 90


@pytest.mark.parametrize(
    ("hidden", "load", "reply"),
    [(6.5, Load(1000), {}), (4.4, Load(10, workers=2), {}), (70, Load(1000), {"ids": ["x" * 3000] * 1000})],
)
def test_deep_and_long_answers_and_several_workers_take_longer(
    hidden: float, load: Load, reply: dict[str, Any], worker: Scripted
) -> None:
    assert doubted(worker, repeat(hidden), load, **reply) == 0
    assert doubted(worker, repeat(hidden)) > 200


def test_where_nobody_knows_who_has_waited_only_single_searches_can_be_doubted(worker: Scripted) -> None:
    worker.waited = None
    assert doubted(worker, repeat(40.0)) == 0
    assert doubted(worker, repeat(400.0)) == SEARCHES


def test_waits_of_every_stretch_between_two_changes_of_the_corpus_count(worker: Scripted) -> None:
    check, believed = ClockCheck(Load(10)), []
    worker.took_ns = MS + 12 * MS
    for _ in range(100):
        check.begin(worker)
        assert worker.waited is not None
        worker.waited += 20 * MS
        believed += [check.believes({"ns": MS}, worker, "query") for _ in range(2)]
    assert believed.count(False) == 0


@pytest.mark.parametrize(
    ("location", "around", "believed"),
    [
        (lambda path: Folder("shop", path), 900, True),
        (lambda path: Folder("shop", path), 2000, False),
        (lambda path: Commit("shop", path, "0" * 40), 2000, True),
    ],
)
def test_our_own_part_of_a_preparation_is_much_only_in_a_history(
    location: Callable[[Any], Location], around: int, believed: bool, worker: Scripted, tmp_path: Any
) -> None:
    check = ClockCheck(Load(10))
    check.begin(worker)
    worker.took_ns = (around + 1) * MS
    assert check.believes_preparation({"ns": MS, "around_ns": around * MS}, worker, location(tmp_path)) is believed


def busy(seconds: float) -> None:
    """Compute for so long, in a thread beside this one, as the one that looks ahead in a history does."""

    def compute() -> None:
        while thread_time() < seconds:
            pass

    thread = Thread(target=compute)
    thread.start()
    thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["search", "preparation"])
def test_what_other_threads_of_ours_compute_keeps_us_from_seeing_an_answer_that_has_come(kind: str, worker: Scripted) -> None:
    """Only one of them gets to run at a time, so that an answer may lie there unseen for as long as another one computes."""

    def believed(check: ClockCheck) -> bool:
        worker.took_ns = 301 * MS
        if kind == "search":
            return check.believes({"ns": MS}, worker, "query")
        return check.believes_preparation({"ns": MS, "around_ns": 0}, worker, Commit("shop", Path("shop"), "c" * 40))

    check = ClockCheck(ONE)
    check.begin(worker)
    busy(0.3)
    assert believed(check)
    assert not believed(check)  # it explains one wait, and no other


def test_so_does_what_others_that_share_a_process_wait_for_a_core(worker: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever of them holds the lock of the interpreter may wait for a core with it."""
    waited = chain([0], repeat(300 * MS))
    monkeypatch.setattr(clock_check, "wait_for_core_of_other_threads", lambda: next(waited))
    check = ClockCheck(Load(10, workers=2))
    check.begin(worker)
    worker.took_ns = 301 * MS
    assert check.believes({"ns": MS}, worker, "query")
    assert not check.believes({"ns": MS}, worker, "query")
