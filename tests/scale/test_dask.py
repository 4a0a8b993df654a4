"""Work on real Dask clusters, while their parts are ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import FormatError, UsageError
from searchmark.errors import PoolGone
from searchmark.executors.backends import open_executor
from searchmark.executors.pool import RetryingTasks, TaskDone, TaskLost, parse_executor
from tests.executors import work
from tests.executors.ending import program, until
from tests.scale.clusters import Cluster, free_port, running, started

pytestmark = pytest.mark.scale


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with a nanny each, which starts them again."""
    with started(tmp_path_factory.mktemp("dask")) as cluster:
        yield cluster


def pool_of(text: str) -> Any:
    return open_executor(parse_executor(text, foreign=True, network=True))


def held_by_scheduler(cluster: Cluster) -> list[str]:
    from distributed import Client

    with Client(cluster.executor.replace("dask", "tcp")) as client:
        tasks: list[str] = client.run_on_scheduler(lambda dask_scheduler: sorted(map(str, dask_scheduler.tasks)))
    return tasks


def test_tasks_are_done_by_the_workers_and_nothing_of_them_stays(cluster: Cluster) -> None:
    with pool_of(cluster.executor) as pool:
        until(lambda: pool.slots == 2)
        assert not pool.same_machine
        assert sorted(done.result for done in RetryingTasks(pool, work.double, range(200))) == list(range(0, 400, 2))
        assert len(set(pool.everywhere(work.process_id, None))) == 2
        until(lambda: held_by_scheduler(cluster) == [])


def test_what_one_worker_could_not_do_is_given_to_another(cluster: Cluster) -> None:
    with pool_of(cluster.executor) as pool:
        until(lambda: pool.slots == 2)
        assert len({pool.submit(work.process_id, None, in_vain).result() for in_vain in (1, 2)}) == 2


def test_errors_come_back_as_from_processes_of_ours(cluster: Cluster) -> None:
    with pool_of(cluster.executor) as pool:
        with pytest.raises(FormatError, match=r"suite.json, line 7: it is cut off"):
            pool.submit(work.raise_format_error, None).result()
        with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
            pool.submit(work.divide_by_zero, None).result()
        with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
            pool.everywhere(work.divide_by_zero, None)


def test_a_task_whose_worker_was_killed_is_done_by_another(cluster: Cluster, tmp_path: Path) -> None:
    with pool_of(cluster.executor) as pool:
        (done,) = RetryingTasks(pool, work.kill_the_first, [tmp_path])
    assert isinstance(done, TaskDone)


def test_a_task_that_kills_three_workers_is_given_up_and_all_others_are_done(cluster: Cluster) -> None:
    with pool_of(cluster.executor) as pool:
        done = list(RetryingTasks(pool, work.kill_if_odd, [0, 2, 4, 5, 6, 8, 10]))
    assert sorted(each.result for each in done if isinstance(each, TaskDone)) == [0, 2, 4, 6, 8, 10]
    (lost,) = (each for each in done if isinstance(each, TaskLost))
    assert lost.task == 5
    assert lost.losses >= 3
    assert lost.reason == "the Dask worker that did it was lost"


def test_a_worker_that_does_not_come_back_leaves_its_tasks_to_the_others(cluster: Cluster, tmp_path: Path) -> None:
    alone = ("--no-nanny", "--nthreads", "1")
    with started(tmp_path, workers=alone) as lone:
        another = ("worker", lone.executor.replace("dask", "tcp"), *alone, "--no-dashboard", "--local-directory", str(tmp_path))
        with running(*another), pool_of(lone.executor) as pool:
            until(lambda: pool.slots == 2)
            done = list(RetryingTasks(pool, work.kill_the_first, [tmp_path, tmp_path, tmp_path]))
            until(lambda: pool.slots == 1)
    assert len({each.result for each in done if isinstance(each, TaskDone)}) == 1
    assert len(done) == 3


def test_a_worker_with_many_threads_does_many_tasks(tmp_path: Path) -> None:
    with started(tmp_path, workers=("--nworkers", "1", "--nthreads", "4")) as wide, pool_of(wide.executor) as pool:
        until(lambda: pool.slots == 4)
        futures = [pool.submit(work.meet_three_others, tmp_path / name) for name in "abcd"]
        assert len({future.result() for future in futures}) == 1


@pytest.fixture
def nothing_of_ours(tmp_path: Path) -> Path:
    """A path on which Searchmark cannot be imported."""
    folder = tmp_path / "lacking"
    folder.mkdir()
    (folder / "searchmark.py").write_text("raise ModuleNotFoundError(\"No module named 'searchmark'\")")
    return folder


