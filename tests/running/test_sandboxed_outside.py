"""Outside agents in a sandbox: they search as they do elsewhere, and reach what their config names and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, Case, Experiment, Judgment, RunSettings, SearchScope, Suite
from searchmark.config.agents import parse_source
from searchmark.running.sandbox.view import has_foreign_code, needs_of
from tests.support.listener import Listener, listening
from tests.support.sandboxes import MECHANISMS, available
from tests.support.small_histories import FILE, write_history

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes")

KEY = {"headers": {"X-Api-Key": "${PLANTED_API_KEY}"}}


@pytest.mark.parametrize(
    ("source", "config", "network", "variables"),
    [
        ("http://h/?q={query}", {}, True, set()),
        ("http://h/?q={query}&k=${OTHER}", KEY, True, {"PLANTED_API_KEY", "OTHER"}),
        ("http", {"url": "http://h/", "body": {"deep": ["${DEEP}", {"q": "{query}"}]}}, True, {"DEEP"}),
        ("mcp:http://h/", KEY, True, {"PLANTED_API_KEY"}),
        ("mcp", {"url": "http://h/${PART}"}, True, {"PART"}),
        ("mcp:server --flag", {}, False, set()),
        ("command:rg {query}", {}, False, set()),
        ("hybrid", {"arms": ["bm25", {"name": "x", "source": "http://h/?q={query}", "config": KEY}]}, True, {"PLANTED_API_KEY"}),
        ("rerank", {"arm": "mcp:http://h/"}, True, set()),
    ],
)
def test_what_an_outside_agent_needs_follows_from_its_spec(
    source: str, config: dict[str, Any], network: bool, variables: set[str]
) -> None:
    found = needs_of(AgentSpec("a", parse_source(source), config))
    assert (found.network, found.variables) == (network, variables)


def test_a_program_needs_itself_its_scripts_its_folder_and_what_it_reads(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("search.py", "other.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "data").mkdir()
    argv = [sys.executable, "search.py", "{query}", "{corpus}", "absent.py", "data"]
    spec = AgentSpec("a", parse_source("command"), {"argv": argv, "reads": ["data", "nowhere"]})
    assert needs_of(spec).files == (Path(sys.executable), tmp_path / "search.py", tmp_path / "data")
    in_folder = AgentSpec("a", parse_source("mcp:python3 x.py"), {"folder": "data"})
    assert needs_of(in_folder).files == (tmp_path / "data", Path(shutil.which("python3") or ""))
    assert needs_of(AgentSpec("a", parse_source("command:no-such-program {query}"))).files == ()


STATES = [
    {b"app.py": (FILE, b"def login(): pass\n"), b"docs.md": (FILE, b"discount\n")},
    {b"app.py": (FILE, b"login login\n"), b"cart.py": (FILE, b"discount discount\n")},
    {b"main.py": (FILE, b"login\n"), b"cart.py": (FILE, b"nothing\n")},
]


@pytest.fixture(params=MECHANISMS)
def level(request: pytest.FixtureRequest) -> Any:
    return available(request.param)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening(["app.py"]) as found:
        yield found


@pytest.fixture
def lair(tmp_path: Path, monkeypatch) -> Path:
    """A folder that programs are in, with a gold set beside them; what is searched and read lies elsewhere."""
    folder = tmp_path / "work"
    folder.mkdir(mode=0o755)
    (tmp_path / "searched").mkdir()
    (tmp_path / "searched" / "app.py").write_text("login")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index").write_text("index")
    (folder / "gold.json").write_text("{}")
    (folder / "beside.txt").write_text("private")
    shutil.copy(Path(__file__).with_name("outside_spy.py"), folder / "spy.py")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("password")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PLANTED_API_KEY", "a-key-of-42-letters")
    monkeypatch.setenv("PLANTED_WORD", "xyzzy")
    monkeypatch.chdir(folder)
    return tmp_path


def spy(lair: Path, listener: Listener, *more: str) -> list[str]:
    port = listener.url.rpartition(":")[2].partition("/")[0]
    targets = [lair / "work" / "gold.json", lair / "home" / ".netrc", lair / "work" / "beside.txt", port, lair / "data" / "index"]
    return [sys.executable, "spy.py", os.pathsep.join(map(str, targets)), *more]


def hits(lair: Path, spec: AgentSpec, level: Any) -> list[str]:
    suite = Suite.from_cases("s", [Case("c", "login", (Judgment("app.py", "path"),))])
    hidden = (lair / "work" / "gold.json",)
    options = RunSettings(num_runs=1, sandbox=level)
    ran = Experiment(suite, [spec], SearchScope(corpus=str(lair / "searched")), options=options, hidden=hidden).run()
    (answer,) = ran.runs[0].answers
    assert answer.status == "ok", answer.details and answer.details.failure
    return [hit.id for hit in answer.hits]


def spec_of(kind: str, argv: list[str], **changes: Any) -> AgentSpec:
    tool = {"tool": "search", "results": {"format": "json"}} if kind == "mcp" else {}
    config = {"argv": argv, "folder": str(Path.cwd()), **tool, **changes.pop("config", {})}
    return AgentSpec("spy", parse_source(kind), config, **changes)


EVERYTHING = ["gold", "home", "beside", "read", "network", "PLANTED_WORD"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["command", "mcp"])
def test_without_a_sandbox_a_program_reaches_all_but_keys(kind: str, lair: Path, listener: Listener) -> None:
    last = {"command": "{query}", "mcp": "--serve"}[kind]
    assert hits(lair, spec_of(kind, spy(lair, listener, last)), "off") == EVERYTHING


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["command", "mcp"])
@pytest.mark.parametrize(
    ("changes", "reached"),
    [
        ({}, ["beside"]),
        ({"config": {"folder": None}}, ["nothing"]),
        ({"config": {"folder": None, "reads": ["../data"]}}, ["read"]),
        ({"network": True, "env": ("PLANTED_WORD", "PLANTED_API_KEY")}, ["beside", "network", "PLANTED_API_KEY", "PLANTED_WORD"]),
    ],
)
def test_in_a_sandbox_a_program_reaches_what_its_config_names(
    kind: str, changes: dict[str, Any], reached: list[str], lair: Path, listener: Listener, level: Any
) -> None:
    last = {"command": "{query}", "mcp": "--serve"}[kind]
    argv = spy(lair, listener, last)
    argv[1] = str(Path.cwd() / argv[1])
    assert hits(lair, spec_of(kind, argv, **changes), level) == reached


@pytest.mark.slow
def test_a_service_is_asked_from_a_sandbox_with_its_key(lair: Path, listener: Listener, level: Any) -> None:
    source = parse_source(f"{listener.url}?q={{query}}&key=${{PLANTED_API_KEY}}")
    assert hits(lair, AgentSpec("service", source), level) == ["app.py"]
    assert listener.requests[-1] == "/search?q=login&key=a-key-of-42-letters"


@pytest.mark.slow
def test_ripgrep_finds_the_same_at_parents_in_a_sandbox(tmp_path: Path, level: Any) -> None:
    commits = write_history(tmp_path / "shop", STATES)
    cases = [
        Case(f"c{n}", query, (Judgment("x", "path"),), fields={"parent_commit": commit})
        for n, (query, commit) in enumerate(zip(["login", "discount", "login"], commits, strict=True))
    ]
    config = {"argv": ["rg", "--sort", "path", "-l", "-e", "{query}", "{corpus}"], "nothing": [1]}
    where = SearchScope(repositories=(str(tmp_path / "shop"),), snapshots=("parent",))

    def answers(sandbox: Any) -> list[list[str]]:
        options = RunSettings(num_runs=1, sandbox=sandbox)
        ran = Experiment(Suite.from_cases("s", cases), [AgentSpec("rg", parse_source("command"), config)], where, options=options)
        return [[hit.id for hit in answer.hits] for answer in ran.run().runs[0].answers]

    assert answers(level) == answers("off") == [["app.py"], ["cart.py"], ["main.py"]]


@pytest.mark.parametrize(
    ("arm", "foreign"),
    [("http://h/?q={query}", False), ("command:rg {query}", True), ("mcp:server", True), ("mcp:http://h/", True)],
)
def test_caches_are_guarded_where_an_arm_runs_code_of_others(arm: str, foreign: bool) -> None:
    assert has_foreign_code(AgentSpec("a", parse_source("hybrid"), {"arms": ["bm25", arm]})) is foreign
