"""Automatic preview, results on holdout rows, and log of a run, on the Trade-off page.

The module also contains the downloads (report, model, figures, predictions), and the button to audit a price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError, RunError
from fairdash.evaluation import wide
from fairdash.runs.audits import price_of_test_rows, store_priced_table
from fairdash.runs.confirmations import confirm_run, read_confirmations
from fairdash.runs.launch import cancel, start_again, start_model, start_run
from fairdash.runs.listing import list_runs
from fairdash.runs.models import ModelJob, find_model
from fairdash.runs.store import FIRST, RESULT, Run
from fairdash.storage.log import note, read
from fairdash.training.defaults import share_of_rows
from fairdash.training.methods import FAIR_TARIFF, PATHS
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import STANDARD, default_plan, preview_of, quicker_plan
from fairdash.ui.access import current_owner
from fairdash.ui.blocks import show_table
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import PICTURE_FORMAT, PICTURES, plain_errors, show_problems
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, offer_to_resume, show_or_start, show_progress, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import go_to
from fairdash.ui.runs import missing_data
from fairdash.ui.state import choose_audit, choose_run, choose_source, chosen_run, chosen_source
from fairdash.ui.text import duration, safe
from fairdash.ui.widgets import download_of
from fairdash.utils.safe_csv import safe_csv
from fairdash.utils.text import counted
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.report import render_report
from fairdash.views.reports.sentences import not_opened, of_opening, of_openings, opening_of, refit_includes
from fairdash.views.reports.tables import history

KEY = Keys(__file__)
_CONFIRMATION_ERROR = KEY("fault")

DEFAULT_OBJECTIVE = "demographic_parity"
#: Minimum number of remaining seconds of a run for which the page offers a faster run.
MIN_SECONDS_LEFT = 600.0


def run_in_view() -> Run | None:
    """Return the run in the address or, if there is none, the newest run on this data or a new preview.

    If the run has no results yet, show its progress and return None.
    """
    run = chosen_run()
    if run is None:
        source = chosen_source()
        run = next(iter(list_runs(owner=current_owner()).of(source)), None)
        if run is None:
            with st.skeleton(height=PICTURES):
                run = start_quick(source, DEFAULT_OBJECTIVE)
        choose_run(run)
    if run.available_result is None:
        _show_wait(run)
        return None
    return run


def start_quick(source: DatasetSource, objective: str) -> Run:
    """Start a run, which first trains a preview and then the full plan."""
    dataset = dataset_of(source)
    plan = default_plan(dataset, objective=objective)
    columns = dataset.features.shape[1] if plan.tariff else 0
    share = share_of_rows(dataset.n_rows, tariff_columns=columns)
    first = preview_of(plan, n_rows=None if share == 1 else round(share * dataset.n_rows))
    return start_run(source, plan, first=first, first_share=share, owner=current_owner())


def show_other_training(comparison: Comparison, run: Run) -> None:
    """Offer models trained for the selected objective, if the current models were trained for another."""
    spec, objective = run.spec, comparison.objective
    if objective == spec.plan.objective:
        return
    others = list_runs(owner=current_owner()).of(spec.source)
    other_objective = next(
        (other for other in others if other.spec.plan.objective == objective and other.available_result), None
    )
    title = OBJECTIVES[objective].title.lower()
    if other_objective is not None:
        if st.button(f"See models trained for {title}", icon=":material/swap_horiz:"):
            _switch(other_objective)
    elif st.button(f"Train models for {title}", icon=":material/model_training:"):
        _switch(start_quick(spec.source, objective))


def _switch(run: Run) -> None:
    choose_run(run)
    st.rerun()


def show_stage(run: Run, comparison: Comparison) -> None:
    """Show the progress of a run that has a preview. Show nothing when the run is complete."""
    if run.available_result != FIRST:
        return
    if run.status.is_over:
        st.warning(f"This is a preview: {_about_preview(comparison)}. The refined run was not finished.")
        show_status(run, run.status)
        offer_to_resume(run)
        return
    _follow_refining(run, _about_preview(comparison))


def _about_preview(comparison: Comparison) -> str:
    """State the rows, the number of splits and the noise floors of a preview."""
    if FAIR_TARIFF in comparison.plan.methods:
        rows = comparison.sample or "all rows"
        return f"tariffs from a GLM to one flat premium, on {rows}, with one split and imprecise noise floors"
    sample = f"{comparison.sample}, with " if comparison.sample else ""
    return f"{sample}one split and imprecise noise floors"


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow_refining(run: Run, status: str) -> None:
    if run.available_result != FIRST:
        st.rerun()
    plan = run.spec.plan
    methods = [PATHS[method].title for method in plan.methods if method != STANDARD]
    rows = "all rows, " if run.spec.first_share < 1 else ""
    st.info(
        f"**Preview:** {status}. A refined run with {rows}{plan.n_splits} splits and {', '.join(methods)} is "
        "in progress. The page updates automatically.",
        icon=":material/hourglass_top:",
    )
    show_progress(run)
    _offer_faster_run(run)


def _offer_faster_run(run: Run) -> None:
    """If a run takes long, offer a smaller run on the same data. It begins with the same preview."""
    spec, status = run.spec, run.status
    left, faster = status.seconds_left, quicker_plan(spec.plan)
    if left is None or left[0] < MIN_SECONDS_LEFT or faster is None or run.is_cancelled():
        return
    from fairdash.evaluation.work import work_of_plan

    own, full = (work_of_plan(dataset_of(spec.source), plan).seconds for plan in (faster, spec.plan))
    # The estimate includes all work of the smaller run, which can't reuse finished steps of the current run.
    seconds = own / full * sum(left) / 2 / (1 - status.fraction)
    (fair,) = (PATHS[method].title for method in faster.methods if method != STANDARD)
    if st.button(
        f"Instead: {fair} alone, {faster.n_splits} splits, about {duration(seconds)}",
        key=KEY("quicker", run.id),
        icon=":material/fast_forward:",
        help="The current run stops; you can resume it later.",
    ):
        with plain_errors():
            cancel(run)
            first = spec.first
            _switch(
                start_run(spec.source, faster, first=first, first_share=spec.first_share, owner=spec.owner)
            )


def _show_wait(run: Run) -> None:
    spec, status = run.spec, run.status
    st.markdown(f"**{safe(spec.source.title)}** · {OBJECTIVES[spec.plan.objective].title}")
    if status.is_over:
        show_status(run, status)
        offer_to_resume(run)
        if st.button("Start again", icon=":material/replay:", type="primary"):
            choose_run(start_again(run, owner=current_owner()))
            st.rerun()
        return
    sentence = "This run is still in progress. The run continues if you close the page."
    if spec.first is not None:
        unit = "networks" if FAIR_TARIFF not in spec.first.methods else "tariffs"
        rows = "a random sample of the rows" if spec.first_share < 1 else "all rows"
        weights = counted(len(spec.first.lams), "weight")
        sentence = f"A preview is being trained: {unit} at {weights} of fairness, one split of {rows}."
    st.caption(sentence)
    _wait(run)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS / 2)
def _wait(run: Run) -> None:
    if run.available_result is not None:
        st.rerun()
    show_progress(run)


def show_confirmation(comparison: Comparison, run: Run) -> None:
    """Show results on holdout rows or a button that computes them, or nothing without holdout rows."""
    holdout = comparison.result.set_aside
    if run.available_result != RESULT or holdout is None:
        return
    st.subheader("Confirm the choice on rows set aside")
    if error_before := st.session_state.pop(_CONFIRMATION_ERROR, None):
        show_problems(error_before)
    try:
        openings = read_confirmations(run)
    except RunError as error:
        show_problems(error)
        return
    names, times = comparison.result.names, len(openings)
    opening = opening_of(comparison, openings)
    if opening is not None:
        first, *further_sentences = of_opening(opening, times=times, names=names)
        st.markdown(f"**{safe(first)}**")
        st.markdown(safe(" ".join(further_sentences)))
    elif openings:
        st.warning(
            safe(
                "These rows have already been used to test another point. "
                f"Test number {times + 1} on these rows does not confirm this point."
            )
        )
    else:
        st.markdown(safe(not_opened(len(holdout.rows))))
    if opening is None:
        st.button(
            "Confirm on rows set aside" if not openings else "Open these rows again for this point",
            icon=":material/lock_open:",
            on_click=_open,
            args=(comparison, run),
            key=KEY("open"),
            help="Test the chosen point on rows that no step has used. Only the first test is valid, so "
            "choose the point before you test it.",
        )
    others = [other for other in openings if other != opening]
    if others:
        with st.expander("Results for other points"):
            for paragraph in of_openings(others, names):
                st.markdown(safe(paragraph))
    st.caption(safe(refit_includes(len(holdout.rows))))


def _open(comparison: Comparison, run: Run) -> None:
    point, owner = comparison.b, current_owner()
    try:
        # The run is opened again, which raises an error if it has been deleted since the button was drawn.
        confirm_run(
            Run(run.id, owner=owner),
            method=point.method,
            lam=0.0 if point.is_standard else point.lam,
            objective=comparison.objective,
            owner=owner,
        )
    except FairdashError as error:
        st.session_state[_CONFIRMATION_ERROR] = error


def show_history(run: Run) -> None:
    """Show the run's log in a collapsed section, with a warning if the log has been altered."""
    log = read(run.folder)
    if not log.is_whole:
        st.warning("The log of this run was changed: lines were altered or are missing.")
    if log.events:
        with st.expander("Log of this run"):
            show_table(history(log), KEY)


