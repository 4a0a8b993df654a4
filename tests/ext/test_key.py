"""A run is shared by those who would get the same one, and by no one else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from searchmark import AgentSpec, Config, RunSettings, UsageError
from searchmark.config.agents import BuiltInSource
from searchmark.testing.suites import SuiteUnderTest
from tests.ext.support import shop


def key_of(folder: Path, config: Config = Config()) -> str:  # noqa: B008  # frozen
    return SuiteUnderTest.read(folder / "search.searchmark.yaml", config, print).key


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
    assert key_of(tmp_path) != key_of(tmp_path, Config(evaluation=RunSettings(depth=5)))


MODES = AgentSpec("lookup", BuiltInSource("bm25"), {"b": 0.3}, modes={"fts5": {}, "fts5+vector": {"k1": 0.9}})


@pytest.mark.parametrize("agent", ["", "agent: lookup\n"], ids=["the only one", "named"])
def test_the_header_says_in_which_mode_an_agent_is_asked(tmp_path: Path, agent: str) -> None:
    config = Config(agents=(MODES,))
    suite = "schema_version: 1\ncorpus: docs\ncases: [{id: a, query: tea, judgments: [{target: tea.md}]}]\n" + agent
    with pytest.raises(UsageError, match=r"several modes, fts5, fts5\+vector; choose one: write 'mode: NAME' into the suite"):
        SuiteUnderTest.read(shop(tmp_path / "without", suite) / "search.searchmark.yaml", config, print)
    opened = SuiteUnderTest.read(shop(tmp_path / "with", f"{suite}mode: fts5+vector\n") / "search.searchmark.yaml", config, print)
    assert (opened.spec.name, opened.spec.config) == ("fts5+vector", {"b": 0.3, "k1": 0.9})
    assert ("--agent lookup --mode fts5+vector" in opened.command) == (not agent)


def test_the_same_content_is_the_same_run(tmp_path: Path) -> None:
    assert key_of(shop(tmp_path)) == key_of(tmp_path)
