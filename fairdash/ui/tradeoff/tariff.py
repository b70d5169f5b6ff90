"""The tariff that can be filed: which weight, what it costs, what changed in it, its table to take away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.tariff import factor_figure, factors
from fairdash.reports.comparison import Comparison
from fairdash.runs.launch import start_model
from fairdash.runs.log import note
from fairdash.runs.models import ModelJob
from fairdash.runs.store import Run
from fairdash.tariff import FAIR_TARIFF, title_of
from fairdash.ui.cached import dataset_of
from fairdash.ui.files import download_of
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.text import safe
from fairdash.ui.tradeoff.auditing import show_audit_of_tariff
from fairdash.ui.tradeoff.capping import show_cap
from fairdash.ui.tradeoff.refitting import show_refit

KEY = Keys(__file__)


def show_tariff(comparison: Comparison, run: Run) -> None:
    """The section on tariffs, where the run has fitted some."""
    baselines = comparison.front.baselines
    if baselines.empty or FAIR_TARIFF not in set(baselines["method"]):
        return
    st.subheader("A tariff that can be filed")
    st.caption(
        "An additive model: every factor has relativities, which multiply. Its weights λ are those of the "
        "front, where its points stand on the dotted line; λ = 0 is a GLM on the same factors."
    )
    _show(comparison, run, baselines[baselines["method"] == FAIR_TARIFF].set_index("lam").sort_index())


@st.fragment
def _show(comparison: Comparison, run: Run, tariffs: pd.DataFrame) -> None:
    lams = [float(lam) for lam in tariffs.index]
    lam = st.select_slider(
        "λ of the tariff",
        lams,
        value=lams[len(lams) // 2],
        format_func=lambda each: f"{each:g}",
        key=KEY("lam"),
    )
    st.markdown(_answer(comparison, tariffs, lam))

    def ask() -> None:
        if st.button(
            "Fit this tariff on all rows",
            icon=":material/table_view:",
            key=KEY("fit"),
            help="The figures here are estimates from the splits. The tariff to file is fitted once more, on "
            "all rows; then its table of relativities can be seen and downloaded.",
        ):
            _start(comparison, run, tariffs, lam)
            st.rerun()

    def show(job: ModelJob) -> None:
        _show_fitted(comparison, run, job, lam)

    show_refit(run, method=FAIR_TARIFF, lam=lam, ask=ask, show=show)


def _answer(comparison: Comparison, tariffs: pd.DataFrame, lam: float) -> str:
    """What this weight costs, and what it leaves, beside the GLM."""
    front, measure = comparison.front, comparison.measure
    chosen, glm = tariffs.loc[lam], tariffs.loc[0.0]
    symbol = REGISTRY[measure].symbol
    floor = chosen.get(f"{measure}_floor", np.nan)
    beside = f" (independence reads {floor:.3f})" if np.isfinite(floor) else ""
    error = "deviance" if front.error == "deviance" else "squared error"
    if lam == 0:
        return (
            f"At λ = 0 the tariff is a GLM: {error} {chosen[front.error]:.4g} of the average's, "
            f"{symbol} with {safe(comparison.sensitive_called)} {chosen[measure]:.3f}{beside}. Test rows."
        )
    cost = chosen[front.error] / glm[front.error] - 1
    return (
        f"At λ = {lam:g} the tariff's {error} is {chosen[front.error]:.4g} of the average's, {abs(cost):.2%} "
        f"{'above' if cost >= 0 else 'below'} the GLM's, and its {symbol} with "
        f"{safe(comparison.sensitive_called)} {chosen[measure]:.3f} instead of {glm[measure]:.3f}{beside}. "
        "Test rows."
    )


def _show_fitted(comparison: Comparison, run: Run, job: ModelJob, lam: float) -> None:
    before, after = job.tariffs()
    names = factors(after)
    factor = st.selectbox("Factor", names, format_func=safe, key=KEY("factor"))
    if factor is not None:
        chart(
            factor_figure(before, after, factor, theme=theme(), after_name=f"λ = {lam:g}"),
            key=KEY("curve"),
            alt=f"Relativities of {factor} at λ = 0 and at λ = {lam:g}, exposure behind.",
        )
    with st.expander(f"The table of relativities ({len(after)} rows)"):
        st.dataframe(after, hide_index=True)
    download_of(
        run,
        job.bundle,
        label=f"{title_of(lam)}: table of relativities (zip with XLSX and CSV)",
        name=f"fairdash-{run.id}-tariff.zip",
        mime="application/zip",
        key=KEY("bundle"),
    )
    show_cap(comparison, run, job)

    def price() -> pd.Series:
        # It loads scikit-learn, which the app's process does without until then.
        from fairdash.tariff.rating import rate

        return pd.Series(rate(after, dataset_of(run.spec.source).features))

    show_audit_of_tariff(run, price, title=f"{run.spec.source.title}, {title_of(lam)}")


def _start(comparison: Comparison, run: Run, tariffs: pd.DataFrame, lam: float) -> None:
    front, owner = comparison.front, current_owner()
    shown = [id for id in (front.error, *front.measures) if id in tariffs]
    note(run.folder, "asked for a tariff", who=owner, weight=f"λ = {lam:g}")
    start_model(
        run.spec.source,
        comparison.refit_plan,
        run=run.id,
        method=FAIR_TARIFF,
        lam=lam,
        figures={id: float(tariffs[id][lam]) for id in shown},
        owner=owner,
    )
