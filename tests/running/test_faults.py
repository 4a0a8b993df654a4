"""The system under test hangs, crashes, leaks, floods its output and lies: the runner stays what it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from searchmark import AgentSpec, Case, Judgment, Run, RunLabel, RunSettings, Suite, run_suite
from searchmark.config.agents import PythonSource
from searchmark.formats.corpora.locations import Folder
from searchmark.running.request import AgentJob, RunRequest
from searchmark.running.runner import run_agents
from searchmark.running.worker.process_tree import LINUX
from tests.running.faulty import TRIGGER

HERE = Path(__file__).parent
QUERIES = ["first", "second", TRIGGER, "third", "fourth"]
ALL = ["a.py", "b.py", "d.py", "sub/c.py"]

# What becomes of the one case that triggers the fault: status, what its hits are, and what the reason speaks of.
OUTCOMES = [
    ("none", "ok", ALL, ""),
    ("sleeps for ever", "timeout", [], "no answer within"),
    ("spins for ever", "timeout", [], "no answer within"),
    ("ignores signals", "timeout", [], "no answer within"),
    ("stops itself", "timeout", [], "no answer within"),
    ("kills its keeper", "error", [], "the worker is gone"),
    ("forks a child that holds the pipe", "error", [], "exited with code 7"),
    ("leaves its session", "ok", ALL, ""),
    ("leaves its session and hangs", "timeout", [], "no answer within"),
    ("breeds", "ok", ALL, ""),
    ("segfaults", "error", [], "was killed by SIGSEGV"),
    ("aborts", "error", [], "was killed by SIGABRT"),
    ("exits with 0", "error", [], "exited with code 0"),
    ("exits with 3", "error", [], "exited with code 3"),
    ("calls sys.exit", "error", [], "SystemExit: 0"),
    ("exhausts memory", "error", [], "MemoryError"),
    ("prints 100 MB", "ok", ALL, ""),
    ("writes garbage everywhere", "error", [], "something that is not a frame"),
    ("closes everything", "error", [], "exited with code 0"),
    ("leaks descriptors", "ok", ALL, ""),
    ("keeps threads", "ok", ALL, ""),
    ("returns 10 million hits", "ok", [*ALL, *["ghost"] * 6], ""),
    ("returns endless hits", "ok", [f"ghost{i}" for i in range(10)], ""),
    ("returns a number", "error", [], "retrieve returned int"),
    ("returns text", "error", [], "retrieve returned str"),
    ("returns bytes", "error", [], "retrieve returned bytes"),
    ("returns None", "error", [], "retrieve returned None; an answer without hits is an empty list"),
    ("returns a set", "error", [], "retrieve returned a set, which has no order"),
    ("returns scores by id", "ok", ["d.py", "b.py", "a.py"], ""),
    ("returns scores that are none", "error", [], "'a.py': nan is none"),
    ("returns one hit", "error", [], "retrieve returned one hit, {'id': 3, 'score': 0.5}"),
    ("returns a method", "error", [], "retrieve returned method-wrapper, not a list of hits"),
    ("returns a trap", "error", [], "no files for you"),
    ("returns None as an entry", "error", [], "hit 2 of the answer cannot be read: None is not a hit"),
    ("returns a number as an entry", "error", [], "hit 1 of the answer cannot be read: 3.5 is not a hit"),
    ("returns an object as an entry", "error", [], "hit 1 of the answer cannot be read: <object object"),
    ("returns a list as an entry", "error", [], "hit 2 of the answer cannot be read: ['a.py'] is not a hit"),
    ("returns true as an entry", "error", [], "hit 1 of the answer cannot be read: True is not a hit"),
    ("returns a huge number as an entry", "error", [], "hit 1 of the answer cannot be read: <int> is not a hit"),
    ("returns a long id", "error", [], "hit 2 of the answer cannot be read: an id has 1000000 characters, more than 4096"),
    ("returns a score that is text", "error", [], "hit 1 of the answer cannot be read: the score of ('a.py', 'high') is not a number"),
    ("returns odd entries beyond the depth", "ok", [f"ghost{i}" for i in range(10)], ""),
    ("yields and raises", "error", [], "ValueError: the stream is cut"),
    ("yields for ever the same", "ok", ["a.py"] * 10, ""),
    ("yields and hangs", "timeout", [], "no answer within"),
    ("yields and exits", "error", [], "exited with code 3"),
    ("yields an odd entry", "error", [], "hit 2 of the answer cannot be read: None is not a hit"),
    ("yields in a child too", "ok", ["a.py", "b.py"], ""),
    ("returns bytes as entries", "ok", ["b.py", "\udcff.py"], ""),
    ("returns odd text", "ok", ["b.py", "\ud800", "nul\0"], ""),
    ("returns an empty id", "error", [], "hit 2 of the answer cannot be read: the id of '' is empty"),
    ("returns odd scores", "ok", ALL, ""),
    ("returns too few scores", "ok", ALL, ""),
    ("returns deep metadata", "ok", ALL, ""),
    ("returns paths outside", "ok", ["../a.py", "/etc/passwd", "/", "..", "missing.py", "a.py"], ""),
    ("returns absolute paths", "ok", ["b.py", "a.py", "sub/c.py"], ""),
    ("returns duplicates", "ok", ["b.py", "b.py", "b.py", "a.py"], ""),
    ("raises", "error", [], "ValueError: the index is sad"),
    ("raises without a word", "error", [], "ValueError"),
    ("raises something odd", "error", [], "Odd: odd"),
    ("raises KeyboardInterrupt", "error", [], "KeyboardInterrupt"),
    ("raises something long", "error", [], "ValueError: long long"),
    ("recurses", "error", [], "RecursionError"),
]  # fmt: skip

DROPPED = {
    "returns 10 million hits": {"beyond_depth": 9_999_994},
    "returns endless hits": {"beyond_depth": 1},
    "returns odd entries beyond the depth": {"beyond_depth": 1},
    "yields for ever the same": {"beyond_depth": 1},
    "returns odd scores": {"scores_unusable": 3},
    "returns too few scores": {"scores_unusable": 3},
}
INVALID = {
    "returns 10 million hits": 6, "returns endless hits": 10, "returns bytes as entries": 1, "returns odd text": 2,
    "returns odd entries beyond the depth": 10, "returns paths outside": 5,
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    for name in ALL:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {name}\n")
    return folder


def ask(fault: str, corpus: Path, **options: object) -> Run:
    """Run the real runner against the faulty agent, one worker, few seconds."""
    suite = Suite.from_cases("faults", [Case(query, query, (Judgment("a.py", "path"),)) for query in QUERIES])
    spec = AgentSpec(
        "faulty", PythonSource(str(HERE / "faulty.py"), "FaultyAgent"), {"fault": fault, "pids": str(corpus.parent / "pids")}
    )
    given = {"timeout_seconds": 30.0, "initialize_timeout_seconds": 30.0, "depth": 10, "num_runs": 2, **options}
    locations = dict.fromkeys(QUERIES, Folder("corpus", corpus))
    return run_agents(RunRequest(suite, (AgentJob(spec, locations, RunLabel("faulty")),), RunSettings(**given))).runs[0]  # type: ignore[arg-type]


def left_behind(mark: str, pids: Path) -> list[int]:
    """Processes that carry the mark of this test, or that the agent has started: seen from outside."""
    marked = [int(name) for name in os.listdir("/proc") if name.isdigit() and _carries(name, mark)]
    born = [int(line) for line in pids.read_text().split()] if pids.exists() else []
    return [pid for pid in marked if pid != os.getpid()] + [pid for pid in born if _lives(pid)]


def _carries(pid: str, mark: str) -> bool:
    try:
        return f"{mark}=1".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="looks for processes by /proc")
@pytest.mark.parametrize(("fault", "status", "hits", "reason"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
def test_a_fault_costs_its_own_case_and_nothing_else(fault, status, hits, reason, corpus: Path, monkeypatch) -> None:
    mark = f"SEARCHMARK_TEST_{os.getpid()}_{abs(hash(fault))}"
    monkeypatch.setenv(mark, "1")
    descriptors = len(os.listdir("/proc/self/fd"))
    # Who hangs is not waited for; everybody else gets all the time that a busy machine may need.
    run = ask(
        fault, corpus, timeout_seconds=0.7 if status == "timeout" else 30.0, memory_limit_mb=400 if "memory" in fault else None
    )
    answers = {answer.case: answer for answer in run.answers}
    for query in QUERIES:
        if query != TRIGGER:
            assert (answers[query].status, [hit.id for hit in answers[query].hits]) == ("ok", ALL)
    assert answers[TRIGGER].status == status
    assert [hit.id for hit in answers[TRIGGER].hits] == hits
    details = dict(zip(run.case_ids, run.details or (), strict=True))[TRIGGER]
    assert reason in (details.failure or "")
    assert len(details.failure or "") <= 500
    assert run.dropped == DROPPED.get(fault, {})
    assert sum(not hit.valid for answer in run.answers for hit in answer.hits) == INVALID.get(fault, 0)
    assert left_behind(mark, corpus.parent / "pids") == []
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_what_an_agent_prints_is_kept_apart_and_capped(corpus: Path) -> None:
    output = {each.stream: each for each in ask("prints 100 MB", corpus).provenance.printed}
    assert output["stdout"].bytes == output["stderr"].bytes == 100 << 20  # cold and warm
    assert len(output["stdout"].text) == 8192


@pytest.mark.slow
def test_a_search_that_had_to_be_ended_counts_with_its_deadline(corpus: Path) -> None:
    run = ask("sleeps for ever", corpus, timeout_seconds=0.5)
    details = dict(zip(run.case_ids, run.details or (), strict=True))[TRIGGER]
    assert (details.cold_ms, details.warm_ms, details.repeat_failures) == ((500.0,), (), 0)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["raises", "returns a number", "exits with 3", "writes garbage everywhere"])
def test_a_search_that_fails_counts_with_the_time_that_it_took(fault: str, corpus: Path) -> None:
    run = ask(fault, corpus)
    details = dict(zip(run.case_ids, run.details or (), strict=True))[TRIGGER]
    assert len(details.cold_ms) == 1
    assert 0 < details.cold_ms[0] < 30_000.0
    assert (details.warm_ms, details.repeat_failures) == ((), 0)


def test_reset_that_raises_costs_the_case_after(corpus: Path) -> None:
    run = ask("raise in reset", corpus, num_runs=1, randomize_order=False)
    assert [answer.status for answer in run.answers] == ["ok", "ok", "ok", "error", "ok"]
    assert [len(details.cold_ms) for details in run.details or ()] == [1, 1, 1, 0, 1]  # it was never searched for


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raises in initialize", "ValueError: cannot read the corpus"),
        ("hangs in initialize", "no answer within 1 s; --initialize-timeout sets a longer limit for building an index"),
        ("exits in initialize", "the worker exited with code 1"),
    ],
)
def test_an_agent_that_cannot_start_has_no_scores(fault: str, reason: str, corpus: Path) -> None:
    run = ask(fault, corpus, initialize_timeout_seconds=1.0)
    assert {answer.status for answer in run.answers} == {"not_run"}
    assert run.provenance.failure == f"the agent could not be started: {reason}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "config", "cached"),
    [
        ("semantic", {}, True),
        ("hybrid", {}, True),
        ("semantic", {"embedder": "hashing"}, False),
        ("semantic", {"embedder": {"name": "wordllama", "cache": False}}, False),
    ],
)
def test_whoever_waits_for_vectors_is_told_of_the_limit_and_what_is_kept(
    source: str, config: dict[str, Any], cached: bool, corpus: Path
) -> None:
    for number in range(1000):  # no machine reads and embeds these within a millisecond, and none is busy for so long
        (corpus / f"file_{number}.py").write_text(" ".join(f"word{number}_{i}" for i in range(200)))
    suite = Suite.from_cases("s", [Case("c", "query", (Judgment("a.py", "path"),))])
    spec = AgentSpec.from_plain({"name": "mine", "source": source, "config": config})
    run = run_suite(suite, spec, corpus, RunSettings(initialize_timeout_seconds=0.001))
    limit = "no answer within 0.001 s; --initialize-timeout sets a longer limit for building an index"
    kept = "; finished batches of vectors are cached, and the next try continues after them" if cached else ""
    assert run.provenance.failure == f"the agent could not be started: {limit}{kept}"


def test_after_some_failures_in_a_row_the_rest_is_not_run(corpus: Path) -> None:
    cases = [Case(f"c{i}", TRIGGER, (Judgment("a.py", "path"),)) for i in range(5)]
    spec = AgentSpec("faulty", PythonSource(str(HERE / "faulty.py"), "FaultyAgent"), {"fault": "raises"})
    locations = {case.id: Folder("corpus", corpus) for case in cases}
    run = run_agents(
        RunRequest(
            Suite.from_cases("s", cases),
            (AgentJob(spec, locations, RunLabel("faulty")),),
            RunSettings(max_failures=3, randomize_order=False),
        )
    ).runs[0]
    assert [answer.status for answer in run.answers] == ["error", "error", "error", "not_run", "not_run"]
    assert (run.details_of(4).failure or "").startswith("3 consecutive failures, the last one: ValueError")


def test_an_agent_that_raises_leaves_the_calls_that_led_there(corpus: Path) -> None:
    run = ask("raises", corpus)
    details = run.details_of(run.index[TRIGGER])
    assert details.failure == "ValueError: the index is sad"
    innermost = (details.traceback or "").split("\n")[-1]
    assert innermost.startswith(f'File "{HERE / "faulty.py"}", line ')
    assert "server.py" not in (details.traceback or "")


def test_a_traceback_of_a_thousand_calls_keeps_the_innermost(corpus: Path) -> None:
    run = ask("recurses", corpus)
    assert len((run.details_of(run.index[TRIGGER]).traceback or "").split("\n")) == 20
