"""docs/deployment: nginx runs with the page's configuration, except for ports and paths."""

import http.client
import os
import shutil
import socket
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Iterator

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from fairdash.ui.access import _id_of
from tests.serving import ROOT, free_port, served, until
from tests.websocket import run_page

SAMPLE = (ROOT / "docs" / "deployment" / "nginx.conf").read_text(encoding="utf-8")
NAME = "fairness.example.org"
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (NGINX and shutil.which("openssl")), reason="no nginx, or no openssl"),
]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Port of an nginx with the page's configuration in front of such an app; Anne and Ben have passwords."""
    folder = tmp_path_factory.mktemp("nginx")
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout privkey.pem -out fullchain.pem -subj"
    subprocess.run([*request.split(), f"/CN={NAME}"], cwd=folder, check=True, capture_output=True)
    hashed = subprocess.check_output(["openssl", "passwd", "-apr1", "secret"], text=True).strip()
    (folder / "users").write_text(f"anne:{hashed}\nben:{hashed}\n")
    folder.chmod(0o755)
    environment = {"FAIRDASH_USER_HEADER": "X-Forwarded-User", "STREAMLIT_BROWSER_SERVER_ADDRESS": NAME}
    with served(folder / "home", environment=environment) as app:
        port = free_port()
        text = SAMPLE.replace("listen 443", f"listen 127.0.0.1:{port}").replace("http://127.0.0.1:8501", app)
        text = text.replace("/etc/nginx/fairdash", str(folder))
        text = text.replace("events {}", f"events {{}}\npid {folder}/pid;\nerror_log {folder}/errors;")
        if os.getuid() == 0:
            # Run nginx as root, because its workers read the password file, which is in a folder of root
            # here.
            text = f"user root;\n{text}"
        text = text.replace("http {", f"http {{\naccess_log off;\nclient_body_temp_path {folder}/bodies;", 1)
        (folder / "nginx.conf").write_text(text)
        command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
        process = subprocess.Popen(command)
        try:
            until(lambda: _listens(port))
            yield port
        finally:
            process.terminate()
            process.wait(timeout=20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def untrusting() -> ssl.SSLContext:
    """An SSL context that accepts any certificate, as that of this test."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def headers_of(user: str | None, **more: str) -> dict[str, str]:
    signed = {"Authorization": f"Basic {b64encode(f'{user}:secret'.encode()).decode()}"} if user else {}
    return signed | {name.replace("_", "-"): value for name, value in more.items()}


def ask(port: int, path: str, user: str | None, method: str = "GET", size: int = 0, **more: str) -> int:
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=untrusting())
    headers = headers_of(user, Host=f"{NAME}:{port}", **more)
    connection.request(method, path, headers=headers, body=b"x" * size if size else None)
    return connection.getresponse().status


def who_it_says(port: int, user: str, **more: str) -> str:
    """The user name in the app's sidebar for a visitor by websocket."""
    with connect(
        f"wss://{NAME}:{port}/_stcore/stream",
        ssl=untrusting(),
        origin=f"https://{NAME}:{port}",  # type: ignore[arg-type]
        additional_headers=headers_of(user, **more),
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        sock=socket.create_connection(("127.0.0.1", port)),
    ) as connection:
        said = run_page(connection, "")
    return "\n".join(_markdown(message) for message in said)


def _markdown(message: ForwardMsg) -> str:
    element = message.delta.new_element.markdown
    return f"{element.body} {element.help}"


def test_the_proxy_rejects_requests_without_a_password(proxy: int) -> None:
    assert (ask(proxy, "/", None), ask(proxy, "/", None, X_Forwarded_User="anne")) == (401, 401)
    assert ask(proxy, "/", "anne") == 200


def test_the_proxy_lets_through_uploads_of_the_permitted_size(proxy: int) -> None:
    """The app refuses the upload, because it belongs to no session; nginx does not refuse its size (413).

    After refusing, the app closes the connection while nginx may still be sending (502).
    """
    status = ask(proxy, "/_stcore/upload_file/no-session/file", "anne", "PUT", 20_000_000)
    assert status in (400, 403, 502)


def test_pages_behind_the_proxy_identify_the_signed_in_user_whatever_header_the_browser_sends(proxy: int):
    for user, other in (("anne", "ben"), ("ben", "anne")):
        said = who_it_says(proxy, user, X_Forwarded_User=other)
        assert (_id_of("header", user) in said, _id_of("header", other) in said) == (True, False)
