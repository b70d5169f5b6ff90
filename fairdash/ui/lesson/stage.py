"""What the scenes share: the guess before the answer, what moves, the notes, the way into the lab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from fairdash.figures.lesson import moving
from fairdash.simulations.lesson.scenes import SCENES, LessonScene
from fairdash.ui.frame import enlarged
from fairdash.ui.keys import Address, Keys
from fairdash.ui.pages import page
from fairdash.ui.stage.component import show_stage

KEY = Keys(__file__)

#: Share of the window's height that a picture takes.
_SHARE = 0.6
#: Milliseconds that playing takes from end to end.
_WHOLE_GAME = 4000


@dataclass(frozen=True, kw_only=True)
class Control:
    """What the hand moves: the address holds where it stands.

    Parameters
    ----------
    label, symbol
        What it is called, in full and before a value.
    name
        The parameter in the address.
    values
        What the address says of each value to what people read.
    default
        The value where the address has none, or one that is not known.
    """

    label: str
    symbol: str
    name: Address
    values: Mapping[str, str]
    default: str

    def at(self) -> int:
        """Which of the values the address asks for."""
        asked = st.query_params.get(self.name, self.default)
        return list(self.values).index(asked if asked in self.values else self.default)


def drawn(
    figures: Sequence[go.Figure], *, alt: str, large: bool, table: tuple[str, str, str] | None = None
) -> dict[str, Any]:
    """A picture as the stage wants it, from its figure in every state; the same for everybody.

    Parameters
    ----------
    figures
        Those of the first variant first.
    alt
        What it shows, in words.
    large
        Whether it is for a hall.
    table
        Title, trace and column of a table for those who don't see the picture.
    """
    if large:
        enlarged(figures[0])
    spec, moves = moving(figures)
    return {"spec": spec, "moves": moves, "alt": alt, "table": table}


def show_moving(
    scene: str, pictures: Sequence[dict[str, Any]], *, slider: Control, variants: Control | None = None
) -> None:
    """The scene's pictures, of :func:`drawn`, under a slider; the address hears of it on release."""

    def let_go(at: int) -> None:
        variant, stop = divmod(at, len(slider.values))
        st.query_params[slider.name] = list(slider.values)[stop]
        if variants:
            st.query_params[variants.name] = list(variants.values)[variant]

    moves = [move | {"figure": k} for k, picture in enumerate(pictures) for move in picture["moves"]]
    data: dict[str, Any] = {
        "slider": {
            "label": slider.label,
            "symbol": slider.symbol,
            "help": "",
            "stops": list(slider.values.values()),
            # Not a comb.
            "ticks": list(range(len(slider.values))) if len(slider.values) < 12 else [],
            "at": slider.at(),
            "play": _WHOLE_GAME / (len(slider.values) - 1),
        },
        "figures": [{"spec": each["spec"], "alt": each["alt"], "share": _SHARE} for each in pictures],
        "moves": moves,
        "cards": [],
        "table": _table(pictures[0], moves),
    }
    if variants:
        names = list(variants.values.values())
        data["variants"] = {"label": variants.label, "names": names, "at": variants.at()}
    show_stage(data, key=KEY("stage", scene), on_release=let_go)


def _table(picture: dict[str, Any], moves: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Of the first picture's trace, if that moves."""
    if picture["table"] is None:
        return None
    title, name, head = picture["table"]
    traces = picture["spec"]["data"]
    part = next(k for k, trace in enumerate(traces) if trace["name"] == name)
    place = [
        k
        for k, each in enumerate(moves)
        if (each["figure"], each["kind"], each["part"]) == (0, "trace", part)
    ]
    if not place:
        return None
    rows = [[each] for each in traces[part].get("text") or (f"{x:.1f}" for x in traces[part]["x"])]
    return {"title": title, "head": [head], "rows": rows, "move": place[0]}


def guessed(name: str) -> bool:
    """Ask for a guess, until there is one; whether there is."""
    scene = SCENES[name]
    key = KEY("guess", name)
    # A widget of another scene is forgotten: the guess is kept beside it.
    kept = st.session_state.setdefault(KEY("guesses"), {})
    if key not in st.session_state and name in kept:
        st.session_state[key] = kept[name]
    guess = st.radio("What do you think?", scene.guesses, index=None, key=key)
    if guess is None:
        st.caption("Guess first: the answer comes then.")
        return False
    kept[name] = guess
    verdict = ":green-badge[right]" if guess == scene.right else f"Not quite: *{scene.right}*."
    st.markdown(f"Your guess: *{guess}*. {verdict}" if guess != scene.right else f"{verdict} *{guess}*")
    return True


def show_notes(scene: LessonScene) -> None:
    """What a lecturer may say, folded."""
    with st.expander("Notes for the lecturer"):
        st.markdown("\n".join(f"- {note}" for note in scene.notes))


def to_lab(name: str, address: Mapping[str, str]) -> None:
    """The way to the page on which everything can be changed, with this scene's state."""
    st.page_link(
        page(name),
        label="Open in the lab",
        icon=":material/science:",
        query_params=dict(address),
    )
