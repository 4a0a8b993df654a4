"""The tables and sentences that all renderers share: which cell goes where."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.analysis.comparison import Pair
from searchmark.analysis.latencies import Latency
from searchmark.analysis.scores import Summary
from searchmark.analysis.verdicts import Difference
from searchmark.gates.quantities import MOST_CASES
from searchmark.gates.rules import RuleResult
from searchmark.records import IndexBuild
from searchmark.reports.case_records import CaseSummary
from searchmark.reports.cells import (
    UNDEFINED,
    Bytes,
    Cell,
    Count,
    Interval,
    MedianAndTail,
    Milliseconds,
    Number,
    PValue,
    RankedMean,
    Seconds,
    SegmentMean,
    Table,
    Text,
    Verdict,
    WinsTiesLosses,
    table,
)
from searchmark.reports.gate_rows import rule_notes
from searchmark.reports.report import AgentSummary, Report
from searchmark.reports.snapshot_effect import AffectedCase, SnapshotEffect
from searchmark.reports.standing import beaten_by, letters

Row = tuple[Cell, ...]

HITS_SHOWN = 3
MOVES_SHOWN = 3
GONE_SHOWN = 2
AFFECTED_SHOWN = 10
CAUSES_SHOWN = 3
TARGETS_SHOWN = 5


def measure_table(agent: AgentSummary) -> Table:
    columns = ("measure", "mean", "95 % interval", "median", "std", "cases", "mean if answered")
    return table(columns, (_measure_row(name, summary) for name, summary in agent.measures.items()))


def _measure_row(name: str, found: Summary) -> Row:
    spread = (Number(found.mean), Interval(found.low, found.high), Number(found.median), Number(found.std))
    return (Text(name), *spread, Count(found.cases), Number(found.answered_mean))


def segment_tables(agent: AgentSummary) -> Iterator[Table]:
    """One row per value: how many cases, then the mean of each measure, with its own count where that differs."""
    for segment, values in agent.segments.items():
        rows = []
        for value, summaries in values.items():
            cases = max((summary.cases for summary in summaries.values()), default=0)
            rows.append((Text(value), Count(cases), *(_segment_mean(summary, cases) for summary in summaries.values())))
        yield table((segment, "cases", *agent.measures), rows, f"by {segment}")


def _segment_mean(found: Summary, cases: int) -> SegmentMean:
    return SegmentMean(found.mean, Interval(found.low, found.high, digits=2), None if found.cases == cases else found.cases)


def latency_table(agent: AgentSummary) -> Table:
    """One row per kind; a search that failed counts with the time that it took, a time-out with its deadline."""
    columns = ("latency (closed loop)", "p50", "p90", "p95", "p99", "searches", "failed")
    return table(columns, (_latency_row(kind, found) for kind, found in agent.latency_ms.items()))


def _latency_row(kind: str, found: Latency) -> Row:
    times = map(Milliseconds, (found.p50, found.p90, found.p95, found.p99))
    return (Text(kind.replace("_", " ")), *times, Count(found.samples), Count(found.failures))


def preparation(agent: AgentSummary) -> str | None:
    """What it took to get the agent ready, in a line."""
    index, memory = agent.index, agent.run.memory_bytes
    if index is None:
        return None
    parts = ["index" if index.seconds is None else f"index: {Seconds(index.seconds).text}"]
    if index.updates:
        parts.append(f"{_counted(index.full_builds, 'full build')}, {_counted(index.updates, 'incremental update')}")
    parts += [] if index.bytes is None else [f"{Bytes(index.bytes).text} large"]
    parts += [] if memory is None else [f"peak memory {Bytes(memory).text}"]
    parts += [] if agent.start_seconds is None else [f"process start {Seconds(agent.start_seconds).text}"]
    parts += [f"cost {agent.cost['total']:g}"] if agent.cost else []
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


_EVIDENCE = ("difference", "95 % interval", "p (Holm)", "wins/ties/losses", "detectable")


def _evidence(found: Difference) -> Row:
    return (
        Number(found.difference, signed=True),
        Interval(found.low, found.high, signed=True),
        PValue(found.p_holm),
        WinsTiesLosses(found.wins, found.ties, found.losses),
        Number(found.detectable),
    )


def pair_table(pair: Pair) -> Table:
    """One row per measure: candidate minus baseline, its evidence and what follows from it."""
    rows = ((Text(found.measure), *_evidence(found), Verdict(found.verdict)) for found in pair.differences)
    return table(("measure", *_EVIDENCE, "verdict"), rows)


def verdict_table(report: Report) -> Table:
    """Every pair on every measure, in one table."""
    rows = (
        (Text(pair.candidate), Text(pair.baseline), Text(found.measure), *_evidence(found)[:4], Verdict(found.verdict))
        for pair in report.pairs
        for found in pair.differences
    )
    return table(("run", "against", "measure", *_EVIDENCE[:4], "verdict"), rows)


def pair_segment_tables(pair: Pair) -> Iterator[Table]:
    for segment, values in pair.segments.items():
        rows = (
            (Text(value), Count(found.cases), Text(found.measure), *_evidence(found)[:3], Verdict(_segment_verdict(found)))
            for value, differences in values.items()
            for found in differences
        )
        yield table((segment, "cases", "measure", *_EVIDENCE[:3], "verdict"), rows, f"by {segment}")


def _segment_verdict(found: Difference) -> str:
    return found.verdict if found.low is not None or found.verdict == "INVALID" else "too few cases"


def pair_sentences(pair: Pair) -> Iterator[str]:
    """Why each verdict is what it is, how much a sensitive suite would need, and how much changed for users."""
    for found in pair.differences:
        yield f"{found.measure}: {found.verdict}, {found.reason}{_how_many_more(found)}"
    churn = pair.churn
    depth = "never" if churn.parting_depth is None else f"at rank {churn.parting_depth:g} (median)"
    yield (
        f"churn on {churn.cases} cases that both answered: the first hit changed in {churn.first_changed}, "
        f"overlap of the first hits {churn.overlap:.2f}, the lists part {depth}"
    )


def _how_many_more(found: Difference) -> str:
    """How many cases would settle an open question, if what was observed were true."""
    if found.verdict != "INCONCLUSIVE" or found.difference is None or found.low is None:
        return ""
    if found.too_small:
        return f"; a true difference of {found.difference:+.4f} is too small to count, whatever the number of cases"
    more = 0 if found.cases_needed is None else found.cases_needed - found.independent
    return f"; about {more} more independent cases would show a true difference of {found.difference:+.4f}" if more > 0 else ""


def telling_table(pair: Pair) -> Table:
    """The cases that moved most, and where their targets went."""
    rows = []
    for case in pair.telling:
        moves = (f"{move.target}: {move.before or UNDEFINED} → {move.after or UNDEFINED}" for move in case.moves[:MOVES_SHOWN])
        rows.append((Text(case.case), Text(case.query or ""), Number(case.before), Number(case.after), Text(", ".join(moves))))
    return table(("case", "query", "before", "after", "moves"), rows, "most telling cases")


def speed_table(report: Report) -> Table:
    """The runs side by side: how fast, how large; no row if none of them was watched."""
    agents = report.agents if any(agent.latency_ms for agent in report.agents.values()) else {}
    columns = ("run", "cold p50 / p95", "warm p50 / p95", "index time", "index size", "peak memory")
    return table(columns, (_speed_row(name, agent) for name, agent in agents.items()))


def _speed_row(name: str, agent: AgentSummary) -> Row:
    index = agent.index or IndexBuild()
    found = (agent.latency_ms.get(kind) for kind in ("cold", "warm"))
    times = (MedianAndTail(None, None) if each is None else MedianAndTail(each.p50, each.p95) for each in found)
    return (Text(name), *times, Seconds(index.seconds), Bytes(index.bytes), Bytes(agent.run.memory_bytes))


def snapshot_table(effect: SnapshotEffect) -> Table:
    """The cases that another snapshot gets most wrong, in either direction."""
    shown = (*effect.lower[:AFFECTED_SHOWN], *effect.higher[:AFFECTED_SHOWN])
    return table(("case", "query", effect.reference, effect.other, "why"), map(_affected_row, shown))


def _affected_row(case: AffectedCase) -> Row:
    lost = case.gone and case.other < case.reference
    why = f"{case.why}: {', '.join(case.gone[:GONE_SHOWN])}" if lost else case.why
    return (Text(case.case), Text(case.query or ""), Number(case.reference), Number(case.other), Text(why))


def standing_table(report: Report) -> Table:
    """For every run its letter, its name, and per measure its mean with the letters of the runs that it beats."""
    names = list(report.agents)
    measures = list(next(iter(report.agents.values())).measures)
    beats = {measure: beaten_by(report.pairs, names, measure) for measure in measures}
    rows = []
    for letter, name in zip(letters(len(names)), names, strict=True):
        found = report.agents[name].measures
        means = (RankedMean(Number(found[measure].mean), tuple(beats[measure][name])) for measure in measures)
        rows.append((Text(letter), Text(name), *means))
    return table(("", "run", *measures), rows)


def worst_table(agent: AgentSummary) -> Table:
    """The lowest cases by the first measure: id, query, value, first hits."""
    first = next(iter(agent.measures), "")
    return table(("case", "query", first, "first hits"), (_worst_row(case, agent, first) for case in agent.worst), "lowest cases")


def _worst_row(case_id: str, agent: AgentSummary, measure: str) -> Row:
    case = agent.cases[case_id]
    hits = ", ".join(hit.id for hit in case.hits[:HITS_SHOWN]) or f"({case.status})"
    return (Text(case_id), Text(case.query or ""), Number(case.measures.get(measure)), Text(hits))


def case_table(report: Report) -> Table:
    """One row per run and case. The warm latency is the median of the repeats, always a time that was measured."""
    measures = list(dict.fromkeys(name for agent in report.agents.values() for name in agent.measures))
    columns = ("agent", "case", "status", "query", "cold_ms", "warm_ms", "first_hits", *measures)
    rows = (
        _case_row(name, case_id, case, measures) for name, agent in report.agents.items() for case_id, case in agent.cases.items()
    )
    return table(columns, rows)


def _case_row(name: str, case_id: str, case: CaseSummary, measures: list[str]) -> Row:
    cold, warm = case.details.cold_ms or (None,), sorted(case.details.warm_ms)
    times = (Milliseconds(cold[0]), Milliseconds(warm[(len(warm) - 1) // 2] if warm else None))
    hits = Text(" ".join(hit.id for hit in case.hits[:HITS_SHOWN]))
    known = (Text(name), Text(case_id), Text(case.status), Text(case.query or ""))
    return (*known, *times, hits, *(Number(case.measures.get(measure)) for measure in measures))


def case_counts(agent: AgentSummary, cases: int) -> str:
    """How many cases there were and how they ended; what did not happen is not mentioned."""
    ended = [f"{count} {status.replace('_', ' ')}" for status, count in agent.counts.items() if count]
    return f"{_counted(cases, 'case')}: {', '.join(ended)}"


def gate_sentence(report: Report) -> str | None:
    """The one line that says how a gate ended: what is wrong, or that all is well."""
    if report.gate is None:
        return None
    rules, verdict = report.gate.rules, report.gate.verdict
    if verdict == "passed":
        return f"gate passed: {rules[0].message}" if len(rules) == 1 else f"gate passed: all {len(rules)} rules are met"
    bad = [rule for rule in rules if rule.verdict != "passed"]
    return f"gate {verdict}: {_first_line(bad[0]) if len(bad) == 1 else _how_many(bad)}"


def _how_many(rules: list[RuleResult]) -> str:
    failed = sum(rule.verdict == "failed" for rule in rules)
    counts = ((failed, "not met"), (len(rules) - failed, "that cannot be checked"))
    return " and ".join(f"{_counted(count, 'rule')} {what}" for count, what in counts if count)


def gate_lines(report: Report) -> Iterator[str]:
    """What else is to be said of a gate: each rule that is not met, the cases that caused it, and what its rules are worth."""
    bad = [rule for rule in (report.gate.rules if report.gate else ()) if rule.verdict != "passed"]
    for rule in bad:
        if len(bad) > 1:
            yield f"{rule.verdict}: {_first_line(rule)}"
        yield from (f"  {line}" for line in rule.message.split("\n")[1:])
        yield from (f"  {line}" for line in cause_lines(report, rule))
    yield from (f"note: {note}" for note in rule_notes(report))


def _first_line(rule: RuleResult) -> str:
    return rule.message.split("\n", 1)[0]


def cause_lines(report: Report, rule: RuleResult) -> Iterator[str]:
    """The cases that caused it: what was asked, what was expected, and what came."""
    agent = report.agents.get(rule.run or "")
    known = [] if agent is None else [(case, agent.cases[case]) for case in rule.cases if case in agent.cases]
    for case, found in known[:CAUSES_SHOWN]:
        query = f" {found.query!r}" if found.query else ""
        expected = listed([each.target for each in found.expected])
        yield f"{case}{query}: expected {expected}; got {listed([hit.id for hit in found.hits])}"
    if len(known) > CAUSES_SHOWN:
        kept = "" if len(rule.cases) < MOST_CASES else "at least "  # there may be more
        yield f"and {kept}{_counted(len(known) - CAUSES_SHOWN, 'more case')}"


def listed(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - TARGETS_SHOWN} more" if len(names) > TARGETS_SHOWN else ""
    return ", ".join(names[:TARGETS_SHOWN]) + more if names else "nothing"
