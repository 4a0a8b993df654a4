"""What an agent returned for one case: status, hits, and how they came about."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NamedTuple, get_args, overload

from annotated_types import Ge, Le

from searchmark.config.strict import STRICT, Count, Number, Positive, short_repr, strict_record
from searchmark.errors import with_excerpt
from searchmark.records.document import id_text

# Many times in little memory: eight bytes each, where a tuple of Python's numbers takes thirty-two.

Milliseconds = Annotated[float, Ge(0), STRICT]


class Samples(Sequence[float]):
    """Numbers that are never changed, equal to a tuple of the same ones."""

    __slots__ = ("_packed",)

    def __init__(self, samples: Iterable[float] = ()) -> None:
        self._packed = array("d", samples).tobytes()

    def _numbers(self) -> memoryview[float]:
        return memoryview(self._packed).cast("d")

    def __len__(self) -> int:
        return len(self._numbers())

    def __iter__(self) -> Iterator[float]:
        return iter(self._numbers())

    @overload
    def __getitem__(self, which: int) -> float: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[float]: ...
    def __getitem__(self, which: int | slice) -> float | Sequence[float]:
        return tuple(self)[which]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Samples | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class _SamplesSchema:
    """Tells pydantic to read a list of times as `Samples`."""

    def __get_pydantic_core_schema__(self, _: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(Samples, handler(tuple[Milliseconds, ...]))


ManyMilliseconds = Annotated[Sequence[Milliseconds], _SamplesSchema()]


Status = Literal["ok", "empty", "error", "timeout", "not_run"]

STATUSES: tuple[Status, ...] = get_args(Status)

OK, EMPTY, ERROR, TIMEOUT, NOT_RUN = range(len(STATUSES))

Share = Annotated[float, Ge(0), Le(1), STRICT]

LineTokens = Annotated[int, Ge(0), Le(10**9)]  # of one line


class CountedText(NamedTuple):
    """How many ``lines`` a document has, and the tokens of some of them: a piece is a first line, and those from there on."""

    lines: Annotated[int, Ge(0), Le(10**9)]
    pieces: tuple[tuple[Annotated[int, Ge(1), Le(10**9)], tuple[LineTokens, ...]], ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of an answer; ``rank`` starts at 1, ``score`` is None where the agent gave none.

    ``lines`` are the first and the last line that the agent means, where it means only a part of a file, and ``text`` what that
    part says, where passages are judged.
    """

    id: str
    rank: int
    score: float | None = None
    valid: bool | None = None
    lines: tuple[int, int] | None = None
    text: str | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, f"the id of the hit at rank {self.rank}"))


@strict_record(slots=True)
class AnswerDetails:
    """How one answer came about. A time is None where it was not measured; what an agent says of itself is taken as it is."""

    # latency of the first searches: a failed one counts with the time it took, one that was ended with its deadline
    cold_ms: tuple[Milliseconds, ...] = ()
    warm_ms: ManyMilliseconds = ()  # latency of the repeats, failed ones included
    first_hit_ms: Milliseconds | None = None  # the runner's own time until the first hit of an agent that gives them one by one
    cost: Number | None = None
    tokens: Count | None = None  # of the answer, as the agent says
    tokens_by: str | None = None  # what counted them
    retries: Count | None = None  # as the agent says; None where it does not
    waited_ms: Milliseconds | None = None  # between attempts and for a rate limit; part of cold_ms
    start_ms: Milliseconds | None = None  # that starting a process took; part of cold_ms
    index_cold_ms: Milliseconds | None = None  # what the index alone took of cold_ms
    index_warm_ms: ManyMilliseconds = ()  # what the index alone took of each of warm_ms
    ann_k: Positive | None = None  # how many nearest vectors ann_recall looks at
    # share of the true nearest vectors that an approximate index found; those as near as the last are as good
    ann_recall: Share | None = None
    ann_overlap: Share | None = None  # the same as if there were no ties
    failure: str | None = None  # why there is no answer
    failure_excerpt: str | None = None  # what was there instead
    traceback: str | None = None  # where in its code the agent was when it failed
    printed: str | None = None  # the end of what the agent printed meanwhile
    repeat_failure: str | None = None  # why a repeat had no answer
    repeat_failures: Count = 0  # how many of the warm searches failed or had to be ended
    doubted_times: Count = 0  # searches with the runner's own time, since that contradicts the worker's
    not_whole: bool = False  # the agent was not asked, since the repository lacks contents
    lost_workers: Count = 0  # workers that ended while they asked the block of cases that this one was in, so that it was given up
    unstable: Count = 0  # repeats with another answer
    dropped: Mapping[str, Count] = field(default_factory=dict)  # what the runner left out of this answer, by reason
    unreachable: tuple[str, ...] = ()  # relevant targets that were not there to be found
    # by document, the lines that a reader of the answer sees within any budget, and their tokens; None where the texts are not
    # known or the case judges no lines
    line_tokens: Mapping[str, CountedText] | None = None
    line_tokens_by: str | None = None  # what counted them
    said: Any = None  # the agent's own remark
    asked: str | None = None  # a digest of the query

    @property
    def whole_failure(self) -> str | None:
        """Why there is no answer, and what was there instead."""
        return None if self.failure is None else with_excerpt(self.failure, self.failure_excerpt)

    def to_plain(self) -> dict[str, Any]:
        """What there is to say, as JSON has it; nothing for what is not known."""
        # A cost of 0 is known, and differs from one that is not: only what is at its default is left out.
        plain = {name: value for name, default in _DEFAULTS if (value := getattr(self, name)) != default}
        return plain | {name: tuple(plain[name]) for name in ("warm_ms", "index_warm_ms") if name in plain}


NOTHING_KNOWN = AnswerDetails()

_DEFAULTS = [(each.name, getattr(NOTHING_KNOWN, each.name)) for each in fields(NOTHING_KNOWN)]  # made once: there are many answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent returned for one case."""

    case: str
    status: Status
    hits: tuple[Hit, ...] = ()
    details: AnswerDetails = NOTHING_KNOWN

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if type(self.case) is not str:
            object.__setattr__(self, "case", id_text(self.case, "the case of an answer"))
