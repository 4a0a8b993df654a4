"""Executors of others, by module:attr."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError, UsageError
from searchmark.errors import PoolGone
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import ProcessLost, RetryingTasks, TaskDone, TaskLost, TaskPool, parse_executor
from tests.executors import work
from tests.executors.ending import program, until

HERE = "tests.executors.test_foreign"
PYTHONS = ["concurrent.futures:ThreadPoolExecutor", f"{HERE}:two_processes"]
NEITHER = 7


def two_processes() -> ProcessPoolExecutor:
    from multiprocessing import get_context

    return ProcessPoolExecutor(2, get_context("spawn"))


def no_executor() -> int:
    return 7


def cannot_be_made() -> Executor:
    raise OSError("no licence left")


class FailingExecutor(Executor):
    """Fails with whatever it is made for, as those of clusters do when a node is lost."""

    error: Exception = ValueError("node 7 was lost")

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


class LackingExecutor(FailingExecutor):
    error = ModuleNotFoundError("No module named 'searchmark'")


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as executor:
        monkeypatch.setattr(f"{HERE}.INSTANCE", executor, raising=False)
        yield executor


def pool_of(text: str) -> Any:
    return open_executor(parse_executor(text, foreign=True, network=True))


@pytest.mark.parametrize("text", PYTHONS)
def test_what_python_has_does_the_tasks(text: str) -> None:
    with pool_of(text) as pool:
        assert sorted(done.result for done in RetryingTasks(pool, work.double, range(9))) == list(range(0, 18, 2))
        assert pool.same_machine
        assert pool.everywhere(work.process_id, None) is None


@pytest.mark.parametrize("text", PYTHONS)
def test_errors_come_back_as_from_processes_of_ours(text: str) -> None:
    with pool_of(text) as pool:
        with pytest.raises(FormatError, match=r"suite.json, line 7: it is cut off"):
            pool.submit(work.raise_format_error, None).result()
        with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
            pool.submit(work.divide_by_zero, None).result()


def test_news_are_heard_in_processes_of_ours_alone() -> None:
    with pool_of("concurrent.futures:ThreadPoolExecutor") as pool:
        heard: list[str] = []
        assert pool.submit(work.tell_twice, 7, hear=heard.append).result() == 7
        assert heard == []


def test_an_instance_is_used_and_left_alone(instance: ThreadPoolExecutor) -> None:
    with pool_of(f"{HERE}:INSTANCE") as pool:
        assert pool.slots == 3
        assert pool.submit(work.double, 1).result() == 2
    assert instance.submit(work.double, 2).result() == 4


def test_an_instance_that_was_shut_down_is_gone(instance: ThreadPoolExecutor) -> None:
    instance.shutdown()
    with (
        pool_of(f"{HERE}:INSTANCE") as pool,
        pytest.raises(PoolGone, match=r"is gone .*what came is kept: run again with --resume"),
    ):
        pool.submit(work.double, 1)


@pytest.mark.slow
def test_a_broken_executor_is_made_anew_and_only_the_killers_are_given_up() -> None:
    with pool_of(f"{HERE}:two_processes") as pool:
        done = list(RetryingTasks(pool, work.kill_if_odd, range(4)))
    assert sorted(each.result for each in done if isinstance(each, TaskDone)) == [0, 2]
    assert sorted((each.task, each.losses) for each in done if isinstance(each, TaskLost)) == [(1, 3), (3, 3)]


def test_threads_learn_that_they_should_stop(tmp_path: Path) -> None:
    with pool_of("concurrent.futures:ThreadPoolExecutor") as pool:
        pool.submit(work.wait_to_be_stopped, tmp_path / "a")
        until((tmp_path / "a").exists)
    until((tmp_path / "a.ended").exists)


@pytest.mark.slow
@pytest.mark.parametrize("text", PYTHONS)
def test_ctrl_c_ends_it_and_keeps_what_came(text: str, tmp_path: Path) -> None:
    with program(text, tmp_path) as process:
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert sorted(out.split()) == ["2", "4", "interrupted"]


def test_any_other_error_of_an_executor_is_a_loss() -> None:
    with pool_of(f"{HERE}:FailingExecutor") as pool:
        assert isinstance(pool.submit(work.double, 1).exception(), ProcessLost)
        assert list(RetryingTasks(pool, work.double, [1])) == [TaskLost(1, 3, "ValueError: node 7 was lost")]


def test_processes_that_lack_what_they_need_end_everything() -> None:
    with pool_of(f"{HERE}:LackingExecutor") as pool, pytest.raises(UsageError, match=r"cannot load its work .*No module named"):
        list(RetryingTasks(pool, work.double, [1]))


def test_how_many_run_at_once_may_be_unknown() -> None:
    with pool_of(f"{HERE}:FailingExecutor") as pool:
        unknown: TaskPool = pool
        assert (unknown.slots, unknown.same_machine) == (None, False)


@pytest.mark.parametrize(
    ("attribute", "sentence"),
    [
        ("NEITHER", "is int, neither a concurrent.futures.Executor nor what returns one"),
        ("no_executor", "returns int, which is not a concurrent.futures.Executor"),
        ("cannot_be_made", "cannot be made: OSError: no licence left"),
        ("two_proceses", "cannot be loaded: AttributeError: .* has no attribute 'two_proceses'; did you mean two_processes?"),
    ],
)
def test_what_is_no_executor_is_refused_in_one_sentence(attribute: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence), pool_of(f"{HERE}:{attribute}"):
        pass


def test_an_executor_may_be_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_pools.py").write_text("from concurrent.futures import ThreadPoolExecutor as mine")
    with pool_of(f"{tmp_path}/own_pools.py:mine") as pool:
        assert pool.submit(work.double, 3).result() == 6
