"""openai asks a server in batches, again when it is busy, and says in one sentence what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import httpx
import numpy as np
import pytest

from searchmark.embedders import load_embedder
from searchmark.embedders.embedder import Embedder
from searchmark.errors import UsageError
from searchmark.services.json_client import JsonClient, _asked_to_wait
from tests.support.server import vector

TEXTS = ["red sky", "blue sea", "", "\ud800", "green grass"]


@pytest.fixture
def served() -> Iterator[Callable[..., Embedder]]:
    """Makes embedders that ask a server, and closes them."""
    with ExitStack() as made:

        def make(address: str, **options: object) -> Embedder:
            choice = {"name": "openai", "model": "m", "url": f"{address}/v1", "key_variable": "", "cache": False, **options}
            return made.enter_context(closing(load_embedder(choice)))

        yield make


def log(server: str, path: str) -> list[dict]:
    return [request for request in httpx.get(f"{server}/log").json() if request["path"].startswith(path)]


def test_vectors_are_those_of_the_server_in_the_order_of_the_texts(served, server: str) -> None:
    embedder = served(f"{server}/ok/order", normalize=False)
    expected = np.array([vector(text) for text in ("red sky", "blue sea", " ", "?", "green grass")], dtype=np.float32)
    assert np.array_equal(embedder.embed_documents(TEXTS), expected)
    assert np.array_equal(embedder.embed_query("red sky"), expected[0])
    assert embedder.dimension == 8


def test_texts_travel_in_batches(served, server: str) -> None:
    served(f"{server}/ok/batches", batch=2).embed_documents(TEXTS)
    assert [len(request["body"]["input"]) for request in log(server, "/ok/batches")] == [1, 2, 2, 1]


def test_the_key_comes_from_the_environment(served, server: str, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    served(f"{server}/ok/key", key_variable="MY_KEY", dimensions=8).embed_query("a")
    (request,) = log(server, "/ok/key")
    assert request["key"] == "Bearer secret"
    assert request["body"]["dimensions"] == 8


def test_a_missing_key_is_named(served, server: str, monkeypatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(UsageError, match="put it into the environment variable MY_KEY"):
        served(f"{server}/ok", key_variable="MY_KEY")


def test_a_busy_server_is_asked_again(served, server: str) -> None:
    embedder = served(f"{server}/busy")
    assert embedder.embed_documents(["red sky"]).shape == (1, 8)


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("down", "did not answer as it should: 503"),
        ("denied", "did not answer as it should: 401 .*no such key"),
        ("nonsense", "gave no JSON: '<html>'"),
        ("odd", r"holds no vectors: keys \['result'\]"),
        ("short", "gave 0 vectors for 1 texts"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(served, server: str, behaviour: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        served(f"{server}/{behaviour}", retries=2)


def test_what_cannot_become_better_is_not_asked_again(served, server: str) -> None:
    with pytest.raises(UsageError):
        served(f"{server}/denied/once")
    assert len(log(server, "/denied/once")) == 1


def test_a_server_that_is_not_there_is_one_sentence(served) -> None:
    with pytest.raises(UsageError, match="did not answer as it should: ConnectError"):
        served("http://127.0.0.1:9", retries=0)


def test_tokens_cost_what_the_config_says(served, server: str) -> None:
    embedder = served(f"{server}/ok", price_per_million_tokens=20.0)
    before = embedder.cost()
    embedder.embed_query("five words make five tokens")
    assert embedder.cost() - before == pytest.approx(5 * 20e-6)


def test_nothing_is_asked_twice(served, server: str) -> None:
    for _ in range(2):
        embedder = served(f"{server}/ok/cached", cache=True, dimensions=8)
        embedder.embed_documents(["red", "blue"])
    assert embedder.texts_encoded == 0
    assert len(log(server, "/ok/cached")) == 1


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_requests_keep_to_the_rate(server: str) -> None:
    time = Time()
    client = JsonClient(f"{server}/ok/embeddings", requests_per_minute=30, sleep=time.sleep, clock=lambda: time.now)
    for _ in range(3):
        client.post({"input": ["a"]})
    client.close()
    assert time.slept == [2.0, 2.0]


def test_waits_grow_unless_the_server_says_how_long() -> None:
    time = Time()
    client = JsonClient("http://127.0.0.1:9/x", retries=8, sleep=time.sleep, clock=lambda: time.now)
    with pytest.raises(UsageError):
        client.post({})
    client.close()
    assert time.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3), ("0.5", 0.5), ("-1", 0), ("99999", 300), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("soon", None), (None, None)],
)
def test_how_long_a_server_asks_to_wait(value: str | None, seconds: float | None) -> None:
    assert _asked_to_wait({} if value is None else {"retry-after": value}) == seconds
