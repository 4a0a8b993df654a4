"""A service is asked as its config says, and its hits are read as its config says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from searchmark import SearchmarkError
from searchmark.agents.protocol import Usage
from tests.agents.outside.conftest import Make
from tests.support.hostile_http import Peer, hostile_peer

ODD = [
    "a&b=c#d%20e",
    '"; rm -rf / #',
    "--help",
    "two\nlines\r\nand\ttabs",
    "\U0001f50d schön",
    "{k} {query} {corpus}",
    "${HOME}",
    "+ %2B /../",
    " ",
]


@pytest.mark.slow
@pytest.mark.parametrize("query", ODD)
def test_a_query_arrives_as_it_was_typed(agent: Make, peer: Peer, query: str) -> None:
    agent("/good/a/{query}").retrieve(query, 3)
    agent("/good/b?q={query}&n={k}").retrieve(query, 3)
    agent("/good/c", parameters={"q": "{query}", "n": "{k}"}).retrieve(query, 3)
    agent("/good/d", form={"q": "{query}", "n": "{k}"}).retrieve(query, 3)
    agent("/good/e", body={"q": "{query}", "n": "{k}", "text": "{k} of {query}"}).retrieve(query, 3)
    path, url, parameters, form, body = peer.heard
    assert path.last_part == query
    assert url.parameters == parameters.parameters == form.form == {"q": query, "n": "3"}
    assert json.loads(body.body) == {"q": query, "n": 3, "text": f"3 of {query}"}


def test_method_and_type_follow_from_what_is_sent(agent: Make, peer: Peer) -> None:
    agent("/good/{query}").retrieve("red", 2)
    agent("/good/x", form={"q": "{query}"}).retrieve("red", 2)
    agent("/good/x", body={"q": "{query}"}).retrieve("red", 2)
    agent("/good/x", body={"q": "{query}"}, method="GET", headers={"content-type": "application/x-ndjson"}).retrieve("red", 2)
    assert [(each.method, each.headers.get("content-type")) for each in peer.heard] == [
        ("GET", None),
        ("POST", "application/x-www-form-urlencoded"),
        ("POST", "application/json"),
        ("GET", "application/x-ndjson"),
    ]
    assert peer.heard[0].headers["accept"] == "application/json"
    assert peer.heard[0].headers["user-agent"] == "searchmark"


def test_parameters_have_lists_numbers_and_truth(agent: Make, peer: Peer) -> None:
    fields = {"q": "{query}", "f": ["a", "b"], "n": 3, "exact": True, "none": None, "where": {"lang": "en"}}
    agent("/good/x?old=1", parameters=fields).retrieve("red", 2)
    assert peer.heard[0].target == "/good/x?old=1&q=red&f=a&f=b&n=3&exact=true&where=%7B%22lang%22%3A%20%22en%22%7D"


def test_hits_scores_cost_and_tokens_are_read(agent: Make) -> None:
    paths = {"hits": "hits", "id": "id", "score": "score", "cost": "cost", "tokens": "tokens"}
    found = agent(results=paths).retrieve("red", 2)
    assert (found.files, found.scores, found.cost) == (["red.txt", "blue.txt"], [2.0, 1.0], 0.5)
    assert found.usage == Usage(tokens=7, tokens_by="the service", retries=0, waited_ms=0.0)


def test_a_service_may_answer_in_lines(agent: Make, peer: Peer) -> None:
    found = agent("/lines/{query}", results={"format": "lines"}).retrieve("red", 2)
    assert found.files == ["red.txt", "blue.txt"]
    assert peer.heard[0].headers["accept"] == "*/*"
    assert agent("/latin/{query}", results={"format": "lines"}).retrieve("red", 2).files == ["straße.txt"]


def test_nothing_found_is_what_the_service_says(agent: Make) -> None:
    assert agent("/empty-list/{query}").retrieve("red", 2).files == []
    assert agent("/204/{query}", results={"format": "lines", "nothing": "^$"}).retrieve("red", 2).files == []


def test_retries_and_waits_are_counted(agent: Make, peer: Peer) -> None:
    found = agent("/busy-twice/{query}", retries=3).retrieve("red", 2)
    assert (found.usage.retries, found.usage.waited_ms) == (2, pytest.approx(40))
    assert agent("/down-once/{query}").retrieve("red", 2).usage.retries == 1
    assert agent("/lost-once/x", body="{query}").retrieve("red", 2).usage.retries == 1
    assert [each.body for each in peer.heard[-2:]] == [b'"red"', b'"red"']


def test_a_rate_limit_waits_and_says_so(agent: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made, slept = agent(requests_per_second=0.01), []
    monkeypatch.setattr(made._client._limit, "_sleep", slept.append)
    waited = [made.retrieve("red", 2).usage.waited_ms for _ in range(3)]
    assert waited == [seconds * 1000 for seconds in [0, *slept]]
    assert slept == pytest.approx([100, 200], abs=20)


def test_one_connection_serves_many_searches(agent: Make, peer: Peer) -> None:
    made = agent()
    for query in "abcdef":
        made.retrieve(query, 2)
    assert (len(peer.heard), peer.connections) == (6, 1)


def test_a_vector_is_made_of_the_query(agent: Make, peer: Peer) -> None:
    made = agent("/good/x", body={"vector": "{vector}", "k": "{k}"}, embedder={"name": "hashing", "dimension": 4})
    made.retrieve("red", 2)
    sent = json.loads(peer.heard[0].body)
    assert sent == {"vector": pytest.approx(made.embedder.embed_query("red").tolist()), "k": 2}
    assert made.describe()["embedder"] == made.embedder.name
    agent("/good/x?v={vector}", embedder={"name": "hashing", "dimension": 4}).retrieve("red", 2)
    assert json.loads(peer.heard[1].parameters["v"]) == sent["vector"]


def test_proxies_are_those_of_the_environment(agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    with hostile_peer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        host = f"to-{peer.url.rpartition(':')[2]}.invalid"
        made = agent(f"http://{host}/good/{{query}}?n={{k}}", headers={"X-Team": "search"})
        assert made.retrieve("red & blue", 2).files == ["red.txt", "blue.txt"]
        assert [each.target for each in proxy.heard] == [f"http://{host}/good/red%20%26%20blue?n=2"]
        assert (peer.heard[0].target, peer.heard[0].headers["x-team"]) == ("/good/red%20%26%20blue?n=2", "search")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        agent("/good/{query}").retrieve("red", 2)
        assert (len(proxy.heard), len(peer.heard)) == (1, 2)


def test_a_corpus_is_needed_only_where_the_request_names_it(agent: Make) -> None:
    assert agent().needs_corpus is False
    assert agent("/good/{query}", parameters={"root": "{corpus}"}).needs_corpus is True


def test_a_description_says_what_is_asked_and_read(agent: Make, peer: Peer) -> None:
    assert agent("/good/{query}?n={k}").describe() == {
        "url": f"{peer.url}/good/{{query}}?n={{k}}",
        "method": "GET",
        "results": {"hits": "hits", "format": "json"},
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"path": "/good/x"}, "is asked without the query; write {query} into url, parameters, headers, body or form"),
        ({"path": "/good/{query}", "body": 1, "form": {"a": 1}}, "body and form exclude each other; set one of them"),
        ({"path": "/good/x", "form": {"q": "{query}"}, "method": "GET"}, "a form is sent by POST; use parameters with GET"),
        ({"path": "/good/{vector}"}, "{vector} needs an embedder; say which, as embedder: wordllama"),
        ({"path": "http://{query}.example/"}, "{query} is in the host of the url"),
        ({"path": "ftp://x/{query}"}, "is not an http or https address"),
        ({"path": "/good/{query}", "headers": {"X": "${NOT_SET_AT_ALL}"}}, "the environment variable NOT_SET_AT_ALL is not set"),
        ({"path": "/good/{query}", "embedder": "no-such"}, "there is no embedder 'no-such'"),
        ({"path": "/good/{query}", "preset": "no-such"}, "'no-such' is not a preset"),
        ({"path": "/good/{query}", "retries": -1}, "retries"),
        ({"path": "/good/{query}", "verify": False}, "verify"),
    ],
)
def test_a_config_that_cannot_work_is_refused_in_one_sentence(agent: Make, peer: Peer, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SearchmarkError) as caught:
        agent(**options)
    assert said in str(caught.value)
    assert peer.heard == []
