"""A peer that misbehaves, and agents that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from searchmark import AgentSpec
from searchmark.agents.outside.http import HttpAgent
from searchmark.agents.registry import settings_of_agent
from searchmark.config.agents import parse_source
from tests.support.hostile_http import Peer, hostile_peer

Make = Callable[..., HttpAgent]


@pytest.fixture
def peer() -> Iterator[Peer]:
    with hostile_peer() as other, hostile_peer(other=other.url) as peer:
        yield peer
        assert other.heard == []  # a different host hears nothing, whatever happens


@pytest.fixture
def agent(peer: Peer) -> Iterator[Make]:
    """Makes agents of a path on the peer, checked as configs are, that ask without waiting and wait for little."""
    with ExitStack() as made:

        def make(path: str = "/good/{query}", **options: Any) -> HttpAgent:
            given = {"results": {"hits": "hits"}, "retries": 1, "backoff_seconds": 0, "timeout_seconds": 5} | options
            address = path if "://" in path or path.startswith("$") else f"{peer.url}{path}"
            spec = AgentSpec("svc", parse_source("http"), {"url": address} | given)
            return made.enter_context(closing(HttpAgent(settings_of_agent(HttpAgent.Config, spec))))

        yield make
