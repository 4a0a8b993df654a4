"""A real Chromium that opens pages from disk; every console message and every request is counted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from searchmark.reports.render import write_report
from tests.reports.pages import shop_report, with_past

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@dataclass
class Opened:
    """A page that is open, what it said to the console, and what it asked for beside itself."""

    page: Page
    file: Path
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """The cases in the list."""
        return self.page.locator("#list tbody th").all_inner_texts()

    @property
    def fragment(self) -> str:
        return str(self.page.evaluate("location.hash.slice(1)"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=list(_ARGUMENTS)
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def shop_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_report(with_past(shop_report(cases=240, texts=True)), file)
    return file


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, shop_page: Path) -> Iterator[Open]:
    """Opens a page; at the end of the test none of them may have complained or asked for anything."""
    opened: list[Opened] = []

    def open_one(fragment: str = "", file: Path = shop_page, **context: Any) -> Opened:
        context = {"viewport": {"width": 1400, "height": 1000}, "color_scheme": "light"} | context
        one = Opened(browser.new_context(**context).new_page(), file)
        one.page.on("console", lambda message: one.said.append(f"{message.type}: {message.text}"))
        one.page.on("pageerror", lambda error: one.said.append(str(error)))
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.goto(file.as_uri() + fragment)
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        assert one.said == []
        assert [url for url in one.requests if url.partition("#")[0] not in (one.file.as_uri(), "data:,")] == []
        one.page.context.close()
