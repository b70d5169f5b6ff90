"""Parts of the page “Which method?”: the committed bench, one data set at a time."""

from __future__ import annotations

import streamlit as st

from fairdash.evaluation.bench import JOINT
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.state import choose
from fairdash.ui.text import safe
from fairdash.views.figures.methods import methods_figure
from fairdash.views.reports.methods import (
    TITLES,
    errors_of,
    mean_ranks,
    missing,
    read_methods,
    summary,
)

KEY = Keys(__file__)


def show_answer() -> None:
    """Show what the bench says of the default, and mean ranks."""
    table = read_methods()
    st.markdown("\n".join(f"- {safe(each)}" for each in summary(table)))
    for several, words in ((False, "one sensitive attribute"), (True, "several sensitive attributes")):
        ranks = mean_ranks(table, several=several)
        if len(ranks):
            ranks.columns = [f"{100 * level:.0f} %" for level in ranks.columns]
            st.markdown(
                f"**Mean ranks by error on sets with {words}** (1 is best; without methods that need s for "
                "a price)"
            )
            st.dataframe(ranks.round(1), alt=f"Mean ranks on sets with {words}")


def show_data_set() -> None:
    """Show the front and the errors of a data set, and the table of all sets to download."""
    table = read_methods()
    names = {str(name): str(name).replace("_", " ") for name in table["data"].unique()}
    data = choose("Data set", names, name=Address.DATA, key=KEY("data"))
    own = table[table["data"] == data]
    linked = [str(each) for each in own.loc[own["linked"], "reading"].unique()]
    # For a crossing, the joint readings come first.
    linked.sort(key=lambda each: not each.endswith(JOINT))
    if linked:
        reading = choose(
            "Dependence by", {each: TITLES[each] for each in linked}, name=Address.READING, key=KEY("reading")
        )
        figure = methods_figure(
            own[own["reading"] == reading], title=names[data], reading=TITLES[reading], theme=theme()
        )
        chart(figure, key=KEY("front", data), alt="Error of each method against its dependence.")
    else:
        st.info("The standard network does not follow the attribute beyond noise. There is nothing to lower.")
    st.dataframe(errors_of(table, data), hide_index=True, alt="Errors of all methods at equal dependence")
    st.caption(
        "Each cell gives the error and half the width of its 95 % interval over the splits. ↑ and ↓ mark an "
        "error above or below the default's. “no link”: the standard network's dependence is within noise."
    )
    download(table, label="All results (CSV)", name="methods", key=KEY("csv"))
    lacking = [f"{name}: {why}." for name, why in missing(table).items()]
    if lacking:
        with st.expander("Methods that lack data sets"):
            st.markdown("\n".join(f"- {safe(each)}" for each in lacking))
