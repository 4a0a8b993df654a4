"""A project, and pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

OURS = ("CI", "UPDATE_BENCHMARK_EXPECTATIONS", "USE_REAL_EMBEDDINGS", "ONNX_PATH", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")

# Every outcome that an item can have: a pin that is met and one that is not, a low case, an error, known failures of both kinds.
AGENT = """
from pathlib import Path

ANSWERS = {
    "tea": ["tea.md", "mugs.md"],
    "mugs": ["tea.md", "mugs.md"],
    "milk": ["honey.md"],
    "honey": ["milk.md"],
    "sugar": ["sugar.md"],
}


def search(query, k):
    with Path(__file__).with_name("asked.txt").open("a") as file:
        file.write(query + "\\n")
    if query == "coffee":
        raise RuntimeError("the machine is broken")
    return ANSWERS[query]
"""
SUITE = """
schema_version: 1
agent: shop.py:search
corpus: docs
gates:
  thresholds: {Success@10: 0.5, P@5: 0.9}
  rules:
    - {cost: total, at_most: 1}
    - {measure: RR, where: {category: hot}, at_least: 0.4}
    - {measure: RR, against: baseline}
  each_case: {RR: 0.2}
  pins:
    - {case: tea, must_be_first: tea.md}
    - {case: mugs, must_be_first: mugs.md}
  known_failures:
    - {case: honey, measure: RR, reason: not written yet}
    - {case: sugar, measure: RR}
cases:
  - {id: tea, query: tea, category: hot, judgments: [{target: tea.md, grade: 1}]}
  - {id: mugs, query: mugs, category: hot, judgments: [{target: mugs.md, grade: 1}]}
  - {id: milk, query: milk, judgments: [{target: milk.md, grade: 1}]}
  - {id: honey, query: honey, judgments: [{target: honey.md, grade: 1}]}
  - {id: sugar, query: sugar, judgments: [{target: sugar.md, grade: 1}]}
"""
COFFEE = "  - {id: coffee, query: coffee, judgments: [{target: coffee.md, grade: 1}]}\n"


@dataclass(frozen=True)
class Tested:
    """What pytest printed, and the outcome of each item."""

    code: int
    output: str
    outcomes: Mapping[str, str]


def shop(folder: Path, suite: str = SUITE) -> Path:
    """A project with six documents, an agent and a suite."""
    (folder / "docs").mkdir(parents=True)
    for name in ("tea", "mugs", "milk", "honey", "sugar", "coffee"):
        (folder / "docs" / f"{name}.md").write_text(f"about {name}\n")
    (folder / "shop.py").write_text(AGENT)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "search.searchmark.yaml").write_text(suite)
    return folder


def in_git(folder: Path) -> None:
    """Make a folder a repository of an author with a name, whom approvals name."""
    for arguments in (["init", "-q"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)


def run_pytest(folder: Path, *arguments: str, **environment: str) -> Tested:
    """Run pytest as a user would; nothing that our own run was told reaches it."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    command = [sys.executable, "-m", "pytest", "-o", "junit_family=xunit2", "--junit-xml", "junit.xml", *arguments]
    done = subprocess.run(command, cwd=folder, env={**inherited, **environment}, capture_output=True, text=True, check=False)
    file = folder / "junit.xml"
    outcomes = dict(map(_outcome, ET.parse(file).iter("testcase"))) if file.exists() else {}  # noqa: S314  # pytest has just written it
    file.unlink(missing_ok=True)
    return Tested(done.returncode, done.stdout + done.stderr, outcomes)


def _outcome(case: ET.Element) -> tuple[str, str]:
    found = [child.get("type") or child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    tags = [child.tag for child in case if child.tag in ("failure", "error")]
    return case.get("name", ""), (tags or found or ["passed"])[0]
