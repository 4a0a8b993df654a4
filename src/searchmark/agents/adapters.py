"""Agents written for a smaller protocol: functions, objects, retrievers of LangChain and LlamaIndex, asynchronous ones.

Each is fitted in by the signatures of its methods.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.agents.answers import AnswerParts, ChunkRule, HitReader, HitStream, as_stream, parse_chunk_rule
from searchmark.agents.protocol import NO_USAGE, RetrievalAgent, RetrievalResult, Usage
from searchmark.config.agents import BUILT_IN, AgentSource, AgentSpec, BuiltInSource, InProcessSource, PythonSource
from searchmark.errors import UsageError
from searchmark.formats.corpora.corpus import Corpus

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from searchmark.formats.corpora.corpus import Changes
    from searchmark.formats.corpora.source import PathNames
    from searchmark.records.provenance import VectorStatistics


# The event loop of one agent: what it awaits and what it yields later, as if it had been called as usual.
#
# An agent keeps its loop as long as it lives, since connections that were opened in one cannot be used in another.


class AgentEventLoop:
    """Made when it is first needed. In a notebook, whose own loop runs already, it runs in a thread of its own."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._thread: ThreadPoolExecutor | None = None

    def resolve(self, result: Any) -> Any:
        """What was awaited, or hits that come later as a stream; anything else as it is."""
        if isinstance(result, Awaitable):
            result = self.run(_await_result(result))
        return _AsyncStream(self, result) if isinstance(result, AsyncIterable) else result

    def run(self, coroutine: Any) -> Any:
        """The result of a coroutine."""
        runner = self._runner or self._start()
        return runner.run(coroutine) if self._thread is None else self._thread.submit(runner.run, coroutine).result()

    def _start(self) -> asyncio.Runner:
        import asyncio  # most agents await nothing, and every worker would pay for it
        from concurrent.futures import ThreadPoolExecutor

        self._runner = asyncio.Runner()
        self._thread = ThreadPoolExecutor(1) if asyncio._get_running_loop() is not None else None
        return self._runner

    def close(self) -> None:
        """End whatever still runs in it."""
        runner, self._runner, thread, self._thread = self._runner, None, self._thread, None
        if runner is None:
            return
        if thread is None:
            runner.close()
        else:
            with thread:
                thread.submit(runner.close).result()


class _AsyncStream(HitStream):
    """The hits of an asynchronous generator: one task reads them all, since a task for each would cost more than most hits."""

    def __init__(self, loop: AgentEventLoop, hits: AsyncIterable[Any]) -> None:
        self._loop, self._hits = loop, hits

    def feed(self, take: Callable[[Any], bool]) -> None:
        self._loop.run(self._feed(take))

    async def _feed(self, take: Callable[[Any], bool]) -> None:
        try:
            async for hit in self._hits:
                if not take(hit):
                    return
        finally:
            if hasattr(self._hits, "aclose"):
                await self._hits.aclose()


async def _await_result(result: Awaitable[Any]) -> Any:
    return await result


# ``initialize(self, repo_path: str)`` gets a real path as text, ``retrieve(self, query)`` is not told how many hits are wanted,
# and whatever is missing does nothing. A plain function is the smallest agent: it knows by itself what it searches, and so does
# a retriever of LangChain or LlamaIndex. What is awaited is awaited here.

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_COUNT_NAMES = ("k", "top_k", "limit", "n", "size", "max_results")

_SEARCH_NAMES = ("search", "query", "find", "run", "get_relevant_documents", "similarity_search")

_PATH_TYPES = (str, "str", Path, "Path", "pathlib.Path")


def adapt_agent(agent: Any, name: str, *, borrowed: bool = False) -> RetrievalAgent:
    """An agent of whatever make behind our protocol. A ``borrowed`` one is not closed: its owner may still need it."""
    if isinstance(agent, type):
        raise UsageError(
            f"the agent {name!r} is made by a function that returns the class {agent.__name__}; return an instance of it"
        )
    method = search_method(agent)
    if method is None:
        needs = "'searchmark docs running' shows what an agent needs"
        raise UsageError(f"the agent {name!r} has no method 'retrieve'{_similar_method_name(agent)}; {needs}")
    _refuse_more_arguments(method, name)
    initialize = _initialize(agent, name) if callable(getattr(agent, "initialize", None)) else None
    search, takes_count = _search(method)
    return _AdaptedAgent(agent, initialize, search, borrowed=borrowed, takes_count=takes_count)


