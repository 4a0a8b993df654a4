"""Several repositories on real Dask clusters, while their parts are ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from searchmark.cli.main import main
from searchmark.git.process import sealed_environment
from tests.conftest import ROOT
from tests.executors.ending import until
from tests.scale.clusters import Cluster, known_workers, started
from tests.support.histories import long_history, run

pytestmark = pytest.mark.scale

NAMES = ("api", "web", "app")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repositories")
    for seed, name in enumerate(NAMES):
        run(folder, "init", "-q", "--bare", "-b", "main", f"{name}.git")
        stream = b"".join(long_history(200, files=40, seed=seed))
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=folder / f"{name}.git", input=stream, env=sealed_environment(), check=True
        )
    return folder


@pytest.fixture(scope="module")
def gold(repositories: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("one process") / "gold.json"
    assert main(generated(repositories, file, "--jobs", "1")) == 0
    return file.read_bytes()


def generated(repositories: Path, file: Path, *more: str) -> list[str]:
    repos = (f"--repo={name}={repositories / f'{name}.git'}" for name in NAMES)
    return ["generate", *repos, "--output", str(file), *more]


def other_git(folder: Path, at_log: str) -> None:
    """A git that does something before it reads a history, which only those do that mine."""
    folder.mkdir()
    real = shutil.which("git")
    (folder / "git").write_text(f'#!/bin/sh\ncase " $* " in *" log "*) {at_log};; esac\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)


@contextmanager
def waiting(repositories: Path, folder: Path) -> Iterator[tuple[Cluster, subprocess.Popen[str]]]:
    """A command whose repositories are being mined for as long as anybody lets them."""
    os.mkfifo(folder / "never")
    other_git(folder / "bin", f"touch {folder}/at-work; read _ < {folder}/never")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
        with started(folder / "dask") as cluster:
            command = generated(repositories, folder / "gold.json", "--executor", cluster.executor)
            with subprocess.Popen(
                [sys.executable, "-m", "searchmark", *command],
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # no threads here
            ) as process:
                until((folder / "at-work").exists)
                yield cluster, process


def test_a_cluster_of_this_machine_writes_the_same_bytes(repositories: Path, gold: bytes, tmp_path: Path) -> None:
    assert main(generated(repositories, tmp_path / "gold.json", "--executor", "dask:local:2")) == 0
    assert (tmp_path / "gold.json").read_bytes() == gold


def test_a_cluster_by_its_address_writes_the_same_bytes(repositories: Path, gold: bytes, tmp_path: Path) -> None:
    with started(tmp_path / "dask") as cluster:
        assert main(generated(repositories, tmp_path / "gold.json", "--executor", cluster.executor)) == 0
    assert (tmp_path / "gold.json").read_bytes() == gold


def test_a_worker_that_is_killed_costs_nothing_but_time(
    repositories: Path, gold: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_git(tmp_path / "bin", f"mkdir {tmp_path}/killed 2>/dev/null && kill -9 $PPID")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with started(tmp_path / "dask") as cluster:
        assert main(generated(repositories, tmp_path / "gold.json", "--executor", cluster.executor)) == 0
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "gold.json").read_bytes() == gold


def test_a_repository_that_kills_every_worker_is_named_and_nothing_is_written(
    repositories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other_git(tmp_path / "bin", 'case "$GIT_OBJECT_DIRECTORY" in *web.git*) kill -9 $PPID;; esac')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    assert main(generated(repositories, tmp_path / "gold.json", "--executor", "dask:local:2")) == 4
    assert (
        "web was not mined: 3 workers ended while they mined it (the Dask worker that did it was lost); "
        "mine it by itself to see why, or leave it out"
    ) in capsys.readouterr().err
    assert not (tmp_path / "gold.json").exists()


def test_machines_that_lack_repositories_say_so_and_have_them_when_they_are_sent(
    repositories: Path, gold: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with started(tmp_path / "dask", hidden=repositories) as cluster:
        until(lambda: known_workers(cluster) == 2)
        assert main(generated(repositories, tmp_path / "gold.json", "--executor", cluster.executor)) == 4
        said = capsys.readouterr().err
        assert f"not all machines of {cluster.executor} have what mining needs: " in said
        assert f"lacks {repositories}/web.git, which must be at the same path everywhere" in said
        assert not (tmp_path / "gold.json").exists()

        assert main(generated(repositories, tmp_path / "gold.json", "--executor", cluster.executor, "--ship")) == 0
    assert (tmp_path / "gold.json").read_bytes() == gold


def test_a_scheduler_that_is_killed_is_a_sentence_and_nothing_is_written(repositories: Path, tmp_path: Path) -> None:
    with waiting(repositories, tmp_path) as (cluster, process):
        cluster.scheduler.kill()
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 4
    assert f"the scheduler of {cluster.executor} is gone; nothing is written: run it again" in said
    assert not (tmp_path / "gold.json").exists()


def test_ctrl_c_writes_nothing(repositories: Path, tmp_path: Path) -> None:
    with waiting(repositories, tmp_path) as (_, process):
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert "interrupted" in said
    assert not (tmp_path / "gold.json").exists()
