"""Runs: the answers of one agent, in columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError
from searchmark.records.answers import EMPTY, NOT_RUN, NOTHING_KNOWN, OK, STATUSES, Answer, AnswerDetails, Hit
from searchmark.records.columns import (
    NO_LINE,
    HasFrame,
    Texts,
    constant_columns,
    distinct,
    gather_rows,
    hit_texts,
    line_columns,
    null_column,
    number_column,
    ranks_by_score,
    rows_from,
    rows_or_none,
    starts_of,
    text_column,
    texts_at,
    typed_frame,
)
from searchmark.records.document import with_text_keys
from searchmark.records.provenance import Provenance, RunLabel, display_names
from searchmark.records.sentences import count_of, quote_name

if TYPE_CHECKING:
    import polars as pl


# What agents state of an answer, and of which kind it is.
USAGE_COLUMNS = {"cost": float, "tokens": int, "tokens_by": str, "retries": int, "waited_ms": float, "start_ms": float}

ANN_COLUMNS = {"ann_k": int, "ann_recall": float, "ann_overlap": float}


# Runs: the answers of one agent, raw, in columns, and what is known about how they came about.


@dataclass(frozen=True, eq=False)
class Run(HasFrame):
    """All answers of one agent, raw, in columns: the hits of ``case_ids[i]`` are rows ``starts[i]:starts[i + 1]``."""

    label: RunLabel
    case_ids: tuple[str, ...]
    starts: NDArray[np.int64]
    ids: Texts
    scores: NDArray[np.float64]  # NaN where the agent gave none
    status: NDArray[np.uint8]  # of each answer, as its number in STATUSES
    rank: NDArray[np.int32] | None = None  # of each hit in its answer, from 1; None if the rows are in that order
    valid: NDArray[np.bool_] | None = None  # whether each hit exists in the corpus; None if that is not known
    first_line: NDArray[np.int32] | None = None  # NO_LINE for a hit on a whole document; None if all of them are
    last_line: NDArray[np.int32] | None = None  # as first_line
    texts: tuple[str | None, ...] | None = None  # what each hit says, where passages are judged
    unique: bool = False  # promises that no answer names an id twice
    provenance: Provenance = Provenance()  # noqa: RUF009  # frozen
    dropped: Mapping[str, int] = field(default_factory=dict)  # what a reader left out, by reason
    details: tuple[AnswerDetails, ...] | None = None
    queries: tuple[str | None, ...] | None = None  # what was asked, where an imported file says so beside the ids of its cases

    @classmethod
    def from_answers(cls, agent: str | RunLabel, answers: Iterable[Answer], **rest: Any) -> Run:
        """Build a run from answers, hits in the order given; a case that is answered twice is refused."""
        label, rows = _as_label(agent), list(answers)
        cases: set[str] = set()
        for answer in rows:
            if answer.case in cases:
                raise UsageError(f"the run {label.agent!r} has a duplicate answer to the case {answer.case!r}")
            cases.add(answer.case)
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
            texts=hit_texts(hit.text for hit in hits),
            details=details if any(each != NOTHING_KNOWN for each in details) else None,
            **rest,
        )
        _refuse_scores(run, np.isinf(run.scores))
        return run

    @classmethod
    def from_scores(cls, scores: Mapping[str, Mapping[str, float]], agent: str | RunLabel = "run", **rest: Any) -> Run:
        """Build a run from ``{case: {id: score}}``; as in trec_eval, by score, then id, both descending."""
        return ScoredRun.of(_as_label(agent), scores, **rest)

    @classmethod
    def from_frame(
        cls, table: Any, agent: str | RunLabel | None = None, mapping: Mapping[str, str] | None = None, **rest: Any
    ) -> Run:
        """Build a run from a DataFrame of pandas or polars or an Arrow table, one row per hit, as `frame` has them.

        The columns are found by their usual names (case or query_id, id or docid, rank, score); ``mapping`` names others:
        {"id": "sku"}. Hits come by rank, or without one by score as in trec_eval, or else in the order of the rows.
        """
        from searchmark.records.dataframes import read_run_frame

        frame = read_run_frame(table, mapping)
        label = RunLabel(frame.agent or "run", frame.snapshot) if agent is None else _as_label(agent)
        return cls(label, **frame.columns, **rest)

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

    def with_cases(self, case_ids: tuple[str, ...], answers: NDArray[np.int64] | None = None) -> Run:
        """The same answers under other ids; ``answers`` says which of them each case has, where it is not one after the other."""
        provenance = self._renamed_parts(case_ids, range(len(self)) if answers is None else answers.tolist())
        if answers is None:
            return replace(self, case_ids=case_ids, provenance=provenance)
        rows, starts = rows_from(self.starts[answers], self.starts[answers + 1] - self.starts[answers])
        return replace(
            self.with_hits(rows, starts),
            case_ids=case_ids,
            provenance=provenance,
            status=self.status[answers],
            details=None if self.details is None else tuple(self.details[row] for row in answers.tolist()),
            queries=None if self.queries is None else tuple(self.queries[row] for row in answers.tolist()),
        )

    def with_hits(self, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> Run:
        """The same with the hits of these rows alone, those of each answer from its start on."""
        return replace(
            self,
            starts=starts,
            ids=texts_at(self.ids, rows) if isinstance(self.ids, list) else self.ids[rows],
            scores=self.scores[rows],
            rank=None if self.rank is None else self.rank[rows],
            valid=None if self.valid is None else self.valid[rows],
            first_line=None if self.first_line is None else self.first_line[rows],
            last_line=None if self.last_line is None else self.last_line[rows],
            texts=None if self.texts is None else tuple(self.texts[row] for row in rows.tolist()),
        )

    def _renamed_parts(self, case_ids: tuple[str, ...], rows: Iterable[int]) -> Provenance:
        """Who has answered which case, under other ids."""
        if not self.provenance.parts:
            return self.provenance
        names: dict[str, list[str]] = {}
        for row, name in zip(rows, case_ids, strict=True):
            names.setdefault(self.case_ids[row], []).append(name)
        return self.provenance.with_cases(names)

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
        unordered = distinct(answer[~in_order])  # most answers of most files are in order
        all_rows, all_starts = rows_from(self.starts[answers[unordered]], lengths[unordered])
        rank = self.rank[all_rows]
        places = np.repeat(starts[unordered], np.diff(all_starts)) + rank - 1
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
                text=None if self.texts is None else self.texts[i],
            )
            for rank, (hit, score, i) in enumerate(columns, 1)
        )
        return Answer(self.case_ids[row], STATUSES[self.status[row]], hits, self.details_of(row))

    @property
    def answers(self) -> Iterator[Answer]:
        return (self.answer(row) for row in range(len(self)))

    @property
    def never_started(self) -> bool:
        """Whether its agent could not be started, so that it was asked nothing at all."""
        return self.provenance.failure is not None and bool((self.status == NOT_RUN).all())

    @property
    def name(self) -> str:
        """What this run is called where there is no other."""
        return display_names([self.label])[0]

    @property
    def named(self) -> dict[str, str | None]:
        """What tells this run from others in a frame that holds several."""
        return {"run": self.name, "snapshot": self.label.snapshot}

    def frame(self) -> pl.DataFrame:
        """One row per hit, best first; an answer without hits has one row, where rank, id and score are null."""
        import polars as pl

        answer, place, rows = rows_or_none(self.starts)
        if self.rank is not None:
            row_by_rank = np.empty(len(self.rank) + 1, np.int64)
            row_by_rank[-1] = -1  # which is where a row of -1 looks
            row_by_rank[np.repeat(self.starts[:-1], np.diff(self.starts)) + self.rank - 1] = np.arange(len(self.rank))
            rows = row_by_rank[rows]
        count = len(rows)
        return pl.DataFrame(
            {
                **constant_columns(self.named, count),
                "case": text_column(self.case_ids).gather(answer),
                "status": text_column(self._statuses).gather(answer),
                "rank": number_column(place + 1, rows < 0),
                "id": gather_rows(text_column(self.ids), rows),
                "score": gather_rows(number_column(self.scores, np.isnan(self.scores)), rows),
                "valid": null_column(bool, count) if self.valid is None else gather_rows(pl.Series(values=self.valid), rows),
                "first_line": _line_column(self.first_line, rows),
                "last_line": _line_column(self.last_line, rows),
            }
        )

    def time_frame(self) -> pl.DataFrame:
        """One row per search that was timed: ``kind`` is cold, warm, first_hit, index_cold or index_warm."""
        import polars as pl

        details = self.details or ()
        samples: dict[str, list[Sequence[float]]] = {
            "cold": [each.cold_ms for each in details],
            "warm": [each.warm_ms for each in details],
            "first_hit": [() if each.first_hit_ms is None else (each.first_hit_ms,) for each in details],
            "index_cold": [() if each.index_cold_ms is None else (each.index_cold_ms,) for each in details],
            "index_warm": [each.index_warm_ms for each in details],
        }
        return pl.concat([self._times(kind, times) for kind, times in samples.items()])

    def _times(self, kind: str, times: list[Sequence[float]]) -> pl.DataFrame:
        import polars as pl

        starts = starts_of(map(len, times), len(times))
        answer = np.repeat(np.arange(len(times)), np.diff(starts))
        count = len(answer)
        return pl.DataFrame(
            {
                **constant_columns({**self.named, "kind": kind}, count),
                "case": text_column(self.case_ids).gather(answer),
                "status": text_column(self._statuses).gather(answer),
                "search": np.arange(count) - starts[answer] + 1,
                "ms": np.fromiter(chain.from_iterable(times), np.float64, count),
            }
        )

    def usage_frame(self) -> pl.DataFrame:
        """One row per answer: cost, tokens and by whom they are counted, retries, waits, process start, ANN recall, as stated."""
        types = USAGE_COLUMNS | ANN_COLUMNS
        rows = [
            {**self.named, "case": case, "status": status} | {name: getattr(each, name) for name in types}
            for case, status, each in zip(self.case_ids, self._statuses, self.details or (), strict=False)
        ]
        return typed_frame(rows, {"run": str, "snapshot": str, "case": str, "status": str, **types})

    @property
    def _statuses(self) -> list[str]:
        return [STATUSES[status] for status in self.status.tolist()]

    def __repr__(self) -> str:
        return f"Run({quote_name(self.name)}, {count_of(len(self), 'answer')}, {count_of(len(self.scores), 'hit')})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self._identity == other._identity and list(self.answers) == list(other.answers)

    @property
    def _identity(self) -> tuple[object, ...]:
        return (self.label, self.provenance, self.dropped, self.queries)

    __hash__ = None  # type: ignore[assignment]  # holds arrays: compared by value, never a key


class ScoredRun(Run):
    """A run that has the scores of every answer by id as well, in copies of the dictionaries that it was given.

    Judging by id needs only these. Ids and ranks become columns when something asks for them: to list a million ids and to
    rank them would cost more than to look the judged ones up. A run that was made from this one by `replace` has columns alone.
    """

    by_id: tuple[dict[str, float], ...] | None = None

    @classmethod
    def of(cls, label: RunLabel, scores: Mapping[str, Mapping[str, float]], **rest: Any) -> ScoredRun:
        scores = with_text_keys(scores, "the id of a case")
        starts = starts_of(map(len, scores.values()), len(scores))
        by_id: list[dict[str, float]] = []
        values = np.fromiter(chain.from_iterable(_copied_values(scores, by_id)), np.float64, int(starts[-1]))
        run = cls(label, tuple(scores), starts, [], values, _status_from_hits(starts), rank=None, unique=True, **rest)
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


def _line_column(lines: NDArray[np.int32] | None, rows: NDArray[np.int64]) -> pl.Series:
    return (
        null_column(int, len(rows)) if lines is None else gather_rows(number_column(lines.astype(np.int64), lines == NO_LINE), rows)
    )


def _as_label(agent: str | RunLabel) -> RunLabel:
    return RunLabel(agent) if isinstance(agent, str) else agent


def _copied_values(scores: Mapping[str, Mapping[str, float]], copies: list[dict[str, float]]) -> Iterator[Iterable[float]]:
    """The scores of every answer, taken from a copy while that is still in the cache of the processor."""
    for case, of_case in scores.items():
        copy = dict(with_text_keys(of_case, f"case {case!r}: the id of a hit"))
        copies.append(copy)
        yield copy.values()


def _refuse_scores(run: Run, odd: NDArray[np.bool_]) -> None:
    """Name the first score that cannot be ranked, or that no file could hold."""
    if odd.any():
        row = int(np.argmax(odd))
        case = run.case_ids[int(np.searchsorted(run.starts, row, side="right")) - 1]
        raise UsageError(f"case {case!r}: the score of {run.ids[row]!r} is {run.scores[row]}; scores must be finite numbers")


def _status_from_hits(starts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The status of answers that are only known by their hits: ok, or empty without any."""
    return np.where(np.diff(starts) > 0, OK, EMPTY).astype(np.uint8)
