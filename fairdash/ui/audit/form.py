"""Audit form: an example, then columns, primary criterion and largest acceptable gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, cycle
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype
from streamlit.delta_generator import DeltaGenerator

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.example import example_audit
from fairdash.auditing.models import ModelFile
from fairdash.auditing.models.foreign import ForeignModel
from fairdash.auditing.models.model_answers import MODEL_PRICE
from fairdash.auditing.plan import AuditPlan, Columns
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.errors import FairdashError
from fairdash.runs.launch import start_audit
from fairdash.tables.exposure import looks_like_total
from fairdash.tables.header_words import meanings_of
from fairdash.tables.model_files.model_file import ENDINGS, MAX_BYTES, MAX_SECONDS, content_of
from fairdash.tables.roles import Roles
from fairdash.ui.access import current_owner
from fairdash.ui.audit.answers import choose_attribute, roles_of_audit, show_result
from fairdash.ui.cached import columns_of_classes, suggestion_of
from fairdash.ui.data.upload import ask_for_table
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import page
from fairdash.ui.state import choose_audit, choose_source
from fairdash.ui.text import safe
from fairdash.ui.widgets import ask
from fairdash.utils.options import options_of
from fairdash.utils.text import counted

KEY = Keys(__file__)

_LINKS = {"auto": "as stated in the file", "identity": "the price", "log": "its logarithm"}
#: Roles of columns that a model of a price does not need.
_NO_INPUT = frozenset(("claim_count", "claim_cost", "cost", "exposure", "premium", "price"))
#: Session key of the data that were in use before the user asked to audit an own table.
_OWN = KEY("own")
#: Data sets with prices: the policies of the example, and simulated policies, which need no connection.
MOTOR = CatalogueSource(dataset="motor_tariff")
SIMULATED = CatalogueSource(dataset="portfolio")


def show_example() -> None:
    """Show ways to start an audit, and the answers of the example audit."""
    with st.container(horizontal=True, vertical_alignment="center"):
        _offer_own_table("Audit a table of your own")
        is_here = CATALOGUE["motor"].is_local()
        source = MOTOR if is_here else SIMULATED
        st.button(
            "Change the example's questions" if is_here else "Try it on simulated policies",
            key=KEY("try"),
            icon=":material/edit_note:",
            on_click=choose_source,
            args=(source,),
            help=f"Choose columns, criterion and threshold: {source.title}.",
        )
    st.caption(
        "Example: premiums of a GLM without the driver's age, on the French motor policies of a pricing "
        "game (pg15training), audited along age and gender."
    )
    whole = _example()
    show_result(choose_attribute(whole), whole, title=MOTOR.title)


def wants_own_table() -> bool:
    """Return whether the user asked to audit a table, and has not chosen other data since."""
    return bool(st.session_state.get(_OWN, "") == _id_of_data_in_use())


def _offer_own_table(label: str) -> None:
    def ask() -> None:
        st.session_state[_OWN] = _id_of_data_in_use()

    st.button(label, key=KEY("own-table"), icon=":material/upload_file:", on_click=ask)


def _id_of_data_in_use() -> str | None:
    """Return the id of the data in use; None without data."""
    return st.session_state.get(Address.DATASET)


def show_own_table() -> None:
    """Ask for a file, and audit a price in its table; the user must choose only price and attribute."""
    st.page_link(page("data"), label="Choose a built-in table instead", icon=":material/table:")
    table = ask_for_table(None)
    if table is None:
        return
    upload, reading, frame = table
    suggestion, _ = suggestion_of(frame, table=f"{upload.sha256} {reading}")
    begin = Roles(
        target=suggestion.target or "",
        sensitive=suggestion.sensitive,
        features=suggestion.features,
        weight=suggestion.weight,
        prediction=suggestion.prediction,
        group=suggestion.group,
        rate=suggestion.rate,
    )
    show_form(
        UploadSource(sha256=upload.sha256, name=upload.name, roles=begin, reading=reading), frame, begin
    )


@st.cache_resource(show_spinner=False)
def _example() -> AuditResult:
    return example_audit()


def show_form(source: DatasetSource, frame: pd.DataFrame, roles: Roles) -> None:
    """Ask for columns and thresholds, and start the audit."""
    st.markdown(
        f"**{safe(source.title)}** · {counted(len(frame), 'row')} · {counted(frame.shape[1], 'column')}"
    )
    is_own_table = wants_own_table()
    if not is_own_table:
        _offer_own_table("Another table")
    model = _ask_for_model(source, frame, roles)
    price = MODEL_PRICE if model != {} else None
    columns = _ask_for_columns(source.id, frame, roles, price=price, is_own_table=is_own_table)
    options = _ask_for_plan(columns)
    st.caption("The audit fixes criterion and threshold before it computes any result.")
    label, is_missing = "Audit this price", columns is None or model is None
    if is_missing:
        st.info("Choose the price, or the model's file, and the sensitive attribute to continue.")
    if st.button(label, type="primary", icon=":material/fact_check:", disabled=is_missing):
        assert columns is not None
        assert model is not None
        try:
            plan = AuditPlan.of(columns, **options)
            if is_own_table:
                source = replace(source, roles=roles_of_audit(roles, columns, frame))
                choose_source(source)
            choose_audit(start_audit(source, plan, owner=current_owner(), **model))
        except FairdashError as error:
            show_problems(error)
            return
        st.rerun()


def _ask_for_model(source: DatasetSource, frame: pd.DataFrame, roles: Roles) -> dict[str, Any] | None:
    """Return the audit's options for a model: empty if the price is a column, None without the file."""
    # Models are only offered for uploaded tables, whose retention period also applies to the model's file.
    if not isinstance(source, UploadSource) or not st.toggle("Audit a model's file", key=KEY("model")):
        return {}
    file = st.file_uploader(
        "Model of the price: ONNX, LightGBM, XGBoost, CatBoost, PMML of a GLM, or a table of factors",
        type=ENDINGS,
        max_upload_size=MAX_BYTES // 10**6,
        help=f"The audit applies the model to every row. Each call may take at most {MAX_SECONDS} s. "
        "fairdash never loads pickles, because a pickle can run any program. The file is deleted with the "
        "table.",
        key=KEY("model-file", source.id),
    )
    names = [str(name) for name in frame]
    try:
        about = None if file is None else _about_model(file.getvalue())
    except FairdashError as error:
        show_problems(error)
        file = about = None
    columns, output = _ask_for_inputs(source, names, roles, about)
    left, right = st.columns(2)
    options = {
        "check_column": ask(
            left, ModelFile, "check_column", options=[None, *names], key=KEY("check-column", source.id)
        ),
        "model_link": ask(
            right,
            ModelFile,
            "model_link",
            options=list(_LINKS),
            format_func=_LINKS.__getitem__,
            key=KEY("model-link", source.id),
        ),
        "customer": ask(
            st.container(), ModelFile, "customer", max_value=len(frame) - 1, key=KEY("customer", source.id)
        ),
    }
    if file is None:
        return None
    inputs = [each for each in columns if each != options["check_column"]]
    return {"model": file.getvalue(), "model_columns": inputs, "model_output": output, **options}


