"""Findings on what searches took beside time, as agents state it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from searchmark.analysis.latencies import latencies_of
from searchmark.analysis.usage import SUBTRACTED, Stated, UsageSummary, usage_of
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import counted, seconds_text
from searchmark.records import AnswerDetails, Run

MOST = 0.5  # of the median latency


def usage_findings(run: Run, details: Sequence[tuple[str, AnswerDetails]]) -> Iterator[Finding]:
    """What must be known of the numbers that an agent states; ``details`` are those of every case, in the order of the suite."""
    usage = usage_of(run)
    yield from _retry_findings(usage, [case for case, each in details if each.retries])
    yield from _start_findings(run, usage)
    yield from _partly_stated(run)
    if len(usage.tokens) > 1:
        counters = ", ".join(f"{name} ({counted(found.searches, 'answer')})" for name, found in usage.tokens.items())
        yield finding(
            "several-token-counters", f"tokens were counted by several counters, which are not averaged together: {counters}"
        )


def _retry_findings(usage: UsageSummary, cases: Sequence[str]) -> Iterator[Finding]:
    found, waited = usage.retries, usage.waited_ms
    if found is not None and found.positive:
        more = f"{counted(int(found.total), 'attempt')} more, part of the latency"
        unknown = f"; not stated for {found.of - found.searches} more" if found.searches < found.of else ""
        retried = f"{found.positive} of {counted(found.searches, 'search', 'searches')} were retried ({more}{unknown})"
        message = f"{retried}{'' if waited is None else _waiting(waited)}"
        yield finding("retried-searches", message, cases)


def _waiting(waited: Stated) -> str:
    """Agents do not state what of it was for what."""
    told = f"; all searches waited {seconds_text(waited.total / 1e3)} together, before further attempts or for a rate limit"
    return told if waited.total else ""


def _start_findings(run: Run, usage: UsageSummary) -> Iterator[Finding]:
    cold, start = latencies_of(run).get("cold"), usage.start_ms
    if cold is None or start is None or "process_start" not in usage.cold_less or start.p50 <= MOST * cold.p50:
        return
    share = start.p50 / cold.p50
    yield finding(
        "process-start",
        f"starting the process is {share:.0%} of the median latency: see the row without it, or let it stay up".replace("%", " %"),
    )


def _partly_stated(run: Run) -> Iterator[Finding]:
    """Of how many searches a part of the latency is stated, where there is no row without it for that reason."""
    timed = [each for each in run.details or () if each.cold_ms]
    for name, part in SUBTRACTED.items():
        known = sum(part(each) is not None for each in timed)
        if 0 < known < len(timed):
            what = name.replace("_", " ")
            yield finding(
                "partly-stated", f"{what}: stated for {known} of {len(timed)} searches, so that no latency is shown without it"
            )
