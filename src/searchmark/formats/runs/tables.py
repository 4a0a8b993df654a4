"""Runs as tables with a row per hit: CSV, TSV, JSON lines, Parquet and TREC."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from searchmark.errors import UsageError, shortened
from searchmark.formats.input_file import json_lines, most_frequent
from searchmark.formats.runs.source import (
    RunFile,
    first_named,
    id_of,
    parse_number,
    refuse_two_rankings,
    score_of,
    two_queries_error,
)
from searchmark.formats.trec import FAST_FROM, RUN_LAYOUT, group_by_query, read_trec_table
from searchmark.io.rows import csv_rows, parquet_columns, parquet_frame
from searchmark.io.store import BOM, atomic_write, read_bytes
from searchmark.records.answers import EMPTY, NOT_RUN, OK
from searchmark.records.columns import Texts, distinct, original_bytes, ranks_by_score, texts_at
from searchmark.records.provenance import ImportedRun, Provenance, RunLabel
from searchmark.records.run import Run

if TYPE_CHECKING:
    import polars as pl

# Hits in columns become runs: rows of one case together, in the order that the file gives them.


@dataclass(frozen=True, eq=False)
class HitColumns:
    """The hits of a file, a row each, in its order. A row with an empty id is a case without hits."""

    case: Texts  # what the file calls a case
    id: Texts
    query: Texts | None = None  # its text, where the file has both
    rank: NDArray[np.float64] | None = None  # NaN where a row has none, as in scores
    score: NDArray[np.float64] | None = None
    agent: Texts | None = None  # where a file holds several runs

    def only(self, rows: NDArray[np.int64]) -> HitColumns:
        return HitColumns(
            case=take_rows(self.case, rows),
            id=take_rows(self.id, rows),
            query=None if self.query is None else take_rows(self.query, rows),
            rank=None if self.rank is None else self.rank[rows],
            score=None if self.score is None else self.score[rows],
        )


def take_rows(texts: Texts, rows: NDArray[np.int64]) -> Texts:
    """The texts in some rows, as a column of the same kind."""
    return texts_at(texts, rows) if isinstance(texts, list) else texts[rows]


def factorize(texts: Texts) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The distinct texts in the order of their first row, and the number of each row's."""
    index: dict[str, int] = {}
    if isinstance(texts, list):
        codes = _code_texts(texts, index)
        return tuple(index), codes
    stretches = texts.rle().struct.unnest()
    codes = _code_texts(stretches["value"].to_list(), index)
    return tuple(index), np.repeat(codes, stretches["len"].to_numpy())


def _code_texts(texts: Sequence[str], index: dict[str, int]) -> NDArray[np.int64]:
    return np.fromiter((index.setdefault(text, len(index)) for text in texts), np.int64, len(texts))


def assemble_runs(file: RunFile, columns: HitColumns) -> list[Run]:
    """The runs of a file: one for each agent that it names, in the order of their first hits; it has a name where it names none."""
    if columns.agent is None:
        return [_assemble_run(file, columns, file.name)]
    agents, codes = factorize(columns.agent)
    return [
        _assemble_run(file, columns.only(np.flatnonzero(codes == number)), agent or file.name)
        for number, agent in enumerate(agents)
    ]


def _assemble_run(file: RunFile, columns: HitColumns, name: str) -> Run:
    cases, codes = factorize(columns.case)
    # A column of polars has been checked for gaps.
    is_hit = (
        np.fromiter(map(bool, columns.id), bool, len(columns.id)) if isinstance(columns.id, list) else np.ones(len(codes), bool)
    )
    queries = None if columns.query is None else _queries_of_cases(file, columns.query, cases, codes)
    order, notes = _order_hits(codes, columns.rank, is_hit)
    if columns.rank is not None:
        _refuse_rankings(file, cases, codes[order], order, columns.rank, columns.id)
    counts = np.bincount(codes[is_hit], minlength=len(cases))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ids = columns.id if np.array_equal(order, np.arange(len(codes))) else take_rows(columns.id, order)
    scores = np.full(len(order), np.nan) if columns.score is None else columns.score[order]
    by_score = columns.rank is None and columns.score is not None
    return Run(
        label=RunLabel(name),
        case_ids=cases,
        starts=starts,
        ids=ids,
        scores=scores,
        status=np.where(counts > 0, OK, EMPTY).astype(np.uint8),
        rank=ranks_by_score(ids, scores, starts) if by_score else None,
        provenance=Provenance(imported=ImportedRun(tuple(notes)) if notes else None),
        queries=queries,
    )


