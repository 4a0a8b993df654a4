"""From names to agents: whose code runs is never in doubt, and what is broken has a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark.agents.agent import AgentSpec, RetrievalAgent
from searchmark.corpora.corpus import Corpus, load_corpus
from searchmark.errors import UsageError
from searchmark.records import Document
from searchmark.registry import ALIASES, BUILT_IN, create, known_agents, load_agent, spec_of

CORPUS = Corpus.of("c", [Document("a", "text")])


@pytest.mark.parametrize(
    ("text", "name", "source"),
    [
        ("bm25", "bm25", "bm25"),
        ("KeywordSearchAgent", "KeywordSearchAgent", "keyword"),
        ("keyword_search", "keyword_search", "keyword"),
        ("mine=bm25", "mine", "bm25"),
        ("my.module:Agent", "Agent", "my.module:Agent"),
        ("some/file.py:Agent", "Agent", "some/file.py:Agent"),
        ("mine=my.module:Agent", "mine", "my.module:Agent"),
    ],
)
def test_a_name_stands_for_an_agent(text: str, name: str, source: str) -> None:
    assert spec_of(text) == AgentSpec(name, source)


def test_every_alias_and_built_in_name_can_be_made() -> None:
    assert set(ALIASES.values()) <= set(BUILT_IN)
    for name in BUILT_IN:
        assert isinstance(create(spec_of(name)), RetrievalAgent)


def test_the_config_says_what_a_name_means() -> None:
    configured = [AgentSpec("fast", "bm25", {"k1": 2.0})]
    assert spec_of("fast", configured) == AgentSpec("fast", "bm25", {"k1": 2.0})


def test_code_that_only_a_config_names_is_not_run() -> None:
    configured = [AgentSpec("mine", "evil.module:Agent", {"a": 1})]
    with pytest.raises(UsageError, match=r"which is code: .*--agent mine=evil.module:Agent"):
        spec_of("mine", configured)
    assert spec_of("mine=evil.module:Agent", configured) == AgentSpec("mine", "evil.module:Agent", {"a": 1})


@pytest.mark.parametrize("text", ["my.module:Agent", "a.py:B", "mine=my.module:Agent", "plugged"])
def test_without_foreign_code_only_built_in_agents_will_do(text: str, plugin) -> None:
    with pytest.raises(UsageError, match="--no-exec refuses"):
        spec_of(text, foreign=False)
    assert spec_of("bm25", foreign=False).source == "bm25"


@pytest.mark.parametrize(
    ("text", "hint"), [("bm52", "did you mean bm25"), ("keyword_serch", "keyword_search"), ("zzz", "there are bm25")]
)
def test_an_unknown_name_gets_the_nearest_ones(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        spec_of(text)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch):
    """A package with an entry point, as an installer would leave it."""
    (tmp_path / "plugged_in.py").write_text(
        "class Agent:\n    def initialize(self, corpus): pass\n    def retrieve(self, query, k): return ['a']\n"
    )
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[searchmark.agents]\nplugged = plugged_in:Agent\nbroken = plugged_out:Agent\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_installed_package_brings_agents_along(plugin: Path) -> None:
    assert [(each.name, each.origin) for each in known_agents() if each.name in ("plugged", "broken")] == [
        ("broken", "plugged 1.0"),
        ("plugged", "plugged 1.0"),
    ]
    assert list(create(spec_of("plugged")).retrieve("q", 3)) == ["a"]  # type: ignore[call-overload]


def test_a_broken_plug_in_is_named(plugin: Path) -> None:
    with pytest.raises(UsageError, match=r"the agent 'broken' \(broken\) cannot be loaded: ModuleNotFoundError"):
        create(spec_of("broken"))


BROKEN = {
    "import nothing_like_this": "ModuleNotFoundError",
    "1/0": "ZeroDivisionError",
    "class Agent(": "SyntaxError",
    "": "has no attribute 'Agent'",
    "Agent = 3": "Agent is not a class",
    "class Agent:\n    def __init__(self): raise ValueError('no key')": "cannot be made: ValueError: no key",
    "class Agent:\n    def retrieve(self, query): pass": "has no method 'initialize'",
    "class Agent:\n    retrieve = 3\n    def initialize(self, corpus): pass": "has no method 'retrieve'",
    "class Agent:\n    def __init__(self, key): pass": "missing 1 required positional argument: 'key'",
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.items(), ids=[*BROKEN.values()])
def test_an_agent_that_cannot_be_made_says_why(code: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(UsageError, match="the agent 'Agent'") as caught:
        create(spec_of(f"{file}:Agent"))
    assert reason in str(caught.value)


def test_options_are_checked_by_name() -> None:
    with pytest.raises(UsageError, match=r"agent bm25, config.k9: is not a known field"):
        create(load_agent("bm25", k9=1))
    with pytest.raises(UsageError, match=r"agent bm25, config.k1: "):
        create(load_agent("bm25", k1="high"))


SIGNATURES = [
    ("def initialize(self, repo_path: str)", "def retrieve(self, query: str)", str, None),
    ("def initialize(self, repo_path)", "def retrieve(self, query)", str, None),
    ("def initialize(self, where: str)", "def retrieve(self, query, k=10)", str, 3),
    ("def initialize(self, where: 'Path')", "def retrieve(self, query, *, top_k=10)", Path, 3),
    ("def initialize(self, corpus)", "def retrieve(self, query, k)", Corpus, 3),
    ("def initialize(self, corpus)", "def retrieve(self, *args)", Corpus, 3),
    ("def initialize(self, corpus, more=None)", "def retrieve(self, query, limit=5, more=None)", Corpus, 3),
]


@pytest.mark.parametrize(("initialize", "retrieve", "given", "k"), SIGNATURES)
def test_an_agent_is_adapted_by_its_signature(initialize: str, retrieve: str, given: type, k: int | None, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    first = initialize.split("self, ")[1].split(":", maxsplit=1)[0].split(",", maxsplit=1)[0].rstrip(")")
    file = tmp_path / "mine.py"
    file.write_text(
        f"class Agent:\n    {initialize}: self.given = {first}\n"
        f"    {retrieve}:\n        seen = {{**locals()}}\n        seen.pop('self')\n        self.seen = seen\n        return [type(self.given).__name__, repr(seen)]\n"
    )
    agent = create(spec_of(f"{file}:Agent"))
    agent.initialize(load_corpus(tmp_path / "corpus"))
    kind, seen = agent.retrieve("what", 3)  # type: ignore[misc]
    assert kind == (given.__name__ if given is not Path else "PosixPath")
    assert "what" in seen
    assert ("3" in seen) == (k is not None)
    assert agent.update(None) is False  # type: ignore[arg-type]
    assert agent.index_bytes() is None
    agent.reset()
    agent.close()


def test_an_agent_that_wants_a_folder_says_so_where_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Agent:\n    def initialize(self, repo_path: str): pass\n    def retrieve(self, query): return []\n")
    with pytest.raises(UsageError, match="wants a folder to search"):
        create(spec_of(f"{file}:Agent")).initialize(CORPUS)


def test_arms_that_are_code_are_refused(plugin: Path) -> None:
    with pytest.raises(UsageError, match="the arm 'x' of 'hybrid' is code"):
        create(load_agent("hybrid", arms=["bm25", {"name": "x", "source": "plugged_in:Agent"}]))
    assert create(load_agent("hybrid", arms=["keyword_search", "plugged"]))
    with pytest.raises(UsageError, match="--no-exec refuses"):
        create(load_agent("hybrid", arms=["bm25", "plugged"]), foreign=False)
