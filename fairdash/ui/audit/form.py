"""Audit form: an example, then columns, primary criterion and largest acceptable gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype
from streamlit.delta_generator import DeltaGenerator

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.example import example_audit
from fairdash.auditing.models.files.foreign import ForeignModel
from fairdash.auditing.models.files.model_file import ENDINGS, LINKS, MAX_BYTES, MAX_SECONDS, content_of
from fairdash.auditing.models.model_answers import MODEL_PRICE
from fairdash.auditing.plan import CRITERIA, AuditPlan, Columns
from fairdash.data.catalogue import CATALOGUE
from fairdash.data.header_words import meanings_of
from fairdash.data.rate import looks_like_total
from fairdash.data.roles import Roles
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.errors import FairdashError
from fairdash.runs.launch import start_audit
from fairdash.ui.audit.answers import choose_attribute, roles_of_audit, show_result
from fairdash.ui.cached import columns_of_classes, suggestion_of
from fairdash.ui.data.upload import ask_for_table
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import page
from fairdash.ui.state import choose_audit, choose_source
from fairdash.ui.text import safe
from fairdash.utils.text import counted

KEY = Keys(__file__)

NONE = "None"
#: Roles of columns that a model of a price does not need.
_NO_INPUT = frozenset(("claim_count", "claim_cost", "cost", "exposure", "premium", "price"))
#: Session key of the data that were in use before the user chose a table of their own.
_OWN = KEY("own")
#: The policies of the example, and simulated ones that are there without a connection.
MOTOR = CatalogueSource(dataset="motor_tariff")
SIMULATED = CatalogueSource(dataset="portfolio")


def show_example() -> None:
    """Show ways to start your own audit, and the example's answers."""
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
    """Return whether the user asked for a table of their own, and has chosen no other data since."""
    return bool(st.session_state.get(_OWN, "") == _in_use())


def _offer_own_table(label: str) -> None:
    def ask() -> None:
        st.session_state[_OWN] = _in_use()

    st.button(label, key=KEY("own-table"), icon=":material/upload_file:", on_click=ask)


def _in_use() -> str | None:
    """Name of the data set in use; None for none."""
    return st.session_state.get(Address.DATASET)


