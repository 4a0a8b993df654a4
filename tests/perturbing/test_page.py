"""What docs/perturb.md shows is what its commands print."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from searchmark.cli.main import main
from tests.conftest import ROOT

PAGE = (ROOT / "docs/perturb.md").read_text()
SESSIONS = re.findall(r"^\$ searchmark (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_the_page_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "demo-output").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    assert len(SESSIONS) == 4
    for command, shown in SESSIONS:
        assert main(shlex.split(command)) == 0
        told = capsys.readouterr()
        printed = {" ".join(line.split()) for line in (told.out + told.err).splitlines()}
        assert [line for line in shown.splitlines() if " ".join(line.split()) not in printed] == []
