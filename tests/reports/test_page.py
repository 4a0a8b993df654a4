"""A page shows what a report says, runs nothing but its own script, and lets no text of others do anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from searchmark import (
    Answer,
    AnswerDetails,
    Case,
    Evidence,
    Hit,
    Judgment,
    Report,
    Run,
    Suite,
    build_report,
    check_gate,
    match_hits,
    parse_threshold,
    read_report,
    render,
    score,
)
from searchmark.gates.bounds import NumberRule
from searchmark.gates.quantities import LatencyOf
from searchmark.reports import cells
from searchmark.reports.comparison_tables import target_table
from searchmark.reports.failed_cases import failure_reasons
from searchmark.reports.page.pictures import distributions
from searchmark.reports.render import write_report
from searchmark.reports.report import distributed_measure
from tests.reports.pages import CALLS, FAILURE, RUNS, broken_names, shop_report, shop_suite, uneven_pair, with_past
from tests.reports.samples import HOSTILE, comparison_of, report_of

HOSTILE_ENDS = "</script><script>alert(1)</script><!--<script> javascript:alert(1) &amp; \u2028\u2029\u202e\x1b[31m\udcff \"'><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """The elements of a page, the texts of its scripts and styles, and the words that a reader sees."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else None
        if self._inside:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside][-1] += data
        else:
            self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self) -> Any:
        return json.loads(self.raw["script"][0])

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def sections(self) -> list[str | None]:
        return [attributes.get("id") for attributes in self.named("section")]


def page_of(report: Report) -> Page:
    return Page(render(report, "html"))


@pytest.fixture(scope="module")
def shop() -> Report:
    return with_past(shop_report(texts=True))


@pytest.fixture(scope="module")
def page(shop: Report) -> Page:
    return page_of(shop)


@pytest.mark.slow
def test_a_page_has_every_section_that_the_report_has_something_for(page: Page) -> None:
    assert page.sections == [
        "verdict", "agents", "targets", "segments", "distributions", "leakage", "history", "advice", "findings", "cases",
    ]  # fmt: skip


def test_a_page_leaves_out_what_the_report_does_not_have() -> None:
    assert page_of(report_of(by=())).sections == ["verdict", "agents", "distributions", "findings", "cases"]


def test_the_snapshots_of_one_agent_have_a_section() -> None:
    report = comparison_of(failing=False)
    page = page_of(report)
    assert "snapshots" in page.sections
    assert report.snapshot_effects[0].sentence in page.text


