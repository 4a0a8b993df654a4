"""Nothing that comes through the pipe is believed: it costs a case or its own agent, and the others keep their report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from searchmark.agents.answers import LONGEST_ID
from searchmark.cli.main import main
from searchmark.running import run_builder
from searchmark.running.worker.frames import FrameBuffer, InvalidFrame, encode_frame
from searchmark.running.worker.process_tree import LINUX
from searchmark.running.worker.protocol import reply_problem

pytestmark = pytest.mark.slow  # every forgery takes a run of its own

HERE = Path(__file__).parent
CASES = [{"id": f"c{i}", "query": f"word{i}", "ground_truth_files": ["f1.txt"]} for i in range(12)]
ANSWER: dict[str, Any] = {"ns": 1, "ids": ["a"], "dropped": {}}
HUGE = "9" * 400


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        (tmp_path / "corpus" / f"f{number}.txt").write_text(f"word{number}")
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": CASES, "metadata": {}}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(agent: str, *more: str, **config: Any) -> tuple[int, dict[str, Any]]:
    """An agent of the forger's beside an honest one, run as a user would."""
    return compared_all(agent, {"mine": config}, *more)


def compared_all(agent: str, configs: dict[str, dict[str, Any]], *more: str) -> tuple[int, dict[str, Any]]:
    """The same with several of the forger's, by name."""
    agents = [{"name": name, "config": config} for name, config in configs.items()]
    Path("searchmark.yaml").write_text(json.dumps({"agents": agents}))
    forgers = [f"{name}={HERE / 'forger.py'}:{agent}" for name in configs]
    command = ["compare", "--config", "searchmark.yaml", "--gold-set", "suite.json", "--agents", *forgers, "bm25"]
    code = main([*command, "--corpus", "corpus", "--num-runs", "1", "--timeout", "20", *more, "-o", "out.json"])
    return code, json.loads(Path("out.json").read_text())["agents"]


FORGERIES = {
    "no JSON number": "ns='NaN'",
    "ns of 400 digits": f"ns='{HUGE}'",
    "ns that is longer than we waited": "ns='3600000000000'",
    "cost of 400 digits": f"cost='{HUGE}'",
    "cost beyond all bounds": "cost='1e300'",
    "negative cost": "cost='-1'",
    "a negative wait": "waited_ms='-1.0'",
    "nested metadata": "metadata='[' * 600 + ']' * 600",
    "infinite cost": "cost='1e999'",
    "scores of 400 digits": f"scores='[{HUGE}]'",
    "infinite scores": "scores='[1e999]'",
    "NaN in the metadata": """metadata='{"a": NaN}'""",
    "infinity in the metadata": """metadata='{"a": 1e999}'""",
    "long metadata": """metadata='"' + 'x' * 300000 + '"'""",
    "dropped of 400 digits": f"""dropped='{{"beyond_depth": {HUGE}}}'""",
    "unknown dropped": """dropped='{"anything": 1}'""",
    "lines beyond all bounds": "lines='[[1, 99999999999]]'",
    "a long id": """ids='["' + 'x' * 5000 + '"]'""",
    "a failure that is no text": "failed='[]'",
    "a part without hits": """ids='[]', part='true'""",
    "a part of a part": "part='1'",
    "a part with more than hits": "part='true'",
    "a part of a long id": """part='true', ns=None, dropped=None, ids='["' + 'x' * 5000 + '"]'""",
    "parts beyond the depth": """part='true', ns=None, dropped=None, ids='["a"]', times=101""",
    "a part, then an answer to something else": """part='true', ns=None, dropped=None, then='{"id": 7}'""",
    "a part, then rubbish": """part='true', ns=None, dropped=None, then='[' * 600""",
    "a part, then one hit too many": """part='true', ns=None, dropped=None, then='{"id": "QUESTION", "ns": 1, "ids": [%s"a"], "dropped": {}}' % ('"a",' * 99)""",
    "a failure of 1 MB": """failed='"' + 'x' * 1000000 + '"'""",
}


