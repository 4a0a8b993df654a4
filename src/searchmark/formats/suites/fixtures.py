"""Fixtures with their own documents, and the baseline of metrics beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from searchmark.config.gates import FIXTURE_METRICS, FixtureMetric
from searchmark.errors import FormatError
from searchmark.formats.detection import snake_case
from searchmark.formats.suites.checks import check_cases
from searchmark.formats.suites.source import Entry, Source
from searchmark.records.document import Document
from searchmark.records.judgments import Judgment, ScoreRange
from searchmark.records.suite import Case, Suite

# ``baseline_metrics.json``: what a set of fixtures reached, and how much of it must be kept.
#
# A metric must be at least its value times a multiplier: that of the metric (``ndcg_threshold_multiplier``), or else that of
# all (``threshold_multiplier``), or else 1 - ``tolerance``.

DEFAULT_TOLERANCE = 0.05  # where a file has neither a tolerance nor multipliers

_NOTE_FIELDS = ("description", "note", "notes")  # words among the targets, which are no numbers

BASELINE_CASES_FIELD = "test_cases"

_MULTIPLIER = "threshold_multiplier"

_TARGET = "min_avg_"

_SPELLINGS: dict[str, FixtureMetric] = {"ndcg": "ndcg", "mrr": "mrr", "precision_at_k": "precision", "precision": "precision"}


def fixture_metric(name: str) -> FixtureMetric | None:
    """The metric that a file calls so; None if there is none."""
    return _SPELLINGS.get(snake_case(name))


@dataclass(frozen=True)
class BaselineCase:
    """What one fixture reached when the baseline was taken, by the file's own names for metrics."""

    name: str
    metrics: Mapping[str, float]
    k: int | None = None  # without it each metric is cut at the number of documents that the fixture ranks
    relevant_docs: tuple[str, ...] = ()  # where the fixture itself does not name them
    description: str | None = None


@dataclass(frozen=True)
class BaselineMetrics:
    """A ``baseline_metrics.json``: values per fixture, lowest averages, and how much of a value must be kept."""

    cases: tuple[BaselineCase, ...]
    targets: Mapping[str, float] = field(default_factory=dict)  # by the file's own names (``min_avg_ndcg``)
    multipliers: Mapping[FixtureMetric, float] = field(default_factory=dict)  # by metric
    multiplier: float | None = None  # for all other metrics
    tolerance: float = DEFAULT_TOLERANCE
    version: str | None = None
    model: str | None = None
    created_at: str | None = None
    notes: str | None = None
    description: str | None = None

    def kept_share(self, metric: FixtureMetric) -> float:
        """Which share of a metric's value must be kept."""
        usual = 1 - self.tolerance if self.multiplier is None else self.multiplier
        return self.multipliers.get(metric, usual)


def is_baseline_metrics(path: str | Path) -> bool:
    """Whether a file is the baseline of a set of fixtures, by what it holds."""
    source = Source(Path(path))
    if source.by_line or source.is_yaml:
        return False
    try:
        data = source.data
    except FormatError:
        return False
    top = {snake_case(str(key)): value for key, value in reversed(data.items())} if isinstance(data, dict) else {}
    cases = top.get(BASELINE_CASES_FIELD)
    first = cases[0] if isinstance(cases, list) and cases else None
    if isinstance(first, dict) and "metrics" in map(snake_case, map(str, first)):
        return True
    return not top.keys().isdisjoint(("aggregate_targets", "regression_thresholds"))


