"""Charts as marks at positions in per cent, and their one drawing as SVG: on the page, in files, on notebook cards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10

import numpy as np

from searchmark.measures.catalogue import with_words
from searchmark.reports import cells
from searchmark.reports.cells import UNDEFINED
from searchmark.reports.chart_data import Frontier, FrontierPoint, Histogram, frontier, histogram, usual_latency
from searchmark.reports.page.case_data import LEAK
from searchmark.reports.quoting import visible, xml_text
from searchmark.reports.report import AgentSummary, Report, distributed_measure, leading_measure
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import Trend, TrendPoint

# Positions are percentages of width and height: drawings follow the page to any size, and no text is stretched.

WHOLE = 100.0

MARGIN = 2.0  # per cent that stay free at either end

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

_MOST_TICKS = 5

_FLAT = 1e-12  # a range below this has no inside

_SHORTEST_MS = 1e-3


# Of labels, in per cent of a drawing on a wide screen: from the point to its text, a letter, a line.
ASIDE, LETTER, LINE = 1.6, 1.1, 6.0

DOT = 1.2


@dataclass(frozen=True)
class Tick:
    """A position on an axis and what it says."""

    at: float
    text: str


@dataclass(frozen=True)
class Scale:
    """A range of values laid over a length of 100 per cent."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value is, in per cent; what lies outside is at the end."""
        low, high, here = (log10(end) for end in (self.low, self.high, max(value, self.low))) if self.logarithmic else (
            self.low, self.high, value,
        )  # fmt: skip
        share = (here - low) / (high - low) if high - low > _FLAT else 0.5
        return round(MARGIN + (100 - 2 * MARGIN) * min(1.0, max(0.0, share)), 2)

    def up(self, value: float) -> float:
        """The same from the bottom: drawings count from the top."""
        return round(100 - self.at(value), 2)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        values = _powers(self.low, self.high) if self.logarithmic else _round_values(self.low, self.high)
        return tuple(Tick(self.at(value), f"{value:.6g}") for value in values)

    @property
    def upward_ticks(self) -> tuple[Tick, ...]:
        return tuple(Tick(round(100 - tick.at, 2), tick.text) for tick in self.ticks)


def scale_of(values: Iterable[float | None]) -> Scale | None:
    """A scale with round ends around some values; None without any."""
    finite = [value for value in values if value is not None and isfinite(value)]
    if not finite:
        return None
    low, high = min(finite), max(finite)
    step = _step(low, high)
    begin, end = floor(low / step + _FLAT) * step, ceil(high / step - _FLAT) * step
    if low >= 0 and high <= 1:  # nearly every measure: nothing below 0 or above 1 is worth room
        begin, end = max(0.0, begin), min(1.0, end)
    return Scale(begin, end if end > begin else begin + step)


def time_scale(values: Iterable[float]) -> Scale:
    """A logarithmic scale around some times, a little wider than they are."""
    times = [max(value, _SHORTEST_MS) for value in values]
    return Scale(min(times) / 1.5, max(times) * 1.5, logarithmic=True)


def _step(low: float, high: float) -> float:
    width = high - low if high - low > _FLAT else max(abs(high), 1.0) / 10
    power = 10.0 ** floor(log10(width / _MOST_TICKS))
    return next(step * power for step in _STEPS if step * power * _MOST_TICKS >= width - _FLAT)


