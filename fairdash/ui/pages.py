"""The pages of the app: what stands on each, and one list for the navigation and for links between pages.

A page is the order of its parts and their words. The parts are loaded when somebody opens the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NoReturn

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx


def page(name: str) -> StreamlitPage:
    """The page of this name, for ``st.page_link``; see :func:`go_to`."""
    _, show, title, icon = PAGES[name]
    return st.Page(
        show,
        title=title or None,
        icon=icon or None,
        url_path=name,
        default=name == "home",
        visibility="visible" if title else "hidden",
    )


def go_to(name: str, *, address: Mapping[str, str]) -> NoReturn:
    """Leave this page for another one.

    A part of the page that is left may run every second, and its next run may be on its way from the browser.
    After the switch Streamlit would take the browser back by it, to the page that was left, without content;
    what it no longer knows it leaves alone.

    Parameters
    ----------
    name
        A key of :data:`PAGES`.
    address
        What the page's address asks for, by name.
    """
    if (context := get_script_run_ctx()) is not None:
        context.fragment_storage.clear()
    st.switch_page(page(name), query_params=address)


def sections() -> dict[str, list[StreamlitPage]]:
    """All pages by section, for ``st.navigation``."""
    found: dict[str, list[StreamlitPage]] = {}
    for name, (section, *_) in PAGES.items():
        found.setdefault(section, []).append(page(name))
    return found


def _home() -> None:
    """A curve that moves, three ways to begin, and the recent runs where there are some."""
    from fairdash.ui.home import show_curve, show_doors, show_recent_runs, show_start

    st.title("How fair is a price, and what does fairness cost?")
    st.markdown(
        "fairdash trains regressors whose predictions, or errors, depend less and less on a continuous "
        "sensitive attribute such as age or income, and shows the trade-off with accuracy."
    )
    show_curve()
    show_start()
    show_doors()
    st.page_link(
        page("paper"),
        label="Check the paper behind it: its tables and figures, theirs beside ours",
        icon=":material/article:",
    )
    show_recent_runs()


def _lesson() -> None:
    """Five scenes, a guess before each answer."""
    from fairdash.ui.lesson import show_lesson

    show_lesson()


def _patterns() -> None:
    """Which measure sees the link? And what is true of bivariate normal laws."""
    from fairdash.ui.patterns.parts import show_part

    show_part()


def _gaussians() -> None:
    """The address of Gaussians, once a page of its own, leads to its part of Association patterns."""
    go_to("patterns", address={**st.query_params, "part": "gaussians"})


def _paper() -> None:
    """The paper's tables and figures, theirs beside ours."""
    from fairdash.ui.paper.figures import show_part
    from fairdash.ui.paper.table1 import in_short
    from fairdash.ui.text import explain

    st.title("Do the paper's results hold up?")
    st.markdown(in_short())
    explain()
    show_part()
    st.caption(
        "The paper: V. Grari, B. Ruf, S. Lamprier, M. Detyniecki, “Fairness-Aware Neural Rényi Minimization "
        "for Continuous Features”. All figures of ours are read from results that come with fairdash."
    )


def _data() -> None:
    """Which table, and what must not matter?"""
    from fairdash.ui.data.choice import ask_for_data, current_source, show_heading
    from fairdash.ui.data.fixes import data_or_fixes
    from fairdash.ui.data.shown import show_dataset
    from fairdash.ui.state import choose_source

    st.title("Which table, and what must not matter?")
    source = ask_for_data(current_source())
    data = None if source is None else data_or_fixes(source)
    if source is not None and data is not None:
        choose_source(source)
        st.divider()
        show_heading(data, source)
        show_dataset(data, source)


def _train() -> None:
    """A whole range of models, from most accurate to most fair."""
    from fairdash.ui.cached import dataset_of
    from fairdash.ui.state import chosen_run, chosen_search, chosen_source
    from fairdash.ui.train.form import show_form, show_run

    st.title("How far should fairness go?")
    run = chosen_run()
    if run is not None:
        show_run(run)
    else:
        search, source = chosen_search(), chosen_source()
        with st.spinner("Reading the data…"):
            dataset = dataset_of(source)
        show_form(source, dataset, search)


def _tradeoff() -> None:
    """What does fairness cost?"""
    from fairdash.ui.tradeoff.comparison import choose, show_answer, show_comparison, show_panels
    from fairdash.ui.tradeoff.run import (
        run_in_view,
        show_confirmation,
        show_history,
        show_other_training,
        show_stage,
        show_take_away,
    )
    from fairdash.ui.tradeoff.tariff import show_tariff

    st.title("What does fairness cost?")
    run = run_in_view()
    if run is None:
        return
    answer, stage = st.container(), st.container()
    comparison = choose(run)
    with stage:
        show_stage(run, comparison)
    with answer:
        show_answer(comparison)
        show_other_training(comparison, run)
    show_comparison(comparison, run)
    show_panels(comparison)
    show_confirmation(comparison, run)
    show_tariff(comparison, run)
    show_take_away(comparison, run)
    show_history(run)


def _audit() -> None:
    """Does a price that already exists follow a sensitive attribute?"""
    from fairdash.ui.audit.answers import show_audit, show_earlier
    from fairdash.ui.audit.form import show_example, show_form
    from fairdash.ui.cached import roles_of, table_of
    from fairdash.ui.state import chosen_audit, chosen_source, is_source_chosen

    st.title("Does this price follow a sensitive attribute?")
    audit = chosen_audit()
    if audit is not None:
        show_audit(audit)
        return
    if is_source_chosen():
        source = chosen_source()
        with st.spinner("Reading the data…"):
            frame, roles = table_of(source), roles_of(source)
        show_form(source, frame, roles)
    else:
        show_example()
    show_earlier()


def _runs() -> None:
    """What has been trained here?"""
    from fairdash.ui.runs.parts import ask_for_file, show_actions, show_comparison, show_runs

    st.title("What has been trained here?")
    chosen = show_runs()
    show_actions(chosen)
    show_comparison(chosen)
    ask_for_file()


#: Every page: name to section, what shows it, title and icon. The name is the page's address; home is at the
#: root. One without a title is an old address, which leads elsewhere and stands in no navigation.
PAGES: Mapping[str, tuple[str, Callable[[], None], str, str]] = MappingProxyType(
    {
        "home": ("", _home, "Home", ":material/home:"),
        "lesson": ("Learn", _lesson, "The lesson", ":material/school:"),
        "patterns": ("Learn", _patterns, "Association patterns", ":material/scatter_plot:"),
        "gaussians": ("Learn", _gaussians, "", ""),
        "paper": ("Learn", _paper, "The paper", ":material/article:"),
        "data": ("Work", _data, "Data", ":material/table:"),
        "train": ("Work", _train, "Train", ":material/model_training:"),
        "tradeoff": ("Work", _tradeoff, "Trade-off", ":material/balance:"),
        "audit": ("Work", _audit, "Audit a price", ":material/fact_check:"),
        "runs": ("Work", _runs, "Runs", ":material/history:"),
    }
)
