"""What the list of cases is filtered by: always seen, never more than the address and the report know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from searchmark.reports.render import write_report
from tests.reports.pages import broken_names, uneven_pair

if TYPE_CHECKING:
    from tests.browser.conftest import Open

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pair") / "pair.html"
    write_report(uneven_pair(), file)
    return file


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("broken") / "broken.html"
    write_report(broken_names(), file)
    return file


def test_the_difference_of_two_thirds_and_one_third_is_a_third(open_page: Open, pair: Path) -> None:
    shown = open_page(file=pair).page.locator('td[data-run="difference"]').all_inner_texts()
    assert shown == ["+0.3333", "+0.0000", "–", "+0.0000"]


def test_a_difference_that_four_digits_hide_keeps_its_sign(open_page: Open, pair: Path) -> None:
    shown = open_page("#measure=RR", file=pair).page.locator('td[data-run="difference"]').all_inner_texts()
    assert shown == ["+0.0000", "-0.0000", "–", "+0.0000"]


@pytest.mark.parametrize(("measure", "different"), [("R@10", ["case0"]), ("RR", ["case1"])])
def test_different_are_those_that_both_runs_have_a_value_of(
    open_page: Open, pair: Path, measure: str, different: list[str]
) -> None:
    assert open_page(f"#different=1&measure={measure}", file=pair).ids == different


def test_a_case_that_was_not_run_has_not_flipped(open_page: Open, tmp_path: Path) -> None:
    from searchmark import Answer, Case, Hit, Judgment, Run, Suite, compare_runs

    suite = Suite.from_cases("half", [Case(f"case{number}", "q", (Judgment("a"),)) for number in range(4)])
    right, wrong = (Hit("a", 1),), (Hit("x", 1),)
    one = Run.from_answers("one", [Answer(f"case{number}", "ok", hits) for number, hits in enumerate([right, right, wrong, wrong])])
    ends = [Answer("case0", "not_run"), Answer("case1", "ok", wrong), Answer("case2", "not_run"), Answer("case3", "error")]
    write_report(compare_runs(suite, [one, Run.from_answers("two", ends)], ["RR"]), tmp_path / "half.html")
    assert open_page("#flipped=1", file=tmp_path / "half.html").ids == ["case1"]


def test_the_only_category_has_a_control_that_shows_it(open_page: Open, broken: Path) -> None:
    opened = open_page(file=broken)
    opened.page.locator("#segments button[data-category]").click()
    assert opened.ids == [f"case{number}" for number in range(1, 12, 2)]
    assert opened.page.locator("#category").is_visible()
    assert opened.page.input_value("#category") == "multi line"
    opened.page.get_by_role("button", name="Clear").click()
    assert len(opened.ids) == 12


def test_a_tag_with_a_tab_shows_its_cases(open_page: Open, broken: Path) -> None:
    opened = open_page(file=broken)
    opened.page.locator("#segments button[data-tag]").click()
    assert opened.page.input_value("#tag") == "a b"
    assert len(opened.ids) == 12


@pytest.mark.parametrize(
    "fragment", ["category=zzz", "tag=zzz", "status=zzz", "status=ok", "leaky=1", "flipped=1", "sort=99", "sort=difference"]
)
def test_what_no_control_shows_does_not_filter(open_page: Open, broken: Path, fragment: str) -> None:
    opened = open_page(f"#{fragment}", file=broken)
    assert opened.page.locator("#count").inner_text() == "12 cases"
    opened.page.check("#failed")
    assert opened.fragment == "failed=1"


def test_an_unknown_measure_is_the_first_one(open_page: Open) -> None:
    assert open_page("#measure=foo").page.input_value("#measure") == "nDCG@10"


def test_measures_are_offered_and_shown_in_common_words(open_page: Open) -> None:
    opened = open_page()
    opened.page.select_option("#measure", label="Precision@5 (P@5)")
    assert opened.page.locator("#list thead th", has_text="bm25").get_attribute("title") == "Precision@5 (P@5)"
    opened.page.locator("#list tbody button").first.click()
    assert "Hit rate@5 (Success@5)" in opened.page.locator("dialog").inner_text()
