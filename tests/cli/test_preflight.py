"""All agents are started before the first case: one that cannot start costs a line, and what is missing can be skipped."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree as ET

import pytest

from tests.support.commands import searchmark

WORDS = ("tea", "mugs", "milk", "honey", "sugar", "coffee")

AGENTS = '''
from pathlib import Path


class Live:
    """Notes everything that it is asked, under its own name."""

    def initialize(self, corpus):
        self._note("initialize")

    def retrieve(self, query, k):
        self._note(query)
        return [f"{query}.md"]

    def _note(self, what):
        with Path(__file__).with_name("log.txt").open("a") as file:
            file.write(f"{type(self).__name__} {what}\\n")


class Other(Live):
    pass


class Locked(Live):
    def initialize(self, corpus):
        self._note("initialize")
        raise ValueError("wrong password")


class Gone(Live):
    def initialize(self, corpus):
        raise FileNotFoundError("there is no embeddings.db")


class Picky(Live):
    """Looks for a file of each query, and does not find that of the last one, which warms agents up."""

    def retrieve(self, query, k):
        if query == Path(__file__).with_name("last.txt").read_text():
            raise FileNotFoundError(f"there is no file for {query}")
        return [f"{query}.md"]
'''

LOCKED, GONE = "ValueError: wrong password", "FileNotFoundError: there is no embeddings.db"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Six documents, as many cases, and agents."""
    (tmp_path / "docs").mkdir()
    for word in WORDS:
        (tmp_path / "docs" / f"{word}.md").write_text(f"about {word}\n")
    cases = [{"id": word, "query": word, "judgments": [{"target": f"{word}.md"}]} for word in WORDS]
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
    (tmp_path / "mine.py").write_text(AGENTS)
    return tmp_path


def run(shop: Path, verb: str, *arguments: str) -> CompletedProcess[str]:
    return searchmark(verb, "--gold-set", "suite.json", "--corpus", "docs", "--no-archive", *arguments, cwd=shop)


def compare(shop: Path, *agents: str, options: tuple[str, ...] = ()) -> CompletedProcess[str]:
    return run(shop, "compare", "--agents", *(f"mine.py:{agent}" for agent in agents), *options)


def log_of(shop: Path, agent: str) -> list[str]:
    return [line.split()[1] for line in (shop / "log.txt").read_text().splitlines() if line.startswith(f"{agent} ")]


@pytest.mark.slow
def test_every_agent_is_started_before_the_first_case(shop: Path) -> None:
    compare(shop, "Live", "Other", "Locked")
    lines = (shop / "log.txt").read_text().splitlines()
    before = lines[: lines.index("Locked initialize")]
    assert [line.split()[0] for line in before] == ["Live", "Live", "Other", "Other"]  # the index, and the search that warms up


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--no-warm-up",), ("--block", "2"), ("--jobs", "2", "--block", "6")], ids=" ".join)
def test_an_agent_is_asked_the_same_whoever_else_cannot_start(shop: Path, options: tuple[str, ...]) -> None:
    run(shop, "evaluate", "--agent", "mine.py:Live", "--num-runs", "2", *options)
    alone = log_of(shop, "Live")
    (shop / "log.txt").unlink()
    compare(shop, "Live", "Locked", "Other", options=("--num-runs", "2", *options))
    together = log_of(shop, "Live")
    if "--jobs" in options:  # each worker has an index and a search of its own
        assert {word: together.count(word) >= 2 for word in WORDS} == dict.fromkeys(WORDS, True)
    else:
        assert together == alone == log_of(shop, "Other")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_agent_that_cannot_start_costs_a_line_and_the_others_are_compared(shop: Path, jobs: str) -> None:
    options = ("--jobs", jobs, "-o", "report.json", "-o", "report.md")
    done = compare(shop, "Live", "Other", "Locked", options=options)
    assert done.returncode == 2
    assert f"searchmark: Locked: the agent could not be started: {LOCKED}" in done.stderr.splitlines()
    report = json.loads((shop / "report.json").read_text())
    assert [(pair["baseline"], pair["candidate"]) for pair in report["pairs"]] == [("Live", "Other")]
    assert [each["code"] for each in report["audit"] if each["severity"] == "error"] == ["not-started"]
    assert "INVALID" not in (shop / "report.md").read_text() + done.stdout
    assert {case["status"] for case in report["agents"]["Locked"]["cases"].values()} == {"not_run"}


@pytest.mark.slow
def test_nothing_is_decided_about_an_agent_that_cannot_start(shop: Path) -> None:
    table = {"baseline": "Live", "candidate": "Locked", "rules": [{"decision": "keep it", "above": 0}], "otherwise": "drop it"}
    (shop / "searchmark.yaml").write_text(json.dumps({"compare": {"decisions": [table]}}))
    done = compare(shop, "Live", "Other", "Locked", options=("-q",))
    assert done.returncode == 2, done.stderr
    assert "drop it" not in done.stdout
    assert "keep it" not in done.stdout


