"""The protocol of an agent: two methods to write, and more to override where they help.

An agent that was not written for us is adapted by the signature of its methods when it is loaded, so nothing here
asks an agent what it can do: whatever it leaves out is a method that does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from searchmark.corpora.corpus import Changes, Corpus


@dataclass(frozen=True)
class RetrievalResult:
    """What an agent found, best first.

    ``files`` holds paths or ids. The rest is optional: a score per file, a range of lines per file (first and last,
    from 1; None for a whole file), what the query has cost in whatever the agent is paid in, and after how many
    milliseconds the first hit was there.
    """

    files: Sequence[str]
    scores: Sequence[float] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    lines: Sequence[tuple[int, int] | None] | None = None
    cost: float | None = None
    first_hit_ms: float | None = None


@dataclass(frozen=True)
class AgentSpec:
    """Which agent, as plain data that another process can load: a built-in name, an entry point or ``module:Class``."""

    name: str
    source: str
    config: Mapping[str, Any] = field(default_factory=dict)


class RetrievalAgent:
    """A search system under test. Override ``initialize`` and ``retrieve``.

    ``Config`` is a dataclass with the agent's options, if it has any; an agent is made as ``Agent(config)``, or as
    ``Agent()`` without one. An agent that combines others says which in ``arms`` and gets them by ``connect``
    before anything else happens. One that asks a service, which has a corpus of its own, says ``needs_corpus = False``:
    there it is asked without being initialised.
    """

    Config: ClassVar[type | None] = None
    needs_corpus: bool = True

    def initialize(self, corpus: Corpus) -> None:
        """Get ready to search this corpus; called again with another one where ``update`` gave False."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is initialised")

    def retrieve(self, query: str, k: int) -> RetrievalResult:
        """The best ``k`` files for a query, best first."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it searches")

    def update(self, changes: Changes) -> bool:  # noqa: ARG002  # a plain agent has no use for them
        """Follow the corpus to its next state; False means: initialise me again."""
        return False

    def reset(self) -> None:
        """Forget whatever former queries have left behind; an index is no such thing."""

    def close(self) -> None:
        """Let go of files, connections and processes."""

    def index_bytes(self) -> int | None:
        """How large the index is, on disk and in memory; None if nobody knows."""
        return None

    @classmethod
    def missing(cls) -> str | None:
        """What this agent would need and does not find on this machine, and how to get it; None if it is ready."""
        return None

    def arms(self) -> Mapping[str, AgentSpec]:
        """The agents that this one asks."""
        return {}

    def connect(self, arms: Mapping[str, RetrievalAgent]) -> None:
        """Take the agents that ``arms`` has named."""
