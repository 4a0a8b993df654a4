"""The back button: a case is a page of its own while it is open, and leaves nothing behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.test_page import IDS

if TYPE_CHECKING:
    from tests.browser.conftest import Open, Opened

pytestmark = pytest.mark.browser


def _closed(opened: Opened, fragment: str) -> None:
    """The case is closed, and the browser has gone back."""
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_function("([fragment]) => location.hash.slice(1) === fragment && !history.state?.opened", arg=[fragment])


def test_cases_that_were_opened_and_closed_are_not_in_the_history(open_page: Open) -> None:
    opened = open_page("#leaky=1")
    for number in range(3):
        opened.page.locator("#list tbody button").nth(number).click()
        opened.page.keyboard.press("ArrowRight")
        _closed(opened, "leaky=1")
    # One entry for the empty page of a new tab, one for the list, and one that was gone back from.
    assert opened.page.evaluate("history.length") == 3


def test_a_closed_case_leaves_the_list_as_it_was(open_page: Open) -> None:
    opened = open_page()
    opened.page.evaluate("document.getElementById('more').click()")
    opened.page.locator("#list tbody button").nth(150).click()
    _closed(opened, "")
    assert len(opened.ids) >= 200
    assert opened.page.evaluate("document.activeElement.textContent") == IDS[150]


def test_the_back_button_leads_to_the_case_in_the_list(open_page: Open) -> None:
    opened = open_page()
    opened.page.locator("#list tbody button").nth(5).click()
    opened.page.go_back()
    opened.page.wait_for_function("([id]) => document.activeElement.textContent === id", arg=[IDS[5]])


def test_what_is_done_on_the_way_back_is_not_lost(open_page: Open) -> None:
    opened = open_page()
    opened.page.evaluate("openCase(1); byId('case').close(); caseClosed(); changeState({ leaky: true }); openCase(2)")
    opened.page.wait_for_function("() => location.hash.includes('leaky=1') && history.state?.opened")
    assert opened.page.locator("#case-title").inner_text() == IDS[2]
    _closed(opened, "leaky=1")


def test_a_case_of_a_shared_link_is_closed_on_the_spot(open_page: Open) -> None:
    opened = open_page(f"#case={IDS[4]}")
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_function("() => location.hash === ''")
    assert opened.page.evaluate("history.length") == 2


def test_arrows_with_another_key_are_the_browsers(open_page: Open) -> None:
    opened = open_page(f"#case={IDS[4]}")
    for key in ("Control+ArrowRight", "Meta+ArrowRight", "Shift+ArrowRight"):
        opened.page.keyboard.press(key)
    assert opened.page.locator("#case-title").inner_text() == IDS[4]
