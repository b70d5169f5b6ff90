"""The estimators along the noise: studies that run beside the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.lab import short_name
from fairdash.figures.lab_curves import QUANTITIES, fig2_figure, noise_axis_figure, power_figure
from fairdash.studies import SHAPES, Scene
from fairdash.studies.power import compared
from fairdash.studies.stack import coefficients, published_way, studied, target_of
from fairdash.studies.store import Study
from fairdash.ui.frame import chart, download, theme
from fairdash.ui.studies import finished, follow


def show_noise_axis(scene: Scene) -> None:
    ids, evaluation = ask_for_estimators("axis", coefficients())
    study = Study("noise_axis", replace(scene, noise=0.0))

    def show(tables: Mapping[str, pd.DataFrame]) -> None:
        if "lines" not in tables or "exact" not in tables:
            return
        chart(
            noise_axis_figure(
                tables["lines"],
                tables["exact"],
                ids=ids,
                evaluation=evaluation,
                noise=scene.noise,
                title="The whole noise axis",
                subtitle=f"{scene.n:,} rows, lines: means of 5 data sets, bands: lowest to highest",
                theme=theme(),
            ),
            key="noise-axis",
            alt="Mean of each estimator against the noise, with the exact maximal correlation.",
        )

    tables = finished(study)
    if tables is None:
        follow(study, show, slot="more")
        return
    show(tables)
    show_errors(tables)
    download(tables["values"], label="The noise axis (CSV)", name="noise-axis", key="csv-axis")


def show_fig2(scene: Scene) -> None:
    quantity = st.segmented_control(
        "Quantity",
        list(QUANTITIES),
        format_func=lambda each: "Coefficients" if each == "hgr" else QUANTITIES[each].replace("m", "M", 1),
        default="hgr",
        required=True,
        label_visibility="collapsed",
        key="fig2-quantity",
    )
    if quantity == "hgr":
        kind, offered = "fig2", coefficients()
    else:
        kind, offered = "divergences", tuple(id for id in studied() if target_of(id) == quantity)
    ids, evaluation = ask_for_estimators(f"fig2-{quantity}", offered)
    study = Study(kind, Scene(n=scene.n, seed=scene.seed))

    def show(tables: Mapping[str, pd.DataFrame]) -> None:
        if "lines" not in tables or "exact" not in tables:
            return
        chart(
            fig2_figure(
                tables["lines"],
                tables["exact"],
                ids=ids,
                evaluation=evaluation,
                titles={id: SHAPES[id].title for id in SHAPES},
                quantity=quantity,
                subtitle=f"{scene.n:,} rows, means of 5 data sets; green: exact value",
                theme=theme(),
            ),
            key="fig2",
            alt="Four panels, one a pattern: each estimator against the noise, with the exact value.",
        )

    tables = finished(study)
    if tables is None:
        if kind == "divergences":
            st.caption("Networks for χ² and mutual information: one to three minutes with 500 rows.")
        follow(study, show, slot="more")
        return
    show(tables)
    if kind == "fig2":
        show_errors(tables)
    download(tables["values"], label="All four patterns (CSV)", name=f"four-patterns-{kind}", key="csv-fig2")


def show_power(scene: Scene) -> None:
    ids, _ = ask_for_estimators("power", compared(), published=False)
    study = Study("power", replace(scene, noise=0.0))

    def show(tables: Mapping[str, pd.DataFrame]) -> None:
        if "power" not in tables:
            return
        chart(
            power_figure(
                tables["power"],
                ids=ids,
                subtitle=f"{scene.n:,} rows a data set, at a false-alarm rate of 5 %; bands: 95 % intervals",
                theme=theme(),
            ),
            key="power",
            alt="Share of data sets in which each estimator detects the link, against noise.",
        )

    tables = finished(study)
    if tables is None:
        follow(study, show, slot="more")
        return
    show(tables)
    st.caption(
        "A link counts as detected when the estimator reads more than it does on at least 95 % of pairs made "
        "independent: the U of one data set with the V of another. Slow estimators have fewer data sets, and "
        "wider bands."
    )
    download(tables["power"], label="Detection rates (CSV)", name="power", key="csv-power")


def show_errors(tables: Mapping[str, pd.DataFrame]) -> None:
    table = tables["errors"].assign(square=tables["errors"]["rmse"] ** 2)
    table = table.groupby(["id", "evaluation"])[["bias", "square"]].mean().reset_index()
    table["square"] = np.sqrt(table["square"])
    fitted = table["id"].map(lambda id: REGISTRY[id].fitted)
    published = np.where(fitted, "on its own training rows", "as published")
    table["evaluation"] = np.where(table["evaluation"] == "ours", "as used here", published)
    table["id"] = table["id"].map(short_name)
    table.columns = pd.Index(["Estimator", "Way", "Bias", "Root mean squared error"])
    st.dataframe(
        table.sort_values("Root mean squared error").round(3),
        hide_index=True,
        width="content",
        alt="Bias and root mean squared error of each estimator of maximal correlation.",
    )
    st.caption("Errors against the exact value, over all noise levels and data sets.")


def ask_for_estimators(name: str, offered: Sequence[str], *, published: bool = True) -> tuple[list[str], str]:
    """Which lines to draw, and in which way."""
    ids = st.pills(
        "Estimators",
        offered,
        default=[id for id in offered if target_of(id) == "hgr"] or offered,
        selection_mode="multi",
        format_func=short_name,
        key=f"{name}-estimators",
        label_visibility="collapsed",
    )
    if not published:
        return list(ids), "ours"
    as_published = st.toggle(
        "As published",
        key=f"{name}-published",
        help="; ".join(f"{short_name(id)}: {way}" for id in offered if (way := published_way(REGISTRY[id])))
        + ".",
    )
    return list(ids), "published" if as_published else "ours"