def show_take_away(comparison: Comparison, run: Run) -> None:
    """Show the downloads of a run. Each file is created on this machine when the user requests it."""
    st.subheader("Downloads")
    report, model, pictures = st.columns(3, vertical_alignment="bottom")
    with report:
        _show_report(comparison, run)
    with model:
        _show_model(comparison, run)
    with pictures:
        st.segmented_control(
            "Charts are saved as", ["PNG", "SVG"], default="PNG", required=True, key=PICTURE_FORMAT
        )
    tables: tuple[tuple[str, str, Callable[[], pd.DataFrame]], ...] = (
        ("The whole path (CSV)", "path", lambda: comparison.front.test),
        ("All figures (CSV)", "figures", lambda: comparison.result.frames[comparison.result.objective]),
        ("Test predictions (CSV)", "predictions", lambda: comparison.scored()),
    )
    for column, (label, name, table) in zip(st.columns(3), tables, strict=True):
        with column:
            download_of(
                run,
                lambda table=table: safe_csv(table()),  # type: ignore[misc]
                label=label,
                name=f"fairdash-{run.id}-{name}.csv",
                mime="text/csv",
                key=KEY("csv", name),
            )
    offer_audit(
        run,
        lambda: _price_of(comparison),
        title=f"{comparison.title}, {comparison.b.title}",
        key=KEY("audit"),
        text="Predictions of the chosen model for test rows, from splits that did not train on the row.",
    )
    st.caption(
        "The report is one HTML file, which any browser can open and print. The camera on a chart saves it "
        "as a picture. All files are created on this machine. Nothing is uploaded."
    )


