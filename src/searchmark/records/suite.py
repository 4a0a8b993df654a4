"""Suites: cases and their judgments, in columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from searchmark.options.strict import strict_record
from searchmark.records.case_table import CaseTable
from searchmark.records.clusters import clusters, target_keys
from searchmark.records.columns import rows_or_none, starts_of
from searchmark.records.digests import judgments_digest, queries_digest
from searchmark.records.document import Document
from searchmark.records.field_values import FieldValues
from searchmark.records.frames import Framed, constant_columns, in_rows
from searchmark.records.grades import grade_column
from searchmark.records.id_columns import text_list
from searchmark.records.ids import by_text, id_text
from searchmark.records.judgments import Judgment, JudgmentTable, judgment_table
from searchmark.records.shown import counted, quoted

if TYPE_CHECKING:
    import polars as pl

Gain = Literal["linear", "exp"]
# Where cases were collected in a way that asks for measures of its own.
SuiteKind = Literal["gold-set", "case-list", "labels", "symbols"]


@strict_record(slots=True)
class Case:
    """One query and all that is known about its right answers.

    ``origin`` names what the case stems from (a commit, a query that was translated): cases of one
    origin are one observation, and so are cases without one that share their relevant targets.
    ``documents`` is a corpus of its own, for a case that brings one along.
    ``other_orders`` are orders of targets, best first, that are as right as the one that the ranks of judgments give.
    ``order_only``: the judgments say in which order documents should come, and not which of them are relevant.
    ``exclude`` names fields of documents and values of them: such a document is not relevant where only a glob or a symbol fits.
    ``request`` is a search of its own, for agents that can send it as it stands; others are asked the query.
    ``fields`` holds anything else worth slicing by.
    """

    id: str
    query: str | None = None
    judgments: tuple[Judgment, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    origin: str | None = None
    unanswerable: bool = False
    documents: tuple[Document, ...] = ()
    other_orders: tuple[tuple[str, ...], ...] = ()
    order_only: bool = False
    exclude: Mapping[str, FieldValues] = field(default_factory=dict)
    request: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, "the id of a case"))


@strict_record(slots=True)
class Defaults:
    """What a suite wants measures to mean when they do not say it themselves, and its globs and symbols.

    ``ignore_case``: globs and symbols are matched without regard to case. Ids and paths are not.
    ``measures``: those that the suite names as its own, the leading one first; they are computed where nobody asks for others.
    """

    rel: int = 1
    gain: Gain = "linear"
    ignore_case: bool = False
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Suite(Framed):
    """A named set of cases with their judgments: what a search system is asked, and what is right.

    ``model`` names the embedding model that score ranges belong to. ``dropped`` counts what a reader
    had to leave out, by reason. ``kind`` is the way in which its cases were collected: it decides on default measures, and is
    part of no digest. ``unjudged`` are ids of queries that a reader left out because no judgment is about them. ``notes`` are
    sentences of a reader on how it understood the file; every report repeats them. ``files`` are those that it was read from:
    they tell the answers, so that they are no documents and no agent in a sandbox sees them.
    """

    name: str
    table: CaseTable
    judgments: JudgmentTable
    defaults: Defaults = Defaults()  # noqa: RUF009  # frozen
    description: str | None = None
    model: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    kind: SuiteKind | None = None
    unjudged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @classmethod
    def from_cases(cls, name: str, cases: Iterable[Case], **rest: Any) -> Suite:
        """Build a suite from whole cases; ``rest`` goes to the other fields of the suite."""
        rows = list(cases)
        judgments = list(chain.from_iterable(case.judgments for case in rows))
        sizes = [len(case.judgments) for case in rows]
        return cls(name, _case_table(rows), judgment_table([case.id for case in rows], sizes, judgments), **rest)

    @classmethod
    def from_grades(cls, grades: Mapping[str, Mapping[str, int]], name: str = "suite") -> Suite:
        """Build a suite from ``{case: {target: grade}}``, the shape that pytrec_eval calls a qrel."""
        named = by_text(grades, "the id of a case")
        table = CaseTable(ids=tuple(named))
        per_case = [by_text(of_case, f"case {case!r}: a target") for case, of_case in named.items()]
        starts = starts_of(map(len, per_case), len(named))
        targets = list(chain.from_iterable(per_case))
        values = list(chain.from_iterable(of_case.values() for of_case in per_case))
        judgments = JudgmentTable(starts, targets, grade_column(values, table.ids, starts, targets))
        return cls(name, table, judgments)

    @classmethod
    def from_frame(cls, table: Any, name: str = "suite", mapping: Mapping[str, str] | None = None, **rest: Any) -> Suite:
        """Build a suite from a DataFrame of pandas or polars or an Arrow table, one row per judgment, as `frame` has them.

        The columns are found by their usual names (case or query_id, query, target or docid, grade or relevance, category);
        ``mapping`` names others: {"target": "sku"}. Without ids of cases a query is its own. Other columns that say one
        thing of a case become its fields.
        """
        from searchmark.records.suite_reading import cases_of_frame

        cases = cases_of_frame(table, mapping)
        return cls.from_cases(name, (Case(each.id, each.query, tuple(each.judgments), **each.facts) for each in cases), **rest)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def cases(self) -> Sequence[Case]:
        return _Cases(self)

    def frame(self) -> pl.DataFrame:
        """One row per judgment; a case without any has one row, where target, match and grade are null."""
        import polars as pl

        case, _, judgment = rows_or_none(self.judgments.starts)
        of_cases = {name: in_rows(column, case) for name, column in self.table.series().items()}
        of_judgments = {name: in_rows(column, judgment) for name, column in self.judgments.series().items()}
        return pl.DataFrame(constant_columns({"suite": self.name}, len(case)) | of_cases | of_judgments)

    def __repr__(self) -> str:
        return f"Suite({quoted(self.name)}, {counted(len(self), 'case')}, {counted(len(self.judgments), 'judgment')})"

    def texts(self) -> Iterator[str]:
        """Every id, query and target."""
        yield from self.table.ids
        yield from (query for query in self.table.queries or () if query is not None)
        yield from text_list(self.judgments.targets)

    def only(self, wanted: Collection[str]) -> Suite:
        """The same suite with these cases alone."""
        if len(wanted) >= len(self) and all(case in wanted for case in self.table.ids):
            return self
        rest = {name: getattr(self, name) for name in _BESIDE_CASES}
        return Suite.from_cases(self.name, [case for case in self.cases if case.id in wanted], **rest)

    @cached_property
    def hashes(self) -> dict[str, str | None]:
        """Digests of queries and judgments, kept apart, whatever the order of cases and judgments."""
        table, judgments = self.table, self.judgments
        unanswerable = None if table.unanswerable is None else table.unanswerable.tolist()
        return {
            "queries": queries_digest(table.ids, table.queries, unanswerable, table.requests),
            "corpus": None,
            "judgments": judgments_digest(table.ids, judgments.starts.tolist(), judgments.columns(), self._beside_judgments()),
        }

    @cached_property
    def target_keys(self) -> NDArray[np.uint64]:
        """A number for each case, 0 without a relevant target: cases with the same targets have the same."""
        return target_keys(self.judgments, self.table.documents, self.table.fields)

    @cached_property
    def clusters(self) -> NDArray[np.int64] | None:
        """A number for each case: those with the same number are one observation; None if each is its own."""
        return clusters(self.table.ids, self.table.origins, self.target_keys)

    def _beside_judgments(self) -> dict[str, list[Any]]:
        """What else decides on values; whether case is ignored does so where there are globs or symbols."""
        more = self.table.beside_judgments()
        if self.defaults.ignore_case and self.judgments.match is not None:
            for row in np.unique(self.judgments.case[self.judgments.described]).tolist():
                more.setdefault(self.table.ids[row], []).append("ignore case")
        return more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Suite) and self._identity == other._identity and list(self.cases) == list(other.cases)

    @property
    def _identity(self) -> tuple[object, ...]:
        return (self.name, self.kind, self.defaults, self.description, self.model, self.metadata)

    __hash__ = None  # type: ignore[assignment]  # holds arrays: compared by value, never a key


# What a suite keeps when cases are left out.
_BESIDE_CASES = ("defaults", "description", "model", "metadata", "dropped", "kind", "unjudged", "notes", "files")

T = TypeVar("T")


def _column(rows: Sequence[Case], value: Callable[[Case], T]) -> tuple[T, ...] | None:
    """One value per case, or None where no case has any."""
    values = tuple(map(value, rows))
    return values if any(values) else None


def _marks(marks: list[bool]) -> NDArray[np.bool_] | None:
    """One mark per case, or None where no case has any."""
    return np.array(marks, bool) if any(marks) else None


def _case_table(rows: Sequence[Case]) -> CaseTable:
    return CaseTable(
        ids=tuple(case.id for case in rows),
        queries=tuple(case.query for case in rows),
        categories=_column(rows, lambda case: case.category),
        tags=_column(rows, lambda case: tuple(case.tags)),
        origins=_column(rows, lambda case: case.origin),
        unanswerable=_marks([case.unanswerable for case in rows]),
        documents=_column(rows, lambda case: tuple(case.documents)),
        other_orders=_column(rows, lambda case: tuple(map(tuple, case.other_orders))),
        order_only=_marks([case.order_only for case in rows]),
        excludes=_column(rows, lambda case: case.exclude),
        requests=_column(rows, lambda case: case.request or None),
        fields=_column(rows, lambda case: case.fields),
    )


class _Cases(Sequence[Case]):
    """The cases of a suite as whole records, built one by one when asked for."""

    def __init__(self, suite: Suite) -> None:
        self._table = suite.table
        self._judgments = suite.judgments

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, row: int) -> Case: ...
    @overload
    def __getitem__(self, row: slice) -> list[Case]: ...
    def __getitem__(self, row: int | slice) -> Case | list[Case]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        start, end = self._judgments.starts[row : row + 2].tolist()
        return self._case(row, tuple(self._judgments.rows(start, end)))

    def __iter__(self) -> Iterator[Case]:
        """All cases; the columns of judgments are taken apart once and not case by case."""
        starts = self._judgments.starts.tolist()
        judgments = self._judgments.rows(0, len(self._judgments))
        for row in range(len(self)):
            yield self._case(row, tuple(islice(judgments, starts[row + 1] - starts[row])))

    def _case(self, row: int, judgments: tuple[Judgment, ...]) -> Case:
        table = self._table
        return Case(
            id=table.ids[row],
            query=None if table.queries is None else table.queries[row],
            judgments=judgments,
            category=None if table.categories is None else table.categories[row],
            tags=() if table.tags is None else table.tags[row],
            origin=None if table.origins is None else table.origins[row],
            unanswerable=table.unanswerable is not None and bool(table.unanswerable[row]),
            documents=() if table.documents is None else table.documents[row],
            other_orders=() if table.other_orders is None else table.other_orders[row],
            order_only=table.order_only is not None and bool(table.order_only[row]),
            exclude={} if table.excludes is None else table.excludes[row],
            request=None if table.requests is None else table.requests[row],
            fields={} if table.fields is None else table.fields[row],
        )
