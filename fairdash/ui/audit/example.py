"""What the page of audits shows before a table is chosen: an example's answers, and the ways to one's own."""

from __future__ import annotations

import streamlit as st

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.example import example_audit
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.source import CatalogueSource
from fairdash.ui.audit.answers import show_result
from fairdash.ui.keys import Keys
from fairdash.ui.pages import page
from fairdash.ui.state import choose_source

KEY = Keys(__file__)

#: The policies of the example, and simulated ones that are there without a connection.
MOTOR = CatalogueSource(dataset="motor_tariff")
SIMULATED = CatalogueSource(dataset="portfolio")


def show_example() -> None:
    """The ways to an audit of one's own, and the example's answers."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(page("data"), label="Audit a table of your own", icon=":material/upload_file:")
        is_here = CATALOGUE["motor"].is_local()
        source = MOTOR if is_here else SIMULATED
        st.button(
            "Ask the example yourself" if is_here else "Try it on simulated policies",
            key=KEY("try"),
            icon=":material/edit_note:",
            on_click=choose_source,
            args=(source,),
            help=f"Choose columns, criterion and threshold: {source.title}.",
        )
    st.caption(
        "An example: the premiums of a GLM that does not see the driver's age, on the French motor policies "
        "of a pricing game (pg15training)."
    )
    show_result(_example(), title=MOTOR.title)


@st.cache_resource(show_spinner=False)
def _example() -> AuditResult:
    return example_audit()
