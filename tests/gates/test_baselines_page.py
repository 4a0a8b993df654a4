"""docs/baselines.md shows what is printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.gates.test_baselines import MISSING
from tests.generated_docs import formats_page

PAGE = (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ searchmark (.*)\n(?:\.\.\.\n)?((?:.*\n)*?)(?:\$ echo \$\?\n(\d)\n)?```", PAGE)


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "output", "code"), SHOWN)
def test_the_output_on_the_page_is_the_output_printed(tmp_path: Path, arguments: str, output: str, code: str) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = [sys.executable, "-m", "searchmark", *shlex.split(arguments)]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr).endswith(output)
    assert done.returncode == int(code or 0)


def test_the_page_has_such_outputs_and_the_files_of_the_examples() -> None:
    assert len(SHOWN) == 5
    assert formats_page(PAGE) == PAGE


ROWS = {
    "no file": "no file",
    "another suite: no case in common": "other suite",
    "a saved run without an answer": "zero cases",
    "an empty TREC file": "empty",
    "all errors": "all errors",
    "a shard alone": "a shard",
    "half-written": "half-written",
}


@pytest.mark.parametrize(("row", "name"), ROWS.items())
def test_the_table_on_the_page_is_the_one_that_is_tested(row: str, name: str) -> None:
    codes = {(run, baseline): code for run, baseline, code in MISSING}
    assert f"| {row} | {codes[name, 'whole']} | {codes['whole', name]} |\n" in PAGE
