"""What happens to a worker during a run, as it is written to the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from searchmark.options.strict import strict_record
from searchmark.records import IndexBuild, VectorStatistics

if TYPE_CHECKING:
    from pydantic import TypeAdapter

EventKind = Literal["started", "prepared", "ended", "not_started", "closed"]


@strict_record(slots=True)
class WorkerEvent:
    """A worker was started, its agent was prepared or could not be, it was lost (``reason``), or closed in good order.

    ``seconds`` is the time that starting or preparing took; ``how`` says whether the index was built or updated.
    ``doubted``: the worker reported much less, and ``seconds`` is what passed on the runner's clock. ``host`` is where that was,
    and ``place`` which of the cases, in the order in which they are asked, the block began with that it belongs to.
    """

    event: EventKind
    seconds: float | None = None
    doubted: bool | None = None
    how: Literal["initialised", "updated", "remote"] | None = None
    index_bytes: int | None = None
    memory: int | None = None
    reason: str | None = None
    description: Mapping[str, Any] | None = None
    vectors: tuple[VectorStatistics, ...] | None = None
    host: int | None = None
    place: int | None = None

    def to_plain(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        plain["vectors"] = None if self.vectors is None else [asdict(each) for each in self.vectors]
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> WorkerEvent:
        return _adapter().validate_python(data)


@cache
def _adapter() -> TypeAdapter[WorkerEvent]:
    from pydantic import TypeAdapter

    return TypeAdapter(WorkerEvent)


def index_build(events: Sequence[WorkerEvent]) -> IndexBuild:
    """What it took to get the agent ready, in this run and in those that it resumes."""
    prepared = [event for event in events if event.event == "prepared"]
    return IndexBuild(
        seconds=sum(event.seconds or 0.0 for event in prepared) if prepared else None,
        full_builds=sum(event.how == "initialised" for event in prepared),
        updates=sum(event.how == "updated" for event in prepared),
        bytes=max((event.index_bytes for event in prepared if event.index_bytes is not None), default=None),
    )


def in_order(events: Sequence[WorkerEvent]) -> list[WorkerEvent]:
    """As one worker that asks case after case would have had them; blocks come home in any order."""
    return sorted(events, key=lambda event: event.place or 0)


def peak_memory(events: Sequence[WorkerEvent]) -> int | None:
    """The most memory that any worker has had, with what it has started."""
    return max((event.memory for event in events if event.memory is not None), default=None)


def failure_to_start(events: Sequence[WorkerEvent]) -> str | None:
    """Why the agent never became ready; None if it did."""
    if any(event.event == "prepared" for event in events):
        return None
    return next((event.reason for event in reversed(events) if event.event == "not_started"), None)


def vectors(events: Sequence[WorkerEvent]) -> tuple[VectorStatistics, ...]:
    """What the vectors of the agent were like when it was last ready."""
    return next((event.vectors for event in reversed(events) if event.vectors is not None), ())


def description(events: Sequence[WorkerEvent]) -> Mapping[str, Any]:
    """What the agent last said of itself."""
    return next((event.description for event in reversed(events) if event.description is not None), {})