def test_a_forged_answer_costs_its_case_and_the_run_can_be_resumed(workplace: Path, capsys: Any) -> None:
    right = [f"right {number}" for number in range(len(FORGERIES))]
    cases = [{"id": query, "query": query, "ground_truth_files": ["f1.txt"]} for query in (*FORGERIES, *right)]
    Path("suite.json").write_text(json.dumps({"test_cases": cases, "metadata": {}}))
    code, agents = compared("ForgerOfMany", "--max-failures", "100", forgeries=FORGERIES)
    assert code == 2  # more than five per cent of the cases are lost
    statuses = {case: data["status"] for case, data in agents["mine"]["cases"].items()}
    assert statuses == dict.fromkeys(FORGERIES, "error") | dict.fromkeys(right, "ok")
    assert agents["bm25"]["counts"]["error"] == 0
    again, resumed = compared("ForgerOfMany", "--max-failures", "100", "--resume", forgeries=FORGERIES)
    assert (again, resumed["mine"]["counts"]) == (2, agents["mine"]["counts"])


def test_remarks_that_make_no_sense_are_left_out_and_the_run_can_be_resumed_and_read(workplace: Path, capsys: Any) -> None:
    code, agents = compared("Nested", "--save-run", "saved")
    assert (code, agents["mine"]["status"], agents["bm25"]["status"]) == (0, "ok", "ok")
    assert agents["mine"]["run"]["agent"]["description"] == {"describe_failed": "describe returned data nested more than 32 deep"}
    assert compared("Nested", "--resume")[0] == 0
    assert main(["evaluate", "--gold-set", "suite.json", "--run", "saved/mine.jsonl"]) == 0


def test_a_forged_description_of_many_levels_fails_its_agent_and_no_other(workplace: Path, capsys: Any) -> None:
    fields = {
        "memory": "1",
        "index_bytes": "1",
        "around_ns": "1",
        "how": '"initialised"',
        "description": f'{{"a": {"[" * 600 + "]" * 600}}}',
    }
    code, agents = compared("Forger", what=f"initialize:forged(**{fields})")
    assert (code, agents["bm25"]["status"], agents["bm25"]["counts"]["ok"]) == (2, "ok", 12)


def test_a_forged_goodbye_is_no_matter(workplace: Path, capsys: Any) -> None:
    memories = {"text": '"many"', "huge": HUGE, "negative": "-1", "list": "[]", "infinite": "1e999", "no_number": "NaN"}
    say = """close:say('{"id": "%%s", "memory": %s}' %% question()); time.sleep(3600)"""
    configs = {name: {"what": say % memory} for name, memory in memories.items()}
    code, agents = compared_all("Forger", configs)
    assert {name: agents[name]["counts"]["ok"] for name in agents} == dict.fromkeys([*memories, "bm25"], 12)
    assert (code, agents["bm25"]["status"]) == (0, "ok")
    assert compared_all("Forger", configs, "--resume")[0] == 0


def test_a_forged_preparation_fails_its_agent_and_no_other(workplace: Path, capsys: Any) -> None:
    fields = {"memory": "1", "index_bytes": "1", "ns": "1", "around_ns": "1", "description": "{}", "how": '"initialised"'}
    forged = ["memory", "index_bytes", "ns", "description", "how"]
    bodies = {name: ",".join(f'"{key}":{value}' for key, value in (fields | {name: '"many"'}).items()) for name in forged}
    say = """initialize:say('{"id": "%%s", %s}' %% question()); time.sleep(3600)"""
    code, agents = compared_all("Forger", {name: {"what": say % body} for name, body in bodies.items()})
    assert {name: agents[name]["status"] for name in agents} == dict.fromkeys(forged, "failed") | {"bm25": "ok"}
    assert (code, agents["bm25"]["counts"]["ok"]) == (2, 12)


def test_an_answer_to_the_next_question_is_refused(workplace: Path, capsys: Any) -> None:
    early = 'retrieve:[say(\'{"id": %d, "ns": 1, "ids": ["f0.txt"], "dropped": {}}\' % n) for n in range(30)]'
    _, agents = compared("Forger", what=early)
    cases = agents["mine"]["cases"]
    assert all(hit["id"] == "f1.txt" for case in cases.values() for hit in case["hits"])
    assert agents["mine"]["counts"]["error"] == 1


