"""One client asks services: as often as allowed, again when that may help, within bounds, and without telling a secret."""

from __future__ import annotations

import logging
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from searchmark import UsageError
from searchmark.errors import BudgetSpent, ServiceError
from searchmark.io.http import ApiKey, Budget, ClientSettings, Reply, Request, UnusableAnswer
from searchmark.io.json_service import JsonClient, ResponseCache
from tests.support.server import requests_to

Make = Callable[..., JsonClient]
TEXT = Request(path="/embeddings", body={"input": ["a"]})


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(server: str, time: Time) -> Iterator[Make]:
    """Makes clients of a path on the server, or of a whole address, and closes them."""
    with ExitStack() as made:

        def make(path: str, *, budget: Budget | None = None, cache: ResponseCache | None = None, **options: Any) -> JsonClient:
            address = path if "://" in path else f"{server}{path}"
            settings = ClientSettings(**options)
            timed = JsonClient(address, settings, budget=budget, cache=cache, clock=lambda: time.now, sleep=time.sleep)
            return made.enter_context(closing(timed))

        yield make


def asked(client: JsonClient, request: Request = TEXT) -> Reply[Any]:
    return client.send(request, lambda answer: answer)


def failure(client: JsonClient, request: Request = TEXT) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        asked(client, request)
    return caught.value


def test_a_request_has_a_method_a_path_parameters_headers_and_a_body(client: Make) -> None:
    service = client("/ok/shape/?version=1", headers={"X-Team": "search"})
    request = Request("GET", "/echo", parameters={"q": "red & blue"}, headers={"X-Trace": "7"})
    seen = asked(service, request).value
    assert (seen["method"], seen["path"], seen["body"]) == ("GET", "/ok/shape/echo?version=1&q=red+%26+blue", None)
    assert (seen["headers"]["x-team"], seen["headers"]["x-trace"]) == ("search", "7")
    posted = asked(service, Request(path="/echo", body={"text": "schön \ud800"})).value
    assert (posted["method"], posted["body"]) == ("POST", {"text": "schön ?"})
    assert posted["headers"]["content-type"] == "application/json"


def test_a_reply_tells_what_it_took(client: Make, time: Time) -> None:
    assert asked(client("/ok/took")) == Reply(asked(client("/ok/took")).value, attempts=1, waited_seconds=0.0, tokens=1)
    retried = asked(client("/busy/took"))
    assert (retried.attempts, retried.waited_seconds, retried.cached) == (3, 0.0, False)


def test_waits_are_those_that_the_service_asks_for_in_seconds_or_as_a_date(client: Make, time: Time) -> None:
    reply = asked(client("/later/waits", backoff_seconds=3.0))
    seconds, date, backoff = time.slept
    assert (seconds, backoff) == (7.0, 12.0)
    assert 90 < date <= 100
    assert reply.waited_seconds == pytest.approx(seconds + date + backoff)


def test_waits_grow_where_the_service_does_not_say(client: Make, time: Time) -> None:
    error = failure(client("http://127.0.0.1:9/x", retries=8))
    assert time.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert (error.status, error.attempts) == (None, 9)


@pytest.mark.parametrize(
    ("status", "attempts"),
    [
        (408, 3),
        (429, 3),
        (500, 3),
        (501, 1),
        (502, 3),
        (503, 3),
        (504, 3),
        (529, 3),
        (400, 1),
        (401, 1),
        (404, 1),
        (409, 1),
        (422, 1),
        (425, 1),
    ],
)
def test_only_what_may_become_better_is_asked_again(client: Make, server: str, status: int, attempts: int) -> None:
    error = failure(client(f"/status/{status}", retries=2))
    assert (error.status, error.attempts) == (status, attempts)
    assert len(requests_to(server, f"/status/{status}/")) == attempts


def test_a_truncated_answer_is_asked_for_again(client: Make) -> None:
    error = failure(client("/truncated/x", retries=1))
    assert "RemoteProtocolError" in str(error)
    assert error.attempts == 2


@pytest.mark.parametrize("behaviour", ["slow", "trickle", "slow-headers", "wait-more"])
def test_an_exchange_ends_with_its_time_however_slowly_the_answer_comes(server: str, behaviour: str) -> None:
    """Each of these sends something every 20 ms, or nothing, for ten seconds."""
    with closing(JsonClient(f"{server}/{behaviour}/x", ClientSettings(timeout_seconds=0.2, retries=0))) as service:
        error = failure(service)
    assert "gave no complete answer within 0.2 seconds (timeout_seconds)" in str(error)


