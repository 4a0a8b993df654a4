"""Whatever a service does, a search ends in time, within its bounds, and in an error with the service's words, never in an empty answer."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from httpx import TimeoutException

from searchmark import SearchmarkError
from searchmark.io.http_deadline import exchange_deadline
from searchmark.io.network import search_deadline
from tests.agents.outside.conftest import Make
from tests.support.hostile_http import Peer


def failure(agent: Make, path: str, **options: object) -> str:
    with pytest.raises(SearchmarkError) as caught:
        agent(f"{path}/{{query}}", **options).retrieve("red", 2)
    return str(caught.value)


@pytest.mark.parametrize("behaviour", ["slow-headers", "slow-body", "deaf"])
def test_slow_bytes_end_with_the_time_for_the_whole_exchange(agent: Make, peer: Peer, behaviour: str) -> None:
    """The peer would go on for ever."""
    said = failure(agent, f"/{behaviour}", timeout_seconds=0.2)
    assert said == f"{peer.url}/{behaviour}/{{query}} gave no complete answer within 0.2 seconds (timeout_seconds) (2 attempts)"


@pytest.mark.parametrize("behaviour", ["endless", "endless-chunks", "bomb"])
def test_an_answer_without_end_is_an_error_and_takes_no_memory(agent: Make, peer: Peer, behaviour: str) -> None:
    tracemalloc.start()
    said = failure(agent, f"/{behaviour}", max_response_bytes=1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said.endswith("gave more than 1048576 bytes (max_response_bytes)")
    assert len(peer.heard) == 1
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("behaviour", "said", "attempts"),
    [
        ("endless-headers", "RemoteProtocolError", 2),
        ("endless-error", "did not answer as it should: 500 '", 2),
        ("dropped", "RemoteProtocolError: Server disconnected", 2),
        ("cut", "peer closed connection without sending complete message body", 2),
        ("garbage", "RemoteProtocolError: illegal status line", 2),
        ("bad-chunks", "RemoteProtocolError", 2),
        ("two-lengths", "RemoteProtocolError", 2),
        ("bomb-in-bomb", "its content encoding is not the one that was asked for", 1),
        ("brotli", "its content encoding is not the one that was asked for", 1),
        ("page", "gave text/html that cannot be read: the answer is not JSON", 1),
        ("page", "Please log in", 1),
        ("invalid", "gave application/json that cannot be read: the answer is not JSON", 1),
        ("deep", "the answer is not JSON", 1),
        ("nothing", "it is empty (status 200); if that means no hits, say so with results.nothing: ^$", 1),
        ("204", "it is empty (status 204)", 1),
        ("other-shape", """the answer has no list at 'hits' (results.hits): '{"error": "no such index"}""", 1),
        ("refuses", """did not answer as it should: 400 '{"error": {"reason": "unknown field [titel]"}}'""", 1),
        ("part", "did not answer as it should: 206", 1),
        ("promise", "did not answer as it should: 202", 1),
        ("storm", """429 '{"error": "slow down"}' (2 attempts)""", 2),
    ],
)
def test_what_is_no_answer_is_an_error_with_the_words_of_the_service(
    agent: Make, peer: Peer, behaviour: str, said: str, attempts: int
) -> None:
    assert said in failure(agent, f"/{behaviour}")
    assert len(peer.heard) == attempts


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [("page", "lines"), ("page-as-text", "lines"), ("page", "jsonl"), ("not-text", "lines"), ("nothing", "lines")],
)
def test_lines_are_not_read_from_a_page_nor_from_bytes(agent: Make, behaviour: str, kind: str) -> None:
    assert "that cannot be read: it" in failure(agent, f"/{behaviour}", results={"format": kind})


def test_what_a_post_has_created_is_an_answer(agent: Make) -> None:
    assert agent("/created/x", body={"q": "{query}"}).retrieve("red", 2).files


@pytest.mark.parametrize("query", [".", ".."])
def test_a_query_that_is_a_step_in_a_path_asks_no_other_address(agent: Make, peer: Peer, query: str) -> None:
    with pytest.raises(SearchmarkError, match=f"the query '{query}' cannot be a part of a path; put it into a parameter"):
        agent("/good/{query}").retrieve(query, 2)
    with pytest.raises(SearchmarkError, match="cannot be a part of a path"):
        agent("/good/{query}/search?q={query}").retrieve(query, 2)
    assert peer.heard == []
    for path in ("/good/x?q={query}", "/good/x{query}", "/good/../good/x?q=/{query}"):
        assert agent(path).retrieve(query, 2).files


def test_an_address_that_is_too_long_is_called_so(agent: Make, peer: Peer) -> None:
    with pytest.raises(SearchmarkError) as caught:
        agent("/good/x?q={query}").retrieve("x" * 200_000, 2)
    assert "characters, more than 65536: send the query in a body or a form" in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(("behaviour", "exchanges"), [("used-up", [30]), ("busy-then-deaf", [30, 0.45])])