def test_a_worker_without_searchmark_ends_the_run_with_a_sentence(tmp_path: Path, nothing_of_ours: Path) -> None:
    lacking = r"cannot load its work \(ModuleNotFoundError: No module named 'searchmark'\); it needs the packages of this one"
    with started(tmp_path, path=nothing_of_ours) as bare, pool_of(bare.executor) as pool:
        until(lambda: pool.slots == 2)
        with pytest.raises(UsageError, match=lacking):
            pool.everywhere(work.double, 1)
        with pytest.raises(UsageError, match=lacking):
            list(RetryingTasks(pool, work.double, [1]))


def test_a_scheduler_needs_nothing_of_searchmark(tmp_path: Path, nothing_of_ours: Path) -> None:
    with started(tmp_path, scheduler_path=nothing_of_ours) as bare, pool_of(bare.executor) as pool:
        assert list(RetryingTasks(pool, work.double, [1])) == [TaskDone(1, 2)]
        (lost,) = RetryingTasks(pool, work.kill_if_odd, [1])
    assert isinstance(lost, TaskLost)


def test_a_scheduler_that_is_killed_ends_the_run_with_a_sentence_and_what_came_is_kept(tmp_path: Path) -> None:
    with started(tmp_path) as lost, program(lost.executor, tmp_path) as process:
        lost.scheduler.kill()
        out, err = process.communicate(timeout=60)
    *came, sentence = out.splitlines()
    assert sorted(came) == ["2", "4"]
    assert sentence == f"the scheduler of {lost.executor} is gone; what came is kept: run again with --resume"
    assert err == ""


def test_a_scheduler_that_is_killed_when_all_is_done_is_gone_and_nothing_worse(tmp_path: Path) -> None:
    with started(tmp_path) as lost, pool_of(lost.executor) as pool:
        until(lambda: pool.slots == 2)
        assert pool.submit(work.double, 1).result() == 2
        lost.scheduler.kill()
        lost.scheduler.wait()
        with pytest.raises(PoolGone, match=r"what came is kept: run again with --resume"):
            pool.everywhere(work.double, 1)
        pool._thread_count = (-1000.0, 2)
        assert pool.slots == 2


def test_tasks_that_others_have_cancelled_end_the_run_with_a_sentence(cluster: Cluster, tmp_path: Path) -> None:
    from distributed import Client

    with pool_of(cluster.executor) as pool:
        future = pool.submit(work.wait_to_be_stopped, tmp_path / "a")
        until((tmp_path / "a").exists)
        with Client(cluster.executor.replace("dask", "tcp")) as client:
            client.restart()
        with pytest.raises(PoolGone, match=r"what came is kept: run again with --resume"):
            future.result()


@pytest.mark.parametrize("local", [False, True])
def test_ctrl_c_stops_the_tasks_and_keeps_what_came(local: bool, cluster: Cluster, tmp_path: Path) -> None:
    """As a terminal does it: everybody in the group hears of it."""
    with program("dask:local:2" if local else cluster.executor, tmp_path) as process:
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (sorted(out.split()), err) == (["2", "4", "interrupted"], "")
    until(lambda: {"slow-2.ended", "slow-4.ended"} <= set(os.listdir(tmp_path)))


def test_a_program_that_is_killed_leaves_no_cluster_behind(tmp_path: Path) -> None:
    """All have the same standard output, which ends when the last of them does."""
    with program("dask:local:2", tmp_path) as process:
        process.kill()
        assert "interrupted" not in process.communicate(timeout=120)[0]


def test_a_cluster_of_ours_does_the_tasks_again_that_a_killed_worker_had(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pool_of("dask:local:2") as pool:
        assert (pool.slots, pool.same_machine) == (2, True)
        (done,) = RetryingTasks(pool, work.kill_the_first, [tmp_path])
        (lost,) = RetryingTasks(pool, work.kill_if_odd, [1])
    assert isinstance(done, TaskDone)
    assert isinstance(lost, TaskLost)
    assert lost.losses >= 3  # more if it was also given to one that had just ended
    assert capfd.readouterr() == ("", "")


def test_where_no_scheduler_is_one_sentence_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    with pytest.raises(UsageError) as caught, pool_of(f"dask://127.0.0.1:{port}"):
        pass
    assert str(caught.value).startswith(f"no Dask scheduler answers at 127.0.0.1:{port}; ")
    assert capfd.readouterr() == ("", "")