def _show_report(comparison: Comparison, run: Run) -> None:
    spec = run.spec
    owner = current_owner()
    download_of(
        run,
        lambda: render_report(
            comparison,
            run_id=run.id,
            created=spec.created,
            dataset=_dataset_or_none(run, owner),
            is_preview=run.available_result == FIRST,
            openings=read_confirmations(run),
            log=read(run.folder),
        ),
        label="Report (HTML)",
        name=f"fairdash-{run.id}-report.html",
        mime="text/html",
        key=KEY("report"),
        icon=":material/description:",
    )


def _dataset_or_none(run: Run, owner: str) -> Dataset | None:
    """Return the run's data, or None if they are deleted or changed. A report then omits notes on data."""
    try:
        dataset = dataset_of(run.spec.source, owner=owner)
        run.check_data(dataset)
    except FairdashError:
        return None
    return dataset


def _show_model(comparison: Comparison, run: Run) -> None:
    """Show a button that refits the selected model to all rows, then the progress, then the download."""
    point, front = comparison.b, comparison.front
    rows = front.test[(front.test["method"] == point.method) & (front.test["lam"] == point.lam)]
    rows = rows[rows["measure"].isin([front.error, *front.measures])]
    values_by_measure = wide(rows[["measure", "column", "value", "se"]]).iloc[0]

    def show_job(job: ModelJob) -> None:
        download_of(
            run,
            job.bundle,
            label="Model, refitted on all rows (zip)",
            name=f"fairdash-{run.id}-model.zip",
            mime="application/zip",
            key=KEY("model"),
        )

    show_refit(
        comparison,
        run,
        method=point.method,
        lam=point.lam,
        figures={str(name): float(figure) for name, figure in values_by_measure.items()},
        noted=("asked for a model", {"method": point.method}),
        show=show_job,
        label="Refit this model on all rows",
        icon=":material/model_training:",
        key=KEY("refit"),
        help="The figures on this page are estimates from the splits. This button trains the model once "
        "more, on all rows and at the chosen weight. You can then download the model.",
    )


