"""fairdash in the browser: `streamlit run app.py`.

The script that it runs for every page is fairdash/ui/main.py.
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
