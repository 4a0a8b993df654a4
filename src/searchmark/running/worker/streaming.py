"""Answers in several frames: how a worker sends hits as they come, and how the runner puts them together.

A part is ``{"part": true, "ids": [...]}`` with the id of the question; the last frame has the rest of the hits and all else. The
runner's clock says when the first part came. Nothing else is known by parts: an answer is as good as its last frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any

from searchmark.agents.answers import HitReader, HitStream
from searchmark.running.worker.answers import Reply, plain_hits
from searchmark.running.worker.frames import Garbled
from searchmark.running.worker.protocol import wrong_part, wrong_shape

BETWEEN_NS = 5_000_000  # parts; a hundred thousand hits that come at once are a few of them
MOST_HITS = 5_000  # in a part, so that none is long in the making


class TakenHits:
    """The hits of a stream as they come; ``ours_ns`` is for how long the agent had to wait while we took them.

    If there is a way to ``send`` them they go to the runner, the first one at once, the others together every few milliseconds.
    """

    def __init__(self, reader: HitReader, send: Callable[[Reply], None] | None, settle: Callable[[Reply], Reply]) -> None:
        self._reader, self._send, self._settle = reader, send, settle
        self._last = 0
        self.sent = self.ours_ns = 0

    def take_all(self, stream: HitStream) -> None:
        """Read a stream to its end, or to the depth."""
        stream.feed(self._take if stream.searches_meanwhile else self._take_apart)

    def _take_apart(self, entry: Any) -> bool:
        start = perf_counter_ns()
        try:
            return self._take(entry)
        finally:
            self.ours_ns += perf_counter_ns() - start

    def _take(self, entry: Any) -> bool:
        """Read the next hit; whether another one is wanted."""
        more = self._reader.take(entry)
        waiting = len(self._reader.ids) - self.sent
        if self._send is not None and waiting and self._is_due(waiting):
            self._send({"part": True, **self._settle(plain_hits(self._reader, self.sent))})
            self.sent += waiting
            self._last = perf_counter_ns()
        return more

    def _is_due(self, waiting: int) -> bool:
        return not self.sent or waiting >= MOST_HITS or perf_counter_ns() - self._last >= BETWEEN_NS


class ReceivedHits:
    """The parts of one answer as they come in; ``first_hit_ns`` is when the first one did, by this process's clock."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._depth: int = request["depth"] if request["op"] == "search" else 0
        self._parts: list[Reply] = []
        self._hits = 0
        self.first_hit_ns: int | None = None

    def add(self, frame: Reply, arrived_ns: int) -> None:
        """Take a part, unless something is wrong with it."""
        _refuse(wrong_part(frame, self._depth - self._hits))
        self._parts.append(frame)
        self._hits += len(frame["ids"])
        self.first_hit_ns = arrived_ns if self.first_hit_ns is None else self.first_hit_ns

    def joined(self, last: Reply) -> Reply:
        """The whole answer; a failure is no answer, whatever came before it."""
        if not self._parts or "failed" in last:
            return last
        _refuse(wrong_shape("search", last, self._depth - self._hits))
        frames = [*self._parts, last]
        whole = last | {"ids": [hit for frame in frames for hit in frame["ids"]]}
        for column in ("scores", "lines"):
            if any(frame.get(column) for frame in frames):
                whole[column] = [each for frame in frames for each in frame.get(column) or [None] * len(frame["ids"])]
        return whole


def _refuse(wrong: str | None) -> None:
    if wrong is not None:
        raise Garbled(wrong)
