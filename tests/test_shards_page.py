"""What docs/shards.md shows for many machines is what happens: its workflow and its array of jobs run here, one after the other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from searchmark import load_run
from tests.conftest import ROOT
from tests.support.commands import searchmark
from tests.support.histories import Script

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "shards.md").read_text()
SBATCH = """#!/bin/bash
for word in "$@"; do command=$word; done
if [ "$1" = --parsable ]; then
  for task in 1 2 3 4 5 6 7 8; do SLURM_ARRAY_TASK_ID=$task bash "$command" >&2 || exit 1; done
  echo 42
else
  [ "$1" = --dependency=afterany:42 ] && bash -c "$command"
fi
"""


def block(mark: str) -> str:
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, mark
    return found[1]


def bash(script: str, folder: Path) -> None:
    (folder / "summary.md").touch()
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    command = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands(job: dict[str, list[dict[str, str]]]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step and "pip install" not in step["run"]]


def test_the_matrix_makes_the_run_of_one_machine(tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    for name in ("suite.yaml", "corpus.jsonl"):
        shutil.copy(ROOT / "examples" / "quickstart" / name, tmp_path / "search")
    jobs = YAML(typ="safe").load(block("workflow: matrix"))["jobs"]
    (shard,) = commands(jobs["shard"])
    for number in jobs["shard"]["strategy"]["matrix"]["shard"]:
        bash(shard.replace("${{ matrix.shard }}", str(number)), tmp_path)
    for command in commands(jobs["search"]):
        bash(command, tmp_path)
    assert len(load_run(tmp_path / "run.jsonl")) == 20
    assert "the gate passed" in (tmp_path / "summary.md").read_text()


def test_the_array_of_jobs_makes_one_run(tmp_path: Path) -> None:
    script = Script()
    script.commit("start", "Begin with a shop that sells things", {"shop.py": "things = []\n"}, parent=None)
    for number in range(9):
        script.commit(str(number), f"Sell {number} more things in the shop", {"shop.py": f"things = [{number}]\n"})
    script.build(tmp_path / "shop")
    done = searchmark("generate", "--repo", "shop", "--jobs", "1", "--output", "gold_set.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sbatch").write_text(SBATCH)
    (tmp_path / "bin" / "sbatch").chmod(0o755)
    (tmp_path / "array.sh").write_text(block("file: array.sh"))
    bash(block("file: submit.sh"), tmp_path)
    assert [str(part.provenance.shard) for part in load_run(tmp_path / "bm25.jsonl").provenance.parts] == [
        f"{number}/8" for number in range(1, 9)
    ]
