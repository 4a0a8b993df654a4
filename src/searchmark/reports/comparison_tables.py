"""The tables and sentences about several runs that all renderers share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from searchmark.analysis.comparison import Pair
from searchmark.analysis.verdicts import Difference
from searchmark.measures.words import with_words
from searchmark.records import IndexBuild
from searchmark.reports.cells import (
    UNDEFINED,
    Bytes,
    Count,
    Interval,
    MedianAndTail,
    Number,
    PValue,
    RankedMean,
    Seconds,
    Table,
    Text,
    Verdict,
    WinsTiesLosses,
    table,
)
from searchmark.reports.hosts import host_labels, latencies_not_compared
from searchmark.reports.layout import LATENCY_COLUMNS, Row, all_latencies, latency_row
from searchmark.reports.report import AgentSummary, Report
from searchmark.reports.snapshot_effect import AffectedCase, SnapshotEffect
from searchmark.reports.standing import beaten_by, letters

MOVES_SHOWN = 3
GONE_SHOWN = 2
AFFECTED_SHOWN = 10
_SPEEDS = ("cold", "warm", "index_only")
_SIZES = ("index size", "peak memory")

_EVIDENCE = ("difference", "95 % interval", "p (Holm)", "wins/ties/losses", "detectable")


def _evidence(found: Difference) -> Row:
    return (
        Number(found.difference, signed=True),
        Interval(found.low, found.high, signed=True),
        PValue(found.p_holm),
        WinsTiesLosses(found.wins, found.ties, found.losses) if found.cases else Text(UNDEFINED),
        Number(found.detectable),
    )


def pair_table(pair: Pair) -> Table:
    """One row per measure: candidate minus baseline, its evidence and what follows from it."""
    rows = ((Text(with_words(found.measure)), *_evidence(found), Verdict(found.verdict)) for found in pair.differences)
    return table(("measure", *_EVIDENCE, "verdict"), rows, secondary=_EVIDENCE[:1:-1])


def verdict_table(report: Report) -> Table:
    """Every pair on every measure, in one table."""
    rows = (
        (Text(pair.candidate), Text(pair.baseline), Text(found.measure), *_evidence(found)[:4], Verdict(found.verdict))
        for pair in report.pairs
        for found in pair.differences
    )
    return table(("run", "against", "measure", *_EVIDENCE[:4], "verdict"), rows, keys=3, secondary=_EVIDENCE[3:1:-1])


def pair_segment_tables(pair: Pair) -> Iterator[Table]:
    for segment, values in pair.segments.items():
        rows = (
            (Text(value), Count(found.cases), Text(found.measure), *_evidence(found)[:3], Verdict(_segment_verdict(found)))
            for value, differences in values.items()
            for found in differences
        )
        yield table(
            (segment, "cases", "measure", *_EVIDENCE[:3], "verdict"), rows, f"by {segment}", keys=3, secondary=_EVIDENCE[2:3]
        )


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
    """The runs side by side: how fast, how large; no row if none of them was watched, and no time of different hosts."""
    agents = report.agents if any(agent.latency_ms or agent.hosts for agent in report.agents.values()) else {}
    if latencies_not_compared(report) is not None:
        return table(("run", *_SIZES), ((Text(name), *_sizes(agent)) for name, agent in agents.items()))
    kinds = _SPEEDS if any("index_only" in agent.latency_ms for agent in agents.values()) else _SPEEDS[:2]
    shown = [f"{kind.replace('_', ' ')} p50 / p95" for kind in kinds]
    return table(("run", *shown, "index time", *_SIZES), (_speed_row(name, agent, kinds) for name, agent in agents.items()))


def _speed_row(name: str, agent: AgentSummary, kinds: Sequence[str]) -> Row:
    found = map(agent.latency_ms.get, kinds)
    times = (MedianAndTail(None, None) if each is None else MedianAndTail(each.p50, each.p95) for each in found)
    return (Text(name), *times, Seconds((agent.index or IndexBuild()).seconds), *_sizes(agent))


def _sizes(agent: AgentSummary) -> Row:
    return (Bytes((agent.index or IndexBuild()).bytes), Bytes(agent.run.memory_bytes))


def other_latencies(report: Report) -> Table:
    """The latencies that the table above has no column for: to the first hit, less what agents state of it, and of single hosts."""
    labels = host_labels(report)
    columned = tuple(kind.replace("_", " ") for kind in _SPEEDS)
    found = ((name, each) for name, agent in report.agents.items() for each in all_latencies(agent, labels.get(name, "")))
    rows = ((Text(name), *latency_row(*each)) for name, each in found if each[0].partition(" (")[0] not in columned)
    return table(("run", *LATENCY_COLUMNS), rows, keys=2, secondary=("p99", "p90"))


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
        doubt = "" if report.agents[name].status == "ok" else f" ({report.agents[name].status})"
        rows.append((Text(letter), Text(f"{name}{doubt}"), *means))
    return table(("", "run", *measures), rows, keys=2)
