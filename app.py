"""Start the app: `streamlit run app.py`.

The app itself is in fairdash/ui/main.py, because Streamlit would treat the folder pages/ beside the script as
an old multipage app and answer the first deep link to a fresh server with "Page not found".
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.starlette import App

from fairdash.ui import access


@asynccontextmanager
async def _with_terms(_: App) -> AsyncIterator[None]:
    """Delete uploaded files at the end of their retention period, even if nobody visits the app."""
    # This import is here because Streamlit must read its settings first.
    from fairdash.ui.serving import keep_terms

    end = keep_terms()
    yield
    end()


#: Without this script, a browser first requests the server below the page's address, and gets a 404.
_SERVER = '<head><script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
_HTML = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")


async def _page(_: Request) -> HTMLResponse:
    """Return Streamlit's page with a script that sets the address of the server."""
    return HTMLResponse(_HTML.replace("<head>", _SERVER, 1), headers={"Cache-Control": "no-cache"})


app = App(
    Path(access.__file__).with_name("main.py"),
    middleware=[Middleware(access.Guard)],
    lifespan=_with_terms,
    routes=[Route(f"/{each.stem}", _page) for each in Path(__file__).with_name("pages").glob("*/*.py")],
)
