"""With networking cut, the app works from end to end and makes no attempt to reach anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, WebSocket, expect

from tests.browser.steps import figures_taken, train_a_little
from tests.serving import ROOT, served

pytestmark = pytest.mark.browser


def cut(log: Path) -> dict[str, str]:
    """The environment in which Python refuses and notes every way out; processes it starts inherit it."""
    paths = [str(ROOT / "tests" / "watched"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "WATCH_LOG": str(log)}


def noted(log: Path, what: str) -> list[str]:
    return [line for line in log.read_text(encoding="utf-8").splitlines() if f": {what}" in line]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "watched.log"


@pytest.fixture
def server(tmp_path: Path, log: Path) -> Iterator[str]:
    """The app, cut off; the shared page talks to this one."""
    with served(tmp_path / "home", environment=cut(log)) as address:
        yield address


ATTEMPTS = """
import socket, urllib.request
for attempt in (
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
    lambda: socket.getaddrinfo("example.org", 443),
    lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)),
    lambda: urllib.request.urlopen("http://example.org", timeout=1),
):
    try:
        attempt()
    except OSError as error:
        print(error)
"""


def test_connection_attempts_with_networking_cut_are_refused_and_logged(log: Path) -> None:
    command = [sys.executable, "-c", ATTEMPTS]
    done = subprocess.run(command, env=os.environ | cut(log), capture_output=True, text=True, check=True)
    assert (done.stdout.count("networking is cut"), len(noted(log, "attempt"))) == (4, 4)


@pytest.mark.variant
def test_the_household_data_can_be_trained_and_viewed_without_network_access(
    page: Page, server: str, log: Path
) -> None:
    attempts: list[str] = []

    def refuse(route: Route) -> None:
        attempts.append(route.request.url)
        route.abort()

    def hear(socket: WebSocket) -> None:
        if not socket.url.startswith(server.replace("http", "ws", 1)):
            attempts.append(socket.url)

    # Routes that are set later come first.
    page.context.route("**/*", refuse)
    page.context.route(f"{server}/**", lambda route: route.continue_())
    page.on("websocket", hear)
    # The first request to a fresh server is a deep link: it must not be "Page not found".
    page.goto("/data")
    page.get_by_role("heading", name="Household insurance").wait_for()
    expect(page.get_by_text("Together, these features predict")).to_be_visible(timeout=90_000)
    train_a_little(page, epochs=4)
    page.get_by_text("Average prediction by Age", exact=True).first.wait_for()
    assert figures_taken(page).stat().st_size > 1000

    watched = "\n".join(noted(log, "watched"))
    for process in ("-m fairdash app", "-m fairdash.cli.worker studies", "-m fairdash.cli.worker long"):
        assert process in watched, "its attempts would have been missed"
    assert (noted(log, "attempt"), attempts) == ([], [])
