"""Processes of our own: what they do, and how they end."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest

from searchmark import FormatError, UsageError
from searchmark.errors import PoolGone
from searchmark.executors.backends import ProcessPool
from searchmark.executors.packing import installed_version, perform, unpack_outcome
from searchmark.executors.pool import ProcessLost, RetryingTasks
from tests.executors import work
from tests.executors.ending import program, until


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    pool = ProcessPool(2)
    yield pool
    pool.stop()


def test_tasks_are_done_in_processes_that_stay(pool: ProcessPool) -> None:
    futures = [pool.submit(work.process_id, None) for _ in range(8)]
    ids = {future.result() for future in futures}
    assert len(ids) <= 2
    assert os.getpid() not in ids


def test_something_can_be_done_once_in_every_process(pool: ProcessPool) -> None:
    first, second = pool.everywhere(work.process_id, None), pool.everywhere(work.process_id, None)
    assert len(set(first)) == 2
    assert set(first) == set(second)


def test_no_process_is_forgotten_while_there_is_less_to_do_than_they_could() -> None:
    pool = ProcessPool(3)
    ready = set(pool.everywhere(work.process_id, None))
    assert {pool.submit(work.process_id, None).result() for _ in range(30)} == ready
    pool.stop()


def test_a_process_that_is_killed_costs_its_task_alone(pool: ProcessPool) -> None:
    futures = [pool.submit(work.kill_if_odd, number) for number in range(4)]
    errors = [future.exception() for future in futures]
    assert [type(error) for error in errors] == [type(None), ProcessLost, type(None), ProcessLost]
    assert str(errors[1]) == "the process that did it was ended by SIGKILL; there may be too little memory"
    assert pool.submit(work.double, 21).result() == 42


def test_a_process_that_is_killed_between_two_tasks_costs_nothing() -> None:
    pool = ProcessPool(1)
    first = pool.submit(work.process_id, None).result()
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # it has ended, and is left to be reaped
    assert pool.submit(work.process_id, None).result() != first
    pool.stop()


def test_an_error_of_ours_comes_back_as_it_was(pool: ProcessPool) -> None:
    with pytest.raises(FormatError) as caught:
        pool.submit(work.raise_format_error, None).result()
    assert str(caught.value) == "suite.json, line 7: it is cut off"
    assert (caught.value.path, caught.value.place, caught.value.reason) == ("suite.json", "line 7", "it is cut off")


def test_an_error_of_the_system_comes_back_as_a_sentence(pool: ProcessPool, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere: No such file or directory"):
        pool.submit(os.listdir, tmp_path / "nowhere").result()


def test_a_defect_comes_back_as_its_text_and_nothing_is_printed(pool: ProcessPool, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        pool.submit(work.divide_by_zero, None).result()
    with pytest.raises(RuntimeError, match="lambda"):
        pool.submit(work.return_a_lambda, None).result()
    pool.stop()
    assert capfd.readouterr() == ("", "")


def test_a_task_that_cannot_be_sent_is_refused_at_once(pool: ProcessPool) -> None:
    with pytest.raises(TypeError, match="it stays here"):
        pool.submit(work.double, work.Unpicklable())  # type: ignore[arg-type]  # it gets nowhere


def test_work_that_a_process_cannot_load_is_a_sentence(pool: ProcessPool) -> None:
    with pytest.raises(
        UsageError, match=r"cannot load its work \(AttributeError: it is not here\); it needs the packages of this one"
    ):
        pool.submit(work.double, work.Unloadable()).result()  # type: ignore[arg-type]  # it gets nowhere


def test_work_for_another_version_is_refused_before_it_is_read() -> None:
    package = pickle.dumps((replace(installed_version(), version="0.0.1"), b"what no pickle begins with"))
    with pytest.raises(
        UsageError, match=rf"has Searchmark {installed_version().version}, not 0.0.1; install the same one everywhere"
    ):
        unpack_outcome(perform(package))


def test_news_come_before_the_result(pool: ProcessPool) -> None:
    heard: list[str] = []
    assert pool.submit(work.tell_twice, 7, hear=heard.append).result() == 7
    assert heard == ["7 begins", "7 ends"]


def test_news_are_heard_in_the_thread_that_waits_for_results(pool: ProcessPool) -> None:
    heard: list[tuple[int, str, int]] = []
    tasks: RetryingTasks[int, int] = RetryingTasks(
        pool, work.tell_twice, [1, 2, 3], on_news=lambda task, news: heard.append((task, news, get_ident()))
    )
    assert sorted(done.task for done in tasks) == [1, 2, 3]
    assert sorted(heard) == [(task, f"{task} {what}", get_ident()) for task in (1, 2, 3) for what in ("begins", "ends")]


def test_the_folder_of_a_process_that_is_stopped_in_its_clean_up_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    pool = ProcessPool(1)
    pool.submit(work.leave_a_folder, tmp_path / "at work")
    until((tmp_path / "at work").exists)
    assert len(list(tmp_path.glob("searchmark-*/*"))) == 2
    pool.stop()
    assert list(tmp_path.glob("searchmark-*/*")) == []


def test_stopping_ends_what_runs_in_an_orderly_way_and_cancels_what_waits(pool: ProcessPool, tmp_path: Path) -> None:
    running = [pool.submit(work.wait_for_ever, tmp_path / name) for name in "ab"]
    waiting = pool.submit(work.wait_for_ever, tmp_path / "c")
    until(lambda: (tmp_path / "a").exists() and (tmp_path / "b").exists())
    pool.stop()
    assert {file.name for file in tmp_path.iterdir()} == {"a", "b", "a.ended", "b.ended"}
    assert waiting.cancelled()
    assert all(isinstance(future.exception(), ProcessLost) for future in running)
    with pytest.raises(PoolGone, match="process:2 has been stopped"):
        pool.submit(work.double, 1)


def test_ctrl_c_ends_the_processes_and_keeps_what_came(tmp_path: Path) -> None:
    """As a terminal does it: everybody in the group hears of it."""
    with program("process:2", tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (sorted(out.split()), err) == (["2", "4", "interrupted"], "")


def test_processes_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    """All have the same standard output, which ends when the last of them does."""
    with program("process:2", tmp_path) as process:
        process.kill()
        out, err = process.communicate(timeout=60)
    assert ("interrupted" in out, err) == (False, "")
