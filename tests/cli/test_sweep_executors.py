"""Sweeps whose cases others ask: the quality is that of one process, and rows that others have asked are not mixed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.experiments.sweep import SweepFolder
from searchmark.experiments.sweep_grid import SweepSettings, grid_of
from tests.cli.test_sweep import COMMAND, qualities, shop, swept

__all__ = ["shop"]  # a fixture

HERE = "tests.cli.test_sweep_executors"


def two_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


def said(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """What is announced of the rows that are there."""
    capsys.readouterr()
    assert main([*COMMAND, "--dry-run", *more]) == 0
    return capsys.readouterr().err


@pytest.mark.slow
def test_the_quality_is_that_of_one_process_and_rows_of_others_are_run_again(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = swept()
    assert "2 finished rows are run again: executor was this process and is process:2" in said(capsys, "--executor", "process:2")
    there = swept("--executor", f"{HERE}:two_threads")
    assert qualities(there) == qualities(alone)
    assert "2 finished already" in said(capsys, "--executor", f"{HERE}:two_threads")
    again = said(capsys)
    assert "0 finished already" in again
    assert f"2 finished rows are run again: executor was {HERE}:two_threads and is this process" in again


@pytest.mark.slow
def test_a_number_of_jobs_is_short_for_processes(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = qualities(swept("--folder", "alone"))
    assert qualities(swept("--executor", "process:2")) == alone
    assert "2 finished already" in said(capsys, "--jobs", "2")
    assert "2 finished already" in said(capsys, "--executor", "process:2")
    assert "executor was process:2 and is process:3" in said(capsys, "--jobs", "3")


@pytest.mark.slow
def test_rows_of_an_earlier_version_know_their_number_of_jobs_alone(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept("--folder", "kept")
    for file in Path("kept/inputs").iterdir():
        told: dict[str, Any] = json.loads(file.read_text())
        assert told.pop("executor") == "this process"
        file.write_text(json.dumps(told))
    assert "2 finished already" in said(capsys, "--folder", "kept")
    assert "executor was this process and is process:2" in said(capsys, "--folder", "kept", "--jobs", "2")


def test_a_row_in_work_is_continued_only_by_the_executor_that_has_begun_it(tmp_path: Path) -> None:
    folder, (setting,) = SweepFolder(tmp_path), grid_of(SweepSettings({"index": ["exact"]})).settings
    folder.begin(setting, {"numpy": "2.0"}, "process:2")
    assert folder.begun(setting, {"numpy": "2.0"}, "process:2")
    assert not folder.begun(setting, {"numpy": "2.0"}, "process:3")
    assert not folder.begun(setting, {"numpy": "2.1"}, "process:2")


def test_an_executor_that_is_gone_ends_the_sweep_and_what_came_is_kept(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = ThreadPoolExecutor(1)
    gone.shutdown()
    monkeypatch.setattr(f"{HERE}.GONE", gone, raising=False)
    assert main([*COMMAND, "--executor", f"{HERE}:GONE"]) == 4
    printed = capsys.readouterr().err
    assert printed.endswith("; finished rows and the answers so far are kept: run the same command again\n")
    assert printed.count("row ") == 1


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--executor", "cluster"], "'cluster' is not an executor; write process:N"),
        (["--executor", f"{HERE}:nothing"], "cannot be loaded: AttributeError"),
        (["--executor", f"{HERE}:two_threads", "--no-exec"], "is code that is not built in, and --no-exec allows none"),
        (["--executor", "dask://127.0.0.1:8786", "--offline"], "uses the network, which --offline and --no-exec do not allow"),
    ],
    ids=str,
)
def test_an_executor_that_cannot_be_meant_is_said_once_and_at_once(
    more: list[str], sentence: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *more]) == 4
    printed = capsys.readouterr().err
    assert printed.count(sentence) == 1
    assert "row 1" not in printed
