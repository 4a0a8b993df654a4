"""Suites: cases and judgments in columns, and which cases belong together."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from searchmark.config.strict import Number, Whole, strict_record
from searchmark.records.columns import (
    HasFrame,
    Texts,
    constant_columns,
    distinct,
    gather_rows,
    null_column,
    rows_or_none,
    split_mix,
    starts_of,
    text_column,
    text_list,
)
from searchmark.records.digests import judgments_digest, queries_digest
from searchmark.records.document import Document, FieldValues, field_texts, id_text, with_text_keys
from searchmark.records.judgments import Judgment, JudgmentTable, grade_column, judgment_table
from searchmark.records.matching import LEAST_OVERLAP
from searchmark.records.sentences import count_of, quote_name

if TYPE_CHECKING:
    import polars as pl


# The cases of a suite without their judgments, in columns.


@dataclass(frozen=True, eq=False)
class CaseTable:
    """The cases of a suite without their judgments, one row each; an absent column is all default.

    ``excluded_ids`` are those of the documents that ``excludes`` mean, once a corpus has said which; they are in no digest.
    """

    ids: tuple[str, ...]
    queries: tuple[str | None, ...] | None = None
    categories: tuple[str | None, ...] | None = None
    tags: tuple[tuple[str, ...], ...] | None = None
    origins: tuple[str | None, ...] | None = None
    unanswerable: NDArray[np.bool_] | None = None
    documents: tuple[tuple[Document, ...], ...] | None = None
    other_orders: tuple[tuple[tuple[str, ...], ...], ...] | None = None
    order_only: NDArray[np.bool_] | None = None
    excludes: tuple[Mapping[str, FieldValues], ...] | None = None
    excluded_ids: tuple[frozenset[str], ...] | None = None
    requests: tuple[Mapping[str, Any] | None, ...] | None = None
    fields: tuple[Mapping[str, Any], ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        return {case_id: row for row, case_id in enumerate(self.ids)}

    def of_rows(self, rows: Sequence[int]) -> CaseTable:
        """Some of the cases, in this order."""
        return CaseTable(**{each.name: _column_rows(getattr(self, each.name), rows) for each in fields(self)})

    def series(self) -> dict[str, pl.Series]:
        """Every column for a frame, null where a case has nothing; tags and fields, of which a case has many, as JSON."""
        import polars as pl

        count = len(self)
        unanswerable = np.zeros(count, bool) if self.unanswerable is None else self.unanswerable
        return {
            "case": text_column(self.ids),
            "query": null_column(str, count) if self.queries is None else text_column(self.queries),
            "category": null_column(str, count) if self.categories is None else text_column(self.categories),
            "tags": null_column(str, count) if self.tags is None else _json_column(self.tags),
            "origin": null_column(str, count) if self.origins is None else text_column(self.origins),
            "unanswerable": pl.Series(values=unanswerable),
            "fields": null_column(str, count) if self.fields is None else _json_column(self.fields),
        }

    def beside_judgments(self) -> dict[str, list[Any]]:
        """What else of a case decides on values of measures, for the cases where it is not the default."""
        more: dict[str, list[Any]] = {}
        for case, orders in zip(self.ids, self.other_orders or (), strict=False):
            if orders:
                more.setdefault(case, []).append(sorted(orders))
        for case, only in zip(self.ids, () if self.order_only is None else self.order_only.tolist(), strict=False):
            if only:
                more.setdefault(case, []).append("order only")
        for case, exclude in zip(self.ids, self.excludes or (), strict=False):
            if exclude:
                more.setdefault(case, []).append({"exclude": {name: field_texts(exclude[name]) for name in sorted(exclude)}})
        return more


def _column_rows(column: Any, rows: Sequence[int]) -> Any:
    if column is None:
        return None
    return column[rows] if isinstance(column, np.ndarray) else tuple([column[row] for row in rows])


def _json_column(values: Iterable[object]) -> pl.Series:
    """Nested values as JSON, which every consumer of a frame can hold; null for an empty one."""
    return text_column([json.dumps(value, ensure_ascii=False, default=str) if value else None for value in values])


# Which state of which repository a case is about, as its fields say it.

_REPOSITORY = ("repository", "repo")  # of gold sets, and of SWE-bench

_COMMIT = ("parent_commit", "commit_hash", "base_commit")


def repository_of_case(fields: Mapping[str, Any]) -> str | None:
    """The repository that a case names; None if it names none."""
    return next((str(fields[name]) for name in _REPOSITORY if fields.get(name)), None)


def repository_state_of_case(fields: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Repository and commits that a case names: a path of the same name in another of them is another file."""
    return repository_of_case(fields), *(str(fields[name]) if fields.get(name) else None for name in _COMMIT)