@st.cache_data(show_spinner="Opening the model", max_entries=20)
def _about_model(content: bytes) -> dict[str, Any]:
    """Describe a model's file, with the errors of ``fairdash audit``."""
    model = ForeignModel(content_of(content))
    model.close()
    return model.about


def _ask_for_inputs(
    source: DatasetSource, names: list[str], roles: Roles, about: dict[str, Any] | None
) -> tuple[list[str], str | None]:
    """Return the input columns of a model, empty if the file names them, and the output with the price."""
    if about is not None:
        st.caption(
            safe(f"{about['kind']}. Objective: {about['objective']}. The model gives {about['output']}.")
        )
        for each in about["unknown"]:
            st.caption(safe(f"Not stated in the file: {each}"))
    outputs, inputs = ([], []) if about is None else (about["outputs"], about["inputs"])
    listed = [each["name"] for each in inputs]
    output = None
    if len(outputs) > 1:
        output = ask(
            st.container(), ModelFile, "model_output", options=outputs, key=KEY("model-output", source.id)
        )
    # A term's name begins with a column's name, so the columns of terms are found by name.
    has_terms = all(each["type"] == "term" for each in inputs)
    if inputs and (has_terms or set(listed) <= set(names)):
        of = "the columns of these terms" if has_terms else "these columns"
        st.caption(safe(f"The model takes {of} by name: {', '.join(listed)}."))
        return [], output
    # Prices, claims, exposure and the sensitive attribute are inputs only if the user selects them.
    left_out = {*roles.sensitive, roles.prediction, roles.target, roles.weight}
    left_out |= {name for name in names if not _NO_INPUT.isdisjoint(meanings_of(name))}
    columns = ask(
        st.container(),
        ModelFile,
        "model_columns",
        options=names,
        default=[name for name in roles.features if name in names and name not in left_out],
        key=KEY("model-columns", source.id),
    )
    return columns, output