def _order_hits(
    codes: NDArray[np.int64], rank: NDArray[np.float64] | None, is_hit: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], list[str]]:
    """The rows of the hits, those of a case together and by rank where there are ranks; and what to say of these."""
    together = np.argsort(codes, kind="stable") if (codes[1:] < codes[:-1]).any() else np.arange(len(codes))
    together = together[is_hit[together]]
    if rank is None:
        return together, []
    same = codes[together][1:] == codes[together][:-1]
    steps = np.diff(rank[together])
    unsorted = len(distinct(codes[together][1:][same & (steps < 0)]))
    order = together[np.lexsort((rank[together], codes[together]))] if unsorted else together
    equal = int(((np.diff(rank[order]) == 0) & (codes[order][1:] == codes[order][:-1])).sum())
    notes = [f"answers whose hits were not in the order of their ranks, sorted by rank: {unsorted}"] if unsorted else []
    return order, notes + ([f"hits with the same rank as another, kept in the order of the file: {equal}"] if equal else [])


def _refuse_rankings(
    file: RunFile,
    cases: Sequence[str],
    codes: NDArray[np.int64],
    order: NDArray[np.int64],
    rank: NDArray[np.float64],
    ids: Texts,
) -> None:
    """Look closer at answers in which a rank comes twice; ``codes`` are in the given order, and ascend."""
    again = (np.diff(rank[order]) == 0) & (codes[1:] == codes[:-1])
    for code in distinct(codes[1:][again]).tolist():
        rows = np.sort(order[slice(*np.searchsorted(codes, [code, code + 1]).tolist())])
        refuse_two_rankings(file, cases[code], rank[rows].tolist(), texts_at(ids, rows))


