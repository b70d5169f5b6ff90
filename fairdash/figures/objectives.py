"""Both objectives side by side: the same models, judged by their predictions and by their residuals."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from fairdash.dependence import REGISTRY
from fairdash.figures.parts import note
from fairdash.figures.theme import Theme, faded, new_figure
from fairdash.training.objectives import OBJECTIVES


def objectives_figure(
    test: Mapping[str, pd.DataFrame],
    *,
    measure: str,
    method: str,
    chosen_lam: float,
    error: str,
    error_title: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """A panel an objective: the error against the dependence of what it looks at, along one path.

    A model stands at the same height in both panels.

    Parameters
    ----------
    test
        Objective to the means over the splits of the test rows' figures, as
        :attr:`fairdash.reports.comparison.Front.test`.
    measure
        Id of the measure along x.
    method
        Whose path; any one's where it has none of its own, as the standard model.
    chosen_lam
        The stop that is marked.
    error, error_title
        The column along y, ``"mse"`` or ``"deviance"``, and what the axis calls it.
    """
    symbol = REGISTRY[measure].symbol
    figure = new_figure(
        title="Both objectives side by side",
        subtitle=subtitle,
        x="",
        y=error_title,
        theme=theme,
    )
    for k, (objective, frame) in enumerate(test.items()):
        own = method if method in set(frame["method"]) else frame["method"].iloc[0]
        path = frame[frame["method"] == own].sort_values("lam")
        axes = {"xaxis": f"x{k + 1 if k else ''}", "yaxis": f"y{k + 1 if k else ''}"}
        begin = k / len(test)
        # Panels share heights: the second one needs no scale of its own.
        if k:
            figure.layout[f"xaxis{k + 1}"] = figure.layout.xaxis.to_plotly_json() | {"anchor": axes["yaxis"]}
            figure.layout[f"yaxis{k + 1}"] = figure.layout.yaxis.to_plotly_json() | {
                "anchor": axes["xaxis"],
                "matches": "y",
                "showticklabels": False,
                "title": {"text": ""},
            }
        low, high = min(float(path[measure].min()), 0.0), float(path[measure].max())
        room = 0.06 * ((high - low) or 1.0)
        audited = f"{OBJECTIVES[objective].audited}s"
        figure.layout[f"xaxis{k + 1 if k else ''}"].update(
            domain=[begin + (0.03 if k else 0), begin + 1 / len(test) - (0 if k else 0.03)],
            range=[low - (room if low < 0 else 0), high + 2 * room],
            title={"text": f"{symbol}<br>of {audited}"},
            nticks=6,
        )
        chosen, standard = path[path["lam"] == chosen_lam], path[path["lam"] == 0]
        if len(chosen):
            figure.add_shape(
                type="rect",
                xref=axes["xaxis"],
                yref=f"{axes['yaxis']} domain",
                x0=low - room,
                x1=float(chosen[f"{measure}_edge"].iloc[0]),
                y0=0,
                y1=1,
                fillcolor=theme.floor,
                line={"width": 0},
                layer="below",
            )
            upright = {"textangle": -90, "xanchor": "left", "yanchor": "bottom"}
            inside = {"x": max(low, 0.0), "y": 0.02, "xref": axes["xaxis"], "yref": f"{axes['yaxis']} domain"}
            figure.add_annotation(note("noise floor", colour=theme.quiet, size=11, **inside, **upright))
        figure.add_scatter(
            x=path[measure],
            y=path[error],
            mode="lines",
            line={"color": theme.chosen, "width": 2},
            hoverinfo="skip",
            name=f"{audited}: blends",
            **axes,
        )
        for rows, colour, mark, size, label in (
            (path[(path["share"] == 0) & (path["lam"] > 0)], theme.chosen, "circle", 8, "trained"),
            (standard, theme.standard, "diamond", 15, "standard"),
            (chosen[chosen["lam"] > 0], theme.chosen, "circle", 16, f"λ = {chosen_lam:g}"),
        ):
            figure.add_scatter(
                x=rows[measure],
                y=rows[error],
                mode="markers",
                marker={
                    "symbol": mark,
                    "size": size,
                    "color": colour if size > 8 else faded(colour, 0.75),
                    "line": {"width": 1.5 if size > 8 else 0, "color": theme.veil},
                },
                customdata=rows[["lam", f"{measure}_floor", f"{measure}_edge"]],
                hovertemplate=(
                    "<b>λ = %{customdata[0]:g}</b>"
                    f"<br>dependence of {audited} %{{x:.3f}}"
                    "<br>independence: %{customdata[1]:.3f} on average, 95 % below %{customdata[2]:.3f}"
                    "<br>error %{y:.3f}<extra></extra>"
                ),
                name=f"{audited}: {label}",
                **axes,
            )
            if size > 8 and len(rows):
                # Towards the middle of the panel, the standard model's below it.
                is_right = float(rows[measure].iloc[0]) > (low + high) / 2
                beside = {
                    "xanchor": "right" if is_right else "left",
                    "xshift": (-1 if is_right else 1) * (-8 if mark == "diamond" else 11),
                    "yshift": -18 if mark == "diamond" else 0,
                }
                x, y = float(rows[measure].iloc[0]), float(rows[error].iloc[0])
                on = {"xref": axes["xaxis"], "yref": axes["yaxis"]}
                figure.add_annotation(note(f"<b>{label}</b>", x=x, y=y, colour=colour) | on | beside)
    errors = pd.concat([frame[error] for frame in test.values()])
    room = 0.12 * (float(errors.max() - errors.min()) or 1.0)
    figure.update_yaxes(range=[float(errors.min()) - room, float(errors.max()) + room / 2])
    return figure
