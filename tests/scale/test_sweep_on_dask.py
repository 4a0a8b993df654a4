"""Sweeps on real Dask clusters of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import main
from tests.cli.test_sweep import COMMAND, qualities, rows_so_far, shop, swept
from tests.executors.ending import until
from tests.scale.clusters import started

__all__ = ["shop"]  # a fixture

pytestmark = pytest.mark.scale


def test_the_quality_is_that_of_one_process(shop: Path) -> None:
    alone = qualities(swept("--folder", "alone"))
    assert qualities(swept("--executor", "dask:local:2")) == alone
    with started(shop) as cluster:
        assert qualities(swept("--executor", cluster.executor)) == alone


def test_a_scheduler_that_is_killed_ends_the_sweep_and_finished_rows_stay(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With so many settings that it cannot be through before."""
    text = Path("sweep.yaml").read_text()
    Path("sweep.yaml").write_text(text.replace("ef_search: 1", f"ef_search: {list(range(10, 60))}"))
    with started(shop) as cluster:
        command = [sys.executable, "-m", "searchmark", *COMMAND, "--executor", cluster.executor]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=None, cwd=shop) as process:
            until(lambda: rows_so_far() > 0)
            cluster.scheduler.kill()
            said = process.communicate(timeout=120)[1]
    assert process.returncode == 4
    assert said.endswith("; finished rows and the answers so far are kept: run the same command again\n")
    assert 0 < rows_so_far() < 51
    assert main([*COMMAND, "--dry-run", "--executor", cluster.executor]) == 0
    assert f"; {rows_so_far()} finished already" in capsys.readouterr().err
