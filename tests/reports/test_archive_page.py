"""docs/archive.md shows what is printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.commands import searchmark

PAGE = (ROOT / "docs" / "archive.md").read_text()


def without_entries(text: str) -> str:
    return re.sub(r"^[0-9a-f]{8}  \d{4}-\d\d-\d\d \d\d:\d\d", "ID  TIME", text, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_list_on_the_page_is_the_one_that_is_printed(tmp_path: Path) -> None:
    shown = re.search(r"<!-- output: history -->\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    shutil.copytree(ROOT / "examples" / "quickstart", tmp_path / "quickstart")
    run = ["--gold-set=quickstart/suite.yaml", "--corpus=quickstart/corpus.jsonl", "--agents", "bm25", "keyword", "--num-runs=1"]
    assert searchmark("compare", *run, cwd=tmp_path).returncode == 0
    assert without_entries(searchmark("history", cwd=tmp_path).stdout) == without_entries(shown[1])