def _round_values(low: float, high: float) -> list[float]:
    step = _step(low, high)
    first, last = ceil(low / step - _FLAT), floor(high / step + _FLAT)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Round numbers inside a logarithmic range: powers of ten, or finer ones if these are too few."""
    exponents = range(floor(log10(low)), ceil(log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        inside = [value for power in exponents for step in steps if low <= (value := step * 10.0**power) <= high]
        if len(inside) > 2:  # noqa: PLR2004  # two say little of a scale that is not linear
            break
    return inside


@dataclass(frozen=True)
class Whisker:
    """A mean as a dot, its interval as a line through it; the ends are None where there is no interval."""

    at: float
    low: float | None = None
    high: float | None = None


def whisker(scale: Scale, mean: float, low: float | None, high: float | None) -> Whisker:
    has_ends = low is not None and high is not None
    return Whisker(scale.at(mean), *((scale.at(low), scale.at(high)) if has_ends else (None, None)))  # type: ignore[arg-type]  # both known


# Marks, and how they become SVG. A mark says what it is; the page's style, or the attributes below, say how that looks.

Attributes = Callable[[str, int | None], str]  # of a kind of mark, in a run of which each has its own colour and shape


@dataclass(frozen=True)
class Line:
    """A straight line between two points."""

    kind: str
    x1: float
    y1: float
    x2: float
    y2: float

    def svg(self, look: Attributes) -> str:
        return f'<line {look(self.kind, None)} x1="{self.x1:g}%" y1="{self.y1:g}%" x2="{self.x2:g}%" y2="{self.y2:g}%"/>'


@dataclass(frozen=True)
class Box:
    """A bar or a band."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    run: int | None = None

    def svg(self, look: Attributes) -> str:
        size = f'x="{self.x:g}%" y="{self.y:g}%" width="{self.width:g}%" height="{self.height:g}%"'
        hatched = f"<rect {look('hatch', self.run)} {size}/>" if self.run is not None and look is not by_class else ""
        return f"<rect {look(self.kind, self.run)} {size}/>{hatched}"


@dataclass(frozen=True)
class Dot:
    """A value; in a file every run has a shape of its own."""

    kind: str
    x: float
    y: float
    radius: float = 4.5
    run: int | None = None

    def svg(self, look: Attributes) -> str:
        if look is by_class or not self.run or not SHAPES[self.run % len(SHAPES)]:
            return f'<circle {look(self.kind, self.run)} cx="{self.x:g}%" cy="{self.y:g}%" r="{self.radius:g}"/>'
        path = f'<path {look(self.kind, self.run)} d="{SHAPES[self.run % len(SHAPES)]}"/>'
        return f'<svg x="{self.x:g}%" y="{self.y:g}%" overflow="visible">{path}</svg>'


@dataclass(frozen=True)
class PlacedText:
    """A text beside a point."""

    x: float
    y: float
    anchor: str
    text: str

    def svg(self, look: Attributes) -> str:
        place = f'x="{self.x:g}%" y="{self.y:g}%" dy="4" text-anchor="{self.anchor}"'
        return f"<text {look('words', None)} {place}>{xml_text(self.text)}</text>"


@dataclass(frozen=True)
class Group:
    """Marks that belong together, and what they say in full."""

    title: str
    marks: tuple[Mark, ...]

    def svg(self, look: Attributes) -> str:
        return f"<g><title>{xml_text(self.title)}</title>{draw(self.marks, look)}</g>"


Mark = Line | Box | Dot | PlacedText | Group


def by_class(kind: str, run: int | None) -> str:  # noqa: ARG001  # on the page, runs are told apart by their names
    """How marks look on the page, where a style sheet says it."""
    return f'class="{kind}"'


def draw(marks: Iterable[Mark], look: Attributes = by_class) -> str:
    """Marks as SVG, for an element of any size."""
    return "".join(mark.svg(look) for mark in marks)


# Okabe and Ito's colours, which colour-blind people can distinguish, in an order in which neighbours differ in grey as well.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7", "#DDDDDD")

# Paths around 0, about ten pixels wide; the first is a circle.
SHAPES = (
    "",
    "M-4.5-4.5H4.5V4.5H-4.5Z",
    "M0-6L5.5 4H-5.5Z",
    "M0-6L6 0L0 6L-6 0Z",
    "M0 6L5.5-4H-5.5Z",
    "M0-6L5.5-2L3.5 4.5H-3.5L-5.5-2Z",
    "M-5.5-2H-2V-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5Z",
    "M0-6L1.5-2H5.5L2.5 1L3.5 5L0 2.5L-3.5 5L-2.5 1L-5.5-2H-1.5Z",
)

# Lines in a tile of six pixels; the first has none. Colours and hatches differ in number, so that their pairs are unique.
HATCHES = ("", "M-1 1L1-1M0 6L6 0M5 7L7 5", "M0 3H6", "M0 0L6 6M0 6L6 0", "M-1 5L1 7M0 0L6 6M5-1L7 1", "M0 3H6M3 0V6", "M2 3H4")

