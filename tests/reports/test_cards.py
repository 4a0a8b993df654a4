"""Cards in notebooks: the verdict in words, intervals as pictures, nothing that a text of others could do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from markupsafe import Markup

import searchmark
from searchmark import (
    Answer,
    Case,
    Decision,
    Evidence,
    Hit,
    Judgment,
    Run,
    RunLabel,
    Suite,
    check_gate,
    compare,
    compare_runs,
    match_hits,
    score,
)
from searchmark.reports import cells
from searchmark.reports.cards import (
    BAD_COLOUR,
    DOUBTFUL_COLOUR,
    GOOD_COLOUR,
    LONGEST_TEXT,
    NEUTRAL_COLOUR,
    DrawnCell,
    card,
    drawn_rows,
)
from searchmark.reports.cells import Cell, table
from searchmark.reports.page.pictures import Whisker
from searchmark.scoring.decisions import RuleOutcome
from tests.reports.samples import HOSTILE, WATCHED_SUITE, comparison_of, report_of, watched_run

BIDI = "\u202e"


def records(name: str = "bm25", text: str = "find it") -> dict[str, object]:
    """One record of every kind that has a card, with this name and this text wherever one can be."""
    cases = [Case(f"{text}{n}", text, (Judgment(text),), category=text) for n in range(12)]
    suite = Suite.from_cases(name, cases, description=text)
    answers = [Answer(case.id, "ok", (Hit(text, 1, 1.0),)) for case in cases]
    runs = [Run.from_answers(RunLabel(label), answers) for label in (name, f"{name}2")]
    scores = [score(match_hits(suite, run), ["RR", "P@5"]) for run in runs]
    gate = check_gate(Evidence.of(scores[0]), [searchmark.parse_threshold("RR=1.1")])
    return {
        "suite": suite,
        "run": runs[0],
        "scores": scores[0],
        "comparison": compare(scores),
        "decision": Decision(name, name, "RR", text, text, (text,), (text,), (RuleOutcome(text, text, "no", text, 0.1),)),
        "gate": gate,
        "report": compare_runs(suite, runs),
    }


KINDS = list(records())


class Elements(HTMLParser):
    """What a browser would make of a text: its elements, their attributes, and what there is to read."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.read = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.read += data


ELEMENTS = {"div", "table", "tr", "th", "td", "svg", "line", "circle"}
ATTRIBUTES = {
    "style", "scope", "width", "height", "viewbox", "role", "aria-label", "x1", "x2", "y1", "y2", "cx", "cy", "r", "fill",
    "stroke", "stroke-opacity", "stroke-width",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
class TestEveryCard:
    @pytest.mark.parametrize(
        "text", [HOSTILE, '"><img src=x onerror=alert(1)>', "</svg></table><script>alert(1)</script>", "javascript:alert(1)"]
    )
    def test_hostile_text_is_inert(self, kind: str, text: str) -> None:
        html = records(text, text)[kind]._repr_html_()  # type: ignore[attr-defined]  # every one of them has a card
        page = Elements(html)
        assert page.names <= ELEMENTS
        assert page.attributes <= ATTRIBUTES
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\ud800-\udfff]", html)

    def test_a_text_that_calls_itself_markup_is_escaped_as_well(self, kind: str) -> None:
        html = card(records(Markup("<script>x</script>"), Markup("<script>y</script>"))[kind])  # type: ignore[arg-type]  # as above
        assert Elements(html).names <= ELEMENTS

    def test_is_short_whatever_the_texts(self, kind: str) -> None:
        assert len(card(records("n" * 100_000, "t" * 100_000)[kind])) < 40 * LONGEST_TEXT + 20_000  # type: ignore[arg-type]  # as above

    def test_has_no_script_no_style_sheet_and_nothing_from_elsewhere(self, kind: str) -> None:
        html = card(records()[kind])  # type: ignore[arg-type]  # as above
        assert not re.search(r"<(script|style|link|img|iframe|a)\b|url\(|https?:", html)

    def test_takes_its_colours_from_the_page_around_it(self, kind: str) -> None:
        html = card(records()[kind])  # type: ignore[arg-type]  # as above
        colours = set(re.findall(r'(?:stroke|fill)="([^"]+)"|(?:background|color):([^;"]+)', html))
        assert {first or second for first, second in colours} <= {"currentColor", "transparent", "inherit"}


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [GOOD_COLOUR, BAD_COLOUR, DOUBTFUL_COLOUR, NEUTRAL_COLOUR])
def test_the_edge_is_seen_on_light_and_on_dark_pages(colour: str) -> None:
    """WCAG 2.2 asks for a contrast of 3 where colour is no text; #111 is what dark notebooks have."""
    assert (luminance("#ffffff") + 0.05) / (luminance(colour) + 0.05) >= 3
    assert (luminance(colour) + 0.05) / (luminance("#111111") + 0.05) >= 3


def read(record: object) -> str:
    return " ".join(Elements(card(record)).read.split())  # type: ignore[arg-type]  # every one of them has a card


