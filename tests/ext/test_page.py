"""Every snippet of docs/pytest.md runs, and the example does what it says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.ext.support import in_git, run_pytest

PAGE = (ROOT / "docs" / "pytest.md").read_text()
COMMANDS = re.findall(r"^\$ pytest (.*)$", PAGE, re.MULTILINE)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


pytestmark = pytest.mark.slow


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS)
def test_commands_of_the_page_succeed(workplace: Path, arguments: str) -> None:
    done = run_pytest(workplace, *shlex.split(arguments))
    assert done.code == 0, done.output


def test_the_suite_of_the_page_is_collected_and_passes(workplace: Path) -> None:
    (suite,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (workplace / "examples" / "pytest" / "page.searchmark.yaml").write_text(suite)
    done = run_pytest(workplace, "examples/pytest/page.searchmark.yaml")
    assert set(done.outcomes) == {"case[create]", "gate[nDCG@10 >= 0.8]", "gate[create must_be_first issue.create]"}
    assert done.code == 0


def test_the_message_of_the_page_is_what_a_rule_says(workplace: Path) -> None:
    file = workplace / "examples" / "pytest" / "search.searchmark.yaml"
    file.write_text(file.read_text().replace("nDCG@10: 0.75", "nDCG@10: 0.8"))
    (message,) = re.findall(r"```text\n(Expected .*?)```", PAGE, re.DOTALL)
    assert message in run_pytest(workplace, "examples/pytest", "-k", "nDCG").output


def test_expectations_are_updated_as_the_page_says(workplace: Path) -> None:
    ((variable, value, file, said),) = re.findall(r"```text\n(UPDATE\w+)=(\w+) pytest (.*)\n(.*)\n```", PAGE)
    in_git(workplace)
    done = run_pytest(workplace, file, **{variable: value})
    assert done.code == 0, done.output
    assert said in done.output


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_python_of_the_page_runs_beside_the_example(workplace: Path, code: str) -> None:
    test = code if "def test_" in code else "def test_snippet():\n" + "".join(f"    {line}\n" for line in code.splitlines())
    (workplace / "examples" / "pytest" / "test_page.py").write_text(test)
    assert run_pytest(workplace, "examples/pytest/test_page.py").code == 0
