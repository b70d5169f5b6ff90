"""The app answers only requests to its host names from its own pages, and refuses all others."""

import base64
import http.client
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fairdash.ui.access import refusal_of
from tests.browser.test_networking_cut import cut, noted
from tests.serving import ROOT, served

ROADS = {
    "a page": ("GET", "/"), "a deep link": ("GET", "/tradeoff?run=0123456789ab"),
    "a part of a page": ("GET", "/static/favicon.png"), "metrics": ("GET", "/_stcore/metrics"),
    "health": ("GET", "/_stcore/health"), "the host's configuration": ("GET", "/_stcore/host-config"),
    "an upload": ("PUT", "/_stcore/upload_file/session/file"),
    "a wish to upload": ("OPTIONS", "/_stcore/upload_file/session/file"),
    "a file": ("GET", "/media/0123.csv"), "the websocket": ("GET", "/_stcore/stream"),
}  # fmt: skip
WEBSOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(bytes(range(16))).decode(), "Sec-WebSocket-Protocol": "streamlit",
}  # fmt: skip


def ask(
    address: str, road: str, *, host: str | None = None, origin: str | None = None
) -> tuple[int, Mapping[str, str]]:
    """Status and headers of the response to a request to this endpoint."""
    port = int(address.rsplit(":", 1)[1])
    method, path = ROADS[road]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Host": host.format(port=port) if host else f"127.0.0.1:{port}"}
    if origin:
        headers["Origin"] = origin.format(port=port)
    if road == "the websocket":
        headers |= WEBSOCKET
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return found


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guard") / "watched.log"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[str]:
    """The app, whose connections to other machines are refused and logged."""
    with served(log.parent / "home", environment=cut(log)) as address:
        yield address


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    "host",
    ["evil.example:{port}", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:{port}",
     "evil.example@127.0.0.1", "192.0.2.1:{port}", "127.0.0.1:x", "[::1"],
)  # fmt: skip
def test_requests_with_a_foreign_host_name_are_refused_on_every_endpoint(server, road, host) -> None:
    # The browser sends this if the page was loaded from that name.
    for origin in (None, f"http://{host}"):
        status, headers = ask(server, road, host=host, origin=origin)
        assert 400 <= status < 500
        if road != "the websocket":
            assert headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "origin",
    ["http://localhost:{port}1", "http://localhost:3000", "http://localhost", "https://localhost:{port}",
     "http://evil.example", "https://evil.example:{port}", "null", "file://", "http://127.0.0.1:{port}/x",
     "http://x@127.0.0.1:{port}"],
)  # fmt: skip
@pytest.mark.bad_input(56)
def test_requests_from_a_foreign_origin_are_refused_without_dns_lookups(server, log, origin) -> None:
    for road in ROADS:
        assert ask(server, road, origin=origin)[0] == 403, road
    assert noted(log, "attempt") == []


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_responses_to_requests_for_loopback_names_forbid_framing(server: str, host: str) -> None:
    # Streamlit would serve its metrics to everybody, so they are off by default.
    for road, wanted in (("a page", 200), ("metrics", 403), ("health", 200), ("the websocket", 101)):
        status, headers = ask(server, road, host=host, origin=f"http://{host}")
        assert status == wanted, road
        if road != "the websocket":
            assert headers["x-frame-options"] == "DENY"
            assert headers["content-security-policy"] == "frame-ancestors 'none'"
    # Without a session nothing is uploaded, but the request passes the guard.
    assert ask(server, "an upload", host=host, origin=f"http://{host}")[1]["x-frame-options"] == "DENY"


@pytest.mark.bad_input(57)
def test_connections_to_non_loopback_addresses_of_the_machine_fail(server: str) -> None:
    own, port = socket.gethostbyname(socket.gethostname()), int(server.rsplit(":", 1)[1])
    for other in {own, "127.0.0.2"} - {"127.0.0.1"}:
        with (
            pytest.raises(OSError, match=r"refused|timed out"),
            socket.create_connection((other, port), timeout=3),
        ):
            pass


def test_the_host_guard_works_under_streamlit_run_and_accepts_a_configured_host(tmp_path: Path) -> None:
    named = {"STREAMLIT_BROWSER_SERVER_ADDRESS": "fairness.example.org", "FAIRDASH_METRICS": "1"}
    command = ("-m", "streamlit", "run", str(ROOT / "app.py"), "--server.headless=true", "--server.port")
    # Started in another folder, the app must still have the settings of the folder of app.py.
    with served(tmp_path / "home", environment=named, command=command, folder=tmp_path) as address:
        for road, wanted in (("a page", 200), ("metrics", 200), ("the websocket", 101)):
            own = "fairness.example.org"
            assert ask(address, road, host=own, origin=f"https://{own}")[0] == wanted
            assert ask(address, road, host=own, origin="https://other.example.org")[0] == 403
            assert ask(address, road)[0] == wanted
            assert ask(address, road, host="evil.example", origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("hosts", [[], ["localhost", "evil.example"], [""], ["localhost/x"], ["localhost?x"]])
def test_missing_malformed_or_duplicate_hosts_and_origins_are_refused(hosts: list[str]) -> None:
    assert refusal_of(hosts, []) is not None
    assert refusal_of(["localhost"], ["http://localhost", "http://localhost"]) is not None


def test_host_names_from_streamlit_options_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"server.allowedHosts": ["*.example.org", "Fair.example"], "browser.serverAddress": "a.test"}
    monkeypatch.setattr("fairdash.ui.access.config.get_option", options.__getitem__)
    for name in ("a.example.org", "fair.example:443", "A.TEST", "a.test."):
        assert refusal_of([name], []) is None
    for name in ("example.org", "evilexample.org", "b.test", "a.test.evil.example"):
        assert refusal_of([name], []) is not None
