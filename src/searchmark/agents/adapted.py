"""Agents that were written for a smaller protocol, fitted in by the signatures of their methods.

``initialize(self, repo_path: str)`` gets a real path as text, ``retrieve(self, query)`` is not told how many hits are
wanted, and whatever is missing does nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from searchmark.agents.agent import AgentSpec, RetrievalAgent, RetrievalResult
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.errors import UsageError

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COUNT_NAMES = ("k", "top_k", "limit", "n", "size", "max_results")
_PATH_TYPES = (str, "str", Path, "Path", "pathlib.Path")


def adapted(agent: Any, name: str) -> RetrievalAgent:
    """The agent itself if it knows the whole protocol, or one that speaks it on its behalf."""
    for method in ("initialize", "retrieve"):
        if not callable(getattr(agent, method, None)):
            raise UsageError(f"the agent {name!r} has no method {method!r}; docs/agents.md shows what an agent needs")
    initialize, retrieve = _initialize(agent, name), _retrieve(agent)
    if isinstance(agent, RetrievalAgent) and initialize is None and retrieve is None:
        return agent
    return _Adapted(agent, initialize or agent.initialize, retrieve or agent.retrieve)


def _initialize(agent: Any, name: str) -> Callable[[Corpus], None] | None:
    """How to call an ``initialize`` that wants a path; None if it takes a corpus."""
    first = next(iter(_positional(agent.initialize)), None)
    if first is None or not (
        first.annotation in _PATH_TYPES or "path" in first.name or first.name in ("repo", "directory", "folder")
    ):
        return None
    kind = Path if first.annotation in (Path, "Path", "pathlib.Path") else str

    def with_path(corpus: Corpus) -> None:
        if corpus.folder is None:
            raise UsageError(
                f"the agent {name!r} wants a folder to search, and the corpus {corpus.name!r} is none: name one by --repo"
            )
        agent.initialize(kind(corpus.folder))

    return with_path


def _retrieve(agent: Any) -> Callable[[str, int], Any] | None:
    """How to call a ``retrieve`` that does not simply take a query and a number; None if it does."""
    parameters = inspect.signature(agent.retrieve).parameters.values()
    second = next(iter(_positional(agent.retrieve)[1:]), None)
    if second is not None and (second.name in _COUNT_NAMES or second.default is inspect.Parameter.empty):
        return None
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return None
    keyword = next(
        (each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY and each.name in _COUNT_NAMES), None
    )
    if keyword is not None:
        return lambda query, k: agent.retrieve(query, **{keyword: k})
    return lambda query, k: agent.retrieve(query)  # noqa: ARG005  # it gives as many hits as it likes


def _positional(method: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(method).parameters.values() if each.kind in _POSITIONAL]


class _Adapted(RetrievalAgent):
    """Another's agent behind our protocol.

    Of one that does not know our protocol only ``reset`` and ``close`` are taken: by ``update`` it may mean something else.
    """

    def __init__(self, agent: Any, initialize: Callable[[Corpus], None], retrieve: Callable[[str, int], Any]) -> None:
        self._agent = agent
        self._initialize = initialize
        self._retrieve = retrieve
        self._ours = agent if isinstance(agent, RetrievalAgent) else RetrievalAgent()  # whose methods do nothing

    def initialize(self, corpus: Corpus) -> None:
        self._initialize(corpus)

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found: RetrievalResult = self._retrieve(query, k)
        return found

    def update(self, changes: Changes) -> bool:
        return self._ours.update(changes)

    def reset(self) -> None:
        self._call_if_there("reset")

    def close(self) -> None:
        self._call_if_there("close")

    def index_bytes(self) -> int | None:
        return self._ours.index_bytes()

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._ours.arms()

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._ours.connect(arms)

    def _call_if_there(self, method: str) -> None:
        optional = getattr(self._agent, method, None)
        if callable(optional):
            optional()
