"""Audit results, with the verdict and a figure at the top, and the answer to each question below."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from fairdash.auditing.evidence import AuditResult
from fairdash.auditing.filing.view import answers_of, changes_of, first_chart, notes_of, verdict_tables
from fairdash.auditing.models.averages import SHARES as REPAIR_SHARES
from fairdash.auditing.models.averages import reach_in_words
from fairdash.auditing.plan import CRITERIA, Columns
from fairdash.auditing.result import IN_SHORT
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import Fix, RunError
from fairdash.runs.audits import AuditJob
from fairdash.runs.launch import start_repair
from fairdash.runs.listing import finished_audits, list_runs
from fairdash.runs.repairs import RepairJob, find_repair
from fairdash.runs.state import DONE
from fairdash.runs.store import RESULT, Run
from fairdash.tables.exposure import AS_THEY_ARE
from fairdash.tables.fixes import with_fix
from fairdash.tables.roles import Roles
from fairdash.training.baselines import PRICE
from fairdash.training.methods import ModelKey
from fairdash.ui.access import current_owner
from fairdash.ui.audit.filing import show_filing
from fairdash.ui.blocks import show_blocks, show_table
from fairdash.ui.cached import fronts_of, result_of, roles_of
from fairdash.ui.frame import PICTURES
from fairdash.ui.jobs import follow_job, offer_to_resume, show_or_start, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to
from fairdash.ui.runs import title_of
from fairdash.ui.state import choose_audit, choose_run, choose_source
from fairdash.ui.text import safe
from fairdash.ui.widgets import download_file
from fairdash.utils.text import unbroken
from fairdash.views.blocks import Block, Chart, Table, Text
from fairdash.views.reports.fronts import Front, nearest_points

KEY = Keys(__file__)

#: Maximum number of audits in the list.
_MAX_LISTED = 20
_ICONS = {"below": ":material/check_circle:", "above": ":material/error:", "undecided": ":material/help:"}


def show_audit(audit: AuditJob) -> None:
    """Show the progress of the selected audit or, at the end, its result."""
    status = audit.status
    if status.state == DONE:
        with st.skeleton(height=PICTURES):
            full_result = audit.read_result()
        full_result, result = _with_changes_since(audit, full_result, choose_attribute(full_result))
        show_result(result, full_result, title=audit.spec.source.title, audit=audit)
        # The repair needs a column, and a combination of attributes is not a column.
        if result.plan.columns.sensitive in (
            full_result.plan.columns.sensitive,
            *full_result.plan.columns.also,
        ):
            _show_repair(audit, result)
    else:
        plan = audit.spec.plan
        st.markdown(
            f"**{safe(plan.columns.price)}** against **{safe(plan.columns.sensitive)}** · a gap of at most "
            f"{plan.gap_in_words} of the mean price · primary criterion: "
            f"{CRITERIA[plan.criterion].title.lower()} · {safe(audit.spec.source.title)}"
        )
    st.button("Another audit", key=KEY("close"), icon=":material/add:", on_click=choose_audit, args=(None,))
    if status.state == DONE:
        return
    if not status.is_over:
        st.caption(
            "The work continues if you close the page. To return to this work, use the address of this page."
        )
        follow_job(audit)
        return
    show_status(audit, status)
    offer_to_resume(audit)


def show_result(
    result: AuditResult, full_result: AuditResult, *, title: str, audit: AuditJob | None = None
) -> None:
    """Show the result for one sensitive attribute, and downloads of the results for all attributes.

    Parameters
    ----------
    title
        Name of the audited table.
    audit
        Job of the audit, or None for the example.
    """
    _show_first_screen(result, full_result, title)
    st.subheader("All answers", anchor=False)
    for question, title, blocks in answers_of(result):
        with st.expander(safe(title)):
            _show_answer(blocks, result)
            # A Pareto front can be compared only with a price in a column of the table, and not with a
            # model's price.
            if audit is not None and audit.spec.model is None and question == 8:
                _show_alternatives(audit, result.plan.columns)
    if result.since is not None:
        with st.expander("What has changed since the last audit?", expanded=True):
            _show_answer(changes_of(result), result)
    show_filing(full_result, audit)


def _show_repair(audit: AuditJob, result: AuditResult) -> None:
    """Offer to repair the price for the selected attribute. Show figures and the download of a zip file."""
    sensitive = result.plan.columns.sensitive

    def show_job(job: RepairJob) -> None:
        note = (
            "The price of each row is repaired by a model that was fitted on other rows. If the attribute is "
            "unknown, the price is the mean repaired price of customers with the same values in the other "
            "columns."
        )
        figures = job.figures()
        st.markdown(reach_in_words(figures))
        show_table(Table("The repaired price by strength", figures, note, shares=REPAIR_SHARES), KEY)
        download_file(
            job.bundle,
            label="Repaired prices and model card (zip)",
            name="repaired-price.zip",
            mime="application/zip",
            key=KEY("zip-repaired"),
        )

    st.subheader("Repair this price", anchor=False)
    st.caption(
        "Each customer keeps their rank among customers with the same value of the attribute. The mean price "
        "does not change."
    )
    show_or_start(
        find_repair(audit, sensitive, owner=current_owner()),
        show=show_job,
        start=lambda: start_repair(audit, sensitive),
        label="Repair the price at four strengths",
        key=KEY("repair"),
        icon=":material/healing:",
    )


def _show_first_screen(result: AuditResult, full_result: AuditResult, title: str) -> None:
    primary, columns = CRITERIA[result.plan.criterion], result.plan.columns
    words, picture = st.columns([2, 3], gap="large")
    with words:
        if result.units_remark:
            st.warning(safe(result.units_remark))
        headline = result.headline
        if full_result.others:
            headline = f"Along “{columns.sensitive}”: {IN_SHORT[result.verdict]}"
        _show_verdict(result, headline)
        rows = f"{result.n:,} rows" + ("" if columns.groups is None else f" of {result.n_units:,} policies")
        st.caption(
            f"{safe(columns.price)} against {safe(columns.sensitive)} · {safe(title)} · {rows}. "
            f"Criterion and threshold were fixed before any result: {primary.title.lower()}, and a gap of "
            f"at most {result.plan.gap_in_words} of the mean price."
        )
        download_file(
            full_result.to_zip,
            label="Evidence (zip)",
            name="audit.zip",
            mime="application/zip",
            key=KEY("zip"),
        )
        show_blocks((Text(note, "small") for note in notes_of(full_result)), KEY)
    with picture:
        show_blocks([first_chart(result)], KEY)
    with st.expander("All four criteria"):
        show_blocks(verdict_tables(result), KEY)
        st.caption("The audit reports measurements and does not certify compliance with any rule.")


def _show_answer(blocks: list[Block], result: AuditResult) -> None:
    # This figure is already shown at the top of the page.
    first = CRITERIA[result.plan.criterion].picture
    show_blocks((block for block in blocks if not (isinstance(block, Chart) and block.name == first)), KEY)


def choose_attribute(result: AuditResult) -> AuditResult:
    """Show the verdict for each attribute and each combination of attributes. Return the selected result.

    If the audit has only one attribute, the function shows nothing and returns its result.
    """
    results = result.along
    if len(results) == 1:
        return result
    _show_verdict(result, result.headline)
    show_blocks([next(verdict_tables(result))], KEY)
    chosen = st.selectbox(
        "Answers for",
        range(len(results)),
        format_func=lambda k: safe(results[k].plan.columns.sensitive),
        key=KEY("along"),
        help="For a combination of attributes, the audit answers only questions 1, 2, 5 and 10.",
    )
    return results[chosen]


def _show_verdict(result: AuditResult, headline: str) -> None:
    st.subheader(f"{_ICONS[result.verdict]} {safe(headline)}", anchor=False)
    st.markdown(unbroken(safe(result.in_words)))


def show_earlier() -> None:
    """Show a button to open each earlier audit."""
    audits = finished_audits(owner=current_owner())[:_MAX_LISTED]
    if not audits:
        return
    st.subheader("Your audits", anchor=False)
    for audit in audits:
        st.button(
            safe(_audit_label(audit)),
            key=KEY("open", audit.id),
            icon=":material/history:",
            type="tertiary",
            on_click=choose_audit,
            args=(audit,),
        )


def _with_changes_since(
    audit: AuditJob, full_result: AuditResult, result: AuditResult
) -> tuple[AuditResult, AuditResult]:
    """Ask the user to select an earlier audit. Return both results with the changes since that audit."""
    name = result.plan.columns.sensitive
    audit_by_id = {
        candidate.id: candidate
        for candidate in finished_audits(owner=current_owner())
        if candidate.id != audit.id
        and name in (candidate.spec.plan.columns.sensitive, *candidate.spec.plan.columns.also)
    }
    if not audit_by_id:
        return full_result, result
    chosen = st.selectbox(
        "What has changed since",
        [None, *list(audit_by_id)[:_MAX_LISTED]],
        format_func=lambda id: "no other audit" if id is None else safe(_audit_label(audit_by_id[id])),
        key=KEY("since", audit.id),
        help="Each curve is divided by the mean price of its audit, so an equal relative rise of "
        "all prices is not drift.",
    )
    if chosen is None:
        return full_result, result
    earlier_result = audit_by_id[chosen].read_result()
    (other,) = (result for result in earlier_result.along if result.plan.columns.sensitive == name)
    result = result.compare(other)
    if earlier_result.plan.columns.sensitive == full_result.plan.columns.sensitive:
        full_result = full_result.compare(earlier_result)
    return full_result, result


def _audit_label(audit: AuditJob) -> str:
    columns = audit.spec.plan.columns
    created_text = audit.spec.created[:16].replace("T", " ")
    return f"{columns.price} against {columns.sensitive} · {audit.spec.source.title} · {created_text} UTC"


def _show_alternatives(audit: AuditJob, columns: Columns) -> None:
    """Show the nearest models of a Pareto front trained on the audited table, or a button to train a front.

    Parameters
    ----------
    columns
        Columns of the audit for the selected sensitive attribute.
    """
    st.markdown("**Less discriminatory alternatives: the nearest points of a front trained on this table**")
    source = audit.spec.source
    run = _run_of(source, columns)
    if run is None:
        _offer_training(source, columns)
        return
    front = fronts_of(run, sensitive=columns.sensitive)[run.available_plan.objective]
    table = nearest_points(front)
    st.markdown(_nearest_in_words(table, front, run))
    keys = zip(table["method"], table["lam"], strict=True)
    prices = ["the audited price" if key[0] == PRICE else ModelKey(*key).title for key in keys]
    names = {"error": front.error_title, "error_se": "± error", "dependence_se": "± dependence"}
    names |= {"dependence": f"dependence, {REGISTRY[front.default_measure].symbol}"}
    table_shown = table.drop(columns=["method", "lam", "floor"]).rename(columns=names)
    table_shown.insert(0, "price", prices)
    show_table(Table("Error and dependence of the audited price and of points on a front", table_shown), KEY)
    if st.button("See this front", key=KEY("front"), icon=":material/balance:"):
        go_to("tradeoff", address={Address.RUN.value: run.id})


def _nearest_in_words(table: pd.DataFrame, front: Front, run: Run) -> str:
    splits = result_of(run).splits
    rows = (
        f"{len(splits[0].test):,} test rows of the run “{safe(title_of(run))}”, mean of {len(splits)} splits"
    )
    first = table.iloc[0]
    if first["method"] != PRICE:
        return (
            "This price is the prediction of the run. The points of the table are spread over the run's "
            f"Pareto front ({rows})."
        )
    less = table.iloc[1:][table["dependence"].iloc[1:] < first["dependence"]]
    if less.empty:
        return (
            f"None of the nearest points depends less on “{safe(front.sensitive)}” than the price ({rows})."
        )
    row = less.iloc[0]
    return (
        f"The nearest point of the front depends less on “{safe(front.sensitive)}” than the price does. The "
        f"dependence of this point is {row['dependence']:.3f}, and that of the price is "
        f"{first['dependence']:.3f}. The error of this point is {row['error']:.3f}, and that of the price "
        f"is {first['error']:.3f} (same rows: {rows})."
    )


def _run_of(source: DatasetSource, columns: Columns) -> Run | None:
    """Return the newest finished run with the audit's table and roles, or the run that gave the price."""
    owner = current_owner()
    of_audit = (columns.price, columns.outcome, columns.exposure, columns.outcome in columns.totals)
    for run in list_runs(owner=owner).runs:
        if run.available_result == RESULT and _table_of(run.spec.source) == _table_of(source):
            roles = roles_of(run.spec.source)
            of_run = (roles.prediction, roles.target, roles.weight, roles.rate)
            if of_audit == of_run and columns.sensitive in roles.sensitive:
                return run
    for name in source.made_from if isinstance(source, UploadSource) else ():
        try:
            run = Run(name, owner=owner)
        except RunError:
            # `name` is the id of a file, or of a deleted run.
            continue
        if run.available_result == RESULT and columns.sensitive in roles_of(run.spec.source).sensitive:
            return run
    return None


