"""The command lines and the config file that this project was asked for, as they were written down then."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from searchmark.cli.main import main
from searchmark.config import load_config
from tests.support.histories import long_history
from tests.support.small_histories import git

CONFIG = """\
# benchmark_config.yaml
dataset:
  repository_path: "/path/to/repo"
  exclude_patterns:
    - "*.md"
    - "*.json"
    - "test_*"
    - "docs/*"
  min_files: 2
  max_files: 20
  include_merge_commits: false

evaluation:
  num_runs: 3
  timeout_seconds: 30
  randomize_order: true

agents:
  - name: "keyword_search"
    class: "KeywordSearchAgent"
    config:
      case_sensitive: false
  
  - name: "semantic_search"
    class: "SemanticSearchAgent"
    config:
      model: "sentence-transformers/all-MiniLM-L6-v2"
      top_k: 10

output:
  directory: "./benchmark_results"
  formats: ["json", "csv", "markdown"]
  generate_visualizations: true
"""  # noqa: W293  # as it was written
GENERATE = """\
python -m benchmark generate \\
  --repo /path/to/repo \\
  --output gold_set.json \\
  --config benchmark_config.yaml
"""
EVALUATE = """\
python -m benchmark evaluate \\
  --gold-set gold_set.json \\
  --agent semantic_search \\
  --output results/
"""
COMPARE = """\
python -m benchmark compare \\
  --gold-set gold_set.json \\
  --agents keyword_search semantic_search hybrid \\
  --output comparison_report.md
"""


def arguments(command: str, repository: Path) -> list[str]:
    """What follows the name of the program; the example's path becomes that of a repository that exists."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["python", "-m", "benchmark"]
    return [str(repository) if word == "/path/to/repo" else word for word in words[3:]]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", data=b"".join(long_history(200, files=20)))
    return folder


def test_the_config_file_is_valid_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "benchmark_config.yaml"
    file.write_text(CONFIG)
    config = load_config(file)
    assert (config.dataset.min_files, config.dataset.exclude_patterns) == (2, ("*.md", "*.json", "test_*", "docs/*"))
    assert (config.evaluation.num_runs, config.evaluation.timeout_seconds) == (3, 30.0)
    assert [agent.name for agent in config.agents] == ["keyword_search", "semantic_search"]
    assert config.output.formats == ("json", "csv", "markdown")


def test_the_three_command_lines_run_as_they_are_written(repository: Path, capsys) -> None:
    Path("benchmark_config.yaml").write_text(CONFIG)
    assert main(arguments(GENERATE, repository)) == 0
    gold = json.loads(Path("gold_set.json").read_text())
    assert gold["test_cases"]
    assert all(len(case["ground_truth_files"]) >= 2 for case in gold["test_cases"])
    sample = gold | {"test_cases": gold["test_cases"][:12]}
    Path("gold_set.json").write_text(json.dumps(sample))
    assert main(arguments(EVALUATE, repository)) == 0
    report = json.loads(Path("results/report.json").read_text())
    assert report["agents"]["semantic_search"]["counts"]["ok"] == 12
    assert report["agents"]["semantic_search"]["snapshot"] == "parent"
    assert main(arguments(COMPARE, repository)) == 2  # no file of this made-up history has all words of a query
    assert "keyword_search: all of 12 answers are empty" in capsys.readouterr().out
    page = Path("comparison_report.md").read_text()
    assert all(name in page.replace("\\_", "_") for name in ("keyword_search", "semantic_search", "hybrid"))
