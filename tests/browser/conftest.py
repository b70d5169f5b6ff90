"""A real server and a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.serving import ROOT, served

SCREENSHOTS = ROOT / "tests" / "screenshots"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Address of the app, with a home of its own."""
    with served(tmp_path / "home") as address:
        yield address


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """A page that may talk to the app alone, and whose console must stay without errors."""
    context = browser.new_context(base_url=server, viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(30_000)
    asked: list[str] = []
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # On a deep link Streamlit looks for its server under the page's own path first.
        probing = "/_stcore/" in message.location.get("url", "")
        if message.type == "error" and not probing:
            complaints.append(f"{message.text} {message.location}")

    page.on("request", lambda request: asked.append(request.url))
    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    elsewhere = [url for url in asked if not url.startswith((server, "data:", "blob:"))]
    assert not elsewhere, f"the page reached out to {elsewhere}"
    assert not complaints, complaints