# Which cases are one observation: those of one origin, the case that it names, and cases without one that share their targets.

Keys = NDArray[np.uint64]

NO_TARGETS = 0  # the key of a case without any relevant target: what is nowhere to be found is not shared


def target_keys(
    judgments: JudgmentTable, documents: Sequence[Sequence[Document]] | None, fields: Sequence[Mapping[str, Any]] | None
) -> Keys:
    """A number for each case: that of another is the same if targets, grades, ranks and documents are, else hardly ever.

    Only relevant targets count. ``documents`` are those of the cases themselves, ``fields`` may name repositories and commits.
    """
    cases, relevant = len(judgments.starts) - 1, np.flatnonzero(judgments.grades > 0)
    per_case = np.bincount(judgments.case[relevant], minlength=cases)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_judgment_keys(judgments, relevant), dtype=np.uint64)])
    # The sum of the keys of a case does not depend on the order of its judgments; unsigned numbers wrap around.
    keys = _mix_bits(np.diff(sums[starts_of(per_case.tolist(), cases)]))
    if documents is not None:
        keys ^= _hash_values(tuple((each.id, each.text, each.title) for each in of_case) for of_case in documents)
    if fields is not None:
        keys ^= _hash_values(map(repository_state_of_case, fields))
    return np.where(per_case > 0, keys, np.uint64(NO_TARGETS))


def cluster_cases(ids: Sequence[str], origins: Sequence[str | None] | None, keys: Keys) -> NDArray[np.int64] | None:
    """A number for each case: those with the same number are one observation; None if all are observations of their own.

    Numbers are in the order of origins and ids, so that the order of the cases changes no digit of a sum over them.
    """
    rows = shared_rows(keys, origins)
    if origins is None and not len(rows):
        return None
    names = [
        f"origin {origin}" if origin else f"case {case}" for case, origin in zip(ids, origins or (None,) * len(ids), strict=True)
    ]
    union = _UnionOfNames()
    origin_names = set(filter(None, origins or ()))
    for case, name in zip(ids, names, strict=True):
        if case in origin_names:  # it is what its variants were made of, whatever it says of itself
            union.join(name, f"origin {case}")
    for first, *others in rows_by_key(keys, rows):
        for row in others:
            union.join(names[first], names[row])
    return np.unique(np.array(list(map(union.first, names)), dtype=object), return_inverse=True)[1].astype(np.int64)


class _UnionOfNames:
    """Names that mean one observation, each with one that comes before it; the first of all is the name of all."""

    def __init__(self) -> None:
        self._before: dict[str, str] = {}

    def first(self, name: str) -> str:
        while (before := self._before.get(name)) is not None:
            self._before[name] = self._before.get(before, before)  # the way is half as long next time
            name = before
        return name

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.first(one), self.first(other)))
        if first != second:
            self._before[second] = first


def shared_rows(keys: Keys, origins: Sequence[str | None] | None) -> NDArray[np.intp]:
    """The cases without an origin whose targets another of them has too."""
    rows = np.flatnonzero(keys != NO_TARGETS)
    if origins is not None:
        rows = rows[[not origins[row] for row in rows.tolist()]]
    _, which, counts = np.unique(keys[rows], return_inverse=True, return_counts=True)
    return rows[counts[which] > 1]


def rows_by_key(keys: Keys, rows: NDArray[np.intp]) -> list[list[int]]:
    """Some cases, those of one key together, in the order of the first of each."""
    groups: dict[int, list[int]] = {}
    for row, key in zip(rows.tolist(), keys[rows].tolist(), strict=True):
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _judgment_keys(judgments: JudgmentTable, rows: NDArray[np.intp]) -> Keys:
    """A number for each of some judgments, by target, how it is met, grade and rank."""
    keys = _text_hashes(judgments.targets if len(rows) == len(judgments) else _take_texts(judgments.targets, rows))
    for column in (judgments.grades, judgments.match, judgments.ranks):
        if column is not None:
            keys = _mix_bits(keys ^ _mix_bits(column[rows].astype(np.uint64)))
    return keys


def _take_texts(texts: Texts, rows: NDArray[np.intp]) -> Texts:
    return [texts[row] for row in rows.tolist()] if isinstance(texts, list) else texts[rows]


def _text_hashes(texts: Texts) -> Keys:
    if isinstance(texts, list):
        return np.fromiter(map(hash, texts), np.int64, len(texts)).astype(np.uint64)
    return np.asarray(texts.hash().to_numpy(), np.uint64)


