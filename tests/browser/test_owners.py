"""Two users in two browsers, identified by a proxy's header or by Streamlit's login at an identity provider."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.steps import choose, come_to_rest
from tests.serving import served
from tests.test_guard import ROADS, ask

pytestmark = pytest.mark.browser

GONE = re.compile("is gone, or was made on another machine|a data set that is not stored here", re.IGNORECASE)


def table_of(name: str) -> bytes:
    rows = (f"{20 + k % 60},{k % 7},{100 + k % 60 + k % 7}" for k in range(240))
    return "\n".join([f"age,{name}_power,cost", *rows, ""]).encode()


def upload(page: Page, name: str) -> str:
    """Upload a table of this name, assign the roles, and return the id of the data set."""
    page.goto("/data")
    page.get_by_text("Your own file").click()
    file = {"name": f"{name}.csv", "mimeType": "text/csv", "buffer": table_of(name)}
    page.locator("input[type=file]").set_input_files([file])
    choose(page, "Target", "cost")
    choose(page, "Sensitive attribute", "age")
    expect(page.get_by_text("240 rows · 1 feature · sensitive: age · target: cost")).to_be_visible()
    page.wait_for_url(re.compile("dataset="))
    return address_of(page)["dataset"]


def address_of(page: Page) -> dict[str, str]:
    return dict(part.split("=") for part in urlsplit(page.url).query.split("&"))


def check_gone(page: Page, owner: str, *paths: str) -> None:
    """Check that this user reaches no data of the owner; tests/ui/test_owners_pages.py tries every address."""
    for path in paths:
        page.goto(path)
        expect(page.get_by_text(GONE).first).to_be_visible()
        come_to_rest(page)
        expect(page.get_by_text(re.compile(f"{owner}.csv|{owner}_power"))).to_have_count(0)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    page.goto("/")
    expect(page.get_by_role("heading", name="How fair is a price")).to_be_visible()
    come_to_rest(page)
    expect(page.get_by_text(f"{owner}.csv")).to_have_count(0)


def test_requests_that_bypass_the_proxy_are_refused(server: str) -> None:
    for road in ROADS:
        assert road == "health" or ask(server, road)[0] == 403, road


@pytest.fixture
def provider() -> Iterator[str]:
    """An identity provider on this machine, which accepts any name."""
    oidc_provider_mock = pytest.importorskip("oidc_provider_mock")
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def with_sign_in(provider: str, tmp_path: Path) -> Iterator[str]:
    secrets = tmp_path / "user" / ".streamlit" / "secrets.toml"
    secrets.parent.mkdir(parents=True)
    entries = {
        # Streamlit inserts its port.
        "redirect_uri": "http://127.0.0.1:{port}/oauth2callback",
        "cookie_secret": "for a test, and long enough",
        "client_id": "fairdash",
        "client_secret": "any",
        "server_metadata_url": f"{provider}/.well-known/openid-configuration",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in entries.items()]
    secrets.write_text("\n".join(["[auth]", *lines, ""]))
    with served(tmp_path / "home", environment={"HOME": str(tmp_path / "user")}) as address:
        yield address


def sign_in(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_placeholder("sub").fill(name)
    page.get_by_role("button", name="Authorize").click()
    page.get_by_role("heading", name="How fair is a price").wait_for()


@pytest.mark.variant
def test_a_signed_in_user_sees_only_their_own_data(browser: Browser, with_sign_in: str):
    context = browser.new_context(base_url=with_sign_in)
    page = context.new_page()
    try:
        page.set_default_timeout(60_000)
        for path in ("/", "/data", "/tradeoff", "/train?run=0123456789ab"):
            page.goto(path)
            expect(page.get_by_role("heading", name="Sign in to fairdash")).to_be_visible()
            expect(page.get_by_text("Recent runs")).to_have_count(0)
        sign_in(page, "ben")
        dataset = upload(page, "ben")
        sign_out(page)
        sign_in(page, "anne")
        check_gone(page, "ben", f"/data?dataset={dataset}")
        sign_out(page)
        # The user's data are available after signing in again.
        sign_in(page, "ben")
        page.goto(f"/data?dataset={dataset}")
        expect(page.get_by_text("240 rows · 1 feature")).to_be_visible()
    finally:
        context.close()


def sign_out(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="Sign out").click()
    # The identity provider asks for confirmation, then redirects back.
    page.get_by_role("button", name="End session").click()
    expect(page.get_by_role("heading", name="Sign in to fairdash")).to_be_visible()
