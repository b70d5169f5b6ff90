"""The paper's Fig. 3 and Fig. 4: the network as boxes with live values, and averages by age."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.lab import coloured
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, faded, new_figure

#: Colour, marker and dash of each method; the standard network has the theme's own colour.
_LOOKS = {
    "standard": ("", "circle", "solid"),
    "hgr_nn": ("", "diamond", "solid"),
    "chi2_nn": (OTHERS[0], "square", "dash"),
    "chi2_kde": (OTHERS[1], "triangle-up", "dot"),
}
_GLYPHS = {"circle": "●", "diamond": "◆", "square": "■", "triangle-up": "▲"}


def by_age_figure(
    profile: pd.DataFrame, *, names: Mapping[str, str], level: float, title: str, subtitle: str, y: str,
    theme: Theme,
) -> go.Figure:  # fmt: skip
    """Average price, or residual, by age for several methods; the first one's 95 % band is drawn.

    The others' bands are about as wide and would cover each other; touching a point gives its interval.

    Parameters
    ----------
    profile
        ``method``, ``s_mean``, ``mean``, ``low``, ``high``, ``n``.
    names
        Method to its name for people.
    level
        A level line: the average price, or 0 for residuals.
    """
    figure = new_figure(title=title, subtitle=subtitle, x="Age (years)", y=y, theme=theme, height=500)
    # Room for the key above the plot: no corner of it is free in every view.
    figure.update_layout(margin={"t": 116})
    figure.add_hline(y=level, line={"color": REFERENCE, "width": 2, "dash": "dot"})
    keys: list[str] = []
    for method, name in names.items():
        line = profile[profile["method"] == method]
        colour, symbol, dash = _LOOKS[method]
        colour = colour or (theme.standard if method == "standard" else theme.chosen)
        if not keys:
            figure.add_scatter(
                x=[*line["s_mean"], *line["s_mean"][::-1]], y=[*line["high"], *line["low"][::-1]],
                mode="lines", fill="toself", fillcolor=faded(colour, 0.12), line={"width": 0},
                hoverinfo="skip", name=f"{name}, 95 % interval",
            )  # fmt: skip
        figure.add_scatter(
            x=line["s_mean"], y=line["mean"], mode="lines+markers", name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 8, "color": colour},
            customdata=line[["low", "high", "n"]].to_numpy(),
            hovertemplate=f"<b>{name}</b> at %{{x:.1f}} years: %{{y:.1f}} €"
            "<br>95 %: %{customdata[0]:.1f} to %{customdata[1]:.1f} €, %{customdata[2]:.0f} rows"
            "<extra></extra>",
        )  # fmt: skip
        keys.append(coloured(name, colour, _GLYPHS[symbol]))
    figure.add_annotation(
        text="<br>".join("   ".join(keys[k : k + 2]) for k in range(0, len(keys), 2)), x=0, y=1.01,
        xref="paper", yref="paper", xanchor="left", yanchor="bottom", showarrow=False, align="left",
        font={"color": theme.text, "size": 12},
    )  # fmt: skip
    return figure


#: Box to centre, size and formula; in a picture 12 wide and 7 high.
_BOXES = {
    "x": (0.75, 2.2, 1.3, 1.5, "<b>X</b>"),
    "s": (0.75, 6.1, 1.3, 1.3, "<b>S</b>"),
    "h": (3.1, 2.2, 1.9, 1.5, "<b>Predictor</b><br>ŷ = h<sub>φ</sub>(X)"),
    "f": (6.7, 3.7, 2.0, 1.6, "<b>Adversary f</b><br>f̂ = (f(ŷ) − m<sub>f</sub>) / σ<sub>f</sub>"),
    "g": (6.7, 6.1, 2.0, 1.6, "<b>Adversary g</b><br>ĝ = (g(S) − m<sub>g</sub>) / σ<sub>g</sub>"),
    "j": (10.7, 4.9, 2.4, 1.5, "<b>Dependence</b><br>J = E[f̂ ĝ]"),
    "error": (6.7, 0.7, 2.0, 1.4, "<b>Error</b><br>MSE = E[(ŷ − Y)²]"),
    "loss": (10.7, 1.2, 2.4, 1.5, "<b>Loss</b><br>L = MSE + λ J"),
}
_FORWARD = (
    ("x", "h"), ("s", "g"), ("h", "f"), ("h", "error"), ("f", "j"), ("g", "j"), ("error", "loss"),
    ("j", "loss"),
)  # fmt: skip


def architecture_figure(values: Mapping[str, float], *, lam: float, features: str, theme: Theme) -> go.Figure:
    """The networks of Fair HGR NN as boxes, each with its formula and its value; gradients as arrows back.

    Parameters
    ----------
    values
        One row of the table ``flow`` of :func:`fairdash.reproduction.fig3.reproduce_fig3`.
    lam
        λ.
    features
        What X holds, in words.
    """
    figure = new_figure(
        title="The Fair HGR NN in training",
        subtitle=f"epoch {values['epoch']:.0f}; grey: values forward; coloured: gradients back, thicker "
        "where larger",
        x="", y="", theme=theme, height=560,
    )  # fmt: skip
    live = {
        "x": features,
        "s": "age",
        "h": f"mean {values['y_pred_mean']:+.2f}, sd {values['y_pred_sd']:.2f}",
        "f": f"m {values['f_mean']:+.2f}, σ {values['f_sd']:.2f}",
        "g": f"m {values['g_mean']:+.2f}, σ {values['g_sd']:.2f}",
        "j": f"{values['j']:+.3f}",
        "error": f"{values['mse']:.3f}",
        "loss": f"{values['mse']:.3f} + {lam:g} · ({values['j']:.3f}) = {values['loss']:.3f}",
    }
    axis = {"visible": False, "fixedrange": True}
    figure.update_layout(
        xaxis=axis | {"range": [0, 12]}, yaxis=axis | {"range": [7, -0.4]}, hovermode="closest"
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
        notes.append(_text(x, y, text, theme))
    notes += [_arrow(a, b, theme.quiet, 1.5, 0.0) for a, b in _FORWARD]
    back = (
        ("j", "f", theme.standard, values["grad_f"], "∂J/∂θ<sub>f</sub>", "up"),
        ("j", "g", theme.standard, values["grad_g"], "∂J/∂θ<sub>g</sub>", "up"),
        ("error", "h", theme.chosen, values["grad_error"], "∂MSE/∂φ", "down"),
        ("f", "h", theme.chosen, values["grad_penalty"], "λ ∂J/∂φ", "down"),
    )
    for start, end, colour, size, label, way in back:
        notes.append(_arrow(start, end, colour, 1.0 + 3.0 * min(size, 1.0), 0.32))
        from_, to = _edge(start, end), _edge(end, start)
        x, y = (from_[0] + to[0]) / 2, (from_[1] + to[1]) / 2 + 0.72
        arrow = "▲" if way == "up" else "▼"
        notes.append(_text(x, y, coloured(f"{label} = {size:.3f}", colour, arrow), theme, veil=True))
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


def _text(x: float, y: float, text: str, theme: Theme, *, veil: bool = False) -> dict[str, object]:
    return {
        "x": x, "y": y, "text": text, "showarrow": False, "font": {"color": theme.text, "size": 13},
        **({"bgcolor": theme.veil} if veil else {}),
    }  # fmt: skip


def _arrow(start: str, end: str, colour: str, width: float, aside: float) -> dict[str, object]:
    """From the edge of one box to the edge of another, moved aside so that ways back are seen."""
    ax, ay = _edge(start, end)
    x, y = _edge(end, start)
    return {
        "x": x, "y": y + aside, "ax": ax, "ay": ay + aside, "xref": "x", "yref": "y", "axref": "x",
        "ayref": "y", "text": "", "showarrow": True, "arrowhead": 2, "arrowsize": 1, "arrowwidth": width,
        "arrowcolor": colour,
    }  # fmt: skip


def _edge(box: str, towards: str) -> tuple[float, float]:
    """Where the line between two centres leaves the first box."""
    x, y, width, height, _ = _BOXES[box]
    dx, dy = _BOXES[towards][0] - x, _BOXES[towards][1] - y
    scale = min(width / 2 / abs(dx) if dx else float("inf"), height / 2 / abs(dy) if dy else float("inf"))
    return x + dx * scale, y + dy * scale
