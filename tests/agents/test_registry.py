"""From names to agents: whose code runs is never in doubt, and what is broken has a name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from searchmark import AgentSpec, Corpus, Document, RetrievalAgent, UsageError, load_agent, load_corpus
from searchmark.agents.adapters import NormalizedArm
from searchmark.agents.hybrid import CombiningAgent
from searchmark.agents.registry import agent_class_of, agent_names, check_spec, create_agent, has_own_corpus, spec_of
from searchmark.config.agents import AGENT_ALIASES, BUILT_IN, AgentSource, BuiltInSource, PythonSource

CORPUS = Corpus.of("c", [Document("a", "text")])


EVIL = PythonSource("evil.module", "Agent")


@pytest.mark.parametrize(
    ("text", "name", "source"),
    [
        ("bm25", "bm25", BuiltInSource("bm25")),
        ("KeywordSearchAgent", "KeywordSearchAgent", BuiltInSource("keyword")),
        ("keyword_search", "keyword_search", BuiltInSource("keyword")),
        ("mine=bm25", "mine", BuiltInSource("bm25")),
        ("my.module:Agent", "Agent", PythonSource("my.module", "Agent")),
        ("my.module:Outer.Inner", "Outer.Inner", PythonSource("my.module", "Outer.Inner")),
        ("some/file.py:Agent", "Agent", PythonSource("some/file.py", "Agent")),
        ("mine=my.module:Agent", "mine", PythonSource("my.module", "Agent")),
    ],
)
def test_a_name_stands_for_an_agent(text: str, name: str, source: AgentSource) -> None:
    assert spec_of(text) == AgentSpec(name, source)


def test_every_alias_and_built_in_name_can_be_made() -> None:
    assert set(AGENT_ALIASES.values()) <= set(BUILT_IN)
    for name in BUILT_IN:
        assert isinstance(create_agent(spec_of(name)), RetrievalAgent)


def test_every_built_in_agent_that_asks_others_is_known_to_do_so() -> None:
    asking = [name for name in BUILT_IN if issubclass(agent_class_of(spec_of(name)), CombiningAgent)]
    assert asking == [name for name, agent in BUILT_IN.items() if agent.combines]


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        ("bm25", False),
        ("http://127.0.0.1/search?q={query}", True),
        ("command:lookup {query}", True),
        ("command:rg -l {query} {corpus}", False),
        ("command:lookup ${corpus} {query}", True),
        ({"name": "rg", "source": "command", "config": {"argv": ["rg", "{query}"], "folder": "{corpus}"}}, False),
        ({"name": "server", "source": "mcp:server", "config": {"arguments": {"where": ["{corpus}"]}}}, False),
        ("mcp:server", True),
        ("module:Class", None),
        ({"name": "hybrid", "config": {"arms": ["http://127.0.0.1/", "mcp:server"]}}, True),
        ({"name": "hybrid", "config": {"arms": ["http://127.0.0.1/", "bm25"]}}, False),
        ({"name": "rerank", "config": {"arm": "http://127.0.0.1/"}}, False),
    ],
)
def test_which_agents_have_a_corpus_of_their_own_is_known_without_running_code(agent: str | dict, own: bool | None) -> None:
    assert has_own_corpus(AgentSpec.from_plain(agent)) is own


def test_the_config_says_what_a_name_means() -> None:
    configured = [AgentSpec("fast", BuiltInSource("bm25"), {"k1": 2.0})]
    assert spec_of("fast", configured) == AgentSpec("fast", BuiltInSource("bm25"), {"k1": 2.0})


def test_code_that_only_a_config_names_is_not_run() -> None:
    configured = [AgentSpec("mine", EVIL, {"a": 1})]
    with pytest.raises(UsageError, match=r"which is code: .*--agent mine=evil.module:Agent"):
        spec_of("mine", configured)
    assert spec_of("mine=evil.module:Agent", configured) == AgentSpec("mine", EVIL, {"a": 1})


@pytest.mark.parametrize("text", ["my.module:Agent", "a.py:B", "mine=my.module:Agent", "plugged"])
def test_without_foreign_code_only_built_in_agents_will_do(text: str, plugin) -> None:
    with pytest.raises(UsageError, match="--no-exec allows built-in agents only"):
        spec_of(text, foreign=False)
    assert spec_of("bm25", foreign=False).source == BuiltInSource("bm25")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bm52", "there is no agent 'bm52'; did you mean bm25? For your own agent use module:Class."),
        ("keyword_serch", "did you mean keyword_search"),
        ("zzz", "there is no agent 'zzz'; available: bm25, fts5, "),
        ("zzz", ", semantic, vector-table. For your own agent use module:Class."),
    ],
)
def test_an_unknown_name_gets_the_nearest_ones(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec_of(text)
    assert sentence in str(caught.value)


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
    monkeypatch.delitem(sys.modules, "plugged_in", raising=False)
    return tmp_path


def test_an_installed_package_brings_agents_along(plugin: Path) -> None:
    assert agent_names()[-2:] == ["broken", "plugged"]
    assert create_agent(spec_of("plugged")).retrieve("q", 3) == ["a"]


def test_a_broken_plug_in_is_named(plugin: Path) -> None:
    with pytest.raises(UsageError, match=r"the agent 'broken' \(broken\) cannot be loaded: ModuleNotFoundError"):
        create_agent(spec_of("broken"))


BROKEN = {
    "import nothing_like_this": "ModuleNotFoundError",
    "1/0": "ZeroDivisionError",
    "class Agent(": "SyntaxError",
    "": "has no attribute 'Agent'",
    "Agent = 3": "Agent is neither a class nor a function",
    "class Agent:\n    def __init__(self): raise ValueError('no key')": "cannot be made: ValueError: no key",
    "class Agent:\n    def initialize(self, corpus): pass": "has no method 'retrieve'",
    "class Agent:\n    retrieve = 3\n    def initialize(self, corpus): pass": "has no method 'retrieve'",
    "class Agent:\n    def __init__(self, key): pass": "missing 1 required positional argument: 'key'",
}


@pytest.mark.parametrize(("code", "reason"), BROKEN.items(), ids=[*BROKEN.values()])
def test_an_agent_that_cannot_be_made_says_why(code: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(UsageError, match="the agent 'Agent'") as caught:
        create_agent(spec_of(f"{file}:Agent"))
    assert reason in str(caught.value)


def test_options_are_checked_by_name() -> None:
    with pytest.raises(UsageError, match=r"agent bm25, config.k9: is not a known field"):
        create_agent(load_agent("bm25", k9=1))
    with pytest.raises(UsageError, match=r"agent bm25, config.k1: "):
        create_agent(load_agent("bm25", k1="high"))


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
    agent = create_agent(spec_of(f"{file}:Agent"))
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
    with pytest.raises(UsageError, match="needs a folder to search"):
        create_agent(spec_of(f"{file}:Agent")).initialize(CORPUS)


def test_arms_that_are_code_are_refused(plugin: Path) -> None:
    with pytest.raises(UsageError, match="the arm 'x' of 'hybrid' is code"):
        load_agent("hybrid", arms=["bm25", {"name": "x", "source": "plugged_in:Agent"}])
    assert create_agent(load_agent("hybrid", arms=["keyword_search", "plugged"]))


def test_the_answers_of_an_arm_are_read_before_they_are_fused(plugin: Path) -> None:
    (plugin / "plugged_in.py").write_text(
        "def Agent(query, k):\n    yield 'a#chunk-2', 3.0\n    yield {'id': 'a#chunk-1', 'score': 2.0}\n    yield 'b', 1.0\n"
    )
    arm = {"name": "mine", "source": "plugged", "chunk_of": "{file}#chunk-{n}"}
    for agent in (load_agent("hybrid", arms=[arm]), load_agent("rerank", arm=arm)):
        created = create_agent(agent)
        created.initialize(CORPUS)
        found = created.retrieve("text", 5)
        assert (set(found.files), found.dropped) == ({"a", "b"}, {"merged_chunks": 1, "not_chunks": 1})


def test_an_arm_whose_answer_cannot_be_read_fails_with_its_name(plugin: Path) -> None:
    (plugin / "plugged_in.py").write_text("def Agent(query, k): return ['a', None]\n")
    agent = create_agent(load_agent("hybrid", arms=["plugged"]))
    agent.initialize(CORPUS)
    with pytest.raises(UsageError, match=r"the arm 'plugged' failed: .*hit 2 of the answer cannot be read: None is not a hit"):
        agent.retrieve("text", 5)


NESTED = {"name": "inner", "source": "rerank", "config": {"arm": {"name": "innermost", "source": "plugged"}}}


@pytest.mark.parametrize("arms", [["bm25", "plugged"], ["bm25", NESTED]])
def test_without_foreign_code_every_arm_is_checked_before_anything_is_started(arms: list, plugin: Path) -> None:
    configured = [AgentSpec("both", BuiltInSource("hybrid"), {"arms": arms})]
    assert spec_of("both", configured)
    with pytest.raises(UsageError, match="'plugged' is not built in, and --no-exec allows built-in agents only"):
        spec_of("both", configured, foreign=False)
    with pytest.raises(UsageError, match="'plugged' is not built in, and --no-exec allows built-in agents only"):
        create_agent(configured[0], foreign=False)


def test_the_arms_of_a_foreign_agent_are_checked_where_it_runs(plugin: Path) -> None:
    (plugin / "asking.py").write_text(
        "from searchmark import AgentSpec, RetrievalAgent\n\n\nclass Asking(RetrievalAgent):\n"
        "    def arms(self): return {'x': AgentSpec.from_plain({'name': 'x', 'source': 'plugged_in:Agent'})}\n"
    )
    with pytest.raises(UsageError, match="the arm 'x' of 'Asking' is code"):
        create_agent(spec_of("asking:Asking"))


def test_arms_without_end_are_one_sentence() -> None:
    arm: dict = {"name": "again", "source": "rerank", "config": {}}
    arm["config"]["arm"] = arm
    with pytest.raises(UsageError, match="the arm 'again' is nested more than 20 deep"):
        load_agent("rerank", arm=arm)


FUNCTIONS = {
    "def search(query, k): return ['a', 'b'][:k]": (["a", "b"], None),
    "def search(query): return ['a', 'b']": (["a", "b"], None),
    "def search(query, *, top_k=1): return ['a', 'b'][:top_k]": (["a", "b"], None),
    "def search(query, k): return [('a', 2.0), ['b', 1]]": (["a", "b"], [2.0, 1]),
    "def search(query, k):\n    yield 'a', 2.0\n    yield 'b', 1.0": (["a", "b"], [2.0, 1.0]),
    "import searchmark\ndef search(query, k): return searchmark.RetrievalResult(['a'], [3.0])": (["a"], [3.0]),
    "class Engine:\n    def __call__(self, query, k): return ['a']\nsearch = Engine()": (["a"], None),
    "class Engine:\n    def initialize(self, corpus): pass\n    def retrieve(self, query): return ['a']\nsearch = Engine()": (
        ["a"],
        None,
    ),
    "class Engine:\n    def initialize(self, corpus): pass\n    def retrieve(self, query): return ['a']\ndef search(): return Engine()": (
        ["a"],
        None,
    ),
}


@pytest.mark.parametrize(("code", "found"), FUNCTIONS.items(), ids=[*FUNCTIONS])
def test_a_function_or_an_instance_in_a_file_is_an_agent(code: str, found: tuple, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(code)
    agent = create_agent(spec_of(f"{tmp_path / 'mine.py'}:search"))
    agent.initialize(CORPUS)
    result = NormalizedArm(agent).retrieve("q", 2)
    assert (result.files, result.scores) == found
    assert (agent.update(None), agent.describe()) == (False, {})  # type: ignore[arg-type]


def test_what_is_made_already_takes_no_options(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def search(query, k): return []\n")
    with pytest.raises(UsageError, match=r"takes no options; it was given depth"):
        create_agent(load_agent(f"{tmp_path / 'mine.py'}:search", depth=3))


def test_an_agent_of_another_make_describes_itself_if_it_can(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Agent:\n    def initialize(self, corpus): pass\n    def retrieve(self, query): return []\n"
        "    def describe(self): return {'model': 'mine'}\n"
    )
    assert create_agent(spec_of(f"{tmp_path / 'mine.py'}:Agent")).describe() == {"model": "mine"}


def test_a_model_from_a_folder_may_hold_code_and_is_not_loaded_without_foreign_code(tmp_path: Path) -> None:
    named = AgentSpec("semantic", BuiltInSource("semantic"), {"model": str(tmp_path)})
    described = AgentSpec("rerank", BuiltInSource("rerank"), {"reranker": {"name": "cross-encoder", "model": str(tmp_path)}})
    for spec in (named, described):
        check_spec(spec)
        with pytest.raises(UsageError, match=r"loads a model from a folder .* and --no-exec allows built-in agents only"):
            check_spec(spec, foreign=False)


def test_a_file_that_is_named_twice_is_loaded_once(tmp_path: Path) -> None:
    (tmp_path / "pickled_agent.py").write_text("class Mine:\n    def retrieve(self, query): return []\n")
    spec = spec_of(f"{tmp_path / 'pickled_agent.py'}:Mine")
    assert agent_class_of(spec) is agent_class_of(spec)