def show_refit(
    comparison: Comparison,
    run: Run,
    *,
    method: str,
    lam: float,
    figures: Mapping[str, float],
    noted: tuple[str, Mapping[str, str]],
    show: Callable[[ModelJob], None],
    **button: Any,
) -> None:
    """Show the refit of a model on all rows, as a button, as progress, or as a result.

    Parameters
    ----------
    method, lam
        Method and weight of a model of the run.
    figures
        Measures of the model on test rows, by name, for the model card.
    noted
        Text and details of the log entry that records the request.
    show
        Function that shows the finished model.
    """
    owner = current_owner()

    def start() -> None:
        action, details = noted
        note(run.folder, action, who=owner, **details, weight=f"λ = {lam:g}")
        fields = {"run": run.id, "method": method, "lam": lam, "figures": dict(figures)}
        start_model(run.spec.source, comparison.refit_plan, owner=owner, **fields)

    show_or_start(
        find_model(run=run.id, method=method, lam=lam, owner=owner),
        show=show,
        start=start,
        missing=missing_data(run.spec.source),
        **button,
    )


def _price_of(comparison: Comparison) -> pd.Series:
    """Return the selected model's predictions for test rows. The index is the row number in the data set."""
    predictions = comparison.predictions(comparison.b)
    price = price_of_test_rows(predictions, [split.test for split in comparison.result.splits])
    rows = comparison.result.rows
    return price if rows is None else price.set_axis(np.asarray(rows)[price.index])


def offer_audit(run: Run, price: Callable[[], pd.Series], *, title: str, key: str, text: str) -> None:
    """Show a button that opens an audit of the price that the function `price` returns."""
    missing = missing_data(run.spec.source)
    clicked = st.button(
        "Audit this price",
        key=key,
        icon=":material/fact_check:",
        disabled=bool(missing),
        help=missing
        or f"{text} The button opens the audit with the columns filled in. The table belongs to you and is "
        "deleted with the run.",
    )
    source = None
    if clicked:
        with plain_errors(), st.spinner("Writing its table…"):
            owner = current_owner()
            source = store_priced_table(
                run, dataset_of(run.spec.source), price(), title=title.replace("/", "-"), owner=owner
            )
            note(run.folder, "audited a price", who=owner, file=source.name, sha256=source.sha256)
    if source is not None:
        choose_audit(None)
        choose_source(source)
        go_to("audit", address={Address.DATASET: source.id})
