"""Answers are recorded while the worker is busy with the next request: none is lost by that, and it costs the agent no time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_agent
from searchmark.cli.main import main
from searchmark.running.clock_check import ALLOWED_NS, ClockCheck, Load
from searchmark.running.plan import Step
from searchmark.running.sandbox.launch import Launch
from searchmark.running.session import Session
from searchmark.running.worker.client import OutputCapture, WorkerProcess
from searchmark.running.worker.protocol import longest_answer

HERE = Path(__file__).parent
CASES = [{"id": f"c{number}", "query": f"word{number}", "ground_truth_files": ["f1.txt"]} for number in range(8)]
INTERRUPTED = 130
DEADLINE, WORK = 0.2, 0.5  # seconds


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "f1.txt").write_text("word1")
    (tmp_path / "suite.json").write_text(json.dumps({"test_cases": CASES, "metadata": {}}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(agent: str, *more: str) -> int:
    command = ["evaluate", "--gold-set", "suite.json", "--agent", agent, "--corpus", "corpus", "--num-runs", "1"]
    return main([*command, "--journal", "journal", "-o", "out.json", *more])


def journal() -> list[dict[str, Any]]:
    (path,) = Path("journal").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_answer_is_in_the_journal_while_the_next_case_is_being_searched(workplace: Path) -> None:
    assert evaluated(f"{HERE / 'witness.py'}:Witness", "--no-warm-up") == 0
    assert [line["status"] for line in journal() if "case" in line] == ["ok"] * len(CASES)


def test_an_interruption_before_the_next_request_loses_no_answer(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[Session, list[str]] = {}
    ask = Session.ask

    def interrupted(session: Session, step: Step, *rest: Any) -> Any:
        if len(asked.setdefault(session, [])) == 2:
            raise KeyboardInterrupt
        outcome = ask(session, step, *rest)
        asked[session].append(step.case)
        return outcome

    monkeypatch.setattr(Session, "ask", interrupted)
    assert evaluated("bm25") == INTERRUPTED
    answered = next(cases for cases in asked.values() if len(cases) == 2)
    assert set(answered) <= {line["case"] for line in journal() if "case" in line}


@pytest.mark.slow
def test_the_journal_has_answers_and_events_in_the_order_in_which_they_came(workplace: Path) -> None:
    assert evaluated("bm25") == 0
    kinds = [line.get("event", next(iter(line))) for line in journal()[1:]]
    assert kinds == ["seen_host", "started", "prepared", *["case"] * len(CASES), "closed", "run_end"]


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    process = WorkerProcess({"stdout": OutputCapture(), "stderr": OutputCapture()}, longest_answer(10), Launch(os.environ))
    request = {"op": "load", "agent": load_agent("random").to_plain(), "memory_limit_mb": None, "foreign": False, "network": False}
    try:
        process.ask(request, 60.0)
        yield process
    finally:
        process.end()


def work() -> None:
    time.sleep(WORK)  # as a disk does that is slower than the deadline; there is nothing else to wait for


@pytest.mark.slow
def test_work_of_our_own_is_not_the_time_of_the_agent(worker: WorkerProcess) -> None:
    clock = ClockCheck(Load(10))
    clock.begin(worker)
    assert worker.ask({"op": "reset"}, DEADLINE, work).keys() == {"id"}
    assert worker.took_ns >= WORK * 1e9 > ALLOWED_NS
    assert worker.took_ns - worker.unseen_ns < ALLOWED_NS
    assert clock.believes({"ns": 0}, worker, "")


def test_an_answer_that_comes_after_our_own_work_is_timed_exactly(worker: WorkerProcess) -> None:
    assert worker.unseen_ns == 0  # to load takes longer than to do nothing
    assert worker.took_ns > 0