def _table_of(source: DatasetSource) -> tuple[object, ...]:
    """Return values that identify a table, regardless of the roles of the table's columns."""
    if isinstance(source, UploadSource):
        return source.sha256, source.reading
    assert isinstance(source, CatalogueSource)
    return source.dataset, dict(source.options)


def _offer_training(source: DatasetSource, columns: Columns) -> None:
    if columns.outcome is None:
        st.markdown("Training a front needs an outcome, such as claims.")
        return
    st.markdown("No front has been trained on this table with these columns yet. Training takes minutes.")
    if st.button("Train a front on this table", key=KEY("train"), icon=":material/tune:"):
        assert isinstance(source, UploadSource | CatalogueSource)
        table = source.table()
        source_now = replace(source, roles=roles_of_audit(roles_of(source), columns, table))
        if columns.outcome in columns.totals and (table[columns.outcome] < 0).any():
            # The audit does not change negative values, and the run must use the same values as the audit.
            source_now = replace(
                source_now, fixes=with_fix(source_now.fixes, Fix(AS_THEY_ARE, columns.outcome))
            )
        choose_run(None)
        choose_source(source_now)
        go_to("train", address={Address.DATASET.value: source_now.id})


def roles_of_audit(roles: Roles, columns: Columns, table: pd.DataFrame) -> Roles:
    """Return column roles for a run, from the audit or, for columns without a role there, from the table."""
    names = [str(name) for name in table]
    # A price that a model computes is not a column of the table.
    price = columns.price if columns.price in names else None
    target = next(
        name
        for name in (columns.outcome, price, roles.target, *roles.features, *names)
        if name and name != columns.sensitive
    )
    role_columns = {target, price, columns.exposure, columns.groups, columns.candidate, columns.expected_cost}
    role_columns |= {columns.sensitive, *columns.also}
    return replace(
        roles,
        target=target,
        sensitive=(columns.sensitive, *columns.also),
        prediction=None if price == target else price,
        weight=columns.exposure,
        group=columns.groups,
        rate=columns.outcome in columns.totals,
        features=tuple(name for name in columns.features or roles.features if name not in role_columns),
    )
