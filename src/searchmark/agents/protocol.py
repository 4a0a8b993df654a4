"""The protocol of an agent: what to write, what may be overridden, and what an answer contains.

A worker loads this first, so it imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from searchmark.config.agents import AgentSpec
from searchmark.config.strict import short_repr

if TYPE_CHECKING:
    from searchmark.formats.corpora.corpus import Changes, Corpus
    from searchmark.records.provenance import VectorStatistics


@dataclass(frozen=True)
class Usage:
    """What an answer took beside time, as far as the agent knows."""

    tokens: int | None = None  # of the answer
    tokens_by: str | None = None  # who counted them: the name of a tokenizer, or who states it
    retries: int | None = None  # further attempts after a failed one
    waited_ms: float | None = None  # of the time of the search, spent waiting between attempts and for a rate limit
    start_ms: float | None = None  # of the time of the search, what starting a process takes
    ann_k: int | None = None  # how many of the nearest vectors the recall of an approximate index is measured on
    ann_recall: float | None = None  # the share of the true nearest that it found; all as near as the last of them are as good
    ann_overlap: float | None = None  # the same share by number, as if there were no ties


NO_USAGE = Usage()


@dataclass(frozen=True)
class RetrievalResult:
    """What an agent found, best first; all but the files is optional."""

    files: Sequence[str]  # paths or ids, or hits in any other form that is read (docs/running.md, "Answers")
    scores: Sequence[float] | None = None  # one per file
    metadata: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[tuple[int, int] | None] | None = None  # first and last of each file, from 1; None for a whole file
    cost: float | None = None  # of the query, in whatever the agent is paid in
    usage: Usage = NO_USAGE
    dropped: Mapping[str, int] = field(default_factory=dict)  # what was left out, by kind
    # Of the time of the search, what was spent in the index alone, without the embedding of the query. Two equal answers may take
    # different times, hence no part of the comparison.
    index_ms: float | None = field(default=None, compare=False)

    __repr__ = short_repr


class RetrievalAgent:
    """A search system under test. Override ``initialize`` and ``retrieve``.

    ``Config`` is a dataclass with the agent's options, if it has any; an agent is made as ``Agent(config)``, or as
    ``Agent()`` without one. An agent that combines others says which in ``arms`` and gets them by ``connect``
    before anything else happens. One that asks a service, which has a corpus of its own, says ``needs_corpus = False``:
    there it is started in place of being initialised. One that can send the request that a case brings along says
    ``takes_request = True`` and has ``retrieve(query, k, request=None)``. ``given_variables``: secrets of the environment that
    programs which it starts may have; set before ``connect``.
    """

    Config: ClassVar[type | None] = None
    needs_corpus: bool = True
    takes_request: bool = False
    given_variables: frozenset[str] = frozenset()

    def initialize(self, corpus: Corpus) -> None:
        """Get ready to search this corpus; called again with another one where ``update`` gave False."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is initialised")

    def start(self) -> None:
        """Get ready where no corpus is given, since there is a service with its own: start a program, open a connection."""

    def retrieve(self, query: str, k: int) -> Any:
        """The best ``k`` files for a query, best first: a `RetrievalResult`, or whatever else is read as hits."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it searches")

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # a plain agent has no use for them
        """Follow the corpus to its next state; False means: initialise me again."""
        return False

    def usage_of_last(self) -> Usage:
        """What the last answer took beside what its result says; asked when the clock has stopped, so counting is not timed."""
        return NO_USAGE

    def offers(self) -> Mapping[str, Any]:
        """The tools that an outside system offers, as plain data; asked instead of everything else."""
        return {}

    def reset(self) -> None:
        """Forget whatever former queries have left behind; an index is no such thing."""

    def close(self) -> None:
        """Let go of files, connections and processes."""

    def index_bytes(self) -> int | None:
        """How large the index is, on disk and in memory; None if nobody knows."""
        return None

    def vectors(self) -> Sequence[VectorStatistics]:
        """What the stored vectors are like, once for every set of them; asked when ready."""
        return ()

    def describe(self) -> Mapping[str, Any]:
        """What it searches with, as short plain data: model, revision, dimension, chunking, tokeniser, index; asked when ready."""
        return {}

    @classmethod
    def missing(cls) -> str | None:
        """What this agent would need and does not find on this machine, and how to get it; None if it is ready."""
        return None

    def arms(self) -> Mapping[str, AgentSpec]:
        """The agents that this one asks."""
        return {}

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        """Take the agents that ``arms`` has named."""