def test_an_exchange_ends_with_its_time_however_slowly_the_request_is_taken(server: str) -> None:
    with closing(JsonClient(f"{server}/deaf/x", ClientSettings(timeout_seconds=0.2, retries=0))) as service:
        error = failure(service, Request(body={"input": "a" * (16 << 20)}))
    assert "gave no complete answer within 0.2 seconds" in str(error)


def test_a_connection_that_is_used_again_has_the_time_of_the_new_exchange(client: Make, time: Time, monkeypatch) -> None:
    monkeypatch.setattr("searchmark.io.http_deadline.time", SimpleNamespace(monotonic=lambda: time.now))
    service = client("/ok/again", retries=0)
    asked(service)
    time.now += 1000  # far more than one exchange is allowed to take
    assert asked(service).attempts == 1


def test_a_proxy_is_no_way_around_the_time(server: str, monkeypatch) -> None:
    """The server answers for whatever host it is asked, as a proxy would."""
    monkeypatch.setenv("HTTP_PROXY", server)
    monkeypatch.setenv("NO_PROXY", "")
    with closing(JsonClient("http://elsewhere.invalid", ClientSettings(timeout_seconds=0.2, retries=0))) as service:
        error = failure(service, Request("GET", "/slow-headers"))
    assert "gave no complete answer within 0.2 seconds" in str(error)


@pytest.mark.parametrize("behaviour", ["huge", "bomb", "packed-nothing"])
def test_no_answer_is_read_beyond_its_bound(client: Make, behaviour: str) -> None:
    error = failure(client(f"/{behaviour}/x", max_response_bytes=100_000))
    assert "gave more than 100000 bytes" in str(error)
    assert error.attempts == 1


def test_a_bomb_is_not_unpacked_beyond_the_bound(client: Make) -> None:
    """6.5 MB in one piece of 6.4 kB."""
    tracemalloc.start()
    failure(client("/bomb/x", max_response_bytes=100_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("nested-bomb", "its content encoding is not the one that was asked for"),
        ("damaged", "its gzip data is damaged"),
        ("cut-gzip", "its gzip data ends too early"),
    ],
)
def test_what_cannot_be_unpacked_is_an_error_and_not_asked_again(client: Make, behaviour: str, sentence: str) -> None:
    error = failure(client(f"/{behaviour}/x"))
    assert sentence in str(error)
    assert error.attempts == 1


def test_headers_are_not_read_beyond_their_bound(client: Make, server: str) -> None:
    error = failure(client("/endless-headers/x", retries=0))
    (seen,) = requests_to(server, "/endless-headers/x")
    assert 0 < seen["pieces"] < 512
    assert len(str(error)) < 1000


def test_an_error_is_short_however_long_the_headers_are(client: Make) -> None:
    assert len(str(failure(client("/far-away/x")))) < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("nan", 0.5),
        ("inf", 300),
        ("-inf", 0),
        ("-5", 0),
        ("1e400", 300),
        ("9" * 400, 300),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ("Mon, 01 Jan 0001 00:00:00 +2300", 0),
        ("Mon, 01 Jan 2001 00:00:00 +99999999", 0.5),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("soon", 0.5),
    ],
)
def test_an_odd_retry_after_is_bounded_or_not_obeyed(client: Make, time: Time, value: str, seconds: float) -> None:
    assert asked(client(f"/after/{quote(value, safe='')}")).attempts == 2
    assert time.slept == [seconds]


def test_waits_end_even_where_every_attempt_may_wait(client: Make, time: Time) -> None:
    error = failure(client("http://127.0.0.1:9/x", retries=100, backoff_seconds=300))
    assert "not asked again: its waits add up to more than 600 seconds" in str(error)
    assert sum(time.slept) == 600


def test_an_answer_beyond_its_bound_is_not_read_to_its_end(client: Make, server: str) -> None:
    failure(client("/huge/end", max_response_bytes=100_000))
    (seen,) = requests_to(server, "/huge/end")
    assert 0 < seen["pieces"] < 512


