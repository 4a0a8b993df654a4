"""The tables of a sweep, for every renderer that has tables. Rows are numbered, and pictures use the numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from searchmark.analysis.latencies import Latency
from searchmark.findings.sentences import three_digits
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
    Table,
    Text,
    Verdict,
    table,
)
from searchmark.reports.frontier import Frontier, FrontierPoint
from searchmark.sweeps.result import AgainstBaseline, MeanValue, Sweep, SweepRow

LONGEST_HEADER = 12
MEASURES_TITLE = "Other measures"
NOT_MEASURED = MeanValue(None, None, None, 0)
_PARAMETERS = re.compile(r"\([^)]*\)")
COST_TITLE = "Cost: p50 / p95 / p99 in ms, in the index alone and end to end"


def quality_title(sweep: Sweep) -> str:
    p95 = f"p95 is {sweep.decided_by}" if sweep.not_compared is None else "no p95, since hosts differ"
    return f"Recall of neighbours and {sweep.measure}; {p95}"


def short_measure(name: str) -> str:
    """For a header: without the parameters, which a line below the table has."""
    return _PARAMETERS.sub("", name) if len(name) > LONGEST_HEADER else name


def legend(sweep: Sweep) -> list[str]:
    """What the tables do not say themselves."""
    shortened = {short_measure(name): name for name in _measures(sweep) if short_measure(name) != name}
    recall = _numbers(row.on_frontier for row in sweep.rows)
    quality = _numbers(row.on_quality_frontier for row in sweep.rows)
    frontier = f"frontier of recall and p95: {recall}; of {short_measure(sweep.measure)} and p95: {quality}"
    meaning = "no other setting is both quicker and better; the quickest one is always on it, however bad"
    told = [f"{frontier} ({meaning})"] if sweep.not_compared is None else []
    return [*(f"{short} is {name}" for short, name in shortened.items()), *told]


def _numbers(marks: Iterable[bool | None]) -> str:
    return ", ".join(str(number) for number, on in enumerate(marks, 1) if on) or "none"


def _measures(sweep: Sweep) -> list[str]:
    return list(dict.fromkeys(name for row in sweep.rows for name in row.measures))


def headline(sweep: Sweep) -> str:
    """Which setting, in few words."""
    if sweep.not_compared is not None:
        return "Which setting is cheapest is not decided"
    return "No cheaper setting was shown to be as good" if sweep.cheapest is None else f"Cheapest: {sweep.cheapest}"


def facts(sweep: Sweep) -> list[tuple[str, str]]:
    """What is behind the headline, one by one; nothing where no setting is cheaper than the baseline."""
    found = next((row for row in sweep.rows if row.name == sweep.cheapest), sweep.baseline)
    base, against = sweep.baseline, found.against_baseline
    if against is None:
        return []
    time = f"p95 {Milliseconds(sweep.p95(found)).text} instead of {Milliseconds(sweep.p95(base)).text}, {sweep.decided_by}"
    interval = Interval(against.low, against.high, signed=True).text
    return [
        ("Instead of", base.name),
        ("Time", time),
        ("Size", f"{Bytes(found.index_bytes).text} instead of {Bytes(base.index_bytes).text}"),
        ("Quality", f"{sweep.measure} {Number(against.difference, signed=True).text}, interval {interval}"),
        ("Shown", f"a loss below {sweep.margin:g}, {_correction(against)}"),
        ("Caveat", "Only the quality is a claim. Which setting is cheapest is what this sweep measured."),
    ]


def _correction(against: AgainstBaseline) -> str:
    tested = counted(against.non_inferior.family, "setting")
    return f"p {PValue(against.non_inferior.p_holm).text} after Holm's correction for {tested}"


def about(sweep: Sweep) -> str:
    settings = counted(len(sweep.rows), "setting")
    return f"{settings} of {sweep.agent} on {sweep.suite.name}, {counted(sweep.suite.cases, 'case')}, {sweep.depth} hits each"


def quality_table(sweep: Sweep) -> Table:
    """What each setting finds and how good that is, beside the p95 that decides."""
    recall = f"recall@{k}" if (k := max((row.ann_k or 0 for row in sweep.rows), default=0)) else "recall"
    margin = f"loss < {sweep.margin:g}"
    columns = ("#", "setting", recall, "p95", short_measure(sweep.measure), "difference", "interval", margin, "p", "verdict")
    rows = (_quality_row(sweep, number, row) for number, row in enumerate(sweep.rows, 1))
    return table(columns, rows, keys=2, secondary=("verdict", "p"))


def _quality_row(sweep: Sweep, number: int, row: SweepRow) -> tuple[Cell, ...]:
    mean = row.measures.get(sweep.measure)
    return (
        Count(number),
        Text(_named(sweep, row)),
        Number(row.ann_recall),
        Milliseconds(sweep.p95(row)),
        Number(None if mean is None else mean.mean),
        *_against(row.against_baseline),
    )


def measures_table(sweep: Sweep) -> Table | None:
    """The measures beside the one that decides, each with its interval; None where there are none."""
    names = [name for name in _measures(sweep) if name != sweep.measure]
    if not names:
        return None
    columns = ["#", *(column for name in names for column in (short_measure(name), "interval"))]
    rows = [(Count(number), *_means(row, names)) for number, row in enumerate(sweep.rows, 1)]
    return table(columns, rows)


def _means(row: SweepRow, names: Iterable[str]) -> Iterator[Cell]:
    for name in names:
        mean = row.measures.get(name, NOT_MEASURED)
        yield Number(mean.mean)
        yield Interval(mean.low, mean.high)


def tables(sweep: Sweep) -> list[tuple[Table, str]]:
    """All of them with their titles."""
    more = measures_table(sweep)
    return [
        (quality_table(sweep), quality_title(sweep)),
        *([] if more is None else [(more, MEASURES_TITLE)]),
        (cost_table(sweep), COST_TITLE),
    ]


def _against(found: AgainstBaseline | None) -> tuple[Cell, ...]:
    if found is None:
        return Number(None), Interval(None, None), Verdict(UNDEFINED), PValue(None), Verdict(UNDEFINED)
    return (
        Number(found.difference, signed=True),
        Interval(found.low, found.high, signed=True),
        Verdict("shown" if found.non_inferior.shown else "not shown"),
        PValue(found.non_inferior.p_holm),
        Verdict(found.verdict),
    )


def _named(sweep: Sweep, row: SweepRow) -> str:
    told = _roles(sweep, row)
    return f"{row.name} ({told})" if told else row.name


def _roles(sweep: Sweep, row: SweepRow) -> str:
    roles = {"baseline": row.is_baseline, "failed": row.failure is not None, "cheapest": row.name == sweep.cheapest}
    return ", ".join(role for role, has in roles.items() if has)


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
    """What each setting costs: times of the index alone and end to end, and how large it is.

    What building took is left out: whichever setting comes first embeds for all, so that it compares nothing. Where hosts differ,
    each row says whose times these are.
    """
    columns = ("#", "index", "cold", "warm", "size", "vectors", "overlap", "failed")
    rows = [_cost_row(number, row) for number, row in enumerate(sweep.rows, 1)]
    if sweep.not_compared is None:
        return table(columns, rows, secondary=("overlap", "failed"))
    on_hosts = ((*cells, Text(", ".join(row.hosts) or UNDEFINED)) for cells, row in zip(rows, sweep.rows, strict=True))
    return table((*columns, "host"), on_hosts, secondary=("overlap", "failed"))


def _cost_row(number: int, row: SweepRow) -> tuple[Cell, ...]:
    return (
        Count(number),
        *map(Percentiles, (row.index_ms, row.cold_ms, row.warm_ms)),
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
        FrontierPoint(_label(sweep, number, row), row.ann_recall, None, None, p95, bool(row.on_frontier), row.vectors_group)
        for number, row in enumerate(sweep.rows, 1)
        if row.ann_recall is not None and (p95 := sweep.p95(row)) is not None
    )


def _quality_points(sweep: Sweep) -> tuple[FrontierPoint, ...]:
    found = []
    for number, row in enumerate(sweep.rows, 1):
        mean, p95 = row.measures.get(sweep.measure), sweep.p95(row)
        if mean is not None and mean.mean is not None and p95 is not None:
            label = _label(sweep, number, row)
            found.append(FrontierPoint(label, mean.mean, mean.low, mean.high, p95, bool(row.on_quality_frontier)))
    return tuple(found)


def _label(sweep: Sweep, number: int, row: SweepRow) -> str:
    return f"{number} {_roles(sweep, row)}".strip()
