"""A real server and a real browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "tests" / "screenshots"


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Address of the app, served as `make app` serves it, with a home of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path / "server.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "fairdash", "app", "--port", str(port)],
        cwd=ROOT,
        env=os.environ | {"FAIRDASH_HOME": str(tmp_path / "home")},
        stdout=log,
        stderr=log,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(address, process, tmp_path / "server.log")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.close()


def _wait_until_up(address: str, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start:\n{log.read_text()}")


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
