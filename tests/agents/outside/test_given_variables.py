"""Programs get the secrets that their own agent names, and none of another arm's."""

from __future__ import annotations

from typing import Any

import pytest

from searchmark import AgentSpec
from searchmark.agents.registry import create_agent
from searchmark.config.agents import parse_source
from tests.agents.outside.conftest import Make
from tests.agents.outside.programs import python
from tests.support.hostile_http import Peer

VARIABLES = ("SHOPX_API_KEY", "SHOPX_PW", "SHOPX_PLAIN", "MY_TOKEN")
LISTS = "import os; print(*(name for name in sorted(os.environ) if name.startswith(('SHOPX', 'MY_'))), sep=chr(10))"


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, "Zq7vTk9Lm2p4RxWb8Yd")


def seen(arm: dict[str, Any], *others: dict[str, Any], **of_the_hybrid: Any) -> set[str]:
    """The variables that a program sees which is an arm beside others."""
    config = {"arms": [{"name": "lists", "source": "command", **arm}, *others]}
    agent = create_agent(AgentSpec("both", parse_source("hybrid"), config, **of_the_hybrid))
    try:
        return {name for name in agent.retrieve("red", 10).files if name in VARIABLES}
    finally:
        agent.close()


def test_the_key_of_an_http_arm_does_not_reach_the_program_of_another(agent: Make, peer: Peer) -> None:
    service = {"url": f"{peer.url}/good/{{query}}", "headers": {"X-Key": "${SHOPX_PW}", "X-Other": "${SHOPX_API_KEY}"}}
    other = {"name": "service", "source": "http", "config": {**service, "results": {"hits": "hits"}}}
    argv = list(python(LISTS, "{query}"))
    assert seen({"config": {"argv": argv}}, other) == {"SHOPX_PLAIN"}
    assert seen({"config": {"argv": argv}, "env": ["SHOPX_PW"]}, other) == {"SHOPX_PLAIN", "SHOPX_PW"}
    assert peer.heard[0].headers["x-key"] == "Zq7vTk9Lm2p4RxWb8Yd"


def test_a_program_gets_what_its_hybrid_is_given_and_not_what_another_program_is() -> None:
    argv = list(python(LISTS, "{query}"))
    other = {"name": "other", "source": "command", "config": {"argv": list(python("print()", "{query}"))}, "env": ["MY_TOKEN"]}
    assert seen({"config": {"argv": argv}}, other, env=("SHOPX_API_KEY",)) == {"SHOPX_PLAIN", "SHOPX_API_KEY"}


def test_a_start_that_is_measured_gets_no_more_than_a_search() -> None:
    silent = python("import os, sys; sys.exit('MY_TOKEN' in os.environ)")
    assert seen({"config": {"argv": list(python(LISTS, "{query}")), "startup": list(silent)}}) == {"SHOPX_PLAIN"}