def test_a_redirect_is_not_followed(client: Make, server: str) -> None:
    error = failure(client("/moved/x"))
    assert "302, which points to 'http://(removed)@127.0.0.1/elsewhere'" in str(error)
    assert "hidden" not in str(error)


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("nonsense", "gave an answer that is not JSON: '<html>' (not valid JSON: Expecting value)"),
        ("nan", "(not valid JSON: NaN)"),
        ("twice", "(duplicate key 'data')"),
        ("terminal", r"400 '\x1b[31mred\x1b[0m\n::error::x'"),
    ],
)
def test_what_is_no_answer_is_quoted_harmlessly(client: Make, behaviour: str, sentence: str) -> None:
    assert sentence in str(failure(client(f"/{behaviour}/x")))


def test_requests_keep_to_the_rate(client: Make, time: Time) -> None:
    service = client("/ok/rate", requests_per_second=0.5)
    replies = [asked(service) for _ in range(3)]
    assert time.slept == [2.0, 2.0]
    assert [reply.waited_seconds for reply in replies] == [0.0, 2.0, 2.0]


def test_retries_keep_to_the_rate_too(client: Make, time: Time) -> None:
    asked(client("/busy/rate", requests_per_second=0.5))
    assert [pause for pause in time.slept if pause] == [2.0, 2.0]


def test_a_budget_is_shared_between_clients_and_threads(client: Make, server: str) -> None:
    budget = Budget(max_requests=20)
    services = [client(f"/ok/shared/{number}", budget=budget) for number in range(2)]

    def answered(number: int) -> bool:
        try:
            asked(services[number % 2])
        except BudgetSpent:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(answered, range(60))) == 20
    assert (budget.requests, budget.tokens) == (20, 20)
    assert len(requests_to(server, "/ok/shared/")) == 20


def test_retries_are_paid_for(client: Make, server: str) -> None:
    budget = Budget(max_requests=2)
    with pytest.raises(BudgetSpent, match="the budget of 2 requests is spent"):
        asked(client("/busy/paid", budget=budget))
    assert len(requests_to(server, "/busy/paid")) == 2


def test_a_bound_on_tokens_that_cannot_be_kept_is_an_error(client: Make) -> None:
    assert asked(client("/untold/x")).tokens is None
    error = failure(client("/untold/x", budget=Budget(max_tokens=1000)))
    assert "does not say how many tokens it used" in str(error)


def test_an_answer_is_cached_once_it_was_of_use(client: Make, server: str, tmp_path: Path) -> None:
    service = client("/ok/of-use", cache=ResponseCache(tmp_path))

    def refuse(answer: object) -> object:
        raise UnusableAnswer("gave what nobody wants")

    with pytest.raises(ServiceError, match="/ok/of-use gave what nobody wants"):
        service.send(TEXT, refuse)
    first, second = asked(service), asked(service)
    assert (first.cached, second.cached, second.value) == (False, True, first.value)
    with pytest.raises(ServiceError, match="gave what nobody wants"):
        service.send(TEXT, refuse)
    assert len(requests_to(server, "/ok/of-use")) == 3
    assert service.budget.tokens == 3


