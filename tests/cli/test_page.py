"""The page about init shows what is printed and written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from searchmark.cli.main import main
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "init.md").read_text()


def block(name: str) -> str:
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.slow
def test_the_page_shows_what_is_printed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples" / "first-hour" / "rag" / "docs", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--yes"]) == 0
    said = capsys.readouterr()
    source = re.compile(r"^note: \.github/.*\n", re.MULTILINE)  # only where it is not known what this copy was installed from
    assert source.sub("", said.err + said.out) == block("printed: searchmark init --yes")
    dated = re.compile(r"\d{4}-\d{2}-\d{2}")
    assert dated.sub("DAY", Path("searchmark.yaml").read_text()) == dated.sub("DAY", block("file: searchmark.yaml"))
