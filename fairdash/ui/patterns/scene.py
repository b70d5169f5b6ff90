"""Panel for simulated data (a “scene”) with controls, whose values are in the address, and estimates.

The panel also has buttons for scenes on which an estimator fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.dependence import REGISTRY
from fairdash.dependence.exact import pattern_hgr
from fairdash.errors import FairdashError
from fairdash.lab import SCENES, SHAPES, Scene, Truth, scene_estimates, truth_of
from fairdash.lab.estimates import (
    COLUMNS,
    along_noise,
    continuous_measures,
    floors_of,
    is_detected,
    learned_curves,
    target_of,
)
from fairdash.lab.figures.estimates import Group
from fairdash.lab.figures.simulations import short_name
from fairdash.lab.noise_stage import NOISES, Noise, stage_of
from fairdash.lab.scene import POINTS
from fairdash.lab.studies import Study
from fairdash.ui.blocks import show_stage
from fairdash.ui.frame import show_problems, theme
from fairdash.ui.jobs import finished, follow, tables_so_far
from fairdash.ui.keys import Address, Keys
from fairdash.ui.state import points_from_address, points_to_address
from fairdash.ui.text import number, safe

KEY = Keys(__file__)

ROWS = (50, 100, 200, 500, 1000, 2000)
DEFAULT = Scene()


def ask_for_scene() -> Scene | None:
    """Show the controls, and return the scene. If the points form no curve, explain it and return None."""
    noise = _noise_in_view()
    left, centre_column, formula, button_column = st.columns([2, 1.2, 2.6, 1], vertical_alignment="bottom")
    pattern = ask_for_pattern(left)
    n = centre_column.select_slider("Rows, n", ROWS, value=DEFAULT.n, key=Address.N, bind="query-params")
    with button_column.popover("More options", icon=":material/tune:"):
        ties = st.slider(
            "Share of rows on which U is exactly 0",
            0.0,
            0.95,
            DEFAULT.ties,
            0.05,
            key=Address.TIES,
            bind="query-params",
            help="For example, most claims are zero. Many equal values mislead estimators that use ranks.",
        )
        heavy_tails = st.toggle(
            "Heavy tails",
            DEFAULT.heavy_tails,
            key=Address.HEAVY,
            bind="query-params",
            help="Both variables become heavy-tailed, like amounts of money. The exact maximal correlation "
            "stays the same.",
        )
        seed = st.number_input("Draw number", 0, 9999, DEFAULT.seed, key=Address.DRAW, bind="query-params")
        st.caption("Another number draws new rows from the same distribution.")
    points = ask_for_points() if pattern == POINTS else ()
    try:
        scene = Scene(
            pattern=pattern,
            points=points,
            n=n,
            noise=noise,
            ties=ties,
            heavy_tails=heavy_tails,
            seed=int(seed),
        )
        pattern_id = scene.named
    except FairdashError as error:
        show_problems(error)
        return None
    with formula:
        st.latex(rf"V = F(U) + \varepsilon, \qquad F(u) = {pattern_id.formula}")
        if heavy_tails:
            st.caption(
                "Heavy tails: the estimators use $e^{2z}$ instead of each variable. For U, $z$ is the "
                "normal score of U. For V, $z$ is V divided by its standard deviation. Increasing "
                "transformations do not change maximal correlation, χ² or mutual information, so the exact "
                "values stay valid."
            )
    return scene


def _noise_in_view() -> float:
    """Return the noise level at the slider's last release or, when the page opens, the level in the address.

    The session stores the noise level. The browser may request a rerun before it has the new address. A noise
    level from the old address would then undo the move of the slider.
    """
    if Address.NOISE not in st.session_state or Address.N not in st.session_state:
        try:
            requested = float(st.query_params.get(Address.NOISE, DEFAULT.noise))
        except ValueError:
            requested = math.nan
        requested = DEFAULT.noise if math.isnan(requested) else requested
        st.session_state[Address.NOISE] = min(NOISES, key=lambda noise: abs(noise - requested))
    noise = float(st.session_state[Address.NOISE])
    if st.query_params.get(Address.NOISE, f"{DEFAULT.noise:g}") != f"{noise:g}":
        st.query_params[Address.NOISE] = f"{noise:g}"
    return noise


def ask_for_pattern(container: DeltaGenerator) -> str:
    """Ask for the pattern, and store its id in the address. A bound selectbox would store its title."""
    options = [*SHAPES, POINTS]
    if Address.PATTERN not in st.session_state:
        id_in_address = st.query_params.get(Address.PATTERN)
        st.session_state[Address.PATTERN] = id_in_address if id_in_address in options else DEFAULT.pattern
    pattern = container.selectbox(
        "Pattern",
        options,
        format_func=lambda option: "Your own points" if option == POINTS else SHAPES[option].title,
        key=Address.PATTERN,
    )
    if st.query_params.get(Address.PATTERN, DEFAULT.pattern) != pattern:
        st.query_params[Address.PATTERN] = pattern
    if pattern != POINTS and Address.POINTS in st.query_params:
        del st.query_params[Address.POINTS]
    return pattern


def ask_for_points() -> tuple[tuple[float, float], ...]:
    """Show an editable table of points, which straight lines join, and store the points in the address."""
    begin_key = KEY("points-begin")
    if begin_key not in st.session_state:
        st.session_state[begin_key] = points_from_address()
    initial_points = pd.DataFrame(st.session_state[begin_key], columns=["u", "F(u)"], dtype=float)
    edited = st.data_editor(
        initial_points,
        num_rows="dynamic",
        hide_index=True,
        width="content",
        column_config={
            "u": st.column_config.NumberColumn("u, from −10 to 10", min_value=-10, max_value=10),
            "F(u)": st.column_config.NumberColumn("F(u)", min_value=-100, max_value=100),
        },
        key=KEY("points"),
    )
    st.caption("Change a number, add a row at the bottom, or select rows to delete them.")
    points = tuple((float(u), float(f)) for u, f in edited.dropna().itertuples(index=False))
    points_to_address(points)
    return points


def go_to(scene: Scene) -> None:
    st.session_state[Address.PATTERN] = scene.pattern
    st.session_state[Address.N] = scene.n
    st.session_state[Address.NOISE] = scene.noise
    st.session_state[Address.TIES] = scene.ties
    st.session_state[Address.HEAVY] = scene.heavy_tails
    st.session_state[Address.DRAW] = scene.seed


def show_hint(scene: Scene) -> None:
    """Explain the scene (the simulated data) if it is one of the examples on which an estimator fails."""
    for entry in SCENES:
        if entry.scene == scene:
            st.info(entry.look_at, icon=":material/visibility:")


def show_examples(scene: Scene | None) -> None:
    """Show buttons for scenes (simulated data) on which an estimator fails."""
    st.markdown("**See an estimator fail.** Then move the controls to see when it recovers.")
    with st.container(horizontal=True, gap="small"):
        for entry in SCENES:
            st.button(
                f"{safe(short_name(entry.measure))}: {entry.button}",
                key=KEY("example", entry.id),
                on_click=go_to,
                args=(entry.scene,),
                type="primary" if entry.scene == scene else "secondary",
            )


def show_failures() -> None:
    """Explain when each measure misleads, with buttons for simulated data (scenes) with which it does."""
    for id, measure in REGISTRY.items():
        left, right = st.columns([3, 2], vertical_alignment="center")
        words = safe(measure.fails_when)
        left.markdown(f"**{safe(measure.title)}** misleads in this case: {words[:1].lower()}{words[1:]}")
        shown_by = [entry for entry in SCENES if entry.measure == id or id in entry.also]
        with right.container(horizontal=True):
            for entry in sorted(shown_by, key=lambda entry: entry.measure != id):
                st.button(
                    entry.button[0].upper() + entry.button[1:],
                    key=KEY("fails", id, entry.id),
                    on_click=go_to,
                    args=(entry.scene,),
                    icon=":material/visibility:",
                )


#: Estimators that the page initially shows for every scene.
FEW = ("pearson", "hgr_kde", "hgr_nn", "hgr_spline")


def all_estimates(scene: Scene) -> pd.DataFrame:
    """Return the values of all quick estimators, and of the slow estimators whose training is finished."""
    quick_estimates = estimates_of(scene)
    slow, _ = tables_so_far(slow_study(scene))
    if "readings" not in slow or slow["readings"].empty:
        return quick_estimates
    table = pd.concat([quick_estimates, slow["readings"]], ignore_index=True)
    order = {id: index for index, id in enumerate(REGISTRY)}
    return table.sort_values("id", key=lambda ids: ids.map(order), ignore_index=True)


def slow_study(scene: Scene) -> Study:
    return Study("scene", scene)


def answer(estimates: pd.DataFrame, truth: Truth) -> str:
    """Return sentences that compare the estimates with the true value."""
    rows = estimates.to_dict("records")
    detected = {row["id"] for row in rows if is_detected(row["id"], row["value"], row["floor_q95"])}
    count = len(estimates)
    if truth.hgr == 0:
        names = ", ".join(safe(short_name(id)) for id in estimates["id"] if id in detected)
        alarm = (
            f"{len(detected)} of {count} find a link anyway ({names})"
            if detected
            else "no estimator finds a link"
        )
        return (
            f"**There is no link, and {alarm}.** By chance, about one estimator in twenty exceeds its limit "
            "under independence."
        )
    hgr = estimates[estimates["id"].map(lambda id: target_of(id) == "hgr")]
    gaps = (hgr.set_index("id")["value"] - truth.hgr).abs()
    nearest, far = str(gaps.idxmin()), str(gaps.idxmax())
    values = hgr.set_index("id")["value"]
    seeing, blind = (
        [safe(short_name(id)) for id in estimates["id"] if (id in detected) is sees] for sees in (True, False)
    )
    if seeing and len(seeing) < len(blind):
        text = f"{len(seeing)} of {count} estimators detect the link: {', '.join(seeing)}"
    else:
        text = f"{len(seeing)} of {count} estimators detect the link"
        text += f"; {', '.join(blind)} can't" if blind else ""
    return (
        f"**{text}.** The exact maximal correlation is {truth.hgr:.2f}. The estimate of "
        f"{safe(short_name(nearest))} is closest ({values[nearest]:.2f}), and that of "
        f"{safe(short_name(far))} is farthest ({values[far]:.2f})."
    )


def follow_slow(scene: Scene) -> None:
    """Train the slow estimators in the background, unless their values are stored already."""
    if finished(slow_study(scene)) is None:
        st.caption("The neural estimators are still training. Their values will appear here.")
        follow(slow_study(scene), None, slot="scene")


def show_picture(scene: Scene, estimates: pd.DataFrame, truth: Truth) -> None:
    """Show the answer and, below it, a figure of rows and estimates that changes with the noise slider."""
    st.markdown(answer(estimates, truth))
    show_hint(scene)
    shows_all = st.session_state.get(Address.ESTIMATORS, False)
    ids = continuous_measures() if shows_all else few(scene)
    bounded = [id for id in ids if REGISTRY[id].upper == 1]

    def store_position(at: int) -> None:
        st.session_state[Address.NOISE] = NOISES[at]

    data = stage_of(scene, levels_of(scene, bounded, estimates), theme=theme())
    show_stage(data, key=KEY("stage"), on_release=store_position)
    show_unbounded(estimates, [id for id in ids if REGISTRY[id].upper != 1], truth)
    st.toggle(f"All {len(continuous_measures())} estimators", key=Address.ESTIMATORS, bind="query-params")


def levels_of(scene: Scene, ids: Sequence[str], estimates: pd.DataFrame) -> list[Noise]:
    """Return the estimates at each noise level of the slider.

    At the scene's noise level, the function returns the table `estimates`. At all other levels, it returns
    the values of the quick estimators.
    """
    quick_ids = [id for id in ids if REGISTRY[id].quick]
    results = along_noise_of(scene, quick_ids)
    return [
        Noise(estimates=estimates if noise == scene.noise else table, groups=groups_of(ids, hgr))
        for noise, (hgr, table) in zip(NOISES, results, strict=True)
    ]


def few(scene: Scene) -> list[str]:
    """Return the estimators that are initially shown, in FEW or because they fail on this scene."""
    failing = {id for entry in SCENES if entry.scene == scene for id in (entry.measure, *entry.also)}
    return [id for id in continuous_measures() if id in {*FEW, *failing}]


def groups_of(ids: Sequence[str], exact: float) -> list[Group]:
    """Return the estimators of maximal correlation, whose exact value is `exact`, and all other ones."""
    hgr = [id for id in ids if target_of(id) == "hgr"]
    return [
        Group("Maximal correlation", hgr, exact),
        Group("Other coefficients", [id for id in ids if id not in hgr]),
    ]


def show_unbounded(estimates: pd.DataFrame, ids: Sequence[str], truth: Truth) -> None:
    """Show measures without an upper limit in a table, because each of them would need a chart of its own."""
    rows = estimates[estimates["id"].isin(ids)].to_dict("records")
    if not rows:
        return
    exact = {"chi2": truth.chi2, "mi": truth.mi}
    table = [
        {
            "No upper bound": short_name(row["id"]),
            "Reads": number(row["value"]),
            "Floor, 95 %": number(row["floor_q95"]),
            "Exact": number(exact[target]) if (target := target_of(row["id"]) or "") in exact else "–",
            "As published": number(row["published"]) if pd.notna(row["published"]) else "–",
        }
        for row in rows
    ]
    st.dataframe(
        pd.DataFrame(table), hide_index=True, height="content", alt="Measures without an upper bound."
    )
    st.caption("Mutual information is in nats, and FairQuant is in units of V.")


Floors = dict[str, tuple[float, float]]

#: Noise levels at which noise floors are computed. A scene (simulated data) uses the floors at the nearest
#: level. The floor of a scale-free estimator depends only on the shape of V's distribution, which changes
#: little between levels.
FLOOR_LEVELS = (0.5, 2.0, 8.0)
#: Maximum number of rows for which noise floors are computed at several noise levels. With more rows, they
#: take longer to compute and differ less between levels.
ROWS_FOR_LEVELS = 200


@st.cache_data(max_entries=100, show_spinner=False)
def _rank_floors(n: int, ties: float, seed: int) -> Floors:
    """Return the noise floors of rank-based estimators, which are the same for all patterns without ties."""
    ids = [id for id in continuous_measures(quick=True) if REGISTRY[id].rank_based]
    return floors_of(Scene(pattern="line", noise=1.0, n=n, ties=ties, seed=seed), ids)


@st.cache_data(max_entries=300, show_spinner=False)
def _level_floors(scene: Scene) -> Floors:
    """Return the noise floors of scale-free estimators that do not use ranks.

    If the scene has no noise, include the rank-based estimators, because V may have ties.
    """
    by_rank = scene.noise > 0
    ids = [
        id
        for id in continuous_measures(quick=True)
        if REGISTRY[id].scale_free and not (by_rank and REGISTRY[id].rank_based)
    ]
    return floors_of(scene, ids)


def floor_level(scene: Scene) -> float:
    """Return the noise level for a scene's noise floors. It is a nearby level, or 2 if n is large."""
    if scene.noise == 0:
        return 0.0
    if scene.n > ROWS_FOR_LEVELS:
        return 2.0
    return min(FLOOR_LEVELS, key=lambda level: abs(math.log(level / scene.noise)))


