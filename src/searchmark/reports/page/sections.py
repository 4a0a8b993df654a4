"""What is on the page above the cases: records that the template only has to write down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from searchmark.analysis.comparison import Pair
from searchmark.analysis.verdicts import Difference
from searchmark.findings import Finding
from searchmark.findings.sentences import counted
from searchmark.measures.words import with_words
from searchmark.reports import comparison_layout, gate_layout, layout
from searchmark.reports.advice_layout import STATES, GatedValue, asked, target_subject
from searchmark.reports.cells import Interval, Number, SegmentMean, Table
from searchmark.reports.failure_kinds import kind_lines, kind_sentence
from searchmark.reports.gate_rows import rule_table
from searchmark.reports.history_layout import HistoryLine, history_lines
from searchmark.reports.hosts import latencies_not_compared
from searchmark.reports.measured import leading_measure, measure_names
from searchmark.reports.outcome import Outcome, first_sentence, outcome_of
from searchmark.reports.page.figures import Tick, Whisker, scale_of, whisker
from searchmark.reports.page.heat import HeatMap, heat_maps, leakage_maps
from searchmark.reports.page.pictures import Distribution, Scatter, TrendPicture, distributions, histories, scatter
from searchmark.reports.perturbation_layout import perturbation_table
from searchmark.reports.report import Report
from searchmark.reports.targets import TargetLine, targets
from searchmark.reports.usage_layout import usage_table, usages_table
from searchmark.reports.vector_layout import ann_table, anns_table, stabilities_table, stability_table, vector_lines

_HEADLINES: dict[str, str] = {
    "passed": "Gate passed",
    "failed": "Gate failed",
    "unresolvable": "Gate cannot be decided",
    "untrusted": "Do not trust this result",
    "nothing evaluated": "Nothing was evaluated",
}
# Which of the page's colours a word gets; each also has a sign of its own.
_TONES = {
    **dict.fromkeys(("passed", "IMPROVED"), "good"),
    **dict.fromkeys(("measured", "WITHIN NOISE", "EXPLORATORY"), "calm"),
    **dict.fromkeys(("failed", "untrusted", "nothing evaluated", "REGRESSED", "INVALID"), "bad"),
}
# Not every device has the pictures of other formats.
_TARGET_SIGNS = {
    "met": ("✓", "good"),
    **dict.fromkeys(("close", "few", "open"), ("≈", "open")),
    "missed": ("✗", "bad"),
    "unknown": ("–", "calm"),
}
_SIGNS = {"good": "▲", "bad": "▼", "open": "◇", "calm": "="}


def tone(word: str) -> str:
    return _TONES.get(word, "open")


@dataclass(frozen=True)
class VerdictRow:
    """One pair on the measure that it is compared for."""

    candidate: str
    baseline: str
    measure: str
    verdict: str
    sentence: str
    difference: str
    interval: str
    mark: Whisker | None
    zero: float | None

    @property
    def tone(self) -> str:
        return tone(self.verdict)

    @property
    def sign(self) -> str:
        return _SIGNS[self.tone]


@dataclass(frozen=True)
class DotRow:
    """One run on one measure."""

    run: str
    mean: str
    interval: str
    cases: int
    mark: Whisker | None


@dataclass(frozen=True)
class DotPlot:
    """All runs on one measure, on one scale; ``line`` is where the baseline of all others is."""

    measure: str
    rows: tuple[DotRow, ...]
    ticks: tuple[Tick, ...]
    line: float | None


@dataclass(frozen=True)
class TargetRow:
    """One number that the gate asks for, written as in every other format."""

    sign: str
    tone: str
    state: str
    subject: str
    run: str | None
    value: str
    asked: str


@dataclass(frozen=True)
class Page:
    """A report as the template sees it."""

    report: Report

    @cached_property
    def outcome(self) -> Outcome:
        return outcome_of(self.report)

    @property
    def tone(self) -> str:
        return tone(self.outcome)

    @property
    def headline(self) -> str:
        """The result in a few words: how the gate ended, or else the verdicts, or else the leading number."""
        if self.outcome != "measured":
            reason = first_sentence(self.report) if self.outcome == "untrusted" else None
            return _HEADLINES[self.outcome] + ("" if reason is None else reason.removeprefix("untrusted"))
        return _counted_verdicts(self.report.pairs) or _leading_number(self.report)

    @property
    def sentence(self) -> str:
        """What comes behind the headline: the gate in a sentence, or what was compared."""
        gate = gate_layout.gate_sentence(self.report)
        if gate is not None:
            said = gate.removeprefix(f"gate {self.outcome}: ")  # the headline says that already
            return f"{said[0].upper()}{said[1:].removesuffix('.')}."
        count = len(self.verdicts)
        compared = f"{counted(count, 'comparison')} by {with_words(self.report.pairs[0].primary)}. " if count else ""
        return f"{compared}No gate was asked for."

    @property
    def about(self) -> str:
        """Size and time of what was measured, in a line."""
        runs = len(self.report.agents)
        started = min((agent.run.started for agent in self.report.agents.values() if agent.run.started), default=None)
        when = [] if started is None else [f"{started:%Y-%m-%d %H:%M} {started.tzname() or ''}".strip()]
        return " · ".join([counted(self.report.suite.cases, "case"), counted(runs, "run"), *when])

    @property
    def gate_lines(self) -> list[str]:
        return [line.strip() for line in gate_layout.gate_lines(self.report)]

    @property
    def rules(self) -> Table:
        return rule_table(self.report)

    @property
    def errors(self) -> list[Finding]:
        return [found for found in self.report.audit if found.severity == "error"]

    @cached_property
    def known_cases(self) -> set[str]:
        """The cases that the page can open; findings may name others, such as those that a run has and the suite has not."""
        return {case for agent in self.report.agents.values() for case in agent.cases}

    @property
    def verdicts(self) -> list[VerdictRow]:
        return list(_verdict_rows(self.report.pairs))

    @property
    def all_verdicts(self) -> Table:
        return comparison_layout.verdict_table(self.report)

    @property
    def pair_details(self) -> list[tuple[Pair, list[str], list[Table]]]:
        return [
            (
                pair,
                list(comparison_layout.pair_sentences(pair)),
                [*comparison_layout.pair_segment_tables(pair), comparison_layout.telling_table(pair)],
            )
            for pair in self.report.pairs
        ]

    @property
    def dot_plots(self) -> list[DotPlot]:
        return [_dot_plot(self.report, measure) for measure in measure_names(self.report)]

    @property
    def standing(self) -> Table:
        return comparison_layout.standing_table(self.report)

    @property
    def agents(self) -> list[tuple[str, str, list[Table], str | None, list[str]]]:
        """Every run in full: its name, how its cases ended, its tables, what it took to get ready, and its vectors."""
        return [
            (name, layout.case_counts(agent, self.report.suite.cases),
             [layout.measure_table(agent), layout.latency_table(agent), usage_table(agent), ann_table(agent),
              stability_table(agent)],
             layout.preparation(agent), list(vector_lines(agent)))
            for name, agent in self.report.agents.items()
        ]  # fmt: skip

    @property
    def failures(self) -> list[tuple[str, list[str]]]:
        """Every kind of failure of every run: a sentence, and where in the agent the first one arose."""
        runs = [(f"{name}: " if len(self.report.agents) > 1 else "", agent) for name, agent in self.report.agents.items()]
        return [(f"{run}{kind_sentence(kind)}", list(kind_lines(kind))) for run, agent in runs for kind in agent.failures]

    @property
    def speed(self) -> Table:
        return comparison_layout.speed_table(self.report)

    @property
    def latencies_not_compared(self) -> str | None:
        return latencies_not_compared(self.report)

    @property
    def usage(self) -> Table:
        return usages_table(self.report)

    @property
    def ann(self) -> Table:
        return anns_table(self.report.agents)

    @property
    def stability(self) -> Table:
        return stabilities_table(self.report.agents)

    @property
    def targets(self) -> list[TargetRow]:
        return list(map(_target_row, targets(self.report)))

    @cached_property
    def heat_maps(self) -> list[HeatMap]:
        return heat_maps(self.report)

    @cached_property
    def leakage(self) -> list[HeatMap]:
        return leakage_maps(self.report)

    @cached_property
    def distributions(self) -> list[Distribution]:
        return distributions(self.report)

    @cached_property
    def scatter(self) -> Scatter | None:
        return scatter(self.report)

    @property
    def snapshots(self) -> list[tuple[str, Table]]:
        return [(effect.sentence, comparison_layout.snapshot_table(effect)) for effect in self.report.snapshot_effects]

    @property
    def perturbations(self) -> Table:
        return perturbation_table(self.report)

    @cached_property
    def history_lines(self) -> list[HistoryLine]:
        return history_lines(self.report)

    @cached_property
    def histories(self) -> list[TrendPicture]:
        return histories(self.report)


def _target_row(line: TargetLine) -> TargetRow:
    sign, tone = _TARGET_SIGNS[line.state] if line.tells_quality else ("", "calm")
    interval = "" if line.low is None else f" ({Interval(line.low, line.high).text})"
    value = f"{GatedValue(line.value, line.expected, line.unit).text}{interval}"
    return TargetRow(sign, tone, STATES[line.state], target_subject(line), line.run, value, asked(line))


def page_of(report: Report) -> Page:
    return Page(report)


def _counted_verdicts(pairs: Sequence[Pair]) -> str | None:
    """How many pairs ended in which verdict on the measure they were compared for; None without pairs."""
    found = [difference.verdict for pair in pairs for difference in _primary(pair)]
    return ", ".join(f"{found.count(word)} {word.lower()}" for word in dict.fromkeys(found)) or None


def _leading_number(report: Report) -> str:
    measure = leading_measure(report) or ""
    found = next((agent.measures[measure] for agent in report.agents.values() if measure in agent.measures), None)
    if found is None:
        return "Measured"
    return f"{with_words(measure)} {SegmentMean(found.mean, Interval(found.low, found.high), None).text}"


def _primary(pair: Pair) -> list[Difference]:
    return [difference for difference in pair.differences if difference.measure == pair.primary]


def _verdict_rows(pairs: Sequence[Pair]) -> Iterator[VerdictRow]:
    found = [(pair, difference) for pair in pairs for difference in _primary(pair)]
    scale = scale_of([0.0, *(end for _, each in found for end in (each.low, each.high, each.difference))])
    for pair, each in found:
        mean = each.difference
        mark = None if scale is None or mean is None else whisker(scale, mean, each.low, each.high)
        zero = None if scale is None else scale.at(0.0)
        difference, interval = Number(mean, signed=True).text, Interval(each.low, each.high, signed=True).text
        yield VerdictRow(
            pair.candidate, pair.baseline, each.measure, each.verdict, each.reason, difference, interval, mark, zero
        )  # fmt: skip


def _dot_plot(report: Report, measure: str) -> DotPlot:
    found = {name: agent.measures[measure] for name, agent in report.agents.items() if measure in agent.measures}
    scale = scale_of(end for each in found.values() for end in (each.mean, each.low, each.high))
    rows = []
    for name, each in found.items():
        mark = None if scale is None or each.mean is None else whisker(scale, each.mean, each.low, each.high)
        rows.append(DotRow(name, Number(each.mean).text, Interval(each.low, each.high).text, each.cases, mark))
    baselines = {pair.baseline for pair in report.pairs}
    base = found.get(next(iter(baselines))) if len(baselines) == 1 else None
    line = None if base is None or base.mean is None or scale is None else scale.at(base.mean)
    return DotPlot(measure, tuple(rows), () if scale is None else scale.ticks, line)
