"""Runs: the answers of one agent, raw, in columns, and what is known about how they came about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal, get_args

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.options.strict import strict_record
from searchmark.records.columns import rows_from, starts_of
from searchmark.records.id_columns import Texts, ranks_by_score, texts_at
from searchmark.records.provenance import Provenance, RunLabel
from searchmark.records.samples import ManyMilliseconds, Milliseconds

Status = Literal["ok", "empty", "error", "timeout", "not_run"]
STATUSES: tuple[Status, ...] = get_args(Status)
OK, EMPTY, ERROR, TIMEOUT, NOT_RUN = range(len(STATUSES))

NO_LINE = 0  # lines are counted from 1


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


@strict_record(slots=True)
class AnswerDetails:
    """How one answer came about.

    ``asked`` is a digest of the query. ``cold_ms`` and ``warm_ms`` are samples of latency, one for every search that took
    place: one that failed has the time that it took, one that had to be ended its deadline, and ``repeat_failures`` of the warm
    ones did either. ``failure`` is why there is no answer, ``traceback`` where
    in its code the agent was then, and ``repeat_failure`` why a repeat had none. ``not_whole`` says that the
    agent was not asked, since the repository lacks contents. ``doubted_times`` counts the searches whose time is the
    runner's own, since that contradicts the worker's. ``unstable`` counts the repeats with another answer,
    ``dropped`` what the runner left out of this one, and ``unreachable`` names the relevant targets that were not there to be
    found. ``said`` is the agent's own remark.
    """

    cold_ms: tuple[Milliseconds, ...] = ()
    warm_ms: ManyMilliseconds = ()
    first_hit_ms: Milliseconds | None = None
    cost: float | None = None
    failure: str | None = None
    traceback: str | None = None
    repeat_failure: str | None = None
    repeat_failures: Annotated[int, Ge(0)] = 0
    doubted_times: Annotated[int, Ge(0)] = 0
    not_whole: bool = False
    unstable: Annotated[int, Ge(0)] = 0
    dropped: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    unreachable: tuple[str, ...] = ()
    said: Any = None
    asked: str | None = None

    def to_plain(self) -> dict[str, Any]:
        """What there is to say, as JSON has it; nothing for what is not known."""
        # A cost of 0 is known, and differs from one that is not: only what is at its default is left out.
        plain = {name: value for name, default in _DEFAULTS if (value := getattr(self, name)) != default}
        return plain | {"warm_ms": tuple(self.warm_ms)} if "warm_ms" in plain else plain


NOTHING_KNOWN = AnswerDetails()
_DEFAULTS = [(each.name, getattr(NOTHING_KNOWN, each.name)) for each in fields(NOTHING_KNOWN)]  # made once: there are many answers


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent returned for one case."""

    case: str
    status: Status
    hits: tuple[Hit, ...] = ()
    details: AnswerDetails = NOTHING_KNOWN


