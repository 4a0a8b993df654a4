"""The tables of a sweep, for every renderer that has tables. Rows are numbered, and pictures use the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from searchmark.analysis.latencies import Latency
from searchmark.records.shown import counted
from searchmark.reports.cells import (
    UNDEFINED,
    Bytes,
    Cell,
    Count,
    Interval,
    Milliseconds,
    Number,
    PValue,
    Seconds,
    Table,
    Text,
    Verdict,
    table,
    three_digits,
)
from searchmark.reports.frontier import Frontier, FrontierPoint
from searchmark.sweeps.result import AgainstBaseline, Sweep, SweepRow

COST_TITLE = "Cost: p50 / p95 / p99 in ms, in the index alone and end to end"


def quality_title(sweep: Sweep) -> str:
    return f"Recall of neighbours and {sweep.measure}; p95 is {sweep.decided_by}"


def headline(sweep: Sweep) -> str:
    """Which setting, in few words."""
    return "No cheaper setting was shown to be as good" if sweep.cheapest is None else f"Cheapest: {sweep.cheapest}"


def about(sweep: Sweep) -> str:
    settings = counted(len(sweep.rows), "setting")
    return f"{settings} of {sweep.agent} on {sweep.suite.name}, {counted(sweep.suite.cases, 'case')}, {sweep.depth} hits each"


def quality_table(sweep: Sweep) -> Table:
    """What each setting finds and how good that is, beside the p95 that decides."""
    recall = f"recall@{k}" if (k := max((row.ann_k or 0 for row in sweep.rows), default=0)) else "recall"
    margin = f"loss < {sweep.margin:g}"
    columns = ("#", "setting", recall, "p95", sweep.measure, "difference", "interval", "p", margin, "verdict", "best in")
    rows = (_quality_row(sweep, number, row) for number, row in enumerate(sweep.rows, 1))
    return table(columns, rows, keys=2, secondary=("verdict", "interval"))


def _quality_row(sweep: Sweep, number: int, row: SweepRow) -> tuple[Cell, ...]:
    mean = row.measures.get(sweep.measure)
    return (
        Count(number),
        Text(_named(sweep, row)),
        Number(row.ann_recall),
        Milliseconds(sweep.p95(row)),
        Number(None if mean is None else mean.mean),
        *_against(row.against_baseline),
        Verdict(_best_in(row)),
    )


def _against(found: AgainstBaseline | None) -> tuple[Cell, ...]:
    if found is None:
        return Number(None), Interval(None, None), PValue(None), Verdict(UNDEFINED), Verdict(UNDEFINED)
    return (
        Number(found.difference, signed=True),
        Interval(found.low, found.high, signed=True),
        PValue(found.non_inferior.p_holm),
        Verdict("shown" if found.non_inferior.shown else "not shown"),
        Verdict(found.verdict),
    )


def _named(sweep: Sweep, row: SweepRow) -> str:
    roles = {"baseline": row.is_baseline, "failed": row.failure is not None, "cheapest": row.name == sweep.cheapest}
    told = ", ".join(role for role, has in roles.items() if has)
    return f"{row.name} ({told})" if told else row.name


def _best_in(row: SweepRow) -> str:
    """The frontiers that it is on."""
    frontiers = {"recall": row.on_frontier, "quality": row.on_quality_frontier}
    return " + ".join(name for name, on in frontiers.items() if on) or UNDEFINED


@dataclass(frozen=True)
class Percentiles(Cell):
    """Three percentiles of one latency in milliseconds; sorted by the second."""

    found: Latency | None

    @property
    def value(self) -> float | None:
        return None if self.found is None else self.found.p95

    @property
    def text(self) -> str:
        if self.found is None:
            return UNDEFINED
        return " / ".join(map(three_digits, (self.found.p50, self.found.p95, self.found.p99)))


def cost_table(sweep: Sweep) -> Table:
    """What each setting costs: times of the index alone and end to end, what building takes, and how large it is."""
    columns = ("#", "index", "cold", "warm", "build", "size", "vectors", "overlap", "failed")
    rows = (_cost_row(number, row) for number, row in enumerate(sweep.rows, 1))
    return table(columns, rows, secondary=("overlap", "failed"))


def _cost_row(number: int, row: SweepRow) -> tuple[Cell, ...]:
    return (
        Count(number),
        *map(Percentiles, (row.index_ms, row.cold_ms, row.warm_ms)),
        Seconds(row.build_seconds),
        Bytes(row.index_bytes),
        Count(row.vectors),
        Number(row.ann_overlap),
        Count(None if row.failure is not None else row.failures),
    )


def pictures(sweep: Sweep) -> list[tuple[Frontier, str]]:
    """Recall against p95, and quality against p95 on the same rows; one without points is left out."""
    k = max((row.ann_k or 0 for row in sweep.rows), default=0)
    recall = Frontier(f"recall@{k} of neighbours", f"p95 ms, {sweep.decided_by},", _recall_points(sweep))
    quality = Frontier(sweep.measure, recall.latency, _quality_points(sweep))
    return [(each, f"{each.measure} against p95 ({sweep.decided_by})") for each in (recall, quality) if each.points]


def _recall_points(sweep: Sweep) -> tuple[FrontierPoint, ...]:
    return tuple(
        FrontierPoint(str(number), row.ann_recall, None, None, p95, bool(row.on_frontier), row.vectors_group)
        for number, row in enumerate(sweep.rows, 1)
        if row.ann_recall is not None and (p95 := sweep.p95(row)) is not None
    )


def _quality_points(sweep: Sweep) -> tuple[FrontierPoint, ...]:
    found = []
    for number, row in enumerate(sweep.rows, 1):
        mean, p95 = row.measures.get(sweep.measure), sweep.p95(row)
        if mean is not None and mean.mean is not None and p95 is not None:
            found.append(FrontierPoint(str(number), mean.mean, mean.low, mean.high, p95, bool(row.on_quality_frontier)))
    return tuple(found)
