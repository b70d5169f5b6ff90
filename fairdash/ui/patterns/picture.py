"""What every estimator reads on a scene: in a sentence, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.estimates import Group, estimates_figure
from fairdash.figures.simulations import scatter_figure, short_name
from fairdash.studies import SCENES, Scene, Truth
from fairdash.studies.stack import is_detected, studied, target_of
from fairdash.studies.store import Study
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.patterns.examples import show_hint
from fairdash.ui.simulations import estimates_of
from fairdash.ui.studies import finished, follow, so_far
from fairdash.ui.text import number, safe

KEY = Keys(__file__)

HEIGHT = 420
#: Points that F is drawn from: fifty a wave where there are forty.
POINTS_OF_F = 2001
#: The estimators that are shown at first.
FEW = ("pearson", "hgr_kde", "hgr_nn", "hgr_spline")


def all_estimates(scene: Scene) -> pd.DataFrame:
    """What every estimator reads, the slow ones as far as they are."""
    quick = estimates_of(scene)
    slow, _ = so_far(slow_study(scene))
    if "readings" not in slow or slow["readings"].empty:
        return quick
    table = pd.concat([quick, slow["readings"]], ignore_index=True)
    order = {id: place for place, id in enumerate(REGISTRY)}
    return table.sort_values("id", key=lambda ids: ids.map(order), ignore_index=True)


def slow_study(scene: Scene) -> Study:
    return Study("scene", scene)


def answer(estimates: pd.DataFrame, truth: Truth) -> str:
    """What was found, in words that fit."""
    rows = estimates.to_dict("records")
    detected = {row["id"] for row in rows if is_detected(row["id"], row["value"], row["floor_q95"])}
    count = len(estimates)
    if truth.hgr == 0:
        names = ", ".join(safe(short_name(id)) for id in estimates["id"] if id in detected)
        alarm = f"{len(detected)} of {count} see one all the same ({names})" if detected else "none sees one"
        return (
            f"**There is no link, and {alarm}.** One estimator in twenty may pass the edge of its noise "
            "floor by chance."
        )
    hgr = estimates[estimates["id"].map(lambda id: target_of(id) == "hgr")]
    gaps = (hgr.set_index("id")["value"] - truth.hgr).abs()
    near, far = str(gaps.idxmin()), str(gaps.idxmax())
    values = hgr.set_index("id")["value"]
    seeing, blind = (
        [safe(short_name(id)) for id in estimates["id"] if (id in detected) is sees] for sees in (True, False)
    )
    if seeing and len(seeing) < len(blind):
        seen = f"{len(seeing)} of {count} estimators tell the link from noise: {', '.join(seeing)}"
    else:
        seen = f"{len(seeing)} of {count} estimators tell the link from noise"
        seen += f"; {', '.join(blind)} can't" if blind else ""
    return (
        f"**{seen}.** The exact maximal correlation is {truth.hgr:.2f}: {safe(short_name(near))} comes "
        f"nearest with {values[near]:.2f}, {safe(short_name(far))} stays farthest off with {values[far]:.2f}."
    )


def follow_slow(scene: Scene) -> None:
    """Train the slow estimators beside the page, unless they are there."""
    if finished(slow_study(scene)) is None:
        st.caption("The neural estimators follow: they are trained beside the page.")
        follow(slow_study(scene), None, slot="scene")


def show_picture(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    """The rows, and beside them the answer with what the estimators read."""
    left, right = st.columns([1, 1.15])
    with left:
        show_rows(scene)
    with right:
        st.markdown(answer(estimates, truth))
        show_hint(scene)
        every = st.session_state.get(Address.ESTIMATORS, False)
        ids = studied() if every else few(scene)
        bounded = groups_of(ids, truth)
        chart(
            estimates_figure(
                estimates,
                bounded,
                title="What each estimator reads",
                subtitle="grey: noise floor, 95 % of shuffled data · ◇ as published",
                theme=theme(),
            ),
            key=KEY("readings"),
            alt=spoken(estimates, [id for group in bounded for id in group.ids], truth),
        )
        show_unbounded(estimates, [id for id in ids if REGISTRY[id].upper != 1], truth)
        st.toggle(f"All {len(studied())} estimators", key=Address.ESTIMATORS, bind="query-params")


def show_rows(scene: Scene) -> None:
    u, v = scene.draw()
    named = scene.named
    # Without its ends, which heavy tails would send to 0 and to infinity, and as far as there are rows.
    grid = np.linspace(-10, 10, POINTS_OF_F)[1:-1]
    if scene.heavy_tails:
        grid = grid[scene.scale_u(grid) <= u.max()]
    chart(
        scatter_figure(
            u[0],
            v[0],
            (scene.scale_u(grid), scene.scale_v(named(grid))),
            title=named.title,
            subtitle=f"{scene.n:,} rows, noise σ = {scene.noise:g}"
            + (f", U tied on {scene.ties:.0%}" if scene.ties else "")
            + (", heavy tails" if scene.heavy_tails else ""),
            theme=theme(),
            height=HEIGHT,
        ),
        key=KEY("scatter"),
        alt=f"Scatter of V against U: {named.title}, noise {scene.noise:g}, {scene.n} rows.",
    )


def few(scene: Scene) -> list[str]:
    """The estimators that are shown at first: four, and those that this scene is an example of."""
    told_of = {id for each in SCENES if each.scene == scene for id in (each.measure, *each.also)}
    return [id for id in studied() if id in {*FEW, *told_of}]


def groups_of(ids: Sequence[str], truth: Truth) -> list[Group]:
    """Those of the estimators that lie between 0 and 1, by what they estimate."""
    bounded = [id for id in ids if REGISTRY[id].upper == 1]
    hgr = [id for id in bounded if target_of(id) == "hgr"]
    return [
        Group("Maximal correlation", hgr, truth.hgr),
        Group("Other coefficients", [id for id in bounded if id not in hgr]),
    ]


def show_unbounded(estimates: pd.DataFrame, ids: Sequence[str], truth: Truth) -> None:
    """Measures without an upper end, as numbers: no common scale could compare them."""
    rows = estimates[estimates["id"].isin(ids)].to_dict("records")
    if not rows:
        return
    exact = {"chi2": truth.chi2, "mi": truth.mi}
    table = [
        {
            "No upper end": short_name(row["id"]),
            "Reads": number(row["value"]),
            "Floor, 95 %": number(row["floor_q95"]),
            "Exact": number(exact[target]) if (target := target_of(row["id"]) or "") in exact else "–",
            "As published": number(row["published"]) if pd.notna(row["published"]) else "–",
        }
        for row in rows
    ]
    st.dataframe(pd.DataFrame(table), hide_index=True, height="content", alt="Measures without an upper end.")
    st.caption("Mutual information in nats, FairQuant in units of V.")


def spoken(estimates: pd.DataFrame, ids: Sequence[str], truth: Truth) -> str:
    """The bars in words."""
    rows = estimates[estimates["id"].isin(ids)].to_dict("records")
    parts = [
        f"{short_name(row['id'])} {number(row['value'])}, floor {number(row['floor_q95'])}" for row in rows
    ]
    return f"Estimators with their noise floors: {'; '.join(parts)}. Exact HGR {number(truth.hgr)}."
