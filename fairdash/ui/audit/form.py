"""Audit form with an example, the columns, the primary criterion and the largest acceptable gap."""

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
#: Meanings of columns that are not inputs of a pricing model by default.
_NO_INPUT = frozenset(("claim_count", "claim_cost", "cost", "exposure", "premium", "price"))
#: Session key for the id of the data that were in use when the user asked to audit a new table.
_DATA_BEFORE_OWN_TABLE = KEY("own")
#: Data sets with prices, which are the policies of the example and simulated policies (no download).
MOTOR = CatalogueSource(dataset="motor_tariff")
SIMULATED = CatalogueSource(dataset="portfolio")


def show_example() -> None:
    """Show ways to start an audit, and the answers of the example audit."""
    with st.container(horizontal=True, vertical_alignment="center"):
        _offer_own_table("Audit a table of your own")
        is_downloaded = CATALOGUE["motor"].is_local()
        source = MOTOR if is_downloaded else SIMULATED
        st.button(
            "Change the example's questions" if is_downloaded else "Try it on simulated policies",
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
    full_result = _example()
    show_result(choose_attribute(full_result), full_result, title=MOTOR.title)


def wants_own_table() -> bool:
    """Return whether the user asked to audit a table, and has not chosen other data since then."""
    return bool(st.session_state.get(_DATA_BEFORE_OWN_TABLE, "") == _id_of_data_in_use())


def _offer_own_table(label: str) -> None:
    def ask() -> None:
        st.session_state[_DATA_BEFORE_OWN_TABLE] = _id_of_data_in_use()

    st.button(label, key=KEY("own-table"), icon=":material/upload_file:", on_click=ask)


def _id_of_data_in_use() -> str | None:
    """Return the id of the data in use, or None if the address names no data."""
    return st.session_state.get(Address.DATASET)


def show_own_table() -> None:
    """Ask for a file, and audit a price in it. The user only has to choose the price and the attribute."""
    st.page_link(page("data"), label="Choose a built-in table instead", icon=":material/table:")
    table = ask_for_table(None)
    if table is None:
        return
    upload, reading, frame = table
    suggestion, _ = suggestion_of(frame, table=f"{upload.sha256} {reading}")
    initial = Roles(
        target=suggestion.target or "",
        sensitive=suggestion.sensitive,
        features=suggestion.features,
        weight=suggestion.weight,
        prediction=suggestion.prediction,
        group=suggestion.group,
        rate=suggestion.rate,
    )
    show_form(
        UploadSource(sha256=upload.sha256, name=upload.name, roles=initial, reading=reading), frame, initial
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
    """Return the audit's options for a model, {} if the price is a column, or None if the file is missing."""
    # A model is allowed only with an uploaded table, because its file is deleted at the end of the table's
    # retention period.
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
        description = None if file is None else _about_model(file.getvalue())
    except FairdashError as error:
        show_problems(error)
        file = description = None
    columns, output = _ask_for_inputs(source, names, roles, description)
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
    inputs = [column for column in columns if column != options["check_column"]]
    return {"model": file.getvalue(), "model_columns": inputs, "model_output": output, **options}


@st.cache_data(show_spinner="Opening the model", max_entries=20)
def _about_model(content: bytes) -> dict[str, Any]:
    """Describe a model's file. An unsuitable file raises the same errors as in ``fairdash audit``."""
    model = ForeignModel(content_of(content))
    model.close()
    return model.about


def _ask_for_inputs(
    source: DatasetSource, names: list[str], roles: Roles, facts: dict[str, Any] | None
) -> tuple[list[str], str | None]:
    """Return a model's input columns (empty if its file names them), and the output that is the price."""
    if facts is not None:
        st.caption(
            safe(f"{facts['kind']}. Objective: {facts['objective']}. The model gives {facts['output']}.")
        )
        for column in facts["unknown"]:
            st.caption(safe(f"Not stated in the file: {column}"))
    outputs, inputs = ([], []) if facts is None else (facts["outputs"], facts["inputs"])
    input_names = [field["name"] for field in inputs]
    output = None
    if len(outputs) > 1:
        output = ask(
            st.container(), ModelFile, "model_output", options=outputs, key=KEY("model-output", source.id)
        )
    # The name of a model's term begins with a column's name, so the input columns are found by name.
    has_terms = all(field["type"] == "term" for field in inputs)
    if inputs and (has_terms or set(input_names) <= set(names)):
        input_phrase = "the columns of these terms" if has_terms else "these columns"
        st.caption(safe(f"The model finds {input_phrase} by name: {', '.join(input_names)}."))
        return [], output
    # Prices, claims, exposure and the sensitive attribute are inputs only if the user selects them.
    excluded_columns = {*roles.sensitive, roles.prediction, roles.target, roles.weight}
    excluded_columns |= {name for name in names if not _NO_INPUT.isdisjoint(meanings_of(name))}
    columns = ask(
        st.container(),
        ModelFile,
        "model_columns",
        options=names,
        default=[name for name in roles.features if name in names and name not in excluded_columns],
        key=KEY("model-columns", source.id),
    )
    return columns, output


def _ask_for_plan(columns: Columns | None) -> dict[str, Any]:
    """Ask for all options of the plan except the columns, three per line, and return the values."""
    options = {name: each for name, each in options_of(AuditPlan).items() if each.metadata["label"]}
    containers = chain((st.container() for _ in range(3)), cycle(st.columns(3)))
    return {
        name: ask(
            container,
            AuditPlan,
            name,
            key=KEY("option", name),
            disabled=bool(needs := each.metadata["needs"]) and not (columns and columns.of(needs)),
        )
        for container, (name, each) in zip(containers, options.items(), strict=False)
    }


def _ask_for_columns(
    table: str, frame: pd.DataFrame, roles: Roles, *, price: str | None, is_own_table: bool
) -> Columns | None:
    """Ask for the roles of the columns. Return None while price or sensitive attribute is missing.

    If a model computes the price, `price` is its name and the function asks for no price column.

    If `is_own_table` is true, the suggested features are selected initially instead of those in `roles`.
    """
    names = [str(name) for name in frame]
    numbers = [name for name in names if is_numeric_dtype(frame[name])]
    # A column of classes is allowed only as a sensitive attribute.
    of_classes = columns_of_classes(frame, table=table)
    sensitive_ones = [name for name in names if name in numbers or name in of_classes]
    used_columns: list[str | None] = []
    chosen_roles: dict[str, Any] = {"price": price}

    def not_taken(columns: Iterable[str]) -> list[str]:
        return [name for name in columns if name not in used_columns]

    def ask_for_one(
        container: DeltaGenerator,
        role: str,
        initial: str | None,
        columns: Iterable[str] = numbers,
        **options: Any,
    ) -> str | None:
        names = not_taken(columns)
        options = {"index": names.index(initial) + 1 if initial in names else 0, **options}
        options = {"options": [None, *names], "key": KEY("column", table, role, *used_columns), **options}
        chosen_roles[role] = chosen = ask(container, Columns, role, **options)
        used_columns.append(chosen)
        return chosen

    def ask_for_several(
        container: DeltaGenerator, role: str, columns: list[str], *, key: str = "", **options: Any
    ) -> Any:
        key = key or KEY("columns", table, role, *used_columns)
        chosen_roles[role] = ask(container, Columns, role, options=columns, key=key, **options)
        return chosen_roles[role]

    column, containers = None, st.columns(2 if price is None else 3)
    if price is None:
        left, right = containers
        column = ask_for_one(left, "price", _price_in(numbers, roles))
        containers = [right, *st.columns(2)]
    sensitive = ask_for_one(containers[0], "sensitive", next(iter(roles.sensitive), None), sensitive_ones)
    outcome = ask_for_one(containers[1], "outcome", roles.target)
    exposure = ask_for_one(containers[2], "exposure", roles.weight)
    suggestion, _ = suggestion_of(frame, table=table, target=outcome, prediction=column)
    parts, use_parts = suggestion.parts_of_price, KEY("parts", table, column)
    excluded_columns = () if st.session_state.get(use_parts) else parts
    with st.expander("Legitimate factors, policy, expected cost, a second price"):
        left, right = st.columns(2)
        amounts = [
            column,
            outcome,
            ask_for_one(left, "expected_cost", None),
            ask_for_one(right, "candidate", None),
        ]
        used_columns.extend(ask_for_several(right, "also", not_taken(sensitive_ones)))
        groups = ask_for_one(left, "groups", roles.group or suggestion.group, names)
        controls = ask_for_several(right, "controls", not_taken(names))
        classes = [name for name in numbers if name not in used_columns or name == sensitive]
        probabilities = ask_for_several(left, "probabilities", classes)
        others = [name for name in names if name not in probabilities]
        known_class = ask_for_one(right, "known_class", None, others, disabled=not probabilities)
        chosen_roles["known_class"] = known_class if probabilities else None
        initial_columns = (*suggestion.features, *parts) if is_own_table else roles.features
        features = ask_for_several(
            st.container(),
            "features",
            not_taken(others),
            default=[
                name for name in not_taken(others) if name in initial_columns and name not in excluded_columns
            ],
            placeholder="Every column without another role",
            key=KEY("features", table, *excluded_columns, *used_columns),
        )
        chosen_roles["features"] = features or None
        levels = [name for name in dict.fromkeys((*controls, *features)) if name not in numbers]
        ask_for_one(
            st.container(), "coverage", None, levels, key=KEY("coverage", table, *levels, *used_columns)
        )
    if parts:
        _show_parts_of_price(
            suggestion.left_out[parts[0]], len(parts), are_used=not excluded_columns, key=use_parts
        )
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


def _show_parts_of_price(reason: str, count: int, *, are_used: bool, key: str) -> None:
    """State why columns are parts of the price. Show a button to use them as factors or to leave them out."""
    columns = counted(count, "column")
    sentence, button = st.columns([3, 1], vertical_alignment="center")
    show_text = sentence.warning if are_used else sentence.caption
    use = "used as factors, although they are parts of the price" if are_used else "left out of the factors"
    show_text(f"**{columns}** {use}: {safe(reason)}.")
    button.button(
        f"Leave out {columns}" if are_used else f"Use {columns} anyway",
        key=KEY("use", key),
        on_click=st.session_state.__setitem__,
        args=(key, not are_used),
        width="stretch",
    )


def _price_in(numbers: list[str], roles: Roles) -> str:
    """Return the column that is most likely the price, judged by its role or else by its header.

    If no header names a price, return the target, which is the price in the household scenario.
    """
    if roles.prediction is not None:
        return roles.prediction
    excluded_columns = {roles.weight, *roles.sensitive}

    def clearness(name: str) -> int:
        meanings = meanings_of(name)
        return 0 if name in excluded_columns else max(meanings.get("premium", 0), meanings.get("price", 0))

    best = max(numbers, key=clearness, default=roles.target)
    return best if clearness(best) else roles.target


def _ask_for_totals(
    frame: pd.DataFrame, amounts: list[str | None], exposure: str | None, *, table: str
) -> list[str]:
    """Ask which columns are totals over the exposure. The audit divides them by the exposure."""
    amount_columns = [name for name in amounts if name is not None]
    if exposure is None or not amount_columns:
        return []
    return st.multiselect(
        f"Columns with totals over “{safe(exposure)}”. The audit divides these columns by the exposure and "
        "treats all others as amounts per unit",
        amount_columns,
        default=[name for name in amount_columns if looks_like_total(frame[name])],
        placeholder="None",
        key=KEY("totals", table, exposure, *amount_columns),
    )
