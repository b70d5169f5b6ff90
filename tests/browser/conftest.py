"""One server and one browser for all browser tests of a process; each test is a different user."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from fairdash.runs.audits import AuditJob
from fairdash.runs.launch import cancel
from fairdash.runs.listing import jobs_of
from fairdash.runs.models import ModelJob
from fairdash.runs.repairs import RepairJob
from fairdash.runs.searches import SearchJob
from fairdash.runs.store import Job, Run
from fairdash.ui.access import _id_of
from tests.browser.test_networking_cut import cut
from tests.serving import ROOT, served

# Timeout of the contexts below too: next to a training, a page takes more than five seconds.
expect.set_options(timeout=60_000)
SCREENSHOTS = ROOT / "tests" / "screenshots"
#: As with a proxy, a header identifies the user of the browser (docs/deployment.md). Custom headers would not
#: work, because Chromium omits them when it requests a file to download.
HEADER = "User-Agent"
_PEOPLE = (f"test {k}" for k in itertools.count())


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and home of the app, whose attempts to reach other machines are logged and refused."""
    home = tmp_path_factory.mktemp("app") / "home"
    # The health check needs no header, so that the server can be seen to be up.
    environment = {"FAIRDASH_USER_HEADER": HEADER} | cut(home.with_name("watched.log"))
    with served(home, environment=environment) as address:
        yield address, home


@pytest.fixture
def server(app: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of the app of all tests, whose home the test reads and writes."""
    address, home = app
    monkeypatch.setenv("FAIRDASH_HOME", str(home))
    return address


def _agent(person: str) -> str:
    return f"Mozilla/5.0 Chrome/140.0 {person}"


def owner_of(person: str) -> str:
    return _id_of("header", _agent(person))


def stop_jobs(owner: str) -> None:
    """Stop jobs that no test waits for, so that they do not delay the next test's jobs."""
    kinds: tuple[type[Job[Any]], ...] = (Run, SearchJob, ModelJob, AuditJob, RepairJob)
    for kind in kinds:
        for job in jobs_of(kind, owner=owner):
            if not job.status.is_over:
                cancel(job)


@pytest.fixture
def person(server: str) -> Iterator[str]:
    """A user without any data."""
    name = next(_PEOPLE)
    yield name
    stop_jobs(owner_of(name))


@pytest.fixture
def open_context(browser: Browser, server: str, person: str) -> Iterator[Callable[..., BrowserContext]]:
    """Open browser windows of the app, for this test's user or for another one."""
    opened: list[BrowserContext] = []

    def open_context(who: str = person, **options: Any) -> BrowserContext:
        opened.append(browser.new_context(base_url=server, user_agent=_agent(who), **options))
        opened[-1].set_default_timeout(60_000)
        return opened[-1]

    yield open_context
    for context in opened:
        context.close()


@pytest.fixture
def page(open_context: Callable[..., BrowserContext], server: str) -> Iterator[Page]:
    """A page that may contact only the app, and whose console must show no error."""
    context = open_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} {message.location}")

    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url.replace("ws", "http", 1)))
    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    elsewhere = [url for url in asked if not url.startswith((server, "data:", "blob:"))]
    assert not elsewhere, f"the page reached out to {elsewhere}"
    assert not complaints, complaints
