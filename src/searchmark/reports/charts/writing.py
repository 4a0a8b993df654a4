"""The charts of a report as files, and the section of Markdown that shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from urllib.parse import quote

from searchmark.errors import UsageError
from searchmark.options.short_repr import short_repr
from searchmark.reports.charts.categories import category_bars
from searchmark.reports.charts.drawing import drawn, lacking
from searchmark.reports.charts.histograms import f1_distribution, latency_distribution
from searchmark.reports.charts.history import trend
from searchmark.reports.charts.picture import Picture
from searchmark.reports.charts.tradeoff import accuracy_vs_latency
from searchmark.reports.quoting import markdown_text
from searchmark.reports.report import Report
from searchmark.reports.scrubbing import without_known_secrets

# Each gives nothing for a report that lacks what it shows.
CHARTS: dict[str, Callable[[Report], Picture | None]] = {
    "f1_distribution": f1_distribution,
    "latency_distribution": latency_distribution,
    "accuracy_vs_latency": accuracy_vs_latency,
    "category_bars": category_bars,
    "trend": trend,
}
FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Chart:
    """A chart that was written: what it shows, the finding in words, and its files."""

    name: str
    title: str
    alt: str
    files: tuple[Path, ...]

    __repr__ = short_repr


def write_charts(report: Report, folder: str | PathLike[str], formats: Sequence[str] = FORMATS) -> list[Chart]:
    """Write every chart that the report has something for; one that an earlier report left in the folder is removed."""
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise UsageError(f"there is no chart format {unknown[0]!r}; available: {', '.join(FORMATS)}")
    why = lacking()
    if why is not None:
        raise UsageError(f"no charts: {why}")
    report = without_known_secrets(report)
    charts = []
    for name, make in CHARTS.items():
        picture = make(report)
        if picture is None:
            _remove(name, Path(folder))
        else:
            charts.append(_written(name, picture, report.suite.name, Path(folder), tuple(formats)))
    return charts


def _written(name: str, picture: Picture, suite: str, folder: Path, formats: tuple[str, ...]) -> Chart:
    from searchmark.files.store import atomic_write

    files = {folder / f"{name}.{suffix}": content for suffix, content in drawn(picture, suite, formats).items()}
    for path, content in files.items():
        with atomic_write(path) as file:
            file.write(content)
    return Chart(name, picture.title, picture.alt, tuple(files))


def _remove(name: str, folder: Path) -> None:
    for suffix in FORMATS:
        with suppress(OSError):  # whoever cannot remove it cannot write there either, and is told so
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def charts_beside(report: Report, markdown_file: str | PathLike[str]) -> list[Chart]:
    """Write the charts into a folder beside a Markdown report, ``report-charts`` for ``report.md``, and show them in it."""
    from searchmark.files.store import write_text
    from searchmark.reports import render

    path = Path(markdown_file)
    charts = write_charts(report, path.with_name(f"{path.stem}-charts"))
    write_text(path, with_charts(render(report, "markdown"), charts, path.parent))
    return charts


def with_charts(markdown: str, charts: Sequence[Chart], folder: Path) -> str:
    """A Markdown report that is in this folder, with a section that shows the charts; as it was without any."""
    if not charts:
        return markdown
    return "\n".join([markdown, "## Charts", "", *("\n".join(_lines(chart, folder)) for chart in charts)])


def _lines(chart: Chart, folder: Path) -> list[str]:
    """The PNG, which every viewer shows, as a link to the SVG, which is sharp at any size."""
    links = {path.suffix: quote(path.relative_to(folder).as_posix()) for path in chart.files}
    picture = f"![{markdown_text(chart.alt)}]({links.get('.png') or links['.svg']})"
    linked = f"[{picture}]({links['.svg']})" if {".png", ".svg"} <= set(links) else picture
    return [f"### {markdown_text(chart.title)}", "", linked, ""]
