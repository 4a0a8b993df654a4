"""Findings on the page in a real browser: all of them, their cases a click away, a severity out of sight if it is not wanted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from searchmark import read_report
from searchmark.reports.audit import audit_pieces
from searchmark.reports.render import write_report
from tests.reports.audits import audit_with
from tests.reports.hostile import ATTACKS
from tests.reports.pages import shop_report

if TYPE_CHECKING:
    from tests.browser.conftest import Open

pytestmark = pytest.mark.browser

REPORT = shop_report(cases=240, texts=True)


def test_every_finding_is_there_with_its_code_and_what_to_do(open_page: Open) -> None:
    items = open_page().page.locator("#findings li")
    assert items.locator("code").all_inner_texts() == [found.code for found in REPORT.audit]
    assert all(found.fix in text for found, text in zip(REPORT.audit, items.all_inner_texts(), strict=True) if found.fix)


def test_a_case_of_a_finding_is_opened_by_a_click_and_one_that_the_page_does_not_know_is_text(
    open_page: Open, tmp_path: Path
) -> None:
    named = next(found for found in REPORT.audit if found.cases)
    opened = open_page()
    opened.page.locator("#findings button", has_text=named.cases[0]).first.click()
    assert opened.page.locator("#case-title").inner_text().startswith(named.cases[0])


def test_a_severity_is_hidden_by_its_box_also_without_scripts(open_page: Open) -> None:
    for scripts in (True, False):
        page = open_page(java_script_enabled=scripts).page
        warnings = page.locator("#findings .is-warning")
        assert warnings.first.is_visible()
        page.uncheck("#show-warning")
        assert not any(warnings.nth(number).is_visible() for number in range(warnings.count()))
        assert page.locator("#findings .is-note").first.is_visible()


def test_a_report_that_was_read_back_has_the_same_findings(open_page: Open, tmp_path: Path) -> None:
    write_report(REPORT, tmp_path / "report.json")
    write_report(read_report(tmp_path / "report.json"), tmp_path / "again.html")
    assert open_page(file=tmp_path / "again.html").page.locator("#findings li").count() == len(REPORT.audit)


@pytest.mark.parametrize("attack", ["script", "end of script", "javascript link", "quotes"])
def test_the_page_of_an_audit_obeys_no_text_in_it(attack: str, open_page: Open, tmp_path: Path) -> None:
    file = tmp_path / "audit.html"
    file.write_text("".join(audit_pieces(audit_with(ATTACKS[attack]), ".html")), "utf-8")
    page = open_page(file=file).page
    assert page.locator("main li").count() == 3
    assert ATTACKS[attack] in page.locator("h1").inner_text()
    assert page.locator("table").count() == 1
    assert page.locator("script, img").count() == 0
