"""A corpus that is named only to check hits changes nothing that is known of an agent that searches its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, Case, Experiment, Judgment, Run, SearchScope, Suite
from searchmark.records.provenance import IndexBuild
from tests.agents.outside.mcp_servers import SERVER
from tests.support.hostile_http import hostile_peer

SUITE = Suite.from_cases("s", [Case(case, case, (Judgment("a.txt"),)) for case in ("a", "b", "c")])
LOCAL = ("command", "mcp")


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, AgentSpec]]:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "mine.py").write_text("def search(query, k):\n    return ['a.txt']\n")
    program = [sys.executable, "-c", "print('a.txt')", "{query}"]
    server = {
        "argv": [sys.executable, SERVER, "stdio", str(folder)],
        "tool": "search",
        "results": {"nothing": "^No matches found$"},
    }
    with hostile_peer() as peer:
        service = {"url": f"{peer.url}/good/{{query}}", "results": {"hits": "hits"}}
        arms = {"arms": ["bm25", {"name": "service", "source": "http", "config": service}]}
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "http": ("http", service),
            "function": (f"{folder / 'mine.py'}:search", {}),
            "command": ("command", {"argv": program}),
            "mcp": ("mcp", server),
            "hybrid": ("hybrid", arms),
        }
        yield {
            name: AgentSpec.from_plain({"name": name, "source": source, "config": config})
            for name, (source, config) in kinds.items()
        }


@pytest.fixture
def corpus(tmp_path: Path) -> SearchScope:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("some words\n")
    return SearchScope(corpus=str(tmp_path / "docs"))


def run_of(spec: AgentSpec, where: SearchScope) -> Run:
    return Experiment(SUITE, [spec], where=where).run().runs[0]


@pytest.mark.parametrize("kind", ["http", "function", "command", pytest.param("mcp", marks=pytest.mark.slow)])
def test_its_index_is_not_known_with_and_without_a_corpus(kind: str, agents: dict[str, AgentSpec], corpus: SearchScope) -> None:
    alone, checked = (run_of(agents[kind], where).provenance for where in (SearchScope(), corpus))
    assert (alone.own_corpus, alone.index, checked.own_corpus, checked.index) == (True, IndexBuild(), True, IndexBuild())
    assert [each.memory_bytes is not None for each in (alone, checked)] == [kind in LOCAL] * 2
    assert (alone.service, checked.service) == (kind, None)


@pytest.mark.slow
def test_hits_are_checked_against_a_corpus_that_is_named(agents: dict[str, AgentSpec], corpus: SearchScope) -> None:
    alone, checked = (run_of(agents["command"], where) for where in (SearchScope(), corpus))
    assert alone.valid is None
    assert checked.valid is not None


@pytest.mark.slow
def test_of_one_that_asks_another_with_its_own_corpus_it_is_not_known_either(
    agents: dict[str, AgentSpec], corpus: SearchScope
) -> None:
    known = run_of(agents["hybrid"], corpus).provenance
    assert (known.own_corpus, known.index, known.memory_bytes) == (True, IndexBuild(), None)


def test_one_that_searches_what_it_is_given_knows_both(agents: dict[str, AgentSpec], corpus: SearchScope) -> None:
    known = run_of(AgentSpec.from_plain({"name": "bm25", "source": "bm25", "config": {}}), corpus).provenance
    assert (known.own_corpus, known.service) == (False, None)
    assert known.index is not None
    assert known.index.seconds is not None
    assert known.memory_bytes is not None
