"""Selection of column roles, and fixes for the problems of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import DataError, Fix
from fairdash.tables.column_profile import NUMBERS, kind_of
from fairdash.tables.exposure import Policies, can_be_rate, looks_like_total
from fairdash.tables.fixes import with_fix
from fairdash.tables.leak_candidates import CERTAIN, SUSPECT
from fairdash.tables.leak_check import DataCheck
from fairdash.tables.roles import Roles
from fairdash.tables.suggestion import PricingTarget, Suggestion
from fairdash.tables.sums import by_sentence
from fairdash.ui.cached import check_of, dataset_of, suggestion_of
from fairdash.ui.frame import FIX_LABELS, show_fixes
from fairdash.ui.keys import Keys
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)
#: Session key of the fixes that the user has accepted for the current table.
FIXES = KEY("of-the-table-in-view")


def ask_for_fixes(stored: tuple[Fix, ...], columns: Collection[object], *, key: str) -> tuple[Fix, ...]:
    """List the applied fixes, each with a button to undo it."""
    state = fixes_key(key)
    if state not in st.session_state:
        st.session_state[state] = tuple(fix for fix in stored if fix.column in columns)
    st.session_state[FIXES] = state
    accepted: tuple[Fix, ...] = st.session_state[state]
    if accepted:
        with st.container(horizontal=True):
            for fix in accepted:
                label = f"{FIX_LABELS[fix.kind]}: {safe(fix.column)}"
                st.button(
                    label,
                    key=KEY("undo", key, fix.kind, fix.column),
                    icon=":material/undo:",
                    help="You chose this change. Click to undo it.",
                    on_click=lambda fix=fix: undo_fix(fix),
                )
    return accepted


def data_or_fixes(source: DatasetSource) -> Dataset | None:
    """Return the data set. If there are problems, show them with their fixes, and return None."""
    try:
        return dataset_of(source)
    except DataError as error:
        show_fixes(error.problems, key=KEY("problems", source.id), fix=add_fix, blocked=True)
        return None


def add_fix(fix: Fix) -> None:
    """Add a fix for the current table, and remove earlier fixes that contradict the new one."""
    state = st.session_state[FIXES]
    st.session_state[state] = with_fix(st.session_state[state], fix)


def add_fix_for(key: str, fix: Fix) -> None:
    """Add a fix for the table with this key, even if the page has not shown the table yet."""
    state = fixes_key(key)
    st.session_state[state] = with_fix(st.session_state.get(state, ()), fix)


def undo_fix(fix: Fix) -> None:
    state = st.session_state[FIXES]
    st.session_state[state] = tuple(item for item in st.session_state[state] if item != fix)


def fixes_key(key: str) -> str:
    return KEY("fixes", key)


NO_COLUMN = "None"
EQUAL_WEIGHTS = "None: all rows have equal weight"
#: Roles that at most one column can have, with name in Roles, title, label for no column, and help text.
OPTIONAL_ROLES = (
    (
        "weight",
        "Exposure: the weight of a row",
        EQUAL_WEIGHTS,
        "For example, the number of years that a policy ran. Every row needs a value above zero.",
    ),
    (
        "prediction",
        "Existing prediction or price",
        NO_COLUMN,
        "fairdash evaluates this prediction in the same way as the models. No model uses this column.",
    ),
    ("row_id", "Row id", NO_COLUMN, "An identifier, such as a policy number, which the models never use."),
    (
        "group",
        "Group: rows that belong together",
        NO_COLUMN,
        "For example, the policy number if a policy has one row per year. The rows of a group stay "
        "together in every split, and tests count a group as one independent unit.",
    ),
    (
        "time",
        "Time: train on earlier rows, test on later rows",
        NO_COLUMN,
        "A year or a date. The Train page can then test on the latest rows.",
    ),
)
#: Maximum number of warnings, each with a button, about columns that reveal the target.
MAX_WARNINGS = 8
#: Maximum number of characters of a display name.
MAX_CHARACTERS = 60


def ask_for_roles(frame: pd.DataFrame, stored: Roles | None, *, key: str, table: str) -> Roles | None:
    """Ask for the roles of the columns. Return None while target or sensitive column is missing.

    `key` identifies the table's columns, and the user's choices are stored under it. `table` identifies
    columns and cells.
    """
    columns = list(frame.columns)
    suggested, suggested_pricing = suggestion_of(frame, table=table)
    initial_roles = suggested if stored is None else stored
    # The session stores the chosen pricing target with the number of clicks on such targets. A new number
    # resets the widgets that depend on the target.
    target_widget, state = KEY("target", key), KEY("priced", key)
    chosen_target, clicks = cast(tuple[PricingTarget | None, int], st.session_state.get(state, (None, 0)))

    def price(each: PricingTarget) -> None:
        st.session_state[target_widget] = each.target
        st.session_state[state] = each, clicks + 1
        for fix in each.fixes:
            add_fix_for(key, fix)

    offer_pricing(suggested_pricing, key=key, choose=price)
    left, right = st.columns(2)
    new_target = left.selectbox(
        "Target: what to predict",
        columns,
        index=columns.index(initial_roles.target) if initial_roles.target else None,
        placeholder="Choose a column",
        key=target_widget,
    )
    new_sensitive = right.selectbox(
        "Sensitive attribute: what predictions must not depend on",
        columns,
        index=columns.index(initial_roles.sensitive[0]) if initial_roles.sensitive else None,
        placeholder="Choose a column",
        key=KEY("sensitive", key),
    )
    others = [column for column in columns if column not in (new_target, new_sensitive)]
    other_sensitive = right.multiselect(
        "Further sensitive attributes",
        others,
        default=[column for column in initial_roles.sensitive[1:] if column in others],
        placeholder="None",
        help="Predictions must not depend on these columns either. No model uses these attributes.",
        key=KEY("further", key, new_target, new_sensitive),
    )
    # The chosen pricing target applies until the user selects another target column, or until the stored
    # roles contain its target and exposure.
    priced = chosen_target if chosen_target is not None and chosen_target.target == new_target else None
    if stored and priced and (stored.target, stored.weight) == (priced.target, priced.weight):
        st.session_state[state] = None, clicks
        priced = None
    given, _ = suggestion_of(frame, table=table, target=new_target)
    n_others = len(columns) - 2 - len(other_sensitive)
    single = {part: getattr(initial_roles, part, None) for part, *_ in OPTIONAL_ROLES}
    if priced is not None:
        single["weight"] = priced.weight
    if initial_roles.prediction is None and initial_roles.target != new_target:
        # The suggested column of existing prices depends on the target, because the premium may be the
        # target.
        single["prediction"] = given.prediction
    with st.expander(f"Features, exposure and others (of {counted(n_others, 'column')})"):
        used_columns: list[str | None] = [new_target, new_sensitive, *other_sensitive]
        containers = st.columns(3)
        for k, (part, title, label_without_column, help_text) in enumerate(OPTIONAL_ROLES):
            # "None" is a separate option, because a selectbox with an initial choice can't be cleared.
            others = [column for column in columns if column not in used_columns]
            value = single[part]
            name = containers[k % 3].selectbox(
                title,
                [label_without_column, *others],
                index=others.index(value) + 1 if value in others else 0,
                help=help_text,
                key=KEY("part", key, title, used_columns, clicks),
            )
            single[part] = None if name == label_without_column else name
            used_columns.append(single[part])
        others = [column for column in columns if column not in used_columns]
        prediction_column = single["prediction"]
        given, _ = suggestion_of(frame, table=table, target=new_target, prediction=prediction_column)
        first_suggestion = given
        if stored:
            first_suggestion, _ = suggestion_of(
                frame, table=table, target=stored.target, prediction=stored.prediction
            )
        chosen = ask_for_features(others, stored, suggested=given, former=first_suggestion, key=key)
    new_weight = single["weight"]
    check = None
    if new_target is not None and new_sensitive is not None and kind_of(frame[new_target]) in NUMBERS:
        check = check_of(
            frame,
            table=table,
            target=new_target,
            sensitive=(new_sensitive, *other_sensitive),
            exposure=new_weight,
            price=prediction_column,
            group=single["group"],
            # Suggested and chosen columns are checked together, so that no new check is necessary when the
            # user removes a column.
            columns=tuple(column for column in others if column in given.features or column in chosen),
        )
    show_columns_that_reveal_the_target(others, chosen, suggested=given, check=check, key=key)
    if given.policies is not None:
        show_policies(given.policies, group=single["group"])
    rate = False
    if new_target is not None and new_weight is not None:
        is_unchanged = stored is not None and (stored.target, stored.weight) == (new_target, new_weight)
        divided = stored.rate if stored is not None and is_unchanged else looks_like_total(frame[new_target])
        divided |= priced is not None and new_weight == priced.weight
        rate = ask_for_rate(frame, new_target, new_weight, initial=divided, key=key, clicks=clicks)
    if new_target is None or new_sensitive is None:
        st.info("Choose the target and the sensitive attribute to continue.")
        return None
    return Roles(
        target=new_target, sensitive=(new_sensitive, *other_sensitive), features=chosen, **single, rate=rate
    )


def show_policies(policies: Policies, *, group: str | None) -> None:
    """State that several rows belong to one policy, and whether splits and tests keep these rows together."""
    words = f"**{safe(policies.column)}** names {policies.in_words()}."
    if group is None:
        st.warning(
            f"{words} Choose this column as the group, because the rows of one policy are not independent."
        )
    elif group == policies.column:
        st.caption(f"{words} The rows of a policy stay together in splits and tests.")


def ask_for_rate(
    frame: pd.DataFrame, target: str, exposure: str, *, initial: bool, key: str, clicks: int
) -> bool:
    """Ask whether to divide the target by the exposure. If this is impossible, return False at once."""
    if not can_be_rate(frame[target]):
        return False
    return st.checkbox(
        f"Predict {safe(target)} per unit of {safe(exposure)}: {safe(target)} ÷ {safe(exposure)}",
        initial,
        key=KEY("rate", key, target, exposure, clicks),
        help="For counts and sums over an exposure period, such as the claims of a policy that ran for part "
        "of a year. Rows are weighted by exposure whether or not the target is divided. With a Poisson "
        "loss, modelling the rate equals modelling the counts with exposure as an offset. Switch this off "
        "if the target is already a rate.",
    )


def ask_for_features(
    others: Collection[str], stored: Roles | None, *, suggested: Suggestion, former: Suggestion, key: str
) -> tuple[str, ...]:
    """Return the selected features among the columns without another role.

    Parameters
    ----------
    others
        Columns without another role. known Roles in the stored description of the data set, if there is one.
    suggested, former
        Suggestions for the current target, and for the target in the stored roles.
    key
        String that identifies the table.
    """
    decisions: dict[str, bool] = st.session_state.setdefault(_decisions_key(key), {})
    begin = {
        column: is_initially_a_feature(column, stored, given=suggested, former=former) for column in others
    }
    widget = KEY("chosen", key, sorted(others), suggested.target, st.session_state.get(_clicks_key(key), 0))
    if widget not in st.session_state:
        st.session_state[widget] = [column for column in others if decisions.get(column, begin[column])]
    chosen = st.multiselect("Features the model may use", others, key=widget)
    for column in others:
        if (column in chosen) != begin[column]:
            decisions[column] = column in chosen
        else:
            decisions.pop(column, None)
    return tuple(chosen)


def is_initially_a_feature(
    column: str, stored: Roles | None, *, given: Suggestion, former: Suggestion
) -> bool:
    """Return whether a column is initially selected as a feature, according to stored or suggested roles."""
    suggested = column in given.features
    if stored is None or any(column in part for role, part in stored.parts.items() if role != "feature"):
        return suggested
    in_recipe = column in stored.features
    # A role that equals the former suggestion is replaced by the new suggestion. A role that the user chose
    # stays.
    return in_recipe if in_recipe != (column in former.features) else suggested


def show_columns_that_reveal_the_target(
    others: Collection[str],
    chosen: Collection[str],
    *,
    suggested: Suggestion,
    check: DataCheck | None,
    key: str,
) -> None:
    """List columns that certainly or possibly reveal the target, or contain codes, each with a button."""
    reasons = {column: suggested.left_out[column] for column in suggested.notes_on_codes if column in others}
    reveals = dict.fromkeys(suggested.parts_of_price, "gives the price away")
    reveals |= dict.fromkeys(suggested.known_with_target, "gives the target away")
    suspect = {}
    for finding in () if check is None else check.findings:
        if finding.level == SUSPECT and finding.column in chosen:
            suspect[finding.column] = finding.sentence
        elif finding.level == CERTAIN and finding.column in chosen:
            reasons.setdefault(finding.column, finding.sentence)
            reveals.setdefault(finding.column, f"gives the {finding.of} away")
    # Columns with the same reason share a button, one for used columns and one for unused columns.
    lines = [
        (names, reason, used_now)
        for used_now in (True, False)
        for names, reason in by_sentence(
            {c: reason for c, reason in reasons.items() if (c in chosen) == used_now}
        )
    ]
    for names, reason, used_now in lines[:MAX_WARNINGS]:
        statement = reveals.get(names[0], "is used as a number") if used_now else "is left out"
        _show_leak(names, f"{statement}: {safe(reason)}", are_features=used_now, key=key)
    for column, reason in list(suspect.items())[:MAX_WARNINGS]:
        _show_leak([column], f"looks too good to be true: {reason}", are_features=True, key=key)
    n_not_shown = max(len(lines) - MAX_WARNINGS, 0) + max(len(suspect) - MAX_WARNINGS, 0)
    if n_not_shown:
        rest_text = counted(n_not_shown, "more column")
        st.caption(
            f"{rest_text} may reveal the target, or contain codes. The list of features shows these columns."
        )


def _show_leak(columns: Sequence[str], message: str, *, are_features: bool, key: str) -> None:
    sentence, button = st.columns([3, 1], vertical_alignment="center")
    show_text = sentence.warning if are_features else sentence.caption
    names, column_text = safe(columns[0]), safe(columns[0])
    if len(columns) > 1:
        names, column_text = f"Each of {len(columns)} columns", f"these {len(columns)} columns"
    show_text(f"**{names}** {message}.")
    button.button(
        f"Leave out {column_text}" if are_features else f"Use {column_text} anyway",
        key=KEY("tells", key, *columns),
        on_click=record_decision,
        args=(columns, not are_features, key),
        width="stretch",
    )


def record_decision(columns: Sequence[str], use: bool, key: str) -> None:
    """Record whether the user wants these columns as features, regardless of the suggestion."""
    st.session_state[_decisions_key(key)].update(dict.fromkeys(columns, use))
    st.session_state[_clicks_key(key)] = st.session_state.get(_clicks_key(key), 0) + 1


def _decisions_key(key: str) -> str:
    """Return the session key of the user's decisions, a map from columns to True (a feature) or False."""
    return KEY("decided", key)


