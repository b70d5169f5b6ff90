"""Fig. 3: the networks of Fair HGR NN as boxes with formulas and values, gradients as arrows back."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from fairdash.figures.parts import note, signed
from fairdash.figures.simulations import coloured
from fairdash.figures.theme import Theme, faded, new_figure

#: Box to centre, size and formula; in a picture 8 wide and 10 high, upright so that a phone can show it.
_BOXES = {
    "x": (1.85, 0.8, 3.5, 1.5, "<b>X</b>"),
    "s": (6.15, 0.8, 3.5, 1.5, "<b>S</b>"),
    "h": (1.85, 3.0, 3.5, 1.5, "<b>Predictor</b><br>ŷ = h<sub>φ</sub>(X)"),
    "g": (6.15, 3.0, 3.5, 1.5, "<b>Adversary g</b><br>ĝ = (g(S) − m<sub>g</sub>) / σ<sub>g</sub>"),
    "f": (4.0, 5.25, 3.1, 1.5, "<b>Adversary f</b><br>f̂ = (f(ŷ) − m<sub>f</sub>) / σ<sub>f</sub>"),
    "error": (1.85, 7.5, 3.5, 1.5, "<b>Error</b><br>MSE = E[(ŷ − Y)²]"),
    "j": (6.15, 7.5, 3.5, 1.5, "<b>Dependence</b><br>J = E[f̂ ĝ]"),
    "loss": (4.0, 9.6, 5.4, 1.4, "<b>Loss</b><br>L = MSE + λ J"),
}
_FORWARD = (
    ("x", "h"), ("s", "g"), ("h", "f"), ("h", "error"), ("f", "j"), ("g", "j"), ("error", "loss"),
    ("j", "loss"),
)  # fmt: skip
#: Gradients: from, to, the value's name, what it is, whether it is climbed, and where that is written.
_BACK = (
    ("j", "f", "grad_f", "∂J/∂θ<sub>f</sub>", True, (3.4, 6.4)),
    ("j", "g", "grad_g", "∂J/∂θ<sub>g</sub>", True, (7.2, 5.25)),
    ("error", "h", "grad_error", "∂MSE/∂φ", False, (0.7, 5.25)),
    ("f", "h", "grad_penalty", "λ ∂J/∂φ", False, (4.15, 4.1)),
)
_MEANINGS = {
    "x": "What the predictor sees; the sensitive attribute is not among it.",
    "s": "The sensitive attribute; only the adversary sees it.",
    "h": "Goes down the gradient of error + λ · dependence.",
    "f": "Looks for the function of the prediction that goes best with one of S; goes up the gradient of J.",
    "g": "Looks for the function of S that goes best with one of the prediction; goes up the gradient of J.",
    "j": "The correlation of both, standardised on the batch: the neural HGR.",
    "error": "Mean squared error; 1 is what the average price as everybody's reaches.",
    "loss": "What the predictor lowers; λ says how much dependence counts.",
}


def architecture_figure(values: Mapping[str, float], *, lam: float, features: str, theme: Theme) -> go.Figure:
    """The networks of Fair HGR NN as boxes, each with its formula and its value; gradients as arrows back.

    Parameters
    ----------
    values
        One row of the table ``flow`` of the committed result of Fig. 3 (``benchmarks.paper.figures``).
    lam
        λ.
    features
        What X holds, in words.
    """
    figure = new_figure(
        title="The Fair HGR NN in training",
        subtitle=f"epoch {values['epoch']:.0f}; coloured: gradients back",
        x="",
        y="",
        theme=theme,
        height=640,
    )
    live = {
        "x": features,
        "s": "age",
        "h": f"mean {signed(values['y_pred_mean'])}, sd {values['y_pred_sd']:.2f}",
        "f": f"m {signed(values['f_mean'])}, σ {values['f_sd']:.2f}",
        "g": f"m {signed(values['g_mean'])}, σ {values['g_sd']:.2f}",
        "j": signed(values["j"], decimals=3),
        "error": f"{values['mse']:.3f}",
        "loss": f"{values['mse']:.3f} + {lam:g} · ({signed(values['j'], decimals=3)}) = {values['loss']:.3f}",
    }
    axis = {"visible": False, "fixedrange": True}
    figure.update_layout(
        xaxis=axis | {"range": [0, 8]}, yaxis=axis | {"range": [10.4, 0.0]}, hovermode="closest"
    )
    shapes, notes = [], []
    for name, (x, y, width, height, formula) in _BOXES.items():
        adversary = name in ("f", "g")
        colour = theme.standard if adversary else theme.chosen if name == "h" else theme.quiet
        shapes.append(
            {
                "type": "rect", "x0": x - width / 2, "x1": x + width / 2, "y0": y - height / 2,
                "y1": y + height / 2, "line": {"color": colour, "width": 2},
                "fillcolor": faded(colour, 0.10) if colour.startswith("#") else "rgba(0,0,0,0)",
                "layer": "below",
            }
        )  # fmt: skip
        text = f"{formula}<br><b>{live[name]}</b>" if name not in ("x", "s") else f"{formula}<br>{live[name]}"
        notes.append(note(text, x=x, y=y, colour=theme.text))
    notes += [_arrow(a, b, theme.quiet, 1.5, 0.0) for a, b in _FORWARD]
    for start, end, name, label, climbed, (x, y) in _BACK:
        colour = theme.standard if climbed else theme.chosen
        notes.append(_arrow(start, end, colour, 1.0 + 3.0 * min(values[name], 1.0), 0.4))
        text = coloured(label, colour, "▲" if climbed else "▼") + f"<br>= {values[name]:.3f}"
        notes.append(note(text, x=x, y=y, colour=theme.text))
    figure.update_layout(shapes=shapes, annotations=notes)
    figure.add_scatter(
        x=[box[0] for box in _BOXES.values()],
        y=[box[1] for box in _BOXES.values()],
        mode="markers",
        marker={"size": 60, "opacity": 0},
        customdata=[_MEANINGS[name] for name in _BOXES],
        hovertemplate="%{customdata}<extra></extra>",
        name="boxes",
    )
    return figure


def _arrow(start: str, end: str, colour: str, width: float, aside: float) -> dict[str, object]:
    """From the edge of one box to the edge of another, moved along them so that ways back are seen."""
    ax, ay = _edge(start, end)
    x, y = _edge(end, start)
    return {
        "x": x - aside, "y": y, "ax": ax - aside, "ay": ay, "xref": "x", "yref": "y", "axref": "x",
        "ayref": "y", "text": "", "showarrow": True, "arrowhead": 2, "arrowsize": 1, "arrowwidth": width,
        "arrowcolor": colour,
    }  # fmt: skip


def _edge(box: str, towards: str) -> tuple[float, float]:
    """Where the line between two centres leaves the first box."""
    x, y, width, height, _ = _BOXES[box]
    dx, dy = _BOXES[towards][0] - x, _BOXES[towards][1] - y
    scale = min(width / 2 / abs(dx) if dx else float("inf"), height / 2 / abs(dy) if dy else float("inf"))
    return x + dx * scale, y + dy * scale