def _ask_for_plan(columns: Columns | None) -> dict[str, Any]:
    """Ask for the options of the plan except columns, three in a row, and return the answers."""
    options = {name: each for name, each in options_of(AuditPlan).items() if each.metadata["label"]}
    places = chain((st.container() for _ in range(3)), cycle(st.columns(3)))
    return {
        name: ask(
            place,
            AuditPlan,
            name,
            key=KEY("option", name),
            disabled=bool(needs := each.metadata["needs"]) and not (columns and columns.of(needs)),
        )
        for place, (name, each) in zip(places, options.items(), strict=False)
    }


def _ask_for_columns(
    table: str, frame: pd.DataFrame, roles: Roles, *, price: str | None, is_own_table: bool
) -> Columns | None:
    """Ask for the roles of the columns; return None while price or sensitive attribute is missing.

    If a model computes the price, no column is the price.

    A new table has no selected features yet.
    """
    names = [str(name) for name in frame]
    numbers = [name for name in names if is_numeric_dtype(frame[name])]
    # Only for the sensitive attribute may a column have classes.
    of_classes = columns_of_classes(frame, table=table)
    sensitive_ones = [name for name in names if name in numbers or name in of_classes]
    taken: list[str | None] = []
    chosen_roles: dict[str, Any] = {"price": price}

    def free(among: Iterable[str]) -> list[str]:
        return [name for name in among if name not in taken]

    def one(
        place: DeltaGenerator, role: str, begin: str | None, among: Iterable[str] = numbers, **more: Any
    ) -> str | None:
        names = free(among)
        more = {"index": names.index(begin) + 1 if begin in names else 0, **more}
        more = {"options": [None, *names], "key": KEY("column", table, role, *taken), **more}
        chosen_roles[role] = chosen = ask(place, Columns, role, **more)
        taken.append(chosen)
        return chosen

    def several(place: DeltaGenerator, role: str, among: list[str], *, key: str = "", **more: Any) -> Any:
        key = key or KEY("columns", table, role, *taken)
        chosen_roles[role] = ask(place, Columns, role, options=among, key=key, **more)
        return chosen_roles[role]

    column, places = None, st.columns(2 if price is None else 3)
    if price is None:
        left, right = places
        column = one(left, "price", _price_in(numbers, roles))
        places = [right, *st.columns(2)]
    sensitive = one(places[0], "sensitive", next(iter(roles.sensitive), None), sensitive_ones)
    outcome = one(places[1], "outcome", roles.target)
    exposure = one(places[2], "exposure", roles.weight)
    suggestion, _ = suggestion_of(frame, table=table, target=outcome, prediction=column)
    parts, use_parts = suggestion.parts_of_price, KEY("parts", table, column)
    left_out = () if st.session_state.get(use_parts) else parts
    with st.expander("Legitimate factors, policy, expected cost, a second price"):
        left, right = st.columns(2)
        amounts = [column, outcome, one(left, "expected_cost", None), one(right, "candidate", None)]
        taken.extend(several(right, "also", free(sensitive_ones)))
        groups = one(left, "groups", roles.group or suggestion.group, names)
        controls = several(right, "controls", free(names))
        classes = [name for name in numbers if name not in taken or name == sensitive]
        probabilities = several(left, "probabilities", classes)
        others = [name for name in names if name not in probabilities]
        known = one(right, "known_class", None, others, disabled=not probabilities)
        chosen_roles["known_class"] = known if probabilities else None
        begin = (*suggestion.features, *parts) if is_own_table else roles.features
        features = several(
            st.container(),
            "features",
            free(others),
            default=[name for name in free(others) if name in begin and name not in left_out],
            placeholder="Every column without another role",
            key=KEY("features", table, *left_out, *taken),
        )
        chosen_roles["features"] = features or None
        levels = [name for name in dict.fromkeys((*controls, *features)) if name not in numbers]
        one(st.container(), "coverage", None, levels, key=KEY("coverage", table, *levels, *taken))
    if parts:
        _show_parts_of_price(suggestion.left_out[parts[0]], len(parts), used=not left_out, key=use_parts)
    if suggestion.policies is not None and groups in (None, suggestion.group):
        words = f"**{safe(suggestion.group)}** names {suggestion.policies.in_words()}."
        if groups is None:
            st.warning(
                f"{words} Choose this column as the policy, because the rows of one policy are not "
                "independent."
            )
        else:
            st.caption(f"{words} The audit counts the rows of a policy as one unit.")
    chosen_roles["totals"] = _ask_for_totals(frame, amounts, exposure, table=table)
    return None if chosen_roles["price"] is None or sensitive is None else Columns(**chosen_roles)


