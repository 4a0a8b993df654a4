"""A page in a real browser: it complains about nothing, asks for nothing, and does what a reader wants."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from searchmark.reports.render import write_report
from tests.reports.pages import shop_report, shop_suite
from tests.reports.test_page import HOSTILE_ENDS, _attacked

if TYPE_CHECKING:
    from tests.browser.conftest import Open

pytestmark = pytest.mark.browser

IDS = list(shop_suite(240).table.ids)


def test_all_sections_and_the_first_hundred_cases_are_there(open_page: Open) -> None:
    opened = open_page()
    assert opened.page.locator("main > section").count() == 10
    assert opened.ids == IDS[:100]
    assert opened.page.locator("#count").inner_text() == "240 cases"


def test_more_cases_come_as_the_reader_gets_to_them(open_page: Open) -> None:
    opened = open_page()
    opened.page.locator("#more").scroll_into_view_if_needed()
    opened.page.locator("#list tbody tr").nth(199).wait_for()


def test_a_search_finds_ids_queries_targets_and_hits(open_page: Open) -> None:
    opened = open_page()
    opened.page.fill("#q", '"number 17 must" PAYMENTS')
    assert opened.ids == [IDS[17]]
    opened.page.fill("#q", "module_0033.py")
    assert IDS[33] in opened.ids
    assert len(opened.ids) < 40


def test_filters_leave_only_what_they_name(open_page: Open) -> None:
    opened = open_page("#category=payments")
    assert opened.ids == IDS[1::4]
    opened.page.check("#leaky")
    assert opened.ids == [name for number, name in enumerate(IDS) if number % 4 == 1 and number % 3]
    opened.page.select_option("#status", "error")
    assert opened.ids == [IDS[number] for number in range(7, 240, 50) if number % 4 == 1 and number % 3]


def test_failed_flipped_and_different_cases_are_told_apart(open_page: Open) -> None:
    opened = open_page()
    failed = set(_checked(open_page, "failed"))
    flipped = set(_checked(open_page, "flipped"))
    different = set(_checked(open_page, "different"))
    assert flipped < failed
    assert flipped
    assert different
    marks = {each: opened.page.locator("tr", has_text=each).locator("td.number .failed").count() for each in opened.ids[:20]}
    assert {each for each, count in marks.items() if count} == failed & set(marks)


def _checked(open_page: Open, name: str) -> list[str]:
    opened = open_page()
    opened.page.check(f"#{name}")
    opened.page.evaluate("while (!document.getElementById('more').hidden) document.getElementById('more').click()")
    return opened.ids


def test_a_column_sorts_up_down_and_not_at_all(open_page: Open) -> None:
    opened = open_page()
    head = opened.page.locator("#list thead th", has_text="hybrid")
    for sorted_by, ascending in (("descending", False), ("ascending", True)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == sorted_by
        values = [float(text.split()[-1]) for text in opened.page.locator('#list tbody td[data-run="hybrid"]').all_inner_texts()]
        assert values == sorted(values, reverse=not ascending)
    head.get_by_role("button").click()
    assert opened.ids == IDS[:100]


def test_another_measure_shows_other_values(open_page: Open) -> None:
    opened = open_page()
    before = opened.page.locator("#list tbody td.number").all_inner_texts()
    opened.page.select_option("#measure", "P@5")
    assert opened.page.locator("#list tbody td.number").all_inner_texts() != before


def test_a_case_shows_query_judgments_answers_times_texts_and_errors(open_page: Open) -> None:
    opened = open_page(f"#case={IDS[7]}")
    dialog = opened.page.locator("dialog")
    text = dialog.inner_text()
    assert "Refund number 7 must not be paid twice" in text
    assert "handlers/module_0015.py" in text
    assert "grade 2" in text
    assert "first search" in text
    assert dialog.locator(".answer").count() == 4
    assert "in look_up\nKeyError" in dialog.locator("pre.failure").inner_text()
    dialog.locator(".hits summary").first.click()
    assert dialog.locator(".hits pre").first.inner_text().startswith("def handle():")


def test_moves_between_agents_are_named(open_page: Open) -> None:
    dialog = open_page(f"#case={IDS[3]}").page.locator("dialog")
    assert dialog.locator("td .up, td .down").count() > 0
    assert dialog.locator(".hits .up, .hits .down").count() > 0


def test_everything_can_be_done_with_the_keyboard(open_page: Open) -> None:
    opened = open_page()
    keyboard = opened.page.keyboard
    keyboard.press("Tab")
    keyboard.press("Enter")  # skip to the cases
    keyboard.press("Tab")
    keyboard.type("number 1")
    assert opened.page.evaluate("document.activeElement.id") == "q"
    opened.page.locator("#list tbody button").first.focus()
    second = opened.ids[1]
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    assert opened.page.locator("#case-title").inner_text() == second
    keyboard.press("ArrowRight")
    assert opened.page.locator("#case-title").inner_text() == opened.ids[2]
    keyboard.press("Escape")
    assert not opened.page.locator("dialog").is_visible()
    assert opened.page.evaluate("document.activeElement.textContent") == opened.ids[2]


def test_the_fragment_restores_what_was_shown(open_page: Open) -> None:
    opened = open_page()
    opened.page.fill("#q", "catalogue")
    opened.page.check("#leaky")
    opened.page.locator("#list thead button", has_text="bm25").click()
    opened.page.locator("#list tbody button").nth(3).click()
    listed, title = opened.ids, opened.page.locator("#case-title").inner_text()
    again = open_page("#" + opened.fragment)
    assert again.ids == listed
    assert again.page.locator("#case-title").inner_text() == title
    assert again.page.input_value("#q") == "catalogue"
    assert again.page.is_checked("#leaky")


def test_the_back_button_closes_a_case_and_keeps_the_filters(open_page: Open) -> None:
    opened = open_page("#leaky=1")
    opened.page.locator("#list tbody button").first.click()
    assert opened.page.locator("dialog").is_visible()
    opened.page.go_back()
    assert not opened.page.locator("dialog").is_visible()
    assert opened.fragment == "leaky=1"


def test_a_name_in_a_heat_map_shows_its_cases_and_advice_opens_them(open_page: Open) -> None:
    opened = open_page()
    opened.page.locator("#segments button", has_text="payments").click()
    assert opened.ids == IDS[1::4]
    opened.page.locator("#advice button").nth(1).click()
    assert opened.page.locator("#case-title").inner_text() == IDS[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_colour_schemes_are_followed_and_can_be_switched(open_page: Open, scheme: str) -> None:
    opened = open_page(color_scheme=scheme)
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0)"
    )
    before = opened.page.evaluate(brightness)
    assert (before < 384) == (scheme == "dark")
    opened.page.click("#theme")
    after = opened.page.evaluate(brightness)
    assert (after < 384) == (scheme == "light")
    assert open_page("#" + opened.fragment, color_scheme=scheme).page.evaluate(brightness) == after


@pytest.mark.parametrize("fragment", ["", f"#case={IDS[7]}"])
def test_a_phone_does_not_scroll_sideways(open_page: Open, fragment: str) -> None:
    page = open_page(fragment, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True).page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("visualViewport.width") == 360
    assert page.evaluate("(d => !d.open || d.scrollWidth <= d.clientWidth)(document.querySelector('dialog'))")


def test_hostile_texts_do_nothing(open_page: Open, tmp_path: Path) -> None:
    write_report(_attacked(HOSTILE_ENDS), tmp_path / "attacked.html")
    opened = open_page(file=tmp_path / "attacked.html")
    dialogs: list[str] = []
    opened.page.on("dialog", lambda shown: dialogs.append(shown.message))
    opened.page.locator("#list tbody button").first.click()
    assert "</script><script>alert(1)</script>" in opened.page.locator("#case-title").inner_text()
    assert opened.page.locator("img, iframe, object, embed, a[href^='javascript']").count() == 0
    assert dialogs == []


@pytest.mark.parametrize(("cases", "runs"), [(1_000, 4), (10_000, 4)])
def test_many_cases_open(open_page: Open, tmp_path: Path, cases: int, runs: int) -> None:
    write_report(shop_report(cases=cases, runs=runs), tmp_path / "many.html")
    begin = perf_counter()
    opened = open_page(file=tmp_path / "many.html")
    ready = perf_counter() - begin
    begin = perf_counter()
    opened.page.fill("#q", '"number 77 must"')
    assert len(opened.ids) == 1
    size = (tmp_path / "many.html").stat().st_size / 1e6
    print(f"\n{cases} cases x {runs}: {size:.2f} MB, open in {ready:.2f} s, first search {perf_counter() - begin:.2f} s")  # noqa: T201  # a figure to read
