"""Runs on processes of this machine are those of one process, whatever becomes of the processes and of the agents in them."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchmark import (
    Case,
    ExecutorSettings,
    Experiment,
    Judgment,
    Run,
    RunSettings,
    SearchScope,
    Suite,
    UsageError,
    compare_runs,
    evaluate_run,
    generate_gold_set,
    load_agent,
    load_run,
    load_suite,
    render,
    save_runs,
)
from searchmark.executors.pool import process_pool
from searchmark.running.blocks import block_size, run_block
from searchmark.running.request import RunProgress
from searchmark.running.runner import prepare_run
from searchmark.running.worker.process_tree import children
from tests.support.scaled_runs import AGENTS, comparable, make_repositories

TWO = ExecutorSettings("process:2")
OPTIONS = RunSettings(num_runs=1, block=3, max_failures=4)


def own(kind: str, name: str = "own", **config: Any) -> Any:
    return load_agent(f"{name}={AGENTS}:{kind}", **config)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Two agents, asked about the parents of the commits of three repositories."""
    folder = tmp_path_factory.mktemp("mined")
    repositories = make_repositories(folder / "repositories", 8)
    generate_gold_set(repositories, folder / "gold.json")
    agents = (load_agent("bm25"), own("Counts", seconds=0.0))
    return Experiment(load_suite(folder / "gold.json"), agents, SearchScope(repositories=repositories), options=OPTIONS)


def written(experiment: Experiment, folder: Path, on_progress: Callable[[RunProgress], None] = lambda _: None) -> dict[str, str]:
    """All that an evaluation or a comparison writes, but for what may differ."""
    ran = experiment.run(on_progress)
    reported = compare_runs if len(ran.runs) > 1 else evaluate_run
    report = reported(ran.suite, ran.runs, ["nDCG@10", "RR"], corpus=ran.survey)
    folder.mkdir()
    save_runs(ran.runs, folder)
    (folder / "report.json").write_text(render(report, "json"))
    (folder / "report.md").write_text(render(report, "markdown"))
    return comparable(folder)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run of one process is written to."""
    return tmp_path_factory.mktemp("alone") / "out"


@pytest.fixture(scope="module")
def alone(experiment: Experiment, out: Path) -> dict[str, str]:
    return written(experiment, out)


def test_a_run_on_two_processes_is_that_of_one(experiment: Experiment, alone: dict[str, str], tmp_path: Path) -> None:
    assert written(replace(experiment, placement=TWO), tmp_path / "out") == alone
    bm25 = load_run(tmp_path / "out" / "bm25.jsonl")
    assert bm25.provenance.workers == len(bm25.provenance.start_seconds) == 2  # what each of them took to start is known


def pool_processes() -> list[int]:
    return [
        pid for pid in children(os.getpid()) if b"searchmark.executors.process_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@pytest.mark.slow
def test_so_is_one_whose_processes_are_killed(experiment: Experiment, alone: dict[str, str], tmp_path: Path) -> None:
    """One of them when a third of the answers has come, and one when two thirds have."""
    draw = random.Random(2)
    killed: list[int] = []

    def kill(progress: RunProgress) -> None:
        if progress.done >= 8 * (len(killed) + 1) and len(killed) < 2:
            killed.append(draw.choice(pool_processes()))
            os.kill(killed[-1], signal.SIGKILL)

    own_alone = replace(experiment, agents=experiment.agents[1:], placement=TWO)
    assert written(own_alone, tmp_path / "out", kill)["own.jsonl"] == alone["own.jsonl"]
    assert len(killed) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_block_that_ends_every_process_is_an_error_of_its_cases_and_no_failure_in_a_row(
    experiment: Experiment, out: Path
) -> None:
    suite = experiment.suite
    ending = own("EndsWorkers", query=suite.cases[10].query)
    strict = replace(experiment, agents=(ending,), options=replace(OPTIONS, max_failures=2), placement=TWO)
    (run,) = strict.run().runs
    expected = load_run(out / "own.jsonl")
    lost = {answer.case for answer in run.answers if answer.status == "error"}
    assert suite.cases[10].id in lost
    assert len(lost) <= OPTIONS.block
    failures = {answer.details.failure for answer in run.answers if answer.case in lost}
    said = "the process that did it was ended by SIGKILL; there may be too little memory"
    assert failures == {f"3 workers ended while they asked the block of this case: {said}"}
    assert {answer.details.lost_workers for answer in run.answers if answer.case in lost} == {3}
    assert ids(run, lost) == ids(expected, lost)


def ids(run: Run, but: set[str]) -> dict[str, list[str]]:
    return {answer.case: [hit.id for hit in answer.hits] for answer in run.answers if answer.case not in but}


@pytest.mark.slow
def test_agents_that_fail_are_left_alone_where_one_process_would_have_left_them(experiment: Experiment, tmp_path: Path) -> None:
    """One that never starts, some that fail in every case, in most or in a few, and one that takes its process with it."""
    failing = (
        own("Fails", "never-starts", word="", how="initialize"),
        own("Fails", "always", word="Let", how="raise"),
        own("Fails", "mostly", word="while", how="raise"),
        own("Fails", "sometimes", word="cache", how="raise"),
        own("Fails", "crashes", word="token", how="exit"),
    )
    several = replace(experiment, agents=failing)
    assert written(replace(several, placement=TWO), tmp_path / "two") == written(several, tmp_path / "one")


@pytest.mark.slow
def test_a_machine_whose_folder_holds_something_else_is_refused(tmp_path: Path) -> None:
    """As if the path were that of another disk: the folder is changed after the machine that started the run has read it."""
    (tmp_path / "a.txt").write_text("lamps")
    suite = Suite.from_cases("shop", [Case("1", "lamps", (Judgment("a.txt"),))])
    experiment = Experiment(suite, (load_agent("bm25"),), SearchScope(corpus=str(tmp_path)), options=OPTIONS)
    with prepare_run(experiment._request(), process_pool(1), lambda _: None) as run:
        (block,) = next(iter(run.agents.values())).blocks()
        (tmp_path / "a.txt").write_text("chairs")
        with pytest.raises(UsageError, match=f"has other contents of {tmp_path.name} than the machine that started the run"):
            run_block(block)


@pytest.mark.parametrize(("slots", "size"), [(None, 25), (0, 25), (1, 25), (5, 12), (1000, 1)])
def test_blocks_are_as_large_as_the_workers_that_are_known_allow(slots: int | None, size: int) -> None:
    """There may be none yet, on a cluster whose machines are still to come."""
    assert block_size(240, slots, 25) == size
