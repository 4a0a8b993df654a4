"""docs/approve.md shows what is printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.approval.support import approve_in_process
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "approve.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ searchmark approve (.*)\n((?:.*\n)*?)```", PAGE)


@pytest.mark.parametrize(("arguments", "output"), SHOWN)
def test_the_output_on_the_page_is_the_output_printed(tmp_path: Path, arguments: str, output: str) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = approve_in_process(*shlex.split(arguments), folder=tmp_path)
    assert re.sub(r"\d{4}-\d\d-\d\d", "2026-11-16", done.stdout + done.stderr) == output


def test_the_page_has_such_outputs() -> None:
    assert len(SHOWN) == 2
