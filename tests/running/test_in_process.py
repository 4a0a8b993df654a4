"""Anything that searches can be run: what a worker can import is isolated, the rest is asked in this process."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from searchmark import (
    Case,
    Corpus,
    Judgment,
    RetrievalAgent,
    RetrievalResult,
    Run,
    RunSettings,
    Suite,
    UsageError,
    load_agent,
    run_suite,
)
from searchmark.agents.lexical.bm25 import Bm25Agent
from searchmark.config.agents import BuiltInSource, InProcessSource, PythonSource
from searchmark.io.network import network_allowed
from searchmark.running.worker.client import InProcessWorker
from tests.running.faulty import TRIGGER

QUERIES = ["first", TRIGGER, "second"]
SUITE = Suite.from_cases("s", [Case(query, query, (Judgment("a.py", "path"),)) for query in QUERIES])
HERE = "tests.running.test_in_process"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text(f"text of {name}\n")
    return folder


def run(agent: Any, corpus: Path, **options: Any) -> Run:
    return run_suite(SUITE, agent, corpus, RunSettings(**{"num_runs": 2, "randomize_order": False, **options}))


def statuses(run: Run) -> list[str]:
    return [answer.status for answer in run.answers]


def first_hits(run: Run) -> list[str]:
    return [answer.hits[0].id for answer in run.answers]


def reasons(run: Run) -> list[str | None]:
    return [details.failure for details in run.details or ()]


def search(query: str, k: int) -> list[str]:
    return ["a.py", "b.py"][:k]


class ModuleLevel(RetrievalAgent):
    """Says which process it is in."""

    class Nested(RetrievalAgent):
        pass

    def initialize(self, corpus: Corpus) -> None:
        self._ids = [document.id for document in corpus]

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        return RetrievalResult(self._ids[:k], metadata={"here": hasattr(sys, "_searchmark_marks_this_process")})


class Counting:
    """An instance with a state, written without a thought of us."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.prepared = self.closed = 0

    def initialize(self, corpus: Corpus) -> None:
        self.prepared += 1

    def retrieve(self, query: str, k: int) -> list[str]:
        self.asked.append(query)
        return ["a.py"]

    def describe(self) -> dict[str, Any]:
        return {"asked": len(self.asked)}

    def close(self) -> None:
        self.closed += 1


def local_class() -> type:
    class Local(RetrievalAgent):
        def __init__(self, first: str = "a.py") -> None:
            self._first = first

        def initialize(self, corpus: Corpus) -> None:
            pass

        def retrieve(self, query: str, k: int) -> RetrievalResult:
            return RetrievalResult([self._first])

    return Local


def closure() -> Callable[[str, int], list[str]]:
    hits = ["a.py"]
    return lambda query, k: hits[:k]


renamed = functools.partial(search)