def _clicks_key(key: str) -> str:
    """Return the session key of the number of clicks beside columns. A click resets the list of features."""
    return KEY("clicks", key)


def offer_pricing(
    pricing_targets: Sequence[PricingTarget], *, key: str, choose: Callable[[PricingTarget], None]
) -> None:
    """Show a button for each pricing target that the table's columns allow.

    A click calls `choose` with the target, before Streamlit reruns the page.
    """
    if not pricing_targets:
        return
    st.caption("The column names suggest these targets:")
    with st.container(horizontal=True):
        for fix in pricing_targets:
            st.button(
                f"{fix.title}: {safe(fix.target)} ÷ {safe(fix.weight)}",
                key=KEY("choose", key, fix.id),
                on_click=choose,
                args=(fix,),
                help=f"Predicts {safe(fix.target)} divided by {safe(fix.weight)}. Rows are weighted by "
                f"{safe(fix.weight)}."
                + (" Rows without claims have no severity and are left out." if fix.fixes else ""),
            )


def ask_for_names(
    roles: Roles, stored: Mapping[str, str], *, preset: Mapping[str, str], key: str
) -> dict[str, str]:
    """Ask for display names of target and sensitive columns.

    Parameters
    ----------
    stored
        Display names that the user entered before.
    preset
        Display names of the data set.
    key
        Key of the table.
    """
    columns = (roles.target, *roles.sensitive)
    with st.expander("Display names"):
        containers = st.columns(len(columns))
        texts = {
            column: container.text_input(
                f"Display name of “{safe(column)}”",
                stored.get(column, ""),
                placeholder=preset.get(column, column),
                max_chars=MAX_CHARACTERS,
                key=KEY("name", key, column),
                help="For example: claims per year, or driver's age.",
            )
            for container, column in zip(containers, columns, strict=True)
        }
    return {column: text.strip() for column, text in texts.items() if text.strip()}