_STROKES = {
    "grid": 'stroke="#dddddd"',
    "zero": 'stroke="currentColor" stroke-opacity="0.5"',
    "base": 'stroke="currentColor" stroke-opacity="0.25"',
    "median": 'stroke="currentColor" stroke-width="1.5"',
    "tail": 'stroke="currentColor" stroke-width="1.5" stroke-dasharray="5 3"',
    "whisker": 'stroke="currentColor" stroke-width="1.3"',
    "end": 'stroke="currentColor" stroke-width="1.3"',
    "rim": 'stroke="white" stroke-width="4"',
    "step": 'stroke="#737373" stroke-width="1.3" stroke-dasharray="5 3"',
    "step path": 'stroke="currentColor"',
    "band": 'fill="#e0e0e0"',
    "hit": 'fill="none"',
    "words": 'fill="currentColor" stroke="white" stroke-width="3" paint-order="stroke"',
}


def by_attributes(kind: str, run: int | None) -> str:
    """How marks look where no style sheet is: in files, and on cards, which take their colour from what is around them."""
    if kind in _STROKES:
        return _STROKES[kind]
    if kind == "hatch":
        return f'fill="url(#hatch-{run % len(HATCHES)})"' if run and run % len(HATCHES) else 'fill="none"'
    colour = "currentColor" if run is None else COLOURS[run % len(COLOURS)]
    rim = "" if run is None else ' stroke="black" stroke-width="0.8"'
    return 'fill="white" stroke="black" stroke-width="1.3"' if kind.startswith("ring") else f'fill="{colour}"{rim}'


def interval_marks(
    mark: Whisker | None, zero: float | None = None, line: float | None = None, ticks: Iterable[Tick] = ()
) -> Iterator[Mark]:
    """A mean with its interval on a row of its own: what it is compared with, a line from end to end, and the mean as a dot."""
    yield from (Line("grid", tick.at, 0, tick.at, 100) for tick in ticks)
    yield from (Line("zero", zero, 0, zero, 100),) if zero is not None else ()
    yield from (Line("base", line, 0, line, 100),) if line is not None else ()
    if mark is not None and mark.low is not None and mark.high is not None:
        yield Line("whisker", mark.low, 50, mark.high, 50)
        yield from (Line("end", end, 30, end, 70) for end in (mark.low, mark.high))
    if mark is not None:
        yield Dot("dot", mark.at, 50)


def bars(edges: Sequence[float], counts: Sequence[int], highest: int, unit: str, run: int) -> tuple[Mark, ...]:
    """Bars of equal width whatever the bins are wide: those of times grow with the time."""
    width = 100 / max(1, len(counts))
    marks = []
    for number, count in enumerate(counts):
        height = round(100 * count / max(1, highest), 2)
        title = f"{edges[number]:g} to {edges[number + 1]:g}{unit and ' ' + unit}: {count}"
        left, wide = round(number * width + width * 0.06, 2), round(width * 0.88, 2)
        bar = Box("bar", left, round(100 - height, 2), wide, height, run)
        marks.append(Group(title, (Box("hit", left, 0, wide, 100), bar)))
    return tuple(marks)


def path_lines(kind: str, points: Sequence[tuple[float, float]]) -> tuple[Line, ...]:
    """Lines from point to point."""
    return tuple(Line(kind, *one, *other) for one, other in pairwise(points))


def value_grid(ticks: Iterable[Tick]) -> Iterator[Line]:
    """A line across at every value that is named beside it."""
    return (Line("grid", 0, tick.at, 100, tick.at) for tick in ticks)


@dataclass(frozen=True)
class Label:
    """Where the text beside a point begins or ends."""

    x: float
    y: float
    anchor: str

    def covers(self, other: Label, width: float, other_width: float) -> bool:
        """Whether two texts of these widths lie on each other."""
        left, other_left = self._left(width), other._left(other_width)
        beside = left + width < other_left or other_left + other_width < left
        return not beside and abs(self.y - other.y) < LINE

    def _left(self, width: float) -> float:
        return self.x - (width if self.anchor == "end" else 0.0)


def labels(points: Sequence[tuple[float, float, str]]) -> list[Label]:
    """A label for each point, to its right or left, as high as the point or a little above or below, where there is room."""
    labels_and_widths: list[tuple[Label, float]] = []
    dots = [(Label(x - DOT / 2, y, "start"), DOT) for x, y, _ in points]
    for number, (x, y, text) in enumerate(points):
        width = LETTER * len(text)
        places = list(_possible(x, y, width))
        others = [*labels_and_widths, *dots[:number], *dots[number + 1 :]]
        free = (label for label in places if not any(label.covers(other, width, other_width) for other, other_width in others))
        labels_and_widths.append((next(free, places[0]), width))
    return [label for label, _ in labels_and_widths]


