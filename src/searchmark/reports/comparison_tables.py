"""Tables and sentences about several runs, gates and advice that all renderers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from searchmark.config.gates import GATE_POLICIES, NUMBER_BOUNDS, NumberBound
from searchmark.gates import quantities
from searchmark.gates.pins import EVERY_CASE
from searchmark.gates.quantities import MOST_CASES, SIGNS, digits_beside_bound
from searchmark.gates.rules import GateVerdict, RuleResult
from searchmark.measures.catalogue import with_words
from searchmark.records.provenance import IndexBuild
from searchmark.records.sentences import plain_count
from searchmark.reports import cells
from searchmark.reports.cases import CaseSummary
from searchmark.reports.cells import UNDEFINED, Row, Table, table
from searchmark.reports.failed_cases import FailedCase, count_failed, failed_cases
from searchmark.reports.report import (
    AffectedCase,
    AgentSummary,
    Recommendation,
    Report,
    SnapshotEffect,
    host_labels,
    measure_named,
    outcome_of,
    why_latencies_not_comparable,
)
from searchmark.reports.run_tables import LATENCY_COLUMNS, all_latencies, expected_text, latency_row, list_names, returned_text
from searchmark.scoring.comparison import Pair
from searchmark.scoring.scores import Summary
from searchmark.scoring.verdicts import Difference

MOVES_SHOWN = 3  # of a case

GONE_SHOWN = 2  # targets of a case

AFFECTED_SHOWN = 10  # cases, in either direction

CAUSES_SHOWN = 3  # cases of a rule that is not met

_SPEEDS = ("cold", "warm", "index_only")

_SIZES = ("index size", "peak memory")

_EVIDENCE = ("difference", "95 % interval", "p (Holm)", "wins/ties/losses", "detectable")


# Which run beats which with evidence, by letter, as tables in papers show it.


def letters(count: int) -> list[str]:
    """a, b, ..., z, aa, ab, ...: names for up to 702 runs."""
    alphabet = [chr(ord("a") + n) for n in range(26)]
    return [*alphabet, *(first + second for first in alphabet for second in alphabet)][:count]


def beaten_by(pairs: Sequence[Pair], names: Sequence[str], measure: str) -> dict[str, list[str]]:
    """For every run the letters of the runs that it beats with evidence."""
    letter = dict(zip(names, letters(len(names)), strict=True))
    beats: dict[str, list[str]] = {name: [] for name in names}
    for pair in pairs:
        for difference in pair.differences:
            if difference.measure == measure and difference.verdict == "IMPROVED":
                beats[difference.candidate].append(letter[difference.baseline])
            elif difference.measure == measure and difference.verdict == "REGRESSED":
                beats[difference.baseline].append(letter[difference.candidate])
    return beats


def standing_table(report: Report) -> Table:
    """For every run its letter, its name, and per measure its mean with the letters of the runs that it beats."""
    names = list(report.agents)
    measures = list(next(iter(report.agents.values())).measures)
    beats = {measure: beaten_by(report.pairs, names, measure) for measure in measures}
    rows = []
    for letter, name in zip(letters(len(names)), names, strict=True):
        agent = report.agents[name]
        means = (cells.ranked_mean(agent.measures[measure].mean, beats[measure][name]) for measure in measures)
        doubt = "" if agent.status == "ok" else f" ({agent.status})"
        rows.append((letter, f"{name}{doubt}", *means))
    return table(("", "run", *measures), rows, keys=2)


# How fast the runs are, and how large.


def speed_table(report: Report) -> Table:
    """The runs side by side: how fast, how large; no row if none of them was watched, and no time of different hosts."""
    agents = report.agents if any(agent.latency_ms or agent.hosts for agent in report.agents.values()) else {}
    if why_latencies_not_comparable(report) is not None:
        return table(("run", *_SIZES), ((name, *_sizes(agent)) for name, agent in agents.items()))
    kinds = _SPEEDS if any("index_only" in agent.latency_ms for agent in agents.values()) else _SPEEDS[:2]
    columns = [f"{kind.replace('_', ' ')} p50 / p95" for kind in kinds]
    return table(("run", *columns, "index time", *_SIZES), (_speed_row(name, agent, kinds) for name, agent in agents.items()))


def _speed_row(name: str, agent: AgentSummary, kinds: Sequence[str]) -> Row:
    latencies = map(agent.latency_ms.get, kinds)
    times = (cells.median_and_tail(None, None) if each is None else cells.median_and_tail(each.p50, each.p95) for each in latencies)
    return (name, *times, cells.seconds((agent.index or IndexBuild()).seconds), *_sizes(agent))


def _sizes(agent: AgentSummary) -> Row:
    return (cells.size((agent.index or IndexBuild()).bytes), cells.size(agent.run.memory_bytes))


def other_latencies(report: Report) -> Table:
    """The latencies that the table of speeds has no column for: to the first hit, less what agents state, of single hosts."""
    labels = host_labels(report)
    in_columns = tuple(kind.replace("_", " ") for kind in _SPEEDS)
    latencies = ((name, each) for name, agent in report.agents.items() for each in all_latencies(agent, labels.get(name, "")))
    rows = ((name, *latency_row(*each)) for name, each in latencies if each[0].partition(" (")[0] not in in_columns)
    return table(("run", *LATENCY_COLUMNS), rows, keys=2, secondary=("p99", "p90"))


# Pairs of runs, and one agent in two snapshots.


def _evidence(difference: Difference) -> Row:
    return (
        cells.number(difference.difference, signed=True),
        cells.interval(difference.low, difference.high, mean=difference.difference, signed=True),
        cells.p_value(difference.p_holm),
        cells.wins_ties_losses(difference.wins, difference.ties, difference.losses) if difference.cases else None,
        cells.number(difference.detectable),
    )


def pair_table(pair: Pair) -> Table:
    """One row per measure: candidate minus baseline, its evidence and what follows from it."""
    rows = ((with_words(each.measure), *_evidence(each), cells.verdict(each.verdict)) for each in pair.differences)
    return table(("measure", *_EVIDENCE, "verdict"), rows, secondary=_EVIDENCE[:1:-1])


def verdict_table(report: Report) -> Table:
    """Every pair on every measure, in one table."""
    rows = (
        (pair.candidate, pair.baseline, each.measure, *_evidence(each)[:4], cells.verdict(each.verdict))
        for pair in report.pairs
        for each in pair.differences
    )
    return table(("run", "against", "measure", *_EVIDENCE[:4], "verdict"), rows, keys=3, secondary=_EVIDENCE[3:1:-1])


def pair_segment_tables(pair: Pair) -> Iterator[Table]:
    for segment, values in pair.segments.items() if pair.why_untrusted is None else ():
        rows = (
            (value, each.cases, each.measure, *_evidence(each)[:3], cells.verdict(_segment_verdict(each)))
            for value, differences in values.items()
            for each in differences
        )
        yield table(
            (segment, "cases", "measure", *_EVIDENCE[:3], "verdict"), rows, f"by {segment}", keys=3, secondary=_EVIDENCE[2:3]
        )


def _segment_verdict(difference: Difference) -> str:
    return difference.verdict if difference.low is not None or difference.verdict == "INVALID" else "too few cases"


def pair_sentences(pair: Pair) -> Iterator[str]:
    """Why each verdict is what it is, how much a sensitive suite would need, and how much changed for users."""
    if pair.why_untrusted is not None:
        yield f"INVALID: {pair.why_untrusted}"
        return
    for each in pair.differences:
        yield f"{each.measure}: {each.verdict}, {each.reason}{_how_many_more(each)}"
    churn = pair.churn
    depth = "never" if churn.parting_depth is None else f"at rank {churn.parting_depth:g} (median)"
    yield (
        f"churn on {churn.cases} cases that both answered: the first hit changed in {churn.first_changed}, "
        f"overlap of the first hits {churn.overlap:.2f}, the lists part {depth}"
    )


def _how_many_more(difference: Difference) -> str:
    """How many cases would settle an open question, if what was observed were true."""
    if difference.verdict != "INCONCLUSIVE" or difference.difference is None or difference.low is None:
        return ""
    if difference.too_small:
        return f"; a true difference of {difference.difference:+.4f} is too small to count, whatever the number of cases"
    more = 0 if difference.cases_needed is None else difference.cases_needed - difference.independent
    return f"; about {more} more independent cases would show a true difference of {difference.difference:+.4f}" if more > 0 else ""


def moved_cases_table(pair: Pair) -> Table:
    """The cases that moved most, and where their targets went."""
    rows = []
    for case in pair.telling if pair.why_untrusted is None else ():
        moves = (f"{move.target}: {move.before or UNDEFINED} → {move.after or UNDEFINED}" for move in case.moves[:MOVES_SHOWN])
        rows.append((case.case, case.query or "", cells.number(case.before), cells.number(case.after), ", ".join(moves)))
    return table(("case", "query", "before", "after", "moves"), rows, "most telling cases")


def snapshot_table(effect: SnapshotEffect) -> Table:
    """The cases that another snapshot gets most wrong, in either direction."""
    cases = (*effect.lower[:AFFECTED_SHOWN], *effect.higher[:AFFECTED_SHOWN])
    return table(("case", "query", effect.reference, effect.other, "why"), map(_affected_row, cases))


def _affected_row(case: AffectedCase) -> Row:
    has_lost_targets = case.gone and case.other < case.reference
    why = f"{case.why}: {', '.join(case.gone[:GONE_SHOWN])}" if has_lost_targets else case.why
    return (case.case, case.query or "", cells.number(case.reference), cells.number(case.other), why)


# What a gate has to say: the one line, the rules, those that are not met first, and the cases that caused it.


def gate_sentence(report: Report) -> str | None:
    """The one line that says how a gate ended: what is wrong, or that all is well."""
    if report.gate is None or (report.gate.verdict == "passed" and report.agents and outcome_of(report) == "untrusted"):
        return None
    rules, verdict = report.gate.rules, report.gate.verdict
    if verdict == "passed":
        return f"gate passed: {rules[0].message}" if len(rules) == 1 else f"gate passed: all {len(rules)} rules are met"
    bad = _rules_not_passed(report)
    return f"gate {verdict}: {_first_line(bad[0]) if len(bad) == 1 else _rule_counts(bad)}"


def _rules_not_passed(report: Report) -> list[RuleResult]:
    return [rule for rule in (report.gate.rules if report.gate else ()) if rule.verdict != "passed"]


def _rule_counts(rules: list[RuleResult]) -> str:
    failed = sum(rule.verdict == "failed" for rule in rules)
    counts = ((failed, "not met"), (len(rules) - failed, "that cannot be checked"))
    return " and ".join(f"{plain_count(count, 'rule')} {fate}" for count, fate in counts if count)


def gate_lines(report: Report) -> Iterator[str]:
    """What else is to be said of a gate: each rule that is not met and the cases that caused it."""
    bad = _rules_not_passed(report)
    for rule in bad:
        if len(bad) > 1:
            yield f"{rule.verdict}: {_first_line(rule)}"
        yield from (f"  {line}" for line in rule.message.split("\n")[1:])
        yield from (f"  {line}" for line in cause_lines(report, rule))


def _first_line(rule: RuleResult) -> str:
    return rule.message.split("\n", 1)[0]


def cause_lines(report: Report, rule: RuleResult) -> Iterator[str]:
    """The cases that caused it: what was asked, and what it took; or what was expected, and what came."""
    agent = report.agents.get(rule.run or "")
    cases = [] if agent is None else [(name, agent.cases[name]) for name in rule.cases if name in agent.cases]
    amounts = dict(zip(rule.cases, rule.amounts, strict=False))  # most rules have none
    for name, case in cases[:CAUSES_SHOWN]:
        query = f" {case.query!r}" if case.query else ""
        yield f"{name}{query}: {amounts.get(name) or _expected_and_got(case)}"
    if len(cases) > CAUSES_SHOWN:
        at_least = "" if len(rule.cases) < MOST_CASES else "at least "  # a rule does not name more
        yield f"and {at_least}{plain_count(len(cases) - CAUSES_SHOWN, 'more case')}"


def _expected_and_got(case: CaseSummary) -> str:
    expected = list_names([each.target for each in case.expected])
    return f"expected {expected}; got {list_names([hit.id for hit in case.hits])}"


def rule_table(report: Report) -> Table:
    """Every rule, those that are not met first."""
    rules = sorted(report.gate.rules if report.gate else (), key=lambda rule: rule.verdict == "passed")
    return table(("rule", "expected", "actual", "verdict"), map(_rule_row, rules))


def _rule_row(rule: RuleResult) -> Row:
    subject, expected = quantities.rule_subject(rule.subject, rule.where), quantities.expected_text(rule.bound, rule.expected)
    return subject, expected, actual_text(rule), rule.verdict


def rule_name(rule: RuleResult) -> str:
    """A rule as it was written."""
    return quantities.rule_name(rule.subject, rule.where, rule.bound, rule.expected)


def actual_text(rule: RuleResult) -> str:
    """What came instead, with enough digits to differ from what was expected."""
    if rule.actual is None:
        return UNDEFINED
    if isinstance(rule.actual, str):
        return rule.actual
    if rule.bound in GATE_POLICIES:
        return f"{rule.actual:+.4f}"
    return digits_beside_bound(rule.actual, rule.expected) if isinstance(rule.expected, float | int) else f"{rule.actual:.4g}"


# What a gate asks of numbers, as lines: met, met but not safely, missed, or unknown.

# ``close`` is met, but the bound lies within the interval of the mean: other cases of the same kind could miss it. So could a
# mean of too ``few`` cases for an interval, and an ``open`` one, whose interval the report does not have.
TargetState = Literal["met", "close", "few", "open", "missed", "unknown"]

MARKS: Mapping[TargetState, str] = {"met": "✅", "close": "⚠️", "few": "⚠️", "open": "⚠️", "missed": "❌", "unknown": "–"}

# What a mark means, for those who cannot see it.
STATES: dict[TargetState, str] = {
    "met": "met",
    "close": "met, but within the interval",
    "few": "met, too few cases for an interval",
    "open": "met, without an interval: the report is not split by this",
    "missed": "missed",
    "unknown": "unknown",
}

_NOT_PASSED: Mapping[GateVerdict, TargetState] = {"failed": "missed", "unresolvable": "unknown", "untrusted": "unknown"}


@dataclass(frozen=True)
class TargetLine:
    """A number that a rule of the gate is about, and what became of it."""

    run: str | None  # the worst of several
    subject: str
    words: str  # what users call the number, ours beside it where that differs
    where: Mapping[str, str]  # of which cases it is
    value: float | None
    low: float | None
    high: float | None
    expected: float
    bound: NumberBound
    state: TargetState
    unit: str = ""
    tells_quality: bool = True  # what does not, such as how much was judged, has no mark

    @property
    def mark(self) -> str:
        return MARKS[self.state] if self.tells_quality else ""


def target_lines(report: Report) -> tuple[TargetLine, ...]:
    """A line for every rule of the gate that is about a number, in the order of the rules."""
    return tuple(
        _target_line(report, rule, float(rule.expected), rule.actual)
        for rule in (report.gate.rules if report.gate else ())
        if rule.bound in NUMBER_BOUNDS and isinstance(rule.expected, float | int) and not isinstance(rule.actual, str)
    )


def _target_line(report: Report, rule: RuleResult, expected: float, actual: float | None) -> TargetLine:
    subject = rule.subject.removeprefix(f"{rule.run}: ")
    agent = report.agents.get(rule.run or "")
    mean = None if agent is None else _mean(agent, rule.where, subject)
    low, high = (None, None) if mean is None or actual is None else (mean.low, mean.high)
    is_mean = agent is not None and subject in agent.measures
    measure = measure_named(report, subject.removesuffix(EVERY_CASE))
    bound = cast("NumberBound", rule.bound)
    return TargetLine(
        run=rule.run,
        subject=subject,
        words=rule.words or subject,
        where=rule.where,
        value=actual,
        low=low,
        high=high,
        expected=expected,
        bound=bound,
        state=_NOT_PASSED.get(rule.verdict) or (_state_of_mean(bound, expected, mean) if is_mean else "met"),
        unit=rule.unit,
        tells_quality=measure is None or measure.tells_quality,
    )


def _mean(agent: AgentSummary, where: Mapping[str, str], subject: str) -> Summary | None:
    """What the report knows of a mean; None if the number is none, or is one of cases that the report does not split off."""
    if not where:
        return agent.measures.get(subject)
    ((by, value),) = where.items()
    return agent.segments.get("tag" if by == "tags" else by, {}).get(value, {}).get(subject)


def _state_of_mean(bound: NumberBound, expected: float, mean: Summary | None) -> TargetState:
    """What becomes of a mean that meets its bound: the fewer cases, the less that says."""
    if mean is None:
        return "open"
    if mean.low is None or mean.high is None:
        return "few"
    return "close" if (mean.low < expected if bound in ("at_least", "above") else mean.high > expected) else "met"


_CELL_OF_UNIT: dict[str, Callable[[float | None], cells.Cell]] = {
    "ms": cells.milliseconds,
    "s": cells.seconds,
    "bytes": cells.size,
    **dict.fromkeys(("tokens", "attempts", "searches"), cells.amount),
}


def gated_value(line: TargetLine) -> cells.Cell:
    """The number that was asked for: with as many digits as tell it from its bound."""
    kind = _CELL_OF_UNIT.get(line.unit, cells.number)
    cell = kind(line.value)
    if line.value in (None, line.expected) or cell.text != kind(line.expected).text:
        return cell
    return replace(cell, text=f"{digits_beside_bound(line.value, line.expected)} {line.unit}".rstrip())


def target_table(report: Report) -> Table:
    """Every number that a gate asked for: its mark, what it is, and what was asked of it."""
    columns = ("", "measure", "value", "95 % interval", "target", "result")
    return table(columns, map(_target_row, target_lines(report)), keys=2)


def _target_row(line: TargetLine) -> Row:
    value, interval = gated_value(line), cells.interval(line.low, line.high)
    return line.mark, target_subject(line), value, interval, bound_text(line), STATES[line.state]


def target_subject(line: TargetLine) -> str:
    """What a target is about, in the user's words and ours, and of which cases."""
    words = with_words(line.subject) if line.words == line.subject else line.words
    return "".join([words, *(f" in {by} {value}" for by, value in line.where.items())])


