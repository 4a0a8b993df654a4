"""openai asks a server in batches, again when it is busy, and says in one sentence what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import numpy as np
import pytest

from searchmark import UsageError
from searchmark.agents.vectors import load_embedder
from searchmark.agents.vectors.embedder import Embedder
from tests.support.server import requests_to, vector

TEXTS = ["red sky", "blue sea", "", "\ud800", "green grass"]


@pytest.fixture
def served() -> Iterator[Callable[..., Embedder]]:
    """Makes embedders that ask a server, and closes them."""
    with ExitStack() as made:

        def make(address: str, **options: object) -> Embedder:
            choice = {"name": "openai", "model": "m", "url": f"{address}/v1", "key_variable": "", "cache": False, **options}
            return made.enter_context(closing(load_embedder(choice)))

        yield make


def test_vectors_are_those_of_the_server_in_the_order_of_the_texts(served, server: str) -> None:
    embedder = served(f"{server}/ok/order", normalize=False)
    expected = np.array([vector(text) for text in ("red sky", "blue sea", " ", "?", "green grass")], dtype=np.float32)
    assert np.array_equal(embedder.embed_documents(TEXTS), expected)
    assert np.array_equal(embedder.embed_query("red sky"), expected[0])
    assert embedder.dimension == 8


def test_texts_travel_in_batches(served, server: str) -> None:
    served(f"{server}/ok/batches", batch=2).embed_documents(TEXTS)
    assert [len(request["body"]["input"]) for request in requests_to(server, "/ok/batches")] == [1, 2, 2, 1]


def test_the_key_comes_from_the_environment(served, server: str, monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    served(f"{server}/ok/key", key_variable="MY_KEY", dimensions=8).embed_query("a")
    (request,) = requests_to(server, "/ok/key")
    assert request["headers"]["authorization"] == "Bearer secret"
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
        ("nonsense", "gave an answer that is not JSON: '<html>'"),
        ("odd", r"without vectors: keys \['result'\]"),
        ("enormous", "without vectors: keys"),
        ("short", "gave 0 vectors for 1 texts"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(served, server: str, behaviour: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        served(f"{server}/{behaviour}", retries=2)


def test_what_cannot_become_better_is_not_asked_again(served, server: str) -> None:
    with pytest.raises(UsageError):
        served(f"{server}/denied/once")
    assert len(requests_to(server, "/denied/once")) == 1


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
    assert len(requests_to(server, "/ok/cached")) == 1


def test_the_password_of_an_address_is_in_no_fingerprint(served, server: str) -> None:
    address = f"{server}/ok/password".replace("://", "://user:hidden-word@")
    embedder = served(address, dimensions=8)
    embedder.embed_query("a")
    assert "hidden-word" not in str(embedder.fingerprint())
    assert requests_to(server, "/ok/password")[0]["headers"]["authorization"].startswith("Basic ")
