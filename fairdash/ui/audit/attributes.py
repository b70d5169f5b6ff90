"""Several sensitive attributes: what was found along each, and which one is in view."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.plan import CRITERIA
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)


def choose_attribute(result: AuditResult) -> AuditResult:
    """The result along the attribute that the user looks at; with one attribute, the result."""
    along = result.along
    if len(along) == 1:
        return result
    first = [each.verdicts.iloc[0] for each in along]
    names = [each.plan.columns.sensitive for each in along]
    st.dataframe(
        pd.DataFrame(
            {
                "sensitive attribute": names,
                CRITERIA[result.plan.criterion].title: [each["verdict"] for each in first],
                "largest gap": [each["value"] for each in first],
                "95 % from": [each["ci_low"] for each in first],
                "to": [each["ci_high"] for each in first],
            }
        ),
        hide_index=True,
        alt="The verdict along each sensitive attribute.",
        column_config={
            name: st.column_config.NumberColumn(name, format="percent", help="Of the mean price.")
            for name in ("largest gap", "95 % from", "to")
        },
    )
    chosen = st.selectbox(
        "Answers along",
        range(len(along)),
        format_func=lambda k: safe(names[k]),
        key=KEY("along"),
        help="Verdicts are corrected for there being several attributes.",
    )
    return along[chosen]
