"""Agents that were written for a smaller protocol, fitted in by the signatures of their methods.

``initialize(self, repo_path: str)`` gets a real path as text, ``retrieve(self, query)`` is not told how many hits are
wanted, and whatever is missing does nothing. A plain function is the smallest agent: it knows by itself what it searches, and so
does a retriever of LangChain or LlamaIndex. What is awaited is awaited here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import AgentSpec, RetrievalAgent, RetrievalResult, Usage
from searchmark.agents.event_loop import EventLoop
from searchmark.corpora.corpus import Corpus
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes
    from searchmark.records import VectorStatistics

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COUNT_NAMES = ("k", "top_k", "limit", "n", "size", "max_results")
_SEARCH_NAMES = ("search", "query", "find", "run", "get_relevant_documents", "similarity_search")
_PATH_TYPES = (str, "str", Path, "Path", "pathlib.Path")


def adapted(agent: Any, name: str, *, borrowed: bool = False) -> RetrievalAgent:
    """An agent of whatever make behind our protocol. A ``borrowed`` one is not closed: its owner may still need it."""
    if isinstance(agent, type):
        raise UsageError(
            f"the agent {name!r} is made by a function that returns the class {agent.__name__}; return an instance of it"
        )
    method = search_method(agent)
    if method is None:
        needs = "'searchmark docs running' shows what an agent needs"
        raise UsageError(f"the agent {name!r} has no method 'retrieve'{_alike(agent)}; {needs}")
    _refuse_more_arguments(method, name)
    initialize = _initialize(agent, name) if callable(getattr(agent, "initialize", None)) else None
    return _AdaptedAgent(agent, initialize, _search(method), borrowed=borrowed)


def _alike(agent: Any) -> str:
    """What the method that searches may be called instead."""
    found = next((each for each in _SEARCH_NAMES if callable(getattr(agent, each, None))), None)
    return "" if found is None else f"; it has {found!r}: call that retrieve, or give a function (query, k) that calls it"


def _refuse_more_arguments(method: Callable[..., Any], name: str) -> None:
    """A search that cannot do without more than the query and a number would fail in every case."""
    try:
        needed = [each for each in inspect.signature(method).parameters.values() if each.default is inspect.Parameter.empty]
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return
    positional = [each for each in needed if each.kind in _POSITIONAL]
    more = [each.name for each in (*positional[2:], *(each for each in needed if each.kind is inspect.Parameter.KEYWORD_ONLY))]
    if more:
        called = getattr(method, "__name__", "it")
        raise UsageError(
            f"the agent {name!r} cannot be asked: {called} needs {', '.join(more)} beside the query and the number of hits; "
            "make it a class that holds this, with retrieve(query, k), or wrap it in a function (query, k)"
        )


def search_method(agent: Any) -> Callable[..., Any] | None:
    """What is called for a search: ``retrieve``, the ``invoke`` of a retriever of LangChain, or a function itself."""
    for name in ("retrieve", "invoke"):
        if hasattr(agent, name):
            method = getattr(agent, name)
            return method if callable(method) else None
    return agent if callable(agent) else None


def _initialize(agent: Any, name: str) -> Callable[[Corpus], Any]:
    """How to call an ``initialize`` that takes a corpus, or wants a path."""
    first = next(iter(_positional(agent.initialize)), None)
    if first is None or not (
        first.annotation in _PATH_TYPES or "path" in first.name or first.name in ("repo", "directory", "folder")
    ):
        initialize: Callable[[Corpus], Any] = agent.initialize
        return initialize
    kind = Path if first.annotation in (Path, "Path", "pathlib.Path") else str

    def with_path(corpus: Corpus) -> Any:
        if corpus.folder is None:
            raise UsageError(
                f"the agent {name!r} needs a folder to search, and the corpus {corpus.name!r} is not one; name a folder with --repo"
            )
        return agent.initialize(kind(corpus.folder))

    return with_path


def _search(function: Callable[..., Any]) -> Callable[[str, int], Any]:
    """How to call a function that takes a query and a number, or only a query."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return function
    second = next(iter([each for each in parameters if each.kind in _POSITIONAL][1:]), None)
    if second is not None and (second.name in _COUNT_NAMES or second.default is inspect.Parameter.empty):
        return function
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return function
    keyword = next(
        (each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY and each.name in _COUNT_NAMES), None
    )
    if keyword is not None:
        return lambda query, k: function(query, **{keyword: k})
    return lambda query, k: function(query)  # noqa: ARG005  # it gives as many hits as it likes


def _positional(method: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(method).parameters.values() if each.kind in _POSITIONAL]


class _AdaptedAgent(RetrievalAgent):
    """An agent of another make behind our protocol.

    Of one that does not know our protocol only ``reset``, ``close`` and ``describe`` are taken, if it has them: by
    ``update`` it may mean something else. Without ``initialize`` it knows by itself what it searches.
    """

    def __init__(
        self, agent: Any, initialize: Callable[[Corpus], Any] | None, search: Callable[..., Any], *, borrowed: bool
    ) -> None:
        self._agent, self._initialize, self._search, self._borrowed = agent, initialize, search, borrowed
        self._ours = agent if isinstance(agent, RetrievalAgent) else RetrievalAgent()
        self._loop = EventLoop()
        self.needs_corpus = initialize is not None and self._ours.needs_corpus
        self.takes_request = bool(getattr(agent, "takes_request", False))

    def initialize(self, corpus: Corpus) -> None:
        if self._initialize is not None:
            self._loop.settled(self._initialize(corpus))

    def start(self) -> None:
        self._ours.start()

    def usage_of_last(self) -> Usage:
        return self._ours.usage_of_last()

    def retrieve(self, query: str, k: int, **more: Any) -> Any:
        found = self._search(query, k, **more)
        return found if type(found) in (RetrievalResult, list) else self._loop.settled(found)

    def update(self, changes: Changes) -> bool:
        return bool(self._loop.settled(self._ours.update(changes)))

    def reset(self) -> None:
        if hasattr(self._agent, "reset"):
            self._loop.settled(self._agent.reset())

    def close(self) -> None:
        try:
            if hasattr(self._agent, "close") and not self._borrowed:
                self._loop.settled(self._agent.close())
        finally:
            self._loop.close()

    def index_bytes(self) -> int | None:
        return self._ours.index_bytes()

    def vectors(self) -> Sequence[VectorStatistics]:
        return self._ours.vectors()

    def describe(self) -> Mapping[str, Any]:
        said: Mapping[str, Any] = self._agent.describe() if hasattr(self._agent, "describe") else {}
        return said

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._ours.arms()

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._ours.connect(arms)


def has_reset(agent: RetrievalAgent) -> bool:
    """Whether this agent has anything to forget between two searches."""
    method = getattr(agent._agent if isinstance(agent, _AdaptedAgent) else agent, "reset", None)  # of this module
    return method is not None and getattr(method, "__func__", method) is not RetrievalAgent.reset


def counts_later(agent: RetrievalAgent) -> bool:
    """Whether this agent says what an answer took only when it is asked."""
    asked = agent._ours if isinstance(agent, _AdaptedAgent) else agent  # of this module
    return type(asked).usage_of_last is not RetrievalAgent.usage_of_last
