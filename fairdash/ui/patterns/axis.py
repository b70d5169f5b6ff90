"""The estimators along the noise: studies that run beside the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.simulation_curves import QUANTITIES, fig2_figure, noise_axis_figure, power_figure
from fairdash.figures.simulations import short_name
from fairdash.studies import SHAPES, Scene
from fairdash.studies.power import compared
from fairdash.studies.stack import coefficients, published_way, studied, target_of
from fairdash.studies.store import Study
from fairdash.ui.files import download
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.patterns.picture import FEW
from fairdash.ui.studies import Tables, finished, follow

KEY = Keys(__file__)


def show_noise_axis(scene: Scene) -> None:
    ids, evaluation = ask_for_estimators("axis", coefficients())
    study = Study("noise_axis", replace(scene, noise=0.0))

    def draw(tables: Tables) -> None:
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
            key=KEY("noise-axis"),
            alt="Mean of each estimator against the noise, with the exact maximal correlation.",
        )

    tables = _drawn(study, draw, needs=("lines", "exact"))
    if tables is not None:
        show_errors(tables)
        download(tables["values"], label="The noise axis (CSV)", name="noise-axis", key=KEY("csv-axis"))


def show_fig2(scene: Scene) -> None:
    quantity = st.segmented_control(
        "Quantity",
        list(QUANTITIES),
        format_func=lambda each: "Coefficients" if each == "hgr" else QUANTITIES[each].replace("m", "M", 1),
        default="hgr",
        required=True,
        label_visibility="collapsed",
        key=KEY("fig2-quantity"),
    )
    if quantity == "hgr":
        kind, offered = "fig2", coefficients()
    else:
        kind, offered = "divergences", tuple(id for id in studied() if target_of(id) == quantity)
    ids, evaluation = ask_for_estimators(f"fig2-{quantity}", offered)
    study = Study(kind, Scene(n=scene.n, seed=scene.seed))

    def draw(tables: Tables) -> None:
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
            key=KEY("fig2"),
            alt="Four panels, one a pattern: each estimator against the noise, with the exact value.",
        )

    if kind == "divergences" and finished(study) is None:
        st.caption("Networks for χ² and mutual information: one to three minutes with 500 rows.")
    tables = _drawn(study, draw, needs=("lines", "exact"))
    if tables is not None:
        if kind == "fig2":
            show_errors(tables)
        name = f"four-patterns-{kind}"
        download(tables["values"], label="All four patterns (CSV)", name=name, key=KEY("csv-fig2"))


def show_power(scene: Scene) -> None:
    ids, _ = ask_for_estimators("power", compared(), published=False)
    study = Study("power", replace(scene, noise=0.0))

    def draw(tables: Tables) -> None:
        chart(
            power_figure(
                tables["power"],
                ids=ids,
                subtitle=f"{scene.n:,} rows a data set, at a false-alarm rate of 5 %; bands: 95 % intervals",
                theme=theme(),
            ),
            key=KEY("power"),
            alt="Share of data sets in which each estimator detects the link, against noise.",
        )

    tables = _drawn(study, draw, needs=("power",))
    if tables is None:
        return
    st.caption(
        "A link counts as detected when the estimator reads more than it does on at least 95 % of pairs made "
        "independent: the U of one data set with the V of another. Slow estimators have fewer data sets, and "
        "wider bands."
    )
    download(tables["power"], label="Detection rates (CSV)", name="power", key=KEY("csv-power"))


def _drawn(study: Study, draw: Callable[[Tables], None], *, needs: Sequence[str]) -> Tables | None:
    """Draw a study as far as it is, once it has the tables that this `needs`; all of them if it is done."""

    def show(tables: Tables) -> None:
        if all(name in tables for name in needs):
            draw(tables)

    tables = finished(study)
    if tables is None:
        follow(study, show, slot="more")
    else:
        show(tables)
    return tables


def show_errors(tables: Tables) -> None:
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
        default=[id for id in offered if id in FEW] or offered,
        selection_mode="multi",
        format_func=short_name,
        key=KEY("estimators", name),
        label_visibility="collapsed",
    )
    if not published:
        return list(ids), "ours"
    as_published = st.toggle(
        "As published or ported",
        key=KEY("published", name),
        help="; ".join(f"{short_name(id)}: {way}" for id in offered if (way := published_way(REGISTRY[id])))
        + ".",
    )
    return list(ids), "published" if as_published else "ours"
