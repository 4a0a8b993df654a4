"""``searchmark docs``: the pages are where messages point to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from searchmark.cli import options
from searchmark.cli.main import main
from searchmark.cli.options import topics
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "searchmark"
POINTER = re.compile(r"searchmark docs ([a-z][a-z0-9/-]*)")


def messages() -> Iterator[tuple[str, str]]:
    """Every text in the source that is not a docstring, with its file."""
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield file.name, node.value


@pytest.mark.slow
def test_messages_point_to_pages_that_exist_and_not_to_files_that_may_not() -> None:
    found = list(messages())
    pointed = {topic for _, text in found for topic in POINTER.findall(text)}
    assert pointed <= topics().keys()
    assert "running" in pointed
    assert [each for each in found if re.search(r"docs/[a-z-]+\.md", each[1])] == []


def test_without_a_topic_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines[:-2]]
    files = {file.relative_to(ROOT / "docs").with_suffix("").as_posix().lower() for file in (ROOT / "docs").rglob("*.md")}
    assert set(named) == files
    assert named == sorted(named, key=lambda name: ("/" in name, name))
    assert {"running", "howto/gate-in-ci", "suites/symbols"} <= files
    assert all(len(line.split()) > 1 for line in lines[:-2])


@pytest.mark.parametrize("topic", ["agents", "docs/agents.md", "AGENTS"])
def test_a_page_is_printed_as_it_is(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", topic]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "agents.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("topic", "file"),
    [
        ("howto/gate-in-ci", "howto/gate-in-ci.md"),
        ("docs/suites/symbols.md", "suites/symbols.md"),
        ("howto", "howto/README.md"),
        ("howto/README", "howto/README.md"),
        ("gold-sets", "gold-sets.md"),  # a page goes before the index of the folder with its name
    ],
)
def test_a_page_in_a_folder_is_printed(topic: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", topic]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / file).read_text("utf-8")


def test_a_page_without_its_folder_is_named_as_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "gate-in-ci"]) == 4
    assert "did you mean howto/gate-in-ci" in capsys.readouterr().err


def test_pages_that_were_installed_go_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "agents.md").write_text("# Installed\n")
    monkeypatch.setattr(options, "FOLDERS", (tmp_path, *options.FOLDERS))
    assert list(topics()) == ["agents"]


def test_pages_that_are_nowhere_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "FOLDERS", (tmp_path,))
    assert main(["docs"]) == 4
    assert "not installed" in capsys.readouterr().err