def bound_text(line: TargetLine) -> str:
    """The bound of a target, with its unit."""
    return f"{SIGNS[line.bound]} {line.expected:.12g} {line.unit}".rstrip()


# What a reader does next: look at failed cases, follow advice.


def failed_table(report: Report, run: str) -> Table:
    """The cases of a run that failed: what was asked, why it failed, what was expected, what came."""
    columns = ("case", "query", "why", "expected", "first hits")
    return table(columns, map(_failed_row, failed_cases(report, run)), "failed queries")


def _failed_row(failed: FailedCase) -> Row:
    case = failed.case
    return failed.id, case.query or "", ", ".join(failed.reasons), expected_text(case.expected), returned_text(case)


def more_failed(report: Report, run: str, shown_count: int) -> str | None:
    """How many cases failed that are not shown."""
    rest = count_failed(report, run) - shown_count
    return f"{plain_count(rest, 'more query', 'more queries')} failed; the JSON and the CSV have every case." if rest > 0 else None


def recommendation_sentences(report: Report) -> Iterator[str]:
    """Every piece of advice: what was seen, what to do, and the cases that show it."""
    return (_recommendation_text(each, len(report.agents) > 1) for each in report.recommendations)


def _recommendation_text(each: Recommendation, several: bool) -> str:
    run = f"{each.run}: " if several and each.run is not None else ""
    cases = f" ({list_names(each.cases)})" if each.cases else ""
    return f"{run}{each.seen}: {each.advice}{cases}"
