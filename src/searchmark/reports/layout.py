"""The rows and cells that text and Markdown share: what stands where, rounded for reading."""

from __future__ import annotations

from collections.abc import Iterator

from searchmark.analysis.comparison import Difference, Pair, beaten_by, letters
from searchmark.analysis.gate import RuleResult
from searchmark.analysis.scores import Summary
from searchmark.records import IndexBuild
from searchmark.reports.report import AgentSummary, Report, Summaries
from searchmark.reports.snapshot_effect import SnapshotEffect

COLUMNS = ("measure", "mean", "95 % interval", "median", "std", "cases", "mean if answered")
UNDEFINED = "–"


def number(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.4f}"


def interval(summary: Summary) -> str:
    if summary.low is None or summary.high is None:
        return UNDEFINED
    return f"{summary.low:.4f} to {summary.high:.4f}"


def measure_rows(summaries: Summaries) -> Iterator[tuple[str, ...]]:
    for name, summary in summaries.items():
        yield (
            name,
            number(summary.mean),
            interval(summary),
            number(summary.median),
            number(summary.std),
            str(summary.cases),
            number(summary.answered_mean),
        )


def segment_header(agent: AgentSummary, segment: str) -> tuple[str, ...]:
    return (segment, "cases", *agent.measures)


def segment_rows(agent: AgentSummary, segment: str) -> Iterator[tuple[str, ...]]:
    """One row per value: how many cases, then the mean of each measure, with its own count where that differs."""
    for value, summaries in agent.segments[segment].items():
        cases = max((summary.cases for summary in summaries.values()), default=0)
        yield (value, str(cases), *(_segment_mean(summary, cases) for summary in summaries.values()))


def _segment_mean(summary: Summary, cases: int) -> str:
    if summary.mean is None:
        return UNDEFINED
    half = "" if summary.low is None or summary.high is None else f" ±{(summary.high - summary.low) / 2:.2f}"
    own = "" if summary.cases == cases else f" (of {summary.cases})"
    return f"{summary.mean:.4f}{half}{own}"


LATENCY_COLUMNS = ("latency in ms", "p50", "p90", "p95", "p99", "searches", "failed")


def latency_rows(agent: AgentSummary) -> Iterator[tuple[str, ...]]:
    """One row per kind; a failed search stands at its deadline."""
    for kind, found in agent.latency_ms.items():
        times = (found.p50, found.p90, found.p95, found.p99)
        yield (kind.replace("_", " "), *map(_milliseconds, times), str(found.samples), str(found.failures))