def _hash_values(values: Iterable[object]) -> Keys:
    return np.array([hash(value) for value in values], np.int64).astype(np.uint64)


def _mix_bits(keys: Keys) -> Keys:
    return split_mix(keys + np.uint64(0x9E3779B97F4A7C15))


Gain = Literal["linear", "exp"]


# Where cases were collected in a way that asks for measures of its own.
SuiteKind = Literal["gold-set", "case-list", "labels", "symbols"]


@strict_record(slots=True)
class Case:
    """One query and all that is known about its right answers."""

    id: str
    query: str | None = None
    judgments: tuple[Judgment, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    # what the case stems from (a commit, a query that was translated): cases of one origin are one observation, and so are cases
    # without one that share their relevant targets
    origin: str | None = None
    unanswerable: bool = False
    documents: tuple[Document, ...] = ()  # a corpus of the case's own
    # orders of targets, best first, that are as right as the one that the ranks of judgments give
    other_orders: tuple[tuple[str, ...], ...] = ()
    order_only: bool = False  # judgments say in which order documents should come, not which of them are relevant
    # fields of documents and their values: such a document is not relevant where only a glob or a symbol fits
    exclude: Mapping[str, FieldValues] = field(default_factory=dict)
    request: Mapping[str, Any] | None = None  # a search for agents that can send it as it stands; others get the query
    fields: Mapping[str, Any] = field(default_factory=dict)  # anything else worth slicing by

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", id_text(self.id, "the id of a case"))


@strict_record(slots=True)
class Defaults:
    """What a suite wants measures to mean when they do not say it themselves, and its globs and symbols.

    ``ignore_case``: globs and symbols are matched without regard to case. Ids and paths are not.
    ``overlap``: the share of the words of an expected passage that a hit must hold in one piece.
    ``measures``: those that the suite names as its own, the leading one first; they are computed where nobody asks for others.
    """

    rel: Whole = 1
    gain: Gain = "linear"
    ignore_case: bool = False
    overlap: Number = LEAST_OVERLAP
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Suite(HasFrame):
    """A named set of cases with their judgments: what a search system is asked, and what is right."""

    name: str
    table: CaseTable
    judgments: JudgmentTable
    defaults: Defaults = Defaults()  # frozen
    description: str | None = None
    model: str | None = None  # the embedding model that score ranges belong to
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)  # what a reader had to leave out, by reason
    kind: SuiteKind | None = None  # how its cases were collected: decides on default measures, and is part of no digest
    unjudged: tuple[str, ...] = ()  # ids of queries that a reader left out because no judgment is about them
    notes: tuple[str, ...] = ()  # how a reader understood the file, a sentence each; every report repeats them
    # those that it was read from: they tell the answers, so they are no documents and no agent in a sandbox sees them
    files: tuple[Path, ...] = ()
    missing: Literal["zero"] | None = None  # a case that an imported run lacks: nothing was found, or else that is not known

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
        grades_by_case = with_text_keys(grades, "the id of a case")
        table = CaseTable(ids=tuple(grades_by_case))
        per_case = [with_text_keys(of_case, f"case {case!r}: a target") for case, of_case in grades_by_case.items()]
        starts = starts_of(map(len, per_case), len(grades_by_case))
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
        from searchmark.records.dataframes import read_case_frame

        cases = read_case_frame(table, mapping)
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
        of_cases = {name: gather_rows(column, case) for name, column in self.table.series().items()}
        of_judgments = {name: gather_rows(column, judgment) for name, column in self.judgments.series().items()}
        return pl.DataFrame(constant_columns({"suite": self.name}, len(case)) | of_cases | of_judgments)

    def __repr__(self) -> str:
        return f"Suite({quote_name(self.name)}, {count_of(len(self), 'case')}, {count_of(len(self.judgments), 'judgment')})"

    def texts(self) -> Iterator[str]:
        """Every id, query and target."""
        yield from self.table.ids
        yield from (query for query in self.table.queries or () if query is not None)
        yield from text_list(self.judgments.targets)

    def only(self, case_ids: Collection[str]) -> Suite:
        """The same suite with these cases alone."""
        if len(case_ids) >= len(self) and all(case in case_ids for case in self.table.ids):
            return self
        return self.mapped(lambda case: case if case.id in case_ids else None)

    def mapped(self, change: Callable[[Case], Case | None]) -> Suite:
        """The same suite with every case as this makes it; one of which it makes None is left out."""
        rest = {name: getattr(self, name) for name in _FIELDS_BESIDE_CASES}
        return Suite.from_cases(self.name, [case for each in self.cases if (case := change(each)) is not None], **rest)

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
        return cluster_cases(self.table.ids, self.table.origins, self.target_keys)

    def _beside_judgments(self) -> dict[str, list[Any]]:
        """What else decides on values: where there are globs or symbols, whether case is ignored, and the overlap of passages."""
        more = self.table.beside_judgments()
        if self.defaults.ignore_case and self.judgments.match is not None:
            for row in distinct(self.judgments.case[self.judgments.described]).tolist():
                more.setdefault(self.table.ids[row], []).append("ignore case")
        for row in distinct(self.judgments.case[self.judgments.of_text]).tolist():
            more.setdefault(self.table.ids[row], []).append(f"overlap {self.defaults.overlap}")
        return more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Suite) and self._identity == other._identity and list(self.cases) == list(other.cases)

    @property
    def _identity(self) -> tuple[object, ...]:
        return (self.name, self.kind, self.defaults, self.description, self.model, self.metadata)

    __hash__ = None  # type: ignore[assignment]  # holds arrays: compared by value, never a key


