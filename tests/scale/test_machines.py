"""What the machines of a cluster must have: refused before the run where it is lacking, and how else they come by it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.executors.ending import until
from tests.scale.clusters import HIDING, TWO_WORKERS, Cluster, known_workers, running, started, waiting_tasks
from tests.support.histories import run as git
from tests.support.scaled_runs import AGENTS, FOREIGN, REPOSITORIES, Work, answered, answers

pytestmark = pytest.mark.scale

HOST = socket.gethostname()


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """What the metadata of an older version look like."""
    folder = tmp_path / "older"
    metadata = folder / "searchmark-0.0.1.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: searchmark\nVersion: 0.0.1\n")
    return folder


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The same version with one more line."""
    folder = tmp_path / "changed"
    shutil.copytree(ROOT / "src" / "searchmark", folder / "searchmark", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "searchmark" / "errors.py").open("a") as file:
        file.write("# changed\n")
    return folder


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("older", f"{HOST} has Searchmark 0.0.1, not "),
        ("changed", f"{HOST} has other code of Searchmark; install the same one everywhere"),
    ],
)
def test_a_single_worker_with_another_version_is_refused_before_the_run(
    kind: str, sentence: str, work: Work, three_workers: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    one = ("worker", three_workers.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    with running(*one, "--local-directory", str(tmp_path), path=request.getfixturevalue(kind)):
        until(lambda: known_workers(three_workers) == 4)
        ran = work.run(work.evaluation(tmp_path, "--agent", "bm25", "--executor", three_workers.executor))
    until(lambda: known_workers(three_workers) == 3)
    assert ran.returncode == 4
    assert sentence in ran.stderr
    assert answered(tmp_path) == 0


@pytest.fixture(scope="module")
def expected(work: Work) -> dict[str, list[str]]:
    """What the foreign agent finds on one machine."""
    out = work.folder / "expected"
    ran = work.run(work.evaluation(out, "--agent", FOREIGN))
    assert ran.returncode == 0, ran.stderr
    return found(out)


def found(out: Path) -> dict[str, list[str]]:
    return {case: answer["ids"] for case, answer in answers(out / "run.jsonl").items()}


@pytest.fixture(scope="module")
def elsewhere_possible(work: Work) -> None:
    """That a folder can be hidden from a process, so that it sees as little of it as one of another machine."""
    if subprocess.run([*HIDING, str(work.repositories), "true"], capture_output=True, check=False).returncode:
        pytest.skip("no folder can be hidden from a process here: unshare is not allowed")


@pytest.fixture(scope="module")
def elsewhere(work: Work, elsewhere_possible: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Workers that do not see the repositories."""
    folder = tmp_path_factory.mktemp("elsewhere")
    cache = str(folder / "cache")
    with started(folder, workers=TWO_WORKERS, hidden=work.repositories, SEARCHMARK_CACHE=cache) as cluster:
        until(lambda: known_workers(cluster) == 2)
        yield cluster


def test_a_machine_without_the_repositories_names_them_before_the_run(work: Work, elsewhere: Cluster, tmp_path: Path) -> None:
    ran = work.run(work.evaluation(tmp_path, "--agent", FOREIGN, "--executor", elsewhere.executor))
    assert ran.returncode == 4
    for name in REPOSITORIES:
        assert f"{HOST} lacks {work.repositories / name}, which must be at the same path everywhere" in ran.stderr
    assert answered(tmp_path) == 0


def test_repositories_that_are_sent_along_are_searched_there(
    work: Work, elsewhere: Cluster, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    ran = work.run(work.evaluation(tmp_path, "--agent", FOREIGN, "--executor", elsewhere.executor, "--ship"))
    assert ran.returncode == 0, ran.stderr
    assert found(tmp_path) == expected


def test_workers_that_come_when_the_run_has_begun_are_sent_what_they_lack(
    work: Work, expected: dict[str, list[str]], wheel: Path, elsewhere_possible: None, tmp_path: Path
) -> None:
    agent = ("--agent", "own=travelling.agents:Counts", "--wheel", str(wheel))
    with started(tmp_path, workers=None) as cluster:
        command = work.evaluation(tmp_path, *agent, "--executor", cluster.executor, "--ship")
        with work.running(command) as program:
            until(lambda: program.poll() is not None or waiting_tasks(cluster) > 0)
            late = ("worker", cluster.address, *TWO_WORKERS, "--no-dashboard", "--local-directory", str(tmp_path))
            with running(*late, hidden=work.repositories, SEARCHMARK_CACHE=str(tmp_path / "cache")):
                _, said = program.communicate(timeout=120)
    assert program.returncode == 0, said
    assert found(tmp_path) == expected


def test_one_that_lacks_what_is_not_sent_ends_the_run_and_says_so(work: Work, elsewhere_possible: None, tmp_path: Path) -> None:
    with started(tmp_path, workers=None) as cluster:
        command = work.evaluation(tmp_path, "--agent", FOREIGN, "--executor", cluster.executor)
        with work.running(command) as program:
            until(lambda: program.poll() is not None or waiting_tasks(cluster) > 0)
            late = ("worker", cluster.address, *TWO_WORKERS, "--no-dashboard", "--local-directory", str(tmp_path))
            with running(*late, hidden=work.repositories):
                _, said = program.communicate(timeout=120)
    assert program.returncode == 4
    assert f"searchmark: {HOST} lacks {work.repositories}" in said


def test_repositories_with_an_address_are_cloned_once_on_every_machine(
    work: Work, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    heads = {name: git(work.repositories / name, "rev-parse", "main").strip() for name in REPOSITORIES}
    where = f"{{name}}=file://{work.repositories}/{{name}}@"
    arguments = work.evaluation(tmp_path, "--agent", FOREIGN, where=where)
    with started(tmp_path, SEARCHMARK_CACHE=str(tmp_path / "cache")) as cluster:
        until(lambda: known_workers(cluster) == 2)
        addressed = [part + heads[part.partition("=")[0]] if part.endswith("@") else part for part in arguments]
        ran = work.run([*addressed, "--executor", cluster.executor])
    assert ran.returncode == 0, ran.stderr
    assert found(tmp_path) == expected
    assert len(list((tmp_path / "cache" / "clones").glob("*/clone"))) == 3


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A package with the agents, as a build of it would be."""
    path = tmp_path / "travelling-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(AGENTS, "travelling/agents.py")
        archive.writestr("travelling/__init__.py", "")
        archive.writestr("travelling-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: travelling\nVersion: 1.0\n")
    return path


def test_an_agent_that_only_a_wheel_has_is_asked_everywhere(
    wheel: Path, work: Work, three_workers: Cluster, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    asked = work.evaluation(tmp_path, "--agent", "own=travelling.agents:Counts", "--executor", three_workers.executor)
    assert work.run(asked).returncode == 4
    ran = work.run([*asked, "--wheel", str(wheel)])
    assert ran.returncode == 0, ran.stderr
    assert found(tmp_path) == expected


@pytest.mark.parametrize("kind", ["code", "service"])
def test_a_machine_without_a_variable_that_an_agent_needs_names_it_before_the_run(
    kind: str, work: Work, three_workers: Cluster, tmp_path: Path
) -> None:
    service = {"url": "http://127.0.0.1:1/{query}", "headers": {"Authorization": "Bearer ${SCALED_KEY}"}}
    spec = {"source": f"{AGENTS}:NeedsKey", "env": ["SCALED_KEY"]} if kind == "code" else {"source": "http", "config": service}
    named = f"own={AGENTS}:NeedsKey" if kind == "code" else "own"
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps({"agents": [{"name": "own", **spec}]}))
    command = work.evaluation(tmp_path, "--config", str(config), "--agent", named, "--executor", three_workers.executor)
    ran = work.run(command, SCALED_KEY="a-key-of-this-machine")
    assert ran.returncode == 4
    assert f"{HOST} lacks environment variables: SCALED_KEY; set them where its worker is started" in ran.stderr
    assert "a-key-of-this-machine" not in ran.stdout + ran.stderr
    assert answered(tmp_path) == 0


def test_a_secret_in_a_config_does_not_travel(work: Work, three_workers: Cluster, tmp_path: Path) -> None:
    agent = work.agent("NeedsKey", api_key="sk-1234567890abcdef")
    ran = work.run(work.evaluation(tmp_path, *agent, "--executor", three_workers.executor))
    assert ran.returncode == 4
    assert "the config of the agent 'own' holds a secret, which is not sent to other machines" in ran.stderr
    assert "sk-1234567890abcdef" not in ran.stdout + ran.stderr
