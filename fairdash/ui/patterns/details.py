"""A scene's finer parts: learned functions, all numbers, and how to take them away."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.simulations import curves_figure
from fairdash.studies import Scene, Truth
from fairdash.studies.stack import is_detected, target_of
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.patterns.picture import slow_study
from fairdash.ui.simulations import learned_of
from fairdash.ui.studies import so_far

KEY = Keys(__file__)


def show_curves(scene: Scene, truth: Truth) -> None:
    curves = [learned_of(scene)]
    slow, _ = so_far(slow_study(scene))
    if "curves" in slow:
        curves.append(slow["curves"])
    table = pd.concat([one for one in curves if len(one)] or curves, ignore_index=True)
    st.markdown(
        "Maximal correlation asks for the two functions that are most correlated. "
        "An estimator learns them; the exact pair is known here."
    )
    u, v = scene.draw()
    inner = slice(1, -1)  # heavy tails would send the ends of U to 0 and to infinity
    exact_f = (scene.scale_u(truth.u[inner]), truth.f[inner])
    panels = (("f", exact_f, u), ("g", (scene.scale_v(truth.v), truth.g), v))
    for place, (function, exact, rows) in zip(st.columns(2), panels, strict=True):
        with place:
            chart(
                curves_figure(
                    table,
                    exact,
                    function=function,
                    reach=(float(rows.min()), float(rows.max())),
                    subtitle=f"{scene.n:,} rows, σ = {scene.noise:g}",
                    log=scene.heavy_tails,
                    theme=theme(),
                ),
                key=KEY("curve", function),
                alt=f"The transformation {function}: exact, and as the estimators have learned it.",
            )


def show_numbers(estimates: pd.DataFrame, truth: Truth) -> None:
    table = numbers_table(estimates, truth)
    digits = {
        name: st.column_config.NumberColumn(name, format="%.3f")
        for name in ("Reads", "Exact", "Noise floor", "Floor, 95 %", "As published")
    }
    st.dataframe(
        table,
        hide_index=True,
        column_config=digits,
        height="content",
        placeholder="–",
        alt="Every estimator's reading and floor.",
    )
    st.caption(
        "Floors come from shuffled V: 39 times, or 19 for the slow estimators. To keep the slider quick, "
        "those of quick estimators without a unit are taken at a nearby noise level, where they are the same "
        "up to chance. “As published” is for RDC a Python port's way with ties: the authors' R code averages "
        "them, as here."
    )


def numbers_table(estimates: pd.DataFrame, truth: Truth) -> pd.DataFrame:
    exact = {"hgr": truth.hgr, "chi2": truth.chi2, "mi": truth.mi}
    return pd.DataFrame(
        [
            {
                "Estimator": REGISTRY[row["id"]].title,
                "Reads": row["value"],
                "Exact": exact.get(target_of(row["id"]) or "", math.nan),
                "Noise floor": row["floor"],
                "Floor, 95 %": row["floor_q95"],
                "Told from noise": is_detected(row["id"], row["value"], row["floor_q95"]),
                "As published": row["published"],
                "0 means": REGISTRY[row["id"]].zero,
                "1 means": REGISTRY[row["id"]].one,
            }
            for row in estimates.to_dict("records")
        ]
    )


def show_take_away(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    st.subheader("Download")
    u, v = scene.draw()
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(
            numbers_table(estimates, truth), label="Readings (CSV)", name="readings", key=KEY("csv-readings")
        )
    with right:
        rows = pd.DataFrame({"U": u[0], "V": v[0]})
        download(rows, label="The rows (CSV)", name=f"{scene.pattern}-rows", key=KEY("csv-rows"))
    st.caption("Share the link: others see exactly this pattern, rows, noise, ties, tails and draw.")