def show_own_table() -> None:
    """Ask for a file, and audit a price of its table: price and attribute are all that must be chosen."""
    st.page_link(page("data"), label="Choose a built-in table instead", icon=":material/table:")
    found = ask_for_table(None)
    if found is None:
        return
    upload, reading, frame = found
    given, _ = suggestion_of(frame, table=f"{upload.sha256} {reading}")
    begin = Roles(
        target=given.target or "",
        sensitive=given.sensitive,
        features=given.features,
        weight=given.weight,
        prediction=given.prediction,
        group=given.group,
        rate=given.rate,
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
    is_new = wants_own_table()
    if not is_new:
        _offer_own_table("Another table")
    model = _ask_for_model(source, frame, roles)
    price = MODEL_PRICE if model != {} else None
    columns = _ask_for_columns(source.id, frame, roles, price=price, is_new=is_new)
    criterion = str(
        st.radio(
            "The primary criterion is tested at the 5 % level, the others with a correction for multiple "
            "testing.",
            list(CRITERIA),
            format_func=lambda each: CRITERIA[each].title,
            captions=[CRITERIA[each].meaning for each in CRITERIA],
            key=KEY("criterion"),
        )
    )
    percent = st.number_input(
        "Largest acceptable gap, in % of the mean price",
        0.1,
        100.0,
        5.0,
        step=0.5,
        key=KEY("gap"),
        help="The gap is the highest minus the lowest average price. Choose it before you see a result.",
    )
    reliability = st.number_input(
        "Reliability of the sensitive attribute, if measured or imputed with error (optional)",
        0.05,
        1.0,
        None,
        step=0.05,
        key=KEY("reliability"),
        help="The share of its variance that is not error. The audit then also corrects for the error.",
    )
    cap, currency, period = _ask_for_money(has_outcome=columns is not None and columns.outcome is not None)
    st.caption("The audit fixes criterion and threshold before it computes any result.")
    label, is_missing = "Audit this price", columns is None or model is None
    if is_missing:
        st.info("Choose the price, or the model's file, and the sensitive attribute to continue.")
    if st.button(label, type="primary", icon=":material/fact_check:", disabled=is_missing):
        assert columns is not None
        assert model is not None
        try:
            plan = AuditPlan.of(
                columns,
                criterion=criterion,
                max_gap=percent / 100,
                reliability=reliability,
                cap=cap,
                currency=currency,
                period=period,
            )
            if is_new:
                source = replace(source, roles=roles_of_audit(roles, columns, frame))
                choose_source(source)
            choose_audit(start_audit(source, plan, owner=current_owner(), **model))
        except FairdashError as error:
            show_problems(error)
            return
        st.rerun()


def _ask_for_model(source: DatasetSource, frame: pd.DataFrame, roles: Roles) -> dict[str, Any] | None:
    """Return a model and its options, as an audit takes them: empty for a column, None without its file."""
    # The model's file has the table's retention period, which the user has chosen; a built-in table has none.
    if not isinstance(source, UploadSource) or not st.toggle("Audit a model's file", key=KEY("model")):
        return {}
    file = st.file_uploader(
        "Model of the price: ONNX, LightGBM, XGBoost, CatBoost, PMML of a GLM, or a table of factors",
        type=ENDINGS,
        max_upload_size=MAX_BYTES // 10**6,
        help=f"The audit prices every row with the model, in at most {MAX_SECONDS} s each time. fairdash "
        "never loads pickles, because they can run any program. The file is deleted with the table.",
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
    check_column = left.selectbox(
        "Compare with the prices you were given (optional)",
        names,
        index=None,
        help="A column with the price as the model's owner has it. The audit says where both agree.",
        key=KEY("check-column", source.id),
    )
    link = right.selectbox(
        "Output of the model",
        LINKS,
        format_func={"auto": "as the file says", "identity": "the price", "log": "its logarithm"}.__getitem__,
        key=KEY("model-link", source.id),
    )
    customer = st.number_input(
        "Row to explain (optional)",
        0,
        len(frame) - 1,
        None,
        help="Rows are numbered from 0. The audit compares its price with those of similar rows.",
        key=KEY("customer", source.id),
    )
    if file is None:
        return None
    return {
        "model": file.getvalue(), "model_columns": [each for each in columns if each != check_column],
        "customer": customer, "model_link": link, "check_column": check_column, "model_output": output,
    }  # fmt: skip


@st.cache_data(show_spinner="Opening the model", max_entries=20)
def _about_model(content: bytes) -> dict[str, Any]:
    """Describe a model's file; errors of the gate that the command has, too."""
    model = ForeignModel(content_of(content))
    model.close()
    return model.about


def _ask_for_inputs(
    source: DatasetSource, names: list[str], roles: Roles, about: dict[str, Any] | None
) -> tuple[list[str], str | None]:
    """Return the input columns of a model, none where the file names them, and the output with the price."""
    if about is not None:
        st.caption(safe(f"{about['kind']}. Objective: {about['objective']}. It gives {about['output']}."))
        for each in about["unknown"]:
            st.caption(safe(f"Not told by the file: {each}"))
    outputs, inputs = ([], []) if about is None else (about["outputs"], about["inputs"])
    listed = [each["name"] for each in inputs]
    output = None
    if len(outputs) > 1:
        output = st.selectbox("Output that holds the price", outputs, key=KEY("model-output", source.id))
    # The name of a term begins with the name of its column.
    has_terms = all(each["type"] == "term" for each in inputs)
    if inputs and (has_terms or set(listed) <= set(names)):
        of = "the columns of these terms" if has_terms else "these columns"
        st.caption(safe(f"The model takes {of} by name: {', '.join(listed)}."))
        return [], output
    # Prices, claims and exposure are not inputs, and neither is the attribute, unless the user says so.
    left_out = {*roles.sensitive, roles.prediction, roles.target, roles.weight}
    left_out |= {name for name in names if not _NO_INPUT.isdisjoint(meanings_of(name))}
    columns = st.multiselect(
        "Input columns of the model, in its order",
        names,
        default=[name for name in roles.features if name in names and name not in left_out],
        help="A model that names its inputs takes them by name.",
        key=KEY("model-columns", source.id),
    )
    return columns, output


def _ask_for_money(*, has_outcome: bool) -> tuple[float | None, str, str]:
    """Return the cap of large losses, the currency, and what a unit of exposure is."""
    left, middle, right = st.columns(3)
    currency = left.text_input("Currency (optional)", max_chars=8, placeholder="€", key=KEY("currency"))
    period = middle.text_input(
        "Unit of exposure (optional)", max_chars=20, placeholder="year", key=KEY("period")
    )
    cap = right.number_input(
        "Cap on large losses (optional)",
        0.0,
        value=None,
        disabled=not has_outcome,
        key=KEY("cap"),
        help="The audit reduces larger outcomes to the cap, and says how much it removed in total.",
    )
    return cap or None, currency.strip(), period.strip()


def _ask_for_columns(
    table: str, frame: pd.DataFrame, roles: Roles, *, price: str | None, is_new: bool
) -> Columns | None:
    """Roles of the columns; None while price or sensitive attribute is missing. A model's price is given.

    In a new table no features are chosen yet.
    """
    names = [str(name) for name in frame]
    numbers = [name for name in names if is_numeric_dtype(frame[name])]
    # Only the sensitive attribute may have classes.
    of_classes = columns_of_classes(frame, table=table)
    sensitive_ones = [name for name in names if name in numbers or name in of_classes]
    taken: list[str | None] = []

    def ask(
        place: DeltaGenerator, title: str, begin: str | None, about: str, among: list[str] = numbers
    ) -> str | None:
        free = [name for name in among if name not in taken]
        chosen = place.selectbox(
            title,
            [NONE, *free],
            index=free.index(begin) + 1 if begin in free else 0,
            help=about,
            key=KEY("column", table, title, *taken),
        )
        name = None if chosen == NONE else chosen
        taken.append(name)
        return name

    column, places = None, st.columns(2 if price is None else 3)
    if price is None:
        left, right = places
        price = column = ask(
            left,
            "Price, or prediction",
            _price_in(numbers, roles),
            "The price charged, or the prediction, for each row.",
        )
        places = [right, *st.columns(2)]
    of_sensitive, of_outcome, of_exposure = places
    sensitive = ask(
        of_sensitive,
        "Sensitive attribute",
        next(iter(roles.sensitive), None),
        "The attribute that the price must not follow, such as age, sex or region.",
        sensitive_ones,
    )
    outcome = ask(
        of_outcome,
        "Outcome",
        roles.target,
        "Claims or their cost. With it, the audit tests whether cost justifies the price.",
    )
    about = "The weight of a row, such as the years a policy ran."
    exposure = ask(of_exposure, "Exposure", roles.weight, about)
    given, _ = suggestion_of(frame, table=table, target=outcome, prediction=column)
    parts, use_parts = given.parts_of_price, KEY("parts", table, column)
    left_out = () if st.session_state.get(use_parts) else parts
    with st.expander("Legitimate factors, policy, expected cost, a second price"):
        left, right = st.columns(2)
        cost = ask(
            left,
            "Expected cost",
            None,
            "Your own estimate of the expected outcome, used instead of averages.",
        )
        second = ask(right, "A second price", None, "A candidate to compare with the price.")
        also = right.multiselect(
            "Further sensitive attributes",
            [name for name in sensitive_ones if name not in taken],
            placeholder="None",
            help="The audit treats each like the first, and corrects verdicts for their number.",
            key=KEY("also", table, *taken),
        )
        taken.extend(also)
        others = [name for name in names if name not in taken]
        begin_group = roles.group or given.group
        groups = left.selectbox(
            "Policy, or another group of rows",
            [NONE, *others],
            index=others.index(begin_group) + 1 if begin_group in others else 0,
            help="Rows of one policy are not independent.",
            key=KEY("groups", table, *taken),
        )
        controls = right.multiselect(
            "Legitimate factors",
            [name for name in others if name != groups],
            placeholder="None",
            help="Columns that may justify differences. The audit also compares rows that are equal here.",
            key=KEY("controls", table, *taken),
        )
        probabilities = left.multiselect(
            "Probabilities of classes",
            [name for name in numbers if name not in taken or name == sensitive],
            placeholder="None",
            help="Probabilities of classes such as race, computed elsewhere. They add up to 1 in each row.",
            key=KEY("probabilities", table, *taken),
        )
        known = right.selectbox(
            "Class, where it is known",
            [NONE, *(name for name in others if name not in probabilities)],
            help="If you know the class of some rows, the audit tests the probabilities on them.",
            key=KEY("known-class", table, *taken),
            disabled=not probabilities,
        )
        others = [name for name in others if name not in (*probabilities, known)]
        features = st.multiselect(
            "Rating factors of the price",
            [name for name in others if name != groups],
            default=[
                name
                for name in others
                if name in ((*given.features, *parts) if is_new else roles.features)
                and name not in (groups, *left_out)
            ],
            placeholder="Every column without another role",
            help="Models of price and outcome learn from these columns. Leave out columns known only later.",
            key=KEY("features", table, groups, *left_out, *taken),
        )
        free = [name for name in (*controls, *features) if name not in numbers]
        coverage = st.selectbox(
            "Coverage",
            [NONE, *dict.fromkeys(free)],
            help="The audit compares actual and expected outcome for each level of this column.",
            key=KEY("coverage", table, groups, *taken, *free),
        )
    if parts:
        _say_parts(given.left_out[parts[0]], len(parts), used=not left_out, key=use_parts)
    if given.policies is not None and groups in (NONE, given.group):
        words = f"**{safe(given.group)}** names {given.policies.in_words()}."
        if groups == NONE:
            st.warning(f"{words} Choose it as the policy: the rows of one policy are not independent.")
        else:
            st.caption(f"{words} The audit counts the rows of a policy as one unit.")
    totals = _ask_for_totals(frame, [column, outcome, cost, second], exposure, table=table)
    if price is None or sensitive is None:
        return None
    return Columns(
        price=price,
        sensitive=sensitive,
        exposure=exposure,
        outcome=outcome,
        expected_cost=cost,
        candidate=second,
        groups=None if groups == NONE else groups,
        controls=tuple(controls),
        totals=tuple(totals),
        also=tuple(also),
        features=tuple(features) or None,
        coverage=None if coverage == NONE else coverage,
        probabilities=tuple(probabilities),
        known_class=known if probabilities and known != NONE else None,
    )


def _say_parts(why: str, count: int, *, used: bool, key: str) -> None:
    """Say that columns are parts of the price, with a button that uses them or leaves them out."""
    columns = counted(count, "column")
    sentence, button = st.columns([3, 1], vertical_alignment="center")
    say = sentence.warning if used else sentence.caption
    done = "used, though parts of the price" if used else "left out of the factors"
    say(f"**{columns}** {done}: {safe(why)}.")
    button.button(
        f"Leave out {columns}" if used else f"Use {columns} anyway",
        key=KEY("use", key),
        on_click=st.session_state.__setitem__,
        args=(key, not used),
        width="stretch",
    )


def _price_in(numbers: list[str], roles: Roles) -> str:
    """Return the column that is most likely the price: by its role, or else by what its header says.

    Where none does, what is predicted may be one, as in the household scenario.
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
    """Choose the amounts that are totals over the exposure, to be divided by it."""
    there = [name for name in amounts if name is not None]
    if exposure is None or not there:
        return []
    return st.multiselect(
        f"Columns with totals over “{safe(exposure)}”. The audit divides them by it and treats all others "
        "as amounts per unit",
        there,
        default=[name for name in there if looks_like_total(frame[name])],
        placeholder="None",
        key=KEY("totals", table, exposure, *there),
    )
