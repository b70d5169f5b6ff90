"""The two parts of the Patterns page, with estimators on patterns and on normal distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.lab import SHAPES, Scene, Truth
from fairdash.lab.estimates import coefficients, continuous_measures, is_detected, published_way, target_of
from fairdash.lab.figures.simulations import (
    QUANTITIES,
    curves_figure,
    fig2_figure,
    noise_axis_figure,
    power_figure,
    short_name,
)
from fairdash.lab.studies import Study, compared_measures
from fairdash.ui.frame import chart, presented, theme
from fairdash.ui.jobs import Tables, finished, follow, tables_so_far
from fairdash.ui.keys import Address, Keys
from fairdash.ui.patterns.gaussians import show_gaussians
from fairdash.ui.patterns.scene import (
    FEW,
    all_estimates,
    ask_for_scene,
    exact_of,
    follow_slow,
    learned_of,
    show_examples,
    show_failures,
    show_picture,
    slow_study,
)
from fairdash.ui.state import choose
from fairdash.ui.text import explain, in_lines
from fairdash.ui.widgets import download

KEY = Keys(__file__)


def show_part() -> None:
    """Show the title, a control that selects one of the two parts of the page, and the selected part.

    In presentation mode, the control is below the selected part, because above the title it would push the
    picture off the screen."""
    if presented():
        heading = body = st.container()
        container = st.container()
    else:
        heading, container = st.columns([3, 1], vertical_alignment="center")
        body = st.container()
    parts = {"patterns": "Patterns", "gaussians": "Gaussians"}
    part = choose("Part", parts, name=Address.PART, key=KEY("part"), container=container, hidden_label=True)
    if part == "gaussians":
        heading.title("Does χ² or mutual information bound the maximal correlation?")
        with body:
            show_gaussians()
    else:
        # The title's help text explains the symbols, because text on the page would leave less room for the
        # picture.
        heading.title("Which measure detects the link?", help=in_lines())
        with body:
            show_patterns()


def show_patterns() -> None:
    """Ask for simulated data (a “scene”). Show every estimator's value on these data, and further panels."""
    scene = ask_for_scene()
    if scene is None:
        show_examples(None)
        explain()
        return
    estimates, truth = all_estimates(scene), exact_of(scene)
    show_picture(scene, estimates, truth)
    follow_slow(scene)
    show_examples(scene)
    explain()
    show_more(scene, estimates, truth)
    show_take_away(scene, estimates, truth)


