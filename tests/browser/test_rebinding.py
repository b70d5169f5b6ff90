"""A browser for which a web site's name has come to mean 127.0.0.1 gets nothing from the app."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser

#: What a script on a page of evil.example can try, with what it would read.
ATTACK = """async () => {
    const told = async (path, options) => {
        const answer = await fetch(path, options);
        return [answer.status, await answer.text()];
    };
    const opens = new Promise(done => {
        const socket = new WebSocket(`ws://${location.host}/_stcore/stream`, ['streamlit']);
        socket.onopen = () => done('open');
        socket.onerror = () => done('refused');
    });
    const form = new FormData();
    form.append('file', new Blob(['a,b']), 'x.csv');
    return {
        page: await told('/tradeoff'),
        metrics: await told('/_stcore/metrics'),
        upload: await told('/_stcore/upload_file/x/y', {method: 'PUT', body: form}),
        websocket: await opens,
    };
}"""


@pytest.fixture
def page(open_context: Callable[[], BrowserContext]) -> Page:
    """A page that may complain."""
    return open_context().new_page()


def test_requests_under_a_rebound_host_name_are_refused(page: Page, server: str) -> None:
    port = urlsplit(server).port
    answer = page.goto(f"http://evil.example:{port}/")
    assert answer is not None
    assert answer.status == 403
    assert "does not have the requested name" in page.content()
    tried = page.evaluate(ATTACK)
    assert tried.pop("websocket") == "refused"
    for road, (status, text) in tried.items():
        assert status == 403, road
        assert "does not have the requested name" in text
