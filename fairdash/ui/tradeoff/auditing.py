"""From a run or a tariff to the audit of its price, by one click."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.reports.comparison import Comparison
from fairdash.runs.log import note
from fairdash.runs.priced import keep_priced, price_of_test_rows
from fairdash.runs.store import Run
from fairdash.ui.cached import dataset_of
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import go_to
from fairdash.ui.runs.words import missing_data
from fairdash.ui.state import choose_audit, choose_source

KEY = Keys(__file__)


def show_audit_of_point(comparison: Comparison, run: Run) -> None:
    """A button that opens the audit of what point B foretells for test rows."""

    def price() -> pd.Series:
        found = comparison.predictions(comparison.b)
        made = price_of_test_rows(found, [split.test for split in comparison.result.splits])
        rows = comparison.result.rows
        return made if rows is None else made.set_axis(np.asarray(rows)[made.index])

    _ask(
        run,
        price,
        title=f"{comparison.title}, {comparison.b.title}",
        key=KEY("point"),
        about="What the chosen model foretells for test rows, each by a split that did not train on it. "
        "Opens the audit with its columns filled in; the table is kept as yours, and goes with the run.",
    )


def show_audit_of_tariff(run: Run, price: Callable[[], pd.Series], *, title: str) -> None:
    """A button that opens the audit of a tariff's prices, which `price` gives for all rows."""
    _ask(
        run,
        price,
        title=title,
        key=KEY("tariff"),
        about="What this tariff charges for each row. Opens the audit with its columns filled in; the table "
        "is kept as yours, and goes with the run.",
    )


def _ask(run: Run, price: Callable[[], pd.Series], *, title: str, key: str, about: str) -> None:
    missing = missing_data(run.spec.source)
    clicked = st.button(
        "Audit this price",
        key=key,
        icon=":material/fact_check:",
        disabled=bool(missing),
        help=missing or about,
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
