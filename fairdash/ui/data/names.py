"""What people call the target and the sensitive attribute: an optional text beside each."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from fairdash.data.roles import Roles
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe

KEY = Keys(__file__)
MOST_CHARACTERS = 60


def ask_for_names(
    roles: Roles, known: Mapping[str, str], *, preset: Mapping[str, str], key: str
) -> dict[str, str]:
    """Names for people of target and sensitive columns, where the user gives any.

    Parameters
    ----------
    known
        Those that were given before.
    preset
        Those that the data set comes with.
    key
        Of the table.
    """
    columns = (roles.target, *roles.sensitive)
    with st.expander("What sentences and charts call them"):
        places = st.columns(len(columns))
        texts = {
            column: place.text_input(
                f"“{safe(column)}” is called",
                known.get(column, ""),
                placeholder=preset.get(column, column),
                max_chars=MOST_CHARACTERS,
                key=KEY("name", key, column),
                help="For example: claims per year, or driver's age.",
            )
            for place, column in zip(places, columns, strict=True)
        }
    return {column: text.strip() for column, text in texts.items() if text.strip()}
