"""Which columns a model may see: what was chosen stays chosen when another role changes."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from fairdash.data.leak_check import DataCheck
from fairdash.data.roles import Roles
from fairdash.data.suggestion import Suggestion
from fairdash.data.suspects import CERTAIN, SUSPECT
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

#: So many columns that give the target away have a sentence and a button each.
MOST_SAID = 8


def ask_for_features(
    others: Collection[str], known: Roles | None, *, given: Suggestion, former: Suggestion, key: str
) -> tuple[str, ...]:
    """The features among the columns without another role.

    Parameters
    ----------
    others
        Columns that have no other role.
    known
        The roles of the recipe in view, if there is one.
    given, former
        What is suggested for the target as it is now, and for that of the recipe in view.
    key
        Stands for the table.
    """
    decided: dict[str, bool] = st.session_state.setdefault(_decided(key), {})
    begin = {column: begins(column, known, given=given, former=former) for column in others}
    widget = KEY("chosen", key, sorted(others), given.target, st.session_state.get(_clicks(key), 0))
    if widget not in st.session_state:
        st.session_state[widget] = [column for column in others if decided.get(column, begin[column])]
    chosen = st.multiselect("Features: what the model may see", others, key=widget)
    for column in others:
        if (column in chosen) != begin[column]:
            decided[column] = column in chosen
        else:
            decided.pop(column, None)
    return tuple(chosen)


def begins(column: str, known: Roles | None, *, given: Suggestion, former: Suggestion) -> bool:
    """Whether a column is a feature where nobody decides now: as the recipe has it, or as suggested."""
    suggested = column in given.features
    if known is None or any(column in part for role, part in known.parts.items() if role != "feature"):
        return suggested
    in_recipe = column in known.features
    # What the recipe has as it was suggested follows the suggestion; what somebody decided stays.
    return in_recipe if in_recipe != (column in former.features) else suggested


def say_what_tells_the_target(
    others: Collection[str],
    chosen: Collection[str],
    *,
    given: Suggestion,
    check: DataCheck | None,
    key: str,
) -> None:
    """Name the columns that give the target away, may, or hold codes, each with the click that changes it."""
    told = {column: given.left_out[column] for column in given.to_be_said if column in others}
    suspect = {}
    for each in () if check is None else check.findings:
        if each.level == SUSPECT and each.column in chosen:
            suspect[each.column] = each.sentence
        elif each.level == CERTAIN and each.column in chosen:
            told.setdefault(each.column, each.sentence)
    for column, why in list(told.items())[:MOST_SAID]:
        as_what = (
            "is used as a number"
            if column in given.to_be_said and column not in given.known_with_target
            else "gives the target away"
        )
        is_so = as_what if column in chosen else "is left out"
        _say(column, f"{is_so}: {why}", used=column in chosen, key=key)
    for column, why in list(suspect.items())[:MOST_SAID]:
        _say(column, f"looks too good to be true: {why}", used=True, key=key)
    unsaid = max(len(told) - MOST_SAID, 0) + max(len(suspect) - MOST_SAID, 0)
    if unsaid:
        more = counted(unsaid, "more column")
        st.caption(f"{more} may give the target away or hold codes; find them among the features.")


def _say(column: str, what: str, *, used: bool, key: str) -> None:
    sentence, button = st.columns([3, 1], vertical_alignment="center")
    say = sentence.warning if used else sentence.caption
    say(f"**{safe(column)}** {what}.")
    button.button(
        f"Leave out {safe(column)}" if used else f"Use {safe(column)} all the same",
        key=KEY("tells", key, column),
        on_click=decide,
        args=(column, not used, key),
        width="stretch",
    )


def decide(column: str, use: bool, key: str) -> None:
    """Bring a column in or leave it out, whatever was suggested."""
    st.session_state[_decided(key)][column] = use
    st.session_state[_clicks(key)] = st.session_state.get(_clicks(key), 0) + 1


def _decided(key: str) -> str:
    """Where the session keeps what was decided otherwise than suggested: column to whether it is used."""
    return KEY("decided", key)


def _clicks(key: str) -> str:
    """Where it keeps how often a button decided: the widget begins anew then."""
    return KEY("clicks", key)
