"""What a worker does on request: load an agent, give it a corpus, search, and say how long each took.

The clock runs around the agent's own method and nothing else: not while we walk through a history, not while we make the folder
that an agent asks for, and not while we take a hit that it yields, unless a program of its own searches meanwhile. Nothing that
an agent raises gets out of here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.agents.adapted import counts_later, has_reset
from searchmark.agents.agent import AgentSpec, RetrievalAgent
from searchmark.agents.answers import HitReader, Parts, finite, stream_of
from searchmark.agents.chunk_ids import ChunkRule, chunk_rule
from searchmark.corpora.corpus import Changes, Corpus
from searchmark.corpora.locations import Commit, Documents, Folder, Location, Remote, location_from_plain
from searchmark.errors import SearchmarkError, UsageError
from searchmark.files.plain_data import is_too_deep
from searchmark.running.worker.answers import Reply, plain_hits, plain_index_ms, plain_remarks, plain_usage, remarks_of
from searchmark.running.worker.process_tree import limit_memory, peak_memory
from searchmark.running.worker.protocol import (
    DEEPEST,
    LARGEST_COUNT,
    LONGEST_DESCRIPTION,
    LONGEST_PLACE,
    LONGEST_REASON,
    NEEDS_CORPUS,
)
from searchmark.running.worker.streaming import TakenHits
from searchmark.running.worker.tracebacks import error_text, place_of, traceback_of
from searchmark.services.excerpts import excerpt_of
from searchmark.services.network import network_forbidden
from searchmark.services.search_end import search_ends_within

if TYPE_CHECKING:
    from searchmark.corpora.exported import ExportedSource
    from searchmark.corpora.path_names import PathNames
    from searchmark.corpora.walk import HistoryWalk

T = TypeVar("T")


class Server:
    """One agent, the corpus that it searches, and its last answer."""

    def __init__(self, spec: AgentSpec | None = None) -> None:
        self._spec = spec  # given where the agent belongs to this process, and therefore cannot come in a request
        self._agent: RetrievalAgent | None = None
        self._rule: ChunkRule | None = None
        self._location: Location | None = None
        self._last: Reply | None = None
        self._send: Callable[[Reply], None] | None = None
        self._search_ns: int | None = None  # how long the search of this request took, once there was one
        self._corpus: Corpus | None = None
        self._walk: HistoryWalk | None = None
        self._export: ExportedSource | None = None
        self._until_the_end = ExitStack()
        self._prohibitions = ExitStack()
        self._operations: dict[str, Callable[[Reply], Reply]] = {
            "load": self._load,
            "prepare": self._prepare,
            "reset": self._reset,
            "search": self._search,
            "again": self._again,
            "afterwards": self._afterwards,
            "offers": lambda _: {"offers": dict(self.agent.offers())},
            "close": self._close,
        }

    def answer(self, request: Reply, send: Callable[[Reply], None] | None = None) -> Reply:
        """The reply to a request; hits of a search that streams are sent before it, if there is a way to ``send`` them."""
        self._search_ns, self._send = None, send
        try:
            with search_ends_within(request.get("seconds")):
                return self.perform(request)
        except MemoryError as error:
            return {**self._failed(_said(error), error), "spent": True}
        except SearchmarkError as error:
            said = {} if error.excerpt is None else {"excerpt": excerpt_of(error.excerpt, LONGEST_REASON)}
            return self._failed(_placed(error), error.__cause__) | said
        except KeyboardInterrupt as error:
            if self._spec is not None:  # Ctrl-C is meant for this process
                raise
            return self._failed(_said(error), error)
        except BaseException as error:  # noqa: BLE001  # an agent may raise anything, SystemExit included
            return self._failed(_said(error), error)

    def perform(self, request: Reply) -> Reply:
        """The reply to a request; what the agent raises is raised."""
        return self._operations[request["op"]](request)

    def _failed(self, reason: str, raised: BaseException | None = None) -> Reply:
        """Why a request failed, and where in the agent; with a time only if it was a search, and that had begun."""
        where = None if raised is None else traceback_of(raised)
        timed = {} if self._search_ns is None else {"ns": self._search_ns}
        return {"failed": reason} | timed | ({"traceback": where} if where else {})

    @property
    def agent(self) -> RetrievalAgent:
        if self._agent is None:
            raise RuntimeError("the worker was asked before it was given an agent")
        return self._agent

    def _load(self, request: Reply) -> Reply:
        if request["memory_limit_mb"]:
            limit_memory(request["memory_limit_mb"])
        from searchmark.registry import code_digest, create

        if not request["network"]:
            self._prohibitions.enter_context(network_forbidden())
        spec = self._spec or AgentSpec.from_plain(request["agent"])
        self._agent = create(spec, foreign=request["foreign"], network=request["network"])
        self._rule = None if spec.chunk_of is None else chunk_rule(spec.chunk_of)
        agent = self._agent
        facts = {"resets": has_reset(agent), "counts": counts_later(agent), "needs_corpus": bool(agent.needs_corpus)}
        return {"code": code_digest(spec), **facts}

    def _prepare(self, request: Reply) -> Reply:
        """Bring the agent to a location, from nothing or from the one before."""
        start = perf_counter_ns()
        location = location_from_plain(request["location"])
        before, self._location = self._location, None  # an agent that fails on its way is nowhere
        how, elapsed = self._brought(location, before, request.get("export"))
        self._location = location
        facts = {
            "how": how,
            "index_bytes": _whole(self.agent.index_bytes()),
            "memory": peak_memory(),
            "description": described(self.agent),
            "vectors": [asdict(each) for each in self.agent.vectors()],
        }
        around = perf_counter_ns() - start - elapsed  # a walk through history, a folder made for the agent, and the facts
        return {"ns": elapsed, "around_ns": max(0, around), **facts}

    def _brought(self, location: Location, before: Location | None, export: Reply | None) -> tuple[str, int]:
        """How the agent became ready, and in how many nanoseconds of its own."""
        match location:
            case Remote():
                return self._left_alone(location)
            case Commit():
                return self._moved(location, before, export)
            case Documents() | Folder():
                return "initialised", self._initialised(location.open())

    def _left_alone(self, location: Remote) -> tuple[str, int]:
        """A service has its own corpus: its agent is given none, and is only started."""
        if self.agent.needs_corpus:
            raise UsageError(f"{location.name!r} {NEEDS_CORPUS}")
        self._corpus = None
        start = perf_counter_ns()
        self.agent.start()
        return "remote", perf_counter_ns() - start

    def _moved(self, location: Commit, before: Location | None, export: Reply | None) -> tuple[str, int]:
        """Go to a commit, from wherever the agent is in the same repository."""
        follows = before is not None and location.same_history(before)
        changes = self._walked(location, follows=follows) if export is None else self._shown(export, follows=follows)
        self._corpus = changes.corpus
        elapsed, updated = _clocked(changes.corpus, lambda: self.agent.update(changes)) if follows else (0, False)
        if updated:
            return "updated", elapsed
        return "initialised", elapsed + self._initialised(changes.corpus)

    def _walked(self, location: Commit, *, follows: bool) -> Changes:
        from searchmark.corpora.walk import open_walk

        if self._walk is None or not follows:
            self._until_the_end.close()
            self._walk = self._until_the_end.enter_context(open_walk(location.path, location.wanted))
        return self._walk.move_to(location.commit)

    def _shown(self, export: Reply, *, follows: bool) -> Changes:
        """The step to the files that the runner shows, where the repository itself is out of sight."""
        from searchmark.corpora.exported import ExportedSource

        before, self._export = self._export if follows else None, ExportedSource.from_plain(export)
        return self._export.changes_since(before)

    def _initialised(self, corpus: Corpus) -> int:
        self._corpus = corpus
        elapsed, _ = _clocked(corpus, lambda: self.agent.initialize(corpus))
        return elapsed

    def _reset(self, _: Reply) -> Reply:
        """Forget what former queries have left behind: a request of its own, which knows no query and has its own time."""
        self.agent.reset()
        return {}

    def _search(self, request: Reply) -> Reply:
        """The first search of a case: the cold answer. What was sent already is not said again."""
        reader, remarks, sent = self._timed(request, self._send)
        self._last = self._settled(plain_hits(reader))
        rest = self._settled(plain_hits(reader, sent)) if sent else self._last
        return {"ns": self._search_ns, **rest, **plain_remarks(reader, remarks)}

    def _again(self, request: Reply) -> Reply:
        """Search without a reset, and only say whether the answer is still the same."""
        reader, remarks, _ = self._timed(request, None)
        same = self._settled(plain_hits(reader)) == self._last
        return {"ns": self._search_ns, "same": same, **plain_index_ms(remarks)}

    def _afterwards(self, _: Reply) -> Reply:
        """The tokens of the last answer and the recall of its index, where its agent says them only when asked: that takes time."""
        counted = plain_usage(self.agent.usage_of_last())
        return {key: counted[key] for key in ("tokens", "tokens_by", "ann_k", "ann_recall", "ann_overlap") if key in counted}

    def _timed(self, request: Reply, send: Callable[[Reply], None] | None) -> tuple[HitReader, Reply, int]:
        """Search while the clock runs; a search that fails has taken its time as well. How many hits were sent is told too."""
        query, depth, retrieve = request["query"], request["depth"], self._retrieve(request)
        reader, parts, taken = HitReader(depth, self._rule, self._chunked_names), None, None
        start = perf_counter_ns()
        try:
            found = retrieve(query, depth)
            stream = stream_of(found)
            if stream is None:
                parts = Parts.of(found, depth, self._rule)
            else:
                taken = TakenHits(reader, send, self._settled)
                taken.take_all(stream)
        finally:
            self._search_ns = perf_counter_ns() - start - (0 if taken is None else taken.ours_ns)
        if parts is not None:
            reader.read_all(parts)
        return reader, remarks_of(found), 0 if taken is None else taken.sent

    def _retrieve(self, request: Reply) -> Callable[[str, int], Any]:
        """How the agent is asked: with the request that the case brings along, if it can send it."""
        retrieve: Callable[..., Any] = self.agent.retrieve
        own = request.get("request") if self.agent.takes_request else None
        return retrieve if own is None else partial(retrieve, request=own)

    def _settled(self, answer: Reply) -> Reply:
        """The answer with paths relative to the folder that the agent was given, which only this process knows."""
        names = None if self._corpus is None or self._corpus.folder_if_made is None else self._corpus.path_names
        if names is not None:
            answer["ids"] = [names.name(hit) if hit.startswith("/") else hit for hit in answer["ids"]]
        return answer

    @property
    def _chunked_names(self) -> PathNames | None:
        """What chunks need to be known as those of one file, however its path is written."""
        return None if self._rule is None or self._corpus is None else self._corpus.path_names

    def _close(self, _: Reply) -> Reply:
        before = peak_memory()  # a program that stays is still there
        with self._prohibitions:  # they end with the agent, even one that fails to close
            if self._agent is not None:
                self._agent.close()
            self._until_the_end.close()
        return {"memory": max(filter(None, (before, peak_memory())), default=None)}  # where only ended programs are known: now


def _clocked(corpus: Corpus, call: Callable[[], T]) -> tuple[int, T]:
    """What an agent's own method gives, and how long it took without the folder that we have made for it meanwhile.

    Documents that it reads through the corpus are its own time: whoever indexes has to read.
    """
    ours, start = corpus.folder_ns, perf_counter_ns()
    result = call()
    elapsed = perf_counter_ns() - start
    return max(0, elapsed - (corpus.folder_ns - ours)), result


def described(agent: RetrievalAgent) -> Reply:
    """What an agent says of itself, as short plain data; one that cannot say it can search all the same."""
    try:
        said: Any = agent.describe()
        text = json.dumps(dict(said), allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # an agent may raise anything, SystemExit included
        return {"describe_failed": _said(error)}
    if len(text) > LONGEST_DESCRIPTION:
        return {"describe_failed": f"describe returned {len(text)} characters of JSON, more than {LONGEST_DESCRIPTION}"}
    plain: Reply = json.loads(text)
    return {"describe_failed": f"describe returned data nested more than {DEEPEST} deep"} if is_too_deep(plain, DEEPEST) else plain


def _whole(value: Any) -> int | None:
    return int(value) if finite(value) and 0 <= float(value) <= LARGEST_COUNT else None


def _said(error: BaseException) -> str:
    return excerpt_of(error_text(error), LONGEST_REASON)


def _placed(error: SearchmarkError) -> str:
    """Our sentence about somebody's code, with the line that it is about where that is known."""
    place = None if error.__cause__ is None else place_of(error.__cause__)
    more = "" if place is None else f" ({excerpt_of(place, LONGEST_PLACE)})"
    return excerpt_of(error.sentence, LONGEST_REASON - len(more)) + more
