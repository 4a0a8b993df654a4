"""Several repositories on an executor: the bytes are those of one process, and none of the repositories is ever left out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from searchmark import DatasetSettings, ExecutorSettings, UsageError, generate_gold_set, mine_suite
from searchmark.cli.main import main
from searchmark.errors import PoolGone
from searchmark.executors.packing import stop_tasks_of, working_for_pool
from searchmark.git.clones import parse_repository
from searchmark.git.mining.decisions import NO_DECISIONS
from searchmark.git.mining.mine import MiningProgress
from searchmark.git.process import sealed_environment
from searchmark.judgments.gold_sets import RepositoryTask, mine_task
from searchmark.running.distribution import (
    NO_SUPPLIES,
    machine_problems,
    refuse_missing_repository,
)
from tests.support.histories import long_history, odd_history, run

HERE = "tests.git.test_executors"
OPTIONS = DatasetSettings(max_cases=40, unit="auto")


def two_processes() -> ProcessPoolExecutor:
    from multiprocessing import get_context

    return ProcessPoolExecutor(2, get_context("spawn"))


class Elsewhere(Executor):
    """One that does not say where it is, so that it may be anywhere."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


class Unlucky(Elsewhere):
    """Loses the first node that it uses."""

    def __init__(self) -> None:
        super().__init__()
        self._submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._submitted += 1
        return lost_node() if self._submitted == 1 else super().submit(fn, *args, **kwargs)


class Doomed(Elsewhere):
    """Loses every node."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return lost_node()


def lost_node() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(ValueError("node 7 was lost"))
    return future


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without what git refuses to fetch."""
    folder = tmp_path_factory.mktemp("odd") / "odd.git"
    odd_history().build(folder)
    return folder


def tip(repository: Path) -> str:
    return run(repository, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "long.git"
    run(folder.parent, "init", "-q", "--bare", "-b", "main", folder.name)
    stream = b"".join(long_history(120, files=30))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream, env=sealed_environment(), check=True)
    return folder


