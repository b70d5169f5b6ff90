"""The five scenes (screens) of the lesson, with guesses. One has a curve to drag, and four are animated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.lab import lesson
from fairdash.lab.figures.lesson import (
    animation,
    duel_curve_figure,
    duel_path_figure,
    noise_figure,
    payers_age_figure,
    payers_front_figure,
    straight_figure,
)
from fairdash.lab.lesson import SCENES
from fairdash.ui.blocks import show_stage
from fairdash.ui.frame import enlarged, presented, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import page
from fairdash.ui.state import choose, points_from_address, points_to_address
from fairdash.views.figures.stage import d3_script
from fairdash.views.figures.theme import REFERENCE, Theme

KEY = Keys(__file__)

Pictures = list[dict[str, Any]]


#: Share of the window's height for a picture. It is smaller in presentation mode, where text is larger.
_SHARE, _PRESENTED_SHARE = 0.6, 0.43
#: Text size for a lecture hall, in pixels.
LECTURE_TEXT_SIZE = 24
#: Duration of an animation in milliseconds.
_ANIMATION_MS = 4000


@dataclass(frozen=True, kw_only=True)
class Control:
    """Slider or selector of the lesson, whose value is stored in the address.

    Parameters
    ----------
    label, symbol
        Full name, and short name that is shown before a value.
    name
        Name of the parameter in the address.
    values
        Map of each value in the address to its display text.
    default
        Value that is used if the value in the address is missing or unknown.
    """

    label: str
    symbol: str
    name: Address
    values: Mapping[str, str]
    default: str

    def at(self) -> int:
        """Current value, from the address."""
        value = st.query_params.get(self.name, self.default)
        return list(self.values).index(value if value in self.values else self.default)


def animate(
    figures: Sequence[go.Figure], *, alt: str, large: bool, table: tuple[str, str, str] | None = None
) -> dict[str, Any]:
    """Return an animated picture for :func:`show_stage`, from a figure per state. Callers cache it.

    Parameters
    ----------
    figures
        Figures of all states, beginning with those of the first variant.
    alt
        Content of the picture in words.
    large
        True if the picture is for presentation mode.
    table
        Title of a table for readers who can't see the picture, name of the trace it shows, and column header.
    """
    if large:
        enlarged(figures[0], LECTURE_TEXT_SIZE)
    spec, moves = animation(figures)
    return {"spec": spec, "moves": moves, "alt": alt, "table": table}


def show_moving(
    scene: str, pictures: Sequence[dict[str, Any]], *, slider: Control, variants: Control | None = None
) -> None:
    """Show a slider and pictures from :func:`animate`. Releasing the slider updates the address."""

    def store_position(at: int) -> None:
        variant, stop = divmod(at, len(slider.values))
        st.query_params[slider.name] = list(slider.values)[stop]
        if variants:
            st.query_params[variants.name] = list(variants.values)[variant]

    moves = [change | {"figure": k} for k, picture in enumerate(pictures) for change in picture["moves"]]
    data: dict[str, Any] = {
        "slider": {
            "label": slider.label,
            "symbol": slider.symbol,
            "help": "",
            "stops": list(slider.values.values()),
            # With 12 or more values, ticks would be too close to each other.
            "ticks": list(range(len(slider.values))) if len(slider.values) < 12 else [],
            "at": slider.at(),
            "play": _ANIMATION_MS / (len(slider.values) - 1),
        },
        "figures": [{"spec": item["spec"], "alt": item["alt"], "share": _SHARE} for item in pictures],
        "moves": moves,
        "cards": [],
        "table": _table(pictures[0], moves),
    }
    if variants:
        names = list(variants.values.values())
        data["variants"] = {"label": variants.label, "names": names, "at": variants.at()}
    if presented():
        data["table"] = None
    show_stage(
        data,
        key=KEY("stage", scene),
        on_release=store_position,
        presented_share=_PRESENTED_SHARE,
        presented_text=LECTURE_TEXT_SIZE,
    )


def _table(picture: dict[str, Any], moves: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return a table of the values of one trace, for readers who can't see the picture."""
    if picture["table"] is None:
        return None
    title, name, head = picture["table"]
    traces = picture["spec"]["data"]
    part = next(k for k, trace in enumerate(traces) if trace["name"] == name)
    shown_trace = {"figure": 0, "kind": "trace", "part": part}
    index = next((k for k, each in enumerate(moves) if shown_trace.items() <= each.items()), None)
    if index is None:
        return None
    rows = [[label] for label in traces[part].get("text") or (f"{x:.1f}" for x in traces[part]["x"])]
    return {"title": title, "head": [head], "rows": rows, "move": index}