MISSING = {
    "database": (
        "{source: vector-table, config: {database: nope.db, table: items, embedder: hashing}}",
        "there is no database nope.db",
    ),
    "model": (
        "{source: semantic, config: {embedder: {name: onnx, model: no/such/model}}}",
        "the model 'no/such/model' is not a folder",
    ),
    "program": ("{source: 'command:no-such-program {query}'}", "the program 'no-such-program' cannot be started"),
    "service": ("{source: http, config: {url: 'http://127.0.0.1:9/?q={query}', retries: 0}}", "Connection refused"),
    "module": ("needy:search", "No module named 'needy'"),
    "package": ("{source: acme-search}", "there is no agent 'acme-search'"),
    "file": ("mine.py:Gone", GONE),
}
MISTAKES = {
    "password": ("mine.py:Locked", LOCKED),
    "own file": ("nowhere.py:Live", "there is no file nowhere.py"),
    "own name": ("mine.py:Lvie", "did you mean Live?"),
    "typing": ("bm52", "did you mean bm25"),
}


def asked(shop: Path, agent: str, *options: str) -> CompletedProcess[str]:
    """Evaluate an agent by its name, or as a config describes it."""
    (shop / "agents.yaml").write_text(f"agents: [{agent.replace('{', '{name: it, ', 1) if agent.startswith('{') else ''}]\n")
    name = "it" if agent.startswith("{") else agent
    corpus = () if "127.0.0.1" in agent else ("--corpus", "docs")
    arguments = ("--gold-set", "suite.json", "--config", "agents.yaml", "--agent", name, "--no-archive", *corpus, *options)
    return searchmark("evaluate", *arguments, cwd=shop)


@pytest.mark.slow
@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_skipped_on_request_alone(shop: Path, what: str) -> None:
    agent, reason = MISSING[what]
    done = asked(shop, agent)
    assert done.returncode in (4, 5)
    assert reason in " ".join((done.stdout + done.stderr).split())
    done = asked(shop, agent, "--skip-if-missing", "-o", "junit.xml")
    assert done.returncode == 0, done.stderr
    assert "searchmark: skipped: " in done.stderr
    assert reason in done.stderr
    tests = list(ET.parse(shop / "junit.xml").iter("testcase"))  # noqa: S314  # it was just written
    assert [test.get("name") for test in tests] == list(WORDS)
    assert all(reason in (test.find("skipped") or test[0]).get("message", "") for test in tests)


@pytest.mark.slow
@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_never_skipped(shop: Path, what: str) -> None:
    agent, reason = MISTAKES[what]
    done = asked(shop, agent, "--skip-if-missing")
    assert done.returncode in (4, 5)
    assert reason in " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--corpus", "nowhere"), 0),
        (("--corpus", "docs", "--gold-set", "nowhere.json"), 4),
        (("--corpus", "docs", "--against", "nowhere.jsonl", "--fail-under", "RR=0.1"), 2),
        (("--corpus", "docs", "-o", "docs/tea.md/report.json"), 4),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_only_what_is_searched_and_who_searches_may_be_missing(shop: Path, arguments: tuple[str, ...], code: int) -> None:
    done = searchmark(
        "evaluate", "--gold-set", "suite.json", "--agent", "bm25", "--no-archive", "--skip-if-missing", *arguments, cwd=shop
    )
    assert done.returncode == code, done.stderr


@pytest.mark.slow
def test_the_header_of_a_suite_may_ask_for_it_and_bisecting_takes_no_skip_for_good(shop: Path) -> None:
    suite = json.loads((shop / "suite.json").read_text()) | {"skip_if_missing": True}
    (shop / "suite.json").write_text(json.dumps(suite))
    assert run(shop, "evaluate", "--agent", "mine.py:Gone").returncode == 0
    assert run(shop, "evaluate", "--agent", "mine.py:Gone", "--bisect", "--fail-under", "RR=0.5").returncode == 125
    assert run(shop, "evaluate", "--agent", "mine.py:Locked").returncode == 5


@pytest.mark.slow
def test_a_comparison_leaves_out_what_is_missing_and_is_skipped_where_one_agent_is_left(shop: Path) -> None:
    done = compare(shop, "Live", "Other", "Gone", options=("--skip-if-missing", "-o", "report.json"))
    assert done.returncode == 0, done.stderr
    assert f"searchmark: Gone: the agent could not be started: {GONE}" in done.stderr.splitlines()
    assert list(json.loads((shop / "report.json").read_text())["agents"]) == ["Live", "Other"]
    done = compare(shop, "Live", "Gone", options=("--skip-if-missing", "-o", "junit.xml"))
    assert (done.returncode, done.stdout) == (0, "")
    assert 'skipped="6"' in (shop / "junit.xml").read_text()


@pytest.mark.slow
def test_a_file_that_one_query_needs_is_no_reason_to_leave_an_agent_alone(shop: Path) -> None:
    compare(shop, "Live", "Other")
    (shop / "last.txt").write_text(log_of(shop, "Live")[1])
    done = run(shop, "evaluate", "--agent", "mine.py:Picky", "--skip-if-missing", "-o", "report.json")
    assert done.returncode == 2
    (agent,) = json.loads((shop / "report.json").read_text())["agents"].values()
    assert sorted(case["status"] for case in agent["cases"].values()) == ["error", *["ok"] * 5]
