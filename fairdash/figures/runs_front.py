"""Fronts of several runs on one chart: test error against dependence, a line a run and method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.front import DASHES, SYMBOLS, fit_axes, floor_band, room_of_floor_note
from fairdash.figures.labels import Label, placed
from fairdash.figures.theme import OTHERS, REFERENCE, Theme, escaped, faded, new_figure
from fairdash.training.methods import METHODS


@dataclass(frozen=True, kw_only=True, eq=False)
class RunPath:
    """A run's front as the chart needs it.

    Parameters
    ----------
    letter, title
        What the run is called on the chart, and in full where somebody points at it.
    test
        Means over the splits of :func:`fairdash.evaluation.assess_curve`, test rows.
    """

    letter: str
    title: str
    test: pd.DataFrame


def runs_front_figure(
    runs: Sequence[RunPath],
    *,
    error: str,
    error_title: str,
    measure: str,
    measure_title: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Mean test error against a measure of dependence, a colour and symbol a run and method.

    Parameters
    ----------
    error, error_title, measure, measure_title
        Columns along y and x, and their axis titles.
    """
    figure = new_figure(
        title="What fairness costs in each run",
        subtitle=subtitle,
        x=measure_title,
        y=error_title,
        theme=theme,
    )
    colours = (theme.chosen, theme.standard, REFERENCE, *OTHERS)
    symbols, dashes = ("circle", *SYMBOLS), ("solid", *DASHES)
    labels: list[Label] = []
    paths = [(run, own) for run in runs for _, own in run.test.groupby("method", sort=False)]
    for k, (run, own) in enumerate(paths):
        own = own.sort_values("lam")
        colour, name = colours[k % len(colours)], METHODS[str(own["method"].iloc[0])].title
        line = {"color": colour, "width": 2, "dash": dashes[k % len(dashes)]}
        called = escaped(f"{run.letter}: {name}")
        figure.add_scatter(
            x=own[measure], y=own[error], mode="lines", line=line, name=f"{called}, path", hoverinfo="skip"
        )
        trained = own[own["share"] == 0]
        bars = {
            axis: {"type": "data", "array": trained[f"{column}_se"].fillna(0.0), "thickness": 1, "width": 0}
            | {"color": faded(colour, 0.35)}
            for axis, column in (("error_x", measure), ("error_y", error))
        }
        figure.add_scatter(
            x=trained[measure],
            y=trained[error],
            mode="markers",
            marker={
                "size": 9,
                "color": colour,
                "symbol": symbols[k % len(symbols)],
                "line": {"width": 1, "color": theme.text},
            },
            name=called,
            customdata=trained[["lam", "n_splits", f"{measure}_floor", f"{measure}_se", f"{error}_se"]],
            hovertemplate=f"<b>{called}, λ = %{{customdata[0]:g}}</b><br>{escaped(run.title)}"
            "<br>mean of %{customdata[1]} splits"
            "<br>dependence %{x:.3f} ± %{customdata[3]:.3f} (floor %{customdata[2]:.3f})"
            "<br>error %{y:.3f} ± %{customdata[4]:.3f}<extra></extra>",
            **bars,
        )
        end = own.iloc[-1]
        labels.append(
            Label(x=float(end[measure]), y=float(end[error]), text=f"{run.letter}: {name}", colour=theme.text)
        )
    table = pd.concat([own for _, own in paths])
    errors = table[f"{error}_se"].fillna(0)
    axes = fit_axes(figure, table[measure], pd.concat([table[error] - errors, table[error] + errors]))
    # Left of the least of all edges no run finds a link.
    band, words = floor_band(float(table[f"{measure}_edge"].min()), theme)
    beside = placed(
        labels,
        axes=axes,
        taken=[room_of_floor_note(axes)],
        points=table[[measure, error]].to_numpy(dtype=float),
        theme=theme,
    )
    figure.update_layout(shapes=[band], annotations=[words, *beside])
    return figure