def _queries_of_cases(file: RunFile, texts: Texts, cases: Sequence[str], codes: NDArray[np.int64]) -> tuple[str | None, ...]:
    """What each case asks; None where its first row does not say."""
    first = np.full(len(cases), -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    distinct, numbers = factorize(texts)
    differing = np.flatnonzero(numbers != numbers[first][codes])
    contradictions = [row for row in differing.tolist() if distinct[numbers[row]] and distinct[numbers[first[codes[row]]]]]
    if contradictions:
        case = codes[contradictions[0]]
        raise two_queries_error(file, cases[case], distinct[numbers[first[case]]], distinct[numbers[contradictions[0]]])
    return tuple(text or None for text in texts_at(texts, first))


# Runs as tables, a row per hit: CSV and TSV, JSON lines.
#
# As with TREC files, a careful reader defines what a text file means and says which line is wrong; a fast one takes large files
# that it can prove to be clean, column by column, and gives up at the first doubt.

RUN_TABLE_ROLES = ("case", "query", "id", "rank", "score", "agent")

DELIMITERS = (",", "\t", ";", "|")

_LONGEST_NAMES = 300


# What judgments have in place of a rank or score, and the header of a qrels file of BEIR.
_GRADES = ("rating", "grade", "relevance", "rel", "label", "judgment", "judgement")

_BEIR_JUDGMENTS = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table is what; all that was found, for those who must be told."""

    names: tuple[str, ...]
    roles: Mapping[str, str]

    @property
    def missing(self) -> list[str]:
        """The roles without which there is no run."""
        lacks = [] if "case" in self.roles or "query" in self.roles else ["query"]
        return lacks if "id" in self.roles else [*lacks, "id"]

    @property
    def numbers(self) -> list[str]:
        return [role for role in ("rank", "score") if role in self.roles]

    @property
    def key(self) -> str:
        """What names a case: its id, or else its query."""
        return "case" if "case" in self.roles else "query"


def find_columns(file: RunFile, names: Sequence[str], preset: Mapping[str, str] | None = None) -> TableColumns:
    """What the columns of a table are, by what was said of them and by their names; no column is two things."""
    if preset is not None:
        preset_roles = {role: name for role, name in {**preset, **file.field_names}.items() if role in RUN_TABLE_ROLES}
        absent = [name for name in preset_roles.values() if name not in names]
        if absent:
            there = shortened(", ".join(map(repr, names)), _LONGEST_NAMES)
            raise file.error(None, f"has no column {', '.join(map(repr, absent))}; it has {there}")
        return TableColumns(tuple(names), preset_roles)
    free, roles = tuple(dict.fromkeys(names)), {}
    for role in sorted(RUN_TABLE_ROLES, key=lambda role: role not in file.field_names):  # what was said comes first
        column = file.column(role, free)
        if column is not None:
            roles[role] = column
            free = tuple(name for name in free if name != column)
    return TableColumns(tuple(names), roles)


def read_csv_header(file: RunFile) -> tuple[str, list[str]]:
    """The delimiter of a CSV, which is the one that its first line has most of, and the names of its columns."""
    first = file.head.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
    delimiter = most_frequent(first, DELIMITERS)
    rows = [row for _, row in csv_rows(file.path, [first], delimiter)]
    return delimiter, [name.strip() for name in rows[0]] if rows else []


def read_csv(file: RunFile, preset: Mapping[str, str] | None = None) -> list[Run]:
    """Query, id, rank or score, under names that say so; by rank, else by score as trec_eval sorts, else as they come."""
    delimiter, names = read_csv_header(file)
    table = check_columns(file, find_columns(file, names, preset))
    content = _clean_content(file)
    fast = None if content is None else _read_clean_csv(content, delimiter, table)
    return runs_or_error(file, fast or _read_careful_csv(file, delimiter, table))


def _clean_content(file: RunFile) -> bytes | None:
    """The bytes of a file that is large enough for the fast reader; None for others, and for text that is surely not UTF-8."""
    content = read_bytes(file.path).removeprefix(BOM)
    return content if len(content) >= FAST_FROM and b"\0" not in content[:FAST_FROM] else None


def check_columns(file: RunFile, table: TableColumns) -> TableColumns:
    """The columns, if they are those of a run: judgments have a query and an id too."""
    if table.missing:
        raise file.error(None, missing_columns(table))
    grade = None if table.numbers else first_named(table.names, _GRADES)
    if list(table.names) == _BEIR_JUDGMENTS:
        grade = "score"
    if grade is not None and not file.format_given:
        raise file.error(
            None,
            f"holds judgments, not a run: its column {grade!r} is a grade, and it has no rank; name it with --gold-set, or, if "
            "these are hits in their order, give --run-format",
        )
    return table


def missing_columns(table: TableColumns) -> str:
    """Which columns are missing, which there are, and how to name them."""
    how = " and ".join(f"--map run.{role}=COLUMN" for role in table.missing)
    columns = shortened(", ".join(map(repr, table.names)) or "none", _LONGEST_NAMES)
    sentence = f"lacks a column for {' and '.join(table.missing)}; found the columns {columns}; name yours with {how}"
    is_hit = any(name.replace(".", "", 1).isdecimal() for name in table.names)
    return f"{sentence}; if its first line is a hit, put one with the names of the columns above it" if is_hit else sentence


def runs_or_error(file: RunFile, columns: HitColumns) -> list[Run]:
    if not len(columns.id):
        raise file.error(None, "holds no hits")
    return assemble_runs(file, columns)


def _read_careful_csv(file: RunFile, delimiter: str, table: TableColumns) -> HitColumns:
    where = {role: table.names.index(name) for role, name in table.roles.items()}
    builder = ColumnBuilder(file, table)
    rows = csv_rows(file.path, io.StringIO(file.text, newline=""), delimiter)
    next(rows, None)
    for line, row in rows:
        if len(row) > len(table.names):
            raise file.error(f"line {line}", f"has {len(row)} columns instead of {len(table.names)}")
        if any(field.strip() for field in row):
            builder.add(f"line {line}", {role: row[place] for role, place in where.items() if place < len(row)}, written=True)
    return builder.columns


class ColumnBuilder:
    """Rows, checked one by one, on their way to columns."""

    def __init__(self, file: RunFile, table: TableColumns) -> None:
        self._file, self._table = file, table
        self._texts: dict[str, list[str]] = {role: [] for role in ("case", "query", "id", "agent") if role in table.roles}
        self._numbers: dict[str, list[float]] = {role: [] for role in table.numbers}

    def add(self, place: str, row: Mapping[str, Any], *, written: bool) -> None:
        """Take a row, whose values are ``written`` as text in CSV; one with a case alone says that it has no hits."""
        number = parse_number if written else score_of
        numbers = {role: number(self._file, place, row.get(role, "" if written else None), role) for role in self._numbers}
        for role, column in self._texts.items():
            value = row.get(role)
            empty = value is None or (isinstance(value, str) and not value.strip())
            column.append("" if empty else id_of(self._file, f"{place}.{self._table.roles[role]}", value).strip())
        key, hit = self._texts[self._table.key][-1], self._texts["id"][-1]
        if not key:
            raise self._file.error(place, f"has no {self._table.roles[self._table.key]}")
        if not hit and not all(map(np.isnan, numbers.values())):
            raise self._file.error(place, f"has no {self._table.roles['id']}")
        decides = next(iter(numbers), None)
        if hit and decides is not None and np.isnan(numbers[decides]):  # where hits are ordered by a number, each must have it
            raise self._file.error(place, f"has no {self._table.roles[decides]}")
        for role, value in numbers.items():
            self._numbers[role].append(value)

    @property
    def columns(self) -> HitColumns:
        numbers = {role: np.array(values, np.float64) for role, values in self._numbers.items()}
        return HitColumns(
            case=self._texts[self._table.key],
            id=self._texts["id"],
            query=self._texts.get("query") if self._table.key == "case" else None,
            rank=numbers.get("rank"),
            score=numbers.get("score"),
            agent=self._texts.get("agent"),
        )


def _read_clean_csv(content: bytes, delimiter: str, table: TableColumns) -> HitColumns | None:
    """The same columns by way of polars, or None if the file is not clean enough to be sure."""
    import polars as pl

    bare = _without_quoted(content, delimiter)
    if b'"' in bare:
        return None
    try:
        frame = pl.read_csv(content, separator=delimiter, infer_schema=False, quote_char=None if bare is content else '"')
    except pl.exceptions.PolarsError:
        return None
    width = len(table.names)
    if len(frame.columns) != width or bare.count(delimiter.encode()) != (width - 1) * (len(frame) + 1):
        return None
    frame.columns = [str(place) for place in range(width)]
    places = {role: str(table.names.index(name)) for role, name in table.roles.items()}
    return columns_if_clean(frame.select(pl.col(place).str.strip_chars().alias(role) for role, place in places.items()), table)


def _without_quoted(content: bytes, delimiter: str) -> bytes:
    """The content without fields that are quoted as a whole, about which all readers agree; a quote that is left is in doubt."""
    if b'"' not in content:
        return content
    mark = re.escape(delimiter.encode())
    return re.sub(rb'(\A|[\n%b])"(?:[^"]|"")*"(?=[\r\n%b]|\Z)' % (mark, mark), rb"\1", content)


def columns_if_clean(frame: pl.DataFrame, table: TableColumns) -> HitColumns | None:
    """Columns by their roles, or None where one has a gap, an empty text or a number that is none."""
    import polars as pl

    frame = frame.with_columns(pl.col(role).cast(pl.Float64, strict=False) for role in table.numbers)
    texts = [role for role in ("case", "query", "id", "agent") if role in table.roles]
    gaps = [pl.col(role).is_null().any() | (pl.col(role) == "").any() for role in texts]
    odd = [~pl.col(role).is_finite().all() | pl.col(role).is_null().any() for role in table.numbers]
    if any(frame.select(pl.any_horizontal(*gaps, *odd)).row(0)):
        return None
    numbers = {role: frame[role].to_numpy() for role in table.numbers}
    return HitColumns(
        case=frame[table.key],
        id=frame["id"],
        query=frame["query"] if table.key == "case" and "query" in table.roles else None,
        rank=numbers.get("rank"),
        score=numbers.get("score"),
        agent=frame["agent"] if "agent" in table.roles else None,
    )


def read_hit_rows(file: RunFile, rows: Iterator[tuple[str, Any]], first: Mapping[str, Any]) -> list[Run]:
    """JSON with an object per hit, each with its place; ``first`` is the first of them."""
    table = check_columns(file, find_columns(file, tuple(first)))
    content = _clean_content(file) if file.by_line else None
    fast = None if content is None else _read_clean_lines(content, table)
    return runs_or_error(file, fast or _read_careful_rows(file, rows, table))


def _read_careful_rows(file: RunFile, rows: Iterator[tuple[str, Any]], table: TableColumns) -> HitColumns:
    builder = ColumnBuilder(file, table)
    for place, row in rows:
        if not isinstance(row, dict):
            raise file.error(place, "is not an object")
        builder.add(place, {role: row.get(name) for role, name in table.roles.items()}, written=False)
    return builder.columns


# An id that may not have been text: polars makes text of everything.
_NOT_TEXT = r"^(?:true|false|[+-]?\d*\.\d+(?:[eE].*)?|\d+[eE].*|[\[{].*)$"


def _read_clean_lines(content: bytes, table: TableColumns) -> HitColumns | None:
    import polars as pl

    schema = {name: pl.Float64 if role in table.numbers else pl.String for role, name in table.roles.items()}
    try:
        frame = pl.read_ndjson(content, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    texts = [role for role in table.roles if role not in table.numbers]
    by_role = frame.select(pl.col(name).alias(role) for role, name in table.roles.items())
    if any(by_role.select(pl.any_horizontal(pl.col(role).str.contains(_NOT_TEXT).any() for role in texts)).row(0)):
        return None
    return columns_if_clean(by_role.with_columns(pl.col(role).str.strip_chars() for role in texts), table)


def read_json_lines(file: RunFile) -> Iterator[tuple[str, Any]]:
    """The values of a JSON lines file with their places."""
    return json_lines(file.path, io.StringIO(file.text), constants=True)  # line by line: often only the first is wanted


# Runs in Parquet: a row per hit, as ranx writes it (``q_id``, ``doc_id``, ``score``), or with any names that say what they are.


def read_parquet(file: RunFile) -> list[Run]:
    table = check_columns(file, find_columns(file, tuple(parquet_columns(file.path))))
    frame = parquet_frame(file.path, list(table.roles.values()))
    frame = frame.select(_cast_for_role(file, frame[name], role) for role, name in table.roles.items())
    clean = columns_if_clean(frame, table)
    if clean is not None:
        return runs_or_error(file, clean)
    builder = ColumnBuilder(file, table)
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        builder.add(f"row {number}", row, written=False)
    return runs_or_error(file, builder.columns)


def _cast_for_role(file: RunFile, column: pl.Series, role: str) -> pl.Series:
    """A column as its role needs it; pandas makes fractions of whole numbers where one is missing."""
    import polars as pl

    dtype = pl.Float64 if role in ("rank", "score") else pl.String
    if dtype == pl.String and column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        column = column.cast(pl.Int64)
    try:
        if column.dtype.is_nested() or column.dtype == pl.Boolean:
            raise pl.exceptions.InvalidOperationError
        fitting = column.cast(dtype)
    except pl.exceptions.PolarsError as error:
        kind = "numbers" if dtype == pl.Float64 else "text or whole numbers"
        raise file.error(column.name, f"holds {column.dtype}, and the {role} of a hit, one in each row, needs {kind}") from error
    return (fitting.str.strip_chars() if dtype == pl.String else fitting).alias(role)


# TREC run files, read and written. Hits are ordered by score, then id, as trec_eval orders them.


FEWEST_SCORE_STEPS, NEARLY_ALL_ANSWERS = 5, 0.9  # from a hit to the next one, and those of them that rise


def read_trec(file: RunFile) -> list[Run]:
    table = read_trec_table(file.path, RUN_LAYOUT)
    starts, documents, scores = group_by_query(table)
    run = Run(
        label=RunLabel(file.name),
        case_ids=table.queries,
        starts=starts,
        ids=documents,
        scores=scores,
        status=np.full(len(table.queries), OK, np.uint8),
        rank=ranks_by_score(documents, scores, starts),
        provenance=Provenance(tag=table.tag, imported=_note_reordering(scores, starts)),
    )
    return [run]


def _note_reordering(scores: NDArray[np.float64], starts: NDArray[np.int64]) -> ImportedRun | None:
    """What the order by score does to a file that lists its hits in another one: scores may be distances, or say nothing."""
    pairs = np.ones(max(len(scores) - 1, 0), bool)
    pairs[starts[1:-1] - 1] = False  # the last hit of an answer and the first of the next
    steps = np.diff(scores)[pairs]
    if len(steps) < FEWEST_SCORE_STEPS:
        return None
    if (steps > 0).mean() >= NEARLY_ALL_ANSWERS:
        return ImportedRun(
            ("scores rise down the file, and the highest ranks first, as in trec_eval; negate them if they are distances",)
        )
    if not steps.any():
        return ImportedRun(("the hits of every answer have one score and are ordered by id, as in trec_eval; ranks are not read",))
    return None


PSEUDO_SCORES = "answers whose scores are missing or contradict their order, written with descending numbers"


def write_trec(run: Run, path: str | PathLike[str]) -> list[str]:
    """Write a run as TREC does, whole or not at all; returns what it could not hold, a sentence each."""
    tag = b"-".join(original_bytes(run.provenance.tag or run.label.agent).split()) or b"searchmark"
    losses: Counter[str] = Counter()
    with atomic_write(path) as file:
        for row in range(len(run)):
            file.write(_answer_lines(run, row, tag, losses))
    return [f"{what}: {count}" for what, count in [*losses.items(), *_lost_fields(run).items()] if count]


def refuse_blank_ids(names: Iterable[str]) -> None:
    """Refuse the first id that would be read as none or as several."""
    for name in names:
        if original_bytes(name).split() != [original_bytes(name)]:
            raise UsageError(f"a TREC run cannot hold the id {name!r}, since blanks separate its columns; save the run as .jsonl")


def _answer_lines(run: Run, row: int, tag: bytes, losses: Counter[str]) -> bytes:
    rows, hits = run.rows_of(row), run.ids_of(row)
    first = list({hit: place for place, hit in reversed(list(enumerate(hits)))}.values())[::-1]
    losses["repeated ids in an answer, of which the first is kept"] += len(hits) - len(first)
    names, scores = [hits[place] for place in first], run.scores[rows[first]]
    refuse_blank_ids([run.case_ids[row], *names] if names else ())
    ids, case = [original_bytes(name) for name in names], original_bytes(run.case_ids[row])
    if names and case.startswith(b"#"):
        raise UsageError(f"a TREC run cannot hold the case {run.case_ids[row]!r}, since # starts a comment; save the run as .jsonl")
    if not _keeps_order(ids, scores):
        losses[PSEUDO_SCORES] += 1
        scores = np.arange(len(ids), 0.0, -1.0)
    columns = enumerate(zip(ids, scores.tolist(), strict=True), 1)
    return b"".join(b"%b Q0 %b %d %b %b\n" % (case, name, rank, repr(score).encode(), tag) for rank, (name, score) in columns)


def _keeps_order(ids: list[bytes], scores: NDArray[np.float64]) -> bool:
    """Whether sorting by score, then id, both descending, leaves these hits as they are, with 32 and with 64 bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        rough = scores.astype(np.float32)
    if not np.isfinite(rough).all() or (scores[1:] > scores[:-1]).any():
        return False
    return all(ids[place] > ids[place + 1] for place in np.flatnonzero(rough[1:] >= rough[:-1]).tolist())


def _lost_fields(run: Run) -> dict[str, int]:
    """What has no column; a case without a line is read as empty."""
    without = np.diff(run.starts) == 0
    return {
        "answers that failed, read as empty": int((without & ~np.isin(run.status, (OK, EMPTY, NOT_RUN))).sum()),
        "cases that were not run, read as empty": int((run.status == NOT_RUN).sum()),
        "texts of queries": sum(query is not None for query in run.queries or ()),
        "lines of hits": 0 if run.first_line is None else int(np.count_nonzero(run.first_line)),
        "times and details of answers": len(run.details or ()),
    }