def load_baseline_metrics(path: str | Path) -> BaselineMetrics:
    """Read the baseline of a set of fixtures."""
    source = Source(Path(path))
    top = source.top()
    cases = tuple(map(_baseline_case, source.entries(BASELINE_CASES_FIELD))) if top.has(BASELINE_CASES_FIELD) else ()
    targets = dict(_targets(top))
    if not cases and not targets:
        raise FormatError(
            source.path, BASELINE_CASES_FIELD, "holds no fixtures, and there are no aggregate_targets: nothing could be checked"
        )
    row_by_name: dict[str, int] = {}
    for row, case in enumerate(cases):
        first = row_by_name.setdefault(snake_case(case.name), row)
        if first != row:
            place = f"{BASELINE_CASES_FIELD}.{row}.name"
            raise FormatError(source.path, place, f"{case.name!r} is a duplicate of {BASELINE_CASES_FIELD}.{first}")
    own, of_all = _multipliers(top)
    return BaselineMetrics(
        cases=cases,
        targets=targets,
        multipliers=own,
        multiplier=of_all,
        tolerance=_number_field(top, "tolerance", DEFAULT_TOLERANCE),
        version=top.maybe_text("version"),
        model=top.maybe_text("model"),
        created_at=top.maybe_text("created_at"),
        notes=_text_or_none(top, "notes"),
        description=_text_or_none(top, "description"),
    )


def _baseline_case(entry: Entry) -> BaselineCase:
    metrics = entry.mapping("metrics")
    values = {name: _number_field(metrics, name) for name in metrics}
    if not values:
        raise entry.error("metrics", "is empty: nothing of this fixture could be checked")
    k = entry.whole("k") if entry.has("k") else None
    if k is not None and k < 1:
        raise entry.error("k", f"{k} is not a number of documents from 1")
    return BaselineCase(entry.text("name"), values, k, tuple(entry.texts("relevant_docs")), _text_or_none(entry, "description"))


def _targets(top: Entry) -> Iterator[tuple[str, float]]:
    if top.has("aggregate_targets"):
        targets = top.mapping("aggregate_targets")
        yield from ((name, _number_field(targets, name)) for name in targets if name not in _NOTE_FIELDS)


def target_metric(name: str) -> FixtureMetric | None:
    """The metric that a target is about: that of ``min_avg_ndcg`` is ``ndcg``."""
    return fixture_metric(name.removeprefix(_TARGET)) if name.startswith(_TARGET) else None


def _multipliers(top: Entry) -> tuple[dict[FixtureMetric, float], float | None]:
    if not top.has("regression_thresholds"):
        return {}, None
    thresholds = top.mapping("regression_thresholds")
    own: dict[FixtureMetric, float] = {}
    for name in thresholds:
        if not name.endswith("multiplier") or name == _MULTIPLIER:
            continue
        metric = fixture_metric(name.removesuffix(_MULTIPLIER).rstrip("_"))
        if metric is None:
            names = ", ".join(f"{each}_{_MULTIPLIER}" for each in FIXTURE_METRICS)
            raise thresholds.error(name, f"is about no metric that is known; there are {names} and {_MULTIPLIER}")
        own[metric] = _number_field(thresholds, name)
    return own, _number_field(thresholds, _MULTIPLIER) if thresholds.has(_MULTIPLIER) else None


def _text_or_none(entry: Entry, name: str) -> str | None:
    value = entry.values.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _number_field(entry: Entry, name: str, default: float | None = None) -> float:
    value = entry.values.get(name, default)
    try:
        number = float("nan") if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 <= number <= 1:
        raise entry.error(name, f"{value!r} is not a number from 0 to 1")
    return number


# Fixtures that bring their documents along: an expected ranking, score ranges, and what is relevant.
#
# With n documents in the ranking, the first is worth n, the last 1; what is not relevant, 0. A fixture that does not say
# what is relevant is about the order only. A fixture must be able to fail, so fewer than two documents are refused, and so
# is one without a ranking.

_RELEVANT = ("relevant", "relevant_docs", "relevant_documents", "relevant_ids")

_FIXTURE_FIELDS = (
    "name", "id", "query", "documents", "expected_ranking", "expected_score_ranges", *_RELEVANT, "category", "tags",
)  # fmt: skip

FEWEST_DOCUMENTS = 2


def read_fixtures(source: Source) -> Suite:
    entries = source.entries()
    cases = [_fixture_case(entry) for entry in entries]
    check_cases(source.path, cases, "fixtures")
    source.name_unread_keys(entries, _FIXTURE_FIELDS, "model")
    return Suite.from_cases(source.name, cases, model=source.top().maybe_text("model"), metadata=source.rest("model"))


