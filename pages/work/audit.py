"""Audit page: does an existing price follow a sensitive attribute?"""

from __future__ import annotations

import streamlit as st

from fairdash.ui.audit.answers import show_audit, show_earlier
from fairdash.ui.audit.form import show_example, show_form, show_own_table, wants_own_table
from fairdash.ui.cached import roles_of, table_of
from fairdash.ui.frame import PICTURES
from fairdash.ui.state import chosen_audit, chosen_source, is_source_chosen

st.title("Does this price follow a sensitive attribute?")
audit = chosen_audit()
if audit is not None:
    show_audit(audit)
elif wants_own_table():
    show_own_table()
    show_earlier()
elif is_source_chosen():
    source = chosen_source()
    with st.skeleton(height=PICTURES):
        frame, roles = table_of(source), roles_of(source)
    show_form(source, frame, roles)
    show_earlier()
else:
    show_example()
    show_earlier()
