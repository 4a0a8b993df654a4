"""Hits that are given away as they come, and what the search took, which is known when they have all come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from searchmark.agents.agent import NO_USAGE, Usage
from searchmark.agents.answers import HitStream, IteratedStream
from searchmark.agents.hits import FoundHit


class StreamedHits(HitStream):
    """The hits of one search, best first. ``follow`` gets this object and yields them; it says on it what the search took."""

    searches_meanwhile = True

    def __init__(self) -> None:
        self.cost: float | None = None
        self.usage: Usage = NO_USAGE
        self.metadata: Mapping[str, Any] = {}
        self._hits: Generator[FoundHit, None, None] | None = None

    def of(self, hits: Generator[FoundHit, None, None]) -> StreamedHits:
        self._hits = hits
        return self

    def __iter__(self) -> StreamedHits:
        return self

    def __next__(self) -> FoundHit:
        if self._hits is None:
            raise StopIteration
        return next(self._hits)

    def feed(self, take: Callable[[Any], bool]) -> None:
        IteratedStream(self).feed(take)

    def close(self) -> None:
        """No more hits are wanted."""
        if self._hits is not None:
            self._hits.close()
