"""The HTML file: template, policy, style and script; also the page of an audit."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from searchmark.audit.check import Audit, by_theme
from searchmark.measures.catalogue import in_words, with_words
from searchmark.records.finding import Finding
from searchmark.records.sentences import plain_count
from searchmark.reports import cells, comparison_tables
from searchmark.reports.audit import audit_cells, not_checked, shown_tables
from searchmark.reports.cells import Table
from searchmark.reports.comparison_tables import (
    STATES,
    TargetLine,
    bound_text,
    gated_value,
    rule_table,
    target_lines,
    target_subject,
)
from searchmark.reports.page.case_data import case_data
from searchmark.reports.page.pictures import (
    Attributes,
    Tick,
    Whisker,
    by_class,
    distributions,
    draw,
    heat_maps,
    histories,
    interval_marks,
    leakage_maps,
    scale_of,
    scatter,
    whisker,
)
from searchmark.reports.parts import Heading, Part, effect_parts, failure_parts, pair_parts, run_parts
from searchmark.reports.quoting import visible
from searchmark.reports.report import (
    Outcome,
    Report,
    first_sentence,
    leading_measure,
    measure_names,
    outcome_of,
    why_latencies_not_comparable,
)
from searchmark.reports.run_tables import (
    ann_table,
    finding_counts,
    history_lines,
    perturbation_table,
    stability_table,
    usage_table,
)
from searchmark.scoring.comparison import Pair
from searchmark.scoring.verdicts import Difference

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment


# What is on the page above the cases: records that the template only has to write down.

_HEADLINES: dict[str, str] = {
    "passed": "Gate passed",
    "failed": "Gate failed",
    "unresolvable": "Gate cannot be decided",
    "untrusted": "Do not trust this result",
    "nothing evaluated": "Nothing was evaluated",
}


# Which of the page's colours a word gets; each also has its own sign.
_WORD_TONES = {
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


def tone_of(word: str) -> str:
    return _WORD_TONES.get(word, "open")


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
        return tone_of(self.verdict)

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
    """All runs on one measure, on one scale."""

    measure: str
    rows: tuple[DotRow, ...]
    ticks: tuple[Tick, ...]
    line: float | None  # where the baseline of all others is


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
        return tone_of(self.outcome)

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
        gate = comparison_tables.gate_sentence(self.report)
        if gate is not None:
            sentence = gate.removeprefix(f"gate {self.outcome}: ")  # the headline says that already
            return f"{sentence[0].upper()}{sentence[1:].removesuffix('.')}."
        count = len(self.verdicts)
        comparisons = f"{plain_count(count, 'comparison')} by {with_words(self.report.pairs[0].primary)}. " if count else ""
        return f"{comparisons}No gate was asked for."

    @property
    def about(self) -> str:
        """Size and time of what was measured, in a line."""
        runs = len(self.report.agents)
        start = min((agent.run.started for agent in self.report.agents.values() if agent.run.started), default=None)
        when = [] if start is None else [f"{start:%Y-%m-%d %H:%M} {start.tzname() or ''}".strip()]
        return " · ".join([plain_count(self.report.suite.cases, "case"), plain_count(runs, "run"), *when])

    @property
    def gate_lines(self) -> list[str]:
        return [line.strip() for line in comparison_tables.gate_lines(self.report)]

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.report.audit if finding.severity == "error"]

    @cached_property
    def known_cases(self) -> set[str]:
        """The cases that the page can open; findings may name others, such as those that a run has and the suite has not."""
        return {case for agent in self.report.agents.values() for case in agent.cases}

    @property
    def verdicts(self) -> list[VerdictRow]:
        return list(_verdict_rows(self.report.pairs))

    @property
    def pair_details(self) -> list[Part]:
        """Every pair on every measure, in single cases and in parts of the suite."""
        return [part for pair in self.report.pairs for part in pair_parts(pair)]

    @property
    def dot_plots(self) -> list[DotPlot]:
        return [_dot_plot(self.report, measure) for measure in measure_names(self.report)]

    @property
    def standing(self) -> Table:
        return comparison_tables.standing_table(self.report)

    @property
    def runs_in_full(self) -> list[Part]:
        return [part for name in self.report.agents for part in (Heading(name), *run_parts(self.report, name))]

    @property
    def failures(self) -> list[Part]:
        """Every kind of failure of every run: a sentence, and where in the agent the first one arose."""
        several = len(self.report.agents) > 1
        agents = self.report.agents.items()
        return [part for name, agent in agents for part in failure_parts(agent, f"{name}: " if several else "")]

    @property
    def targets(self) -> list[TargetRow]:
        return list(map(_target_row, target_lines(self.report)))

    @property
    def snapshots(self) -> list[Part]:
        return [part for effect in self.report.snapshot_effects for part in effect_parts(effect)]


def _target_row(line: TargetLine) -> TargetRow:
    sign, tone = _TARGET_SIGNS[line.state] if line.tells_quality else ("", "calm")
    interval = "" if line.low is None else f" ({cells.interval(line.low, line.high).text})"
    value = f"{gated_value(line).text}{interval}"
    return TargetRow(sign, tone, STATES[line.state], target_subject(line), line.run, value, bound_text(line))


def page_of(report: Report) -> Page:
    return Page(report)


def _counted_verdicts(pairs: Sequence[Pair]) -> str | None:
    """How many pairs ended in which verdict on the measure they were compared for; None without pairs."""
    verdicts = [difference.verdict for pair in pairs for difference in _primary(pair)]
    return ", ".join(f"{verdicts.count(word)} {word.lower()}" for word in dict.fromkeys(verdicts)) or None


def _leading_number(report: Report) -> str:
    measure = leading_measure(report) or ""
    summary = next((agent.measures[measure] for agent in report.agents.values() if measure in agent.measures), None)
    if summary is None:
        return "Measured"
    return f"{with_words(measure)} {cells.segment_mean(summary.mean, cells.interval(summary.low, summary.high), None).text}"


def _primary(pair: Pair) -> list[Difference]:
    return [difference for difference in pair.differences if difference.measure == pair.primary]


def _verdict_rows(pairs: Sequence[Pair]) -> Iterator[VerdictRow]:
    differences = [(pair, difference) for pair in pairs for difference in _primary(pair)]
    scale = scale_of([0.0, *(end for _, each in differences for end in (each.low, each.high, each.difference))])
    for pair, each in differences:
        mean = each.difference
        mark = None if scale is None or mean is None else whisker(scale, mean, each.low, each.high)
        zero = None if scale is None else scale.at(0.0)
        difference, interval = cells.number(mean, signed=True).text, cells.interval(each.low, each.high, signed=True).text
        names = pair.candidate, pair.baseline, each.measure
        yield VerdictRow(*names, each.verdict, each.reason, difference, interval, mark, zero)


def _dot_plot(report: Report, measure: str) -> DotPlot:
    summaries = {name: agent.measures[measure] for name, agent in report.agents.items() if measure in agent.measures}
    scale = scale_of(end for each in summaries.values() for end in (each.mean, each.low, each.high))
    rows = []
    for name, each in summaries.items():
        mark = None if scale is None or each.mean is None else whisker(scale, each.mean, each.low, each.high)
        rows.append(DotRow(name, cells.number(each.mean).text, cells.interval(each.low, each.high).text, each.cases, mark))
    baselines = {pair.baseline for pair in report.pairs}
    base = summaries.get(next(iter(baselines))) if len(baselines) == 1 else None
    line = None if base is None or base.mean is None or scale is None else scale.at(base.mean)
    return DotPlot(measure, tuple(rows), () if scale is None else scale.ticks, line)


# The file itself: shell, style, script and data, under a policy that runs nothing else.

# In the order in which they need each other: together they are one script.
SCRIPTS = ("data", "state", "selection", "elements", "table", "answers", "case", "main")

# What the template shows of a report under the name of its function: drawings, lines and tables.
PARTS: tuple[Callable[[Report], object], ...] = (
    heat_maps, leakage_maps, distributions, scatter, histories, history_lines, why_latencies_not_comparable, rule_table,
    comparison_tables.speed_table, usage_table, ann_table, stability_table, perturbation_table,
)  # fmt: skip

_PIECES = 1 << 10  # parts of the template that are handed on at once


def to_html(report: Report, sweep: Mapping[str, object] | None = None) -> Iterator[str]:
    """The pieces of a page that shows everything a report holds; that of a sweep begins with the sweep."""
    # Escaped for a script element, where HTML's own escapes mean nothing.
    data = map(_environment().filters["ours"], case_data(report))
    parts = {each.__name__: each(report) for each in PARTS}
    return fill_template("page.html", script_text(), page=page_of(report), data=data, sweep=sweep, **parts)


def fill_template(template: str, script: str = "", **values: Any) -> Iterator[str]:
    """The pieces of a page made from one of our templates; it may run this script and nothing else."""
    ours = _environment().filters["ours"]
    style = _file("style.css")
    parts = {"policy": policy(style, script), "style": ours(style), "script": ours(script)}
    stream = _environment().get_template(template).stream(**parts, **values)
    stream.enable_buffering(_PIECES)
    return iter(stream)


def policy(style: str, script: str) -> str:
    """What a browser may do with the page: apply this style, run this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def script_text() -> str:
    """All of the script, as it is in the page."""
    return "\n".join(('"use strict";', *(_file(f"script/{name}.js") for name in SCRIPTS)))