def _fixture_case(entry: Entry) -> Case:
    documents = _documents(entry)
    ranking = entry.texts("expected_ranking")
    if not ranking:
        raise entry.error("expected_ranking", "is missing or empty: there is nothing that the fixture expects")
    _refuse_unknown(entry, "expected_ranking", ranking, documents)
    key = next(filter(entry.has, _RELEVANT), None)
    relevant = ranking if key is None else entry.texts(key)
    _refuse_unknown(entry, key or "relevant", relevant, documents)
    ranges = _score_ranges(entry, documents)
    return Case(
        id=entry.text("name", "id"),
        query=entry.text("query"),
        judgments=tuple(_judgments(documents, ranking, relevant, ranges)),
        category=entry.maybe_text("category"),
        tags=tuple(entry.texts("tags")),
        documents=tuple(documents.values()),
        order_only=key is None,
        fields=entry.rest(*_FIXTURE_FIELDS),
    )


def _judgments(
    documents: Iterable[str], ranking: list[str], relevant: list[str], ranges: Mapping[str, ScoreRange | dict[str, ScoreRange]]
) -> Iterator[Judgment]:
    ranks = {document: rank for rank, document in enumerate(ranking, 1)}
    targets = set(relevant)
    for document in documents:
        rank = ranks.get(document)
        gain = len(ranking) - rank + 1 if rank is not None else 1
        yield Judgment(document, grade=gain if document in targets else 0, rank=rank, score_range=ranges.get(document))


def _documents(entry: Entry) -> dict[str, Document]:
    """Documents as a list with ids, or as a mapping from id to text."""
    if isinstance(entry.values.get("documents"), dict):
        inner = entry.raw_mapping("documents")
        documents = {name: Document(name, inner.text(name)) for name in inner}
    else:
        documents = {}
        for item in entry.entries("documents"):
            document = Document(
                item.text("id"), item.text("content", "text"), item.maybe_text("title"), item.rest("id", "content", "text", "title")
            )
            if document.id in documents:
                raise item.error("id", f"duplicate id {document.id!r} in this fixture")
            documents[document.id] = document
    if len(documents) < FEWEST_DOCUMENTS:
        raise entry.error("documents", f"has {len(documents)} entries; a ranking needs at least {FEWEST_DOCUMENTS}")
    return documents


def _refuse_unknown(entry: Entry, name: str, ids: list[str], documents: Mapping[str, Document]) -> None:
    seen_ids: set[str] = set()
    for row, document in enumerate(ids):
        if document not in documents:
            raise entry.error(f"{name}.{row}", f"{document!r} is not one of the documents")
        if document in seen_ids:
            raise entry.error(f"{name}.{row}", f"duplicate id {document!r}")
        seen_ids.add(document)


def _score_ranges(entry: Entry, documents: Mapping[str, Document]) -> dict[str, ScoreRange | dict[str, ScoreRange]]:
    if not entry.has("expected_score_ranges"):
        return {}
    inner = entry.raw_mapping("expected_score_ranges")
    ranges: dict[str, ScoreRange | dict[str, ScoreRange]] = {}
    for document in inner:
        if document not in documents:
            raise inner.error(document, "is not one of the documents")
        value = inner.values[document]
        if isinstance(value, dict) and value and all(isinstance(each, dict | list) for each in value.values()):
            by_model = inner.raw_mapping(document)
            ranges[document] = {model: _read_range(by_model, model, by_model.values[model]) for model in by_model}
        else:
            ranges[document] = _read_range(inner, document, value)
    return ranges


def _read_range(entry: Entry, document: str, value: Any) -> ScoreRange:
    """``{"min": 0.7, "max": 1.0}`` or ``[0.7, 1.0]``."""
    if isinstance(value, dict):
        bounds = {str(key).lower(): bound for key, bound in value.items()}
        value = [bounds.get("min"), bounds.get("max")]
    try:
        low, high = (float(bound) for bound in value if isinstance(value, list))
    except (TypeError, ValueError, OverflowError):
        raise entry.error(document, "is not a range of two numbers, min and max") from None
    if not low <= high:
        raise entry.error(document, f"its min {low:g} is not below its max {high:g}")
    return low, high
