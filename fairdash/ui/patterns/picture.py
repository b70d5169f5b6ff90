"""What every estimator reads on a scene: in a sentence, and as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.estimates import Group, estimates_figure
from fairdash.figures.simulations import scatter_figure, short_name
from fairdash.studies import Scene, Truth
from fairdash.studies.stack import is_detected, studied, target_of
from fairdash.studies.store import Study
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.patterns.examples import show_examples
from fairdash.ui.simulations import estimates_of
from fairdash.ui.studies import finished, follow, so_far
from fairdash.ui.text import number, safe

KEY = Keys(__file__)

HEIGHT = 500


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
    blind = [safe(short_name(id)) for id in estimates["id"] if id not in detected]
    seen = f"{len(detected)} of {count} estimators tell the link from noise"
    rest = f"; {', '.join(blind)} can't" if blind else ""
    return (
        f"**{seen}{rest}.** The exact maximal correlation is {truth.hgr:.2f}: {safe(short_name(near))} comes "
        f"nearest with {values[near]:.2f}, {safe(short_name(far))} stays farthest off with {values[far]:.2f}."
    )


def follow_slow(scene: Scene) -> None:
    """Train the slow estimators beside the page, unless they are there."""
    if finished(slow_study(scene)) is None:
        st.caption("The neural estimators follow: they are trained beside the page.")
        follow(slow_study(scene), None, slot="scene")


def show_picture(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    u, v = scene.draw()
    named = scene.named
    # Without its ends, which heavy tails would send to 0 and to infinity, and as far as there are rows.
    grid = np.linspace(-10, 10, 801)[1:-1]
    if scene.heavy_tails:
        grid = grid[scene.scale_u(grid) <= u.max()]
    bounded, open_ended = groups_of(estimates, truth)
    left, right = st.columns([1, 1.15])
    with left:
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
    with right:
        chart(
            estimates_figure(
                estimates,
                bounded,
                title="What each estimator reads",
                subtitle="grey: noise floor, 95 % of shuffled data · ◇ as published",
                theme=theme(),
                height=HEIGHT,
            ),
            key=KEY("readings"),
            alt=spoken(estimates, [id for group in bounded for id in group.ids], truth),
        )
    left, right = st.columns([1, 1.15])
    with left:
        rows = sum(len(group.ids) for group in open_ended)
        chart(
            estimates_figure(
                estimates,
                open_ended,
                title="Unbounded measures",
                subtitle="mutual information in nats, FairQuant in units of V",
                theme=theme(),
                height=120 + 36 * rows,
            ),
            key=KEY("open-ended"),
            alt=spoken(estimates, [id for group in open_ended for id in group.ids], truth),
        )
    with right:
        show_examples(scene)


def groups_of(estimates: pd.DataFrame, truth: Truth) -> tuple[list[Group], list[Group]]:
    """Estimators on a scale from 0 to 1, and those that have no upper end."""
    ids = studied()
    bounded = [id for id in ids if REGISTRY[id].upper == 1]
    hgr = [id for id in bounded if target_of(id) == "hgr"]
    others = [id for id in bounded if target_of(id) != "hgr"]
    open_ended = [id for id in ids if REGISTRY[id].upper != 1]
    exact = {
        id: {"chi2": truth.chi2, "mi": truth.mi}[target_of(id) or ""] for id in open_ended if target_of(id)
    }
    by_id = estimates.set_index("id")
    scales = {}
    for id in open_ended:
        sizes = [exact.get(id, 0.0)]
        if id in by_id.index:
            sizes += [float(by_id[name][id]) for name in ("value", "floor_q95", "published")]
        finite = [size for size in sizes if math.isfinite(size)]
        scales[id] = max([*finite, 1e-6])
    return (
        [
            Group("Maximal correlation", hgr, dict.fromkeys(hgr, truth.hgr), {}),
            Group("Other coefficients", others, {}, {}),
        ],
        [Group("Each bar on a scale of its own", open_ended, exact, scales)],
    )


def spoken(estimates: pd.DataFrame, ids: Sequence[str], truth: Truth) -> str:
    """The bars in words."""
    rows = estimates[estimates["id"].isin(ids)].to_dict("records")
    parts = [
        f"{short_name(row['id'])} {number(row['value'])}, floor {number(row['floor_q95'])}" for row in rows
    ]
    return f"Estimators with their noise floors: {'; '.join(parts)}. Exact HGR {number(truth.hgr)}."