def _possible(x: float, y: float, width: float) -> Iterator[Label]:
    """The best one first."""
    right, left = (x + ASIDE, "start"), (x - ASIDE, "end")
    sides = (left, right) if x + ASIDE + width > WHOLE else (right, left)
    for lines in (0.0, 0.8, -0.8, 1.6, -1.6):
        yield from (Label(round(at, 2), round(y + lines * LINE, 2), anchor) for at, anchor in sides)


# Heat maps: what each segment of the cases got, by run or by measure, as a number on a shade.

SHADES = 9

MOST_ROWS = 60


@dataclass(frozen=True)
class HeatCell:
    """A number, its interval and its shade, 0 to ``SHADES`` - 1; no shade where there is no number."""

    text: str
    interval: str
    shade: int | None


@dataclass(frozen=True)
class HeatRow:
    """One segment, and the cases that are in it."""

    value: str
    cases: int
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """The segments by one field."""

    title: str
    segment: str
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    left_out: int = 0  # segments that are too small to be shown among so many


# For every segment the summaries in the order of the columns.
_Rows = Mapping[str, tuple[Summary | None, ...]]


def heat_maps(report: Report) -> list[HeatMap]:
    """By every field that the report is split by, what queries give away left out."""
    return list(_maps(report, leaks=False))


def leakage_maps(report: Report) -> list[HeatMap]:
    """By what the queries give away of their answers."""
    return list(_maps(report, leaks=True))


def _maps(report: Report, *, leaks: bool) -> Iterator[HeatMap]:
    for segment in dict.fromkeys(name for agent in report.agents.values() for name in agent.segments):
        values = dict.fromkeys(value for agent in report.agents.values() for value in agent.segments.get(segment, ()))
        chosen_values = [value for value in values if value.startswith(LEAK) == leaks]
        if chosen_values:
            yield _map(report, segment, chosen_values)


def _map(report: Report, segment: str, values: list[str]) -> HeatMap:
    if len(report.agents) == 1:
        (agent,) = report.agents.values()
        columns, title = tuple(agent.measures), f"All measures by {segment}"
        rows = {value: tuple(agent.segments[segment][value].get(name) for name in columns) for value in values}
    else:
        measure = leading_measure(report) or ""
        columns, title = tuple(report.agents), f"{with_words(measure)} by {segment}"
        rows = {value: tuple(_summary(report, run, segment, value, measure) for run in columns) for value in values}
    return _heat_map(title, segment, columns, rows)


def _summary(report: Report, run: str, segment: str, value: str, measure: str) -> Summary | None:
    return report.agents[run].segments.get(segment, {}).get(value, {}).get(measure)


def _heat_map(title: str, segment: str, columns: tuple[str, ...], rows: _Rows) -> HeatMap:
    sizes = {value: max((each.cases for each in summaries if each), default=0) for value, summaries in rows.items()}
    largest = set(sorted(sizes, key=lambda value: -sizes[value])[:MOST_ROWS])
    low, high = _range([each.mean for summaries in rows.values() for each in summaries if each])
    heat_rows = tuple(
        HeatRow(value, sizes[value], tuple(_cell(each, low, high) for each in summaries))
        for value, summaries in rows.items()
        if value in largest
    )
    return HeatMap(title, segment, columns, heat_rows, len(rows) - len(heat_rows))


def _range(means: list[float | None]) -> tuple[float, float]:
    """From 0 to 1 for what lies there, so that a shade means the same in every map."""
    scale = scale_of(means)
    if scale is None or (scale.low >= 0 and scale.high <= 1):
        return 0.0, 1.0
    return scale.low, scale.high


def _cell(summary: Summary | None, low: float, high: float) -> HeatCell:
    if summary is None or summary.mean is None:
        return HeatCell(UNDEFINED, "", None)
    shade = min(SHADES - 1, max(0, int((summary.mean - low) / (high - low) * SHADES)))
    interval = "" if summary.low is None else cells.interval(summary.low, summary.high, digits=2).text
    return HeatCell(cells.number(summary.mean).text, interval, shade)


