"""What every estimator reads on a scene: in a sentence, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from fairdash.dependence import REGISTRY
from fairdash.figures.estimates import Group
from fairdash.figures.simulations import short_name
from fairdash.reports.noise_stage import NOISES, Noise, stage_of
from fairdash.simulations import SCENES, Scene, Truth
from fairdash.simulations.estimates import is_detected, studied, target_of
from fairdash.simulations.studies import Study
from fairdash.ui.frame import theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.patterns.controls import show_hint
from fairdash.ui.simulations import along_noise_of, estimates_of
from fairdash.ui.stage import show_stage
from fairdash.ui.studies import finished, follow, so_far
from fairdash.ui.text import number, safe

KEY = Keys(__file__)

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
    """The answer, and below it the stage: rows and readings that follow the noise under the hand."""
    st.markdown(answer(estimates, truth))
    show_hint(scene)
    every = st.session_state.get(Address.ESTIMATORS, False)
    ids = studied() if every else few(scene)
    bounded = [id for id in ids if REGISTRY[id].upper == 1]

    def let_go(at: int) -> None:
        st.session_state[Address.NOISE] = NOISES[at]

    data = stage_of(scene, levels_of(scene, bounded, estimates), theme=theme())
    show_stage(data, key=KEY("stage"), on_release=let_go)
    show_unbounded(estimates, [id for id in ids if REGISTRY[id].upper != 1], truth)
    st.toggle(f"All {len(studied())} estimators", key=Address.ESTIMATORS, bind="query-params")


def levels_of(scene: Scene, ids: Sequence[str], estimates: pd.DataFrame) -> list[Noise]:
    """What estimators read at each stop of the noise; at the scene's own that is `estimates`.

    The slow ones are known there alone.
    """
    quick = [id for id in ids if REGISTRY[id].quick]
    along = along_noise_of(scene, quick)
    return [
        Noise(
            estimates=estimates if noise == scene.noise else table,
            groups=groups_of(ids, hgr),
        )
        for noise, (hgr, table) in zip(NOISES, along, strict=True)
    ]


def few(scene: Scene) -> list[str]:
    """The estimators that are shown at first: four, and those that this scene is an example of."""
    told_of = {id for each in SCENES if each.scene == scene for id in (each.measure, *each.also)}
    return [id for id in studied() if id in {*FEW, *told_of}]


def groups_of(ids: Sequence[str], exact: float) -> list[Group]:
    """Estimators that lie between 0 and 1, by what they estimate; `exact` is the maximal correlation."""
    hgr = [id for id in ids if target_of(id) == "hgr"]
    return [
        Group("Maximal correlation", hgr, exact),
        Group("Other coefficients", [id for id in ids if id not in hgr]),
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
