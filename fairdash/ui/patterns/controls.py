"""The controls of a scene, kept in the page's address; and scenes on which an estimator fails."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.dependence import REGISTRY
from fairdash.errors import FairdashError
from fairdash.figures.simulations import short_name
from fairdash.reports.noise_stage import NOISES
from fairdash.simulations import SCENES, SHAPES, Scene
from fairdash.simulations.scene import POINTS
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Address, Keys
from fairdash.ui.simulations import points_from_address, points_to_address
from fairdash.ui.text import safe

KEY = Keys(__file__)

ROWS = (50, 100, 200, 500, 1000, 2000)
DEFAULT = Scene()


def ask_for_scene() -> Scene | None:
    """The controls; None, with the reason shown, if the points make no curve."""
    noise = _noise_in_view()
    left, middle, formula, more = st.columns([2, 1.2, 2.6, 1], vertical_alignment="bottom")
    pattern = ask_for_pattern(left)
    n = middle.select_slider("Rows, n", ROWS, value=DEFAULT.n, key=Address.N, bind="query-params")
    with more.popover("More options", icon=":material/tune:"):
        ties = st.slider(
            "Share of rows on which U is exactly 0",
            0.0,
            0.95,
            DEFAULT.ties,
            0.05,
            key=Address.TIES,
            bind="query-params",
            help="As with claims, most of which are zero. Ties trip estimators that rank rows.",
        )
        heavy_tails = st.toggle(
            "Heavy tails",
            DEFAULT.heavy_tails,
            key=Address.HEAVY,
            bind="query-params",
            help="U and a normal V become lognormal(0, 2), as with sums of money. The maps keep the order of "
            "the rows, so that the exact maximal correlation stays as it is.",
        )
        seed = st.number_input("Draw number", 0, 9999, DEFAULT.seed, key=Address.DRAW, bind="query-params")
        st.caption("Another number draws other rows from the same law.")
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
        named = scene.named
    except FairdashError as error:
        show_problems(error)
        return None
    with formula:
        st.latex(rf"V = F(U) + \varepsilon, \qquad F(u) = {named.formula}")
        if heavy_tails:
            st.caption(
                "Heavy tails: the estimators see $e^{2z}$, where $z$ is the normal score of U, or V in "
                "standard deviations. Increasing maps change neither the maximal correlation, nor χ², nor "
                "mutual information: the exact values hold."
            )
    return scene


def _noise_in_view() -> float:
    """The noise where the hand left it; on opening the address's, as near as the slider can stand.

    The session holds it, not the address: a rerun that was asked for before the browser heard of the new
    address would bring the old one along.
    """
    if Address.NOISE not in st.session_state or Address.N not in st.session_state:
        try:
            asked = float(st.query_params.get(Address.NOISE, DEFAULT.noise))
        except ValueError:
            asked = math.nan
        asked = DEFAULT.noise if math.isnan(asked) else asked
        st.session_state[Address.NOISE] = min(NOISES, key=lambda each: abs(each - asked))
    noise = float(st.session_state[Address.NOISE])
    if st.query_params.get(Address.NOISE, f"{DEFAULT.noise:g}") != f"{noise:g}":
        st.query_params[Address.NOISE] = f"{noise:g}"
    return noise


def ask_for_pattern(place: DeltaGenerator) -> str:
    """Which pattern; its id is kept in the address (a bound selectbox would keep its title there)."""
    options = [*SHAPES, POINTS]
    if Address.PATTERN not in st.session_state:
        asked = st.query_params.get(Address.PATTERN)
        st.session_state[Address.PATTERN] = asked if asked in options else DEFAULT.pattern
    pattern = place.selectbox(
        "Pattern",
        options,
        format_func=lambda each: "Your own points" if each == POINTS else SHAPES[each].title,
        key=Address.PATTERN,
    )
    if st.query_params.get(Address.PATTERN, DEFAULT.pattern) != pattern:
        st.query_params[Address.PATTERN] = pattern
    if pattern != POINTS and Address.POINTS in st.query_params:
        del st.query_params[Address.POINTS]
    return pattern


def ask_for_points() -> tuple[tuple[float, float], ...]:
    """A small table of points that straight lines join; kept in the address."""
    begin_key = KEY("points-begin")
    if begin_key not in st.session_state:
        st.session_state[begin_key] = points_from_address()
    begin = pd.DataFrame(st.session_state[begin_key], columns=["u", "F(u)"], dtype=float)
    edited = st.data_editor(
        begin,
        num_rows="dynamic",
        hide_index=True,
        width="content",
        column_config={
            "u": st.column_config.NumberColumn("u, from −10 to 10", min_value=-10, max_value=10),
            "F(u)": st.column_config.NumberColumn("F(u)", min_value=-100, max_value=100),
        },
        key=KEY("points"),
    )
    st.caption("Change a number, add a row at the bottom, or mark rows to delete them.")
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
    """What to look at, where the scene is one of the examples."""
    for each in SCENES:
        if each.scene == scene:
            st.info(each.look_at, icon=":material/visibility:")


def show_examples(scene: Scene | None) -> None:
    """One click to a scene on which an estimator fails."""
    st.markdown("**See an estimator fail.** Then move the controls: when does it recover?")
    with st.container(horizontal=True, gap="small"):
        for each in SCENES:
            name = short_name(each.measure) if each.measure in REGISTRY else "HGR_NN"
            st.button(
                f"{safe(name)}: {each.button}",
                key=KEY("example", each.id),
                on_click=go_to,
                args=(each.scene,),
                type="primary" if each.scene == scene else "secondary",
            )


def show_failures() -> None:
    """When each measure misleads, with the scenes that show it: its own first."""
    for id, measure in REGISTRY.items():
        left, right = st.columns([3, 2], vertical_alignment="center")
        words = safe(measure.fails_when)
        left.markdown(f"**{safe(measure.title)}** misleads when: {words[:1].lower()}{words[1:]}")
        shown_by = [each for each in SCENES if each.measure == id or id in each.also]
        with right.container(horizontal=True):
            for each in sorted(shown_by, key=lambda each: each.measure != id):
                st.button(
                    each.button[0].upper() + each.button[1:],
                    key=KEY("fails", id, each.id),
                    on_click=go_to,
                    args=(each.scene,),
                    icon=":material/visibility:",
                )
