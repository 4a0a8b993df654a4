"""What an agent says of itself comes with every preparation, and whatever it says, it costs no case."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from searchmark import RunSettings, load_agent
from searchmark.formats.corpora.locations import Folder
from searchmark.running.plan import Step
from searchmark.running.sandbox.launch import Launch
from searchmark.running.session import Session, WorkerEvent
from searchmark.running.worker.protocol import LONGEST_DESCRIPTION, reply_problem


def prepared(agent: Any, folder: Path) -> list[Any]:
    """The descriptions that one search leads to, and what became of it."""
    events: list[WorkerEvent] = []
    (folder / "a.py").write_text("text\n")
    step = Step("1", "text", Folder("corpus", folder))
    session = Session(load_agent(agent), RunSettings(num_runs=1), Launch(os.environ), step, events.append)
    outcome = session.ask(step)
    session.close()
    return [*(event.description for event in events if event.event == "prepared"), outcome.status]


def test_the_description_of_an_agent_comes_with_its_preparation(tmp_path: Path) -> None:
    said, status = prepared("random", tmp_path)
    assert (said, status) == ({"ranking": "random", "seed": 0}, "ok")


SAID = {
    "{'model': 'mine', 'dimension': 3}": {"model": "mine", "dimension": 3},
    "{}": {},
    "1 / 0": {"describe_failed": "ZeroDivisionError: division by zero"},
    "exit(3)": {"describe_failed": "SystemExit: 3"},
    "None": {"describe_failed": "TypeError: 'NoneType' object is not iterable"},
    "{'a': object}": {"describe_failed": "TypeError: Object of type type is not JSON serializable"},
    "{'a': float('nan')}": {"describe_failed": "ValueError: Out of range float values are not JSON compliant"},
    "{'a': 'x' * 10**6}": {"describe_failed": f"describe returned 1000009 characters of JSON, more than {LONGEST_DESCRIPTION}"},
    "{'a': eval('[' * 32 + '1' + ']' * 32)}": {"describe_failed": "describe returned data nested more than 32 deep"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("code", "said"), SAID.items(), ids=[*SAID])
def test_a_description_that_makes_no_sense_costs_no_case(code: str, said: dict, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "mine.py").write_text(
        "class Agent:\n    def initialize(self, corpus): pass\n    def retrieve(self, query): return ['a.py']\n"
        f"    def describe(self): return {code}\n"
    )
    description, status = prepared(f"{tmp_path / 'mine.py'}:Agent", tmp_path / "corpus")
    assert status == "ok"
    assert description.keys() == said.keys()
    assert str(description).startswith(str(said)[:-2])  # Python words some of its sentences differently from version to version


def test_an_agent_without_a_description_has_an_empty_one(tmp_path: Path) -> None:
    assert prepared(lambda query, k: ["a.py"], tmp_path) == [{}, "ok"]


DEEP = json.loads("[" * 32 + "1" + "]" * 32)
PREPARED = {"ns": 1, "around_ns": 0, "how": "initialised", "index_bytes": None, "memory": None, "description": {}}


@pytest.mark.parametrize("description", [None, [], "text", {"a": float("nan")}, {"a": "x" * LONGEST_DESCRIPTION}, {"a": DEEP}])
def test_the_runner_takes_no_description_that_the_worker_would_not_send(description: Any) -> None:
    assert reply_problem("prepare", PREPARED, 10) is None
    assert reply_problem("prepare", PREPARED | {"description": description}, 10) == (
        "the worker's answer is malformed: 'description' is wrong"
    )
