"""The examples of docs/http-presets.md can be copied as they are."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from searchmark import AgentSpec
from searchmark.agents.outside.http import HttpAgent
from searchmark.agents.outside.presets import PRESETS
from searchmark.agents.registry import settings_of_agent
from searchmark.io.data import parse_yaml
from searchmark.io.secrets import variables_in

PAGE = Path(__file__).parents[3] / "docs" / "http-presets.md"
BLOCKS = re.findall(r"```yaml\n(agents:.*?)```", PAGE.read_text(), re.DOTALL)
AGENTS = [AgentSpec.from_plain(entry) for block in BLOCKS for entry in parse_yaml(PAGE, block, numbers=True)["agents"]]


def test_every_preset_has_an_example() -> None:
    assert {spec.config["preset"] for spec in AGENTS if "preset" in spec.config} == set(PRESETS)


@pytest.mark.parametrize("spec", AGENTS, ids=lambda spec: spec.name)
def test_an_example_makes_an_agent(spec: AgentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables_in(dict(spec.config)):
        monkeypatch.setenv(name, "planted-value")
    with closing(HttpAgent(settings_of_agent(HttpAgent.Config, spec))) as agent:
        assert agent.describe()["url"].startswith(spec.config["url"])
