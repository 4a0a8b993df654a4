"""Reports that show everything a page has, and large ones."""

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
    Report,
    ReportExtras,
    ReportSettings,
    Run,
    Suite,
    build_comparison,
    build_report,
    check_gate,
    compare,
    match_hits,
    parse_threshold,
    score,
)
from searchmark.reports.report import Recommendation
from searchmark.scoring.drift import Drift
from searchmark.scoring.trends import Trend, TrendPoint

RUNS = ("bm25", "hybrid", "semantic", "keyword")
FOLDERS = ("orders", "payments", "catalogue", "shipping", "accounts", "mail", "web", "jobs")
CALLS, FAILURE = 'File "agent.py", line 9, in retrieve\nFile "agent.py", line 3, in look_up', "KeyError: 'rare'"


def path_of(number: int) -> str:
    folder = FOLDERS[number % len(FOLDERS)]
    return f"src/shop/{folder}/{FOLDERS[number // 8 % 8]}_service/handlers/module_{number:04d}.py"


def _query(number: int) -> str:
    return f"Refund number {number} must not be paid twice when the gateway of {FOLDERS[number % 8]} answers late or not at all"


def shop_suite(cases: int) -> Suite:
    return Suite.from_cases(
        "shop",
        [
            Case(
                f"shop@{number:012x}",
                _query(number),
                (Judgment(path_of(number), grade=2), Judgment(path_of(number + 8))),
                category=FOLDERS[number % 4],
                tags=(f"leak:L{number % 3}", "language:en" if number % 2 else "language:de"),
            )
            for number in range(cases)
        ],
    )


def _answer(suite_id: str, number: int, run: int, files: int) -> Answer:
    if number % 50 == 7 and run == 2:
        return Answer(suite_id, "error", (), AnswerDetails((12.5,), failure=FAILURE, traceback=CALLS))
    shift = (number * 7 + run * 3) % 5
    hits = [Hit(path_of((number + (place - shift) * 8) % files), place + 1, 20.123456 / (place + 1) + run) for place in range(10)]
    return Answer(suite_id, "ok", tuple(hits), AnswerDetails((3.0 + run + number % 7,), (1.0 + run, 1.5 + number % 3)))


def shop_report(cases: int = 60, runs: int = 4, minimum: float | None = 0.5, texts: bool = False) -> Report:
    """A comparison of agents on a shop that has twice as many files as cases."""
    suite = shop_suite(cases)
    made = [
        Run.from_answers(name, [_answer(case, number, run, 2 * cases) for number, case in enumerate(suite.table.ids)])
        for run, name in enumerate(RUNS[:runs])
    ]
    scores = [score(match_hits(suite, run), ["nDCG@10", "RR", "P@5", "R@10", "F1@10", "Success@5"]) for run in made]
    gate = None if minimum is None else check_gate(Evidence.of(scores[0]), [parse_threshold(f"nDCG@10={minimum}")])
    extras = ReportExtras(
        ReportSettings(hit_texts=texts), text_of=lambda _, case, hit: f"def handle():\n\treturn {hit!r}  # {case}"
    )
    return build_comparison(scores, compare(scores, ("category", "tag")), ("category", "tag"), gate=gate, extras=extras)


def with_past(report: Report) -> Report:
    """The same with what an archive tells."""
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    points = tuple(
        TrendPoint(f"run-{day}", noon + timedelta(days=day), mean, mean - 0.05, mean + 0.05, worse)
        for day, (mean, worse) in enumerate([(0.71, False), (0.72, False), (0.60, True)])
    )
    trend = Trend("bm25", "nDCG@10", points, low=0.68, high=0.75, worse_since="run-2", sentence="worse since run-2")
    drift = Drift(
        "bm25", "latency warm p95", 1.0, 2.0, 1.0, ("run-1",), "the corpus", "latency warm p95 doubled; the corpus differs"
    )
    advice = Recommendation(
        "typos", "bm25", "3 of 4 cases with typos fail", "Try a spelling correction.", tuple(list(report.agents["bm25"].cases)[:2])
    )
    return replace(report, trends=(trend,), drifts=(drift,), recommendations=(advice,))


def uneven_pair() -> Report:
    """Two runs: case 0 is found in thirds, case 1 differs by less than four digits tell, case 2 was not run the second time."""
    targets = tuple(map(Judgment, "abc"))
    suite = Suite.from_cases("uneven", [Case(f"case{number}", f"query {number}", targets) for number in range(4)])
    far = [Hit(f"none{rank}", rank) for rank in range(1, 201)]
    first = [[Hit("a", 1)], [*far[:198], Hit("a", 199)], [Hit("a", 1)], [Hit("a", 1)]]
    second = [[Hit("a", 1), Hit("b", 2)], [*far[:199], Hit("a", 200)], [], [Hit("a", 1)]]
    runs = [
        Run.from_answers(
            name, [Answer(f"case{number}", "ok" if hits else "not_run", tuple(hits)) for number, hits in enumerate(found)]
        )
        for name, found in (("one", first), ("two", second))
    ]
    scores = [score(match_hits(suite, run), ["R@10", "RR"]) for run in runs]
    return build_comparison(scores, compare(scores))


def broken_names() -> Report:
    """Categories and tags with line breaks, tabs and markup; half of the cases have no category."""
    cases = [
        Case(
            f"case{number}",
            "first line\nsecond line",
            (Judgment("a"),),
            category="multi\nline" if number % 2 else None,
            tags=("a\tb",),
        )
        for number in range(12)
    ]
    suite = Suite.from_cases("broken", cases)
    run = Run.from_answers("one", [Answer(case.id, "ok", (Hit("a", 1),)) for case in cases])
    return build_report(score(match_hits(suite, run), ["RR"]), ("category", "tag"))
