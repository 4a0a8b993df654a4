"""The coordinator: what is drawn when, what is done again, and what ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError
from searchmark.errors import PoolGone
from searchmark.executors.backends import ProcessPool
from searchmark.executors.pool import ProcessLost, RetryingTasks, TaskDone, TaskLacks, TaskLost
from tests.executors import work


class ImmediatePool:
    """Does every task at once, in this process, and remembers what was on its way at the same time."""

    name = "immediate"
    same_machine = True

    def __init__(self, slots: int | None = 2) -> None:
        self.slots = slots
        self.stopped = False
        self.submitted: list[Any] = []

    def submit(self, work: Callable[[Any], Any], task: Any, in_vain: int = 0, hear: Any = None) -> Future[Any]:
        future: Future[Any] = Future()
        self.submitted.append(task)
        try:
            future.set_result(work(task))
        except BaseException as error:  # noqa: BLE001  # as any executor does
            future.set_exception(error)
        return future

    def everywhere(self, work: Callable[[Any], Any], task: Any) -> None:
        return None

    def stop(self) -> None:
        self.stopped = True


class Fate:
    """Loses tasks as often as it is told, with as much knowledge as it is told."""

    def __init__(self, times: dict[str, int], losses: int = 1) -> None:
        self._times, self._losses = times, losses

    def __call__(self, task: str) -> str:
        if self._times.get(task, 0):
            self._times[task] -= 1
            raise ProcessLost(f"{task} went down", self._losses)
        return task.upper()


def test_every_task_is_done_once() -> None:
    done = list(RetryingTasks(ImmediatePool(), work.double, [3, 1, 2]))
    assert done == [TaskDone(3, 6), TaskDone(1, 2), TaskDone(2, 4)]


def test_no_tasks_are_no_work() -> None:
    assert list(RetryingTasks(ImmediatePool(), work.double, [])) == []


@pytest.mark.parametrize(("slots", "drawn"), [(3, 6), (0, 2), (None, 64)])
def test_tasks_are_drawn_when_there_is_room_for_them(slots: int | None, drawn: int) -> None:
    pool = ImmediatePool(slots)
    outcomes = iter(RetryingTasks(pool, work.double, count()))
    assert next(outcomes) == TaskDone(0, 0)
    assert len(pool.submitted) == drawn
    assert len(list(islice(outcomes, 100))) == 100
    assert len(pool.submitted) == drawn + 100


def test_tasks_may_be_added_until_the_last_one_is_done_and_come_first() -> None:
    completion: RetryingTasks[int, int] = RetryingTasks(ImmediatePool(1), work.double, [1, 2, 3, 4])
    order = []
    for outcome in completion:
        order.append(outcome.task)
        if outcome.task in {1, 4}:
            completion.add(10 * outcome.task)
    assert order == [1, 2, 10, 3, 4, 40]


def test_a_lost_task_is_done_again_before_anything_new() -> None:
    pool = ImmediatePool(1)
    done = list(RetryingTasks(pool, Fate({"a": 2}), "abcd"))
    assert done == [TaskDone("b", "B"), TaskDone("c", "C"), TaskDone("a", "A"), TaskDone("d", "D")]
    assert pool.submitted == ["a", "b", "a", "c", "a", "d"]


def test_a_task_that_is_lost_three_times_is_given_up() -> None:
    done = list(RetryingTasks(ImmediatePool(), Fate({"a": 9}), "ab"))
    assert done == [TaskDone("b", "B"), TaskLost("a", 3, "a went down")]


def test_several_losses_may_be_known_at_once() -> None:
    pool = ImmediatePool()
    assert list(RetryingTasks(pool, Fate({"a": 9}, losses=2), "a")) == [TaskLost("a", 4, "a went down")]
    assert pool.submitted == ["a", "a"]


class BreakingPool(ImmediatePool):
    """Holds tasks back until two are there or one is alone; "x" then takes all of them down, and nobody knows which it was."""

    def __init__(self) -> None:
        super().__init__()
        self.together: list[str] = []
        self._held: dict[str, Future[Any]] = {}

    def submit(self, work: Callable[[Any], Any], task: Any, in_vain: int = 0, hear: Any = None) -> Future[Any]:
        self._held[task] = future = Future[Any]()
        if len(self._held) == 2 or self.together:
            held, self._held = self._held, {}
            self.together.append("".join(held))
            for name, each in held.items():
                _settle(each, name, lost="x" in held)
        return future


def _settle(future: Future[Any], name: str, lost: bool) -> None:
    if lost:
        future.set_exception(ProcessLost("all went down", shared=True))
    else:
        future.set_result(name.upper())


def test_where_the_cause_is_not_known_each_suspect_is_done_by_itself() -> None:
    pool = BreakingPool()
    done = list(RetryingTasks(pool, work.double, "ax"))
    assert done == [TaskDone("a", "A"), TaskLost("x", 3, "all went down")]
    assert pool.together == ["ax", "a", "x", "x", "x"]


def test_an_error_that_work_raises_ends_everything() -> None:
    pool = ImmediatePool()
    with pytest.raises(FormatError, match="it is cut off"):
        list(RetryingTasks(pool, work.raise_format_error, [1, 2]))
    assert pool.stopped


def test_a_pool_that_is_gone_ends_everything() -> None:
    def gone(_: int) -> None:
        raise PoolGone("it is gone; run again with --resume")

    pool = ImmediatePool()
    with pytest.raises(PoolGone, match="run again with --resume"):
        list(RetryingTasks(pool, gone, [1]))
    assert pool.stopped


def test_ctrl_c_stops_the_pool() -> None:
    def tasks() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    pool = ImmediatePool()
    with pytest.raises(KeyboardInterrupt):
        list(RetryingTasks(pool, work.double, tasks()))
    assert pool.stopped


def test_a_consumer_that_leaves_stops_the_pool() -> None:
    pool = ImmediatePool()
    outcomes = iter(RetryingTasks(pool, work.double, count()))
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]  # it is a generator
    assert pool.stopped


@pytest.mark.slow
def test_in_real_processes_a_killer_is_given_up_and_all_others_are_done(tmp_path: Path) -> None:
    pool = ProcessPool(2)
    done = list(RetryingTasks(pool, work.kill_if_odd, range(7)))
    pool.stop()
    assert sorted(each.result for each in done if isinstance(each, TaskDone)) == [0, 2, 4, 6]
    assert sorted((each.task, each.losses) for each in done if isinstance(each, TaskLost)) == [(1, 3), (3, 3), (5, 3)]


def test_in_real_processes_a_task_whose_process_was_killed_is_done_by_another(tmp_path: Path) -> None:
    pool = ProcessPool(1)
    (done,) = RetryingTasks(pool, work.kill_the_first, [tmp_path])
    pool.stop()
    assert isinstance(done, TaskDone)


class Hungry:
    """Does nothing for nothing."""

    def __call__(self, task: str, *food: str) -> str:
        if not food:
            raise TaskLacks((task,))
        return task + "".join(food)


def test_what_a_task_lacks_is_brought_along_when_it_is_done_again() -> None:
    pool, hungry = ImmediatePool(), Hungry()
    tasks: RetryingTasks[str, str] = RetryingTasks(
        pool, hungry, "ab", bring=lambda task, missing, work: lambda task: work(task, *missing)
    )
    assert list(tasks) == [TaskDone("a", "aa"), TaskDone("b", "bb")]
    assert pool.submitted == ["a", "b", "a", "b"]


def test_where_nothing_can_be_brought_what_is_lacking_is_an_error() -> None:
    with pytest.raises(TaskLacks):
        list(RetryingTasks(ImmediatePool(), Hungry(), "a"))
