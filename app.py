"""fairdash in the browser: `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

from fairdash.ui.frame import freeze_imports, plain_errors

st.set_page_config(page_title="fairdash", page_icon=":material/balance:", layout="wide")
page = st.navigation(
    {
        "": [st.Page("pages/home/home.py", title="Home", icon=":material/home:", default=True)],
        "Work": [
            st.Page("pages/work/data.py", title="Data", icon=":material/table:", url_path="data"),
            st.Page("pages/work/train.py", title="Train", icon=":material/model_training:", url_path="train"),
            st.Page(
                "pages/work/tradeoff.py", title="Trade-off", icon=":material/balance:", url_path="tradeoff"
            ),
        ],
    }
)
with plain_errors():
    page.run()
freeze_imports()
