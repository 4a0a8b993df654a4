"""What spoils the trust in a run, from all that was observed of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from searchmark.records import AnswerDetails, TrustEvent
from searchmark.records.trust_sentences import not_whole
from searchmark.running.clock_check import doubtful
from searchmark.running.events import WorkerEvent, description, failure_to_start


@dataclass(frozen=True)
class Observed:
    """What was seen of a run; ``broken`` and ``cache`` are sentences about what happened to it, if anything did."""

    isolated: bool
    events: Sequence[WorkerEvent]
    details: Sequence[AnswerDetails]
    broken: str | None
    cache: str | None
    corpora: Sequence[str]


def trust_events(seen: Observed) -> tuple[TrustEvent, ...]:
    """Everything that whoever relies on the run must know."""
    return tuple(_events(seen))


def _events(seen: Observed) -> Iterator[TrustEvent]:
    if not seen.isolated:
        message = "the agent was not isolated: it ran in the process of the runner, where no deadline can be enforced"
        yield TrustEvent("not_isolated", message)
    failure = failure_to_start(seen.events)
    if failure is not None:
        yield TrustEvent("not_started", failure)
    if seen.broken is not None:
        yield TrustEvent("failed", seen.broken)
    yield from not_whole(seen.details)
    yield from _doubts(seen)
    if seen.cache is not None and _has_embedder(description(seen.events)):
        yield TrustEvent("cache_changed", seen.cache)
    if seen.corpora:
        yield TrustEvent("corpus_changed", f"what was searched changed during the run: {', '.join(seen.corpora)}")


def _doubts(seen: Observed) -> Iterator[TrustEvent]:
    doubted = sum(each.doubted_times for each in seen.details)
    searches = sum(len(each.cold_ms) + len(each.warm_ms) for each in seen.details)
    prepared = sum(event.doubted is True for event in seen.events)
    if doubtful(doubted, searches) or prepared:
        what = f"{doubted} of {searches} searches" + (f" and {prepared} preparations of the index" if prepared else "")
        message = f"the times of {what} are not believed: the agent's process reported much less"
        yield TrustEvent("times_doubtful", f"{message} than passed on the runner's clock")


def _has_embedder(described: Any) -> bool:
    """Whether an agent says that it, or one of its arms, searches with vectors."""
    if not isinstance(described, Mapping):
        return False
    return "embedder" in described or any(map(_has_embedder, described.values()))
