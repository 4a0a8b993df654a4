"""Runs on real Dask clusters of this machine, and on executors of others, are those of one process, but for times and hosts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.executors.ending import until
from tests.scale.clusters import Cluster, known_workers, started
from tests.support.scaled_runs import FOREIGN, Work, comparable

pytestmark = pytest.mark.scale

SOME = ("--sample", "60")
POOLS = """
from concurrent.futures import ProcessPoolExecutor

def two_processes():
    return ProcessPoolExecutor(2)
"""


def test_a_run_on_a_cluster_is_that_of_one_process(
    work: Work, alone: dict[str, str], three_workers: Cluster, tmp_path: Path
) -> None:
    ran = work.run(work.comparison(tmp_path, "--executor", three_workers.executor))
    assert ran.returncode == 0, ran.stderr
    assert comparable(tmp_path) == alone


def test_so_is_one_on_workers_with_several_threads(work: Work, alone: dict[str, str], tmp_path: Path) -> None:
    with started(tmp_path, workers=("--nworkers", "3", "--nthreads", "2")) as cluster:
        until(lambda: known_workers(cluster) == 3)
        ran = work.run(work.comparison(tmp_path, "--executor", cluster.executor))
    assert ran.returncode == 0, ran.stderr
    assert comparable(tmp_path) == alone


@pytest.fixture(scope="module")
def some_alone(work: Work) -> dict[str, str]:
    """Some of the cases, by one process."""
    ran = work.run(work.comparison(work.folder / "some", *SOME, agents=("bm25", FOREIGN)))
    assert ran.returncode == 0, ran.stderr
    return comparable(work.folder / "some")


@pytest.mark.parametrize(
    "executor",
    ["dask:local:2", "concurrent.futures:ThreadPoolExecutor", "concurrent.futures:ProcessPoolExecutor", "pools.py:two_processes"],
)
def test_so_is_one_on_an_executor_that_is_started_for_it(
    executor: str, work: Work, some_alone: dict[str, str], tmp_path: Path
) -> None:
    (work.folder / "pools.py").write_text(POOLS)
    ran = work.run(work.comparison(tmp_path, *SOME, "--executor", executor, agents=("bm25", FOREIGN)))
    assert ran.returncode == 0, ran.stderr
    assert comparable(tmp_path) == some_alone


def test_an_agent_that_only_one_worker_can_start_is_asked_there(work: Work, three_workers: Cluster, tmp_path: Path) -> None:
    agent = work.agent("Locks", lock=str(tmp_path / "lock"))
    ran = work.run(work.evaluation(tmp_path, *agent, "--executor", three_workers.executor))
    assert ran.returncode == 0, ran.stderr


def test_files_of_the_working_directory_pass_for_no_module(tmp_path: Path) -> None:
    (tmp_path / "multiprocessing.py").write_text("open('owned', 'a').write(__name__)\nraise SystemExit(9)\n")
    example = ROOT / "examples" / "quickstart"
    what = ["--gold-set", str(example / "suite.yaml"), "--corpus", str(example / "corpus.jsonl"), "--agent", "bm25"]
    program = [str(Path(sys.executable).parent / "searchmark"), "evaluate", *what, "--executor", "dask:local:1"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, (tmp_path / "owned").exists()) == (0, False), done.stderr


@pytest.mark.parametrize(("executor", "flag"), [("pools.py:two_processes", "--no-exec"), ("dask://127.0.0.1:1", "--offline")])
def test_what_may_not_be_used_is_refused(executor: str, flag: str, work: Work, tmp_path: Path) -> None:
    ran = work.run(work.evaluation(tmp_path, "--agent", "bm25", "--executor", executor, flag))
    assert ran.returncode == 4
    assert f"the executor '{executor}' " in ran.stderr
    assert flag in ran.stderr