def _similar_method_name(agent: Any) -> str:
    """What the method that searches may be called instead."""
    name = next((each for each in _SEARCH_NAMES if callable(getattr(agent, each, None))), None)
    return "" if name is None else f"; it has {name!r}: call that retrieve, or give a function (query, k) that calls it"


def _refuse_more_arguments(method: Callable[..., Any], name: str) -> None:
    """A search that cannot do without more than the query and a number would fail in every case."""
    try:
        required = [each for each in inspect.signature(method).parameters.values() if each.default is inspect.Parameter.empty]
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return
    positional = [each for each in required if each.kind in _POSITIONAL]
    more = [each.name for each in (*positional[2:], *(each for each in required if each.kind is inspect.Parameter.KEYWORD_ONLY))]
    if more:
        function = getattr(method, "__name__", "it")
        raise UsageError(
            f"the agent {name!r} cannot be asked: {function} needs {', '.join(more)} beside the query and the number of hits; "
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


def _search(function: Callable[..., Any]) -> tuple[Callable[[str, int], Any], bool]:
    """How to call a function that takes a query and a number, or only a query; and whether it takes a number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return function, True
    second = next(iter([each for each in parameters if each.kind in _POSITIONAL][1:]), None)
    if second is not None and (second.name in _COUNT_NAMES or second.default is inspect.Parameter.empty):
        return function, True
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return function, True
    keyword = next(
        (each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY and each.name in _COUNT_NAMES), None
    )
    if keyword is not None:
        return (lambda query, k: function(query, **{keyword: k})), True
    return (lambda query, k: function(query)), False  # noqa: ARG005  # it gives as many hits as it likes


def _positional(method: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(method).parameters.values() if each.kind in _POSITIONAL]


class _AdaptedAgent(RetrievalAgent):
    """An agent of another make behind our protocol.

    Of one that does not know our protocol only ``reset``, ``close`` and ``describe`` are taken, if it has them: by
    ``update`` it may mean something else. Without ``initialize`` it knows by itself what it searches.
    """

    def __init__(
        self,
        agent: Any,
        initialize: Callable[[Corpus], Any] | None,
        search: Callable[..., Any],
        *,
        borrowed: bool,
        takes_count: bool,
    ) -> None:
        self._agent, self._initialize, self._search, self._borrowed = agent, initialize, search, borrowed
        self.takes_count = takes_count
        self._ours = agent if isinstance(agent, RetrievalAgent) else RetrievalAgent()
        self._loop = AgentEventLoop()
        self.needs_corpus = initialize is not None and self._ours.needs_corpus
        self.takes_request = bool(getattr(agent, "takes_request", False))

    def initialize(self, corpus: Corpus) -> None:
        if self._initialize is not None:
            self._loop.resolve(self._initialize(corpus))

    def start(self) -> None:
        self._ours.start()

    def usage_of_last(self) -> Usage:
        return self._ours.usage_of_last()

    def retrieve(self, query: str, k: int, **more: Any) -> Any:
        result = self._search(query, k, **more)
        return result if type(result) in (RetrievalResult, list) else self._loop.resolve(result)

    def update(self, changes: Changes) -> bool:
        return bool(self._loop.resolve(self._ours.update(changes)))

    def reset(self) -> None:
        if hasattr(self._agent, "reset"):
            self._loop.resolve(self._agent.reset())

    def close(self) -> None:
        try:
            if hasattr(self._agent, "close") and not self._borrowed:
                self._loop.resolve(self._agent.close())
        finally:
            self._loop.close()

    def index_bytes(self) -> int | None:
        return self._ours.index_bytes()

    def vectors(self) -> Sequence[VectorStatistics]:
        return self._ours.vectors()

    def describe(self) -> Mapping[str, Any]:
        description: Mapping[str, Any] = self._agent.describe() if hasattr(self._agent, "describe") else {}
        return description

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._ours.arms()

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._ours.connect(arms)


def has_reset(agent: RetrievalAgent) -> bool:
    """Whether this agent has anything to forget between two searches."""
    method = getattr(agent._agent if isinstance(agent, _AdaptedAgent) else agent, "reset", None)  # of this module
    return method is not None and getattr(method, "__func__", method) is not RetrievalAgent.reset


def has_usage_method(agent: RetrievalAgent) -> bool:
    """Whether this agent says what an answer took only when it is asked."""
    original = agent._ours if isinstance(agent, _AdaptedAgent) else agent  # of this module
    return type(original).usage_of_last is not RetrievalAgent.usage_of_last


# Classes, instances and functions as agents: what a worker can import goes there, the rest stays in this process.

PROBE_SECONDS = 30.0


# Where a fresh interpreter finds a top-level module, seen as a worker sees it; finding one executes nothing of it.
_PROBE = (
    "import json, sys; from importlib.util import find_spec; sys.path.insert(0, sys.argv[1]); found = find_spec(sys.argv[2]); "
    "print(json.dumps(found and [found.origin, [*(found.submodule_search_locations or ())]]))"
)


def spec_of_object(agent: Any) -> AgentSpec:
    """The agent that a class, an instance or a function ``(query, k)`` is."""
    if search_method(agent) is None and not isinstance(agent, type):
        kinds = "a name, a class, an instance with retrieve(query, k), or a function (query, k)"
        raise UsageError(f"{type(agent).__name__} is not an agent; give {kinds}")
    source = _source(agent)
    return AgentSpec(source.name if isinstance(source, BuiltInSource) else _name(agent), source)


def _name(agent: Any) -> str:
    name = getattr(agent, "__name__", None) or getattr(getattr(agent, "func", None), "__name__", None)
    return str(name or type(agent).__name__).strip("<>")


def _source(agent: Any) -> AgentSource:
    module, name = getattr(agent, "__module__", None), getattr(agent, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or _find_in_module(module, name) is not agent:
        return InProcessSource(agent)
    ours = next((BuiltInSource(each.name) for each in BUILT_IN.values() if each.code == f"{module}:{name}"), None)
    if ours is not None:
        return ours
    return PythonSource(module, name) if _is_importable_by_worker(module.partition(".")[0], Path.cwd()) else InProcessSource(agent)


def _find_in_module(module: str, name: str) -> Any:
    """What has this name in its module; what is local to a function, or has another name by now, is not found."""
    member: Any = sys.modules.get(module)
    for part in name.split("."):
        member = getattr(member, part, None)
    return member


@cache
def _is_importable_by_worker(module: str, folder: Path) -> bool:
    """Whether a new process finds the same module by its name; what a notebook or a script holds it does not.

    Paths that were added in this process only are unknown there, so a new interpreter is asked.
    """
    if module == "__main__":
        return False
    ours = sys.modules[module]
    command = [sys.executable, "-P", "-c", _PROBE, str(folder), module]
    try:
        output = subprocess.run(command, capture_output=True, check=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # our own interpreter
        theirs = json.loads(output)
    except (OSError, ValueError, subprocess.SubprocessError):
        return False
    # A package without a file of its own is the folders that it is spread over.
    return bool(theirs == [getattr(ours, "__file__", None), list(getattr(ours, "__path__", ()))])


# An agent as a combining agent sees it: its answers are read already, and its chunks are files.


class NormalizedArm(RetrievalAgent):
    """Gives a `RetrievalResult` of ids, scores and lines, whatever the agent behind it returns.

    Paths are under the names of the corpus: what one arm calls ``./a`` and another ``/corpus/a`` is one document.
    """

    def __init__(self, agent: RetrievalAgent, chunk_of: str | None = None) -> None:
        self._agent = agent
        self._rule: ChunkRule | None = None if chunk_of is None else parse_chunk_rule(chunk_of)
        self._names: PathNames | None = None
        self.needs_corpus = agent.needs_corpus

    def initialize(self, corpus: Corpus) -> None:
        self._agent.initialize(corpus)
        self._names = corpus.path_names

    def start(self) -> None:
        self._agent.start()

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        result, reader = self._agent.retrieve(query, k), HitReader(k, self._rule, self._names)
        stream = as_stream(result)
        if stream is None:
            reader.read_all(AnswerParts.of(result, k, self._rule))
        else:
            stream.feed(reader.take)
        scored = any(score is not None for score in reader.scores)
        return RetrievalResult(
            reader.ids,
            [float("nan") if score is None else score for score in reader.scores] if scored else None,
            getattr(result, "metadata", None) or {},
            reader.lines if any(reader.lines) else None,
            getattr(result, "cost", None),
            getattr(result, "usage", NO_USAGE),
            {kind: count for kind, count in reader.dropped().items() if kind != "beyond_depth"},  # of all arms together
        )

    def update(self, changes: Changes) -> bool:
        self._names = changes.corpus.path_names
        return self._agent.update(changes)

    def reset(self) -> None:
        self._agent.reset()

    def close(self) -> None:
        self._agent.close()

    def index_bytes(self) -> int | None:
        return self._agent.index_bytes()

    def describe(self) -> Mapping[str, Any]:
        return self._agent.describe()

    def arms(self) -> Mapping[str, AgentSpec]:
        return self._agent.arms()

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        self._agent.connect(arms)