# What a suite keeps when cases are left out.
_FIELDS_BESIDE_CASES = ("defaults", "description", "model", "metadata", "dropped", "kind", "unjudged", "notes", "files")

T = TypeVar("T")


def _case_column(rows: Sequence[Case], value: Callable[[Case], T]) -> tuple[T, ...] | None:
    """One value per case, or None where no case has any."""
    values = tuple(map(value, rows))
    return values if any(values) else None


def _mark_column(marks: list[bool]) -> NDArray[np.bool_] | None:
    """One mark per case, or None where no case has any."""
    return np.array(marks, bool) if any(marks) else None


def _case_table(rows: Sequence[Case]) -> CaseTable:
    return CaseTable(
        ids=tuple(case.id for case in rows),
        queries=tuple(case.query for case in rows),
        categories=_case_column(rows, lambda case: case.category),
        tags=_case_column(rows, lambda case: tuple(case.tags)),
        origins=_case_column(rows, lambda case: case.origin),
        unanswerable=_mark_column([case.unanswerable for case in rows]),
        documents=_case_column(rows, lambda case: tuple(case.documents)),
        other_orders=_case_column(rows, lambda case: tuple(map(tuple, case.other_orders))),
        order_only=_mark_column([case.order_only for case in rows]),
        excludes=_case_column(rows, lambda case: case.exclude),
        requests=_case_column(rows, lambda case: case.request or None),
        fields=_case_column(rows, lambda case: case.fields),
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


# Judgments that a suite remembers as chosen because of what they would change, and not drawn at random.

CHOSEN_JUDGMENTS_FIELD = "chosen_judgments"  # in a suite's metadata: by case, the items that were chosen


def chosen_items(suite: Suite) -> Mapping[str, list[str]]:
    """By case, the items whose judgments were chosen; what is not of this shape says nothing."""
    field_value = suite.metadata.get(CHOSEN_JUDGMENTS_FIELD)
    pairs: Mapping[Any, Any] = field_value if isinstance(field_value, Mapping) else {}
    return {case: items for case, items in pairs.items() if isinstance(items, list) and items}


def chosen_rows(suite: Suite) -> NDArray[np.bool_]:
    """Which of the judgments were chosen."""
    judgments, starts = suite.judgments, suite.judgments.starts
    chosen = np.zeros(len(judgments), bool)
    for case, items in chosen_items(suite).items():
        if case in suite.table.index:
            at = suite.table.index[case]
            for row in range(int(starts[at]), int(starts[at + 1])):
                chosen[row] = judgments.targets[row] in items
    return chosen


# Which fields of a case say that its query was varied, and of which case it is a variant.

# What the fields are called that say in which language a case is, and how its query was varied.
LANGUAGE_FIELDS = ("language", "lang", "locale")

PERTURBATION = "perturbation"

PERTURBED_FROM = "perturbed_from"

VARIATION_FIELDS = ("variation", "variant", PERTURBATION)


class VariantLink(NamedTuple):
    """The row of a variant, the row of the case that it was made of (None if the suite lacks that), and the kind of change."""

    row: int
    original: int | None
    kind: str


def variant_links(table: CaseTable) -> Iterator[VariantLink]:
    """Every case that is a variant of another one and says of which kind."""
    for row, values in enumerate(table.fields or ()):
        if is_variant(values):
            yield VariantLink(row, table.index.get(str(values[PERTURBED_FROM])), str(values[PERTURBATION]))


def is_variant(fields: Mapping[str, Any]) -> bool:
    return PERTURBATION in fields and PERTURBED_FROM in fields
