"""Tables and sentences about one run that all renderers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple

from searchmark.config.sections import Versions
from searchmark.errors import shortened
from searchmark.measures.catalogue import with_words
from searchmark.records.finding import SEVERITIES, Finding
from searchmark.records.provenance import VectorStatistics
from searchmark.records.sentences import list_first, plain_count, three_digits
from searchmark.reports import cells
from searchmark.reports.cases import CaseSummary, ExpectedTarget, ShownHit
from searchmark.reports.cells import UNDEFINED, Cell, Row, Table, table
from searchmark.reports.report import (
    AgentSummary,
    Report,
    Summaries,
    host_labels,
    is_exact,
    is_scored_by_vectors,
    leading_measure,
    leading_of,
)
from searchmark.scoring.comparison import PerturbationDrop
from searchmark.scoring.costs import Latency, ReportedCount, UsageSummary
from searchmark.scoring.drift import NOISE_NOT_KNOWN, Drift
from searchmark.scoring.scores import Summary
from searchmark.scoring.trends import ScoreSpread, Trend

CASES_SHOWN = 5  # of a finding

NOTES_SHOWN = 8  # on a screen; files have all of them

HITS_SHOWN = 3

NAMES_SHOWN = 5  # in a sentence

HISTORY_LINES = 10

LATENCY_COLUMNS = ("latency (closed loop)", "p50", "p90", "p95", "p99", "searches", "failed")


def _run_table(
    runs: AgentSummary | Report,
    columns: Sequence[str],
    rows_of: Callable[[AgentSummary, str], Iterable[Row]],
    secondary: tuple[str, ...] = (),
) -> Table:
    """The rows of one run, or those of all runs of a report, each behind its name.

    ``rows_of`` is also given what is said with the times of a run where hosts differ.
    """
    if isinstance(runs, AgentSummary):
        return table(columns, rows_of(runs, ""), secondary=secondary)
    labels = host_labels(runs)
    rows = ((name, *row) for name, agent in runs.agents.items() for row in rows_of(agent, labels.get(name, "")))
    return table(("run", *columns), rows, keys=2, secondary=secondary)


# Findings: what is said beside their sentences.


def finding_counts(findings: Sequence[Finding]) -> str:
    """How many there are of each severity, the worst first; empty without any."""
    counts = ((severity, sum(each.severity == severity for each in findings)) for severity in SEVERITIES)
    return ", ".join(plain_count(count, severity) for severity, count in counts if count)


def finding_sentence(finding: Finding) -> str:
    """Severity, code and message, which is how a finding begins wherever it is one line."""
    return f"{finding.severity} {finding.code}: {finding.message}"


def reason_and_remedy(finding: Finding) -> str:
    """Why it matters and what to do, as far as it is known."""
    return " ".join(filter(None, (finding.why, finding.fix)))


def case_names(finding: Finding) -> str:
    """Some of the cases, and how many more there are."""
    return list_first(list(finding.cases), CASES_SHOWN)


def lines_below(finding: Finding, *, reasons: bool) -> Iterator[str]:
    """The cases; and why it matters and what to do, which is said once of each code."""
    if finding.cases:
        yield f"  cases: {case_names(finding)}"
    if reasons:
        yield from (f"  {line}" for line in (finding.why, finding.fix and f"fix: {finding.fix}") if line)


def with_first_of_code(findings: Iterable[Finding]) -> Iterator[tuple[Finding, bool]]:
    """Each with whether it is the first of its code: reasons are given once."""
    codes = set[str]()
    for each in findings:
        yield each, each.code not in codes
        codes.add(each.code)


def findings_on_screen(findings: Iterable[Finding]) -> Iterator[tuple[Finding, bool]]:
    """Errors and warnings, then the first of the notes; each with whether it is the first of its code."""
    notes = 0
    for each, is_first in with_first_of_code(findings):
        notes += each.severity == "note"
        if notes <= NOTES_SHOWN:
            yield each, is_first


def more_notes(findings: Iterable[Finding]) -> Iterator[str]:
    """How many notes are not on the screen, if any."""
    count = sum(each.severity == "note" for each in findings) - NOTES_SHOWN
    if count > 0:
        yield f"and {plain_count(count, 'more note')}, in the Markdown, HTML and JSON report"


# What answers took beside time: always with its source, since only the agent knows most of it.

STATED = "as the agent states it"

STATED_OR_COUNTED = "stated or counted"  # by the agent, or by what is named as the counter of tokens

# What is left of the latency of first searches, by what is subtracted.
REDUCED_LATENCIES = {"process_start": f"cold less process start ({STATED})", "waits": f"cold less waits ({STATED})"}


class StatedNumbers(NamedTuple):
    """Something that is stated of searches."""

    subject: str
    numbers: ReportedCount
    cell: Callable[[float | None], Cell]  # how the number of one search is written
    sum_cell: Callable[[float | None], Cell]  # and that of all of them


def stated_numbers(usage: UsageSummary) -> Iterator[StatedNumbers]:
    """Everything that is stated, tokens first."""
    for counter, tokens in usage.tokens.items():
        yield StatedNumbers(f"tokens per answer, counted by {counter}", tokens, cells.amount, cells.count)
    if usage.retries is not None:
        yield StatedNumbers("further attempts", usage.retries, cells.amount, cells.count)
    if usage.waited_ms is not None:
        yield StatedNumbers("waiting, part of the latency", usage.waited_ms, cells.milliseconds, cells.milliseconds)
    if usage.start_ms is not None:
        yield StatedNumbers("process start, part of the latency", usage.start_ms, cells.milliseconds, cells.milliseconds)


def usage_table(runs: AgentSummary | Report) -> Table:
    """One row for everything that is stated of the searches of a run; for how many it is, is in the last column."""
    columns = (STATED_OR_COUNTED, "mean", "p50", "p95", "in all", "above 0", "searches")
    return _run_table(runs, columns, _usage_rows, secondary=("above 0", "p50"))


def _usage_rows(agent: AgentSummary, where: str) -> Iterator[Row]:
    """Where a run was measured on several hosts, the times of each."""
    of_hosts = ((each.usage, f" on {each.name}") for each in agent.hosts)
    for usage, on_host in ((agent.usage, where), *of_hosts):
        for subject, numbers, cell, sum_cell in stated_numbers(usage):
            name = f"{subject}{on_host if cell is cells.milliseconds else ''}"
            spread = (cell(numbers.mean), cell(numbers.p50), cell(numbers.p95), sum_cell(numbers.total))
            yield name, *spread, numbers.positive, cells.out_of(numbers.searches, numbers.of)


def reduced_latencies(usage: UsageSummary) -> Iterator[tuple[str, Latency]]:
    """What first searches took less what is stated of each, by a name that says so."""
    return ((REDUCED_LATENCIES[part], latency) for part, latency in usage.cold_less.items())


def token_lines(usage: UsageSummary) -> Iterator[str]:
    """Tokens per answer, by who has counted them."""
    for counter, tokens in usage.tokens.items():
        amounts = f"mean {three_digits(tokens.mean)}, p95 {three_digits(tokens.p95)}"
        yield f"tokens per answer: {amounts} (counted by {counter}, {tokens.searches} of {tokens.of} searches)"


# What a run scored, and how fast it was.


def case_counts(agent: AgentSummary, cases: int) -> str:
    """How many cases there were and how they ended; what did not happen is not mentioned."""
    endings = [f"{count} {status.replace('_', ' ')}" for status, count in agent.counts.items() if count]
    return f"{plain_count(cases, 'case')}: {', '.join(endings)}"


MEANS = ("measure", "mean", "95 % interval", "cases")  # the columns for whoever has little room


def measure_table(summaries: Summaries) -> Table:
    columns = ("measure", "mean", "95 % interval", "median", "std", "cases", "mean if answered")
    rows = (_measure_row(*each) for each in summaries.items())
    return table(columns, rows, secondary=("std", "median", "mean if answered"))


def _measure_row(name: str, summary: Summary) -> Row:
    spread = (
        cells.number(summary.mean),
        cells.interval(summary.low, summary.high, mean=summary.mean),
        cells.number(summary.median),
        cells.number(summary.std),
    )
    return (with_words(name), *spread, summary.cases, cells.number(summary.answered_mean))


def segment_tables(agent: AgentSummary) -> Iterator[Table]:
    """One row per value: how many cases, then the mean of each measure, with its own count where that differs."""
    for segment, values in agent.segments.items():
        rows = []
        for value, summaries in values.items():
            cases = max((summary.cases for summary in summaries.values()), default=0)
            rows.append((value, cases, *(_segment_mean(summary, cases) for summary in summaries.values())))
        yield table((segment, "cases", *agent.measures), rows, f"by {segment}")


def _segment_mean(summary: Summary, cases: int) -> Cell:
    interval = cells.interval(summary.low, summary.high, digits=2)
    return cells.segment_mean(summary.mean, interval, None if summary.cases == cases else summary.cases)


def latency_table(agent: AgentSummary) -> Table:
    """One row per kind; a search that failed counts with the time that it took, a time-out with its deadline.

    What is less than the time that passed comes last, and says so.
    """
    return table(LATENCY_COLUMNS, (latency_row(*each) for each in all_latencies(agent)))


def all_latencies(agent: AgentSummary, where: str = "") -> Iterator[tuple[str, Latency]]:
    """Every latency by its name; where a run was measured on several hosts, those of each."""
    of_run = ((agent.latency_ms, agent.usage, where),)
    of_hosts = ((each.latency_ms, each.usage, f" on {each.name}") for each in agent.hosts)
    for latencies, usage, on_host in (*of_run, *of_hosts):
        kinds = ((latency_name(kind, latency), latency) for kind, latency in latencies.items())
        yield from ((f"{name}{on_host}", latency) for name, latency in (*kinds, *reduced_latencies(usage)))


def latency_name(kind: str, latency: Latency) -> str:
    """What a kind of latency is called, and of which searches it is where that is not its name."""
    return kind.replace("_", " ") + ("" if latency.of is None else f" ({latency.of})")


def latency_row(kind: str, latency: Latency) -> Row:
    times = map(cells.milliseconds, (latency.p50, latency.p90, latency.p95, latency.p99))
    return (kind, *times, latency.samples, latency.failures)


def preparation(agent: AgentSummary) -> str | None:
    """What it took to get the agent ready, in a line."""
    index, memory = agent.index, agent.run.memory_bytes
    if index is None:
        return None
    unknown = _unknown_parts(agent)
    parts = [f"{' and '.join(unknown)}: not known (the agent searches its own corpus)"] if unknown else []
    parts += [] if index.seconds is None else [f"index: {cells.seconds(index.seconds).text}"]
    parts += _on_hosts("index:", {each.name: each.index_seconds for each in agent.hosts})
    if index.updates:
        parts.append(f"{plain_count(index.full_builds, 'full build')}, {plain_count(index.updates, 'incremental update')}")
    parts += [] if index.bytes is None else [f"{cells.size(index.bytes).text} large"]
    parts += [] if memory is None else [f"peak memory {cells.size(memory).text}"]
    parts += [] if agent.start_seconds is None else [f"worker start {cells.seconds(agent.start_seconds).text}"]
    parts += _on_hosts("worker start", {each.name: each.start_seconds for each in agent.hosts})
    parts += [f"cost {agent.cost['total']:g}"] if agent.cost else []
    return ", ".join(parts) or None


def _on_hosts(subject: str, seconds: Mapping[str, float | None]) -> list[str]:
    """A time that differs between hosts."""
    times = [f"{cells.seconds(each).text} on {host}" for host, each in seconds.items() if each is not None]
    return [f"{subject} {' and '.join(times)}"] if times else []


def _unknown_parts(agent: AgentSummary) -> list[str]:
    """What is not known of an agent that has searched its own corpus; of one that has not searched, nothing needs to be said."""
    if not agent.run.own_corpus or not (agent.latency_ms or agent.hosts):
        return []
    return ["index", *(["peak memory"] if agent.run.memory_bytes is None else [])]


def version_table(agents: Mapping[str, AgentSummary]) -> Table:
    """What each run was measured on and with: data, model, index, chunking and queries; what no run knows has no row."""
    versions = {each.name: [getattr(agent.versions, each.name) for agent in agents.values()] for each in fields(Versions)}
    rows = ((name, *(value or UNDEFINED for value in values)) for name, values in versions.items() if any(values))
    return table(("version", *agents), rows)


# Single cases.

LONGEST_BEGINNING = 40  # of the text of a hit


def worst_table(agent: AgentSummary) -> Table:
    """The lowest cases by the leading measure: what was asked, what it scored, what was expected, what came."""
    return _example_table(agent, agent.worst, "lowest cases")


def best_table(agent: AgentSummary) -> Table:
    """The highest cases by the leading measure, likewise."""
    return _example_table(agent, agent.best, "highest cases")


def _example_table(agent: AgentSummary, cases: Iterable[str], title: str) -> Table:
    leading = leading_of(agent) or ""
    rows = (_example_row(case, agent.cases[case], leading) for case in cases)
    return table(("case", "query", leading, "expected", "first hits"), rows, title)


def _example_row(case_id: str, case: CaseSummary, measure: str) -> Row:
    value = cells.number(case.measures.get(measure))
    return (case_id, case.query or "", value, expected_text(case.expected), returned_text(case))


def expected_text(expected: Sequence[ExpectedTarget]) -> str:
    """The targets of a case, each with the rank at which it came."""
    return list_names([f"{each.target} ({'not found' if each.rank is None else f'rank {each.rank}'})" for each in expected])


def returned_text(case: CaseSummary) -> str:
    """The first hits of an answer, or why there are none."""
    return ", ".join(map(_hit_name, case.hits[:HITS_SHOWN])) or f"({case.status.replace('_', ' ')})"


def _hit_name(hit: ShownHit) -> str:
    """Its id, and how its document begins where the texts of hits are at hand: with its title, if it has one."""
    begins = (hit.text or "").strip().partition("\n")[0]
    return f"{hit.id} ({shortened(begins, LONGEST_BEGINNING)})" if begins else hit.id


def list_names(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more if names else "nothing"


# What earlier runs tell of a report, in few lines: what is about all cases first, and what is noise in one line.

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
    trends = [HistoryLine("trend", trend.sentence or "") for trend in _notable_trends(report)]
    return [*_first(drifts, HISTORY_LINES), *_first(trends, max(HISTORY_LINES - len(drifts), 0))]


def _first(lines: Sequence[HistoryLine], most: int) -> Iterator[HistoryLine]:
    yield from lines[:most]
    rest = lines[most:]
    if rest:
        yield HistoryLine(rest[0].kind, f"and {len(rest)} more ({_WHERE[rest[0].kind]})")


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
        quantities = list_names([f"{drift.quantity} of {drift.run} ({_change(drift)})" for drift in noise])
        yield f"{len(noise)} numbers moved by more than the limit, but within noise: {quantities}"


def _change(drift: Drift) -> str:
    return f"0 to {drift.now:.4g}" if drift.change is None else f"{drift.change:+.1%}"


def _notable_trends(report: Report) -> list[Trend]:
    """The trends that say something that no drift says, of all cases before those of some, the proven ones first."""
    agents = ((report.agents[drift.run], drift.quantity) for drift in report.drifts if drift.run in report.agents)
    drifting = {(agent.name, agent.snapshot, quantity) for agent, quantity in agents}
    notable = [
        trend
        for trend in report.trends
        if trend.sentence and not (_is_one_run(trend) and (trend.agent, trend.snapshot, trend.measure) in drifting)
    ]
    return sorted(notable, key=lambda trend: (bool(trend.where), trend.worse_since is None))


def _is_one_run(trend: Trend) -> bool:
    """Whether only the last run is below the noise band, and nothing else is said."""
    if trend.low is None or trend.worse_since is not None or any(point.begins for point in trend.points):
        return False
    *before, last = trend.points
    return last.mean < trend.low and not (before and before[-1].mean < trend.low)


# What a change of the query costs.


def perturbation_table(report: Report) -> Table:
    """One row per run and kind, by the leading measure, the largest drop of each run first; no row without variants."""
    leading = leading_measure(report)
    several = len(report.agents) > 1
    drops = [each for each in report.perturbations if each.measure == leading]
    places = {name: place for place, name in enumerate(report.agents)}
    drops.sort(key=lambda each: (places.get(each.run, len(places)), each.drop is None, -(each.drop or 0.0), each.kind))
    rows = ((*((each.run,) if several else ()), *_drop_cells(each)) for each in drops)
    columns = ("kind", "cases", "origins", "originals", "variants", "drop", "95 % interval", "left out")
    title = f"drop by perturbation, {with_words(leading)}" if leading else None
    runs = ("run",) if several else ()
    return table((*runs, *columns), rows, title, keys=2 if several else 1, secondary=("left out", "cases"))


def _drop_cells(drop: PerturbationDrop) -> Row:
    means = (cells.number(drop.original_mean), cells.number(drop.variant_mean), cells.number(drop.drop))
    counts = (drop.cases, drop.origins)
    return (drop.kind, *counts, *means, cells.interval(drop.low, drop.high), drop.left_out)


# What vectors are like, how they score, and what an index finds of the true neighbours.

SCORES = {"top_1": "score of the first hit", "top_10": "mean score of the first ten hits"}


def ann_table(runs: AgentSummary | Report) -> Table:
    """What searches found of the true nearest vectors, with ties counted fairly and without."""
    columns = ("nearest vectors found", "recall", "overlap", "lowest recall", "below 1", "searches")
    return _run_table(runs, columns, _ann_rows, secondary=("below 1", "lowest recall"))


def _ann_rows(agent: AgentSummary, _where: str) -> Iterator[Row]:
    exact = " (exact index)" if is_exact(agent) else ""
    for ann in agent.ann.values():
        numbers = (cells.number(ann.recall), cells.number(ann.overlap), cells.number(ann.lowest), ann.incomplete)
        yield f"ANN recall@{ann.k}{exact}", *numbers, cells.out_of(ann.searches, ann.of)


def ann_lines(agent: AgentSummary) -> Iterator[str]:
    """The same in lines; of an exact index there is nothing to say."""
    for ann in () if is_exact(agent) else agent.ann.values():
        overlap = "" if ann.overlap is None else f", overlap {cells.number(ann.overlap).text}"
        yield f"ANN recall@{ann.k}: {cells.number(ann.recall).text}{overlap} ({ann.searches} of {ann.of} searches)"


def stability_table(runs: AgentSummary | Report) -> Table:
    """How the scores of an agent over vectors and the lengths of its vectors are distributed: what should not drift."""
    return _run_table(runs, ("vectors and scores", "mean", "std", "of"), _stability_rows)


def _stability_rows(agent: AgentSummary, _where: str) -> Iterator[Row]:
    for name, spread in score_spreads(agent):
        yield (name, cells.number(spread.mean), cells.number(spread.std), _count_text(spread.answers, "answer"))
    for each in agent.vectors:
        if each.norm_mean is not None:
            yield (norm_name(each), cells.number(each.norm_mean), cells.number(each.norm_std), _count_text(each.finite, "vector"))


def score_spreads(agent: AgentSummary) -> Iterator[tuple[str, ScoreSpread]]:
    """The scores of the first hits, where they are similarities: fused or reranked ones have no scale that should stay."""
    own = bool(agent.vectors) and all(each.arm is None for each in agent.vectors)  # those of an arm are not what it answers by
    if own or is_scored_by_vectors(agent):
        yield from ((SCORES[name], spread) for name, spread in agent.similarity.items())


def norm_name(statistics: VectorStatistics) -> str:
    return f"norm of vectors{arm_suffix(statistics)}"


def vector_lines(agent: AgentSummary) -> Iterator[str]:
    """Every set of vectors in a line: how many, of which dimension, and what is odd about them."""
    for each in agent.vectors:
        odd = {
            "of zeros": each.zero,
            "duplicates": each.duplicates,
            "not finite": each.not_finite,
            "of another dimension": each.wrong_dimension,
        }
        parts = (f"{count:,} {what}" for what, count in odd.items() if count or what in ("of zeros", "duplicates"))
        scope = "" if each.looked_at is None else f"among the {each.looked_at:,} that were looked at "
        yield f"vectors{arm_suffix(each)}: {each.count:,} of dimension {each.dimension}, {scope}{', '.join(parts)}"


def arm_suffix(statistics: VectorStatistics) -> str:
    return "" if statistics.arm is None else f" of {statistics.arm}"


def beside_times(runs: AgentSummary | Report) -> tuple[Table, Table, Table]:
    """What is measured beside quality and times: what answers took, what indexes find, and what vectors are like."""
    return usage_table(runs), ann_table(runs), stability_table(runs)


def _count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