class TestWhatCardsSay:
    def test_a_suite_says_how_large_it_is_and_begins_to_show_its_cases(self) -> None:
        said = read(WATCHED_SUITE)
        assert "Suite watched 12 cases, 36 judgments" in said
        assert "c4 query 4 3 and 7 more cases" in said

    def test_a_run_says_how_it_ended_and_how_fast_it_was(self) -> None:
        said = read(watched_run(list(WATCHED_SUITE.table.ids)))
        assert "Run bm25 12 answers (9 ok, 3 error), 18 hits latency p50 / p95: cold 2 / 3 ms" in said

    def test_scores_say_every_mean_with_its_interval(self) -> None:
        cases = [Case(f"c{n}", "q", (Judgment(f"a{n}"),)) for n in range(12)]
        run = Run.from_scores({f"c{n}": {f"a{n}": 1.0} if n % 2 else {"b": 1.0} for n in range(12)})
        scores = score(match_hits(Suite.from_cases("s", cases), run), ["RR"])
        summary = scores.summaries()["RR"]
        assert f"MRR (RR) 0.5000 {summary.low:.4f} to {summary.high:.4f} 12 0" in read(scores)
        assert card(scores).count("<circle") == 1

    def test_a_result_that_cannot_be_trusted_says_so_first(self) -> None:
        scores = score(match_hits(WATCHED_SUITE, watched_run(list(WATCHED_SUITE.table.ids))), ["RR"])
        assert "12 cases untrusted: 3 of 12 cases ended in an error" in read(scores)
        assert DOUBTFUL_COLOUR in card(scores)

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ("b", "a", "after is better than before by RR: IMPROVED"),
            ("a", "b", "after is worse than before by RR: REGRESSED"),
            ("a", "a", "not enough evidence that after differs from before by RR: INCONCLUSIVE"),
        ],
    )
    def test_a_comparison_says_its_verdict_in_words(self, before: str, after: str, words: str) -> None:
        suite = Suite.from_cases("s", [Case(f"c{n}", "q", (Judgment(f"a{n}"), Judgment(f"b{n}", grade=0))) for n in range(20)])
        runs = [
            Run.from_scores({f"c{n}": {f"{hit}{n}": 1.0} for n in range(20)}, agent)
            for agent, hit in (("before", before), ("after", after))
        ]
        scores = [score(match_hits(suite, run), ["RR"]) for run in runs]
        assert words in read(compare(scores))
        assert words in read(compare_runs(suite, runs, ["RR"]))

    def test_a_gate_says_which_rule_is_not_met(self) -> None:
        report = report_of(minimum=0.9)
        assert report.gate is not None
        sentence = "gate untrusted:"
        assert sentence in read(report.gate)
        assert sentence in read(report)

    def test_numbers_are_those_of_the_report(self) -> None:
        report = comparison_of()
        (pair,) = report.pairs
        for found in pair.differences:
            assert f"{found.difference:+.4f}" in read(report)
            assert f"{found.wins}/{found.ties}/{found.losses}" in read(report)

    def test_a_report_that_was_read_has_the_same_card(self, tmp_path) -> None:
        report = comparison_of()
        (tmp_path / "report.json").write_text(searchmark.render(report, "json"))
        assert card(searchmark.read_report(tmp_path / "report.json")) == card(report)

    def test_a_secret_of_the_environment_is_not_in_it(self, monkeypatch) -> None:
        monkeypatch.setenv("SEARCH_API_KEY", "sk-4f9a8b7c6d5e4f3a2b1c")
        decision = Decision("b", "a", "RR", "wait", "the service said sk-4f9a8b7c6d5e4f3a2b1c", (), ())
        assert "sk-4f9a8b7c6d5e4f3a2b1c" not in card(decision)


def bars(*intervals: Cell) -> list[DrawnCell]:
    """A column of intervals as a card draws it."""
    return [cell for (cell,) in drawn_rows(table(["95 % interval"], ([each] for each in intervals)))]


class TestBars:
    def test_share_one_scale_from_0_to_1(self) -> None:
        first, second = bars(cells.interval(0.25, 1.0, mean=0.5), cells.interval(None, None, mean=0.0))
        assert (first.mark, first.zero) == (Whisker(50.0, 26.0, 98.0), None)
        assert second.mark == Whisker(2.0)

    def test_of_differences_have_0_in_the_middle(self) -> None:
        (bar,) = bars(cells.interval(-0.1, 0.2, mean=0.1, signed=True))
        assert (bar.mark, bar.zero) == (Whisker(74.0, 26.0, 98.0), 50.0)

    def test_of_nothing_draw_nothing(self) -> None:
        (bar,) = bars(cells.interval(None, None, signed=True))
        assert bar.mark is None


def test_a_card_comes_without_anything_of_reports_being_imported_before() -> None:
    """As in a notebook that has only made a suite."""
    code = (
        "import json, sys, searchmark; suite = searchmark.Suite.from_grades({'q': {'a': 1}}); "
        "before = 'searchmark.reports.render' in sys.modules; print(json.dumps([before, suite._repr_html_()]))"
    )
    before, html = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert not before
    assert "1 case, 1 judgment" in html