def test_the_verdict_comes_first_and_in_words(page: Page, shop: Report) -> None:
    assert shop.gate is not None
    assert page.text.index(f"Gate {shop.gate.verdict}") < page.text.index("Agents side by side")
    assert page.text.index(shop.pairs[0].differences[0].reason) < page.text.index("Agents side by side")


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(page: Page) -> None:
    (policy,) = [each["content"] for each in page.named("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (*page.raw["style"], page.raw["script"][1])
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert len(page.raw["style"]) == 1
    assert [each.get("type") for each in page.named("script")] == ["application/json", None]


def test_nothing_is_loaded_and_no_element_has_style_or_code_of_its_own(page: Page) -> None:
    addresses = [each[name] for _, each in page.elements for name in ("src", "href", "srcset", "action") if name in each]
    assert all(str(address).startswith(("#", "data:,")) for address in addresses)
    assert [each for _, each in page.elements if "style" in each or any(name.startswith("on") for name in each)] == []


def test_the_script_never_parses_a_text_as_markup(page: Page) -> None:
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", page.raw["script"][1]) == []


@pytest.mark.parametrize("hostile", [HOSTILE, HOSTILE_ENDS])
def test_hostile_queries_and_hits_stay_texts(hostile: str) -> None:
    harmless, attacked = page_of(report_of()), page_of(report_of(hostile, hostile))
    assert [tag for tag, _ in attacked.elements] == [tag for tag, _ in harmless.elements]
    assert attacked.data["queries"][0].startswith(hostile[:5])
    assert any(text.startswith(hostile[:5]) for text in attacked.data["texts"])


def test_hostile_names_categories_tags_notes_and_errors_stay_texts() -> None:
    attacked = page_of(_attacked(HOSTILE_ENDS))
    assert [each for _, each in attacked.elements if any(name.startswith("on") for name in each)] == []
    assert attacked.named("img") == []
    assert len(attacked.named("script")) == 2
    assert re.findall("[\u2028\u2029\u202e\x1b\udcff]", render(_attacked(HOSTILE_ENDS), "html")) == []


def _attacked(hostile: str) -> Report:
    from searchmark import (
        Answer,
        AnswerDetails,
        Case,
        Hit,
        Judgment,
        Run,
        RunLabel,
        Suite,
        build_comparison,
        compare,
        match_hits,
        score,
    )

    case = Case(hostile, hostile, (Judgment(hostile),), category=hostile, tags=(hostile, f"leak:{hostile}"), origin=hostile)
    suite = Suite.from_cases(hostile, [case])
    details = AnswerDetails((1.0,), failure=hostile, repeat_failure=hostile, unreachable=(hostile,), said={hostile: hostile})
    answers = [[Answer(hostile, "error", (), details)], [Answer(hostile, "ok", (Hit(hostile, 1, 1.0),))]]
    runs = [Run.from_answers(RunLabel(f"{hostile}{number}"), each) for number, each in enumerate(answers)]
    scores = [score(match_hits(suite, run), ["RR", "nDCG@10"]) for run in runs]
    return build_comparison(scores, compare(scores, ("category", "tag")), ("category", "tag"))


def test_a_page_is_the_same_from_a_report_that_was_read_back(shop: Report, tmp_path: Path) -> None:
    write_report(shop, tmp_path / "report.json")
    assert render(read_report(tmp_path / "report.json"), "html") == render(shop, "html")


def test_the_cases_of_a_page_have_the_numbers_that_all_formats_have(page: Page, shop: Report) -> None:
    for number, name in enumerate(RUNS):
        for row, case in enumerate(shop.agents[name].cases.values()):
            written = [f"{column[row]:.4f}" for column in page.data["answers"][number]["values"]]
            assert written == [cells.number(value).text for value in case.measures.values()]


def test_a_case_has_its_targets_with_their_ranks_and_its_hits_with_grades_and_scores(page: Page, shop: Report) -> None:
    data, texts = page.data, page.data["texts"]
    case = next(iter(shop.agents["bm25"].cases.values()))
    assert [texts[number] for number in data["expected"][0][::3]] == [each.target for each in case.expected]
    assert data["answers"][0]["ranks"][0] == [each.rank or 0 for each in case.expected]
    assert [texts[number] for number in data["answers"][0]["hits"][0]] == [hit.id for hit in case.hits]
    assert data["answers"][0]["scores"][0] == [pytest.approx(hit.score, rel=1e-5) for hit in case.hits]
    grades = dict(zip(data["answers"][0]["grades"][0][::2], data["answers"][0]["grades"][0][1::2], strict=True))
    assert grades == {at: hit.grade for at, hit in enumerate(case.hits) if hit.grade is not None}


def test_an_error_has_the_calls_that_led_there_line_by_line(page: Page) -> None:
    (number,) = page.data["answers"][2]["failure"]["7"]
    assert page.data["texts"][number] == f"{CALLS}\n{FAILURE}"


def test_the_text_of_a_hit_keeps_its_lines(page: Page) -> None:
    numbers = page.data["answers"][0]["hit_texts"][0]
    assert page.data["texts"][numbers[1]].startswith("def handle():\n    return")


def test_a_page_knows_which_cases_failed_and_why(page: Page, shop: Report) -> None:
    texts, failed = page.data["texts"], page.data["answers"][1]["failed"]
    for row, case in enumerate(shop.agents["hybrid"].cases.values()):
        numbers = failed[row] if isinstance(failed, list) else failed.get(str(row))
        assert tuple(texts[number] for number in numbers or ()) == failure_reasons(case, 1)


def test_leaky_cases_give_something_away(page: Page) -> None:
    assert page.data["leaky"] == [row for row in range(60) if row % 3]


@pytest.mark.slow
def test_a_thousand_cases_of_four_agents_take_less_than_three_megabytes() -> None:
    assert len(render(shop_report(cases=1000), "html").encode()) < 3_000_000


def test_an_undefined_value_is_null_and_has_its_reason() -> None:
    data = page_of(report_of()).data
    assert data["answers"][0]["values"][0][2] is None
    assert [data["measures"][measure] for measure, _ in data["answers"][0]["undefined"][2]] == ["RR", "nDCG@10", "mine"]


def test_a_difference_is_that_of_whole_values_rounded_once() -> None:
    data = page_of(uneven_pair()).data
    assert data["differences"][0] == [0.3333, 0.0, None, 0.0]
    assert data["answers"][0]["values"][0][0] == 0.3333
    assert data["answers"][1]["values"][0][0] == 0.6667


def test_runs_differ_by_what_four_digits_do_not_tell_and_not_from_a_case_that_was_not_run() -> None:
    assert page_of(uneven_pair()).data["different"] == [[0], [1]]


def test_targets_are_written_as_in_every_other_format() -> None:
    means = [parse_threshold(text) for text in ("nDCG@10=0.5", "RR=0.99", "R@10=0.01")]
    rules = [*means, NumberRule(LatencyOf("warm", "p95"), "at_most", 100.0)]
    suite = shop_suite(60)
    scores = score(match_hits(suite, Run.from_answers("bm25", map(_timed, suite.table.ids))), ["nDCG@10", "RR", "R@10"])
    report = build_report(scores, gate=check_gate(Evidence.of(scores), rules))
    text = page_of(report).text
    rows = target_table(report).rows
    assert len(rows) == len(rules)
    for _, subject, value, _, asked, state in rows:
        assert f"{state.text} {subject.text}" in text
        assert f"asked for {asked.text}" in text
        assert value.text in text


def test_names_are_on_one_line_wherever_they_are_and_queries_keep_theirs() -> None:
    page = page_of(broken_names())
    assert [page.data["texts"][number] for number in page.data["tags"][0]] == ["a b"]
    assert page.data["texts"][page.data["categories"][1]] == "multi line"
    assert [each["data-category"] for each in page.named("button") if "data-category" in each] == ["multi line"]
    assert page.data["queries"][0] == "first line\nsecond line"


def test_the_page_draws_the_distribution_that_the_chart_draws() -> None:
    suite = shop_suite(12)
    scores = score(match_hits(suite, Run.from_answers("bm25", map(_timed, suite.table.ids))), ["nDCG@10", "F1(rel=2)@10"])
    report = build_report(scores)
    assert distributed_measure(report) == "F1(rel=2)@10"
    assert [found.title for found in distributions(report)] == ["F1(rel=2)@10", "Latency, warm searches (ms)"]


def test_common_words_are_beside_our_names(page: Page) -> None:
    assert page.data["words"] == ["nDCG@10", "MRR (RR)", "Precision@5 (P@5)", "Recall@10 (R@10)", "F1@10", "Hit rate@5 (Success@5)"]
    assert "Precision@5 (P@5)" in page.text
    assert {"Precision@5", "MRR", "Hit rate@5"} <= {each.get("title") for each in page.named("th")}


def test_one_case_is_not_called_cases() -> None:
    suite = shop_suite(1)
    report = build_report(score(match_hits(suite, Run.from_answers("bm25", [_timed(suite.table.ids[0])])), ["RR"]))
    assert "1 case · 1 run" in page_of(report).text


def _timed(case: str) -> Answer:
    return Answer(case, "ok", (Hit("src/shop/orders/orders_service/handlers/module_0000.py", 1),), AnswerDetails((3.0,), (0.3464,)))


def test_text_that_calls_itself_markup_stays_text() -> None:
    attacked = page_of(_attacked(Markup("<b onclick=alert(1)>bold</b>")))
    assert attacked.named("b") == page_of(_attacked("text")).named("b")
    assert "<b onclick=alert(1)>bold</b>" in attacked.text


@pytest.mark.parametrize("threshold", ["nDCG@10=0.1", "Judged@10=0.1", "RR=2"])
def test_a_target_in_any_state_is_on_the_page(threshold: str) -> None:
    """Three cases have no interval; a measure may tell nothing of quality; a bound may be out of reach."""
    suite = Suite.from_cases("s", [Case(f"c{n}", "q", (Judgment("a"),)) for n in range(3)])
    scores = score(match_hits(suite, Run.from_scores({f"c{n}": {"a": 1.0} for n in range(3)})), ["nDCG@10", "RR", "Judged@10"])
    gate = check_gate(Evidence.of(scores), [parse_threshold(threshold)])
    assert threshold.partition("=")[0] in render(build_report(scores, gate=gate), "html")
