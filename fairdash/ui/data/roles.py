"""Which column plays which part."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.roles import Roles
from fairdash.data.suggestion import suggest_roles
from fairdash.data.wording import counted

NO_COLUMN = "None"
EVERY_ROW_ALIKE = "None: every row counts alike"


def ask_for_roles(frame: pd.DataFrame, known: Roles | None, *, key: str) -> Roles | None:
    """Which column plays which part; None while target or sensitive column is missing."""
    columns = list(frame.columns)
    if known is None:
        suggestion = suggest_roles(frame)
        target, sensitive, features = suggestion.target, suggestion.sensitive, suggestion.features
        weight, row_id, prediction = suggestion.weight, suggestion.row_id, suggestion.prediction
    else:
        target, sensitive, features = known.target, known.sensitive, known.features
        weight, row_id, prediction = known.weight, known.row_id, known.prediction
    left, right = st.columns(2)
    new_target = left.selectbox(
        "Target: what is predicted",
        columns,
        index=columns.index(target) if target else None,
        placeholder="Choose a column",
        key=f"{key} target",
    )
    new_sensitive = right.selectbox(
        "Sensitive attribute: what must not matter",
        columns,
        index=columns.index(sensitive[0]) if sensitive else None,
        placeholder="Choose a column",
        key=f"{key} sensitive",
    )
    others = [column for column in columns if column not in (new_target, new_sensitive)]
    further = right.multiselect(
        "Further sensitive attributes",
        others,
        default=[column for column in sensitive[1:] if column in others],
        placeholder="None",
        help="Predictions must not depend on these either, and no model sees them.",
        key=f"{key} further {new_target} {new_sensitive}",
    )
    n_others = len(columns) - 2 - len(further)
    with st.expander(f"Features, exposure and others (of {counted(n_others, 'column')})"):
        taken = [new_target, new_sensitive, *further]
        left, middle, right = st.columns(3)

        def ask(place: DeltaGenerator, title: str, none: str, value: str | None, about: str) -> str | None:
            # "None" is an option of its own: a selectbox that begins with a choice can't be cleared.
            others = [column for column in columns if column not in taken]
            name = place.selectbox(
                title,
                [none, *others],
                index=others.index(value) + 1 if value in others else 0,
                help=about,
                key=f"{key} {title} {taken}",
            )
            chosen = None if name == none else name
            taken.append(chosen)
            return chosen

        new_weight = ask(
            left,
            "Exposure: how much a row counts",
            EVERY_ROW_ALIKE,
            weight,
            "For example the years that a policy ran. Every row must have one, above zero.",
        )
        new_prediction = ask(
            middle,
            "Existing prediction or price",
            NO_COLUMN,
            prediction,
            "To be audited beside the models; they never see it.",
        )
        new_row_id = ask(
            right,
            "Row id",
            NO_COLUMN,
            row_id,
            "What names a row, such as a policy's number; the models never see it.",
        )
        others = [column for column in columns if column not in taken]
        chosen = st.multiselect(
            "Features: what the model may see",
            others,
            default=[column for column in features if column in others],
            key=f"{key} features {taken}",
        )
    if new_target is None or new_sensitive is None:
        st.info("Choose the target and the sensitive attribute to go on.")
        return None
    return Roles(
        target=new_target,
        sensitive=(new_sensitive, *further),
        features=tuple(chosen),
        weight=new_weight,
        prediction=new_prediction,
        row_id=new_row_id,
    )