def test_a_search_that_must_end_tells_the_last_words_of_the_service(
    agent: Make, monkeypatch: pytest.MonkeyPatch, behaviour: str, exchanges: list[float]
) -> None:
    """Only an exchange that is late takes time here, and as long as it may: with its way home the search has half a second."""
    now, given = [0.0], []

    @contextmanager
    def exchange_within(seconds: float) -> Iterator[None]:
        given.append(seconds)
        try:
            with exchange_deadline(seconds):
                yield
        except TimeoutException:
            now[0] += seconds
            raise

    monkeypatch.setattr("searchmark.io.http_deadline.exchange_deadline", exchange_within)
    monkeypatch.setattr("searchmark.io.network.time", SimpleNamespace(monotonic=lambda: now[0]))
    made = agent(f"/{behaviour}/{{query}}", timeout_seconds=30, retries=3)
    slept: list[float] = []
    monkeypatch.setattr(made._client, "_sleep", slept.append)
    with (
        pytest.raises(SearchmarkError, match=r"429 .not asked again: the search has no more time. 'quota for today"),
        search_deadline(0.5),
    ):
        made.retrieve("red", 2)
    assert given == pytest.approx(exchanges)
    assert sum(slept) == 0


@pytest.mark.parametrize("retries", [0, 1, 5])
@pytest.mark.parametrize("behaviour", ["storm", "storm-later"])
def test_a_storm_of_refusals_is_bounded(agent: Make, peer: Peer, behaviour: str, retries: int) -> None:
    failure(agent, f"/{behaviour}", retries=retries)
    assert len(peer.heard) == retries + 1


def test_a_service_cannot_ask_for_more_waits_than_ten_minutes(agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    made = agent("/storm-much-later/{query}", retries=9)
    monkeypatch.setattr(made._client, "_sleep", slept.append)
    with pytest.raises(SearchmarkError, match="its waits add up to more than 600 seconds"):
        made.retrieve("red", 2)
    assert slept == [300, 300]


def test_redirects_are_errors_that_say_where_they_point(agent: Make, peer: Peer) -> None:
    said = failure(agent, "/within")
    assert "308, which points to '/good/red' (configure that address if it is right)" in said
    assert len(peer.heard) == 1


@pytest.mark.parametrize("behaviour", ["away", "downgraded"])
@pytest.mark.parametrize("follow", [False, True])
def test_a_different_host_hears_nothing_even_where_redirects_are_followed(
    agent: Make, peer: Peer, behaviour: str, follow: bool
) -> None:
    said = failure(agent, f"/{behaviour}", follow_redirects=follow)
    assert "which points to 'http://" in said
    assert "told" not in said
    assert len(peer.heard) == 1


@pytest.mark.parametrize("behaviour", ["within", "moved"])
def test_a_redirect_within_a_service_repeats_the_request_if_told_so(agent: Make, peer: Peer, behaviour: str) -> None:
    body = {"q": "{query}"}
    found = agent(f"/{behaviour}/x", body=body, headers={"X-Team": "search"}, follow_redirects=True).retrieve("red", 2)
    assert found.files == ["red.txt", "blue.txt"]
    assert [(each.method, each.path, each.body) for each in peer.heard] == [
        ("POST", f"/{behaviour}/x", b'{"q": "red"}'),
        ("POST", "/good/x", b'{"q": "red"}'),
    ]
    assert peer.heard[1].headers["x-team"] == "search"


def test_see_other_is_followed_by_a_get_without_a_body(agent: Make, peer: Peer) -> None:
    agent("/see/x", body={"q": "{query}"}, follow_redirects=True).retrieve("red", 2)
    assert (peer.heard[1].method, peer.heard[1].path, peer.heard[1].body) == ("GET", "/good/seen", b"")
    assert "content-type" not in peer.heard[1].headers


def test_a_circle_of_redirects_ends(agent: Make, peer: Peer) -> None:
    assert "it redirects more than 5 times" in failure(agent, "/circle", follow_redirects=True)
    assert len(peer.heard) == 6


@pytest.mark.parametrize("behaviour", ["closes", "too-long"])
def test_a_connection_that_ends_between_two_requests_is_no_error(agent: Make, peer: Peer, behaviour: str) -> None:
    made = agent(f"/{behaviour}/{{query}}")
    assert [made.retrieve(query, 2).files for query in ("a", "b", "c")] == [["red.txt", "blue.txt"]] * 3


def test_json_is_read_whatever_its_content_type(agent: Make) -> None:
    assert agent("/mislabelled/{query}").retrieve("red", 2).files == ["red.txt", "blue.txt"]
