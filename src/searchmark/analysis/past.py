"""What an earlier run left behind, in numbers: all that trends and drifts are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.analysis.similarity import Spread


@dataclass(frozen=True)
class Fingerprints:
    """What could explain that two runs differ; None where it is not known.

    ``code`` and ``options`` are of the agent, both digests; ``corpus``, ``queries`` and ``judgments`` are digests too.
    """

    model: str | None = None
    chunking: str | None = None
    index: str | None = None
    corpus: str | None = None
    queries: str | None = None
    judgments: str | None = None
    code: str | None = None
    options: str | None = None
    version: str | None = None
    machine: str | None = None


@dataclass(frozen=True)
class PastRun:
    """One run of one agent in the archive; ``entry`` names it there. ``trusted`` is False for a result not to rely on."""

    entry: str
    time: datetime
    suite: str
    agent: str
    trusted: bool
    measures: Mapping[str, Summary]
    segments: Mapping[str, Mapping[str, Mapping[str, Summary]]] = field(default_factory=dict)
    latency_ms: Mapping[str, Latency] = field(default_factory=dict)
    similarity: Mapping[str, Spread] = field(default_factory=dict)
    fingerprints: Fingerprints = Fingerprints()