def _show_parts_of_price(why: str, count: int, *, used: bool, key: str) -> None:
    """State that columns are parts of the price, with a button that includes or excludes these columns."""
    columns = counted(count, "column")
    sentence, button = st.columns([3, 1], vertical_alignment="center")
    say = sentence.warning if used else sentence.caption
    done = "used, although parts of the price" if used else "left out of the factors"
    say(f"**{columns}** {done}: {safe(why)}.")
    button.button(
        f"Leave out {columns}" if used else f"Use {columns} anyway",
        key=KEY("use", key),
        on_click=st.session_state.__setitem__,
        args=(key, not used),
        width="stretch",
    )


def _price_in(numbers: list[str], roles: Roles) -> str:
    """Return the column that is most likely the price, according to its role or else its header.

    If no header means a price, the target may be a price, as in the household scenario.
    """
    if roles.prediction is not None:
        return roles.prediction
    not_it = {roles.weight, *roles.sensitive}

    def clearness(name: str) -> int:
        meanings = meanings_of(name)
        return 0 if name in not_it else max(meanings.get("premium", 0), meanings.get("price", 0))

    best = max(numbers, key=clearness, default=roles.target)
    return best if clearness(best) else roles.target


def _ask_for_totals(
    frame: pd.DataFrame, amounts: list[str | None], exposure: str | None, *, table: str
) -> list[str]:
    """Ask which amounts are totals over the exposure, which the audit divides by the exposure."""
    named = [name for name in amounts if name is not None]
    if exposure is None or not named:
        return []
    return st.multiselect(
        f"Columns with totals over “{safe(exposure)}”. The audit divides these columns by the exposure and "
        "treats all others as amounts per unit",
        named,
        default=[name for name in named if looks_like_total(frame[name])],
        placeholder="None",
        key=KEY("totals", table, exposure, *named),
    )
