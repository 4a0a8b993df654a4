"""What agents need in a sandbox, and that the built-in ones answer there as they do elsewhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, Case, Experiment, Judgment, RunSettings, SearchScope, Suite, UsageError
from searchmark.agents.registry import check_spec
from searchmark.config.agents import parse_source
from searchmark.formats.corpora.locations import Commit
from searchmark.running.sandbox.view import AgentNeeds, build_view, needs_of, saved_index_files
from tests.agents.tiny_bert import write_folder
from tests.support.sandboxes import mechanisms
from tests.support.small_histories import FILE, LINK, PROGRAM, write_history

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes")

SERVED = {"name": "openai", "model": "m"}


@pytest.mark.parametrize(
    ("source", "config", "network", "variables"),
    [
        ("bm25", {}, False, set()),
        ("semantic", {"embedder": SERVED}, True, {"OPENAI_API_KEY"}),
        ("semantic", {"embedder": SERVED | {"key_variable": "MINE"}}, True, {"MINE"}),
        ("hybrid", {"arms": ["bm25", {"name": "semantic", "config": {"embedder": SERVED}}]}, True, {"OPENAI_API_KEY"}),
        ("rerank", {"reranker": {"name": "http", "url": "http://localhost"}}, True, set()),
        ("semantic", {"embedder": SERVED | {"url": "http://localhost:1/v1"}}, True, set()),
        ("semantic", {"embedder": SERVED | {"name": "ollama", "url": "http://localhost:1/v1"}}, True, set()),
        ("spy.py:Spy", {"key_variable": "MINE", "embedder": SERVED}, False, {"MINE"}),
    ],
)
def test_a_built_in_agent_that_asks_a_service_may_use_the_network_and_its_key(
    source: str, config: dict[str, Any], network: bool, variables: set[str]
) -> None:
    found = needs_of(AgentSpec("a", parse_source(source), config))
    assert (found.network, found.variables) == (network, variables)


FILTERS: list[dict[str, Any]] = [
    {"name": "openai"},
    {"name": ["T1"]},
    {"name": "pgvector"},
    {"name": "http", "key_variable": "MINE"},
    {"model": "readable.txt"},
    {"dsn": "postgresql://${MINE}@host/db", "url": "http://host"},
    {"database": "readable.txt", "vectors": "readable.txt", "index_file": "missing.npz"},
]


@pytest.mark.parametrize("values", FILTERS)
@pytest.mark.parametrize("source", ["bm25", "fts5", "semantic", "hybrid", "vector-table"])
def test_the_values_of_a_filter_grant_nothing(
    source: str, values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("readable.txt").touch()
    Path("table.db").touch()
    own: dict[str, Any] = {"filter": values}
    options = {
        "hybrid": {"arms": ["bm25", {"name": "semantic", "config": own}]},
        "vector-table": own | {"table": "t", "database": "table.db"},
    }
    spec = AgentSpec("a", parse_source(source), options.get(source, own))
    files = {"vector-table": (tmp_path / "table.db",)}
    assert needs_of(spec) == AgentNeeds(network=False, variables=frozenset(), files=files.get(source, ()))
    assert list(saved_index_files(spec)) == []
    check_spec(spec, foreign=False, network=False)


def test_an_index_that_is_not_there_cannot_be_made_in_a_sandbox(tmp_path: Path) -> None:
    spec = AgentSpec("a", parse_source("semantic"), {"index_file": str(tmp_path / "index.npz")})
    with pytest.raises(UsageError, match="a sandboxed agent cannot make it; make it without --sandbox first"):
        list(saved_index_files(spec))


BUILT_IN = ["bm25", "fts5", "hybrid", "keyword", "path-match", "popular", "random", "rerank", "semantic"]
QUERIES = ["who checks the password of a customer", "discount in the shopping cart", "login"]
STATES = [
    {"app/login.py": "def login(user): pass\n", "docs/cart.md": "discount for customers\n"},
    {"app/login.py": "def login(user):\n    check(password)\n", "docs/cart.md": "discount for customers\n"},
    {"core/login.py": "def login(user):\n    check(password)\n", "app/cart.py": "class Cart:\n    discount = 0\n"},
]


@pytest.fixture
def repository(tmp_path: Path) -> tuple[Path, list[str]]:
    trees = [{path.encode(): (FILE, text.encode()) for path, text in state.items()} for state in STATES]
    return tmp_path / "shop", write_history(tmp_path / "shop", trees)


def documents(folder: Path) -> Path:
    rows = [{"id": path, "title": path, "text": text} for path, text in STATES[-1].items()]
    file = folder / "documents.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def searched(kind: str, repository: tuple[Path, list[str]], folder: Path) -> SearchScope:
    return {
        "folder": lambda: SearchScope(corpus=str(repository[0])),
        "documents": lambda: SearchScope(corpus=str(documents(folder))),
        "commits": lambda: SearchScope(repositories=(str(repository[0]),), snapshots=("parent",)),
    }[kind]()


def answers(agents: Sequence[str | AgentSpec], cases: list[Case], where: SearchScope, level: Any) -> list[Any]:
    options = RunSettings(num_runs=1, sandbox=level)
    runs = Experiment(Suite.from_cases("s", cases), agents, where, options=options).run().runs
    return [(run.label.agent, [(answer.status, answer.hits) for answer in run.answers]) for run in runs]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "documents", "commits"])
def test_every_built_in_agent_answers_the_same_in_a_sandbox(kind: str, repository: tuple[Path, list[str]], tmp_path: Path) -> None:
    agents = [name for name in BUILT_IN if name != "popular" or kind == "commits"]  # which needs a history
    fields = [{"parent_commit": commit} for commit in repository[1]]
    cases = [Case(f"c{n}", query, (Judgment("x", "path"),), fields=fields[n]) for n, query in enumerate(QUERIES)]
    where = searched(kind, repository, tmp_path)
    plain = answers(agents, cases, where, "off")
    assert {name: answers(agents, cases, where, name) for name in mechanisms()} == dict.fromkeys(mechanisms(), plain)
    assert all(status in ("ok", "empty") for _, given in plain for status, _ in given)


@pytest.mark.slow
def test_a_model_in_a_folder_of_its_own_is_readable_in_a_sandbox(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "models" / "tiny")
    (tmp_path / "project").mkdir()
    where = SearchScope(corpus=str(documents(tmp_path / "project")))
    spec = AgentSpec("onnx", parse_source("semantic"), {"embedder": {"name": "onnx", "model": str(model), "cache": False}})
    cases = [Case("c", "search engine", (Judgment("x", "path"),))]
    plain = answers([spec], cases, where, "off")
    assert {name: answers([spec], cases, where, name) for name in mechanisms()} == dict.fromkeys(mechanisms(), plain)
    assert [status for _, given in plain for status, _ in given] == ["ok"]


def test_a_model_below_the_home_of_the_user_is_shown_to_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tiny").mkdir()
    spec = AgentSpec("a", parse_source("semantic"), {"embedder": {"name": "onnx", "model": "~/tiny"}})
    assert needs_of(spec).files == (tmp_path / "tiny",)


FOREIGN = Path(__file__).with_name("history_agents.py")
ODD_STATES: list[dict[bytes, tuple[str, bytes]]] = [
    {
        b"a.txt": (FILE, b"login"),
        b"deep/b.txt": (FILE, b"discount discount"),
        b"picture": (FILE, b"\0login"),
        b"link": (LINK, b"a.txt"),
    },
    {b"a.txt/now/a/folder": (PROGRAM, b"password"), b"deep/b.txt": (FILE, b"discount"), b"odd \xff name": (FILE, b"login")},
    {b"a.txt": (FILE, b""), b"deep": (FILE, b"password login"), b"odd \xff name": (FILE, b"login \xff")},
]


def history_cases(commits: list[str]) -> list[Case]:
    return [
        Case(f"c{n}", QUERIES[n], (Judgment("x", "path"),), fields={"parent_commit": commit}) for n, commit in enumerate(commits)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60, -60])
@pytest.mark.parametrize("agent", ["ReadsDocuments", "ReadsFiles"])
def test_an_agent_that_is_shown_only_files_answers_as_without_a_sandbox(agent: str, seconds: int, tmp_path: Path) -> None:
    commits = write_history(tmp_path / "shop", ODD_STATES, seconds=seconds)
    where = SearchScope(repositories=(str(tmp_path / "shop"),), snapshots=("parent",))
    plain = answers([f"{FOREIGN}:{agent}"], history_cases(commits), where, "off")
    old = os.umask(0o077)  # which must not keep the agent from its files
    try:
        found = {name: answers([f"{FOREIGN}:{agent}"], history_cases(commits), where, name) for name in mechanisms()}
    finally:
        os.umask(old)
    assert found == dict.fromkeys(mechanisms(), plain)
    assert [status for _, given in plain for status, _ in given] == ["ok", "ok", "ok"]


@pytest.mark.slow
def test_of_a_repository_that_holds_its_code_an_agent_sees_the_module_alone(tmp_path: Path) -> None:
    code = FOREIGN.read_bytes()
    trees = [{b"agent.py": (FILE, code), b"later.py": (FILE, b"%d" % number)} for number in range(2)]
    commits = write_history(tmp_path / "shop", trees)
    where = SearchScope(repositories=(str(tmp_path / "shop"),), snapshots=("parent",))
    agent = f"{tmp_path / 'shop' / 'agent.py'}:LooksAround"
    for name in mechanisms():
        ((_, given),) = answers([agent], history_cases(commits), where, name)
        assert [[hit.id for hit in hits] for _, hits in given] == [["agent.py"], ["agent.py"]], name


def test_an_agent_that_needs_the_history_and_asks_code_of_others_is_refused_in_a_sandbox(
    repository: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [
        AgentSpec("both", parse_source("hybrid")),
        AgentSpec("p", parse_source("popular")),
        AgentSpec("f", parse_source("plug-in")),
    ]
    monkeypatch.setattr("searchmark.running.sandbox.view.spec_and_arms", lambda _: iter(specs))
    locations = {"c": Commit("shop", repository[0], repository[1][0])}
    with pytest.raises(UsageError, match="asks 'popular', which reads the history, and code of others"):
        build_view(specs[0], needs_of(AgentSpec("p", parse_source("popular"))), locations, ())
