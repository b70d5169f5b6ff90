"""Association patterns: which measure sees the link?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError
from fairdash.figures.lab import curves_figure, scatter_figure, short_name
from fairdash.figures.lab_curves import fig2_figure, noise_axis_figure, power_figure
from fairdash.figures.lab_readings import Group, readings_figure
from fairdash.studies import SCENES, SHAPES, Scene, Truth
from fairdash.studies.power import compared
from fairdash.studies.scene import POINTS
from fairdash.studies.stack import coefficients, is_detected, published_way, studied, target_of
from fairdash.studies.store import Study
from fairdash.ui.frame import chart, download, show_problems, theme
from fairdash.ui.lab import (
    exact_of,
    learned_of,
    points_from_address,
    points_to_address,
    readings_of,
)
from fairdash.ui.studies import finished, follow, so_far
from fairdash.ui.text import number, safe

ROWS = (50, 100, 200, 500, 1000, 2000)
DEFAULT = Scene()
HEIGHT = 500
AXIS, FIG2, CURVES, POWER, FAILS, NUMBERS = (
    "Whole noise axis",
    "The paper's four patterns",
    "Learned f and g",
    "How often detected",
    "When each fails",
    "All numbers",
)


def ask_for_scene() -> Scene | None:
    """The controls; None, with the reason shown, if the points make no curve."""
    left, middle, right = st.columns([2, 1.2, 2])
    pattern = ask_for_pattern(left)
    n = middle.select_slider("Rows, n", ROWS, value=DEFAULT.n, key="n", bind="query-params")
    noise = right.slider(
        "Noise, σ",
        0.0,
        10.0,
        DEFAULT.noise,
        0.25,
        key="noise",
        bind="query-params",
        help="Standard deviation of ε, in the units of V. F takes values between about −5 and 10.",
    )
    formula, more = st.columns([4, 1], vertical_alignment="center")
    with more.popover("More options", icon=":material/tune:"):
        ties = st.slider(
            "Share of rows on which U is exactly 0",
            0.0,
            0.95,
            DEFAULT.ties,
            0.05,
            key="ties",
            bind="query-params",
            help="As with claims, most of which are zero. Ties trip estimators that rank rows.",
        )
        seed = st.number_input("Draw number", 0, 9999, DEFAULT.seed, key="draw", bind="query-params")
        st.caption("Another number draws other rows from the same law.")
    points = ask_for_points() if pattern == POINTS else ()
    try:
        scene = Scene(pattern=pattern, points=points, n=n, noise=noise, ties=ties, seed=int(seed))
        named = scene.named
    except FairdashError as error:
        show_problems(error)
        return None
    with formula:
        st.latex(rf"V = F(U) + \varepsilon, \qquad F(u) = {named.formula}")
    return scene


def ask_for_pattern(place: DeltaGenerator) -> str:
    """Which pattern; its id is kept in the address (a bound selectbox would keep its title there)."""
    options = [*SHAPES, POINTS]
    if "pattern" not in st.session_state:
        asked = st.query_params.get("pattern")
        st.session_state["pattern"] = asked if asked in options else DEFAULT.pattern
    pattern = place.selectbox(
        "Pattern",
        options,
        format_func=lambda each: "Your own points" if each == POINTS else SHAPES[each].title,
        key="pattern",
    )
    if st.query_params.get("pattern", DEFAULT.pattern) != pattern:
        st.query_params["pattern"] = pattern
    if pattern != POINTS and "points" in st.query_params:
        del st.query_params["points"]
    return pattern


def ask_for_points() -> tuple[tuple[float, float], ...]:
    """A small table of points that straight lines join; kept in the address."""
    if "points_begin" not in st.session_state:
        st.session_state["points_begin"] = points_from_address()
    begin = pd.DataFrame(st.session_state["points_begin"], columns=["u", "F(u)"], dtype=float)
    edited = st.data_editor(
        begin,
        num_rows="dynamic",
        hide_index=True,
        width="content",
        column_config={
            "u": st.column_config.NumberColumn("u, from −10 to 10", min_value=-10, max_value=10),
            "F(u)": st.column_config.NumberColumn("F(u)", min_value=-100, max_value=100),
        },
        key="points",
    )
    st.caption("Change a number, add a row at the bottom, or mark rows to delete them.")
    points = tuple((float(u), float(f)) for u, f in edited.dropna().itertuples(index=False))
    points_to_address(points)
    return points


def slow_study(scene: Scene) -> Study:
    return Study("scene", scene)


def all_readings(scene: Scene) -> tuple[pd.DataFrame, bool]:
    """What every estimator reads; whether the slow ones are among them."""
    quick = readings_of(scene)
    if not studied(quick=False):
        return quick, True
    slow, done = so_far(slow_study(scene))
    if "readings" not in slow or slow["readings"].empty:
        return quick, done
    table = pd.concat([quick, slow["readings"]], ignore_index=True)
    order = {id: place for place, id in enumerate(REGISTRY)}
    return table.sort_values("id", key=lambda ids: ids.map(order), ignore_index=True), done


def answer(readings: pd.DataFrame, truth: Truth) -> str:
    """What was found, in words that fit."""
    detected = {row.id for row in readings.itertuples() if is_detected(str(row.id), row.value, row.floor_q95)}
    count = len(readings)
    if truth.hgr == 0:
        names = ", ".join(safe(short_name(id)) for id in readings["id"] if id in detected)
        alarm = f"{len(detected)} of {count} see one all the same ({names})" if detected else "none sees one"
        return (
            f"**There is no link, and {alarm}.** One estimator in twenty may pass the edge of its noise "
            "floor by chance."
        )
    hgr = readings[readings["id"].map(lambda id: target_of(id) == "hgr")]
    gaps = (hgr.set_index("id")["value"] - truth.hgr).abs()
    near, far = gaps.idxmin(), gaps.idxmax()
    values = hgr.set_index("id")["value"]
    blind = [safe(short_name(id)) for id in readings["id"] if id not in detected]
    seen = f"{len(detected)} of {count} estimators tell the link from noise"
    rest = f"; {', '.join(blind)} can't" if blind else ""
    return (
        f"**{seen}{rest}.** The exact maximal correlation is {truth.hgr:.2f}: {safe(short_name(near))} comes "
        f"nearest with {values[near]:.2f}, {safe(short_name(far))} stays farthest off with {values[far]:.2f}."
    )


def groups_of(readings: pd.DataFrame, truth: Truth) -> tuple[list[Group], list[Group]]:
    """Estimators on a scale from 0 to 1, and those that have no upper end."""
    ids = studied()
    bounded = [id for id in ids if REGISTRY[id].upper == 1]
    hgr = [id for id in bounded if target_of(id) == "hgr"]
    others = [id for id in bounded if target_of(id) != "hgr"]
    open_ended = [id for id in ids if REGISTRY[id].upper != 1]
    exact = {
        id: {"chi2": truth.chi2, "mi": truth.mi}[target_of(id) or ""] for id in open_ended if target_of(id)
    }
    by_id = readings.set_index("id")
    scales = {}
    for id in open_ended:
        sizes = [exact.get(id, 0.0)]
        if id in by_id.index:
            sizes += list(by_id.loc[id, ["value", "floor_q95", "published"]].astype(float))
        finite = [size for size in sizes if math.isfinite(size)]
        scales[id] = max([*finite, 1e-6])
    return (
        [
            Group("Maximal correlation (HGR)", hgr, dict.fromkeys(hgr, truth.hgr), {}),
            Group("Other coefficients", others, {}, {}),
        ],
        [Group("Each bar on a scale of its own", open_ended, exact, scales)],
    )


def show_picture(scene: Scene, readings: pd.DataFrame, truth: Truth) -> None:
    u, v = scene.draw()
    named = scene.named
    grid = np.linspace(-10, 10, 801)
    bounded, open_ended = groups_of(readings, truth)
    left, right = st.columns([1, 1.15])
    with left:
        chart(
            scatter_figure(
                u[0],
                v[0],
                (grid, named(grid)),
                title=named.title,
                subtitle=f"{scene.n:,} rows, noise σ = {scene.noise:g}"
                + (f", U = 0 on {scene.ties:.0%}" if scene.ties else ""),
                theme=theme(),
                height=HEIGHT,
            ),
            key="scatter",
            alt=f"Scatter of V against U: {named.title}, noise {scene.noise:g}, {scene.n} rows.",
        )
    with right:
        chart(
            readings_figure(
                readings,
                bounded,
                title="What each estimator reads",
                subtitle="grey: noise floor, 95 % of shuffled data · ◇ as published",
                theme=theme(),
                height=HEIGHT,
            ),
            key="readings",
            alt=spoken(readings, [id for group in bounded for id in group.ids], truth),
        )
    left, right = st.columns([1, 1.15])
    with left:
        rows = sum(len(group.ids) for group in open_ended)
        chart(
            readings_figure(
                readings,
                open_ended,
                title="Measures without an upper end",
                subtitle="mutual information in nats, FairQuant in units of V",
                theme=theme(),
                height=120 + 36 * rows,
            ),
            key="open-ended",
            alt=spoken(readings, [id for group in open_ended for id in group.ids], truth),
        )
    with right:
        show_examples(scene)


def spoken(readings: pd.DataFrame, ids: Sequence[str], truth: Truth) -> str:
    """The bars in words."""
    rows = readings[readings["id"].isin(ids)]
    parts = [
        f"{short_name(row.id)} {number(row.value)}, floor {number(row.floor_q95)}"
        for row in rows.itertuples()
    ]
    return f"Estimators with their noise floors: {'; '.join(parts)}. Exact HGR {number(truth.hgr)}."


def go_to(scene: Scene) -> None:
    st.session_state["pattern"] = scene.pattern
    st.session_state["n"] = scene.n
    st.session_state["noise"] = scene.noise
    st.session_state["ties"] = scene.ties
    st.session_state["draw"] = scene.seed


def show_examples(scene: Scene) -> None:
    """One click to a scene on which an estimator fails."""
    with st.container(border=True):
        st.markdown("##### See an estimator fail")
        with st.container(horizontal=True):
            for each in SCENES:
                name = short_name(each.measure) if each.measure in REGISTRY else "HGR_NN"
                st.button(
                    f"{safe(name)}: {each.button}",
                    key=f"example-{each.measure}",
                    on_click=go_to,
                    args=(each.scene,),
                    type="primary" if each.scene == scene else "secondary",
                )
        st.caption("Each button sets the controls above. Then move them: when does the estimator recover?")


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
        default=[id for id in offered if target_of(id) == "hgr"],
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


def show_fig2(scene: Scene) -> None:
    ids, evaluation = ask_for_estimators("fig2", coefficients())
    study = Study("fig2", Scene(n=scene.n, seed=scene.seed))

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
                subtitle=f"{scene.n:,} rows, means of 5 data sets; green: exact value",
                theme=theme(),
            ),
            key="fig2",
            alt="Four panels, one a pattern: each estimator against the noise, with the exact value.",
        )

    tables = finished(study)
    if tables is None:
        follow(study, show, slot="more")
        return
    show(tables)
    show_errors(tables)
    download(tables["values"], label="All four patterns (CSV)", name="four-patterns", key="csv-fig2")


def show_curves(scene: Scene, truth: Truth) -> None:
    curves = [learned_of(scene)]
    slow, _ = so_far(slow_study(scene))
    if "curves" in slow:
        curves.append(slow["curves"])
    table = pd.concat([one for one in curves if len(one)] or curves, ignore_index=True)
    st.markdown(
        "Maximal correlation asks for the two functions whose values go together best. "
        "An estimator learns them; the exact pair is known here."
    )
    u, v = scene.draw()
    panels = (("f", (truth.u, truth.f), u), ("g", (truth.v, truth.g), v))
    for place, (function, exact, rows) in zip(st.columns(2), panels, strict=True):
        with place:
            chart(
                curves_figure(
                    table,
                    exact,
                    function=function,
                    reach=(float(rows.min()), float(rows.max())),
                    subtitle=f"{scene.n:,} rows, σ = {scene.noise:g}",
                    theme=theme(),
                ),
                key=f"curve-{function}",
                alt=f"The transformation {function}: exact, and as the estimators have learned it.",
            )


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


def show_failures() -> None:
    examples = {id: each for each in reversed(SCENES) for id in (*each.also, each.measure)}
    for id, measure in REGISTRY.items():
        left, right = st.columns([4, 1], vertical_alignment="center")
        words = safe(measure.fails_when)
        left.markdown(f"**{safe(measure.title)}** misleads when: {words[:1].lower()}{words[1:]}")
        if id in examples:
            right.button(
                "Show me",
                key=f"fails-{id}",
                on_click=go_to,
                args=(examples[id].scene,),
                icon=":material/visibility:",
            )


def numbers_table(readings: pd.DataFrame, truth: Truth) -> pd.DataFrame:
    exact = {"hgr": truth.hgr, "chi2": truth.chi2, "mi": truth.mi}
    return pd.DataFrame(
        [
            {
                "Estimator": REGISTRY[row.id].title,
                "Reads": row.value,
                "Exact": exact.get(target_of(row.id) or "", math.nan),
                "Noise floor": row.floor,
                "Floor, 95 %": row.floor_q95,
                "Told from noise": is_detected(row.id, row.value, row.floor_q95),
                "As published": row.published,
                "0 means": REGISTRY[row.id].zero,
                "1 means": REGISTRY[row.id].one,
            }
            for row in readings.itertuples()
        ]
    )


def show_numbers(readings: pd.DataFrame, truth: Truth) -> None:
    table = numbers_table(readings, truth)
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
        "up to chance."
    )


def show_more(scene: Scene, readings: pd.DataFrame, truth: Truth) -> None:
    shown = st.segmented_control(
        "More",
        [AXIS, FIG2, CURVES, POWER, FAILS, NUMBERS],
        default=AXIS,
        label_visibility="collapsed",
        key="more",
    )
    if shown == AXIS:
        show_noise_axis(scene)
    elif shown == FIG2:
        show_fig2(scene)
    elif shown == CURVES:
        show_curves(scene, truth)
    elif shown == POWER:
        show_power(scene)
    elif shown == FAILS:
        show_failures()
    elif shown == NUMBERS:
        show_numbers(readings, truth)


def show_take_away(scene: Scene, readings: pd.DataFrame, truth: Truth) -> None:
    st.subheader("Take it away")
    u, v = scene.draw()
    left, right, _ = st.columns([1, 1, 2])
    with left:
        download(numbers_table(readings, truth), label="Readings (CSV)", name="readings", key="csv-readings")
    with right:
        rows = pd.DataFrame({"U": u[0], "V": v[0]})
        download(rows, label="The rows (CSV)", name=f"{scene.pattern}-rows", key="csv-rows")
    st.caption(
        "The page's address holds pattern, rows, noise and draw: send it, and the other sees the same."
    )


def show(scene: Scene, answer_place: DeltaGenerator) -> None:
    readings, complete = all_readings(scene)
    truth = exact_of(scene)
    with answer_place:
        st.markdown(answer(readings, truth))
        example = next((each for each in SCENES if each.scene == scene), None)
        if example is not None:
            st.info(example.look_at, icon=":material/visibility:")
    show_picture(scene, readings, truth)
    if not complete:
        st.caption("The neural estimators follow: they are trained beside the page.")
        follow(slow_study(scene), None, slot="scene")
    show_more(scene, readings, truth)
    show_take_away(scene, readings, truth)


st.title("Which measure sees the link?")
place = st.container()
chosen = ask_for_scene()
if chosen is not None:
    show(chosen, place)
