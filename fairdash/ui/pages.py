"""List of the app's pages, used by the navigation and by every link between pages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from fairdash.ui.serving import app_folder

_FOLDER = app_folder() / "pages"

#: Pages by name, with section, script, title and icon. The name is the page's address, except for Home, which
#: has the root address. A page without a title redirects from a former address, and the navigation does not
#: list it.
PAGES: Mapping[str, tuple[str, str, str, str]] = MappingProxyType(
    {
        "home": ("", "home/home.py", "Home", ":material/home:"),
        "lesson": ("Learn", "learn/lesson.py", "The lesson", ":material/school:"),
        "patterns": ("Learn", "learn/patterns.py", "Association patterns", ":material/scatter_plot:"),
        "gaussians": ("Learn", "learn/gaussians.py", "", ""),
        "methods": ("Learn", "learn/methods.py", "Which method?", ":material/leaderboard:"),
        "paper": ("Learn", "learn/paper.py", "The paper", ":material/article:"),
        "data": ("Work", "work/data.py", "Data", ":material/table:"),
        "train": ("Work", "work/train.py", "Train", ":material/model_training:"),
        "tradeoff": ("Work", "work/tradeoff.py", "Trade-off", ":material/balance:"),
        "audit": ("Work", "work/audit.py", "Audit a price", ":material/fact_check:"),
        "runs": ("Work", "work/runs.py", "Runs", ":material/history:"),
    }
)


def page(name: str) -> StreamlitPage:
    """Return the page with this name for ``st.page_link``. Buttons use :func:`go_to`."""
    _, script, title, icon = PAGES[name]
    address = None if name == "home" else name
    return st.Page(
        _FOLDER / script,
        title=title or None,
        icon=icon or None,
        url_path=address,
        default=name == "home",
        visibility="visible" if title else "hidden",
    )


def go_to(name: str, *, address: Mapping[str, str]) -> NoReturn:
    """Go from this page to another page.

    If the old page has a fragment that runs every second, the browser may already have requested another run
    of this fragment. Streamlit would then return the browser to the old page, without content. The function
    therefore first removes all fragments, because Streamlit ignores requests for unknown fragments.

    Parameters
    ----------
    name
        A key of :data:`PAGES`.
    address
        Query parameters of the page's address, by name.
    """
    if (context := get_script_run_ctx()) is not None:
        context.fragment_storage.clear()
    st.switch_page(page(name), query_params=address)


def sections() -> dict[str, list[StreamlitPage]]:
    """Return all pages by section, for ``st.navigation``."""
    sections_now: dict[str, list[StreamlitPage]] = {}
    for name, (section, *_) in PAGES.items():
        sections_now.setdefault(section, []).append(page(name))
    return sections_now
