"""What a worker does on request: load an agent, give it a corpus, search, and say how long each took.

The clock runs around the agent's own method and nothing else: not while we walk through a history, and not while we make
the folder that an agent asks for. Nothing that an agent raises gets out of here.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack
from itertools import islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from searchmark.agents.agent import AgentSpec, RetrievalAgent
from searchmark.corpora.corpus import Corpus
from searchmark.corpora.locations import Commit, Documents, Folder, Location, Remote, location_from_plain
from searchmark.errors import SearchmarkError, UsageError, shortened
from searchmark.records import is_line_range
from searchmark.running.worker.process_tree import limit_memory, peak_memory
from searchmark.running.worker.protocol import LONGEST_DESCRIPTION, LONGEST_ID, LONGEST_METADATA

if TYPE_CHECKING:
    from searchmark.corpora.walk import HistoryWalk

LONGEST_REASON = 500

Reply = dict[str, Any]
T = TypeVar("T")


class BadAnswer(Exception):
    """What an agent returned is no answer."""


class Server:
    """One agent, the corpus that it searches, and its last answer."""

    def __init__(self, spec: AgentSpec | None = None) -> None:
        self._spec = spec  # given where the agent belongs to this process, and therefore cannot come in a request
        self._agent: RetrievalAgent | None = None
        self._location: Location | None = None
        self._last: Reply | None = None
        self._corpus: Corpus | None = None
        self._walk: HistoryWalk | None = None
        self._until_the_end = ExitStack()
        self._operations: dict[str, Callable[[Reply], Reply]] = {
            "load": self._load,
            "prepare": self._prepare,
            "search": self._search,
            "again": self._again,
            "close": self._close,
        }

    def answer(self, request: Reply) -> Reply:
        try:
            return self._operations[request["op"]](request)
        except MemoryError as error:
            return {"failed": _said(error), "spent": True}
        except SearchmarkError as error:
            return {"failed": shortened(str(error), LONGEST_REASON)}
        except KeyboardInterrupt as error:
            if self._spec is not None:  # Ctrl-C is meant for this process
                raise
            return {"failed": _said(error)}
        except BaseException as error:  # noqa: BLE001  # an agent may raise anything, SystemExit included
            return {"failed": _said(error)}

    @property
    def agent(self) -> RetrievalAgent:
        if self._agent is None:
            raise RuntimeError("the worker was asked before it was given an agent")
        return self._agent

    def _load(self, request: Reply) -> Reply:
        if request["memory_limit_mb"]:
            limit_memory(request["memory_limit_mb"])
        from searchmark.registry import code_digest, create

        spec = self._spec or AgentSpec.from_plain(request["agent"])
        self._agent = create(spec, foreign=request["foreign"])
        return {"code": code_digest(spec)}

    def _prepare(self, request: Reply) -> Reply:
        """Bring the agent to a location, from nothing or from the one before."""
        location = location_from_plain(request["location"])
        before, self._location = self._location, None  # an agent that fails on its way is nowhere
        how, elapsed = self._brought(location, before)
        self._location = location
        return {
            "ns": elapsed,
            "how": how,
            "index_bytes": _whole(self.agent.index_bytes()),
            "memory": peak_memory(),
            "description": described(self.agent),
        }

    def _brought(self, location: Location, before: Location | None) -> tuple[str, int]:
        """How the agent became ready, and in how many nanoseconds of its own."""
        match location:
            case Remote():
                return self._left_alone(location)
            case Commit():
                return self._moved(location, before)
            case Documents() | Folder():
                return "initialised", self._initialised(location.open())

    def _left_alone(self, location: Remote) -> tuple[str, int]:
        """A service has its own corpus: its agent is given none, and is asked as it is."""
        if self.agent.needs_corpus:
            raise UsageError(f"the agent needs a corpus, and {location.name!r} is a service, which searches its own")
        self._corpus = None
        return "remote", 0

    def _moved(self, location: Commit, before: Location | None) -> tuple[str, int]:
        """Go to a commit, from wherever the agent is in the same repository."""
        from searchmark.corpora.walk import open_walk

        follows = self._walk is not None and before is not None and location.same_history(before)
        if self._walk is None or not follows:
            self._until_the_end.close()
            self._walk = self._until_the_end.enter_context(open_walk(location.path, location.wanted))
        changes = self._walk.move_to(location.commit)
        self._corpus = changes.corpus
        elapsed, updated = _clocked(changes.corpus, lambda: self.agent.update(changes)) if follows else (0, False)
        if updated:
            return "updated", elapsed
        return "initialised", elapsed + self._initialised(changes.corpus)

    def _initialised(self, corpus: Corpus) -> int:
        self._corpus = corpus
        elapsed, _ = _clocked(corpus, lambda: self.agent.initialize(corpus))
        return elapsed

    def _search(self, request: Reply) -> Reply:
        """Search after a reset: the cold answer."""
        self.agent.reset()
        elapsed, result = _timed(self.agent, request)
        self._last = self._settled(plain_answer(result, request["depth"]))
        return {"ns": elapsed, **self._last}

    def _again(self, request: Reply) -> Reply:
        """Search without a reset, and only say whether the answer is still the same."""
        elapsed, result = _timed(self.agent, request)
        answer = self._settled(plain_answer(result, request["depth"]))
        same = self._last is not None and all(answer.get(key) == self._last.get(key) for key in ("ids", "scores", "lines"))
        return {"ns": elapsed, "same": same}

    def _settled(self, answer: Reply) -> Reply:
        """The answer with paths relative to the folder that the agent was given, which only this process knows."""
        folder = None if self._corpus is None else self._corpus.folder_if_made
        if folder is not None:
            root = f"{folder}/"
            answer["ids"] = [hit.removeprefix(root) for hit in answer["ids"]]
        return answer

    def _close(self, _: Reply) -> Reply:
        memory = peak_memory()
        if self._agent is not None:
            self._agent.close()
        self._until_the_end.close()
        return {"memory": memory}


def _clocked(corpus: Corpus, call: Callable[[], T]) -> tuple[int, T]:
    """What an agent's own method gives, and how long it took without the folder that we have made for it meanwhile.

    Documents that it reads through the corpus are its own time: whoever indexes has to read.
    """
    ours, start = corpus.folder_ns, perf_counter_ns()
    result = call()
    elapsed = perf_counter_ns() - start
    return max(0, elapsed - (corpus.folder_ns - ours)), result


def _timed(agent: RetrievalAgent, request: Reply) -> tuple[int, Any]:
    query, depth, retrieve = request["query"], request["depth"], agent.retrieve
    start = perf_counter_ns()
    result: Any = retrieve(query, depth)
    files = getattr(result, "files", result)
    if isinstance(files, Iterator):  # whatever searches only when it is asked for hits is asked while the clock runs
        result = _Listed(list(islice(files, depth + 1)), result)
    return perf_counter_ns() - start, result


class _Listed:
    """A result whose files were an iterator, with the files taken out of it."""

    def __init__(self, files: list[Any], result: Any) -> None:
        self.files, self._result = files, result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)


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
    return plain


def plain_answer(result: Any, depth: int) -> Reply:
    """An answer as plain data, whatever the agent has put into it; what is left out or odd is counted.

    Entries that are no text keep their rank under a name that nothing in a corpus has.
    """
    files = getattr(result, "files", result)
    if isinstance(files, str | bytes | dict | Set) or not hasattr(files, "__iter__"):
        raise BadAnswer(f"retrieve returned {type(result).__name__}, not a RetrievalResult with a list of files, best first")
    entries = list(islice(files, depth + 1))
    total = len(files) if isinstance(files, Sequence) else len(entries)
    ids, odd = _texts(entries[:depth])
    scores, unusable = _numbers(getattr(result, "scores", None), len(ids))
    counts = {"beyond_depth": total - len(ids), "not_text": odd, "scores_unusable": unusable}
    answer: Reply = {"ids": ids, "dropped": {key: count for key, count in counts.items() if count}}
    if scores is not None:
        answer["scores"] = scores
    lines = _ranges(getattr(result, "lines", None), len(ids))
    if any(lines):
        answer["lines"] = lines
    for name in ("cost", "first_hit_ms"):
        value = getattr(result, name, None)
        if _finite(value):
            answer[name] = float(value)  # type: ignore[arg-type]  # a finite number, as was just seen
    metadata = _small(getattr(result, "metadata", None))
    return answer | ({"metadata": metadata} if metadata else {})


def _texts(entries: list[Any]) -> tuple[list[str], int]:
    ids = [_text(entry) for entry in entries]
    return [
        f"<not text: {shortened(type(entry).__name__, 60)}>" if text is None else text
        for text, entry in zip(ids, entries, strict=True)
    ], ids.count(None)


def _text(entry: Any) -> str | None:
    if type(entry) is str and len(entry) <= LONGEST_ID:
        return entry
    if isinstance(entry, str):
        return str.__str__(entry)[:LONGEST_ID]
    if type(entry) is int:
        return str(entry) if abs(entry) < 1 << 63 else None
    if isinstance(entry, bytes | os.PathLike):
        return os.fsdecode(entry)[:LONGEST_ID]
    return None


def _ranges(lines: Any, size: int) -> list[list[int] | None]:
    """First and last line for each hit; None for a hit on a whole document, or where the agent's range is none."""
    if not isinstance(lines, Sequence):
        return [None] * size
    spans = [*lines[:size], *[None] * (size - len(lines))]
    return [list(span) if is_line_range(span) else None for span in spans]


def _numbers(scores: Any, size: int) -> tuple[list[float | None] | None, int]:
    """A finite number or nothing for each hit; how many were anything else."""
    if scores is None or not hasattr(scores, "__iter__") or isinstance(scores, str | bytes | dict):
        return None, 0 if scores is None else size
    given = list(islice(scores, size))
    if not given:
        return None, 0
    given += [None] * (size - len(given))
    numbers = [float(score) if _finite(score) else None for score in given]
    return numbers, numbers.count(None)


def _finite(value: Any) -> bool:
    """Whether this is a number that JSON can hold; numpy's are among them."""
    if isinstance(value, bool | str | bytes) or value is None or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _small(metadata: Any) -> Any:
    """What an agent says about an answer, if it is short and plain."""
    if not metadata:
        return None
    try:
        text = json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return json.loads(text) if len(text) <= LONGEST_METADATA else None


def _whole(value: Any) -> int | None:
    return int(value) if _finite(value) else None


def _said(error: BaseException) -> str:
    return shortened(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, LONGEST_REASON)
