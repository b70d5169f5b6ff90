"""What can be carried off: a report, the model, figures, scored rows."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from fairdash.data.dataset import Dataset
from fairdash.data.source import DatasetSource
from fairdash.errors import FairdashError
from fairdash.reports.comparison import Comparison
from fairdash.reports.html import render_report
from fairdash.runs.confirmations import read_confirmations
from fairdash.runs.launch import start_model
from fairdash.runs.log import note, read
from fairdash.runs.models import ModelJob
from fairdash.runs.store import FIRST, Run
from fairdash.ui.cached import dataset_of
from fairdash.ui.files import download_of
from fairdash.ui.frame import PICTURE_FORMAT
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.tradeoff.auditing import show_audit_of_point
from fairdash.ui.tradeoff.refitting import show_refit
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
    show_audit_of_point(comparison, run)
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

    def ask() -> None:
        st.button(
            "Refit this model on all rows",
            icon=":material/model_training:",
            on_click=_start,
            args=(comparison, run),
            key=KEY("refit"),
            help="The figures here are estimates from the splits. The model to use is trained once "
            "more, on all rows, at the chosen weight; then it can be downloaded.",
        )

    def show(job: ModelJob) -> None:
        download_of(
            run,
            job.bundle,
            label="Model, refitted on all rows (zip)",
            name=f"fairdash-{run.id}-model.zip",
            mime="application/zip",
            key=KEY("model"),
        )

    show_refit(run, method=comparison.b.method, lam=comparison.b.lam, ask=ask, show=show)


def _start(comparison: Comparison, run: Run) -> None:
    point = comparison.b
    figures: dict[str, float | str | None] = {}
    for id in (comparison.front.error, *comparison.front.measures):
        row = comparison.front.row(point)
        figures[id] = float(row[id])
        figures[f"{id}_se"] = float(row[f"{id}_se"])
    note(
        run.folder, "asked for a model", who=current_owner(), method=point.method, weight=f"λ = {point.lam:g}"
    )
    start_model(
        run.spec.source,
        comparison.refit_plan,
        run=run.id,
        method=point.method,
        lam=point.lam,
        figures=figures,
        owner=current_owner(),
    )
