"""What can be carried off: a report, the model, figures, scored rows, a price to audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError
from fairdash.reports.comparison import Comparison
from fairdash.reports.html import render_report
from fairdash.runs.audits import keep_priced, price_of_test_rows
from fairdash.runs.confirmations import read_confirmations
from fairdash.runs.launch import start_model
from fairdash.runs.log import note, read
from fairdash.runs.models import ModelJob, find_model
from fairdash.runs.status import DONE
from fairdash.runs.store import FIRST, Run
from fairdash.ui.cached import dataset_of
from fairdash.ui.files import download_of
from fairdash.ui.frame import PICTURE_FORMAT, plain_errors
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import go_to
from fairdash.ui.runs.words import missing_data
from fairdash.ui.state import choose_audit, choose_source
from fairdash.utils.safe_csv import safe_csv

KEY = Keys(__file__)


def show_take_away(comparison: Comparison, run: Run) -> None:
    """Downloads; every file is made on this machine."""
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
        ("All figures (CSV)", "figures", lambda: comparison.result.frame),
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
        about="What the chosen model foretells for test rows, each by a split that did not train on it.",
    )
    st.caption(
        "The report is one HTML file that opens and prints anywhere. The camera on each chart saves it as a "
        "picture. Every file is made on this machine, and none of them is sent anywhere."
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
            dataset=_dataset_if_there(spec.source, owner),
            is_preview=run.look == FIRST,
            openings=read_confirmations(run),
            log=read(run.folder),
        ),
        label="Report (HTML)",
        name=f"fairdash-{run.id}-report.html",
        mime="text/html",
        key=KEY("report"),
        icon=":material/description:",
    )


def _dataset_if_there(source: DatasetSource, owner: str) -> Dataset | None:
    """The data; None if an uploaded file was deleted since: the report then leaves its notes out."""
    try:
        return dataset_of(source, owner=owner)
    except FairdashError:
        return None


def _show_model(comparison: Comparison, run: Run) -> None:
    """The chosen model, refitted on all rows by a job of its own, then downloaded."""
    point, front = comparison.b, comparison.front
    row = front.row(point)
    shown = [f"{id}{end}" for id in (front.error, *front.measures) for end in ("", "_se")]

    def show(job: ModelJob) -> None:
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
        figures={name: float(row[name]) for name in shown},
        noted=("asked for a model", {"method": point.method}),
        show=show,
        label="Refit this model on all rows",
        icon=":material/model_training:",
        key=KEY("refit"),
        help="The figures here are estimates from the splits. The model to use is trained once more, on all "
        "rows, at the chosen weight; then it can be downloaded.",
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
    """A model on all rows: asked for by a button, followed, or there.

    Parameters
    ----------
    method, lam
        Which model of the run.
    figures
        What is known of it, for its card.
    noted
        What the run's log says when somebody asks for it.
    show
        Draws it once it is there.
    """
    owner = current_owner()
    job = find_model(run=run.id, method=method, lam=lam, owner=owner)
    missing = missing_data(run.spec.source)
    if job is not None and job.status.state == DONE:
        show(job)
    elif missing:
        st.caption(missing)
    elif job is not None and not job.status.is_over:
        _follow(job)
    else:
        if job is not None:
            show_status(job, job.status)
        if st.button(**button):
            what, details = noted
            note(run.folder, what, who=owner, **details, weight=f"λ = {lam:g}")
            start_model(
                run.spec.source,
                comparison.refit_plan,
                run=run.id,
                method=method,
                lam=lam,
                figures=dict(figures),
                owner=owner,
            )
            st.rerun()


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(job: ModelJob) -> None:
    show_progress(job)


def _price_of(comparison: Comparison) -> pd.Series:
    """What the chosen model foretells for test rows, by the data set's row."""
    found = comparison.predictions(comparison.b)
    made = price_of_test_rows(found, [split.test for split in comparison.result.splits])
    rows = comparison.result.rows
    return made if rows is None else made.set_axis(np.asarray(rows)[made.index])


def offer_audit(run: Run, price: Callable[[], pd.Series], *, title: str, key: str, about: str) -> None:
    """A button that opens the audit of a price, which `price` gives for the run's rows."""
    missing = missing_data(run.spec.source)
    clicked = st.button(
        "Audit this price",
        key=key,
        icon=":material/fact_check:",
        disabled=bool(missing),
        help=missing
        or f"{about} Opens the audit with its columns filled in; the table is kept as yours, and goes with "
        "the run.",
    )
    source = None
    if clicked:
        with plain_errors(), st.spinner("Writing its table…"):
            owner = current_owner()
            source = keep_priced(
                run, dataset_of(run.spec.source), price(), title=title.replace("/", "-"), owner=owner
            )
            note(run.folder, "audited a price", who=owner, file=source.name, sha256=source.sha256)
    if source is not None:
        choose_audit(None)
        choose_source(source)
        go_to("audit", address={Address.DATASET: source.id})
