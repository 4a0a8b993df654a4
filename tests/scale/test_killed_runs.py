"""Runs on real Dask clusters while their workers, their scheduler and the program itself are ended."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from searchmark.running.worker.process_tree import descendants
from tests.executors.ending import until
from tests.scale.clusters import THREE_WORKERS, TWO_WORKERS, Cluster, agent_processes, known_workers, started, worker_processes
from tests.support.scaled_runs import LABELS, Work, answered, answers, comparable

pytestmark = pytest.mark.scale

KILLS = 20
BETWEEN = 30  # answers that come home between two kills: the block that was lost is among them, so that none is lost three times


def test_a_run_whose_workers_are_killed_again_and_again_is_that_of_one_process(
    work: Work, alone: dict[str, str], tmp_path: Path
) -> None:
    draw = random.Random(KILLS)
    with (
        started(tmp_path, workers=THREE_WORKERS) as cluster,
        work.running(work.comparison(tmp_path, "--executor", cluster.executor)) as program,
    ):
        for kill in range(KILLS):
            until(lambda due=kill * BETWEEN: answered(tmp_path) > due and bool(worker_processes(cluster)))  # type: ignore[misc]
            os.kill(draw.choice(worker_processes(cluster)), signal.SIGKILL)
        _, said = program.communicate(timeout=300)
    assert program.returncode == 0, said
    assert comparable(tmp_path) == alone


def test_a_run_whose_scheduler_is_killed_says_so_and_is_resumed_elsewhere(
    work: Work, alone: dict[str, str], three_workers: Cluster, tmp_path: Path
) -> None:
    with (
        started(tmp_path) as lost,
        work.running(work.comparison(tmp_path, "--executor", lost.executor)) as program,
    ):
        until(lambda: answered(tmp_path) > 100)
        lost.scheduler.kill()
        _, said = program.communicate(timeout=120)
    assert program.returncode == 4
    assert f"searchmark: the scheduler of {lost.executor} is gone; what came is kept: run again with --resume" in said
    assert "Traceback" not in said
    resumed = work.run(work.comparison(tmp_path, "--executor", three_workers.executor, "--resume"))
    assert resumed.returncode == 0, resumed.stderr
    assert comparable(tmp_path) == alone
    assert all(resumed_answers(tmp_path))


def test_a_program_that_is_killed_leaves_no_agents_behind_and_is_resumed(
    work: Work, alone: dict[str, str], three_workers: Cluster, tmp_path: Path
) -> None:
    with work.running(work.comparison(tmp_path, "--executor", three_workers.executor)) as program:
        until(lambda: answered(tmp_path) > 100)
        program.kill()
        program.communicate()
    assert agent_processes(three_workers)
    until(lambda: not agent_processes(three_workers))
    resumed = work.run(work.comparison(tmp_path, "--executor", three_workers.executor, "--resume"))
    assert resumed.returncode == 0, resumed.stderr
    assert comparable(tmp_path) == alone
    assert all(resumed_answers(tmp_path))


def test_agents_that_wait_for_the_end_of_a_search_end_with_the_program_too(
    work: Work, three_workers: Cluster, tmp_path: Path
) -> None:
    """Nobody asks them anything more, and they would wait for minutes."""
    agent = (*work.agent("Waits", query=work.queries[0]), "--timeout", "500")
    with work.running(
        work.command("evaluate", *agent, "--journal", str(tmp_path / "journal"), "--executor", three_workers.executor)
    ) as program:
        until(lambda: answered(tmp_path) == work.cases - 5)
        program.kill()
        program.communicate()
    until(lambda: not agent_processes(three_workers))


def test_ctrl_c_keeps_what_came_and_ends_the_agents_everywhere(work: Work, three_workers: Cluster, tmp_path: Path) -> None:
    with work.running(work.comparison(tmp_path, "--executor", three_workers.executor)) as program:
        until(lambda: answered(tmp_path) > 100)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "--resume" in said
    assert "Traceback" not in said
    assert answered(tmp_path) > 100
    until(lambda: not agent_processes(three_workers))


@pytest.mark.parametrize("executor", ["process:2", "concurrent.futures:ProcessPoolExecutor", "dask:local:2"])
def test_ctrl_c_does_not_wait_for_a_search_that_takes_long(executor: str, work: Work, tmp_path: Path) -> None:
    agent = (*work.agent("Waits", query=work.queries[0]), "--timeout", "500")
    command = work.command("evaluate", *agent, "--journal", str(tmp_path / "journal"), "--executor", executor)
    with work.running(command) as program:
        until(lambda: answered(tmp_path) == work.cases - 5)
        begun = descendants(program.pid)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=20)
    assert program.returncode == 130
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in begun))


@pytest.mark.parametrize("workers", [TWO_WORKERS, ("--nworkers", "2", "--nthreads", "2")], ids=["one-thread", "two-threads"])
def test_a_block_that_ends_every_worker_is_an_error_of_its_cases_alone(
    workers: tuple[str, ...], work: Work, tmp_path: Path
) -> None:
    """They are more than the failures in a row that are allowed, and the agent is asked on."""
    some = ("--sample", "60", "--max-failures", "2")
    alone = ("--save-run", str(tmp_path / "alone.jsonl"), "--journal", str(tmp_path / "journal of one"))
    expected = work.run(work.command("evaluate", *work.agent("Counts", seconds=0.0), *some, *alone))
    assert expected.returncode == 0, expected.stderr
    there = answers(tmp_path / "alone.jsonl")
    ending = next(case for case in work.cases_asked if case["id"] in there)["query"]
    with started(tmp_path, workers=workers) as cluster:
        until(lambda: known_workers(cluster) == 2)
        files = ("--save-run", str(tmp_path / "run.jsonl"), "--journal", str(tmp_path / "journal"))
        ran = work.run(
            work.command("evaluate", *work.agent("EndsWorkers", query=ending), *some, *files, "--executor", cluster.executor)
        )
    assert ran.returncode in {0, 2}, ran.stderr  # as many of so few cases are too many to be trusted
    came = answers(tmp_path / "run.jsonl")
    lost = {case: answer for case, answer in came.items() if answer["status"] != "ok"}
    assert 1 <= len(lost) <= 5
    assert all(answer["status"] == "error" and answer["details"]["lost_workers"] >= 3 for answer in lost.values())
    sentence = "workers ended while they asked the block of this case: the Dask worker that did it was lost"
    assert all(sentence in answer["details"]["failure"] for answer in lost.values())
    assert {case: each["ids"] for case, each in came.items() if case not in lost} == {
        case: each["ids"] for case, each in there.items() if case not in lost
    }


def resumed_answers(out: Path) -> list[int]:
    """How many answers of each run had come before it was resumed."""
    headers = [json.loads((out / f"{label}.jsonl").read_text().partition("\n")[0]) for label in LABELS]
    return [header["provenance"].get("resumed", 0) for header in headers]