def _milliseconds(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"  # noqa: PLR2004  # three digits either way


def conduct(agent: AgentSummary) -> str | None:
    """What it took to get the agent ready, in a line."""
    index, memory = agent.index, agent.run.memory_bytes
    if index is None:
        return None
    parts = ["index" if index.seconds is None else f"index: {index.seconds:.3g} s"]
    if index.updates:
        parts.append(f"{index.full_builds} full builds, {index.updates} incremental updates")
    parts += [] if index.bytes is None else [f"{_size(index.bytes)} large"]
    parts += [] if memory is None else [f"peak memory {_size(memory)}"]
    parts += [] if agent.start_seconds is None else [f"process start {agent.start_seconds:.2g} s"]
    parts += [f"cost {agent.cost['total']:g}"] if agent.cost else []
    return ", ".join(parts)


def _size(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} KB"  # noqa: PLR2004  # a million and a thousand


PAIR_COLUMNS = ("measure", "difference", "95 % interval", "p (Holm)", "wins/ties/losses", "detectable", "verdict")


def pair_rows(pair: Pair) -> Iterator[tuple[str, ...]]:
    """One row per measure: candidate minus baseline, its evidence and what follows from it."""
    for found in pair.differences:
        yield (found.measure, *_evidence(found), found.verdict)


VERDICT_COLUMNS = ("run", "against", "measure", "difference", "95 % interval", "p (Holm)", "wins/ties/losses", "verdict")


def verdict_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Every pair on every measure, in one table."""
    for pair in report.pairs:
        for found in pair.differences:
            yield pair.candidate, pair.baseline, found.measure, *_evidence(found)[:4], found.verdict


def _evidence(found: Difference) -> tuple[str, ...]:
    bounds = UNDEFINED if found.low is None or found.high is None else f"{found.low:+.4f} to {found.high:+.4f}"
    return (
        UNDEFINED if found.difference is None else f"{found.difference:+.4f}",
        bounds,
        number(found.p_holm),
        f"{found.wins}/{found.ties}/{found.losses}",
        number(found.detectable),
    )


def pair_sentences(pair: Pair) -> Iterator[str]:
    """Why each verdict is what it is, how much a sensitive suite would need, and how much changed for users."""
    for found in pair.differences:
        more = ""
        if found.verdict == "INCONCLUSIVE" and found.cases_needed is not None and found.cases_needed > found.independent:
            more = f"; about {found.cases_needed} independent cases would show the smallest effect that counts"
        yield f"{found.measure}: {found.verdict}, {found.reason}{more}"
    churn = pair.churn
    depth = "never" if churn.parting_depth is None else f"at rank {churn.parting_depth:g} (median)"
    yield (
        f"churn on {churn.cases} cases that both answered: the first hit changed in {churn.first_changed}, "
        f"overlap of the first hits {churn.overlap:.2f}, the lists part {depth}"
    )


def pair_segment_rows(pair: Pair, segment: str) -> Iterator[tuple[str, ...]]:
    for value, differences in pair.segments[segment].items():
        for found in differences:
            verdict = found.verdict if found.low is not None or found.verdict == "INVALID" else "too few cases"
            yield (value, str(found.cases), found.measure, *_evidence(found)[:3], verdict)


PAIR_SEGMENT_COLUMNS = ("cases", "measure", "difference", "95 % interval", "p (Holm)", "verdict")


def telling_rows(pair: Pair) -> Iterator[tuple[str, ...]]:
    """The cases that moved most, and where their targets went."""
    for case in pair.telling:
        moves = ", ".join(f"{move.target}: {move.before or UNDEFINED} → {move.after or UNDEFINED}" for move in case.moves[:3])
        yield case.case, case.query or "", number(case.before), number(case.after), moves


def speed_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """The runs side by side: how fast, how large; nothing if nobody has watched any of them."""
    if not any(agent.latency_ms for agent in report.agents.values()):
        return
    for name, agent in report.agents.items():
        cold, warm = agent.latency_ms.get("cold"), agent.latency_ms.get("warm")
        times = [UNDEFINED if each is None else f"{_milliseconds(each.p50)} / {_milliseconds(each.p95)}" for each in (cold, warm)]
        index, memory = agent.index or IndexBuild(), agent.run.memory_bytes
        yield (
            name,
            *times,
            UNDEFINED if index.seconds is None else f"{index.seconds:.3g} s",
            UNDEFINED if index.bytes is None else _size(index.bytes),
            UNDEFINED if memory is None else _size(memory),
        )


SPEED_COLUMNS = ("run", "cold p50 / p95 ms", "warm p50 / p95 ms", "index time", "index size", "peak memory")


TRAVEL_COLUMNS = ("case", "query", "here", "there", "why")
TRAVELS_SHOWN = 10


def travel_rows(travel: SnapshotEffect) -> Iterator[tuple[str, ...]]:
    """The cases that another snapshot gets most wrong, in either direction."""
    for case in (*travel.lower[:TRAVELS_SHOWN], *travel.higher[:TRAVELS_SHOWN]):
        why = f"{case.why}: {', '.join(case.gone[:2])}" if case.gone and case.there < case.here else case.why
        yield case.case, case.query or "", number(case.here), number(case.there), why


def standing_rows(report: Report) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """For every run its letter, its name, and per measure its mean with the letters of the runs that it beats."""
    names = list(report.agents)
    measures = list(next(iter(report.agents.values())).measures)
    beats = {measure: beaten_by(report.pairs, names, measure) for measure in measures}
    for letter, name in zip(letters(len(names)), names, strict=True):
        summaries = report.agents[name].measures
        yield letter, name, [(number(summaries[measure].mean), " ".join(beats[measure][name])) for measure in measures]


def worst_rows(agent: AgentSummary) -> Iterator[tuple[str, str, str, str]]:
    """The lowest cases by the first measure: id, query, value, first hits."""
    first = next(iter(agent.measures), None)
    for case_id in agent.worst:
        case = agent.cases[case_id]
        hits = ", ".join(hit.id for hit in case.hits[:3]) or f"({case.status})"
        yield case_id, case.query or "", number(case.measures.get(first or "")), hits


def counted(agent: AgentSummary, cases: int) -> str:
    """How many cases there were and how they ended; what did not happen is not mentioned."""
    ended = [f"{count} {status.replace('_', ' ')}" for status, count in agent.counts.items() if count]
    return f"{cases} case{'' if cases == 1 else 's'}: {', '.join(ended)}"


def verdict(report: Report) -> str | None:
    """The one line that says how a gate ended."""
    if report.gate is None:
        return None
    return f"gate {report.gate.verdict}: {'; '.join(map(_rule, report.gate.rules))}"


def _rule(rule: RuleResult) -> str:
    if rule.verdict == "untrusted":
        return f"{rule.measure} {number(rule.mean)} cannot be relied on (wanted: {rule.minimum:g})"
    return f"{rule.measure} {number(rule.mean)} {'≥' if rule.verdict == 'passed' else 'is not ≥'} {rule.minimum:g}"
