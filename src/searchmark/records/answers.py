"""What an agent returned for one case: a status, hits, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NamedTuple, get_args

from annotated_types import Ge, Le

from searchmark.errors import with_excerpt
from searchmark.options.short_repr import short_repr
from searchmark.options.strict import strict_record
from searchmark.records.ids import id_text
from searchmark.records.samples import ManyMilliseconds, Milliseconds

Status = Literal["ok", "empty", "error", "timeout", "not_run"]
STATUSES: tuple[Status, ...] = get_args(Status)
OK, EMPTY, ERROR, TIMEOUT, NOT_RUN = range(len(STATUSES))
Share = Annotated[float, Ge(0), Le(1)]
LineTokens = Annotated[int, Ge(0), Le(10**9)]  # of one line


class CountedText(NamedTuple):
    """How many ``lines`` a document has, and the tokens of some of them: a piece is a first line, and those from there on."""

    lines: Annotated[int, Ge(0), Le(10**9)]
    pieces: tuple[tuple[Annotated[int, Ge(1), Le(10**9)], tuple[LineTokens, ...]], ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of an answer; ``rank`` starts at 1, ``score`` is None where the agent gave none.

    ``lines`` are the first and the last line that the agent means, where it means only a part of a file.
    """

    id: str
    rank: int
    score: float | None = None
    valid: bool | None = None
    lines: tuple[int, int] | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, f"the id of the hit at rank {self.rank}"))


@strict_record(slots=True)
class AnswerDetails:
    """How one answer came about.

    ``asked`` is a digest of the query. ``cold_ms`` and ``warm_ms`` are samples of latency, one for every search that took
    place: one that failed has the time that it took, one that had to be ended its deadline, and ``repeat_failures`` of the warm
    ones did either. ``failure`` is why there is no answer, ``failure_excerpt`` what
    was there instead, ``traceback`` where in its code the agent was then, ``printed`` the end of what it printed
    meanwhile, and ``repeat_failure`` why a repeat had none. ``not_whole`` says that the
    agent was not asked, since the repository lacks contents, and ``lost_workers`` how many workers ended one after the other while
    they asked the block of cases that this one was in, so that it was given up. ``doubted_times`` counts the searches whose time is
    the runner's own, since that contradicts the worker's. ``unstable`` counts the repeats with another answer,
    ``dropped`` what the runner left out of this one, and ``unreachable`` names the relevant targets that were not there to be
    found. ``said`` is the agent's own remark. ``first_hit_ms`` is the runner's own time until the first hit of an agent that
    gives them one by one. What the agent says of the cold search: ``tokens`` of the answer, counted by ``tokens_by``;
    ``retries``, None where it does not say; ``waited_ms`` between attempts and for a rate limit; ``start_ms`` that starting a
    process takes. Both times are part of ``cold_ms``, and so is ``index_cold_ms``, what an index alone took; ``index_warm_ms`` are
    those parts of ``warm_ms``. ``ann_recall`` is the share of the true nearest ``ann_k`` vectors that an approximate index found,
    all that are as near as the last of them being as good, and ``ann_overlap`` the same as if there were no ties.
    ``line_tokens``: by document, the lines that somebody reads who follows the answer as far as any budget goes, and their tokens,
    counted by ``line_tokens_by``; None where the texts are not known, or where the case judges no lines.
    """

    cold_ms: tuple[Milliseconds, ...] = ()
    warm_ms: ManyMilliseconds = ()
    first_hit_ms: Milliseconds | None = None
    cost: float | None = None
    tokens: Annotated[int, Ge(0)] | None = None
    tokens_by: str | None = None
    retries: Annotated[int, Ge(0)] | None = None
    waited_ms: Milliseconds | None = None
    start_ms: Milliseconds | None = None
    index_cold_ms: Milliseconds | None = None
    index_warm_ms: ManyMilliseconds = ()
    ann_k: Annotated[int, Ge(1)] | None = None
    ann_recall: Share | None = None
    ann_overlap: Share | None = None
    failure: str | None = None
    failure_excerpt: str | None = None
    traceback: str | None = None
    printed: str | None = None
    repeat_failure: str | None = None
    repeat_failures: Annotated[int, Ge(0)] = 0
    doubted_times: Annotated[int, Ge(0)] = 0
    not_whole: bool = False
    lost_workers: Annotated[int, Ge(0)] = 0
    unstable: Annotated[int, Ge(0)] = 0
    dropped: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    line_tokens: Mapping[str, CountedText] | None = None
    line_tokens_by: str | None = None
    said: Any = None
    asked: str | None = None

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
