"""Train page: training of models from the most accurate to the fairest."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import PICTURES
from fairdash.ui.state import chosen_run, chosen_search, chosen_source
from fairdash.ui.train.form import show_form, show_run

st.title("Train fair models")
run = chosen_run()
if run is not None:
    show_run(run)
else:
    search, source = chosen_search(), chosen_source()
    with st.skeleton(height=PICTURES):
        dataset = dataset_of(source)
    show_form(source, dataset, search)
