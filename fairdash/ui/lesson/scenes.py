"""The lesson's scenes on the page: which one is shown, and the four of them that play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairdash.figures.lesson import (
    duel_curve_figure,
    duel_path_figure,
    noise_figure,
    payers_age_figure,
    payers_front_figure,
    straight_figure,
)
from fairdash.figures.theme import Theme
from fairdash.simulations.lesson import curve, duel, noise, payers
from fairdash.simulations.lesson.scenes import SCENES
from fairdash.ui.address import choose
from fairdash.ui.frame import presented, theme
from fairdash.ui.glossary import explain
from fairdash.ui.keys import Address, Keys
from fairdash.ui.lesson.curve import current_points, lab_of, show_curve
from fairdash.ui.lesson.stage import Control, Lab, drawn, guessed, show_moving, show_notes, to_lab

KEY = Keys(__file__)

Pictures = list[dict[str, Any]]


def show_lesson() -> None:
    """The scene that the address names, under its question; the control stands below the stage."""
    heading, stage = st.container(), st.container()
    titles = {name: scene.title for name, scene in SCENES.items()}
    name = choose("Scene", titles, name=Address.SCENE, key=KEY("scene"), hidden_label=True)
    with heading:
        st.title(SCENES[name].question)
    with stage:
        _STAGES[name]()
    show_notes(SCENES[name])
    explain()


def _play(
    scene: str,
    pictures: Callable[[bool], Pictures],
    *,
    slider: Control,
    variants: Control | None = None,
    says: Callable[[], str],
    lab: Lab,
    columns: Sequence[DeltaGenerator] = (),
) -> None:
    """A scene that plays: its pictures, which know of the guess, and beside them guess and sentence."""
    left, right = columns or st.columns([3, 1])
    with right:
        if answered := guessed(scene):
            st.markdown(says())
        to_lab(*lab)
    with left:
        show_moving(scene, pictures(answered), slider=slider, variants=variants)


def _values(numbers: Iterable[float], form: str) -> Mapping[str, str]:
    """What the address says of numbers, and how they are written."""
    return MappingProxyType({f"{each:g}": form.format(each) for each in numbers})


#: Scene 2: the two functions that straighten the cloud.
FRAMES = 20
_BENT = Control(
    label="How far",
    symbol="bent",
    name=Address.BENT,
    values=_values((100 * k // FRAMES for k in range(FRAMES + 1)), "{} %"),
    default="0",
)


def show_straight() -> None:
    points = current_points()
    _play(
        "2",
        lambda _: _clouds(points, look=theme(), large=presented()),
        slider=_BENT,
        says=lambda: curve.straight_sentence(points, _BENT.at() / FRAMES),
        lab=lab_of(points),
    )


@st.cache_data(max_entries=20, show_spinner=False)
def _clouds(points: curve.Points, *, look: Theme, large: bool) -> Pictures:
    clouds = (curve.straightened(points, k / FRAMES) for k in range(FRAMES + 1))
    figures = [straight_figure(x, y, theme=look) for x, y in clouds]
    return [drawn(figures, alt="A cloud of age and price that f and g bend into a line.", large=large)]


#: Scene 3: an adversary that memorises noise.
_STEPS = Control(
    label="Steps of training",
    symbol="steps",
    name=Address.TRAINED,
    values=_values(noise.STEPS, "{:,}"),
    default="500",
)
_ROWS = Control(label="Rows", symbol="n", name=Address.N, values=_values(noise.ROWS, "{:,}"), default="200")


def show_noise() -> None:
    n = noise.ROWS[_ROWS.at()]
    scene = noise.scene_of(n)
    address = {"pattern": scene.pattern, "n": str(n), "noise": f"{scene.noise:g}", "draw": str(scene.seed)}
    _play(
        "3",
        lambda answered: _readings(answered=answered, look=theme(), large=presented()),
        slider=_STEPS,
        variants=_ROWS,
        says=lambda: noise.sentence(n, noise.STEPS[_STEPS.at()]),
        lab=("patterns", address),
    )


@st.cache_data(show_spinner=False)
def _readings(*, answered: bool, look: Theme, large: bool) -> Pictures:
    figures = [
        noise_figure(noise.readings(n), steps=steps, answered=answered, theme=look)
        for n in noise.ROWS
        for steps in noise.STEPS
    ]
    alt = "HGR by networks against steps of training: on their own rows, new ones and shuffled ones."
    table = ("What it reads on its own rows, as a table", "rows it has learned", "Steps")
    return [drawn(figures, alt=alt, large=large, table=table)]


#: Scene 4: the duel of a predictor with its adversary.
_STEP = Control(
    label="Steps of the game",
    symbol="step",
    name=Address.STEP,
    values=_values(duel.STEPS, "{}"),
    default="0",
)
_GAME = Control(
    label="Adversary",
    symbol="",
    name=Address.FROZEN,
    values=MappingProxyType({"false": "keeps learning", "true": f"frozen at step {duel.FROZEN_AT}"}),
    default="false",
)


def show_duel() -> None:
    _play(
        "4",
        lambda answered: _duel(answered=answered, look=theme(), large=presented()),
        slider=_STEP,
        variants=_GAME,
        says=lambda: duel.sentence(bool(_GAME.at()), duel.STEPS[_STEP.at()]),
        lab=("paper", {"part": "fig3"}),
    )


@st.cache_data(show_spinner=False)
def _duel(*, answered: bool, look: Theme, large: bool) -> Pictures:
    average = duel.average_price()
    curves, paths = [], []
    for frozen in (False, True):
        states = duel.states(frozen)
        for step in duel.STEPS:
            curves.append(duel_curve_figure(duel.by_age(frozen, step), average=average, theme=look))
            paths.append(duel_path_figure(states, step=step, frozen=frozen, answered=answered, theme=look))
    alt = "Average price by age as the game goes on, and the adversary's g of age."
    told = "What the adversary reads, what a fresh estimator reads, and the error, against steps."
    table = ("Average price as a table", "price", "Age")
    return [drawn(curves, alt=alt, large=large, table=table), drawn(paths, alt=told, large=large)]


#: Scene 5: what fairness costs, and who pays.
_WEIGHT = Control(
    label="Weight of fairness, λ",
    symbol="λ",
    name=Address.WEIGHT,
    values=_values((0.0, *payers.LAMS), "{:g}"),
    default="1",
)


def show_payers() -> None:
    columns = st.columns([3, 1])
    with columns[0]:
        # The two ask different questions, on different axes.
        objective = choose("Fair means", payers.OBJECTIVES, name=Address.OBJECTIVE, key=KEY("objective"))
    _play(
        "5",
        lambda answered: _payers(objective, answered=answered, look=theme(), large=presented()),
        slider=_WEIGHT,
        says=lambda: payers.sentence(objective, payers.lams()[_WEIGHT.at()]),
        lab=("paper", {"part": "household", "objective": objective}),
        columns=columns,
    )


@st.cache_data(show_spinner=False)
def _payers(objective: str, *, answered: bool, look: Theme, large: bool) -> Pictures:
    points, standard = payers.points(objective), payers.by_age(objective, 0.0)
    edge, around = payers.floor(objective), payers.ages_of(objective)
    # Before the guess there is the standard model alone.
    shown = [lam if answered else 0.0 for lam in payers.lams()]
    fronts = [
        payers_front_figure(points if answered else points[:1], lam=lam, edge=edge, around=points, theme=look)
        for lam in shown
    ]
    profiles = [
        payers_age_figure(
            standard,
            payers.by_age(objective, lam) if lam else None,
            column="price" if objective == "demographic_parity" else "residual",
            ages=(payers.YOUNGER, payers.OLDER),
            around=around,
            theme=look,
        )
        for lam in shown
    ]
    alt = "Average by age of the standard model and of the chosen one."
    of_fronts = "Root mean squared error against HGR for each weight, with the noise floor."
    table = ("The chosen model's averages as a table", "chosen", "Age")
    return [drawn(profiles, alt=alt, large=large, table=table), drawn(fronts, alt=of_fronts, large=large)]


_STAGES: Mapping[str, Callable[[], None]] = MappingProxyType(
    {"1": show_curve, "2": show_straight, "3": show_noise, "4": show_duel, "5": show_payers}
)
