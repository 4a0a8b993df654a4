"""The page about http has every option, and its examples are configs that work."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from searchmark.agents.agent import AgentSpec
from searchmark.agents.outside.http import HttpAgent
from searchmark.agents.outside.options import HttpConfig
from searchmark.files.yaml_files import parse_yaml
from searchmark.registry import config_of

PAGE = (Path(__file__).parents[3] / "docs" / "http.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_every_option_is_described() -> None:
    assert [each.name for each in fields(HttpConfig) if f"`{each.name}`" not in PAGE] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_makes_an_agent(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\$\{(\w+)\}", example):
        monkeypatch.setenv(name, "a-value-for-now")
    (entry,) = parse_yaml(Path("page"), example)["agents"]
    spec = AgentSpec.from_plain(entry)
    assert HttpAgent(config_of(HttpConfig, spec)).describe()["url"] == spec.config["url"]