class TestWhatAnObjectBecomes:
    @pytest.mark.parametrize(
        ("agent", "name", "source"),
        [
            ("bm25", "bm25", BuiltInSource("bm25")),
            (Bm25Agent, "bm25", BuiltInSource("bm25")),
            (ModuleLevel, "ModuleLevel", PythonSource(HERE, "ModuleLevel")),
            (ModuleLevel.Nested, "Nested", PythonSource(HERE, "ModuleLevel.Nested")),
            (search, "search", PythonSource(HERE, "search")),
        ],
    )
    def test_what_a_worker_can_import_is_isolated(self, agent: Any, name: str, source: object) -> None:
        spec = load_agent(agent)
        assert (spec.name, spec.source, spec.isolated) == (name, source, True)

    @pytest.mark.parametrize(
        ("agent", "name"),
        [
            (lambda query, k: [], "lambda"),
            (closure(), "lambda"),
            (local_class(), "Local"),
            (ModuleLevel(), "ModuleLevel"),
            (Counting(), "Counting"),
            (Counting().retrieve, "retrieve"),
            (functools.partial(search, k=3), "search"),
        ],
    )
    def test_what_only_this_process_has_stays_here(self, agent: Any, name: str) -> None:
        spec = load_agent(agent)
        assert (spec.name, spec.isolated) == (name, False)
        assert isinstance(spec.source, InProcessSource)
        assert spec.source.object is agent

    def test_what_was_defined_in_the_main_module_or_has_lost_its_name_stays_here(self, monkeypatch) -> None:
        def scripted(query: str, k: int) -> list[str]:
            return []

        scripted.__module__, scripted.__qualname__ = "__main__", "scripted"
        monkeypatch.setattr(sys.modules["__main__"], "scripted", scripted, raising=False)
        assert not load_agent(scripted).isolated
        monkeypatch.setattr(sys.modules[HERE], "search", scripted)
        assert not load_agent(search).isolated

    def test_a_module_that_only_this_process_knows_stays_here(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "found_nowhere_else.py").write_text("def search(query, k): return []\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        import found_nowhere_else  # type: ignore[import-not-found]  # on a path of this test alone

        assert not load_agent(found_nowhere_else.search).isolated
        made_up = ModuleType("made_up")
        monkeypatch.setitem(sys.modules, "made_up", made_up)
        made_up.search = found_nowhere_else.search  # type: ignore[attr-defined]
        made_up.search.__module__ = "made_up"
        assert not load_agent(made_up.search).isolated

    @pytest.mark.parametrize("agent", [3, None, object(), ["bm25"]])
    def test_what_cannot_search_is_refused(self, agent: object) -> None:
        with pytest.raises(UsageError, match="is not an agent; give a name, a class, an instance"):
            load_agent(agent)

    def test_options_go_to_a_class_and_nowhere_else(self, corpus: Path) -> None:
        assert first_hits(run(load_agent(local_class(), first="b.py"), corpus)) == ["b.py"] * 3
        with pytest.raises(UsageError, match="takes no options; it was given first"):
            run(load_agent(Counting(), first="b.py"), corpus)


@pytest.mark.parametrize("agent", [closure(), local_class(), Counting(), search, ModuleLevel, ModuleLevel(), renamed])
def test_every_kind_of_agent_answers(agent: Any, corpus: Path) -> None:
    assert first_hits(run(agent, corpus)) == ["a.py"] * 3


@pytest.mark.slow
def test_a_class_that_a_worker_can_import_runs_in_another_process(corpus: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "_searchmark_marks_this_process", True, raising=False)
    for agent, here in ((ModuleLevel, False), (ModuleLevel(), True)):
        assert [details.said for details in run(agent, corpus).details or ()] == [{"here": here}] * 3


@pytest.mark.slow
def test_a_run_says_whether_its_agent_was_isolated_and_what_it_said_of_itself(corpus: Path) -> None:
    here, there = run(Counting(), corpus, warm_up=False).provenance, run("random", corpus).provenance
    assert (here.agent.isolated, here.agent.description) == (False, {"asked": 0})
    assert [event.kind for event in here.trust] == ["not_isolated"]
    assert (there.agent.isolated, there.agent.description, there.trust) == (True, {"ranking": "random", "seed": 0}, ())


def test_scores_come_in_pairs(corpus: Path) -> None:
    hits = next(iter(run(lambda query, k: [("b.py", 2.5), ("a.py", 1)], corpus).answers)).hits
    assert [(hit.id, hit.score) for hit in hits] == [("b.py", 2.5), ("a.py", 1.0)]


def test_an_instance_keeps_its_state_and_is_not_closed(corpus: Path) -> None:
    agent = Counting()
    run(agent, corpus, warm_up=False)
    run(agent, corpus, warm_up=False)
    assert agent.asked == [query for query in QUERIES for _ in range(2)] * 2
    assert (agent.prepared, agent.closed) == (2, 0)


def test_an_agent_that_was_made_for_the_run_is_closed(corpus: Path) -> None:
    made: list[Counting] = []

    class Remembered(Counting):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    run(Remembered, corpus)
    assert [agent.closed for agent in made] == [1]


def fails(query: str, k: int) -> Any:
    if query == TRIGGER:
        raise SystemExit("the index is sad")
    return ["a.py"]


RUBBISH: list[tuple[Any, str, str]] = [
    (functools.partial(fails), "error", "SystemExit: the index is sad"),
    (lambda query, k: 3 if query == TRIGGER else ["a.py"], "error", "retrieve returned int, not a list of hits"),
    (lambda query, k: {"a.py": "high"} if query == TRIGGER else ["a.py"], "error", "'a.py': 'high' is none"),
    (lambda query, k: None if query == TRIGGER else ["a.py"], "error", "retrieve returned None"),
    (lambda query: undefined if query == TRIGGER else ["a.py"], "error", "NameError"),  # type: ignore[name-defined]  # noqa: F821  # on purpose
    (lambda query, k: [] if query == TRIGGER else ["a.py"], "empty", ""),
    (lambda query, k: repeat("a.py") if query == TRIGGER else ["a.py"], "ok", ""),
    (lambda query, k: ["a.py", object()] if query == TRIGGER else ["a.py"], "error", "hit 2 of the answer cannot be read"),
]


@pytest.mark.parametrize(("agent", "status", "reason"), RUBBISH, ids=[reason or status for _, status, reason in RUBBISH])
def test_a_failure_costs_its_case_and_no_other(agent: Any, status: str, reason: str, corpus: Path) -> None:
    ran = run(agent, corpus)
    assert statuses(ran) == ["ok", status, "ok"]
    assert reason in (reasons(ran)[1] or "")


def test_an_answer_after_the_deadline_is_a_timeout_afterwards(corpus: Path, monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("searchmark.running.worker.client.monotonic", lambda: clock[0])

    def slow(query: str, k: int) -> list[str]:
        clock[0] += 31.0 if query == TRIGGER else 0.5
        return ["a.py"]

    ran = run(slow, corpus, timeout_seconds=30.0)
    assert statuses(ran) == ["ok", "timeout", "ok"]
    assert reasons(ran)[1] == "no answer within 30 s"
    assert ran.provenance.restarts == 1


def test_a_repeat_that_fails_is_the_last_sample(corpus: Path) -> None:
    asked: list[str] = []

    def tired(query: str, k: int) -> list[str]:
        asked.append(query)
        if asked.count(TRIGGER) == 3:
            raise OSError("tired")
        return ["a.py"]

    ran = run(tired, corpus, num_runs=5, warm_up=False)
    details = ran.details_of(1)
    assert (len(details.warm_ms), details.repeat_failures, details.repeat_failure) == (2, 1, "OSError: tired")
    assert max(details.warm_ms) < 30_000.0


def test_ctrl_c_stops_the_run(corpus: Path) -> None:
    asked: list[str] = []

    def interrupted(query: str, k: int) -> list[str]:
        asked.append(query)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupted, corpus, warm_up=False)
    assert asked == ["first"]


def test_one_object_is_asked_by_one_thread_whatever_jobs_says(corpus: Path) -> None:
    threads: set[int] = set()

    def noting(query: str, k: int) -> list[str]:
        threads.add(threading.get_ident())
        return ["a.py"]

    ran = run(noting, corpus, jobs=4)
    assert threads == {threading.get_ident()}
    assert ran.provenance.workers == 1


def test_no_limit_is_laid_on_this_process(corpus: Path) -> None:
    ran = run(closure(), corpus, memory_limit_mb=1)
    assert statuses(ran) == ["ok"] * 3
    assert ran.provenance.memory_bytes is None


def test_times_are_measured_all_the_same(corpus: Path) -> None:
    details = run(lambda query, k: ["a.py"], corpus).details or ()
    assert details
    assert all(len(each.cold_ms) == 1 and each.cold_ms[0] > 0 for each in details)


def test_a_worker_in_this_process_ends_once_and_closes_what_it_has_made() -> None:
    closed: list[str] = []

    class Closing(RetrievalAgent):
        def initialize(self, corpus: Corpus) -> None:
            pass

        def close(self) -> None:
            closed.append("closed")

    worker = InProcessWorker(load_agent(Closing))
    assert "failed" not in worker.ask({"op": "load", "foreign": True, "network": True, "memory_limit_mb": 1}, 10.0)
    worker.end()
    worker.end()
    assert closed == ["closed"]
    assert worker.age() > 0


def test_a_run_without_network_forbids_it_in_this_process_until_it_ends(corpus: Path) -> None:
    seen: list[bool] = []

    class Asking(RetrievalAgent):
        def initialize(self, corpus: Corpus) -> None:
            seen.append(network_allowed())

        def retrieve(self, query: str, k: int) -> RetrievalResult:
            seen.append(network_allowed())
            return RetrievalResult(["a.py"])

        def close(self) -> None:
            raise RuntimeError("cannot be closed")

    run(Asking(), corpus, offline=True)
    assert set(seen) == {False}
    assert network_allowed()


@pytest.mark.parametrize("options", [{"offline": True}, {"no_exec": True}])
def test_without_network_an_agent_that_asks_a_service_is_no_part_of_an_experiment(corpus: Path, options: dict[str, bool]) -> None:
    agent = load_agent("semantic", embedder={"name": "openai", "model": "m", "url": "http://me:hidden@127.0.0.1:9/v1"})
    with pytest.raises(
        UsageError, match=r"'semantic' asks a service \(config\.embedder\.url: http://\(removed\)@127\.0\.0\.1:9/v1\)"
    ):
        run(agent, corpus, **options)


class Unspeakable(Exception):
    """An error that fails to say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def fails_to_say(query: str, k: int) -> list[str]:
    if query == "first":
        raise Unspeakable
    if query == "second":
        sys.stdout.write("asking with sk-proj-1234567890123456789\n")
        raise ValueError("401 from https://me:hunter2@host/x?api_key=abcd1234 with Bearer sk-proj-1234567890123456789")
    return ["a.py"]


@pytest.mark.slow
@pytest.mark.parametrize("isolated", [True, False], ids=["worker", "here"])
def test_an_error_without_words_costs_one_case_and_one_with_a_password_does_not_show_it(corpus: Path, isolated: bool) -> None:
    agent = fails_to_say if isolated else functools.partial(fails_to_say)
    asked = run(agent, corpus)
    assert statuses(asked) == ["error", "ok", "error"]
    first, _, last = reasons(asked)
    assert first == "Unspeakable: (its text cannot be read: RuntimeError)"
    assert last == "ValueError: 401 from https://(removed)@host/x?api_key=(removed) with Bearer (removed)"
    assert asked.provenance.restarts == 0
    assert asked.details_of(2).printed == ("asking with (removed)" if isolated else None)
    assert "".join(each.text for each in asked.provenance.printed) == "asking with (removed)\n" * 2 * isolated  # once to warm up