@dataclass(frozen=True, eq=False)
class Run:
    """All answers of one agent, raw, in columns: the hits of ``case_ids[i]`` are rows ``starts[i]:starts[i + 1]``.

    ``rank`` is the rank of each hit in its answer, from 1; None if the rows are in that order. ``scores`` is NaN where
    the agent gave none; ``valid`` says whether a hit exists in the corpus, None if that is not known. ``first_line`` and
    ``last_line`` are NO_LINE for a hit on a whole document, and None if all of them are. ``unique`` promises that no
    answer names an id twice. ``dropped`` counts what a reader left out.
    """

    label: RunLabel
    case_ids: tuple[str, ...]
    starts: NDArray[np.int64]
    ids: Texts
    scores: NDArray[np.float64]
    status: NDArray[np.uint8]
    rank: NDArray[np.int32] | None = None
    valid: NDArray[np.bool_] | None = None
    first_line: NDArray[np.int32] | None = None
    last_line: NDArray[np.int32] | None = None
    unique: bool = False
    provenance: Provenance = Provenance()  # noqa: RUF009  # frozen
    dropped: Mapping[str, int] = field(default_factory=dict)
    details: tuple[AnswerDetails, ...] | None = None

    @classmethod
    def from_answers(cls, agent: str | RunLabel, answers: Iterable[Answer], **rest: Any) -> Run:
        """Build a run from answers, hits in the order given; a case that is answered twice is refused."""
        label, rows = _label(agent), list(answers)
        seen: set[str] = set()
        for answer in rows:
            if answer.case in seen:
                raise UsageError(f"the run {label.agent!r} has a duplicate answer to the case {answer.case!r}")
            seen.add(answer.case)
        hits = list(chain.from_iterable(answer.hits for answer in rows))
        valid = None if any(hit.valid is None for hit in hits) else np.array([hit.valid for hit in hits], bool)
        first_line, last_line = line_columns([hit.lines for hit in hits])
        details = tuple(answer.details for answer in rows)
        run = cls(
            label=label,
            case_ids=tuple(answer.case for answer in rows),
            starts=starts_of((len(answer.hits) for answer in rows), len(rows)),
            ids=[hit.id for hit in hits],
            scores=np.array([np.nan if hit.score is None else hit.score for hit in hits], np.float64),
            status=np.array([STATUSES.index(answer.status) for answer in rows], np.uint8),
            valid=valid,
            first_line=first_line,
            last_line=last_line,
            details=details if any(each != NOTHING_KNOWN for each in details) else None,
            **rest,
        )
        _refuse_scores(run, np.isinf(run.scores))
        return run

    @classmethod
    def from_scores(cls, scores: Mapping[str, Mapping[str, float]], agent: str | RunLabel = "run", **rest: Any) -> Run:
        """Build a run from ``{case: {id: score}}``; as in trec_eval, by score, then id, both descending."""
        return ScoredRun.of(_label(agent), scores, **rest)

    @property
    def agent(self) -> str:
        return self.label.agent

    def __len__(self) -> int:
        return len(self.case_ids)

    @cached_property
    def index(self) -> dict[str, int]:
        return dict(zip(self.case_ids, range(len(self)), strict=True))

    @cached_property
    def longest(self) -> int:
        """The number of hits in the longest answer."""
        return int(np.diff(self.starts).max(initial=0))

    def rows_of(self, row: int) -> NDArray[np.int64]:
        """The rows of the hits of one answer, best first."""
        start, end = int(self.starts[row]), int(self.starts[row + 1])
        return start + (np.arange(end - start) if self.rank is None else np.argsort(self.rank[start:end]))

    def first_rows(self, answers: NDArray[np.int64], limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of the first hits of many answers, best first, and where those of each begin; -1 is no answer."""
        lengths = np.where(answers < 0, 0, self.starts[answers + 1] - self.starts[answers])
        rows, starts = rows_from(self.starts[answers], np.minimum(lengths, limit))
        if self.rank is None:
            return rows, starts
        answer = np.repeat(np.arange(len(answers)), np.diff(starts))
        in_order = self.rank[rows] == np.arange(len(rows)) - starts[answer] + 1
        moved = np.unique(answer[~in_order])  # most answers of most files are in order
        all_rows, all_starts = rows_from(self.starts[answers[moved]], lengths[moved])
        rank = self.rank[all_rows]
        places = np.repeat(starts[moved], np.diff(all_starts)) + rank - 1
        rows[places[rank <= limit]] = all_rows[rank <= limit]
        return rows, starts

    def ids_of(self, row: int) -> list[str]:
        """The ids of one answer, best first."""
        if self.rank is None:
            return list(self.ids[self.starts[row] : self.starts[row + 1]])
        return texts_at(self.ids, self.rows_of(row))

    def lines_of(self, hit_row: int) -> tuple[int, int] | None:
        """The lines that the hit in this row means; None for the whole document."""
        if self.first_line is None or self.last_line is None or self.first_line[hit_row] == NO_LINE:
            return None
        return int(self.first_line[hit_row]), int(self.last_line[hit_row])

    def details_of(self, row: int) -> AnswerDetails:
        return NOTHING_KNOWN if self.details is None else self.details[row]

    def answer(self, row: int, limit: int | None = None) -> Answer:
        """One answer, with its first ``limit`` hits."""
        rows = self.rows_of(row)[:limit]
        columns = zip(texts_at(self.ids, rows), self.scores[rows].tolist(), rows.tolist(), strict=True)
        hits = tuple(
            Hit(
                id=hit,
                rank=rank,
                score=None if math.isnan(score) else score,
                valid=None if self.valid is None else bool(self.valid[i]),
                lines=self.lines_of(i),
            )
            for rank, (hit, score, i) in enumerate(columns, 1)
        )
        return Answer(self.case_ids[row], STATUSES[self.status[row]], hits, self.details_of(row))

    @property
    def answers(self) -> Iterator[Answer]:
        return (self.answer(row) for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self._identity == other._identity and list(self.answers) == list(other.answers)

    @property
    def _identity(self) -> tuple[object, ...]:
        return (self.label, self.provenance, self.dropped)

    __hash__ = None  # type: ignore[assignment]  # holds arrays: compared by value, never a key


class ScoredRun(Run):
    """A run that has the scores of every answer by id as well, in copies of the dictionaries that it was given.

    Judging by id needs only these. Ids and ranks become columns when something asks for them: to list a million ids and to
    rank them would cost more than to look the judged ones up. A run that was made from this one by `replace` has columns alone.
    """

    by_id: tuple[dict[str, float], ...] | None = None

    @classmethod
    def of(cls, label: RunLabel, scores: Mapping[str, Mapping[str, float]], **rest: Any) -> ScoredRun:
        starts = starts_of(map(len, scores.values()), len(scores))
        by_id: list[dict[str, float]] = []
        values = np.fromiter(chain.from_iterable(_copied_values(scores.values(), by_id)), np.float64, int(starts[-1]))
        run = cls(label, tuple(scores), starts, [], values, _answered(starts), rank=None, unique=True, **rest)
        del vars(run)["ids"], vars(run)["rank"]
        vars(run)["by_id"] = tuple(by_id)
        _refuse_scores(run, ~np.isfinite(run.scores))
        return run

    @cached_property
    def ids(self) -> Texts:
        return list(chain.from_iterable(self.by_id or ()))

    @cached_property
    def rank(self) -> NDArray[np.int32] | None:
        return ranks_by_score(self.ids, self.scores, self.starts)


def line_columns(lines: Sequence[tuple[int, int] | None]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """The first and the last lines of many hits; None and None if every hit is on a whole document."""
    if not any(lines):
        return None, None
    pairs = np.array([each or (NO_LINE, NO_LINE) for each in lines], np.int32)
    return pairs[:, 0], pairs[:, 1]


def _label(agent: str | RunLabel) -> RunLabel:
    return RunLabel(agent) if isinstance(agent, str) else agent


def _copied_values(scores: Iterable[Mapping[str, float]], copies: list[dict[str, float]]) -> Iterator[Iterable[float]]:
    """The scores of every answer, taken from a copy while that is still in the cache of the processor."""
    for of_case in scores:
        copy = dict(of_case)
        copies.append(copy)
        yield copy.values()


def _refuse_scores(run: Run, odd: NDArray[np.bool_]) -> None:
    """Name the first score that cannot be ranked, or that no file could hold."""
    if odd.any():
        row = int(np.argmax(odd))
        case = run.case_ids[int(np.searchsorted(run.starts, row, side="right")) - 1]
        raise UsageError(f"case {case!r}: the score of {run.ids[row]!r} is {run.scores[row]}; scores must be finite numbers")


def _answered(starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The status of answers that are only known by their hits: ok, or empty without any."""
    return np.where(np.diff(starts) > 0, OK, EMPTY).astype(np.uint8)
