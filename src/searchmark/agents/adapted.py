"""Agents that were written for a smaller protocol, fitted in by the signatures of their methods.

``initialize(self, repo_path: str)`` gets a real path as text, ``retrieve(self, query)`` is not told how many hits are
wanted, and whatever is missing does nothing. A plain function is the smallest agent: it knows by itself what it searches.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.agents.agent import AgentSpec, RetrievalAgent, RetrievalResult
from searchmark.corpora.corpus import Corpus
from searchmark.errors import UsageError

if TYPE_CHECKING:
    from searchmark.corpora.corpus import Changes

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_COUNT_NAMES = ("k", "top_k", "limit", "n", "size", "max_results")
_PATH_TYPES = (str, "str", Path, "Path", "pathlib.Path")


def adapted(agent: Any, name: str, *, borrowed: bool = False) -> RetrievalAgent:
    """The agent itself if it knows the whole protocol, or one that speaks it on its behalf.

    A ``borrowed`` one belongs to the caller, who may still need it, and is not closed.
    """
    if callable(agent) and not hasattr(agent, "retrieve"):
        return _FunctionAgent(_search(agent) or agent)
    for method in ("initialize", "retrieve"):
        if not callable(getattr(agent, method, None)):
            raise UsageError(f"the agent {name!r} has no method {method!r}; docs/running.md shows what an agent needs")
    initialize, retrieve = _initialize(agent, name), _search(agent.retrieve)
    if isinstance(agent, RetrievalAgent) and initialize is None and retrieve is None and not borrowed:
        return agent
    return _AdaptedAgent(agent, initialize or agent.initialize, retrieve or agent.retrieve, borrowed=borrowed)


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
                f"the agent {name!r} needs a folder to search, and the corpus {corpus.name!r} is not one; name a folder with --repo"
            )
        agent.initialize(kind(corpus.folder))

    return with_path


def _search(function: Callable[..., Any]) -> Callable[[str, int], Any] | None:
    """How to call a function that does not simply take a query and a number; None if it does."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return None
    second = next(iter([each for each in parameters if each.kind in _POSITIONAL][1:]), None)
    if second is not None and (second.name in _COUNT_NAMES or second.default is inspect.Parameter.empty):
        return None
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return None
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
    ``update`` it may mean something else.
    """

    def __init__(self, agent: Any, initialize: Callable[[Corpus], None], retrieve: Callable[..., Any], *, borrowed: bool) -> None:
        self._agent, self._initialize, self._retrieve, self._borrowed = agent, initialize, retrieve, borrowed
        self._ours = agent if isinstance(agent, RetrievalAgent) else RetrievalAgent()
        self.needs_corpus = self._ours.needs_corpus
        self.takes_request = bool(getattr(agent, "takes_request", False))

    def initialize(self, corpus: Corpus) -> None:
        self._initialize(corpus)

    def start(self) -> None:
        self._ours.start()

    def retrieve(self, query: str, k: int, **more: Any) -> RetrievalResult:
        found: RetrievalResult = self._retrieve(query, k, **more)
        return found

    def update(self, changes: Changes) -> bool:
        return self._ours.update(changes)

    def reset(self) -> None:
        if hasattr(self._agent, "reset"):
            self._agent.reset()

    def close(self) -> None:
        if hasattr(self._agent, "close") and not self._borrowed:
            self._agent.close()

    def index_bytes(self) -> int | None:
        return self._ours.index_bytes()

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
    return type(agent).usage_of_last is not RetrievalAgent.usage_of_last


class _FunctionAgent(RetrievalAgent):
    """A function from a query to hits: ids, pairs of id and score, or a result."""

    needs_corpus = False

    def __init__(self, search: Callable[[str, int], Any]) -> None:
        self._search = search

    def initialize(self, corpus: Corpus) -> None:
        """A function is ready when it is defined."""

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        found: RetrievalResult = _with_scores(self._search(query, k), k)
        return found


def _with_scores(found: Any, k: int) -> Any:
    """Pairs of id and score as a result; anything else is left to whoever reads the answers of all agents."""
    hits = found if hasattr(found, "files") else read_now(found, k + 1)
    if not isinstance(hits, list | tuple) or not hits or not all(map(_is_scored, hits)):
        return hits
    return RetrievalResult([hit for hit, _ in hits], [score for _, score in hits])


def read_now(entries: Any, most: int) -> Any:
    """The entries of a list, or the first ones of anything else that can be read in order; what has no order stays as it is.

    Who calls this while a clock runs has measured the search, even if it takes place only when its hits are read.
    """
    if type(entries) in (list, tuple) or isinstance(entries, str | bytes | dict | Set) or not hasattr(entries, "__iter__"):
        return entries
    return list(entries if isinstance(entries, list | tuple) else islice(entries, most))


def _is_scored(hit: Any) -> bool:
    return isinstance(hit, tuple | list) and len(hit) == 2 and hasattr(hit[1], "__float__")  # noqa: PLR2004  # id and score