def stored_guesses() -> dict[str, str]:
    """Return the reader's guesses, by scene."""
    stored: dict[str, str] = st.session_state.setdefault(KEY("guesses"), {})
    return stored


def has_guessed(name: str) -> bool:
    """Show the reader's guess and the answer, or ask for a guess. Return whether there is a guess."""
    scene, key = SCENES[name], KEY("guess", name)

    def keep() -> None:
        stored_guesses()[name] = st.session_state[key]

    if name not in stored_guesses():
        st.radio("What do you think?", scene.guesses, index=None, key=key, on_change=keep)
        st.caption("Make a guess to see the answer.")
        return False
    st.markdown(guess_in_words(name))
    return True


def guess_in_words(name: str) -> str:
    """Return the reader's guess in a scene and the correct answer, in Markdown."""
    if name not in stored_guesses():
        return "No guess yet."
    guess_text, right = stored_guesses()[name], SCENES[name].right
    verdict = ":green-badge[right]" if guess_text == right else f"The answer: *{right}*."
    return f"Your guess: *{guess_text}*. {verdict}"


#: For each scene, the page that shows its data, and the parameters of the page's address.
Lab = tuple[str, Mapping[str, str]]


def to_lab(name: str, address: Mapping[str, str]) -> None:
    """Show a link to the page on which the reader can change this scene's settings."""
    icon = ":material/science:"
    st.page_link(page(name), label="Open in the lab", icon=icon, query_params=dict(address))


def _play_button(
    scene: str,
    pictures: Callable[[bool], Pictures],
    *,
    slider: Control,
    variants: Control | None = None,
    says: Callable[[], str],
    lab: Lab,
    columns: Sequence[DeltaGenerator] = (),
) -> None:
    """Show an animated scene with its pictures and, next to them, the guess, a sentence and a link."""
    left, right = columns or st.columns([3, 1])
    with right:
        if has_guess := has_guessed(scene):
            st.markdown(says())
        to_lab(*lab)
    with left:
        show_moving(scene, pictures(has_guess), slider=slider, variants=variants)


#: Number of dots in scene 1, which follow the curve that the reader drags.
_DOTS = 200


def current_points() -> lesson.Points:
    """Return the curve in the address, or the hump-shaped curve if scene 1 can't show it or there is none."""
    if Address.POINTS not in st.query_params:
        return lesson.HUMP
    points = points_from_address()
    fits = tuple(u for u, _ in points) == lesson.PLACES
    return lesson.points_of([f for _, f in points]) if fits else lesson.HUMP


def show_curve() -> None:
    left, right = st.columns([3, 1])
    points = current_points()
    with right:
        has_guess = has_guessed("1")
        answer = st.empty()
        link_place = st.container()
    with left:
        draw = st.components.v2.component(
            "fairdash_curve",
            css=_text("lesson_curve.css"),
            js=d3_script() + _text("lesson_curve.js"),
            html="<div class='stage'></div>",
        )
        rng = np.random.default_rng(0)
        dragged = draw(
            key=KEY("curve"),
            data={
                "heights": [f for _, f in points],
                "noise": lesson.CURVE_NOISE,
                "range": [lesson.LOWEST, lesson.HIGHEST],
                "dots": np.round([rng.uniform(-10, 10, _DOTS), rng.normal(size=_DOTS)], 3).tolist(),
                "answered": has_guess,
                "people": list(lesson.PEOPLE.items()),
                "euros": [lesson.MIDDLE, lesson.UNIT],
                "colours": {"rows": theme().chosen, "curve": REFERENCE, "line": theme().standard},
            },
            on_heights_change=lambda: None,
        )
    if dragged.heights is not None:
        points = lesson.points_of([float(height) for height in dragged.heights])
        points_to_address(points)
    if has_guess:
        answer.markdown(lesson.curve_sentence(points))
    with link_place:
        to_lab(*lab_of(points))


