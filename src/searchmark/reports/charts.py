"""The charts of reports and sweeps as SVG files, and as PNG, which resvg makes of them. resvg is loaded when one is made."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from urllib.parse import quote

from searchmark.config.strict import short_repr
from searchmark.errors import UsageError
from searchmark.reports import cells
from searchmark.reports.chart_data import FrontierPoint, case_points, usual_latency
from searchmark.reports.page.pictures import (
    HATCHES,
    Box,
    Distribution,
    Dot,
    Line,
    Mark,
    RunBars,
    Scale,
    Tick,
    by_attributes,
    distribution,
    draw,
    histories,
    interval_marks,
    scale_of,
    scatter,
    scatter_of,
    time_scale,
    value_grid,
)
from searchmark.reports.quoting import markdown_text, visible, xml_text
from searchmark.reports.render import without_known_secrets
from searchmark.reports.report import Report, distributed_measure, leading_measure
from searchmark.reports.sweep import Sweep, sweep_pictures
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import Trend

# A chart before it is drawn: panels below each other, what is beside them, and a legend.

LONGEST_NAME = 40

LONGEST_TITLE = 84

MOST_NAMED = 6


@dataclass(frozen=True)
class Panel:
    """One plane with its marks; the height is in pixels."""

    marks: tuple[Mark, ...]
    height: int
    title: str | None = None
    strip: tuple[Mark, ...] = ()  # a row above it, on the same scale
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    y_label: str | None = None


@dataclass(frozen=True)
class LegendEntry:
    """A line of the legend: what it says, and a sample of the marks that it is about."""

    text: str
    sample: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class ChartPicture:
    """One chart before it is drawn."""

    title: str  # what it shows
    alt: str  # the finding in words
    panels: tuple[Panel, ...]
    x_label: str = ""
    legend: tuple[LegendEntry, ...] = ()
    left: int = 64  # pixels beside the planes, for what is written there


def run_text(report: Report, run: str) -> str:
    """The name of a run, and whether its numbers can be relied on if they cannot."""
    status = report.agents[run].status
    name = visible(run, LONGEST_NAME)
    return name if status == "ok" else f"{name} ({status})"


def mean_text(summary: Summary) -> str:
    """A mean with its interval, where there is one."""
    interval = "" if summary.low is None or summary.high is None else f" ({cells.interval(summary.low, summary.high).text})"
    return f"{cells.number(summary.mean).text}{interval}"


def join_sentences(sentences: Iterable[str]) -> str:
    """The first of some findings, and how many more there are."""
    all_sentences = list(sentences)
    more = [f"and {len(all_sentences) - MOST_NAMED} more"] if len(all_sentences) > MOST_NAMED else []
    return "; ".join([*all_sentences[:MOST_NAMED], *more])


def _first_ones(shown: int, of: int, noun: str) -> str:
    return "" if shown == of else f" (the first {shown} of {of} {noun})"


# A chart as SVG, in which texts stay texts, and as PNG.

WIDTH, RIGHT, HEAD, LINE, STRIP, GAP = 720, 40, 44, 18, 16, 14  # pixels

PIXELS_OF_PNG = 2  # for each of the SVG: sharp on paper and on dense screens

HEADER_OF_PNG = 33  # bytes: signature and first chunk, which are always as long

FONTS = '"Searchmark Sans", "DejaVu Sans", "Verdana", "Noto Sans", sans-serif'


def missing_for_charts() -> str | None:
    """Why no chart can be drawn; None if nothing is missing."""
    try:
        import resvg_py  # noqa: F401  # whether it is there
    except ImportError:
        return "resvg is not installed; install the extra: pip install 'searchmark[charts]'"
    return None


def draw_picture(picture: ChartPicture, suite: str, formats: tuple[str, ...]) -> dict[str, bytes]:
    """The picture in each of the formats, ``svg`` and ``png``; the same bytes whenever it is drawn."""
    title, alt = visible(f"{picture.title}: {suite}", LONGEST_TITLE), visible(picture.alt)
    svg = _svg(picture, title, alt)
    return {each: svg.encode() if each == "svg" else _png(svg, {"Title": title, "Description": alt}) for each in formats}


def _svg(picture: ChartPicture, title: str, alt: str) -> str:
    parts = [f'<text x="10" y="24" font-size="16">{xml_text(title)}</text>']
    top = HEAD
    for panel in picture.panels:
        parts += _panel_parts(panel, picture.left, top)
        top += _height(panel)
    parts.append(_text((picture.left + WIDTH - RIGHT) / 2, top + 4, picture.x_label, "middle"))
    for number, entry in enumerate(picture.legend):
        y = top + GAP + LINE * (number + 1)
        parts += (
            [f'<svg x="14" y="{y - 11}" width="24" height="14">{draw(entry.sample, by_attributes)}</svg>'] if entry.sample else []
        )
        parts.append(_text(46 if entry.sample else 14, y, entry.text))
    height = top + GAP + LINE * len(picture.legend) + GAP
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-labelledby="title" aria-describedby="finding" font-family=\'{FONTS}\' font-size="12" color="black">'
        f'<title id="title">{xml_text(title)}</title><desc id="finding">{xml_text(alt)}</desc>'
        f'<defs>{_hatches()}</defs><rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _hatches() -> str:
    return "".join(
        f'<pattern id="hatch-{number}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="{path}" stroke="black" stroke-width="0.8" fill="none"/></pattern>'
        for number, path in enumerate(HATCHES)
        if path
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{xml_text(text)}</text>'


def _plane(marks: Iterable[Mark], x: float, y: float, width: int, height: int) -> str:
    return f'<svg x="{x:g}" y="{y:g}" width="{width}" height="{height}" overflow="visible">{draw(marks, by_attributes)}</svg>'


def _height(panel: Panel) -> int:
    return (LINE if panel.title else 0) + (STRIP if panel.strip else 0) + panel.height + (LINE if panel.x_ticks else 0) + GAP


def _panel_parts(panel: Panel, left: int, top: float) -> Iterator[str]:
    """The plane, what is written at its edges, and what is above it."""
    width = WIDTH - RIGHT - left
    if panel.title:
        yield _text(left, top + 10, panel.title)
        top += LINE
    if panel.strip:
        yield _plane(panel.strip, left, top, width, STRIP)
        top += STRIP
    bottom = top + panel.height
    yield _plane(panel.marks, left, top, width, panel.height)
    yield f'<path d="M{left} {top:g}V{bottom:g}H{left + width}" stroke="black" fill="none"/>'
    for tick in panel.y_ticks:
        yield _text(left - 6, top + panel.height * tick.at / 100 + 4, tick.text, "end")
    for tick in panel.x_ticks:
        yield _text(left + width * tick.at / 100, bottom + 14, tick.text, "middle")
    if panel.y_label:
        middle = top + panel.height / 2
        yield f'<g transform="rotate(-90 14 {middle:g})">{_text(14, middle, panel.y_label, "middle")}</g>'


def _png(svg: str, texts: dict[str, str]) -> bytes:
    """The picture as resvg draws it, in a font of ours; letters beyond it are in one of the machine. Texts go behind its header."""
    import resvg_py

    with as_file(files("searchmark.reports") / "SearchmarkSans.ttf") as font:
        png = bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=PIXELS_OF_PNG, font_files=[str(font)]))
    chunks = b"".join(_chunk(b"iTXt", f"{key}\0\0\0\0\0{text}".encode()) for key, text in texts.items())
    return png[:HEADER_OF_PNG] + chunks + png[HEADER_OF_PNG:]


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


# Distributions: one panel per run, one below the other, with the same bins and the same scale.

MAX_HISTOGRAM_PANELS, HISTOGRAM_HEIGHT, HISTOGRAM_TICKS = 12, 64, 12


def chart_f1_distribution(report: Report) -> ChartPicture | None:
    """F1 or F1@k case by case; the leading measure where there is none."""
    measure = distributed_measure(report)
    shown = distribution(report, measure) if measure else None
    if measure is None or shown is None:
        return None

    def about(each: RunBars) -> str:
        return f"mean {mean_text(report.agents[each.histogram.run].measures[measure])}, {_sample_size(each, 'case')}"

    best = max(shown.runs, key=lambda each: report.agents[each.histogram.run].measures[measure].mean or 0).histogram.run
    highest = f"{run_text(report, best)} has the highest mean. " if len(shown.runs) > 1 else ""
    spreads = join_sentences(_spread_sentence(report, measure, each) for each in shown.runs)
    alt = f"Distribution of {measure} over the cases. {highest}{spreads}."
    label = f"{measure} of a case   (● mean with its 95 % interval)"
    return _stack_histograms(f"Distribution of {measure}", report, shown, about, label, alt)


def _spread_sentence(report: Report, measure: str, each: RunBars) -> str:
    histogram = each.histogram
    mean = mean_text(report.agents[histogram.run].measures[measure])
    lowest, highest = (
        f"{count / histogram.total:.0%}" if histogram.total else "none" for count in (histogram.counts[0], histogram.counts[-1])
    )
    return (
        f"{run_text(report, histogram.run)}: mean {mean}, {lowest} of {histogram.total} cases below {histogram.edges[1]:g}, "
        f"{highest} from {histogram.edges[-2]:g} on"
    )


def chart_latency_distribution(report: Report) -> ChartPicture | None:
    """The time of every search, on a logarithmic scale; warm searches where there are any."""
    kind = usual_latency(report)
    shown = distribution(report, kind)
    if shown is None:
        return None

    def about(each: RunBars) -> str:
        latency = report.agents[each.histogram.run].latency_ms[kind]
        times = f"p50 {cells.milliseconds(latency.p50).text}, p95 {cells.milliseconds(latency.p95).text}"
        return f"{times}, {_sample_size(each, 'search')}"

    fastest = min(shown.runs, key=lambda each: report.agents[each.histogram.run].latency_ms[kind].p50).histogram.run
    lowest = f"{run_text(report, fastest)} has the lowest median. " if len(shown.runs) > 1 else ""
    times = join_sentences(f"{run_text(report, each.histogram.run)}: {about(each)}" for each in shown.runs)
    alt = f"Distribution of the {kind} latency. {lowest}{times}."
    label = f"{kind} latency of a search in ms, log scale   (solid line p50, dashed line p95)"
    return _stack_histograms(f"Distribution of the {kind} latency", report, shown, about, label, alt)


def _sample_size(each: RunBars, noun: str) -> str:
    many = {"case": "cases", "search": "searches"}[noun]
    total, undefined_cases = each.histogram.total, each.histogram.undefined
    undefined = f", {undefined_cases} undefined" if undefined_cases and noun == "case" else ""
    return f"n = {total} {noun if total == 1 else many}{undefined}"


def _stack_histograms(
    title: str, report: Report, shown: Distribution, about: Callable[[RunBars], str], label: str, alt: str
) -> ChartPicture:
    """A panel per run over one axis; of very many runs the first."""
    runs = shown.runs[:MAX_HISTOGRAM_PANELS]
    ticks, bins = (Tick(100, "0"), Tick(0, str(shown.highest))), len(shown.edges) - 1
    panels = (
        Panel(
            (*each.bars, *each.percentiles),
            HISTOGRAM_HEIGHT,
            f"{run_text(report, each.histogram.run)}: {about(each)}",
            tuple(interval_marks(each.mean)),
            shown.ticks(min(bins, HISTOGRAM_TICKS)) if each is runs[-1] else (),
            ticks,
            shown.what,
        )
        for each in runs
    )
    return ChartPicture(f"{title}{_first_ones(len(runs), len(shown.runs), 'runs')}", alt, tuple(panels), label)


# Means by category: a group of bars per category, a bar per run.

MOST_GROUPS, MAX_GROUPED_RUNS = 20, 8

BAR_HEIGHT, GROUP_GAP = 14, 12

CATEGORY_MARGIN = 250


# By run, then by category.
Means = dict[str, dict[str, Summary]]


def chart_category_bars(report: Report) -> ChartPicture | None:
    """The leading measure by category, or by what else the report is split by."""
    measure, field = leading_measure(report), _split_field(report)
    means = _means_by_category(report, field, measure) if field and measure else {}
    groups = _order_groups(means)
    if measure is None or field is None or not groups:
        return None
    first_groups = groups[:MOST_GROUPS]
    left_out = "" if first_groups == groups else f" (the {len(first_groups)} with most cases of {len(groups)})"
    ranges = join_sentences(_range_sentence(run_text(report, run), summaries) for run, summaries in means.items() if summaries)
    label = f"mean {visible(measure, LONGEST_NAME)}   (whiskers: 95 % intervals, where there are enough cases)"
    legend = (LegendEntry(run_text(report, run), (Box("bar", 0, 0, 100, 100, row),)) for row, run in enumerate(means))
    panel, alt = _category_panel(means, first_groups), f"Mean {measure} by {field}. {ranges}."
    return ChartPicture(f"{measure} by {field}{left_out}", alt, (panel,), label, tuple(legend), CATEGORY_MARGIN)


def _split_field(report: Report) -> str | None:
    fields = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.segments))
    return "category" if "category" in fields else next(iter(fields), None)


def _means_by_category(report: Report, field: str, measure: str) -> Means:
    """What is defined, of the first runs."""
    means: Means = {}
    for run, agent in list(report.agents.items())[:MAX_GROUPED_RUNS]:
        values = {value: summaries.get(measure) for value, summaries in agent.segments.get(field, {}).items()}
        means[run] = {value: each for value, each in values.items() if each is not None and each.mean is not None}
    return means


def _order_groups(means: Means) -> list[str]:
    """All categories, that with most cases first."""
    sizes: dict[str, int] = {}
    for summaries in means.values():
        for value, each in summaries.items():
            sizes[value] = max(sizes.get(value, 0), each.cases)
    return sorted(sizes, key=lambda value: (-sizes[value], value))


def _range_sentence(run: str, summaries: dict[str, Summary]) -> str:
    ranking = sorted(summaries, key=lambda value: (summaries[value].mean or 0, value))
    lowest, highest = (
        f"{visible(value, LONGEST_NAME)} {mean_text(summaries[value])}, n = {summaries[value].cases}"
        for value in (ranking[0], ranking[-1])
    )
    return f"{run}: lowest {lowest}" + (f", highest {highest}" if len(ranking) > 1 else "")


def _category_panel(means: Means, groups: list[str]) -> Panel:
    group_height = BAR_HEIGHT * len(means) + GROUP_GAP
    height = group_height * len(groups)
    ends = [end for summaries in means.values() for each in summaries.values() for end in (each.mean, each.low, each.high)]
    scale = scale_of([0.0, *ends]) or Scale(0.0, 1.0)
    marks: list[Mark] = [Line("grid", tick.at, 0, tick.at, 100) for tick in scale.ticks]
    for row, summaries in enumerate(means.values()):
        for group, value in enumerate(groups):
            if value in summaries:
                top = 100 * (group * group_height + GROUP_GAP / 2 + row * BAR_HEIGHT) / height
                marks += _category_bar(summaries[value], row, scale, top, 100 * BAR_HEIGHT / height)
    labels = (
        Tick(100 * (group + 0.5) / len(groups), f"{visible(value, 24)}  ({_category_size(means, value)})")
        for group, value in enumerate(groups)
    )
    return Panel(tuple(marks), height, x_ticks=scale.ticks, y_ticks=tuple(labels))


def _category_bar(summary: Summary, row: int, scale: Scale, top: float, height: float) -> Iterator[Mark]:
    zero, mean = scale.at(0.0), scale.at(summary.mean or 0.0)
    yield Box("bar", min(zero, mean), top, abs(mean - zero), height, row)
    if summary.low is not None and summary.high is not None:
        ends, middle = (scale.at(summary.low), scale.at(summary.high)), top + height / 2
        for kind in ("rim", "whisker"):  # a light rim, so that it is seen on any hatch
            yield Line(kind, ends[0], middle, ends[1], middle)
        yield from (Line("end", end, top + height * 0.25, end, top + height * 0.75) for end in ends)


def _category_size(means: Means, value: str) -> str:
    sizes = sorted({summaries[value].cases for summaries in means.values() if value in summaries})
    return f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"


# The leading measure over the runs of the archive, with the band inside which it is noise.

MAX_TREND_PANELS, TREND_HEIGHT, MAX_TREND_TICKS = 8, 120, 6


def chart_trend(report: Report) -> ChartPicture | None:
    """One panel per agent that has been run before, of all its cases."""
    measure = leading_measure(report)
    pictures = [each for each in histories(report) if each.trend.measure == measure and each.overall]
    if measure is None or not pictures:
        return None
    panels = tuple(
        Panel(
            each.marks,
            TREND_HEIGHT,
            f"{visible(each.trend.agent, LONGEST_NAME)}: {cells.number(each.trend.points[-1].mean).text} "
            f"in the last of n = {len(each.trend.points)} runs",
            x_ticks=each.dates[:: -(-len(each.dates) // MAX_TREND_TICKS)],
            y_ticks=each.ticks,
            y_label=visible(measure, 20),
        )
        for each in pictures[:MAX_TREND_PANELS]
    )
    alt = f"{measure} run by run, the oldest first. {join_sentences(_trend_sentence(each.trend) for each in pictures)}."
    title = f"{measure} over time{_first_ones(len(panels), len(pictures), 'agents')}"
    return ChartPicture(title, alt, panels, "run, the oldest first   (band: noise; whiskers: 95 % intervals; hollow: worse)")


def _trend_sentence(trend: Trend) -> str:
    first, last = (cells.number(each.mean).text for each in (trend.points[0], trend.points[-1]))
    return (trend.sentence or f"{trend.agent}: from {first} to {last} in {len(trend.points)} runs").rstrip(".")


# Accuracy against latency: a point per run, and the frontier of those that none beats in both.

TRADEOFF_HEIGHT = 300


def chart_accuracy_vs_latency(report: Report) -> ChartPicture | None:
    """The leading measure against the median latency: a point per run, or per case where there is one run."""
    shown = scatter(report)
    if shown is None:
        return _chart_of_cases(report)
    measure, points, rows = shown.frontier.measure, shown.frontier.points, {run: row for row, run in enumerate(report.agents)}
    kind = shown.frontier.latency.removesuffix(" ms")
    panel = Panel(
        shown.marks,
        TRADEOFF_HEIGHT,
        x_ticks=shown.x_ticks,
        y_ticks=shown.y_ticks,
        y_label=f"mean {visible(measure, LONGEST_NAME)}   (up is better)",
    )
    legend = (
        LegendEntry(
            f"{run_text(report, each.run)}: {_point_numbers(each)}, n = {report.agents[each.run].measures[measure].cases}",
            (Dot("dot" if each.on_frontier else "ring", 50, 50, 5.5, rows[each.run]),),
        )
        for each in points
    )
    frontier = LegendEntry(
        "frontier: no run is better and faster (filled marks); whiskers: 95 % intervals", (Line("step", 0, 50, 100, 50),)
    )
    label = f"{kind} latency in ms, log scale   (left is faster)"
    return ChartPicture(
        f"{measure} against {kind} latency", _tradeoff_finding(report, measure, kind, points), (panel,), label, (*legend, frontier)
    )


def _chart_of_cases(report: Report) -> ChartPicture | None:
    shown = case_points(report)
    if shown is None:
        return None
    measure, kind, points = shown
    across, upwards = time_scale([ms for ms, _ in points]), scale_of(value for _, value in points) or Scale(0.0, 1.0)
    grid = (*value_grid(upwards.upward_ticks), *(Line("grid", tick.at, 0, tick.at, 100) for tick in across.ticks))
    dots = (Dot("dot", across.at(ms), upwards.up(value), 3.5) for ms, value in points)
    name = visible(measure, LONGEST_NAME)
    y_label = f"{name} of a case   (up is better)"
    panel = Panel((*grid, *dots), TRADEOFF_HEIGHT, x_ticks=across.ticks, y_ticks=upwards.upward_ticks, y_label=y_label)
    finding = f"{measure} against the {kind} of {len(points)} cases, one mark each."
    return ChartPicture(f"{measure} against latency, case by case", finding, (panel,), f"{kind}, log scale   (left is faster)")


def _tradeoff_finding(report: Report, measure: str, kind: str, points: Sequence[FrontierPoint]) -> str:
    best = max(points, key=lambda each: each.quality)
    fastest = min(points, key=lambda each: each.latency_ms)
    first, second = (f"{run_text(report, each.run)}, {_point_numbers(each)}" for each in (best, fastest))
    best_runs, other_runs = (
        join_sentences(run_text(report, each.run) for each in points if each.on_frontier is on) for on in (True, False)
    )
    others = f"; beaten in both: {other_runs}" if other_runs else ""
    return (
        f"{measure} against the {kind} latency of {len(points)} runs. "
        f"Best: {first}. Fastest: {second}. On the frontier: {best_runs}{others}."
    )


def _point_numbers(point: FrontierPoint) -> str:
    has_interval = point.low is not None and point.high is not None
    interval = f" ({cells.interval(point.low, point.high).text})" if has_interval else ""
    return f"{cells.number(point.quality).text}{interval} at {cells.milliseconds(point.latency_ms).text}"


# Recall and quality of a sweep against p95, one above the other, with the frontier of each.

SWEEP_HEIGHT, LONGEST_SETTING_NAME = 240, 100


def draw_sweep(sweep: Sweep, format: str) -> bytes:  # noqa: A002  # the word that users know
    """The picture as a file of this format."""
    frontiers = [frontier for frontier, _ in sweep_pictures(sweep)]
    panels = tuple(
        Panel(
            shown.marks,
            SWEEP_HEIGHT,
            x_ticks=shown.x_ticks,
            y_ticks=shown.y_ticks,
            y_label=f"{visible(shown.frontier.measure, LONGEST_NAME)}   (up is better)",
        )
        for shown in map(scatter_of, frontiers)
        if shown is not None
    )
    legend = (LegendEntry(visible(f"{number}: {row.name}", LONGEST_SETTING_NAME)) for number, row in enumerate(sweep.rows, 1))
    label = f"p95 in ms, {sweep.decided_by}, log scale   (left is faster)"
    picture = ChartPicture(f"Sweep of {sweep.agent}", sweep.sentence, panels, label, tuple(legend))
    return draw_picture(picture, sweep.suite.name, (format,))[format]


# The charts of a report as files, and the section of Markdown that shows them.

# Each gives nothing for a report that lacks what it shows.
CHARTS: dict[str, Callable[[Report], ChartPicture | None]] = {
    "f1_distribution": chart_f1_distribution,
    "latency_distribution": chart_latency_distribution,
    "accuracy_vs_latency": chart_accuracy_vs_latency,
    "category_bars": chart_category_bars,
    "trend": chart_trend,
}

FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Chart:
    """A chart that was written."""

    name: str
    title: str  # what it shows
    alt: str  # the finding in words
    files: tuple[Path, ...]

    __repr__ = short_repr


def write_charts(report: Report, folder: str | PathLike[str], formats: Sequence[str] = FORMATS) -> list[Chart]:
    """Write every chart that the report has something for; one that an earlier report left in the folder is removed."""
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise UsageError(f"there is no chart format {unknown[0]!r}; available: {', '.join(FORMATS)}")
    why = missing_for_charts() if "png" in formats else None
    if why is not None:
        raise UsageError(f"no charts: {why}")
    report = without_known_secrets(report)
    charts = []
    for name, make in CHARTS.items():
        picture = make(report)
        if picture is None:
            _remove_chart(name, Path(folder))
        else:
            charts.append(_write_chart(name, picture, report.suite.name, Path(folder), tuple(formats)))
    return charts


def _write_chart(name: str, picture: ChartPicture, suite: str, folder: Path, formats: tuple[str, ...]) -> Chart:
    from searchmark.io.store import atomic_write

    files = {folder / f"{name}.{suffix}": content for suffix, content in draw_picture(picture, suite, formats).items()}
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    return Chart(name, picture.title, picture.alt, tuple(files))


def _remove_chart(name: str, folder: Path) -> None:
    for suffix in FORMATS:
        with suppress(OSError):  # where it cannot be removed, nothing can be written either, and that is reported
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def write_charts_beside(report: Report, markdown_file: str | PathLike[str]) -> list[Chart]:
    """Write the charts into a folder beside a Markdown report, ``report-charts`` for ``report.md``, and show them in it."""
    from searchmark.io.store import write_text
    from searchmark.reports.render import render

    path = Path(markdown_file)
    charts = write_charts(report, path.with_name(f"{path.stem}-charts"))
    write_text(path, insert_charts(render(report, "markdown"), charts, path.parent))
    return charts


def insert_charts(markdown: str, charts: Sequence[Chart], folder: Path) -> str:
    """A Markdown report that is in this folder, with a section that shows the charts; as it was without any."""
    if not charts:
        return markdown
    return "\n".join([markdown, "## Charts", "", *("\n".join(_markdown_lines(chart, folder)) for chart in charts)])


def _markdown_lines(chart: Chart, folder: Path) -> list[str]:
    """The PNG, which every viewer shows, as a link to the SVG, which is sharp at any size."""
    links = {path.suffix: quote(path.relative_to(folder).as_posix()) for path in chart.files}
    picture = f"![{markdown_text(chart.alt)}]({links.get('.png') or links['.svg']})"
    link = f"[{picture}]({links['.svg']})" if {".png", ".svg"} <= set(links) else picture
    return [f"### {markdown_text(chart.title)}", "", link, ""]