@pytest.fixture(scope="module")
def alone(odd: Path, long: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What one process writes."""
    file = tmp_path_factory.mktemp("alone") / "gold.json"
    generate_gold_set([f"odd={odd}", str(long)], file, OPTIONS)
    return file.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "executor", ["process:2", "concurrent.futures:ThreadPoolExecutor", f"{HERE}:two_processes", f"{HERE}:Elsewhere"]
)
def test_the_bytes_are_the_same_on_every_executor(executor: str, odd: Path, long: Path, alone: bytes, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    facts = generate_gold_set([f"odd={odd}", str(long)], file, OPTIONS, placement=ExecutorSettings(executor))
    assert file.read_bytes() == alone
    assert [each.repository for each in facts] == ["odd", "long"]


def test_repositories_that_are_sent_along_give_the_same_rows(
    odd: Path, long: Path, alone: bytes, tmp_path: Path, own_cache: Path
) -> None:
    """What is sent has neither branches nor a folder's name."""
    file = tmp_path / "gold.json"
    generate_gold_set([f"odd={odd}", str(long)], file, OPTIONS, placement=ExecutorSettings(f"{HERE}:Elsewhere", ship=True))
    assert file.read_bytes() == alone
    assert len([each for each in (own_cache / "bundles").iterdir() if each.is_dir()]) == 2


def test_a_repository_by_its_address_is_cloned_by_whoever_mines_it(
    odd: Path, long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    address = f"far=file://{odd}@{tip(odd)}"
    generate_gold_set([address, str(long)], tmp_path / "there.json", OPTIONS, placement=ExecutorSettings(f"{HERE}:Elsewhere"))
    monkeypatch.setenv("SEARCHMARK_CACHE", str(own_cache.with_name("other")))
    generate_gold_set([address, str(long)], tmp_path / "here.json", OPTIONS)
    assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("revisions", [None, "HEAD~50", "HEAD~90..HEAD~10", "HEAD~30.."])
@pytest.mark.parametrize("ship", [False, True])
def test_a_range_means_the_same_commits_everywhere(revisions: str | None, ship: bool, long: Path) -> None:
    options, twice = replace(OPTIONS, revisions=revisions), [f"a={long}", f"b={long}"]
    one_by_one = mine_suite(twice, options)
    there = mine_suite(twice, options, placement=ExecutorSettings(f"{HERE}:Elsewhere", ship=ship))
    assert list(there.cases) == list(one_by_one.cases)
    assert there.metadata == one_by_one.metadata


@pytest.mark.parametrize("executor", ["process:2", f"{HERE}:Elsewhere"])
def test_one_repository_may_be_mined_there_as_well(executor: str, long: Path) -> None:
    there = mine_suite([str(long)], OPTIONS, placement=ExecutorSettings(executor))
    assert list(there.cases) == list(mine_suite([str(long)], OPTIONS).cases)


def test_a_lost_worker_costs_nothing_but_time(odd: Path, long: Path, alone: bytes, tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    generate_gold_set([f"odd={odd}", str(long)], file, OPTIONS, placement=ExecutorSettings(f"{HERE}:Unlucky"))
    assert file.read_bytes() == alone


@pytest.mark.slow
def test_a_process_that_is_killed_costs_nothing_but_time(
    odd: Path, long: Path, alone: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first git that reads a history, which no other process than one that mines starts."""
    (tmp_path / "bin").mkdir()
    deadly = f'case " $* " in *" log "*) mkdir {tmp_path}/killed 2>/dev/null && kill -9 $PPID;; esac'
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\n{deadly}\nexec {shutil.which("git")} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    generate_gold_set([f"odd={odd}", str(long)], tmp_path / "gold.json", OPTIONS, jobs=2)
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "gold.json").read_bytes() == alone


def test_without_one_of_its_repositories_there_is_no_gold_set(
    odd: Path, long: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repos = ["--repo", f"odd={odd}", "--repo", str(long)]
    assert main(["generate", *repos, "--executor", f"{HERE}:Doomed", "--output", str(tmp_path / "gold.json")]) == 4
    assert capsys.readouterr().err.endswith(
        "searchmark: odd was not mined: 3 workers ended while they mined it (ValueError: node 7 was lost); "
        "mine it by itself to see why, or leave it out\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_executor_that_is_gone_is_a_sentence_that_promises_nothing(
    odd: Path, long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = ThreadPoolExecutor(1)
    gone.shutdown()
    monkeypatch.setattr(f"{HERE}.GONE", gone, raising=False)
    with pytest.raises(PoolGone, match=r"is gone \(.*\); nothing is written: run it again"):
        mine_suite([str(odd), str(long)], placement=ExecutorSettings(f"{HERE}:GONE"))


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["process:2", "concurrent.futures:ThreadPoolExecutor"])
def test_what_is_known_of_the_progress_ends_with_every_case(executor: str, odd: Path, long: Path) -> None:
    heard: list[MiningProgress] = []
    mine_suite([f"odd={odd}", str(long)], OPTIONS, placement=ExecutorSettings(executor), on_progress=heard.append)
    assert {each.repository: each for each in heard} == {
        "odd": MiningProgress("odd", "cases", 13, 13, 13),
        "long": MiningProgress("long", "cases", 40, 40, 40),
    }


@pytest.mark.slow
def test_processes_tell_what_they_are_at(odd: Path, long: Path) -> None:
    heard: list[MiningProgress] = []
    mine_suite([f"odd={odd}", str(long)], OPTIONS, jobs=2, on_progress=heard.append)
    assert {(each.repository, each.phase) for each in heard} == {
        (repository, phase) for repository in ("odd", "long") for phase in ("commits", "targets", "cases")
    }


def test_mining_ends_when_nobody_waits_for_it(long: Path) -> None:
    task = RepositoryTask(0, parse_repository(str(long)), long, OPTIONS, NO_DECISIONS, NO_SUPPLIES)
    with working_for_pool("mining"), pytest.raises(PoolGone, match="the executor that mined this repository has been stopped"):
        mine_task(task, lambda _: stop_tasks_of("mining"))


def lacks(commits: dict[Path, tuple[str, ...]]) -> list[str]:
    """What this machine says when it is asked for commits of repositories."""
    return machine_problems(partial(refuse_missing_repository, NO_SUPPLIES, path, hashes) for path, hashes in commits.items())


class TestWhatAMachineMustHave:
    def test_one_that_has_everything_says_nothing(self, odd: Path) -> None:
        assert lacks({odd: (tip(odd),)}) == []

    def test_what_is_lacking_is_said_by_its_name(self, odd: Path, tmp_path: Path) -> None:
        said = lacks({odd: ("1" * 40,), tmp_path / "nowhere": ("2" * 40,)})
        assert [sentence.partition(" lacks ")[2] for sentence in said] == [
            f"1 commits of odd.git: {'1' * 40}",
            f"{tmp_path}/nowhere, which must be at the same path everywhere, have an address, or be sent along (--ship)",
        ]

    def test_one_that_comes_later_says_it_with_its_first_repository(self, tmp_path: Path) -> None:
        source = parse_repository(str(tmp_path / "nowhere"))
        task = RepositoryTask(0, source, tmp_path / "nowhere", OPTIONS, NO_DECISIONS, NO_SUPPLIES)
        with pytest.raises(UsageError, match=r"lacks .*/nowhere, which must be at the same path everywhere"):
            mine_task(task, lambda _: None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--executor", "cluster"], "'cluster' is not an executor; write process:N"),
        (["--executor", "dask://127.0.0.1:8786", "--offline"], "uses the network, which --offline"),
        (
            ["--executor", "process:2", "--query", "llm"],
            "--query llm has one budget, which the workers of an executor cannot share",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], sentence: str, odd: Path, long: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("dataset: {rewriter: {base_url: 'http://127.0.0.1:1/v1', model: none}}\n")
    repos = ["--repo", str(odd), "--repo", str(long), "--config", str(config)]
    assert main(["generate", *repos, *arguments, "--output", str(tmp_path / "gold.json")]) == 4
    assert sentence in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]
