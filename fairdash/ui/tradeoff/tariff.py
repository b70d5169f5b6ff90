"""Section of the Trade-off page on a tariff for filing, with λ, cost, tables and a cap on premium changes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.evaluation.capping import AFTER
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.tariff import FAIR_TARIFF, title_of
from fairdash.tariff.relativities import rate
from fairdash.training.baselines import PRICE
from fairdash.ui.cached import cap_cost_of, dataset_of
from fairdash.ui.frame import chart, plain_errors, theme
from fairdash.ui.keys import Keys
from fairdash.ui.runs import missing_data
from fairdash.ui.text import fixed, safe
from fairdash.ui.tradeoff.run import offer_audit, show_refit
from fairdash.ui.widgets import download_of
from fairdash.utils.text import number, visible
from fairdash.views.figures.comparison import factor_figure, factors
from fairdash.views.reports.comparison import Comparison

KEY = Keys(__file__)


def show_tariff(comparison: Comparison, run: Run) -> None:
    """Show the section on tariffs, if the run has fitted tariffs."""
    baselines = comparison.front.baselines
    if baselines.empty or FAIR_TARIFF not in set(baselines["method"]):
        return
    st.subheader("Fit a tariff to file")
    st.caption(
        "The premium of a tariff is a base times one relativity per factor. Tariffs are fitted at the same "
        "weights λ as the networks. The dotted line of the chart joins the tariffs. At λ = 0 the tariff is "
        "a GLM on the same factors."
    )
    _show(comparison, run, baselines[baselines["method"] == FAIR_TARIFF])


@st.fragment
def _show(comparison: Comparison, run: Run, tariffs: pd.DataFrame) -> None:
    lams = sorted({float(lam) for lam in tariffs["lam"]})
    lam = st.select_slider(
        "λ of the tariff",
        lams,
        value=lams[len(lams) // 2],
        format_func=lambda lam: f"{lam:g}",
        key=KEY("lam"),
    )
    st.markdown(_answer(comparison, tariffs, lam))

    front = comparison.front
    rows = tariffs[(tariffs["lam"] == lam) & tariffs["measure"].isin([front.error, *front.measures])]
    show_refit(
        comparison,
        run,
        method=FAIR_TARIFF,
        lam=lam,
        figures=dict(zip(rows["measure"], rows["value"], strict=True)),
        noted=("asked for a tariff", {}),
        show=lambda job: _show_fitted(comparison, run, job, lam),
        label="Fit this tariff on all rows",
        icon=":material/table_view:",
        key=KEY("fit"),
        help="The figures on this page are estimates from the splits. This button fits the tariff once "
        "more, on all rows. You can then view and download the table of relativities.",
    )


def _answer(comparison: Comparison, tariffs: pd.DataFrame, lam: float) -> str:
    """State the tariff's error at weight `lam`, its excess over the GLM's error, and the dependence."""
    front, measure = comparison.front, comparison.measure
    chosen, glm = (tariffs[tariffs["lam"] == value].set_index("measure") for value in (lam, 0.0))
    symbol, values, of_glm = REGISTRY[measure].symbol, chosen["value"], glm["value"]
    floor, ratio = float(chosen["floor"][measure]), float(values[front.error])
    floor_note = f" (noise floor {floor:.3f})" if np.isfinite(floor) else ""
    error = "deviance" if front.error == "deviance" else "squared error"
    if lam == 0:
        return (
            f"At λ = 0 the tariff is a GLM. On test rows, its {error} is {ratio:.4g} times that of "
            f"predicting the average, and the tariff's {symbol} with {safe(comparison.sensitive_called)} is "
            f"{values[measure]:.3f}{floor_note}."
        )
    cost = ratio / of_glm[front.error] - 1
    return (
        f"At λ = {lam:g} the tariff's {error} on test rows is {ratio:.4g} times that of predicting the "
        f"average, and {100 * abs(cost):.2f} % {'above' if cost >= 0 else 'below'} the GLM's. The tariff's "
        f"{symbol} with {safe(comparison.sensitive_called)} is {values[measure]:.3f} instead of "
        f"{of_glm[measure]:.3f}{floor_note}."
    )


def _show_fitted(comparison: Comparison, run: Run, job: ModelJob, lam: float) -> None:
    tariff_before, tariff_after = job.tariffs()
    names = factors(tariff_after)
    factor = st.selectbox("Factor", names, format_func=partial(visible, keep=""), key=KEY("factor"))
    if factor is not None:
        chart(
            factor_figure(tariff_before, tariff_after, factor, theme=theme(), after_name=f"λ = {lam:g}"),
            key=KEY("curve"),
            alt=f"Relativities of {factor} at λ = 0 and at λ = {lam:g}, with exposure in the background.",
        )
    with st.expander(f"The table of relativities ({len(tariff_after)} rows)"):
        st.dataframe(tariff_after, hide_index=True)
    download_of(
        run,
        job.bundle,
        label=f"{title_of(lam)}: table of relativities (zip with XLSX and CSV)",
        name=f"fairdash-{run.id}-tariff.zip",
        mime="application/zip",
        key=KEY("bundle"),
    )
    _show_cap(comparison, run, job)

    offer_audit(
        run,
        lambda: pd.Series(rate(tariff_after, dataset_of(run.spec.source).features)),
        title=f"{run.spec.source.title}, {title_of(lam)}",
        key=KEY("audit"),
        text="Premium of this tariff for each row.",
    )


def _show_cap(comparison: Comparison, run: Run, job: ModelJob) -> None:
    """If the run has an existing price, show the control for a cap on its changes, and the cap's cost."""
    if PRICE not in set(comparison.front.baselines["method"]):
        return
    max_change = st.number_input(
        "No premium changes by more than … % against today's price",
        min_value=0.0,
        max_value=100.0,
        value=None,
        step=1.0,
        placeholder="no cap",
        key=KEY("most"),
        help="All premiums are multiplied by one factor and then limited from below and above, so that "
        "total income does not change. The cap applies after rating, so the table of relativities "
        "does not change.",
    )
    if max_change is None:
        return
    if missing := missing_data(run.spec.source):
        st.caption(missing)
        return
    with plain_errors():
        table = cap_cost_of(run, job, comparison, max_change / 100)
        if table is None:
            st.caption(
                "This tariff was fitted by a version of fairdash that did not evaluate caps. Fit it in a "
                "new run to see the cost of the cap."
            )
            return
        st.dataframe(
            _cap_shown(comparison, table, max_change),
            hide_index=True,
            alt="Error, gap and dependence of the tariff's premiums on test rows, before and after the cap.",
        )
        st.caption(_cap_in_words(comparison, table, max_change))


