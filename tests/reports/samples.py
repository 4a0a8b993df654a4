"""A small suite and runs to report on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    Hit,
    Judgment,
    Provenance,
    Report,
    Run,
    RunLabel,
    Suite,
    build_comparison,
    build_report,
    check_gate,
    compare,
    match_hits,
    parse_threshold,
    score,
)
from searchmark.records.provenance import (
    AgentIdentity,
    CandidateKinds,
    Environment,
    IndexBuild,
    SearchedRepository,
    SuiteIdentity,
    TrustEvent,
)

HOSTILE = "|<script>alert(1)</script>\n::error::pwned \x1b[31mred\x1b[0m [link](http://x) `code` @everyone \u202eevil [bold]x[/bold] \udcff"


def report_of(query: str = "find it", hit: str = "a", by: tuple[str, ...] = ("category",), minimum: float | None = None) -> Report:
    suite = Suite.from_cases(
        "demo",
        [
            Case("c1", query, (Judgment("a", grade=2), Judgment("b")), category="x"),
            Case("c2", query, (Judgment("z", "glob"),), category="y"),
            Case("c3", query, unanswerable=True, category="y"),
        ],
    )
    run = Run.from_answers("agent", [Answer("c1", "ok", (Hit(hit, 1, 9.5), Hit("b", 2, 0.1))), Answer("c2", "timeout")])
    scores = score(match_hits(suite, run), ["RR", "nDCG@10", "Abstain", "mine = 0.5*P@5 + 0.5*RR"])
    gate = None if minimum is None else check_gate(Evidence.of(scores), [parse_threshold(f"RR={minimum}")])
    return build_report(scores, by, gate)


WATCHED_SUITE = Suite.from_cases(
    "watched", [Case(f"c{n}", f"query {n}", (Judgment("a", grade=2), Judgment("b"), Judgment("z", grade=0))) for n in range(12)]
)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DETAILS = {
    "c1": AnswerDetails((3.0,), (1.0, 2.0), cost=0.1, failure="out of memory"),
    "c2": AnswerDetails((3.0,), (1.0, 2.0), cost=0.2, failure="crash"),
    "c3": AnswerDetails((3.0,), (1.0, 2.0), cost=0.3, repeat_failure="slow", repeat_failures=1),
    "c4": AnswerDetails((3.0,), (1.0, 2.0), cost=0.0, unstable=1, dropped={"merged_chunks": 1}),
    "c5": AnswerDetails((3.0,), (1.0, 2.0), first_hit_ms=0.5, unreachable=("a",), dropped={"beyond_depth": 3}),
    "c7": AnswerDetails((3.0,), (1.0, 2.0), cost=0.7, failure="crash"),
}


def watched_answer(case: str, hit: str = "a") -> Answer:
    details = DETAILS.get(case, AnswerDetails((2.0,), (1.0,)))
    hits = () if details.failure else (Hit("x", 1, 2.0, True), Hit(hit, 2, 1.0, True, (3, 4)))
    return Answer(case, "error" if details.failure else "ok", hits, details)


AT_PARENTS = RunLabel("bm25", "parent")


def watched_run(cases: list[str], minutes: int = 0, label: RunLabel = AT_PARENTS, **known: object) -> Run:
    """A run of ours of some cases, as a worker leaves it behind."""
    answers = [watched_answer(case) for case in cases]
    provenance = Provenance(
        id=f"run-{minutes}",
        started=NOON + timedelta(minutes=minutes),
        ended=NOON + timedelta(minutes=minutes + 1),
        version="1.2",
        suite=SuiteIdentity("watched", "q", "c", "j"),
        agent=AgentIdentity("bm25", {"k1": 1.2}, "digest", {"ranking": "bm25"}),
        options={"num_runs": 2},
        repositories=(SearchedRepository("shop", "abc", False),),
        candidates=CandidateKinds(("code",)),
        environment=Environment("3.12", "Linux", {"numpy": "2"}, "cpu", 2, 10**9),
        index=IndexBuild(0.5 + minutes, 1, len(cases), 4096),
        start_seconds=(0.25 + minutes,),
        memory_bytes=10**6 + minutes,
        restarts=sum(answer.status == "error" for answer in answers),
        trust=(TrustEvent("not_isolated", "ran inside the runner"),),
    )
    dropped: dict[str, int] = {}
    for answer in answers:
        for key, count in (dict(answer.details.dropped) | {"unreachable_targets": len(answer.details.unreachable)}).items():
            dropped[key] = dropped.get(key, 0) + count
    left = {key: count for key, count in dropped.items() if count}
    return Run.from_answers(label, answers, dropped=left, provenance=replace(provenance, **known))  # type: ignore[arg-type]  # its own fields


def comparison_of(*, failing: bool = True) -> Report:
    """One agent at the parents and at the head; with a failed case both runs are untrusted."""
    cases = [case for case in WATCHED_SUITE.table.ids if failing or watched_answer(case).status == "ok"]
    runs = [watched_run(cases), watched_run(cases, 5, RunLabel("bm25", "head"))]
    scores = [score(match_hits(WATCHED_SUITE.only(set(cases)), run), ["RR", "nDCG@10"]) for run in runs]
    return build_comparison(scores, compare(scores))