def test_parts_do_not_put_off_the_deadline(workplace: Path, capsys: Any) -> None:
    endless = """retrieve:import itertools
for n in itertools.count():
    say('{"id": "%s", "part": true, "ids": ["f1.txt"]}' % question())
    time.sleep(0.05)
"""
    code, agents = compared("Forger", "--timeout", "2", "--depth", "1000000", what=endless)
    assert (code, agents["mine"]["counts"]["timeout"], agents["mine"]["counts"]["ok"]) == (2, 1, 11)


def test_a_part_that_comes_after_its_answer_costs_one_case(workplace: Path, capsys: Any) -> None:
    late = """retrieve:say('{"id": "%s", "ns": 1, "ids": ["f1.txt"], "dropped": {}}' % question())
say('{"id": "%s", "part": true, "ids": ["f0.txt"]}' % question())"""
    _, agents = compared("Forger", what=late)
    assert agents["mine"]["counts"]["error"] == 1
    assert all(hit["id"] == "f1.txt" for case in agents["mine"]["cases"].values() for hit in case["hits"])


def test_an_unexpected_error_about_one_agent_fails_that_agent_only(
    workplace: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from searchmark.running.journal import Journal

    add = Journal.add

    def broken(self: Journal, case: str, entry: Any) -> None:
        if "mine" in self.path.name and case == "c5":
            raise OverflowError("int too large to convert to float")
        add(self, case, entry)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", broken)
        code, agents = compared("Forger", "--max-failures", "1")
    assert (code, agents["mine"]["status"], agents["bm25"]["status"]) == (2, "failed", "ok")
    assert agents["bm25"]["counts"]["not_run"] == 0 < agents["mine"]["counts"]["not_run"]
    assert "could not be asked to the end: OverflowError: int too large to convert to float" in capsys.readouterr().out
    code, agents = compared("Forger", "--resume")
    assert (code, agents["mine"]["counts"]["ok"]) == (0, 12)


# What is known of a run is put together when it begins, too: that of both agents is looked at first.
@pytest.mark.parametrize(
    ("step", "first"),
    [("run_from_entries", 1), ("index_build", 3), ("vector_statistics_of", 3)],
)
def test_a_run_that_cannot_be_put_together_fails_alone(
    step: str, first: int, workplace: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, calls = getattr(run_builder, step), []

    def broken_once(*arguments: Any) -> Any:
        calls.append(step)
        if len(calls) == first:
            raise TypeError("that is not a number")
        return work(*arguments)

    monkeypatch.setattr(run_builder, step, broken_once)
    code, agents = compared("Forger")
    assert (code, agents["mine"]["status"], agents["bm25"]["status"]) == (2, "failed", "ok")


@pytest.mark.parametrize(
    "body",
    [b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": ' + b"9" * 21 + b"}", b"[" * 100_000, b"\xff", b"[]", b"1"],
)
def test_a_message_is_a_json_object_without_odd_numbers(body: bytes) -> None:
    buffer = FrameBuffer(1 << 20)
    buffer.feed(encode_frame({})[:4] + len(body).to_bytes(4, "big") + body)
    with pytest.raises(InvalidFrame):
        buffer.take()


@pytest.mark.parametrize(
    ("operation", "wrong"),
    [
        ("load", {"code": 3, "resets": False, "counts": False, "needs_corpus": True}),
        ("load", {"code": "x" * 1000, "resets": False, "counts": False, "needs_corpus": True}),
        ("load", {"code": None}),
        ("close", {"memory": True}),
        ("again", {"ns": 1, "same": 1}),
        ("again", {"ns": 1 << 60, "same": True}),
        ("search", {**ANSWER, "ids": ["x" * (LONGEST_ID + 1)]}),
        ("search", {**ANSWER, "dropped": {"beyond_depth": -1}}),
        ("search", {**ANSWER, "scores": [True]}),
        ("search", {**ANSWER, "scores": [10**18]}),
        ("search", {"failed": "late", "ns": "1"}),
        ("search", {"failed": "late", "spent": "no"}),
    ],
)
def test_every_reply_has_a_shape(operation: str, wrong: dict[str, Any]) -> None:
    assert "the worker's answer is malformed" in (reply_problem(operation, wrong, 10) or "")


@pytest.mark.parametrize(
    ("operation", "right"),
    [
        ("load", {"code": None, "resets": True, "counts": False, "needs_corpus": True}),
        ("close", {"memory": None}),
        ("reset", {}),
        ("search", {**ANSWER, "scores": [1e308], "cost": 0, "metadata": {"a": [1, None]}, "lines": [[1, 2]]}),
        ("search", {"failed": "late", "ns": 3, "spent": True}),
    ],
)
def test_what_a_worker_says_by_itself_passes(operation: str, right: dict[str, Any]) -> None:
    assert reply_problem(operation, right, 10) is None


@pytest.mark.parametrize("liar", ["Liar", "EarlyHeader"])
def test_the_runners_time_stands_for_one_that_is_far_shorter_and_the_run_is_untrusted(
    liar: str, workplace: Path, capsys: Any
) -> None:
    code, agents = compared(liar)
    assert (code, agents["mine"]["status"], agents["mine"]["counts"]["ok"]) == (2, "untrusted", 12)
    assert agents["mine"]["latency_ms"]["cold"]["p50"] >= 200
    assert "of 12 searches are not believed" in capsys.readouterr().out
    assert compared(liar, "--resume")[0] == 2


def test_the_runners_time_stands_for_an_index_that_claims_to_take_none(workplace: Path, capsys: Any) -> None:
    code, agents = compared("SlowIndex")
    assert (code, agents["mine"]["status"]) == (2, "untrusted")
    assert agents["mine"]["index"]["seconds"] >= 0.5
    assert "0 of 12 searches and 1 preparations of the index are not believed" in " ".join(capsys.readouterr().out.split())


def test_a_time_that_is_longer_than_the_wait_costs_its_case(workplace: Path, capsys: Any) -> None:
    code, agents = compared("Boaster", "--max-failures", "3")
    assert (code, agents["mine"]["counts"]["ok"]) == (2, 0)


def test_an_agent_that_forgets_slowly_is_believed(workplace: Path, capsys: Any) -> None:
    code, agents = compared("SlowToForget")
    assert (code, agents["mine"]["status"]) == (0, "ok")
    assert agents["mine"]["latency_ms"]["cold"]["p50"] < 100


def test_an_agent_that_dies_while_it_is_loaded_fails_alone_and_is_refused_when_it_is_alone(workplace: Path, capsys: Any) -> None:
    code, agents = compared("Stillborn")
    assert (code, agents["mine"]["status"], agents["bm25"]["status"]) == (2, "failed", "ok")
    assert "the worker exited with code 3" in capsys.readouterr().out
    alone = ["evaluate", "--gold-set", "suite.json", "--agent", f"{HERE / 'forger.py'}:Stillborn", "--corpus", "corpus"]
    assert main(alone) == 4
    assert "the worker exited with code 3" in capsys.readouterr().err


@pytest.mark.skipif(not LINUX, reason="only there a worker has a keeper that it could stop for long")
def test_a_keeper_that_was_stopped_holds_up_nobody(workplace: Path, capsys: Any) -> None:
    code, agents = compared("Stopper", "--max-failures", "3", "--timeout", "60")
    assert (code, agents["mine"]["counts"]["error"]) == (2, 3)


@pytest.mark.parametrize("poisoner", ["Poisoner", "TableDropper"])
def test_cached_vectors_that_an_agent_changes_make_searches_with_them_untrusted(
    poisoner: str, workplace: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCHMARK_CACHE", str(workplace / "cache"))
    semantic = {"name": "semantic", "config": {"embedder": {"name": "hashing", "cache": True}}}
    Path("searchmark.yaml").write_text(json.dumps({"agents": [semantic]}))
    command = ["--gold-set", "suite.json", "--corpus", "corpus", "--num-runs", "1", "-o", "out.json"]
    alone = ["evaluate", "--agent", "semantic", *command]
    assert main(alone) == 0
    measures = json.loads(Path("out.json").read_text())["agents"]["semantic"]["measures"]
    assert main(["compare", "--agents", "semantic", f"{HERE / 'forger.py'}:{poisoner}", *command]) == 2
    agents = json.loads(Path("out.json").read_text())["agents"]
    assert [agent["status"] for agent in agents.values()] == ["untrusted", "ok"]
    assert "cached vectors that another process changed during the run: " in capsys.readouterr().out
    assert main(alone) == 0
    assert json.loads(Path("out.json").read_text())["agents"]["semantic"]["measures"] == measures
