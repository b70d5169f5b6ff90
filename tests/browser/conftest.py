"""One real server and one real browser for all tests of a process; each test is somebody of its own there."""

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

# As long as a context waits below: a page on a machine that trains beside it takes more than five seconds.
expect.set_options(timeout=60_000)
SCREENSHOTS = ROOT / "tests" / "screenshots"
#: As behind a proxy, a header says whose browser asks (docs/deployment.md). Headers of one's own Chromium leaves out
#: of what it asks for to keep as a file.
HEADER = "User-Agent"
_PEOPLE = (f"test {k}" for k in itertools.count())


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The app's address, and its home, beside which its attempts to reach other machines are noted and refused."""
    home = tmp_path_factory.mktemp("app") / "home"
    # Health is answered without the header, or nobody would see the server up.
    environment = {"FAIRDASH_USER_HEADER": HEADER} | cut(home.with_name("watched.log"))
    with served(home, environment=environment) as address:
        yield address, home


@pytest.fixture
def server(app: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of the app of all tests, in whose home the test looks and writes."""
    address, home = app
    monkeypatch.setenv("FAIRDASH_HOME", str(home))
    return address


def _agent(person: str) -> str:
    return f"Mozilla/5.0 Chrome/140.0 {person}"


def owner_of(person: str) -> str:
    return _id_of("header", _agent(person))


def stop_jobs(owner: str) -> None:
    """What nobody waits for any more must not keep the next test's jobs in the line."""
    kinds: tuple[type[Job[Any]], ...] = (Run, SearchJob, ModelJob, AuditJob, RepairJob)
    for kind in kinds:
        for job in jobs_of(kind, owner=owner):
            if not job.status.is_over:
                cancel(job)


@pytest.fixture
def person(server: str) -> Iterator[str]:
    """Somebody who has nothing yet."""
    name = next(_PEOPLE)
    yield name
    stop_jobs(owner_of(name))


@pytest.fixture
def open_context(browser: Browser, server: str, person: str) -> Iterator[Callable[..., BrowserContext]]:
    """Opens windows at the app: this test's person's, or another's."""
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
    """A page that may talk to the app alone, and whose console must stay without errors."""
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
