"""What a report says of earlier runs: few lines, those about all cases first, each under its own word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from searchmark import Answer, Case, Hit, Judgment, Report, Run, Suite, build_report, match_hits, render, score
from searchmark.reports.run_tables import HISTORY_LINES, history_lines
from searchmark.scoring.drift import Drift, Noise
from searchmark.scoring.trends import Trend, TrendPoint

NOISE = "RR of bm25 (-10.0%), P@5 of bm25 (+6.2%), R@10 of bm25 (0 to 0.45)"
BEGINNING = datetime(2026, 11, 1, tzinfo=UTC)


def report_with(drifts: Sequence[Drift] = (), trends: Sequence[Trend] = ()) -> Report:
    suite = Suite.from_cases("suite", [Case("c", "q", (Judgment("a"),))])
    report = build_report(score(match_hits(suite, Run.from_answers("bm25", [Answer("c", "ok", (Hit("a", 1),))])), ["RR"]))
    return replace(report, drifts=tuple(drifts), trends=tuple(trends))


def drift(quantity: str, noise: Noise = "outside", change: float | None = -0.1) -> Drift:
    return Drift("bm25", quantity, 0.5, 0.45, change, ("e1",), None, f"{quantity} of bm25 fell", noise)


def trend(measure: str, means: Sequence[float], worse_since: str | None = None, category: str | None = None) -> Trend:
    points = tuple(TrendPoint(f"e{n}", BEGINNING + timedelta(n), mean) for n, mean in enumerate(means))
    where = {} if category is None else {"category": category}
    return Trend("bm25", measure, points, where, 0.4, 0.6, worse_since, f"{measure} of bm25 {category or 'all'} is below")


def texts(report: Report) -> list[str]:
    return [line.text for line in history_lines(report)]


def test_what_is_about_all_cases_comes_first_and_what_is_proven_before_what_is_not() -> None:
    part, whole = trend("RR", [0.5, 0.3], "e1", "a"), trend("RR", [0.5, 0.3])
    worse = trend("P@5", [0.5, 0.3], "e1")
    assert texts(report_with([drift("nDCG@10")], [part, whole, worse])) == [
        "drift: nDCG@10 of bm25 fell",
        "trend: P@5 of bm25 all is below",
        "trend: RR of bm25 all is below",
        "trend: RR of bm25 a is below",
    ]


def test_one_run_that_drifts_already_is_not_told_again_for_any_of_its_segments() -> None:
    once = [trend("RR", [0.5, 0.3], category=category) for category in (None, "a", "b")]
    assert texts(report_with([drift("RR")], once)) == ["drift: RR of bm25 fell"]
    lasting = [trend("RR", [0.5, 0.3, 0.3]), trend("RR", [0.5, 0.3, 0.3], "e1", "a")]
    assert len(texts(report_with([drift("RR")], lasting))) == 3


def test_what_moved_within_noise_is_one_line() -> None:
    noise = [drift("RR", "within"), drift("P@5", "within", 0.062), drift("R@10", "within", None)]
    assert texts(report_with([*noise, drift("nDCG@10", "unknown")])) == [
        "drift: nDCG@10 of bm25 fell",
        f"drift: 3 numbers moved by more than the limit, but within noise: {NOISE}",
    ]
    assert texts(report_with([drift("RR", "within")])) == ["drift: RR of bm25 fell"]


def test_that_noise_is_not_known_is_said_once() -> None:
    words = ", and whether that is noise is not known"
    first, second = (
        replace(drift(quantity, "unknown"), sentence=f"{quantity} of bm25 fell{words}; no cause") for quantity in ("RR", "P@5")
    )
    assert texts(report_with([first, drift("nDCG@10"), second])) == [
        "drift: nDCG@10 of bm25 fell",
        f"drift: 2 numbers moved by more than the limit{words}: it takes three earlier runs like this one",
        "drift: RR of bm25 fell; no cause",
        "drift: P@5 of bm25 fell; no cause",
    ]
    assert texts(report_with([first])) == [f"drift: RR of bm25 fell{words}; no cause"]


def test_a_report_does_not_drown_in_its_history() -> None:
    many = [trend("RR", [0.5, 0.3], category=f"k{n}") for n in range(60)]
    found = texts(report_with([drift("P@5")], many))
    assert len(found) == HISTORY_LINES + 1
    assert found[-1] == "trend: and 51 more (searchmark history trend shows all)"
    drifts = texts(report_with([drift(f"P@{n}") for n in range(1, 13)], many))
    assert drifts[-2:] == ["drift: and 2 more (the JSON has them)", "trend: and 60 more (searchmark history trend shows all)"]


def test_every_format_for_readers_has_the_same_lines() -> None:
    report = report_with([drift("P@5")], [trend("RR", [0.5, 0.3, 0.3], "e1")])
    for name in ("text", "markdown", "summary"):
        text = render(report, name)
        assert "drift: P@5 of bm25 fell" in text
        assert "trend: RR of bm25 all is below" in text
