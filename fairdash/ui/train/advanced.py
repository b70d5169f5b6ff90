"""What stands under "advanced": networks, schedule, seed and device."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairdash.errors import FairdashError
from fairdash.training.defaults import VALIDATION_SHARE
from fairdash.training.settings import ARCHITECTURES, TrainingSettings
from fairdash.ui.frame import show_problems
from fairdash.ui.keys import Keys
from fairdash.ui.train.fields import TAKEN, numbers

KEY = Keys(__file__)

DEVICES = ("auto", "cpu", "cuda", "mps")


def ask_for_settings(loss: tuple[str, bool]) -> dict[str, Any] | None:
    """Everything under "advanced", as options of a sweep; None, the reason shown, if it can't be used."""
    times, taken = st.session_state.get(TAKEN, (0, None))
    default = taken or TrainingSettings()

    def key(name: str) -> str:
        # Widgets of their own each time: what was typed before gives way to what is taken over.
        return KEY("field", name, times)

    with st.expander("Advanced: networks and schedule"):
        tune = st.checkbox(
            "Find learning rate and weight decay on validation rows first",
            taken is None,
            key=key("tune"),
            help="One more stack of standard networks, compared on each split's validation rows before the "
            "fair models are trained. The two fields below are then not used.",
        )
        architecture = st.selectbox(
            "Predictor's network",
            list(ARCHITECTURES),
            list(ARCHITECTURES).index(default.architecture),
            key=key("architecture"),
            format_func=lambda name: ARCHITECTURES[name].title,
            help="  \n".join(f"{each.title}: {each.meaning}" for each in ARCHITECTURES.values()),
        )
        left, middle, right = st.columns(3)
        hidden = left.text_input(
            "Units of the predictor's hidden layers", " ".join(map(str, default.hidden)), key=key("hidden")
        )
        adversary = middle.text_input(
            "Units of the adversary's hidden layers",
            " ".join(map(str, default.adversary_hidden)),
            key=key("adversary"),
        )
        steps = right.number_input(
            "Adversary's steps a predictor's step",
            1,
            100,
            default.adversary_steps,
            key=key("steps"),
            help="More is steadier.",
        )
        epochs = left.number_input(
            "Epochs (passes over the rows)", 2, 2000, default.n_epochs, key=key("epochs")
        )
        batch = middle.number_input("Rows a mini-batch", 16, 100_000, default.batch_size, key=key("batch"))
        decay = right.number_input(
            "Weight decay (L2)",
            0.0,
            10.0,
            default.weight_decay,
            format="%.3f",
            key=key("decay"),
            disabled=tune,
        )
        lr = left.number_input(
            "Learning rate", 1e-5, 1.0, default.lr, format="%.4f", key=key("lr"), disabled=tune
        )
        dropout = middle.number_input("Dropout", 0.0, 0.9, default.dropout, step=0.05, key=key("dropout"))
        seed = right.number_input("Seed", 0, 2**31, 0)
        device = left.selectbox("Device", DEVICES, help="auto: a GPU if there is one.")
        validation = middle.number_input(
            "Share of the training rows kept for choices",
            0.0,
            0.5,
            VALIDATION_SHARE,
            step=0.05,
            help="On these validation rows a point of the trade-off is chosen, and training stopped early. "
            "Without them no choice can be made that the test rows have not seen.",
        )
        patience = right.number_input(
            "Stop early after so many epochs without gain",
            0,
            500,
            default.patience or 0,
            key=key("patience"),
            help="On the validation rows. 0: every epoch is trained.",
        )
        try:
            settings = TrainingSettings(
                architecture=architecture,
                hidden=tuple(int(width) for width in numbers(hidden, column="hidden layers")),
                adversary_hidden=tuple(
                    int(width) for width in numbers(adversary, column="adversary's layers")
                ),
                adversary_steps=int(steps),
                n_epochs=int(epochs),
                warm_up_epochs=min(default.warm_up_epochs, int(epochs) // 4),
                batch_size=int(batch),
                weight_decay=decay,
                lr=lr,
                dropout=dropout,
                loss=loss[0],
                balance=loss[1],
                patience=int(patience) or None,
            )
        except FairdashError as error:
            show_problems(error)
            return None
    return {
        "settings": settings,
        "tune": tune,
        "random_state": int(seed),
        "device": device,
        "validation_share": validation,
    }
