"""What a server over HTTP refuses is told with its status and its words, and without a key."""

from __future__ import annotations

import pytest

from searchmark import AgentSpec, SearchmarkError
from searchmark.agents.registry import create_agent
from searchmark.config.agents import parse_source
from tests.support.replaying import Reply, replaying

KEY = "Zq7vTk9Lm2p4RxWb8Yd"


@pytest.mark.parametrize("status", [401, 500])
def test_a_refusal_over_http_has_its_status_and_its_words(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOPX_PW", KEY)
    with replaying(lambda _: Reply({"detail": f"invalid api key {KEY}"}, status)) as server:
        config = {"url": f"{server.url}/mcp", "headers": {"Authorization": "Bearer ${SHOPX_PW}"}}
        agent = create_agent(AgentSpec("remote", parse_source("mcp"), config))
        with pytest.raises(SearchmarkError) as caught:
            agent.start()
        agent.close()
    assert f'its last refusal: {status} \'{{"detail":' in str(caught.value)
    assert "invalid api key (removed)" in str(caught.value)