# What is drawn: distributions, accuracy against latency, and what became of a number over time.

TICKS_ON_PAGE = 4  # parts that the axis of a histogram is divided into

LONGEST_LABEL = 40


@dataclass(frozen=True)
class RunBars:
    """The histogram of one run, and where its mean or its percentiles are."""

    histogram: Histogram
    bars: tuple[Mark, ...]
    mean: Whisker | None = None
    percentiles: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Distribution:
    """One quantity of all runs, drawn to one scale."""

    quantity: str
    edges: tuple[float, ...]
    highest: int  # the count at the top
    runs: tuple[RunBars, ...]
    is_timed: bool

    @property
    def title(self) -> str:
        return f"Latency, {self.quantity} searches (ms)" if self.is_timed else with_words(self.quantity)

    @property
    def what(self) -> str:
        return "searches" if self.is_timed else "cases"

    def ticks(self, parts: int = TICKS_ON_PAGE) -> tuple[Tick, ...]:
        """Some of the edges, both ends among them."""
        bins = len(self.edges) - 1
        edge_numbers = sorted({round(bins * part / parts) for part in range(parts + 1)})
        return tuple(Tick(round(100 * edge / bins, 2), f"{self.edges[edge]:g}") for edge in edge_numbers)


def distributions(report: Report) -> list[Distribution]:
    """F1 where it was measured, else the leading measure; and the latency that most runs have."""
    measure = distributed_measure(report)
    by_quantity = [*([] if measure is None else [distribution(report, measure)]), distribution(report, usual_latency(report))]
    return [each for each in by_quantity if each is not None]


def distribution(report: Report, quantity: str) -> Distribution | None:
    """The histograms of all runs; None where no run has the quantity."""
    histograms = histogram(report, quantity)
    if not histograms:
        return None
    rows = {name: row for row, name in enumerate(report.agents)}
    highest = max(count for each in histograms for count in each.counts)
    runs = (
        _run_bars(each, bars(each.edges, each.counts, highest, each.unit, rows[each.run]), report.agents[each.run])
        for each in histograms
    )
    return Distribution(quantity, histograms[0].edges, highest, tuple(runs), bool(histograms[0].unit))


def _run_bars(histogram: Histogram, run_bars: tuple[Mark, ...], agent: AgentSummary) -> RunBars:
    """Bins are equally wide whatever they hold, so that a place in one is found between its edges."""

    def at(value: float) -> float:
        scale = np.log10 if histogram.unit else np.asarray
        inside = max(value, histogram.edges[0])
        return round(float(np.interp(scale(inside), scale(histogram.edges), np.linspace(0, 100, len(histogram.edges)))), 2)

    if histogram.unit:
        latency = agent.latency_ms[histogram.quantity]
        places = (("median", at(latency.p50)), ("tail", at(latency.p95)))
        return RunBars(histogram, run_bars, None, tuple(Line(kind, x, 0, x, 100) for kind, x in places))
    summary = agent.measures[histogram.quantity]
    if summary.mean is None:
        return RunBars(histogram, run_bars)
    ends = (at(summary.low), at(summary.high)) if summary.low is not None and summary.high is not None else (None, None)
    return RunBars(histogram, run_bars, Whisker(at(summary.mean), *ends))


@dataclass(frozen=True)
class Scatter:
    """Accuracy against latency."""

    frontier: Frontier
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def scatter(report: Report) -> Scatter | None:
    """The drawing of the frontier; None where it has no point."""
    best = frontier(report)
    return None if best is None else scatter_of(best, {name: row for row, name in enumerate(report.agents)})


def scatter_of(frontier: Frontier, rows: Mapping[str, int] = {}) -> Scatter | None:  # only read
    """The same of a frontier that is known, with the rows of its runs in the report; None where it has no point."""
    if not frontier.points:
        return None
    across = time_scale([point.latency_ms for point in frontier.points])
    upwards = scale_of(end for point in frontier.points for end in (point.quality, point.low, point.high))
    if upwards is None:
        return None
    at = [(across.at(point.latency_ms), upwards.up(point.quality)) for point in frontier.points]
    groups: dict[int, list[tuple[float, float]]] = {}
    for place, point in zip(at, frontier.points, strict=True):
        groups.setdefault(point.group, []).extend([place] if point.on_frontier else [])
    texts = [visible(point.run, LONGEST_LABEL) for point in frontier.points]
    beside = labels([(x, y, text) for (x, y), text in zip(at, texts, strict=True)])
    y_ticks = upwards.upward_ticks
    marks: tuple[Mark, ...] = (
        *value_grid(y_ticks),
        *(Line("grid", tick.at, 0, tick.at, 100) for tick in across.ticks),
        *(line for places in groups.values() for line in _steps(places)),
        *(
            _scatter_point(frontier, point, place, upwards, label, text, rows.get(point.run, 0))
            for point, place, label, text in zip(frontier.points, at, beside, texts, strict=True)
        ),
    )
    return Scatter(frontier, marks, across.ticks, y_ticks)


