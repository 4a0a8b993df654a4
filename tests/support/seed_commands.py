"""The command lines and the config file that this project was asked for, as they were written down then."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

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


def made_repository(folder: Path) -> Path:
    """A repository with a history of 200 commits, and the config at its top, which names it."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "fast-import", "--quiet", data=b"".join(long_history(200, files=20)))
    (folder / "benchmark_config.yaml").write_text(CONFIG.replace("/path/to/repo", str(folder)))
    return folder


def keep_only(count: int) -> None:
    """Of the gold set, as many cases: enough to see that all of it runs."""
    file = Path("gold_set.json")
    gold = json.loads(file.read_text())
    file.write_text(json.dumps(gold | {"test_cases": gold["test_cases"][:count]}))
