"""The page about http has every option; its examples make agents, and read answers of the shape that each is written for."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from searchmark import AgentSpec
from searchmark.agents.outside.http import HttpAgent
from searchmark.agents.outside.options import HttpSettings
from searchmark.agents.outside.results import ResultReader
from searchmark.agents.registry import settings_of_agent
from searchmark.io.data import parse_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "http.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_every_option_is_described() -> None:
    assert [each.name for each in fields(HttpSettings) if f"`{each.name}`" not in PAGE] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_makes_an_agent(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\$\{(\w+)\}", example):
        monkeypatch.setenv(name, "a-value-for-now")
    (entry,) = parse_yaml(Path("page"), example)["agents"]
    spec = AgentSpec.from_plain(entry)
    assert HttpAgent(settings_of_agent(HttpSettings, spec)).describe()["url"] == spec.config["url"]


ANSWERS = {
    "shop": json.dumps({"results": [{"sku": "a", "relevance": 0.5}]}),
    "elastic": json.dumps({"hits": {"total": {"value": 1}, "hits": [{"_index": "docs", "_id": "a", "_score": 0.5}]}}),
    "legacy": '<p>1 page</p>\n<a class="hit" href="a">A</a>\n',
    "hosted": json.dumps(
        {"documents": [{"doc": {"name": "a", "score": 0.5}}], "billing": {"credits": 0.25}, "usage": {"total": 7}}
    ),
    "vectors": json.dumps({"result": [{"id": 1, "score": 0.5, "payload": {"path": "a"}}], "status": "ok"}),
}
SCORES = {"legacy": None}
PRICES = {"hosted": (0.25, 7)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_reads_an_answer_of_its_service(example: str) -> None:
    (entry,) = parse_yaml(Path("page"), example)["agents"]
    config = settings_of_agent(HttpSettings, AgentSpec.from_plain(entry))
    read = ResultReader(config.results, "json").read(ANSWERS[entry["name"]])
    assert [(hit.id, hit.score) for hit in read.hits] == [("a", SCORES.get(entry["name"], 0.5))]
    assert (read.cost, read.tokens) == PRICES.get(entry["name"], (None, None))
