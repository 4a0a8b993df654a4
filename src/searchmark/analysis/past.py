"""What an earlier run left behind, in numbers: all that trends and drifts are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime

from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.analysis.similarity import Spread


@dataclass(frozen=True)
class Fingerprints:
    """What could explain that two runs differ; None where it is not known.

    ``code`` and ``options`` are of the agent, both digests; so are ``corpus``, ``queries``, ``judgments``, ``asking`` (how
    cases were asked: depth, time limit and so on) and ``packages`` (versions of Python and of what is installed).
    """

    model: str | None = None
    chunking: str | None = None
    index: str | None = None
    corpus: str | None = None
    queries: str | None = None
    judgments: str | None = None
    code: str | None = None
    options: str | None = None
    asking: str | None = None
    version: str | None = None
    packages: str | None = None
    machine: str | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known at all."""
        return any(part is not None for part in astuple(self))


@dataclass(frozen=True)
class PastRun:
    """One run of one agent in the archive; ``entry`` names it there. ``trusted`` is False for a result not to rely on.

    ``id`` is the run's own: a run may be in several entries, such as a baseline that others are held against. ``snapshot`` and
    ``repeat`` are those of its label.
    """

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
    id: str | None = None
    snapshot: str | None = None
    repeat: int = 1


def oldest_first(past: Iterable[PastRun]) -> list[PastRun]:
    """Every run once, in the order in which they were made, whatever the order of the entries."""
    known: dict[str, PastRun] = {}
    ordered = sorted(past, key=lambda run: (run.time, run.entry, run.agent, run.snapshot or "", run.repeat, run.id or ""))
    return [run for run in ordered if run.id is None or known.setdefault(_key(run), run) is run]


def _key(run: PastRun) -> str:
    """A run that was judged by other judgments is another result, though it is the same run."""
    return "\n".join((run.id or "", run.agent, run.snapshot or "", str(run.repeat), run.fingerprints.judgments or ""))
