"""What a worker does on request: load an agent, give it a corpus, search, and time each of these."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.agents.adapters import has_reset, has_usage_method
from searchmark.agents.answers import AnswerParts, ChunkRule, HitReader, as_stream, is_finite_number, parse_chunk_rule
from searchmark.agents.protocol import RetrievalAgent
from searchmark.config.agents import AgentSpec
from searchmark.errors import MISSING, MISSING_IN_SEARCH, SearchmarkError, UsageError, is_missing
from searchmark.formats.corpora.corpus import Changes, Corpus
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Location, Remote, location_from_plain
from searchmark.io.data import is_too_deep
from searchmark.io.network import network_forbidden, search_deadline
from searchmark.io.plugins import plugins_forbidden
from searchmark.io.secrets import excerpt_of
from searchmark.running.worker.process_tree import limit_memory, peak_memory_bytes
from searchmark.running.worker.protocol import (
    DEEPEST,
    LARGEST_COUNT,
    LONGEST_DESCRIPTION,
    LONGEST_PLACE,
    LONGEST_REASON,
    NEEDS_CORPUS,
    HitSender,
    Reply,
    encode_hits,
    encode_index_ms,
    encode_remarks,
    encode_usage,
    error_location,
    error_text,
    read_remarks,
    traceback_of,
)

if TYPE_CHECKING:
    from searchmark.formats.corpora.snapshots import ExportedSource, HistoryWalk
    from searchmark.formats.corpora.source import PathNames


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
            with search_deadline(request.get("seconds")):
                return self.perform(request)
        except MemoryError as error:
            return {**self._failed(_error_excerpt(error), error), "spent": True}
        except SearchmarkError as error:
            excerpt = {} if error.excerpt is None else {"excerpt": excerpt_of(error.excerpt, LONGEST_REASON)}
            return self._failed(_error_with_location(error), error.__cause__) | excerpt | _missing_flag(error, request)
        except KeyboardInterrupt as error:
            if self._spec is not None:  # Ctrl-C is meant for this process
                raise
            return self._failed(_error_excerpt(error), error)
        except BaseException as error:  # noqa: BLE001  # an agent may raise anything, SystemExit included
            return self._failed(_error_excerpt(error), error) | _missing_flag(error, request)

    def perform(self, request: Reply) -> Reply:
        """The reply to a request; what the agent raises is raised."""
        return self._operations[request["op"]](request)

    def _failed(self, reason: str, error: BaseException | None = None) -> Reply:
        """Why a request failed, and where in the agent; with a time only if it was a search, and that had begun."""
        where = None if error is None else traceback_of(error)
        time = {} if self._search_ns is None else {"ns": self._search_ns}
        return {"failed": reason} | time | ({"traceback": where} if where else {})

    @property
    def agent(self) -> RetrievalAgent:
        if self._agent is None:
            raise RuntimeError("the worker was asked before it was given an agent")
        return self._agent

    def _load(self, request: Reply) -> Reply:
        if request["memory_limit_mb"]:
            limit_memory(request["memory_limit_mb"])
        from searchmark.agents.registry import code_digest, create_agent

        if not request["foreign"]:
            self._prohibitions.enter_context(plugins_forbidden())
        if not request["network"]:
            self._prohibitions.enter_context(network_forbidden())
        spec = self._spec or AgentSpec.from_plain(request["agent"])
        self._agent = create_agent(spec, foreign=request["foreign"], network=request["network"])
        self._rule = None if spec.chunk_of is None else parse_chunk_rule(spec.chunk_of)
        agent = self._agent
        facts = {"resets": has_reset(agent), "counts": has_usage_method(agent), "needs_corpus": bool(agent.needs_corpus)}
        return {"code": code_digest(spec), **facts, "takes_count": getattr(agent, "takes_count", True)}

    def _prepare(self, request: Reply) -> Reply:
        """Bring the agent to a location, from nothing or from the one before."""
        start = perf_counter_ns()
        location = location_from_plain(request["location"])
        before, self._location = self._location, None  # an agent that fails on its way is nowhere
        how, elapsed_ns = self._bring_to(location, before, request.get("export"))
        self._location = location
        facts = {
            "how": how,
            "index_bytes": _whole(self.agent.index_bytes()),
            "memory": peak_memory_bytes(),
            "description": describe_agent(self.agent),
            "vectors": [asdict(each) for each in self.agent.vectors()],
        }
        around = perf_counter_ns() - start - elapsed_ns  # a walk through history, a folder made for the agent, and the facts
        return {"ns": elapsed_ns, "around_ns": max(0, around), **facts}

    def _bring_to(self, location: Location, before: Location | None, export: Reply | None) -> tuple[str, int]:
        """How the agent became ready, and in how many nanoseconds of its own."""
        match location:
            case Remote():
                return self._start_remote(location)
            case Commit():
                return self._move_to(location, before, export)
            case Documents() | Folder():
                return "initialised", self._initialize(location.open())

    def _start_remote(self, location: Remote) -> tuple[str, int]:
        """A service has its own corpus: its agent is given none, and is only started."""
        if self.agent.needs_corpus:
            raise UsageError(f"{location.name!r} {NEEDS_CORPUS}")
        self._corpus = None
        start = perf_counter_ns()
        self.agent.start()
        return "remote", perf_counter_ns() - start

    def _move_to(self, location: Commit, before: Location | None, export: Reply | None) -> tuple[str, int]:
        """Go to a commit, from wherever the agent is in the same repository."""
        follows = before is not None and location.same_history(before)
        changes = self._walk_to(location, follows=follows) if export is None else self._follow_export(export, follows=follows)
        self._corpus = changes.corpus
        elapsed_ns, updated = _time_call(changes.corpus, lambda: self.agent.update(changes)) if follows else (0, False)
        if updated:
            return "updated", elapsed_ns
        return "initialised", elapsed_ns + self._initialize(changes.corpus)

    def _walk_to(self, location: Commit, *, follows: bool) -> Changes:
        from searchmark.formats.corpora.snapshots import open_history_walk

        if self._walk is None or not follows:
            self._until_the_end.close()
            self._walk = self._until_the_end.enter_context(open_history_walk(location.path, location.wanted))
        return self._walk.move_to(location.commit)

    def _follow_export(self, export: Reply, *, follows: bool) -> Changes:
        """The step to the files that the runner shows, where the repository itself is out of sight."""
        from searchmark.formats.corpora.snapshots import ExportedSource

        before, self._export = self._export if follows else None, ExportedSource.from_plain(export)
        return self._export.changes_since(before)

    def _initialize(self, corpus: Corpus) -> int:
        self._corpus = corpus
        elapsed_ns, _ = _time_call(corpus, lambda: self.agent.initialize(corpus))
        return elapsed_ns

    def _reset(self, _: Reply) -> Reply:
        """Forget what former queries have left behind: a request of its own, which knows no query and has its own time."""
        self.agent.reset()
        return {}

    def _search(self, request: Reply) -> Reply:
        """The first search of a case: the cold answer. What was sent already is not said again."""
        reader, remarks, sent_count = self._run_search(request, self._send)
        self._last = self._relativize(encode_hits(reader))
        rest = self._relativize(encode_hits(reader, sent_count)) if sent_count else self._last
        return {"ns": self._search_ns, **rest, **encode_remarks(reader, remarks)}

    def _again(self, request: Reply) -> Reply:
        """Search without a reset, and only say whether the answer is still the same."""
        reader, remarks, _ = self._run_search(request, None)
        same = self._relativize(encode_hits(reader)) == self._last
        return {"ns": self._search_ns, "same": same, **encode_index_ms(remarks)}

    def _afterwards(self, _: Reply) -> Reply:
        """The tokens of the last answer and the recall of its index, where its agent says them only when asked: that takes time."""
        usage = encode_usage(self.agent.usage_of_last())
        return {key: usage[key] for key in ("tokens", "tokens_by", "ann_k", "ann_recall", "ann_overlap") if key in usage}

    def _run_search(self, request: Reply, send: Callable[[Reply], None] | None) -> tuple[HitReader, Reply, int]:
        """Search while the clock runs; a search that fails has taken its time as well. How many hits were sent is told too."""
        query, depth, retrieve = request["query"], request["depth"], self._retrieve(request)
        reader = HitReader(depth, self._rule, self._chunked_names, passages=bool(request.get("passages")))
        parts, sender = None, None
        start = perf_counter_ns()
        try:
            result = retrieve(query, depth)
            stream = as_stream(result)
            if stream is None:
                parts = AnswerParts.of(result, depth, self._rule)
            else:
                sender = HitSender(reader, send, self._relativize)
                sender.take_all(stream)
        finally:
            self._search_ns = perf_counter_ns() - start - (0 if sender is None else sender.ours_ns)
        if parts is not None:
            reader.read_all(parts)
        return reader, read_remarks(result), 0 if sender is None else sender.sent

    def _retrieve(self, request: Reply) -> Callable[[str, int], Any]:
        """How the agent is asked: with the request of the case, if it can send it."""
        retrieve: Callable[..., Any] = self.agent.retrieve
        own = request.get("request") if self.agent.takes_request else None
        return retrieve if own is None else partial(retrieve, request=own)

    def _relativize(self, answer: Reply) -> Reply:
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
        before = peak_memory_bytes()  # a program that stays is still there
        with self._prohibitions:  # they end with the agent, even one that fails to close
            if self._agent is not None:
                self._agent.close()
            self._until_the_end.close()
        return {
            "memory": max(filter(None, (before, peak_memory_bytes())), default=None)
        }  # where only ended programs are known: now


def _time_call(corpus: Corpus, call: Callable[[], T]) -> tuple[int, T]:
    """What an agent's own method gives, and how long it took without the folder that we have made for it meanwhile.

    Documents that it reads through the corpus are its own time: whoever indexes has to read.
    """
    ours, start = corpus.folder_ns, perf_counter_ns()
    result = call()
    elapsed_ns = perf_counter_ns() - start
    return max(0, elapsed_ns - (corpus.folder_ns - ours)), result


def describe_agent(agent: RetrievalAgent) -> Reply:
    """What an agent says of itself, as short plain data; one that cannot say it can search all the same."""
    try:
        description: Any = agent.describe()
        text = json.dumps(dict(description), allow_nan=False)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # an agent may raise anything, SystemExit included
        return {"describe_failed": _error_excerpt(error)}
    if len(text) > LONGEST_DESCRIPTION:
        return {"describe_failed": f"describe returned {len(text)} characters of JSON, more than {LONGEST_DESCRIPTION}"}
    plain: Reply = json.loads(text)
    return {"describe_failed": f"describe returned data nested more than {DEEPEST} deep"} if is_too_deep(plain, DEEPEST) else plain


def _whole(value: Any) -> int | None:
    return int(value) if is_finite_number(value) and 0 <= float(value) <= LARGEST_COUNT else None


def _missing_flag(error: BaseException, request: Reply) -> Reply:
    """Whether the request failed for want of something, so that the type of an error gets to the runner."""
    return {"missing": True} if is_missing(error, MISSING_IN_SEARCH if "query" in request else MISSING) else {}


def _error_excerpt(error: BaseException) -> str:
    return excerpt_of(error_text(error), LONGEST_REASON)


def _error_with_location(error: SearchmarkError) -> str:
    """Our sentence about somebody's code, with the line that it is about where that is known."""
    place = None if error.__cause__ is None else error_location(error.__cause__)
    more = "" if place is None else f" ({excerpt_of(place, LONGEST_PLACE)})"
    return excerpt_of(error.sentence, LONGEST_REASON - len(more)) + more