@cache
def _file(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import FunctionLoader

    return safe_environment(FunctionLoader(_file))


def safe_environment(loader: BaseLoader, longest: int | None = None, look: Attributes = by_class) -> Environment:
    """Templates in which every text is made visible, cut, then escaped, wherever it comes from; drawings look as is said.

    Also one that says it needs no escaping, as `Markup` does: only what the filters `ours` and `drawn` let through, which is what
    our own macros and drawings have made, and files of ours.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    class Ours(Markup):
        """Markup that this package has written."""

    def harmless(value: Any) -> Any:
        return visible(str.__str__(value), longest) if isinstance(value, str) and not isinstance(value, Ours) else value

    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, finalize=harmless, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"ours": Ours, "with_words": with_words, "in_words": in_words, "plain_count": plain_count}
    environment.filters["drawn"] = lambda marks: Ours(draw(marks, look))
    environment.globals["interval_marks"] = interval_marks
    return environment


# An audit as one page: errors, then other findings by theme, with their cases, and the tables behind them. It has no script.

_SENTENCES = {
    "error": "A number or a verdict cannot mean what it says, as long as the errors below are there.",
    "warning": "Numbers may mislead as long as the warnings below are there.",
    "note": "Nothing speaks against the numbers; the notes below are to know.",
    "": "No check has found anything.",
}

_SEVERITY_TONES = {"error": "bad", "warning": "open", "note": "calm", "": "good"}


@dataclass(frozen=True)
class ThemeSection:
    """Findings under one heading."""

    title: str
    findings: tuple[Finding, ...]

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class AuditPage:
    """An audit as the template sees it."""

    audit: Audit

    @property
    def title(self) -> str:
        return self.audit.suite or "Published numbers"

    @property
    def about(self) -> str:
        return "Audit" if self.audit.suite is None else f"Audit · {plain_count(self.audit.cases, 'case')}"

    @property
    def headline(self) -> str:
        return (finding_counts(self.audit.findings) or "no findings").capitalize()

    @property
    def _worst(self) -> str:
        severities = [each.severity for each in self.audit.findings]
        return next((severity for severity in ("error", "warning", "note") if severity in severities), "")

    @property
    def tone(self) -> str:
        return _SEVERITY_TONES[self._worst]

    @property
    def sentence(self) -> str:
        return _SENTENCES[self._worst]

    @property
    def not_checked(self) -> list[str]:
        return list(not_checked(self.audit))

    @property
    def errors(self) -> list[Finding]:
        """Of all themes: nothing that matters less is above them."""
        return [each for each in self.audit.findings if each.severity == "error"]

    @cached_property
    def themes(self) -> list[ThemeSection]:
        """All other findings, those with a warning first."""
        others = by_theme(each for each in self.audit.findings if each.severity != "error")
        sections = (ThemeSection(title, tuple(findings)) for title, findings in others.items())
        return sorted(sections, key=lambda each: each.findings[0].severity == "note")  # in each the worst is first

    @cached_property
    def tables(self) -> list[tuple[Table, str]]:
        return [(audit_cells(numbers), numbers.title) for numbers in shown_tables(self.audit)]


def audit_html(audit: Audit) -> Iterator[str]:
    """The pieces of the page."""
    return fill_template("audit.html", page=AuditPage(audit))
