"""What earlier runs tell of a report, as few lines: what is about all cases first, and what is noise in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from searchmark.analysis.drifts import NOISE_NOT_KNOWN, Drift
from searchmark.analysis.trends import Trend
from searchmark.reports.layout import listed
from searchmark.reports.report import Report

MOST = 10
_WHERE = {"drift": "the JSON has them", "trend": "searchmark history trend shows all"}


class HistoryLine(NamedTuple):
    """A sentence about earlier runs: a number that has moved, or one that has been worse for some time."""

    kind: Literal["drift", "trend"]
    sentence: str

    @property
    def text(self) -> str:
        return f"{self.kind}: {self.sentence}"


def history_lines(report: Report) -> list[HistoryLine]:
    """What drifted, then what has been worse for some time, and how much more there is to say."""
    drifts = [HistoryLine("drift", sentence) for sentence in _drift_sentences(report.drifts)]
    trends = [HistoryLine("trend", trend.sentence or "") for trend in _worth_telling(report)]
    shown = len(drifts[:MOST])
    return [*_first(drifts, MOST), *_first(trends, MOST - shown)]


def _first(lines: Sequence[HistoryLine], most: int) -> Iterator[HistoryLine]:
    yield from lines[:most]
    left = lines[most:]
    if left:
        yield HistoryLine(left[0].kind, f"and {len(left)} more ({_WHERE[left[0].kind]})")


def _drift_sentences(drifts: Sequence[Drift]) -> Iterator[str]:
    """Each number that moved, but those that moved within noise together; that noise is not known is said once."""
    noise = [drift for drift in drifts if drift.noise == "within"]
    unknown = [drift for drift in drifts if drift.noise == "unknown"]
    together = [*(noise if len(noise) > 1 else ()), *(unknown if len(unknown) > 1 else ())]
    yield from (drift.sentence for drift in drifts if drift not in together)
    if len(unknown) > 1:
        yield f"{len(unknown)} numbers moved by more than the limit, {NOISE_NOT_KNOWN}: it takes three earlier runs like this one"
        yield from (drift.sentence.replace(f", {NOISE_NOT_KNOWN}", "") for drift in unknown)
    if len(noise) > 1:
        moved = listed([f"{drift.quantity} of {drift.run} ({_change(drift)})" for drift in noise])
        yield f"{len(noise)} numbers moved by more than the limit, but within noise: {moved}"


def _change(drift: Drift) -> str:
    return f"0 to {drift.now:.4g}" if drift.change is None else f"{drift.change:+.1%}"


def _worth_telling(report: Report) -> list[Trend]:
    """The trends that say something that no drift says, of all cases before those of some, the proven ones first."""
    agents = ((report.agents[drift.run], drift.quantity) for drift in report.drifts if drift.run in report.agents)
    drifting = {(agent.name, agent.snapshot, quantity) for agent, quantity in agents}
    told = [
        trend
        for trend in report.trends
        if trend.sentence and not (_is_one_run(trend) and (trend.agent, trend.snapshot, trend.measure) in drifting)
    ]
    return sorted(told, key=lambda trend: (bool(trend.where), trend.worse_since is None))


def _is_one_run(trend: Trend) -> bool:
    """Whether only the last run is below the noise band, and nothing else is said."""
    if trend.low is None or trend.worse_since is not None or any(point.begins for point in trend.points):
        return False
    *before, last = trend.points
    return last.mean < trend.low and not (before and before[-1].mean < trend.low)