def _scatter_point(
    frontier: Frontier, point: FrontierPoint, place: tuple[float, float], upwards: Scale, label: Label, text: str, row: int
) -> Group:
    x, y = place
    title = (
        f"{point.run}: {frontier.measure} {cells.number(point.quality).text} ({cells.interval(point.low, point.high).text}), "
        f"{cells.milliseconds(point.latency_ms).text}"
    )
    dot = Dot("dot" if point.on_frontier else "ring", x, y, 5.5, row)
    beside = PlacedText(label.x, label.y, label.anchor, text)
    return Group(title, (*_upright(x, point.low, point.high, upwards), dot, beside))


def _upright(x: float, low: float | None, high: float | None, scale: Scale) -> Iterator[Line]:
    if low is not None and high is not None:
        yield Line("whisker", x, scale.up(low), x, scale.up(high))


def _steps(points: Iterable[tuple[float, float]]) -> tuple[Line, ...]:
    """From one run on the frontier to the next slower one: nothing is better before that."""
    frontier_points = sorted(points)
    corners = [corner for one, other in pairwise(frontier_points) for corner in (one, (other[0], one[1]))]
    return path_lines("step", [*corners, *frontier_points[-1:]])


@dataclass(frozen=True)
class TrendPicture:
    """One number over time."""

    trend: Trend
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    dates: tuple[Tick, ...]  # of every run

    @property
    def title(self) -> str:
        where = "".join(f", {by} {value}" for by, value in self.trend.where.items())
        return f"{self.trend.agent}: {self.trend.measure}{where}"

    @property
    def worse(self) -> bool:
        return self.trend.worse_since is not None

    @property
    def overall(self) -> bool:
        return not self.trend.where


def histories(report: Report) -> list[TrendPicture]:
    """All trends of the report that have more than one run."""
    rows = {agent: row for row, agent in enumerate(dict.fromkeys(trend.agent for trend in report.trends))}
    return [_history(trend, rows[trend.agent]) for trend in report.trends if len(trend.points) > 1]


def _history(trend: Trend, row: int) -> TrendPicture:
    ends = [end for point in trend.points for end in (point.mean, point.low, point.high)]
    scale = scale_of([*ends, trend.low, trend.high]) or Scale(0.0, 1.0)
    across = Scale(0, len(trend.points) - 1)
    places = [(across.at(number), scale.up(point.mean)) for number, point in enumerate(trend.points)]
    marks: tuple[Mark, ...] = (
        *value_grid(scale.upward_ticks),
        *_band(trend, scale),
        *path_lines("step path", places),
        *(_trend_dot(point, place, scale, row) for point, place in zip(trend.points, places, strict=True)),
    )
    dates = (Tick(x, f"{point.time:%Y-%m-%d}") for (x, _), point in zip(places, trend.points, strict=True))
    return TrendPicture(trend, marks, scale.upward_ticks, tuple(dates))


def _trend_dot(point: TrendPoint, place: tuple[float, float], scale: Scale, row: int) -> Group:
    title = f"{point.entry}, {point.time:%Y-%m-%d %H:%M}: {cells.number(point.mean).text}"
    dot = Dot("ring worse" if point.worse else "dot", *place, run=row)
    return Group(title, (*_upright(place[0], point.low, point.high, scale), dot))


def _band(trend: Trend, scale: Scale) -> Iterator[Box]:
    """Inside of it, everything is noise."""
    if trend.low is not None and trend.high is not None:
        top, bottom = scale.up(trend.high), scale.up(trend.low)
        yield Box("band", 0, top, 100, round(max(0.5, bottom - top), 2))