def lab_of(points: lesson.Points) -> Lab:
    """Return the link to the Patterns page with this curve."""
    scene = lesson.curve_scene(points)
    address = ",".join(f"{u:g}:{f:g}" for u, f in points)
    state = {"pattern": scene.pattern, "points": address, "n": "500", "noise": f"{scene.noise:g}"}
    return "patterns", state


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _values(numbers: Iterable[float], form: str) -> Mapping[str, str]:
    """Return the values of a control as a map from numbers, as written in the address, to display texts."""
    return MappingProxyType({f"{number:g}": form.format(number) for number in numbers})


#: Number of steps in the animation of scene 2, in which f and g straighten a scatter plot.
FRAMES = 20
_BEND_CONTROL = Control(
    label="How far",
    symbol="done",
    name=Address.BENT,
    values=_values((100 * k // FRAMES for k in range(FRAMES + 1)), "{} %"),
    default="0",
)


def show_straight() -> None:
    points = current_points()
    _play_button(
        "2",
        lambda _: _clouds(points, look=theme(), large=presented()),
        slider=_BEND_CONTROL,
        says=lambda: lesson.straight_sentence(points, _BEND_CONTROL.at() / FRAMES),
        lab=lab_of(points),
    )


@st.cache_data(max_entries=20, show_spinner=False)
def _clouds(points: lesson.Points, *, look: Theme, large: bool) -> Pictures:
    clouds = (lesson.straightening_rows(points, k / FRAMES) for k in range(FRAMES + 1))
    figures = [straight_figure(x, y, theme=look) for x, y in clouds]
    alt = "Scatter of age and price, which f and g transform into a line."
    return [animate(figures, alt=alt, large=large)]


#: Scene 3, in which an adversary memorises noise.
_STEPS = Control(
    label="Steps of training",
    symbol="steps",
    name=Address.TRAINED,
    values=_values(lesson.NOISE_STEPS, "{:,}"),
    default="500",
)
_ROWS = Control(
    label="Rows", symbol="n", name=Address.N, values=_values(lesson.NOISE_ROWS, "{:,}"), default="200"
)


def show_noise() -> None:
    n = lesson.NOISE_ROWS[_ROWS.at()]
    scene = lesson.noise_scene(n)
    address = {"pattern": scene.pattern, "n": str(n), "noise": f"{scene.noise:g}", "draw": str(scene.seed)}
    _play_button(
        "3",
        lambda answered: _readings(answered=answered, look=theme(), large=presented()),
        slider=_STEPS,
        variants=_ROWS,
        says=lambda: lesson.noise_sentence(n, lesson.NOISE_STEPS[_STEPS.at()]),
        lab=("patterns", address),
    )


@st.cache_data(show_spinner=False)
def _readings(*, answered: bool, look: Theme, large: bool) -> Pictures:
    figures = [
        noise_figure(lesson.noise_readings(n), steps=steps, answered=answered, theme=look)
        for n in lesson.NOISE_ROWS
        for steps in lesson.NOISE_STEPS
    ]
    alt = "HGR by networks against training steps, on training rows, new rows and shuffled rows."
    table = ("Values on training rows as a table", "training rows", "Steps")
    return [animate(figures, alt=alt, large=large, table=table)]


#: Scene 4, in which a predictor trains against an adversary.
_STEP = Control(
    label="Steps of the game",
    symbol="step",
    name=Address.STEP,
    values=_values(lesson.DUEL_STEPS, "{}"),
    default="0",
)
_GAME = Control(
    label="Adversary",
    symbol="",
    name=Address.FROZEN,
    values=MappingProxyType({"false": "keeps learning", "true": f"frozen at step {lesson.FROZEN_AT}"}),
    default="false",
)


def show_duel() -> None:
    _play_button(
        "4",
        lambda answered: _duel(answered=answered, look=theme(), large=presented()),
        slider=_STEP,
        variants=_GAME,
        says=lambda: lesson.duel_sentence(bool(_GAME.at()), lesson.DUEL_STEPS[_STEP.at()]),
        lab=("paper", {"part": "fig3"}),
    )


@st.cache_data(show_spinner=False)
def _duel(*, answered: bool, look: Theme, large: bool) -> Pictures:
    average = lesson.average_price()
    curves, paths = [], []
    for frozen in (False, True):
        states = lesson.duel_states(frozen)
        for step in lesson.DUEL_STEPS:
            curves.append(duel_curve_figure(lesson.duel_by_age(frozen, step), average=average, theme=look))
            paths.append(duel_path_figure(states, step=step, frozen=frozen, answered=answered, theme=look))
    alt = "Average price by age during training, and the adversary's function g of age."
    description = "HGR by the adversary and by a newly trained network, and the error, against steps."
    table = ("Average price as a table", "price", "Age")
    return [animate(curves, alt=alt, large=large, table=table), animate(paths, alt=description, large=large)]


#: Scene 5, about the cost of fairness and who pays it.
_WEIGHT = Control(
    label="Weight of fairness, λ",
    symbol="λ",
    name=Address.WEIGHT,
    values=_values((0.0, *lesson.LAMS), "{:g}"),
    default="1",
)


def show_payers() -> None:
    columns = st.columns([3, 1])
    with columns[0]:
        # The two fairness objectives have different questions and axes.
        objective = choose(
            "Fair means", lesson.OBJECTIVES, name=Address.OBJECTIVE, key=KEY("objective"), hidden_label=True
        )
    _play_button(
        "5",
        lambda answered: _payers(objective, answered=answered, look=theme(), large=presented()),
        slider=_WEIGHT,
        says=lambda: lesson.payers_sentence(objective, lesson.payers_lams()[_WEIGHT.at()]),
        lab=("paper", {"part": "household", "objective": objective}),
        columns=columns,
    )


@st.cache_data(show_spinner=False)
def _payers(objective: str, *, answered: bool, look: Theme, large: bool) -> Pictures:
    points, standard = lesson.payers_points(objective), lesson.payers_by_age(objective, 0.0)
    edge, group_lines = lesson.payers_floor(objective), lesson.payers_ages(objective)
    # Before the guess, the pictures show only the standard model.
    shown_lams = [lam if answered else 0.0 for lam in lesson.payers_lams()]
    fronts = [
        payers_front_figure(points if answered else points[:1], lam=lam, edge=edge, around=points, theme=look)
        for lam in shown_lams
    ]
    profiles = [
        payers_age_figure(
            standard,
            lesson.payers_by_age(objective, lam) if lam else None,
            column="price" if objective == "demographic_parity" else "residual",
            around=group_lines,
            theme=look,
        )
        for lam in shown_lams
    ]
    alt = "Average prediction by age, for the standard model and the chosen model."
    of_fronts = "Root mean squared error against HGR, one point per weight of fairness, with the noise floor."
    table = ("The chosen model's averages as a table", "chosen", "Age")
    return [animate(profiles, alt=alt, large=large, table=table), animate(fronts, alt=of_fronts, large=large)]


STAGES: Mapping[str, Callable[[], None]] = MappingProxyType(
    {"1": show_curve, "2": show_straight, "3": show_noise, "4": show_duel, "5": show_payers}
)
