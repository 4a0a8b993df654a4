"""Suites and runs from DataFrames, and the names that columns usually have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError, shortened
from searchmark.records.answers import EMPTY, OK, STATUSES
from searchmark.records.columns import NO_LINE, ranks_by_score
from searchmark.records.document import id_text
from searchmark.records.judgments import MATCHES, Judgment

# What the columns of tables are called for each role, in files of suites and of runs and in frames; the most telling name
# first.
#
# Names are compared without capitals, blanks, hyphens and underscores.

ColumnNames = Mapping[str, tuple[str, ...]]


# What columns of expected passages are called, in the files of RAG tools among others.
PASSAGE_COLUMN_NAMES = (
    "expected_passages", "expected_passage", "expected_chunks", "expected_chunk", "expected_contexts", "expected_context",
    "reference_contexts", "reference_context", "ground_truth_contexts", "ground_truth_context", "ground_truth_passages",
    "ground_truth_passage", "gold_passages", "gold_passage", "gold_contexts", "gold_context", "relevant_passages",
    "relevant_passage",
)  # fmt: skip

SUITE_COLUMN_NAMES: ColumnNames = {
    "query": ("query", "question", "query_text", "search_query", "search_term", "prompt", "user_input", "q"),
    "target": (
        *PASSAGE_COLUMN_NAMES,
        "expected_files", "expected_file", "expected_paths", "expected_path", "expected_docs", "expected_doc", "expected_documents",
        "expected_document", "expected_doc_ids", "expected_doc_id", "expected_ids", "expected_id", "expected_sources",
        "expected_source", "expected", "relevant_files", "relevant_file", "relevant_paths", "relevant_docs", "relevant_documents",
        "relevant_doc_ids", "relevant_ids", "relevant", "answer_files", "answer_file", "gold_files", "gold_file", "gold_docs",
        "gold_doc", "gold_ids", "gold", "target_files", "target_file", "targets", "target", "docid", "doc_id", "document_id",
        "product_id", "item_id", "corpus_id", "docno", "files", "file", "paths", "path",
    ),
    "grade": ("rating", "grade", "relevance", "judgement", "judgment", "esci_label", "label", "gain", "rel", "score"),
    "case": ("case_id", "case", "query_id", "question_id", "qid", "_id", "id"),
    "category": ("category",),
}  # fmt: skip


RUN_COLUMN_NAMES: ColumnNames = {
    "case": ("case_id", "case", "query_id", "qid", "topic_id", "topic", "query_number", "question_id"),
    "query": ("query", "query_text", "question", "search_term", "search_query", "keywords", "keyword", "q"),
    "id": (
        "doc_id", "document_id", "docno", "corpus_id", "hit_id", "result_id", "item_id", "product_id", "passage_id", "pid", "did",
        "doc", "document", "hit", "result", "item", "id", "path", "file", "url",
    ),
    "rank": ("rank", "position", "pos", "doc_position", "place"),
    "score": ("score", "similarity", "sim", "relevance_score", "retrieval_score"),
    "agent": ("agent", "system", "run", "run_id", "run_name", "run_tag", "tag", "engine", "model"),
    "hits": (
        "hits", "response", "results", "result", "documents", "docs", "ids", "doc_ids", "ranking", "retrieved", "items", "answer",
        "answers", "candidates", "matches",
    ),
}  # fmt: skip


def normalize_name(name: str) -> str:
    """``Doc ID``, ``doc_id`` and ``docId`` as ``docid``."""
    return re.sub(r"[\W_]+", "", name).lower()


def _names_in_frames(words: ColumnNames, **others: tuple[str, ...]) -> ColumnNames:
    """The same names in a frame, where a row is known to be a judgment or a hit, so that vaguer ones may be taken as well."""
    return {role: (*names, *others.get(role, ())) for role, names in words.items()}


# In a frame `id` is that of a document: who has ids of cases says which they are.
SUITE_FRAME_NAMES = _names_in_frames(
    {**SUITE_COLUMN_NAMES, "case": tuple(name for name in SUITE_COLUMN_NAMES["case"] if name not in {"id", "_id"})},
    case=("topic_id", "topic"),
    query=("text",),
    target=("document", "doc", "id"),
)

RUN_FRAME_NAMES = _names_in_frames({role: names for role, names in RUN_COLUMN_NAMES.items() if role != "hits"}, id=("target",))


# Tables of other libraries as columns: DataFrames of pandas and polars, and whatever gives an Arrow stream.
#
# None of these libraries is imported for that but polars, which reads Arrow: a table is known by what it can do.

_MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which is not imported to compare with

_SHOWN = 60

_MOST_NAMED = 300


def table_columns(table: Any) -> dict[str, list[Any]]:
    """Every column of a table as Python values."""
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):  # a lazy frame
        table = table.collect()
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas, whose own Arrow would need pyarrow
        names = [str(name) for name in table.columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"the frame has two columns {twice!r}; give each a name of its own")
        return {name: table.iloc[:, place].tolist() for place, name in enumerate(names)}
    if not hasattr(table, "__arrow_c_stream__"):
        raise UsageError(f"{type(table).__name__} is not a table; give a DataFrame of pandas or polars, or an Arrow table")
    import polars as pl

    columns: dict[str, list[Any]] = pl.DataFrame(table).to_dict(as_series=False)
    return columns


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a table, found by what they are for; ``names`` has the column of each role that there is."""

    columns: Mapping[str, list[Any]]
    names: Mapping[str, str]
    roles: ColumnNames

    @classmethod
    def of(cls, table: Any, roles: ColumnNames, mapping: Mapping[str, str] | None = None) -> FrameColumns:
        """``mapping`` names columns that are called something else: {"target": "sku"}."""
        columns = table_columns(table)
        names = dict(mapping or {})
        _refuse_unknown(names, roles, columns)
        alike = {normalize_name(name): name for name in reversed(columns) if name not in names.values()}
        usual_names = {
            role: next((alike[normalize_name(each)] for each in usual if normalize_name(each) in alike), None)
            for role, usual in roles.items()
        }
        return cls(columns, {role: name for role, name in {**usual_names, **names}.items() if name is not None}, roles)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def has(self, role: str) -> bool:
        return role in self.names

    def need(self, role: str) -> list[Any]:
        """The column of a role, which must be there."""
        if role not in self.names:
            column_list = shortened(", ".join(self.columns), _MOST_NAMED)
            usual = ", ".join(self.roles[role])
            raise UsageError(
                f"the frame has no column for the {role} (looked for {usual}); its columns are {column_list}: "
                f'name yours with mapping={{"{role}": "..."}}'
            )
        return self.columns[self.names[role]]

    def get(self, role: str) -> list[Any]:
        """The column of a role, None in every row where there is none."""
        return self.columns[self.names[role]] if role in self.names else self._nothing

    def own(self, name: str) -> list[Any]:
        """A column by the name that frames of ours have for it, None in every row where there is none."""
        return self.columns.get(name, self._nothing)

    @cached_property
    def _nothing(self) -> list[Any]:
        return [None] * len(self)

    def ids(self, role: str, *, gaps: Sequence[bool] | None = None) -> list[str | None]:
        """The ids of a role as text; one that is missing is refused unless ``gaps`` says that the row may lack it."""
        values, name, texts = self.need(role), self.names[role], list[str | None]()
        kinds = set(map(type, values))
        if kinds <= {str}:
            return values
        if kinds <= {int}:
            return list(map(str, values))
        for row, value in enumerate(values):
            if is_missing(value):
                if gaps is None or not gaps[row]:
                    raise UsageError(f"row {row} of the frame has no {role} (column {name!r})")
                texts.append(None)
            else:
                texts.append(id_text(value, f"row {row} of the frame: the {role} (column {name!r})"))
        return texts

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """A column by its role or its own name as finite numbers, NaN where a row has none; None if there is no such column."""
        if name not in self.names and name not in self.columns:
            return None
        values = self.columns[self.names.get(name, name)]
        if set(map(type, values)) <= {int, float, type(None)}:
            with suppress(OverflowError):
                numbers = np.array(values, np.float64)
                if not np.isinf(numbers).any():
                    return numbers
        return np.array(
            [math.nan if is_missing(each) else cell_number(each, row, name) for row, each in enumerate(values)], np.float64
        )

    def rest(self, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        """The columns that have no role, nor one of these names."""
        reserved_names = {*self.names.values(), *names}
        return ((name, values) for name, values in self.columns.items() if name not in reserved_names)


def _refuse_unknown(mapping: Mapping[str, str], roles: ColumnNames, columns: Mapping[str, Any]) -> None:
    for role, name in mapping.items():
        if role not in roles:
            raise UsageError(f"mapping: a frame has no {role!r} here; it has {', '.join(roles)}")
        if name not in columns:
            near = get_close_matches(str(name), columns, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; its columns are {shortened(', '.join(columns), _MOST_NAMED)}"
            raise UsageError(f"mapping: the frame has no column {name!r} for the {role}{hint}")


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, or what pandas writes for either."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return isinstance(value, float) and math.isnan(value)


def cell_number(value: Any, row: int, what: str) -> float:
    """A finite number of a cell."""
    with suppress(OverflowError):  # a whole number that no float can hold
        number = math.nan if isinstance(value, bool | str | bytes) or not hasattr(value, "__float__") else float(value)
        if math.isfinite(number):
            return number
    raise UsageError(f"row {row} of the frame: the {what} is {shortened(repr(value), _SHOWN)}, not a finite number")


def cell_text(value: Any) -> str | None:
    return None if is_missing(value) else str(value)


# Runs from tables: one row per hit, as `Run.frame` has them, or as people do. A table may have a million rows: read by columns.

_NO_STATUS = -1  # in a column of statuses


@dataclass(frozen=True)
class FrameRun:
    """What a table says of a run: ``agent`` and ``snapshot`` where it names them, and the ``columns`` of its answers."""

    agent: str | None
    snapshot: str | None
    columns: Mapping[str, Any]


def read_run_frame(table: Any, mapping: Mapping[str, str] | None) -> FrameRun:
    """The answers of a table, by rank, or else by score as trec_eval does, or else in the order of the rows."""
    frame = FrameColumns.of(table, RUN_FRAME_NAMES, mapping)
    role = "case" if frame.has("case") else "query"
    if not frame.has(role):
        frame.need("case")
    frame.need("id")
    index: dict[str | None, int] = {}
    case = np.fromiter((index.setdefault(each, len(index)) for each in frame.ids(role)), np.int64, len(frame))
    statuses = _statuses(frame)
    ids = frame.ids("id", gaps=(statuses != _NO_STATUS).tolist())
    order = _order_hits(frame, case, ids)
    counts = np.bincount(case[order], minlength=len(index))
    score = frame.numbers("score")
    columns = {
        "case_ids": tuple(index),
        "starts": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "ids": [ids[row] for row in order.tolist()],
        "scores": np.full(len(order), np.nan) if score is None else score[order],
        "status": _status_of_cases(statuses, case, counts),
        "valid": _valid_column(frame, order),
        **_line_columns(frame, order),
    }
    return FrameRun(_only_value(frame, frame.names.get("agent")), _only_value(frame, "snapshot"), columns)


def _only_value(frame: FrameColumns, name: str | None) -> str | None:
    """What a column says in every row; several runs are several tables."""
    values = dict.fromkeys(cell_text(each) for each in (frame.own(name) if name else ()))
    if len(values) > 1:
        examples = ", ".join(map(repr, list(values)[:5]))
        raise UsageError(f"the frame holds several runs ({name}: {examples}); give the rows of one")
    return next(iter(values), None)


def _statuses(frame: FrameColumns) -> NDArray[np.int64]:
    """The number of each row's status, where it says one."""
    numbers: dict[str | None, int] = {None: _NO_STATUS, **{status: number for number, status in enumerate(STATUSES)}}
    texts = [cell_text(each) for each in frame.own("status")]
    unknown = next((row for row, text in enumerate(texts) if text not in numbers), None)
    if unknown is not None:
        raise _odd_status_error(unknown)
    return np.fromiter((numbers[text] for text in texts), np.int64, len(texts))


def _status_of_cases(statuses: NDArray[np.int64], case: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The status of each case, which all of its rows must agree on; where they say none it is told by the hits."""
    _, first = np.unique(case, return_index=True)
    other = np.flatnonzero(statuses != statuses[first][case])
    if len(other):
        raise _odd_status_error(int(first[case[other[0]]]))
    return np.where(statuses[first] == _NO_STATUS, np.where(counts > 0, OK, EMPTY), statuses[first]).astype(np.uint8)


def _odd_status_error(row: int) -> UsageError:
    return UsageError(f"row {row} of the frame: status is one of {', '.join(STATUSES)}, and the same in all rows of a case")


def _order_hits(frame: FrameColumns, case: NDArray[np.int64], ids: list[str | None]) -> NDArray[np.int64]:
    """The rows of hits: those of a case together, best first."""
    hits = np.flatnonzero(np.fromiter((each is not None for each in ids), bool, len(ids)))
    rank, score = frame.numbers("rank"), frame.numbers("score")
    together = hits[np.argsort(case[hits], kind="stable")]
    if rank is not None:
        _refuse_gap(frame, "rank", rank, hits)
        order = hits[np.lexsort((rank[hits], case[hits]))]
        twice = np.flatnonzero((np.diff(rank[order]) == 0) & (np.diff(case[order]) == 0))
        if len(twice):
            row = int(order[twice[0]])
            raise UsageError(f"row {row} of the frame: its rank {rank[row]:g} is there twice in one case")
        return order
    if score is None:
        return together
    _refuse_gap(frame, "score", score, hits)
    starts = np.concatenate([[0], np.cumsum(np.bincount(case[together]))]).astype(np.int64)
    ranks = ranks_by_score([str(ids[row]) for row in together.tolist()], score[together], starts)
    return together if ranks is None else together[np.lexsort((ranks, case[together]))]


def _refuse_gap(frame: FrameColumns, role: str, numbers: NDArray[np.float64], hits: NDArray[np.int64]) -> None:
    """What hits are ordered by, all of them must have."""
    gaps = hits[np.isnan(numbers[hits])]
    if len(gaps):
        cell_number(frame.get(role)[gaps[0]], int(gaps[0]), role)


def _valid_column(frame: FrameColumns, order: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    values = frame.own("valid")
    marks = [values[row] for row in order.tolist()] if "valid" in frame.columns else [None]
    return None if any(map(is_missing, marks)) else np.array(marks, bool)


def _line_columns(frame: FrameColumns, order: NDArray[np.int64]) -> dict[str, NDArray[np.int32]]:
    """The lines that hits mean; nothing where all of them mean whole documents."""
    first, last = (frame.numbers(name) for name in ("first_line", "last_line"))
    if first is None or last is None:
        return {}
    has_lines = ~(np.isnan(first) | np.isnan(last))[order]
    if not has_lines.any():
        return {}
    columns = {"first_line": first, "last_line": last}
    return {name: np.where(has_lines, lines[order], NO_LINE).astype(np.int32) for name, lines in columns.items()}


# Suites from tables: one row per judgment, as `Suite.frame` has them, or as people do.

# The columns of our own frames that are read by their names.
_JUDGMENT_COLUMNS = ("match", "rank", "score_low", "score_high", "gain")

OWN_COLUMNS = ("suite", "tags", "origin", "unanswerable", "fields", *_JUDGMENT_COLUMNS)


@dataclass
class FrameCase:
    """A case as far as the rows of a table have told it; ``rows`` are those of its judgments."""

    id: str
    row: int
    query: str | None
    facts: dict[str, Any]
    judgments: list[Judgment] = field(default_factory=list)
    rows: dict[tuple[str, str], int] = field(default_factory=dict)


def read_case_frame(table: Any, mapping: Mapping[str, str] | None) -> list[FrameCase]:
    """The cases of a table, in the order of their first rows; without a column of ids a query is its own id."""
    frame = FrameColumns.of(table, SUITE_FRAME_NAMES, mapping)
    role = "case" if frame.has("case") else "query"
    if not frame.has(role):
        frame.need("case")
    ids = frame.ids(role)
    targets = frame.need("target")
    # A row with neither target nor grade, where there is a column of grades, is a case without judgments.
    has_grades, pairs = frame.has("grade"), zip(targets, frame.get("grade"), strict=True)
    unjudged = [has_grades and is_missing(target) and is_missing(grade) for target, grade in pairs]
    target_ids = frame.ids("target", gaps=unjudged)
    cases: dict[str, FrameCase] = {}
    extra = dict(frame.rest(OWN_COLUMNS))
    for row, (case_id, target) in enumerate(zip(ids, target_ids, strict=True)):
        assert case_id is not None  # noqa: S101  # gaps are refused
        case = cases.get(case_id)
        if case is None:
            case = cases[case_id] = FrameCase(case_id, row, cell_text(frame.get("query")[row]), _case_fields(frame, row))
            case.facts["fields"] |= {name: values[row] for name, values in extra.items() if not is_missing(values[row])}
        else:
            if cell_text(frame.get("query")[row]) != case.query:
                raise UsageError(f"row {row} of the frame: the case {case.id!r} has another query in row {case.row}")
            for name in [each for each in extra if each in case.facts["fields"]]:
                if extra[name][row] != case.facts["fields"][name]:
                    del case.facts["fields"][name]  # it is said of a judgment, and not of the case
        if target is not None:
            judgment = _read_judgment(frame, row, target)
            before = case.rows.setdefault((judgment.target, judgment.match), row)
            if before != row:
                target_of_case = f"the case {case.id!r} has the target {judgment.target!r}"
                raise UsageError(f"row {row} of the frame: {target_of_case} in row {before} already")
            case.judgments.append(judgment)
    return list(cases.values())


def _case_fields(frame: FrameColumns, row: int) -> dict[str, Any]:
    """What the table says of a case beside its query."""
    tags, fields = (cell_text(frame.own(name)[row]) for name in ("tags", "fields"))
    return {
        "category": cell_text(frame.get("category")[row]),
        "tags": () if tags is None else tuple(_parse_cell(tags, "tags", row, list)),
        "origin": cell_text(frame.own("origin")[row]),
        "unanswerable": frame.own("unanswerable")[row] is True,
        "fields": {} if fields is None else dict(_parse_cell(fields, "fields", row, dict)),
    }


def _parse_cell(text: str, name: str, row: int, kind: type) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        expected = "list" if kind is list else "mapping"
        raise UsageError(f"row {row} of the frame: {name} must be JSON, a {expected}, and not {text[:60]!r}")
    return value


def _read_judgment(frame: FrameColumns, row: int, target: str) -> Judgment:
    grade = frame.get("grade")[row]
    if is_missing(grade) and frame.has("grade"):
        raise UsageError(f"row {row} of the frame has no grade (column {frame.names['grade']!r})")
    if type(grade) is int and frame.columns.keys().isdisjoint(_JUDGMENT_COLUMNS):
        return Judgment(target, "id", grade)  # as nearly all of a million rows
    gain = 1.0 if is_missing(grade) else cell_number(grade, row, "grade")
    own = frame.own("gain")[row]
    by_gain = Judgment.of_gain(target, gain if is_missing(own) else cell_number(own, row, "gain"))
    match = cell_text(frame.own("match")[row]) or "id"
    if match not in MATCHES:
        raise UsageError(f"row {row} of the frame: match is {match!r}; it is one of {', '.join(MATCHES)}")
    rank, low, high = (frame.own(name)[row] for name in ("rank", "score_low", "score_high"))
    return Judgment(
        target,
        match,
        int(gain) if gain.is_integer() else by_gain.grade,
        None if is_missing(rank) else int(cell_number(rank, row, "rank")),
        None if is_missing(low) or is_missing(high) else (cell_number(low, row, "score"), cell_number(high, row, "score")),
        by_gain.gain,
    )
