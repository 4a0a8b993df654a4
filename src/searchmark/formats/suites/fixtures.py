"""``baseline_metrics.json``: what a set of fixtures reached, and how much of it must be kept.

A metric must be at least its value times a multiplier: that of the metric (``ndcg_threshold_multiplier``), or else that of
all (``threshold_multiplier``), or else 1 - ``tolerance``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from searchmark.errors import FormatError
from searchmark.files.known_kinds import snake
from searchmark.options.gate_options import FIXTURE_METRICS, FixtureMetric
from searchmark.suites.source import Entry, Source

TOLERANCE = 0.05  # where a file has neither a tolerance nor multipliers
_SAID = ("description", "note", "notes")  # words among the targets, which are no numbers
CASES = "test_cases"
_MULTIPLIER = "threshold_multiplier"
_TARGET = "min_avg_"
_SPELLINGS: dict[str, FixtureMetric] = {"ndcg": "ndcg", "mrr": "mrr", "precision_at_k": "precision", "precision": "precision"}


def metric_named(name: str) -> FixtureMetric | None:
    """The metric that a file calls so; None if there is none."""
    return _SPELLINGS.get(snake(name))


@dataclass(frozen=True)
class BaselineCase:
    """What one fixture reached when the baseline was taken, by the file's own names for metrics.

    Without ``k`` each metric is cut at the number of documents that the fixture ranks. ``relevant_docs`` say what is relevant,
    where the fixture itself does not.
    """

    name: str
    metrics: Mapping[str, float]
    k: int | None = None
    relevant_docs: tuple[str, ...] = ()
    description: str | None = None


@dataclass(frozen=True)
class BaselineMetrics:
    """A ``baseline_metrics.json``: values per fixture, lowest averages, and how much of a value must be kept.

    ``targets`` are by the file's own names (``min_avg_ndcg``). ``multipliers`` are by metric; ``multiplier`` is for all others.
    """

    cases: tuple[BaselineCase, ...]
    targets: Mapping[str, float] = field(default_factory=dict)
    multipliers: Mapping[FixtureMetric, float] = field(default_factory=dict)
    multiplier: float | None = None
    tolerance: float = TOLERANCE
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
    first = _first_case(data)
    return (isinstance(first, dict) and "metrics" in map(snake, map(str, first))) or _has_targets(data)


def _first_case(data: Any) -> Any:
    cases = next((value for key, value in data.items() if snake(str(key)) == CASES), None) if isinstance(data, dict) else None
    return cases[0] if isinstance(cases, list) and cases else None


def _has_targets(data: Any) -> bool:
    return isinstance(data, dict) and any(snake(str(key)) in ("aggregate_targets", "regression_thresholds") for key in data)


def load_baseline_metrics(path: str | Path) -> BaselineMetrics:
    """Read the baseline of a set of fixtures."""
    source = Source(Path(path))
    top = source.top()
    cases = tuple(map(_case, source.entries(CASES))) if top.has(CASES) else ()
    targets = dict(_targets(top))
    if not cases and not targets:
        raise FormatError(source.path, CASES, "holds no fixtures, and there are no aggregate_targets: nothing could be checked")
    _refuse_repetition(source.path, cases)
    own, of_all = _multipliers(top)
    return BaselineMetrics(
        cases=cases,
        targets=targets,
        multipliers=own,
        multiplier=of_all,
        tolerance=_number(top, "tolerance", TOLERANCE),
        version=top.maybe_text("version"),
        model=top.maybe_text("model"),
        created_at=top.maybe_text("created_at"),
        notes=_said(top, "notes"),
        description=_said(top, "description"),
    )


def _case(entry: Entry) -> BaselineCase:
    metrics = entry.mapping("metrics")
    values = {name: _number(metrics, name) for name in metrics}
    if not values:
        raise entry.error("metrics", "is empty: nothing of this fixture could be checked")
    k = entry.whole("k") if entry.has("k") else None
    if k is not None and k < 1:
        raise entry.error("k", f"{k} is not a number of documents from 1")
    return BaselineCase(entry.text("name"), values, k, tuple(entry.texts("relevant_docs")), _said(entry, "description"))


def _refuse_repetition(path: Path, cases: tuple[BaselineCase, ...]) -> None:
    seen: dict[str, int] = {}
    for row, case in enumerate(cases):
        first = seen.setdefault(snake(case.name), row)
        if first != row:
            raise FormatError(path, f"{CASES}.{row}.name", f"{case.name!r} is a duplicate of {CASES}.{first}")


def _targets(top: Entry) -> Iterator[tuple[str, float]]:
    if top.has("aggregate_targets"):
        targets = top.mapping("aggregate_targets")
        yield from ((name, _number(targets, name)) for name in targets if name not in _SAID)


def target_metric(name: str) -> FixtureMetric | None:
    """The metric that a target is about: that of ``min_avg_ndcg`` is ``ndcg``."""
    return metric_named(name.removeprefix(_TARGET)) if name.startswith(_TARGET) else None


def _multipliers(top: Entry) -> tuple[dict[FixtureMetric, float], float | None]:
    if not top.has("regression_thresholds"):
        return {}, None
    thresholds = top.mapping("regression_thresholds")
    own: dict[FixtureMetric, float] = {}
    for name in thresholds:
        if not name.endswith("multiplier") or name == _MULTIPLIER:
            continue
        metric = metric_named(name.removesuffix(_MULTIPLIER).rstrip("_"))
        if metric is None:
            known = ", ".join(f"{each}_{_MULTIPLIER}" for each in FIXTURE_METRICS)
            raise thresholds.error(name, f"is about no metric that is known; there are {known} and {_MULTIPLIER}")
        own[metric] = _number(thresholds, name)
    return own, _number(thresholds, _MULTIPLIER) if thresholds.has(_MULTIPLIER) else None


def _said(entry: Entry, name: str) -> str | None:
    value = entry.values.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _number(entry: Entry, name: str, default: float | None = None) -> float:
    value = entry.values.get(name, default)
    try:
        number = float("nan") if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 <= number <= 1:
        raise entry.error(name, f"{value!r} is not a number from 0 to 1")
    return number