@st.cache_data(max_entries=500, show_spinner=False)
def estimates_of(scene: Scene) -> pd.DataFrame:
    """Return the quick estimators' values on a scene, from :func:`fairdash.lab.scene_estimates`."""
    return scene_estimates(scene, floors=_floors(scene))


def _floors(scene: Scene) -> Floors:
    floors = _level_floors(replace(scene, noise=floor_level(scene)))
    if scene.noise > 0:
        floors = floors | _rank_floors(scene.n, scene.ties, scene.seed)
    return floors


def along_noise_of(scene: Scene, ids: Sequence[str]) -> list[tuple[float, pd.DataFrame]]:
    """Return the exact maximal correlation and the values of `ids` at each noise level of the scene."""
    return _along_noise(replace(scene, noise=0.0), tuple(ids))


@st.cache_data(max_entries=50, show_spinner=False)
def _along_noise(scene: Scene, ids: tuple[str, ...]) -> list[tuple[float, pd.DataFrame]]:
    estimates = along_noise(scene, ids, NOISES)
    tables = []
    for k, noise in enumerate(NOISES):
        floors = _floors(replace(scene, noise=noise))
        rows = [(id, value[k], *floors[id], published[k]) for id, (value, published) in estimates.items()]
        hgr = pattern_hgr(scene.shape, noise=noise).value
        tables.append((hgr, pd.DataFrame(rows, columns=COLUMNS)))
    return tables


@st.cache_data(max_entries=500, show_spinner=False)
def exact_of(scene: Scene) -> Truth:
    """Return the exact values of the dependence measures for a scene."""
    return truth_of(scene.shape, noise=scene.noise)


@st.cache_data(max_entries=100, show_spinner=False)
def learned_of(scene: Scene) -> pd.DataFrame:
    """Return the functions f and g that the quick estimators learned."""
    return learned_curves(scene, continuous_measures(quick=True))
