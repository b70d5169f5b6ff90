"""Check of all requests to the app, and identification of the owner of a session by the login.

If Streamlit's secrets have a section ``[auth]``, users sign in with OpenID Connect. If
``FAIRDASH_USER_HEADER`` names a header, a proxy writes the user's name into this header. The proxy must
remove this header from browsers' requests, and only the proxy may reach the app (docs/deployment.md).
Without a sign-in and without a proxy, the owner is always "local".

A web site can make its name resolve to 127.0.0.1 (DNS rebinding). The browser then allows this site to read
the app's answers. Only the Host header reveals DNS rebinding. Streamlit checks the Host header only for the
websocket, and trusts every page on this machine, on any port.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st
from streamlit import config
from streamlit.auth_util import get_secrets_auth_section

from fairdash.errors import FairdashError
from fairdash.storage import LOCAL, sha256
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


KEY = Keys(__file__)

#: Environment variable with the name of the header.
USER_HEADER = "FAIRDASH_USER_HEADER"


class NotSignedInError(FairdashError):
    """Error for a user who has not signed in."""


def current_owner() -> str:
    """Return the owner of the browser session, as 32 hex digits (the same at every sign-in) or ``"local"``.

    Raises
    ------
    NotSignedInError
        A sign-in is required, and the user has not signed in.
    """
    if get_secrets_auth_section():
        if not st.user.get("is_logged_in"):
            raise NotSignedInError.of("you are not signed in", "Sign in, then open this page again.")
        return _id_of("oidc", st.user.get("iss"), st.user.get("sub"))
    if header := os.environ.get(USER_HEADER):
        return _id_of("header", st.context.headers.get(header))
    return LOCAL


def signs_in() -> bool:
    """Return whether this app identifies its users."""
    return bool(get_secrets_auth_section() or os.environ.get(USER_HEADER))


def require_sign_in() -> None:
    """If the user has not signed in, show only the sign-in button or an error, and stop the page."""
    try:
        current_owner()
    except NotSignedInError as error:
        st.title("Sign in to fairdash")
        if get_secrets_auth_section():
            st.markdown("Data, runs and models belong to the users who created them.")
            st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login, key=KEY("in"))
        else:
            st.error(safe(error))
        st.stop()


def show_user() -> None:
    """Show the name of the signed-in user, and the button to sign out."""
    if not signs_in():
        return
    by_login = bool(get_secrets_auth_section())
    header = os.environ.get(USER_HEADER, "")
    user = st.user.get("email") or st.user.get("name") if by_login else st.context.headers.get(header)
    st.caption(f"Signed in as {safe(str(user or 'somebody'))}", help=f"In logs: {current_owner()}")
    if by_login:
        st.button("Sign out", icon=":material/logout:", on_click=st.logout, key=KEY("out"))


def _id_of(kind: str, *parts: object) -> str:
    """Return an owner's id, which is a hash. It is safe in a path, and reveals no name in logs."""
    if not all(isinstance(part, str) and part.strip() for part in parts):
        raise NotSignedInError.of(
            "the sign-in in front of this server does not identify you",
            "Open fairdash at its usual address. If you are already signed in, tell the administrator.",
        )
    return sha256(json.dumps([kind, *parts]).encode())[:32]


#: Host names of this machine, which no web site can have.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEALTH = "/_stcore/health"
#: Path of metrics on sessions and storage, which Streamlit would show to anyone.
_METRICS = "/_stcore/metrics"
#: Environment variable that permits requests for metrics.
METRICS = "FAIRDASH_METRICS"
_HEADERS = (
    # These headers prevent other sites from showing the app in a frame to capture clicks.
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
)


class Guard:
    """ASGI middleware that refuses unknown host names and origins, and adds security headers to answers.

    Allowed host names are those of this machine and of Streamlit's options ``browser.serverAddress`` and
    ``server.allowedHosts`` (``*.`` before a name matches any prefix). If a proxy identifies the user in a
    header, the guard refuses requests without this header or with two of these headers, because such requests
    did not pass through the proxy. Requests for Streamlit's metrics, which need no sign-in, are refused
    unless ``FAIRDASH_METRICS`` is set.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = (
            refusal_of(_values(scope, "host"), _values(scope, "origin"))
            or _refusal_without_user(scope)
            or _refusal_of_address(scope["path"])
        )
        if refusal is None:
            await self.app(scope, receive, _marking(send))
        elif scope["type"] == "websocket":
            await receive()
            # The check runs before the connection is accepted, so that the server answers 403.
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})
        else:
            await _refuse(refusal, _marking(send))


def refusal_of(hosts: list[str], origins: list[str]) -> str | None:
    """Return the reason to refuse a request with these Host and Origin headers, or None if it is allowed."""
    host = _host_and_port(f"http://{hosts[0]}") if len(hosts) == 1 else None
    if host is None or not _is_allowed_host(host[0]):
        return (
            "This server does not have the requested name. Open fairdash as localhost, or set "
            "browser.serverAddress."
        )
    if not origins:
        return None
    # Behind a proxy, the page may use https, so a missing port means the default port of the page's scheme.
    scheme = origins[0].partition("://")[0].lower()
    origin = _host_and_port(origins[0]) if len(origins) == 1 and scheme in _DEFAULT_PORTS else None
    if origin is None or origin != _host_and_port(f"{scheme}://{hosts[0]}"):
        return "Pages of other sites can't send requests to this server."
    return None


def _values(scope: Scope, header: str) -> list[str]:
    header_bytes = header.lower().encode("latin-1")
    return [value.decode("latin-1") for name, value in scope["headers"] if name == header_bytes]


def _refusal_without_user(scope: Scope) -> str | None:
    """Return the reason to refuse a request that names no user. The health check needs no user."""
    header = os.environ.get(USER_HEADER)
    if not header or scope["path"] == _HEALTH:
        return None
    users = _values(scope, header)
    if len(users) == 1 and users[0].strip():
        return None
    return f"This server requires a sign-in, and the request names no user (header {header})."


def _refusal_of_address(path: str) -> str | None:
    """Return the reason to refuse a path that Streamlit would serve without a sign-in, or None."""
    if path.rstrip("/").endswith(_METRICS) and not os.environ.get(METRICS):
        return f"Metrics are off. Set {METRICS}=1 in the server's environment to switch the metrics on."
    return None


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Return host and port of an address that has no other parts, or None for any other string."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return None
    return parts.hostname.rstrip("."), _DEFAULT_PORTS[parts.scheme] if port is None else port


def _is_allowed_host(name: str) -> bool:
    if name in LOOPBACK:
        return True
    for pattern in (*config.get_option("server.allowedHosts"), config.get_option("browser.serverAddress")):
        pattern = str(pattern).strip().lower().rstrip(".")
        if pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:])):
            return True
    return False


def _marking(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            replaced = {name for name, _ in _HEADERS}
            others = [pair for pair in message.get("headers", ()) if pair[0].lower() not in replaced]
            message = {**message, "headers": [*others, *_HEADERS]}
        await send(message)

    return marked


async def _refuse(reason: str, send: Send) -> None:
    content = reason.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": content})
