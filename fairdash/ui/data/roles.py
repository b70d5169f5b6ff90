"""Which column plays which part."""

from __future__ import annotations

from typing import cast

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.column_profile import NUMBERS, kind_of
from fairdash.data.pricing import PricingTarget
from fairdash.data.rate import can_be_rate, looks_like_total
from fairdash.data.roles import Roles
from fairdash.ui.cached import check_of, suggestion_of
from fairdash.ui.data.features import ask_for_features, say_what_tells_the_target
from fairdash.ui.data.fixes import agree_for
from fairdash.ui.data.pricing import offer_pricing
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

NO_COLUMN = "None"
EVERY_ROW_ALIKE = "None: every row counts alike"


def ask_for_roles(frame: pd.DataFrame, known: Roles | None, *, key: str, table: str) -> Roles | None:
    """Which column plays which part; None while target or sensitive column is missing.

    `key` stands for the columns, for which choices are kept; `table` for their cells as well.
    """
    columns = list(frame.columns)
    suggested, offered = suggestion_of(frame, table=table)
    begin = suggested if known is None else known
    # What is priced, as it was clicked, and how often: widgets that follow from it begin anew then.
    target_widget, state = KEY("target", key), KEY("priced", key)
    wanted, clicks = cast(tuple[PricingTarget | None, int], st.session_state.get(state, (None, 0)))

    def price(each: PricingTarget) -> None:
        st.session_state[target_widget] = each.target
        st.session_state[state] = each, clicks + 1
        for fix in each.fixes:
            agree_for(key, fix)

    offer_pricing(offered, key=key, choose=price)
    left, right = st.columns(2)
    new_target = left.selectbox(
        "Target: what is predicted",
        columns,
        index=columns.index(begin.target) if begin.target else None,
        placeholder="Choose a column",
        key=target_widget,
    )
    new_sensitive = right.selectbox(
        "Sensitive attribute: what must not matter",
        columns,
        index=columns.index(begin.sensitive[0]) if begin.sensitive else None,
        placeholder="Choose a column",
        key=KEY("sensitive", key),
    )
    others = [column for column in columns if column not in (new_target, new_sensitive)]
    further = right.multiselect(
        "Further sensitive attributes",
        others,
        default=[column for column in begin.sensitive[1:] if column in others],
        placeholder="None",
        help="Predictions must not depend on these either, and no model sees them.",
        key=KEY("further", key, new_target, new_sensitive),
    )
    # What was clicked holds until another target is chosen, or a recipe has it: that is changed by hand then.
    priced = wanted if wanted is not None and wanted.target == new_target else None
    if known and priced and (known.target, known.weight) == (priced.target, priced.weight):
        st.session_state[state] = None, clicks
        priced = None
    given, _ = suggestion_of(frame, table=table, target=new_target)
    former, _ = suggestion_of(frame, table=table, target=known.target) if known else (given, ())
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
                key=KEY("part", key, title, taken, clicks),
            )
            chosen = None if name == none else name
            taken.append(chosen)
            return chosen

        new_weight = ask(
            left,
            "Exposure: how much a row counts",
            EVERY_ROW_ALIKE,
            begin.weight if priced is None else priced.weight,
            "For example the years that a policy ran. Every row must have one, above zero.",
        )
        new_prediction = ask(
            middle,
            "Existing prediction or price",
            NO_COLUMN,
            # A premium is the price of claims, or the target itself: another target has another price.
            given.prediction if begin.prediction is None and begin.target != new_target else begin.prediction,
            "To be audited beside the models; they never see it.",
        )
        new_row_id = ask(
            right,
            "Row id",
            NO_COLUMN,
            begin.row_id,
            "What names a row, such as a policy's number; the models never see it.",
        )
        new_group = ask(
            left,
            "Group: which rows belong together",
            NO_COLUMN,
            None if known is None else known.group,
            "For example a policy's number, where it has a row a year: no split parts its rows, and tests "
            "count them as one witness.",
        )
        new_time = ask(
            middle,
            "Time: to train before and test after",
            NO_COLUMN,
            None if known is None else known.time,
            "A year or a date. The train page then offers to test on the latest rows.",
        )
        others = [column for column in columns if column not in taken]
        chosen = ask_for_features(others, known, given=given, former=former, key=key)
    check = None
    if new_target is not None and new_sensitive is not None and kind_of(frame[new_target]) in NUMBERS:
        check = check_of(
            frame,
            table=table,
            target=new_target,
            sensitive=(new_sensitive, *further),
            exposure=new_weight,
            # Not only those chosen: then nothing is looked for again when one of them is left out.
            columns=tuple(column for column in others if column in given.features or column in chosen),
        )
    say_what_tells_the_target(others, chosen, given=given, check=check, key=key)
    rate = False
    if new_target is not None and new_weight is not None:
        same = known is not None and (known.target, known.weight) == (new_target, new_weight)
        by_default = known.rate if known is not None and same else looks_like_total(frame[new_target])
        if priced is not None and new_weight == priced.weight:
            by_default = True
        rate = ask_for_rate(frame, new_target, new_weight, begin=by_default, key=key, clicks=clicks)
    if new_target is None or new_sensitive is None:
        st.info("Choose the target and the sensitive attribute to go on.")
        return None
    return Roles(
        target=new_target,
        sensitive=(new_sensitive, *further),
        features=chosen,
        weight=new_weight,
        prediction=new_prediction,
        row_id=new_row_id,
        group=new_group,
        time=new_time,
        rate=rate,
    )


def ask_for_rate(
    frame: pd.DataFrame, target: str, exposure: str, *, begin: bool, key: str, clicks: int
) -> bool:
    """Whether the target is divided by the exposure; not asked where it can't be."""
    if not can_be_rate(frame[target]):
        return False
    return st.checkbox(
        f"Predict {safe(target)} per unit of {safe(exposure)}: {safe(target)} ÷ {safe(exposure)}",
        begin,
        key=KEY("rate", key, target, exposure, clicks),
        help="For counts and sums over the time that a row was exposed, such as the claims of a policy that "
        "ran for a part of the year. Each row counts by its exposure either way; with a Poisson loss the "
        "rate is the same as a model of the counts with the exposure as offset. Switch it off if the "
        "target is a rate already.",
    )
