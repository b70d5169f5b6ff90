"""What can be carried off: a report, the model, figures, scored rows."""

from __future__ import annotations

import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError
from fairdash.reports.comparison import Comparison
from fairdash.reports.html import render_report
from fairdash.runs.launch import start_model
from fairdash.runs.models import ModelJob, find_model
from fairdash.runs.store import DONE, FIRST, Run
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import PICTURE_FORMAT, download
from fairdash.ui.jobs import SECONDS_BETWEEN_LOOKS, show_progress, show_status


def show_take_away(found: Comparison, run: Run) -> None:
    """Downloads; every file is made on this machine."""
    st.subheader("Take it away")
    report, model, pictures = st.columns(3, vertical_alignment="bottom")
    with report:
        _show_report(found, run)
    with model:
        _show_model(found, run)
    with pictures:
        st.segmented_control(
            "Charts are saved as", ["PNG", "SVG"], default="PNG", required=True, key=PICTURE_FORMAT
        )
    one, two, three = st.columns(3)
    with one:
        download(found.front.test, label="The whole path (CSV)", name=f"{run.id}-path", key="csv-path")
    with two:
        download(found.result.frame, label="All figures (CSV)", name=f"{run.id}-figures", key="csv-figures")
    with three:
        download(found.scored, label="Test predictions (CSV)", name=f"{run.id}-predictions", key="csv-rows")
    st.caption(
        "The report is one HTML file that opens and prints anywhere. The camera on each chart saves it as a "
        "picture. Every file is made on this machine, and none of them is sent anywhere."
    )


def _show_report(found: Comparison, run: Run) -> None:
    spec = run.spec
    st.download_button(
        "Report (HTML)",
        data=lambda: render_report(
            found,
            run_id=run.id,
            created=spec.created,
            dataset=_dataset_if_there(spec.source),
            is_first_look=run.look == FIRST,
        ),
        file_name=f"fairdash-{run.id}-report.html",
        mime="text/html",
        key="report",
        icon=":material/description:",
        on_click="ignore",
    )


def _dataset_if_there(source: DatasetSource) -> Dataset | None:
    """The data; None if an uploaded file was deleted since: the report then leaves its notes out."""
    try:
        return dataset_of(source)
    except FairdashError:
        return None


def _show_model(found: Comparison, run: Run) -> None:
    """The chosen model, refitted on all rows by a job of its own, then downloaded."""
    job = find_model(run=run.id, method=found.b.method, lam=found.b.lam)
    if job is None or (job.status.is_over and job.status.state != DONE):
        if job is not None:
            show_status(job, job.status)
        st.button(
            "Refit this model on all rows",
            icon=":material/model_training:",
            on_click=_start,
            args=(found, run),
            key="refit",
            help="The figures here are estimates from the random splits. The model to use is trained once "
            "more, on all rows, at the chosen weight; then it can be downloaded.",
        )
    elif job.status.state == DONE:
        st.download_button(
            "Model, refitted on all rows (zip)",
            data=job.bundle,
            file_name=f"fairdash-{run.id}-model.zip",
            mime="application/zip",
            key="model",
            icon=":material/download:",
            on_click="ignore",
        )
    else:
        _follow(job)


def _start(found: Comparison, run: Run) -> None:
    point = found.b
    figures: dict[str, float | str | None] = {}
    for id in (found.front.error, *found.front.measures):
        row = found.front.row(point)
        figures[id] = float(row[id])
        figures[f"{id}_se"] = float(row[f"{id}_se"])
    start_model(run.spec.source, found.plan, run=run.id, method=point.method, lam=point.lam, figures=figures)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def _follow(job: ModelJob) -> None:
    show_progress(job)
