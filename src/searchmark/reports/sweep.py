"""The result of a sweep: records, tables, and how it is written as text, Markdown, HTML, CSV, JSON or a picture."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from searchmark.errors import UsageError
from searchmark.io.data import Schema
from searchmark.io.plugins import load_code
from searchmark.io.secrets import environment_secrets, scrub
from searchmark.io.store import atomic_write, write_text
from searchmark.records.sentences import count_of, three_digits
from searchmark.reports import cells
from searchmark.reports.cells import UNDEFINED, Cell, Row, Table, table
from searchmark.reports.chart_data import Frontier, FrontierPoint
from searchmark.reports.parts import Heading, Part, Sentence, points
from searchmark.reports.quoting import csv_text, without_commands
from searchmark.reports.render import without_known_secrets
from searchmark.reports.report import Report
from searchmark.scoring.costs import Latency
from searchmark.scoring.planned_tests import NonInferiority
from searchmark.scoring.verdicts import Verdict as OverallVerdict

# What a sweep found: one row per setting, the settings that none beats, and one sentence. None is what was not measured.

SWEEP_SCHEMA = Schema("sweep", 1)

Deciding = Literal["index only", "end to end, cold"]


@dataclass(frozen=True)
class MeanValue:
    """The mean of a measure with its 95 % interval, over so many cases."""

    mean: float | None
    low: float | None
    high: float | None
    cases: int


@dataclass(frozen=True)
class BaselineDifference:
    """A setting minus the baseline on the deciding measure, with its 95 % interval."""

    difference: float | None
    low: float | None
    high: float | None
    p_holm: float | None  # adjusted for the whole grid
    family: int
    wins: int
    ties: int
    losses: int
    verdict: OverallVerdict
    reason: str
    non_inferior: NonInferiority


@dataclass(frozen=True)
class SweepRow:
    """One setting."""

    name: str
    choices: Mapping[str, Any]
    is_baseline: bool = False
    added: bool = False
    failure: str | None = None  # why it has no numbers
    measures: Mapping[str, MeanValue] = field(default_factory=dict)
    ann_k: int | None = None  # the depth of the next two, which are means over cases
    ann_recall: float | None = None
    ann_overlap: float | None = None
    index_ms: Latency | None = None  # the time in the index alone
    cold_ms: Latency | None = None  # end to end, as is the next
    warm_ms: Latency | None = None
    build_seconds: float | None = None  # to make the index ready; vectors that are in the cache are not embedded again
    index_bytes: int | None = None
    vectors: int | None = None
    cases: int = 0
    failures: int = 0  # cases that ended in an error or a time-out
    started: datetime | None = None  # when it was measured, which may have been in an earlier sweep
    ended: datetime | None = None
    against_baseline: BaselineDifference | None = None
    vectors_group: int = 1  # settings with the same number search the same vectors
    on_frontier: bool | None = None  # none of its group has as much recall as quickly, and more of one of them
    on_quality_frontier: bool | None = None  # the same by the deciding measure, of all settings
    hosts: tuple[str, ...] = ()  # those that measured it, as far as they are known: of several, there are no times together
    workers: int | None = None  # how many searched at the same time


@dataclass(frozen=True)
class Equivalence:
    """Two settings that should rank alike, on vectors of length one by two distances."""

    first: str
    second: str
    cases: int
    same: int
    differing: tuple[str, ...] = ()  # the first cases that they rank differently

    @property
    def sentence(self) -> str:
        counts = f"{self.first} and {self.second} on normalised vectors: same ranking in {self.same} of {self.cases} cases"
        if self.same == self.cases:
            return counts
        more = self.cases - self.same - len(self.differing)
        return f"{counts}; different in {', '.join(self.differing)}{f' and {more} more' if more else ''}"


@dataclass(frozen=True)
class SweepSuite:
    """What the settings were measured on."""

    name: str
    cases: int
    corpus: str | None


@dataclass(frozen=True)
class Sweep:
    """All rows, in the order of the grid, and what follows from them."""

    suite: SweepSuite
    agent: str
    options: Mapping[str, Any]
    measure: str
    margin: float
    depth: int
    decided_by: Deciding  # whose p95 tells which setting is cheaper
    duplicates: int
    rows: tuple[SweepRow, ...]
    cheapest: str | None  # the setting that the sentence is about
    sentence: str
    best: str | None = None  # the setting with the highest mean, if that is not the baseline
    notes: tuple[str, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    version: str | None = None
    not_compared: str | None = None  # why no p95 tells which is cheaper, where the rows were measured on different hosts
    report: Report | None = None  # that of the comparison with the baseline; not in the JSON

    @property
    def baseline(self) -> SweepRow:
        return next(row for row in self.rows if row.is_baseline)

    @property
    def ann_k(self) -> int:
        """The largest depth to which true neighbours are known; 0 if none are."""
        return max((row.ann_k or 0 for row in self.rows), default=0)

    def p95(self, row: SweepRow) -> float | None:
        """The one that tells which setting is cheaper; none does where the rows were measured on different hosts."""
        if self.not_compared is not None:
            return None
        latency = row.index_ms if self.decided_by == "index only" else row.cold_ms
        return None if latency is None else latency.p95


# The tables of a sweep, for every renderer that has tables. Rows are numbered, and pictures use the numbers.

LONGEST_HEADER = 12

NOT_MEASURED = MeanValue(None, None, None, 0)

_PARAMETERS = re.compile(r"\([^)]*\)")


def short_measure(name: str) -> str:
    """For a header: without the parameters, which a line below the table has."""
    return _PARAMETERS.sub("", name) if len(name) > LONGEST_HEADER else name


def table_legend(sweep: Sweep) -> list[str]:
    """What the tables do not say themselves."""
    names_by_short = {short_measure(name): name for name in _measures(sweep) if short_measure(name) != name}
    recall = _numbers(row.on_frontier for row in sweep.rows)
    quality = _numbers(row.on_quality_frontier for row in sweep.rows)
    frontier = f"frontier of recall and p95: {recall}; of {short_measure(sweep.measure)} and p95: {quality}"
    meaning = "no other setting is both quicker and better; the quickest one is always on it, however bad"
    legend = [f"{frontier} ({meaning})"] if sweep.not_compared is None else []
    return [*(f"{short} is {name}" for short, name in names_by_short.items()), *legend]


def _numbers(marks: Iterable[bool | None]) -> str:
    return ", ".join(str(number) for number, on in enumerate(marks, 1) if on) or "none"


def _measures(sweep: Sweep) -> list[str]:
    return list(dict.fromkeys(name for row in sweep.rows for name in row.measures))


def sweep_headline(sweep: Sweep) -> str:
    """Which setting, in few words."""
    if sweep.not_compared is not None:
        return "Which setting is cheapest is not decided"
    return "No cheaper setting was shown to be as good" if sweep.cheapest is None else f"Cheapest: {sweep.cheapest}"


def headline_facts(sweep: Sweep) -> list[tuple[str, str]]:
    """What is behind the headline, one by one; nothing where no setting is cheaper than the baseline."""
    base = sweep.baseline
    cheapest = next((row for row in sweep.rows if row.name == sweep.cheapest), base)
    against = cheapest.against_baseline
    if against is None:
        return []
    ours, its = (cells.milliseconds(sweep.p95(row)).text for row in (cheapest, base))
    interval = cells.interval(against.low, against.high, signed=True).text
    p, settings = cells.p_value(against.non_inferior.p_holm).text, count_of(against.non_inferior.family, "setting")
    return [
        ("Instead of", base.name),
        ("Time", f"p95 {ours} instead of {its}, {sweep.decided_by}"),
        ("Size", f"{cells.size(cheapest.index_bytes).text} instead of {cells.size(base.index_bytes).text}"),
        ("Quality", f"{sweep.measure} {cells.number(against.difference, signed=True).text}, interval {interval}"),
        ("Shown", f"a loss below {sweep.margin:g}, p {p} after Holm's correction for {settings}"),
        ("Caveat", "Only the quality is a claim. Which setting is cheapest is what this sweep measured."),
    ]


def measured_on(sweep: Sweep) -> str:
    settings = count_of(len(sweep.rows), "setting")
    return f"{settings} of {sweep.agent} on {sweep.suite.name}, {count_of(sweep.suite.cases, 'case')}, {sweep.depth} hits each"


def quality_table(sweep: Sweep) -> Table:
    """What each setting finds and how good that is, beside the p95 that decides."""
    recall = f"recall@{sweep.ann_k}" if sweep.ann_k else "recall"
    margin = f"loss < {sweep.margin:g}"
    columns = ("#", "setting", recall, "p95", short_measure(sweep.measure), "difference", "interval", margin, "p", "verdict")
    rows = (_quality_row(sweep, number, row) for number, row in enumerate(sweep.rows, 1))
    return table(columns, rows, keys=2, secondary=("verdict", "p"))


def _quality_row(sweep: Sweep, number: int, row: SweepRow) -> Row:
    roles = _roles(sweep, row)
    return (
        number,
        f"{row.name} ({roles})" if roles else row.name,
        cells.number(row.ann_recall),
        cells.milliseconds(sweep.p95(row)),
        cells.number(row.measures.get(sweep.measure, NOT_MEASURED).mean),
        *_against_cells(row.against_baseline),
    )


def measures_table(sweep: Sweep) -> Table:
    """The measures beside the one that decides, each with its interval; no column where there are none."""
    names = [name for name in _measures(sweep) if name != sweep.measure]
    columns = ["#", *(column for name in names for column in (short_measure(name), "interval"))]
    return table(columns, ((number, *_means(row, names)) for number, row in enumerate(sweep.rows, 1) if names))


def _means(row: SweepRow, names: Iterable[str]) -> Iterator[Cell]:
    for name in names:
        mean = row.measures.get(name, NOT_MEASURED)
        yield cells.number(mean.mean)
        yield cells.interval(mean.low, mean.high)


def _against_cells(difference: BaselineDifference | None) -> Row:
    if difference is None:
        return (None,) * 5
    return (
        cells.number(difference.difference, signed=True),
        cells.interval(difference.low, difference.high, signed=True),
        cells.verdict("shown" if difference.non_inferior.shown else "not shown"),
        cells.p_value(difference.non_inferior.p_holm),
        cells.verdict(difference.verdict),
    )


def _roles(sweep: Sweep, row: SweepRow) -> str:
    roles = {"baseline": row.is_baseline, "failed": row.failure is not None, "cheapest": row.name == sweep.cheapest}
    return ", ".join(role for role, has in roles.items() if has)


def _percentiles(latency: Latency | None) -> Cell:
    """Three percentiles in milliseconds; sorted by the second."""
    if latency is None:
        return Cell(None, UNDEFINED)
    return Cell(latency.p95, " / ".join(map(three_digits, (latency.p50, latency.p95, latency.p99))))


def cost_table(sweep: Sweep) -> Table:
    """What each setting costs: times of the index alone and end to end, and how large it is.

    What building took is left out: whichever setting comes first embeds for all, so that it compares nothing. Where hosts differ,
    each row says whose times these are.
    """
    columns = ("#", "index", "cold", "warm", "size", "vectors", "overlap", "failed")
    rows = [_cost_row(number, row) for number, row in enumerate(sweep.rows, 1)]
    if sweep.not_compared is None:
        return table(columns, rows, secondary=("overlap", "failed"))
    on_hosts = ((*values, ", ".join(row.hosts) or None) for values, row in zip(rows, sweep.rows, strict=True))
    return table((*columns, "host"), on_hosts, secondary=("overlap", "failed"))


def _cost_row(number: int, row: SweepRow) -> Row:
    return (
        number,
        *map(_percentiles, (row.index_ms, row.cold_ms, row.warm_ms)),
        cells.size(row.index_bytes),
        row.vectors,
        cells.number(row.ann_overlap),
        None if row.failure is not None else row.failures,
    )


def sweep_tables(sweep: Sweep) -> list[tuple[Table, str]]:
    """All of them with their titles."""
    p95 = f"p95 is {sweep.decided_by}" if sweep.not_compared is None else "no p95, since hosts differ"
    tables = [
        (quality_table(sweep), f"Recall of neighbours and {sweep.measure}; {p95}"),
        (measures_table(sweep), "Other measures"),
        (cost_table(sweep), "Cost: p50 / p95 / p99 in ms, in the index alone and end to end"),
    ]
    return [each for each in tables if each[0].rows]


def sweep_pictures(sweep: Sweep) -> list[tuple[Frontier, str]]:
    """Recall against p95, and quality against p95 on the same rows; one without points is left out."""
    recall = [(MeanValue(row.ann_recall, None, None, 0), row.on_frontier, row.vectors_group) for row in sweep.rows]
    quality = [(row.measures.get(sweep.measure, NOT_MEASURED), row.on_quality_frontier, 1) for row in sweep.rows]
    pictures = [
        Frontier(name, f"p95 ms, {sweep.decided_by},", tuple(_points(sweep, numbers)))
        for name, numbers in ((f"recall@{sweep.ann_k} of neighbours", recall), (sweep.measure, quality))
    ]
    return [(each, f"{each.measure} against p95 ({sweep.decided_by})") for each in pictures if each.points]


def _points(sweep: Sweep, numbers: Iterable[tuple[MeanValue, bool | None, int]]) -> Iterator[FrontierPoint]:
    for number, (row, (mean, is_best, group)) in enumerate(zip(sweep.rows, numbers, strict=True), 1):
        p95 = sweep.p95(row)
        if mean.mean is not None and p95 is not None:
            label = f"{number} {_roles(sweep, row)}".strip()
            yield FrontierPoint(label, mean.mean, mean.low, mean.high, p95, bool(is_best), group)


# A sweep as a file.

PICTURES = ("png", "svg")


def scrub_sweep(sweep: Sweep) -> Sweep:
    """The sweep without secrets of the environment in any text."""
    report = None if sweep.report is None else without_known_secrets(sweep.report)
    return replace(scrub(replace(sweep, report=None), environment_secrets()), report=report)


def sweep_title(sweep: Sweep) -> str:
    return f"{sweep.suite.name}: sweep of {sweep.agent}"


def _sweep_parts(sweep: Sweep, *, document: bool) -> Iterator[Part]:
    """The answer is the first thing in a document, and the last one on a terminal, where it is read."""
    answer = Sentence(sweep.sentence, "bold")
    yield Heading(sweep_title(sweep), 1)
    yield from [answer] if document else []
    yield Sentence(measured_on(sweep), "" if document else "bold")
    for numbers, caption in sweep_tables(sweep):
        yield from (Heading(caption, 3), numbers)
    yield from points(table_legend(sweep))
    yield from points((note if document else f"note: {note}" for note in sweep.notes), "yellow")
    yield from [] if document else [answer]


def sweep_text(sweep: Sweep, *, colour: bool = False, width: int | None = None) -> str:
    """For the terminal."""
    from searchmark.reports.text import WIDTH, layout_text

    return layout_text(_sweep_parts(sweep, document=False), colour=colour, width=width or WIDTH)


def sweep_markdown(sweep: Sweep) -> str:
    from searchmark.reports.markdown import markdown_of

    return without_commands(markdown_of(_sweep_parts(sweep, document=True)))


def sweep_json(sweep: Sweep) -> str:
    """All of it but single cases; what was not measured is null."""
    data = {**SWEEP_SCHEMA.header(), **asdict(replace(sweep, report=None))}
    del data["report"]
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False, default=datetime.isoformat) + "\n"


def sweep_html(sweep: Sweep) -> Iterator[str]:
    """The page of a comparison, with what the sweep adds above it."""
    from searchmark.reports.page.document import to_html
    from searchmark.reports.page.pictures import scatter_of

    if sweep.report is None:
        raise UsageError("a sweep that was read from a file has no runs to show on a page")
    own = {
        "title": sweep_title(sweep),
        "about": measured_on(sweep),
        "headline": sweep_headline(sweep),
        "sentence": sweep.sentence,
        "facts": headline_facts(sweep),
        "tables": sweep_tables(sweep),
        "legend": table_legend(sweep),
        "pictures": [(scatter_of(picture), caption) for picture, caption in sweep_pictures(sweep)],
        "notes": sweep.notes,
        "left_out": len(sweep.rows) - len(sweep.report.agents),
    }
    return to_html(sweep.report, own)


def sweep_csv(sweep: Sweep) -> str:
    """One row per setting, values in full; what was not measured is an empty cell."""
    rows = [_csv_cells(sweep, number, row) for number, row in enumerate(sweep.rows, 1)]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _csv_cells(sweep: Sweep, number: int, row: SweepRow) -> dict[str, object]:
    against = row.against_baseline
    cells: dict[str, object] = {
        "number": number,
        "setting": csv_text(row.name),
        "choices": csv_text(json.dumps(row.choices, default=str)),
        "baseline": row.is_baseline,
        "added": row.added,
        "cheapest": row.name == sweep.cheapest,
        "failure": csv_text(row.failure or ""),
        **_values(row, "ann_k", "ann_recall", "ann_overlap"),
    }
    for kind in ("index_ms", "cold_ms", "warm_ms"):
        cells |= {f"{kind}_{name}": value for name, value in _values(getattr(row, kind), "p50", "p95", "p99").items()}
    for name in _measures(sweep):
        mean, low, high = _values(row.measures.get(name), "mean", "low", "high").values()
        cells |= {csv_text(name): mean, f"{csv_text(name)} low": low, f"{csv_text(name)} high": high}
    cells |= _values(row, "build_seconds", "index_bytes", "vectors", "cases", "failures")
    cells |= {name: None if when is None else when.isoformat() for name, when in (("started", row.started), ("ended", row.ended))}
    cells |= _values(against, "difference", "low", "high", "p_holm", "verdict")
    p_holm, shown = _values(None if against is None else against.non_inferior, "p_holm", "shown").values()
    cells |= {"non_inferior_p": p_holm, "non_inferior": shown, **_values(row, "on_frontier", "on_quality_frontier")}
    return cells | {"hosts": csv_text(", ".join(row.hosts))}


def _values(record: object | None, *names: str) -> dict[str, object]:
    """Some fields of a record; None for each of one that there is not."""
    return {name: getattr(record, name, None) for name in names}


TEXTS: dict[str, Callable[[Sweep], str | Iterable[str]]] = {
    "json": sweep_json,
    "md": sweep_markdown,
    "html": sweep_html,
    "csv": sweep_csv,
    "txt": sweep_text,
}


def check_output(path: str) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in (*TEXTS, *PICTURES):
        suffixes = ", ".join(f".{each}" for each in (*TEXTS, *PICTURES))
        raise UsageError(f"{path}: a sweep is written as {suffixes}; name a file that ends in one of them")
    if Path(path).is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder; name a file in it")
    if suffix in PICTURES:
        why = load_code("searchmark.reports.charts:missing_for_charts")()
        if why is not None:
            raise UsageError(f"{path} cannot be drawn: {why}")


def write_sweep(sweep: Sweep, path: str) -> None:
    """Write it in the format that the name of the file ends in, whole or not at all."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    safe = scrub_sweep(sweep)
    if suffix in PICTURES:
        with atomic_write(path) as file:
            file.write(load_code("searchmark.reports.charts:draw_sweep")(safe, suffix))
    else:
        write_text(path, TEXTS[suffix](safe))
