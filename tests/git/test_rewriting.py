"""Queries in the words of a language model: a real service in another process, and everything that it may do wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from searchmark import UsageError
from searchmark.cli.main import main
from searchmark.config.sections import RewriterSettings
from searchmark.judgments.gold_sets import Rewriter, described
from tests.support.histories import odd_history
from tests.support.server import requests_to

Make = Callable[..., Rewriter]


class Service:
    """The running service, below a path that no other test uses, and what it was asked there."""

    def __init__(self, server: str, name: str) -> None:
        self._server, self._name = server, name

    def url(self, behaviour: str = "ok") -> str:
        return f"{self._server}/{behaviour}/{self._name}/v1"

    def requests(self, behaviour: str = "ok") -> list[dict[str, Any]]:
        return requests_to(self._server, f"/{behaviour}/{self._name}/")


@pytest.fixture
def service(server: str, tmp_path: Path) -> Service:
    return Service(server, f"{tmp_path.parent.name}-{tmp_path.name}")


@pytest.fixture
def rewriter(service: Service, tmp_path: Path) -> Iterator[Make]:
    """Makes rewriters, and closes them."""
    with ExitStack() as made:

        def make(behaviour: str = "ok", tell: Callable[[str], None] = lambda _: None, **options: Any) -> Rewriter:
            settings = {"model": "m", "base_url": service.url(behaviour), "cache": str(tmp_path / "cache"), "backoff_seconds": 0.0}
            return made.enter_context(Rewriter(RewriterSettings(**settings | options), tell))

        yield make


def test_the_answer_becomes_the_query_on_one_line_without_quotes(service: Service, rewriter: Make, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    rewriting = rewriter(key_variable="OPENAI_API_KEY").rewrite("fix: rows (#1)", "rows")
    assert (rewriting.text, rewriting.reason) == ("Where is this: rows?", None)
    (request,) = service.requests()
    assert request["path"].endswith("/v1/chat/completions")
    assert request["headers"]["authorization"] == "Bearer secret"
    assert request["body"]["temperature"] == 0
    assert "max_completion_tokens" not in request["body"]


def test_anthropics_api_is_spoken_as_well(service: Service, rewriter: Make, monkeypatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    anthropic = rewriter(api="anthropic", key_variable="ANTHROPIC_API_KEY", prompt="Ask.")
    rewriting = anthropic.rewrite("fix: rows (#1)", "rows")
    assert (rewriting.text, rewriting.reason) == ("Where is this: rows?", None)
    (request,) = service.requests()
    assert request["path"].endswith("/v1/messages")
    headers = request["headers"]
    assert (headers["x-api-key"], headers["anthropic-version"], "authorization" in headers) == ("secret", "2023-06-01", False)
    told = "Message:\nfix: rows (#1)\n\nWithout noise:\nrows"
    assert request["body"] == {
        "model": "m", "max_tokens": 1024, "system": "Ask.", "messages": [{"role": "user", "content": told}], "temperature": 0,
    }  # fmt: skip
    assert (anthropic.budget.requests, anthropic.budget.tokens) == (1, 100)


def test_the_length_of_an_answer_and_the_temperature_are_options(service: Service, rewriter: Make) -> None:
    for api in ("openai", "anthropic"):
        rewriter(api=api, max_answer_tokens=50, temperature=None).rewrite("m", "q")
    bodies = [request["body"] for request in service.requests()]
    assert [body.get("max_completion_tokens", body.get("max_tokens")) for body in bodies] == [50, 50]
    assert not any("temperature" in body for body in bodies)


@pytest.mark.parametrize(
    ("config", "address", "variable"),
    [
        (RewriterSettings("m"), "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (RewriterSettings("m", api="anthropic"), "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
        (RewriterSettings("m", "http://localhost:11434/v1"), "http://localhost:11434/v1", ""),
        (RewriterSettings("m", "http://me:hidden@host/v1?key=k3y", "MINE"), "http://(removed)@host/v1?key=(removed)", "MINE"),
    ],
)
def test_what_a_gold_set_says_of_its_rewriter_is_complete_and_has_no_secrets(
    config: RewriterSettings, address: str, variable: str
) -> None:
    assert described(config) == described(config) | {
        "model": "m",
        "base_url": address,
        "key_variable": variable,
        "max_requests": 1000,
    }


def test_without_a_key_none_is_sent(service: Service, rewriter: Make, monkeypatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    rewriter(key_variable="MY_KEY").rewrite("m", "q")
    rewriter(key_variable="").rewrite("m", "another q")
    rewriter().rewrite("m", "yet another q")
    assert ["authorization" in request["headers"] for request in service.requests()] == [False, False, False]


def test_what_was_asked_once_is_not_asked_again(service: Service, rewriter: Make) -> None:
    first = rewriter().rewrite("m", "q")
    assert rewriter().rewrite("m", "q") == first
    assert len(service.requests()) == 1
    rewriter().rewrite("m", "another q")
    rewriter(prompt="Otherwise.").rewrite("m", "q")
    rewriter(api="anthropic").rewrite("m", "q")
    assert len(service.requests()) == 4


def test_a_damaged_cache_is_not_believed(rewriter: Make, tmp_path: Path) -> None:
    rewriter().rewrite("m", "q")
    (cached,) = (tmp_path / "cache").rglob("*.json")
    cached.write_text("{")
    assert rewriter().rewrite("m", "q").text == "Where is this: q?"


def test_a_busy_service_is_asked_again(service: Service, rewriter: Make) -> None:
    assert rewriter("busy").rewrite("m", "q").text == "Where is this: q?"
    assert len(service.requests("busy")) == 3


@pytest.mark.slow
@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("behaviour", "reason", "requests"),
    [
        ("denied", "did not answer as it should: 401", 1),
        ("down", r"did not answer as it should: 503 .* \(4 attempts\)", 4),
        ("nonsense", "gave an answer that is not JSON", 1),
        ("silent", "gave an answer that is empty", 1),
        ("endless", "too long to be a query", 1),
        ("list", "gave an answer that is not a (chat completion|message)", 1),
        ("odd", "gave an answer that is not a (chat completion|message)", 1),
        ("blockless", "gave an answer that has no text", 1),
        ("cut", "cut its answer off; raise max_answer_tokens", 1),
        ("refused", "refused to answer", 1),
        ("tool", "did not finish its answer", 1),
    ],
)
def test_a_failure_has_its_reason_and_an_end(
    service: Service, rewriter: Make, api: str, behaviour: str, reason: str, requests: int
) -> None:
    told: list[str] = []
    failed = rewriter(behaviour, told.append, api=api).rewrite("m", "q")
    assert failed.text is None
    assert re.search(reason, failed.reason or "")
    assert len(service.requests(behaviour)) == requests
    assert told == [f"not rewritten, the query of the rules is used: {failed.reason}"]


def test_what_failed_is_not_cached(service: Service, rewriter: Make) -> None:
    for _ in range(2):
        rewriter("cut").rewrite("m", "q")
    assert len(service.requests("cut")) == 2


@pytest.mark.parametrize(("behaviour", "requests"), [("denied", 1), ("silent", 3)])
def test_a_reason_that_holds_for_all_cases_ends_the_asking(service: Service, rewriter: Make, behaviour: str, requests: int) -> None:
    failing = rewriter(behaviour)
    assert [failing.rewrite("m", f"q{number}").text for number in range(3)] == [None] * 3
    assert len(service.requests(behaviour)) == requests


def test_a_service_that_is_not_there_is_a_failure_too_and_costs_its_attempts_once(rewriter: Make) -> None:
    gone = rewriter(base_url="http://127.0.0.1:9/v1", retries=1)
    reasons = [gone.rewrite("m", f"q{number}").reason or "" for number in range(3)]
    assert all("did not answer as it should: ConnectError" in reason for reason in reasons)
    assert gone.budget.requests == 2


def test_no_password_of_the_address_is_told(service: Service, rewriter: Make, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret-key")
    address = service.url("denied").replace("://", "://user:hidden-word@")
    reason = rewriter(base_url=address, key_variable="OPENAI_API_KEY").rewrite("m", "q").reason or ""
    assert "401" in reason
    assert not any(secret in reason for secret in ("a-secret-key", "hidden-word", "user:"))


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize(("bound", "reason"), [({"max_requests": 2}, "2 requests"), ({"max_tokens": 150}, "150 tokens")])
def test_the_bounds_hold(service: Service, rewriter: Make, api: str, bound: dict[str, int], reason: str) -> None:
    bounded = rewriter(api=api, **bound)
    results = [bounded.rewrite("m", f"q{number}") for number in range(4)]
    assert [result.text is not None for result in results] == [True, True, False, False]
    assert reason in (results[3].reason or "")
    assert len(service.requests()) == 2


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"dataset\.rewriter: 'ftp://x' is not"):
        Rewriter(RewriterSettings("m", "ftp://x"))


@pytest.mark.slow
@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize(("behaviour", "status"), [("ok", "llm"), ("denied", "llm_failed")])
def test_a_gold_set_says_of_every_case_how_it_was_worded(
    service: Service, tmp_path: Path, capsys, monkeypatch, api: str, behaviour: str, status: str
) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-key")
    odd_history().build(tmp_path / "odd.git")
    config = tmp_path / "config.yaml"
    address = service.url(behaviour).replace("://", "://user:hidden-word@")
    section = {"model": "m", "api": api, "base_url": address, "key_variable": "MY_KEY", "cache": str(tmp_path / "cache")}
    config.write_text(json.dumps({"dataset": {"query": "llm", "max_cases": 3, "rewriter": section}}))
    output = tmp_path / "gold.json"
    assert main(["generate", "--repo", str(tmp_path / "odd.git"), "--output", str(output), "--config", str(config)]) == 0
    cases = json.loads(output.read_text())["test_cases"]
    assert {case["transformation"] for case in cases} == {status}
    for case in cases:
        assert f"query:{status}" in case["tags"]
        expected = f"Where is this: {case['variants']['clean']}?" if status == "llm" else case["variants"]["clean"]
        assert case["query"] == expected
        assert ("transformation_error" in case) == (status == "llm_failed")
    heard = capsys.readouterr().err
    assert ("not rewritten" in heard) == (status == "llm_failed")
    written = [output, *(tmp_path / "cache").rglob("*.json")]
    assert len(written) == (4 if status == "llm" else 1)
    for text in (heard, *(file.read_text() for file in written)):
        assert "a-secret-key" not in text
        assert "hidden-word" not in text