def show_more(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    """Show a control for further panels. Only selected panels are computed."""
    parts = {
        "Whole noise axis": lambda: show_noise_axis(scene),
        "The paper's four patterns": lambda: show_fig2(scene),
        "Learned f and g": lambda: show_curves(scene, truth),
        "How often detected": lambda: show_power(scene),
        "When each fails": show_failures,
        "All numbers": lambda: show_numbers(estimates, truth),
    }
    panel = st.segmented_control(
        "More", list(parts), default=next(iter(parts)), label_visibility="collapsed", key=KEY("more")
    )
    if panel is not None:
        parts[panel]()


def show_noise_axis(scene: Scene) -> None:
    ids, evaluation = ask_for_estimators("axis", coefficients())
    study = Study("noise_axis", replace(scene, noise=0.0))

    tables = _show_study(
        study,
        lambda tables: noise_axis_figure(
            tables["lines"],
            tables["exact"],
            ids=ids,
            evaluation=evaluation,
            noise=scene.noise,
            title="All noise levels",
            subtitle=f"{scene.n:,} rows, lines: means of 5 data sets, bands: lowest to highest",
            theme=theme(),
        ),
        needs=("lines", "exact"),
        key=KEY("noise-axis"),
        alt="Mean of each estimator against the noise, with the exact maximal correlation.",
    )
    if tables is not None:
        show_errors(tables)
        download(tables["values"], label="The noise axis (CSV)", name="noise-axis", key=KEY("csv-axis"))


def show_fig2(scene: Scene) -> None:
    quantity = st.segmented_control(
        "Quantity",
        list(QUANTITIES),
        format_func=lambda name: "Coefficients" if name == "hgr" else QUANTITIES[name].replace("m", "M", 1),
        default="hgr",
        required=True,
        label_visibility="collapsed",
        key=KEY("fig2-quantity"),
    )
    if quantity == "hgr":
        kind, offered_ids = "fig2", coefficients()
    else:
        kind, offered_ids = (
            "divergences",
            tuple(id for id in continuous_measures() if target_of(id) == quantity),
        )
    ids, evaluation = ask_for_estimators(f"fig2-{quantity}", offered_ids)
    study = Study(kind, Scene(n=scene.n, seed=scene.seed))

    if kind == "divergences" and finished(study) is None:
        st.caption("The networks for χ² and mutual information need one to three minutes with 500 rows.")
    tables = _show_study(
        study,
        lambda tables: fig2_figure(
            tables["lines"],
            tables["exact"],
            ids=ids,
            evaluation=evaluation,
            titles={id: SHAPES[id].title for id in SHAPES},
            quantity=quantity,
            subtitle=f"{scene.n:,} rows, means of 5 data sets; green: exact value",
            theme=theme(),
        ),
        needs=("lines", "exact"),
        key=KEY("fig2"),
        alt="Four panels, one per pattern: each estimator against the noise, with the exact value.",
    )
    if tables is not None:
        if kind == "fig2":
            show_errors(tables)
        name = f"four-patterns-{kind}"
        download(tables["values"], label="All four patterns (CSV)", name=name, key=KEY("csv-fig2"))


def show_power(scene: Scene) -> None:
    ids, _ = ask_for_estimators("power", compared_measures(), published=False)
    study = Study("power", replace(scene, noise=0.0))

    subtitle = f"{scene.n:,} rows per data set, at a false-alarm rate of 5 %; bands: 95 % intervals"
    tables = _show_study(
        study,
        lambda tables: power_figure(tables["power"], ids=ids, subtitle=subtitle, theme=theme()),
        needs=("power",),
        key=KEY("power"),
        alt="Share of data sets in which each estimator detects the link, against noise.",
    )
    if tables is None:
        return
    st.caption(
        "A link counts as detected if the estimate exceeds 95 % of the estimates on independent pairs (U of "
        "one data set with V of another). Slow estimators use fewer data sets, so their bands are wider."
    )
    download(tables["power"], label="Detection rates (CSV)", name="power", key=KEY("csv-power"))


def _show_study(
    study: Study, figure: Callable[[Tables], go.Figure], *, needs: Sequence[str], key: str, alt: str
) -> Tables | None:
    """Draw a study's figure as soon as its tables include `needs`. Return all tables at the end."""

    def show_tables(tables: Tables) -> None:
        if all(name in tables for name in needs):
            chart(figure(tables), key=key, alt=alt)

    tables = finished(study)
    if tables is None:
        follow(study, show_tables, slot="more")
    else:
        show_tables(tables)
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
    st.caption("Errors are differences from the exact value, over all noise levels and data sets.")


def ask_for_estimators(
    name: str, offered_ids: Sequence[str], *, published: bool = True
) -> tuple[list[str], str]:
    """Ask which estimators to draw, and whether in their published form or in the form that fairdash uses."""
    ids = st.pills(
        "Estimators",
        offered_ids,
        default=[id for id in offered_ids if id in FEW] or offered_ids,
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
        help="; ".join(
            f"{short_name(id)}: {method}" for id in offered_ids if (method := published_way(REGISTRY[id]))
        )
        + ".",
    )
    return list(ids), "published" if as_published else "ours"


def show_curves(scene: Scene, truth: Truth) -> None:
    curves = [learned_of(scene)]
    slow, _ = tables_so_far(slow_study(scene))
    if "curves" in slow:
        curves.append(slow["curves"])
    table = pd.concat([table for table in curves if len(table)] or curves, ignore_index=True)
    st.markdown(
        "Maximal correlation is the correlation of the two most correlated functions. The estimators learn "
        "these functions. For each pattern, the exact functions are known."
    )
    u, v = scene.draw()
    inner = slice(1, -1)  # With heavy tails, the ends of the range of U would be 0 and infinity.
    exact_f = (scene.scale_u(truth.u[inner]), truth.f[inner])
    panels = (("f", exact_f, u), ("g", (scene.scale_v(truth.v), truth.g), v))
    for container, (function, exact, rows) in zip(st.columns(2), panels, strict=True):
        with container:
            chart(
                curves_figure(
                    table,
                    exact,
                    function=function,
                    x_limits=(float(rows.min()), float(rows.max())),
                    subtitle=f"{scene.n:,} rows, σ = {scene.noise:g}",
                    log=scene.heavy_tails,
                    theme=theme(),
                ),
                key=KEY("curve", function),
                alt=f"The transformation {function}: exact, and as learned by the estimators.",
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
        alt="Value and noise floor of every estimator.",
    )
    st.caption(
        "To compute the noise floors, V is shuffled 39 times, or 19 times for slow estimators. To keep the "
        "slider quick, the noise floors of some quick estimators are computed at a nearby noise level, where "
        "they are nearly the same. For RDC, “as published” gives equal values their highest rank, like the "
        "Python port. The authors' R code averages the ranks of equal values, and so do we."
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
                "Above noise": is_detected(row["id"], row["value"], row["floor_q95"]),
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
            numbers_table(estimates, truth), label="Estimates (CSV)", name="readings", key=KEY("csv-readings")
        )
    with right:
        rows = pd.DataFrame({"U": u[0], "V": v[0]})
        download(rows, label="The rows (CSV)", name=f"{scene.pattern}-rows", key=KEY("csv-rows"))
    st.caption(
        "Share this link. People who open the link see the same pattern, rows, noise, ties, tails and draw."
    )