def _cap_shown(comparison: Comparison, table: pd.DataFrame, max_change: float) -> pd.DataFrame:
    """Return the table of a cap's cost as strings, with a row before and a row after the cap is applied."""
    # The name is not escaped for Markdown, because Streamlit does not render table headers as Markdown.
    attribute_name = visible(comparison.sensitive_called, keep="")
    error = "Deviance" if comparison.front.error == "deviance" else "Squared error"
    # Each cell shows the gap, followed by the noise floor in brackets.
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
        f"{error} ÷ flat premium's": [fixed(share, 4) for share in table["error"]],
        f"Gap between tenths by {attribute_name}": gaps,
        f"{REGISTRY[comparison.measure].symbol} with {attribute_name}": links,
        f"Change by more than {max_change:g} %": [f"{fixed(100 * share, 1)} %" for share in table["changed"]],
    }
    return pd.DataFrame(columns)


def _cap_in_words(comparison: Comparison, table: pd.DataFrame, max_change: float) -> str:
    lower, upper, level, income_ratio = (
        float(table[name].loc[AFTER]) for name in ("at_lower", "at_upper", "level", "brought")
    )
    exposure = "the exposure" if comparison.result.weight is not None else "the customers"
    caps = [f"{fixed(100 * limit, 1)} %" for limit in (lower, upper)]
    audited = "residuals" if comparison.objective_seen.uses_target else "premiums"
    return (
        "Values are means over the test rows of the splits, with noise floors in brackets. The gap is "
        f"the largest difference between the average {audited} of two tenths, divided by the mean premium. "
        f"We first multiply today's price by {number(income_ratio)}, so that its income equals the tariff's. "
        f"Changes are measured from this level. Of {exposure}, {caps[0]} are capped at −{max_change:g} % and "
        f"{caps[1]} at +{max_change:g} %. The others pay the tariff multiplied by {number(level)}. Total "
        "income is the same before and after the cap."
    )
