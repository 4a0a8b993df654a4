"""What is written after --executor."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.executors.pool import parse_executor, process_pool
from tests.conftest import ROOT

FORMS = "write process:N, dask:local:N, dask://host:port, or module:attr for a concurrent.futures.Executor of your own"


@pytest.fixture
def dask_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("searchmark.executors.pool.find_spec", lambda _: object())


@pytest.mark.usefixtures("dask_is_there")
@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("process:8", "process", "8"),
        ("dask:local:2", "dask:local", "2"),
        ("dask://cluster.example:8786", "dask", "cluster.example:8786"),
        ("dask://[::1]:8786", "dask", "[::1]:8786"),
        ("dask+tls://10.0.0.1:8786", "dask", "10.0.0.1:8786"),
        ("concurrent.futures:ThreadPoolExecutor", "code", "concurrent.futures:ThreadPoolExecutor"),
        ("my_pools.py:ray.pool", "code", "my_pools.py:ray.pool"),
        ("/my pools/mpi.py:pool", "code", "/my pools/mpi.py:pool"),
    ],
)
def test_a_text_means_the_same_as_the_text_of_its_choice(text: str, kind: str, target: str) -> None:
    choice = parse_executor(text, foreign=True, network=True)
    assert (choice.kind, choice.text, choice.target) == (kind, text, target)
    assert parse_executor(choice.text, foreign=True, network=True) == choice
    assert pickle.loads(pickle.dumps(choice)) == choice  # noqa: S301  # our own


@pytest.mark.parametrize(
    "text",
    ["", "process", "process:", "process:two", "process:-1", "dask", "dask:local", "dask://host", "dask://u:p@h:1", "8", "ray"],
)
def test_any_other_text_is_refused_with_the_forms_that_there_are(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_executor(text, foreign=True, network=True)
    assert str(caught.value) == f"{text!r} is not an executor; {FORMS}"


@pytest.mark.parametrize("text", ["process:0", "dask:local:5000"])
def test_a_number_of_processes_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="N is the number of processes, from 1 to 1024"):
        parse_executor(text, foreign=True, network=True)


@pytest.mark.usefixtures("dask_is_there")
def test_without_execution_neither_code_nor_the_network_is_used() -> None:
    with pytest.raises(UsageError, match="is code that is not built in, and --no-exec allows none; use process:N"):
        parse_executor("my_pools:ray", foreign=False, network=False)
    with pytest.raises(UsageError, match="uses the network, which --offline and --no-exec do not allow"):
        parse_executor("dask://host:1", foreign=False, network=True)
    assert parse_executor("process:2", foreign=False, network=False) == process_pool(2)
    with pytest.raises(UsageError, match="uses the network"):  # if only that of this machine
        parse_executor("dask:local:2", foreign=False, network=False)


@pytest.mark.usefixtures("dask_is_there")
def test_offline_code_is_used_and_the_network_is_not() -> None:
    assert parse_executor("my_pools:ray", foreign=True, network=False).kind == "code"
    with pytest.raises(UsageError, match="uses the network"):
        parse_executor("dask://host:1", foreign=True, network=False)


@pytest.mark.parametrize("text", ["dask://host:1", "dask:local:2"])
def test_without_dask_the_extra_is_named(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("searchmark.executors.pool.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs Dask, which is not installed; install: pip install 'searchmark\[dask\]'"):
        parse_executor(text, foreign=True, network=True)


def test_processes_need_nothing_of_dask(tmp_path: Path) -> None:
    """Modules of these names, which cannot be imported, would be found first."""
    for name in ("dask", "distributed", "tornado"):
        (tmp_path / f"{name}.py").write_text("raise AssertionError('Dask is imported')")
    code = (
        "from searchmark.executors.pool import parse_executor\n"
        "from searchmark.executors.backends import open_executor\n"
        "from searchmark.executors.pool import RetryingTasks\n"
        "from tests.executors.work import double\n"
        "with open_executor(parse_executor('process:1', foreign=True, network=True)) as pool:\n"
        "    print([done.result for done in RetryingTasks(pool, double, [1, 2])])\n"
    )
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(tmp_path), str(ROOT)]!r}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[2, 4]\n", "")