def test_a_cache_tells_requests_apart_and_holds_no_secrets(client: Make, server: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-key")
    address = f"{server}/ok/apart".replace("://", "://user:hidden-word@")
    key, cache = ApiKey("MY_KEY", header="x-api-key", prefix=""), ResponseCache(tmp_path)
    for parameters in ({}, {"page": "1"}, {"page": "2"}, {"page": "2"}):
        request = Request(path="/embeddings", body={"input": ["a"]}, parameters=parameters)
        asked(client(address, key=key, cache=cache), request)
    asked(client(address, key=key, cache=cache, headers={"version": "2"}), request)
    files = list(tmp_path.rglob("*.json"))
    assert len(requests_to(server, "/ok/apart")) == len(files) == 4
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not any(secret in file.read_text() for file in files for secret in ("a-secret-key", "hidden-word"))


def test_a_cached_answer_needs_no_key_no_budget_and_no_service(client: Make, tmp_path: Path, server: str, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-key")
    cache, key = ResponseCache(tmp_path), ApiKey("MY_KEY")
    asked(client("/ok/kept", cache=cache, key=key))
    monkeypatch.delenv("MY_KEY")
    assert asked(client("/ok/kept", cache=cache, key=key, budget=Budget(max_requests=0))).cached


def test_nobody_is_asked_again_after_a_failure_that_lasts_if_told_so(client: Make, server: str) -> None:
    service = client("/status/403/lasts", gives_up=True)
    assert "403" in str(failure(service))
    assert str(failure(service)).endswith("; not asked again")
    assert len(requests_to(server, "/status/403/lasts")) == 1
    stubborn = client("/status/403/stubborn")
    assert [failure(stubborn).attempts for _ in range(2)] == [1, 1]


SECRETS = ("a-secret-key", "hidden%2Fword", "hidden/word", "user:", "signed-for-me", "dXNlcjpoaWRkZW4vd29yZA==", "t0k3n-of-mine")


def secretive(client: Make, address: str) -> JsonClient:
    """A client with a key, and an address with a password and a signature."""
    hidden = f"{address}?sig=signed-for-me".replace("://", "://user:hidden%2Fword@")
    return client(hidden, key=ApiKey("MY_KEY", header="x-api-key", prefix=""), retries=0)


@pytest.mark.parametrize("behaviour", ["denied", "moved", "nonsense", "down", "truncated"])
def test_no_secret_is_in_an_error_a_log_or_a_repr(client: Make, server: str, caplog, monkeypatch, behaviour: str) -> None:
    """``denied`` quotes everything that it was sent; the log of the server shows that the secrets were there."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", "a-secret-key")
    service = secretive(client, f"{server}/{behaviour}/quoted")
    request = Request(path="/embeddings", body={"input": ["a"]}, parameters={"access_token": "t0k3n-of-mine"})
    error = failure(service, request)
    (seen,) = requests_to(server, f"/{behaviour}/quoted")
    assert seen["headers"]["authorization"] == "Basic dXNlcjpoaWRkZW4vd29yZA=="
    assert seen["headers"]["x-api-key"] == "a-secret-key"
    assert seen["path"].endswith("/embeddings?sig=signed-for-me&access_token=t0k3n-of-mine")
    assert behaviour != "denied" or "no such key: Basic (removed) (removed) /denied/quoted/embeddings?sig=(removed)&" in str(error)
    told = f"{error} {error!r} {caplog.text} {service!r} {request!r}"
    assert [secret for secret in SECRETS if secret in told] == []


@pytest.mark.parametrize("key", ["secret\nkey", "secrét-key", "\x00secret-key"])
def test_a_key_that_cannot_be_sent_is_not_quoted(client: Make, monkeypatch, key: str) -> None:
    monkeypatch.setattr("os.environ", {"MY_KEY": key})
    with pytest.raises(UsageError, match="the environment variable MY_KEY holds characters that a key cannot have"):
        asked(client("/ok/x", key=ApiKey("MY_KEY")))


def test_a_key_may_end_in_a_line_break_as_files_do(client: Make, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-key\n")
    seen = asked(client("/ok/x", key=ApiKey("MY_KEY")), Request("GET", "/echo")).value
    assert seen["headers"]["authorization"] == "Bearer a-secret-key"


def test_a_missing_key_is_named_or_left_out(client: Make, monkeypatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(UsageError, match="put it into the environment variable MY_KEY"):
        asked(client("/ok/x", key=ApiKey("MY_KEY")))
    assert asked(client("/ok/x", key=ApiKey("MY_KEY", required=False))).attempts == 1


def test_a_header_that_cannot_be_sent_is_not_quoted(client: Make) -> None:
    with pytest.raises(UsageError, match=r"^the header X-Key holds characters that HTTP does not allow$"):
        asked(client("/ok/x", headers={"X-Key": "a\nb"}))


@pytest.mark.parametrize(
    "address", ["ftp://x", "x", "http://", "http://me:hidden@host:port/", "http://me:hidden@[::1/", "http://h\x00st/"]
)
def test_an_address_that_is_none_is_refused_without_its_password(client: Make, address: str) -> None:
    with pytest.raises(UsageError, match="is not an http or https address") as caught:
        asked(JsonClient(address))
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout_seconds": 0},
        {"timeout_seconds": inf},
        {"timeout_seconds": nan},
        {"retries": -1},
        {"retries": 10**9},
        {"backoff_seconds": -1},
        {"backoff_seconds": inf},
        {"requests_per_second": 0},
        {"requests_per_second": 1e-300},
        {"max_response_bytes": 0},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(UsageError, match=f"{name} is .*, and must be"):
        ClientSettings(**options)


def test_a_closed_client_opens_again(client: Make) -> None:
    service = client("/ok/again")
    asked(service)
    service.close()
    assert asked(service).attempts == 1
