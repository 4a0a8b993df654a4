"""Modes: an agent with several ways to be asked becomes several agents, each under a name of its own."""

from __future__ import annotations

import pytest

from searchmark import AgentSpec, Case, Experiment, Judgment, Suite, UsageError, load_agent, run_suite
from searchmark.agents.registry import agent_in_one_mode, agents_in_modes, check_spec, create_agent
from searchmark.config.agents import BuiltInSource, parse_source
from searchmark.running.agent_check import check_agent

LOOKUP = AgentSpec.from_plain(
    {
        "name": "lookup",
        "class": "bm25",
        "config": {"k1": 1.5, "b": 0.3},
        "env": ["TOKEN"],
        "modes": {"fts5": None, "fts5+vector": {"k1": 0.9}, "slow": {"b": 0.9}},
    }
)
OTHER = AgentSpec("other", BuiltInSource("fts5"), modes={"fts5": {}, "trigram": {"tokenizer": "trigram"}})
BM25 = load_agent("bm25")
SUITE = Suite.from_cases("s", [Case("c", "tea", (Judgment("a", "id"),))])


def names(agents: list[AgentSpec]) -> list[str]:
    return [agent.name for agent in agents]


def test_a_mode_is_the_agent_with_other_options_under_the_name_of_the_mode() -> None:
    expected = AgentSpec(
        "fts5+vector", BuiltInSource("bm25"), {"k1": 0.9, "b": 0.3}, env=("TOKEN",), qualified="lookup:fts5+vector"
    )
    assert LOOKUP.in_mode("fts5+vector") == expected


def test_a_mode_that_changes_nothing_may_be_a_name_alone() -> None:
    assert LOOKUP.in_mode("fts5").config == {"k1": 1.5, "b": 0.3}


def test_options_of_a_mode_come_before_what_the_source_says() -> None:
    spec = AgentSpec("rg", parse_source("command:rg {query}"), modes={"words": {"argv": ["rg", "-w", "{query}"]}})
    assert spec.in_mode("words").options == {"argv": ["rg", "-w", "{query}"]}


def test_every_agent_is_asked_in_all_of_its_modes() -> None:
    assert names(agents_in_modes([BM25, LOOKUP])) == ["bm25", "fts5", "fts5+vector", "slow"]


def test_wanted_modes_come_in_the_order_in_which_they_were_named() -> None:
    assert names(agents_in_modes([LOOKUP, BM25], ["slow", "fts5", "slow"])) == ["slow", "fts5", "bm25"]


def test_modes_that_would_be_called_alike_get_the_name_of_their_agent() -> None:
    fts5 = load_agent("fts5")
    assert names(agents_in_modes([LOOKUP, OTHER])) == ["lookup:fts5", "fts5+vector", "slow", "other:fts5", "trigram"]
    assert names(agents_in_modes([fts5, LOOKUP], ["fts5"])) == ["fts5", "lookup:fts5"]


def test_one_mode_is_enough_where_there_is_only_one() -> None:
    only = AgentSpec("x", BuiltInSource("bm25"), modes={"fast": {"k1": 0.9}})
    assert agent_in_one_mode(only) == AgentSpec("fast", BuiltInSource("bm25"), {"k1": 0.9}, qualified="x:fast")
    assert agent_in_one_mode(BM25) is BM25


@pytest.mark.parametrize(
    ("agents", "wanted", "sentence"),
    [
        ([LOOKUP], ["x"], "there is no mode 'x': lookup has fts5, fts5+vector, slow"),
        ([BM25], ["x"], "there is no mode 'x': bm25 has no modes"),
        ([LOOKUP, BM25], ["fts5", "x"], "there is no mode 'x': lookup has fts5, fts5+vector, slow; bm25 has no modes"),
        ([LOOKUP, OTHER], ["slow"], "there is no mode 'slow': other has fts5, trigram"),
        ([LOOKUP, LOOKUP], [], "duplicate agent name 'lookup'; name it once, with --mode for each of its modes that you want"),
    ],
)
def test_a_mode_that_is_not_there_is_refused_with_those_that_are(agents, wanted, sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        agents_in_modes(agents, wanted)
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    "modes", [["fast"], [], {"fast": "k1"}, {"": {}}, {1: {}}], ids=["a list", "an empty list", "no options", "no name", "a number"]
)
def test_modes_of_another_shape_are_refused(modes) -> None:
    with pytest.raises(UsageError, match="modes of 'x' are not names, each with the options that differ"):
        AgentSpec.from_plain({"name": "x", "modes": modes})


class TestFromPython:
    def test_an_experiment_asks_all_modes(self) -> None:
        assert [label.agent for label in Experiment(SUITE, [LOOKUP]).labels] == ["fts5", "fts5+vector", "slow"]

    @pytest.mark.parametrize("ask", [lambda: run_suite(SUITE, LOOKUP), lambda: check_agent(LOOKUP), lambda: create_agent(LOOKUP)])
    def test_what_asks_once_wants_one_mode(self, ask) -> None:
        with pytest.raises(UsageError, match=r"several modes, fts5, fts5\+vector, slow; choose one with AgentSpec.in_mode"):
            ask()

    @pytest.mark.slow
    def test_one_mode_can_be_checked(self) -> None:
        check_agent(LOOKUP.in_mode("slow"))


class TestPermissions:
    LOCAL_OR_NOT = AgentSpec(
        "s",
        BuiltInSource("semantic"),
        modes={"local": {"embedder": "hashing"}, "far": {"embedder": {"name": "openai", "model": "m", "url": "http://x/v1"}}},
    )

    def test_every_mode_is_checked(self) -> None:
        with pytest.raises(UsageError, match="'far' asks a service"):
            check_spec(self.LOCAL_OR_NOT, network=False)

    def test_a_mode_that_nobody_asks_for_forbids_nothing(self) -> None:
        check_spec(self.LOCAL_OR_NOT.in_mode("local"), network=False)

    def test_an_arm_is_asked_in_one_way(self) -> None:
        with pytest.raises(UsageError, match="the arm 'x' has modes, and an arm is asked in one way"):
            load_agent("hybrid", arms=["fts5", {"name": "x", "source": "bm25", "modes": {"fast": {}}}])
