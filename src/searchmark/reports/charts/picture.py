"""What a chart is before it is drawn, and how runs are told apart in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from searchmark.analysis.scores import Summary
from searchmark.reports.cells import Interval, Number
from searchmark.reports.quoting import visible
from searchmark.reports.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.5  # inches
LONGEST_NAME = 40
MOST_NAMED = 6


@dataclass(frozen=True)
class Picture:
    """One chart: what it shows, the finding in words, its height in inches, and how it is drawn."""

    title: str
    alt: str
    height: float
    draw: Callable[[Figure], None]


@dataclass(frozen=True)
class RunStyle:
    """How one run is drawn: each of these tells it apart, also without the others."""

    colour: str
    marker: str
    hatch: str

    @property
    def bar(self) -> dict[str, Any]:
        return {"color": self.colour, "hatch": self.hatch, "edgecolor": "black", "linewidth": 0.6}

    def mark(self, *, filled: bool) -> dict[str, Any]:
        """A point with whiskers."""
        fill = self.colour if filled else "white"
        return {"marker": self.marker, "markeredgecolor": "black", "markerfacecolor": fill, "ecolor": "black", "linestyle": "none"}


# Okabe and Ito's colours, which colour-blind people tell apart, in an order in which neighbours differ in grey as well.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#F0E442", "#D55E00", "#56B4E9", "#CC79A7", "#DDDDDD")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_HATCHES = ("", "////", "----", "xxxx", "\\\\\\\\", "++++", "..")  # few dots: in an SVG each is a path


def style_of(row: int) -> RunStyle:
    """That of the run in this row of the report, the same in every chart; the cycles differ in length, so that pairs are unique."""
    return RunStyle(_COLOURS[row % len(_COLOURS)], _MARKERS[row % len(_MARKERS)], _HATCHES[row % len(_HATCHES)])


# Characters that XML does not have, and an SVG cannot.
_NOT_IN_XML = str.maketrans({"\ufffe": r"\ufffe", "\uffff": r"\uffff"})


def shown(text: str, width: int | None = LONGEST_NAME) -> str:
    """A stranger's text as a chart shows it: on one line, nothing invisible, cut.

    A legend leaves out what begins with an underscore, unless a space is before it.
    """
    found = visible(text, width).translate(_NOT_IN_XML)
    return f" {found}" if found.startswith("_") else found


def run_text(report: Report, run: str) -> str:
    """The name of a run, and whether its numbers can be relied on if they cannot."""
    status = report.agents[run].status
    return shown(run) if status == "ok" else f"{shown(run)} ({status})"


def mean_text(found: Summary) -> str:
    """A mean with its interval, where there is one."""
    interval = "" if found.low is None or found.high is None else f" ({Interval(found.low, found.high).text})"
    return f"{Number(found.mean).text}{interval}"


def whiskers(mean: float, low: float | None, high: float | None) -> list[list[float]] | None:
    """How far an interval reaches to either side of its mean, as matplotlib wants it; None without one."""
    return None if low is None or high is None else [[mean - low], [high - mean]]


def joined(sentences: Iterable[str]) -> str:
    """The first of some findings, and how many more there are."""
    found = list(sentences)
    more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return "; ".join([*found[:MOST_NAMED], *more])
