"""A cap on what any premium may change against today's price, and what it costs on test rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.evaluation.capping import AFTER
from fairdash.reports.comparison import Comparison
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.training.baselines import PRICE
from fairdash.ui.cached import cap_cost_of
from fairdash.ui.frame import plain_errors
from fairdash.ui.keys import Keys
from fairdash.ui.runs.words import missing_data
from fairdash.ui.text import fixed
from fairdash.utils.text import number, visible

KEY = Keys(__file__)


def show_cap(comparison: Comparison, run: Run, job: ModelJob) -> None:
    """The control and its table, where the run has a price that stands."""
    if PRICE not in set(comparison.front.baselines["method"]):
        return
    most = st.number_input(
        "No premium changes by more than … % against today's price",
        min_value=0.0,
        max_value=100.0,
        value=None,
        step=1.0,
        placeholder="no cap",
        key=KEY("most"),
        help="Every premium is multiplied by one level and cut off at both ends, so that the income stays. "
        "The cap comes after rating: the table of relativities stays as it is.",
    )
    if most is None:
        return
    if missing := missing_data(run.spec.source):
        st.caption(missing)
        return
    with plain_errors():
        table = cap_cost_of(run, job, comparison, most / 100)
        if table is None:
            st.caption("This tariff was fitted before caps were judged. Fit it in a new run to see the cost.")
            return
        st.dataframe(
            _shown(comparison, table, most),
            hide_index=True,
            alt="Error, gap and dependence of the tariff on test rows, before and after the cap.",
        )
        st.caption(_in_words(comparison, table, most))


def _shown(comparison: Comparison, table: pd.DataFrame, most: float) -> pd.DataFrame:
    """The two rows as people read them."""
    # Headers are plain text.
    called = visible(comparison.sensitive_called, keep="")
    error = "Deviance" if comparison.front.error == "deviance" else "Squared error"
    # What chance alone would read stands behind each, in brackets.
    gaps = [
        f"{fixed(100 * gap, 1)} % ({fixed(100 * floor, 1)} %)"
        for gap, floor in zip(table["gap"], table["gap_floor"], strict=True)
    ]
    links = [
        f"{fixed(value)} ({fixed(floor)})"
        for value, floor in zip(table["dependence"], table["floor"], strict=True)
    ]
    columns = {
        "Premiums": [name.capitalize() for name in table.index],
        f"{error} ÷ flat premium's": [fixed(each, 4) for each in table["error"]],
        f"Gap between tenths by {called}": gaps,
        f"{REGISTRY[comparison.measure].symbol} with {called}": links,
        f"Change by more than {most:g} %": [f"{fixed(100 * each, 1)} %" for each in table["changed"]],
    }
    return pd.DataFrame(columns)


def _in_words(comparison: Comparison, table: pd.DataFrame, most: float) -> str:
    lower, upper, level, brought = (
        float(table[name].loc[AFTER]) for name in ("at_lower", "at_upper", "level", "brought")
    )
    exposure = "the exposure" if comparison.result.weight is not None else "the customers"
    held = [f"{fixed(100 * each, 1)} %" for each in (lower, upper)]
    audited = "residuals" if comparison.objective_seen.uses_target else "premiums"
    return (
        f"Means over the splits, test rows; in brackets, what independence reads. The gap is the largest "
        f"difference between average {audited}, ÷ the mean premium. Today's price is brought to the tariff's "
        f"income first (times {number(brought)}), so that a change is one beyond everybody's. Of {exposure}, "
        f"{held[0]} are held at −{most:g} % and {held[1]} at +{most:g} %; the others pay the tariff times "
        f"{number(level)}. The income is the same before and after."
    )
