"""Start the app: `streamlit run app.py`.

The app itself is in fairdash/ui/main.py, because Streamlit would treat the folder pages/ beside the script as
an old multipage app and answer the first deep link to a fresh server with "Page not found".
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from fairdash.ui import guard


@asynccontextmanager
async def _with_terms(_: App) -> AsyncIterator[None]:
    """Files are deleted when their term is over, whether or not anybody visits."""
    # After Streamlit has read its settings, which importing its parts would do before.
    from fairdash.ui.serving import keep_terms

    end = keep_terms()
    yield
    end()


app = App(
    Path(guard.__file__).with_name("main.py"), middleware=[Middleware(guard.Guard)], lifespan=_with_terms
)
