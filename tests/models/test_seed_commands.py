"""The three commands that this project was asked for run whole where the model that their config names is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark.cli.main import main
from tests.support.seed_commands import COMPARE, EVALUATE, GENERATE, arguments, keep_only, made_repository

pytestmark = pytest.mark.models


def test_the_three_command_lines_run_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = made_repository(tmp_path / "repository")
    monkeypatch.chdir(repository)
    assert main(arguments(GENERATE, repository)) == 0
    keep_only(12)
    assert main(arguments(EVALUATE, repository)) == 0
    report = json.loads(Path("results/report.json").read_text())
    searched = report["agents"]["semantic_search"]
    assert (searched["counts"]["ok"], searched["snapshot"]) == (12, "parent")
    assert searched["run"]["agent"]["config"]["model"] == "sentence-transformers/all-MiniLM-L6-v2"
    # keyword_search finds nothing: no file of this made-up history has all words of a query, and a run of zeros is not trusted.
    assert main(arguments(COMPARE, repository)) == 2
    page = Path("comparison_report.md").read_text().replace("\\_", "_")
    assert all(name in page for name in ("keyword_search", "semantic_search", "hybrid"))
