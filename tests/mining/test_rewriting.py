"""Queries in the words of a language model: a real service in another process, and everything that it may do wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searchmark.cli.main import main
from searchmark.config import RewriterConfig
from searchmark.errors import UsageError
from searchmark.mining.rewriting import Rewriter
from tests.support.histories import odd_history

ROOT = Path(__file__).parents[2]


class Service:
    """The running service and what it was asked."""

    def __init__(self, port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self._log = log

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    log = tmp_path / "requests.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.chat_service", str(log)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield Service(int(process.stdout.readline()), log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def rewriter(service: Service, tmp_path: Path, **options: Any) -> Rewriter:
    settings = {"model": "good", "base_url": service.url, "cache": str(tmp_path / "cache"), "backoff_seconds": 0.0, **options}
    return Rewriter(RewriterConfig(**settings))


def test_the_answer_becomes_the_query_on_one_line_without_quotes(service: Service, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    rewriting = rewriter(service, tmp_path).rewrite("fix: rows (#1)", "rows")
    assert (rewriting.text, rewriting.reason) == ("Where is this: rows?", None)
    (request,) = service.requests
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer secret")
    assert request["body"]["temperature"] == 0


def test_without_a_key_none_is_sent(service: Service, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    rewriter(service, tmp_path, key_variable="MY_KEY").rewrite("m", "q")
    assert service.requests[0]["key"] is None


def test_what_was_asked_once_is_not_asked_again(service: Service, tmp_path: Path) -> None:
    first = rewriter(service, tmp_path).rewrite("m", "q")
    assert rewriter(service, tmp_path).rewrite("m", "q") == first
    assert len(service.requests) == 1
    rewriter(service, tmp_path).rewrite("m", "another q")
    rewriter(service, tmp_path, prompt="Otherwise.").rewrite("m", "q")
    assert len(service.requests) == 3


def test_a_damaged_cache_is_not_believed(service: Service, tmp_path: Path) -> None:
    rewriter(service, tmp_path).rewrite("m", "q")
    (cached,) = (tmp_path / "cache").rglob("*.json")
    cached.write_text("{")
    assert rewriter(service, tmp_path).rewrite("m", "q").text == "Where is this: q?"


def test_a_busy_service_is_asked_again(service: Service, tmp_path: Path) -> None:
    assert rewriter(service, tmp_path, model="flaky").rewrite("m", "q").text == "Where is this: q?"
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("model", "reason", "requests"),
    [
        ("refuses", "answers 401", 1),
        ("down", "answers 500", 4),
        ("garbled", "not valid JSON", 1),
        ("silent", "the answer is empty", 1),
        ("endless", "too long to be a query", 1),
        ("odd", "no chat completion", 1),
    ],
)
def test_a_failure_has_its_reason_and_an_end(service: Service, tmp_path: Path, model: str, reason: str, requests: int) -> None:
    told: list[str] = []
    config = RewriterConfig(model, service.url, cache=str(tmp_path / "cache"), backoff_seconds=0.0)
    rewriting = Rewriter(config, told.append).rewrite("m", "q")
    assert rewriting.text is None
    assert rewriting.reason is not None
    assert reason in rewriting.reason
    assert len(service.requests) == requests
    assert told == [f"not rewritten, the rule's query stays: {rewriting.reason}"]


def test_a_service_that_is_not_there_is_a_failure_too(tmp_path: Path) -> None:
    config = RewriterConfig("m", "http://127.0.0.1:9/v1", cache=str(tmp_path), retries=1, backoff_seconds=0.0)
    assert "cannot be reached" in (Rewriter(config).rewrite("m", "q").reason or "")


@pytest.mark.parametrize(("bound", "reason"), [({"max_requests": 2}, "2 requests"), ({"max_tokens": 150}, "150 tokens")])
def test_the_bounds_hold(service: Service, tmp_path: Path, bound: dict[str, int], reason: str) -> None:
    bounded = rewriter(service, tmp_path, **bound)
    results = [bounded.rewrite("m", f"q{number}") for number in range(4)]
    assert [result.text is not None for result in results] == [True, True, False, False]
    assert reason in (results[3].reason or "")
    assert len(service.requests) == 2


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="base_url"):
        Rewriter(RewriterConfig("m", "ftp://x"))


@pytest.mark.parametrize(("model", "status"), [("good", "llm"), ("refuses", "llm_failed")])
def test_a_gold_set_says_of_every_case_how_it_was_worded(service: Service, tmp_path: Path, capsys, model: str, status: str) -> None:
    odd_history().build(tmp_path / "odd.git")
    config = tmp_path / "config.yaml"
    config.write_text(
        f"dataset:\n  query: llm\n  max_cases: 3\n  rewriter:\n    model: {model}\n    base_url: {service.url}\n    cache: {tmp_path / 'cache'}\n"
    )
    output = tmp_path / "gold.json"
    assert main(["generate", "--repo", str(tmp_path / "odd.git"), "--output", str(output), "--config", str(config)]) == 0
    cases = json.loads(output.read_text())["test_cases"]
    assert {case["transformation"] for case in cases} == {status}
    for case in cases:
        assert f"query:{status}" in case["tags"]
        expected = f"Where is this: {case['variants']['clean']}?" if status == "llm" else case["variants"]["clean"]
        assert case["query"] == expected
        assert ("transformation_error" in case) == (status == "llm_failed")
    assert ("not rewritten" in capsys.readouterr().err) == (status == "llm_failed")
    assert "secret" not in output.read_text()
