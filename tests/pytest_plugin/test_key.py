"""A run is shared by those who would get the same one, and by no one else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark.config import Config
from searchmark.options.run_options import RunOptions
from searchmark.pytest_plugin.suites_under_test import open_suite
from tests.pytest_plugin.support import shop


def key_of(folder: Path, config: Config = Config()) -> str:  # noqa: B008  # frozen
    return open_suite(folder / "search.searchmark.yaml", config).key


def append(name: str) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write("# changed\n")

    return changed


@pytest.mark.parametrize(
    "change",
    [
        append("search.searchmark.yaml"),
        append("shop.py"),
        append("docs/tea.md"),
        append("docs/new.md"),
        append("searchmark-baseline.jsonl"),
    ],
    ids=["suite", "agent", "document", "new document", "baseline"],
)
def test_another_content_is_another_run(tmp_path: Path, change: Callable[[Path], object]) -> None:
    before = key_of(shop(tmp_path))
    change(tmp_path)
    assert key_of(tmp_path) != before


def test_other_options_are_another_run(tmp_path: Path) -> None:
    shop(tmp_path)
    assert key_of(tmp_path) != key_of(tmp_path, Config(evaluation=RunOptions(depth=5)))


def test_the_same_content_is_the_same_run(tmp_path: Path) -> None:
    assert key_of(shop(tmp_path)) == key_of(tmp_path)
