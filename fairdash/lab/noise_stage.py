"""Interactive figure of the Patterns page: rows, curve and estimates, computed in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.lab import Scene
from fairdash.lab.figures.estimates import Group, Rows, digits, estimates_figure, rows_of
from fairdash.lab.figures.simulations import scatter_figure, short_name
from fairdash.views.figures.data import sampled_rows
from fairdash.views.figures.parts import lists, plain
from fairdash.views.figures.theme import Theme

Array = NDArray[np.float64]

#: Levels of the noise, as standard deviations of ε.
NOISES = tuple(k / 4 for k in range(41))
#: Number of points at which F is drawn. A pattern with forty waves then has fifty points per wave.
POINTS_OF_F = 2001
#: `_HEIGHT`: height of the plots inside the axes, in pixels. `_ROW`: height of the row of an estimator.
_HEIGHT, _ROW = 400, 27


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Values of the estimators at one noise level.

    Parameters
    ----------
    estimates
        Estimates as returned by :func:`fairdash.lab.scene_estimates`.
    groups
        Groups of estimators to draw, with the exact value at this noise level.
    """

    estimates: pd.DataFrame
    groups: Sequence[Group]


def stage_of(scene: Scene, levels: Sequence[Noise], *, theme: Theme) -> dict[str, Any]:
    """Return figures and table of simulated data, and their changes with the noise slider, as plain values.

    Parameters
    ----------
    scene
        Simulated data with a noise level in :data:`NOISES`.
    levels
        Values of the estimators, one entry per level of :data:`NOISES`.
    """
    noise_index = NOISES.index(scene.noise)
    rows, of_rows = _moving_rows(scene, theme=theme)
    bars, of_bars, n_bars = _moving_bars(levels, at=noise_index, theme=theme)
    ids = [id for group in levels[noise_index].groups for id in group.ids]
    exact = [level.groups[0].exact or 0.0 for level in levels]
    cells = [_cells(level.estimates, ids) for level in levels]
    descriptions = [
        f"σ = {noise:g}; exact HGR {digits(hgr)}; "
        + "; ".join(f"{short_name(id)} {value}" for id, (value, _) in zip(ids, pairs, strict=True))
        for noise, hgr, pairs in zip(NOISES, exact, cells, strict=True)
    ]
    return {
        "slider": {
            "label": "Noise, σ",
            "symbol": "σ",
            "help": "Standard deviation of ε, in the units of V. F takes values between about −5 and 10.",
            "stops": [f"{noise:g}" for noise in NOISES],
            "said": descriptions,
            "ticks": list(range(0, len(NOISES), 4)),
            "at": noise_index,
        },
        "figures": [
            {
                "spec": rows,
                "height": _HEIGHT,
                "alt": f"Scatter of V against U: {scene.named.title}, {scene.n} rows.",
            },
            {
                "spec": bars,
                "height": max(_HEIGHT, _ROW * (n_bars + 1)),
                "alt": "Bars: the value of each estimator, its noise floor, and the exact maximal "
                "correlation. The table below gives the numbers.",
            },
        ],
        "moves": [*({"figure": 0, **move} for move in of_rows), *({"figure": 1, **move} for move in of_bars)],
        "cards": [],
        "table": {
            "title": "Estimates, as a table",
            "head": ["Estimator", "Reads", "Noise floor, 95 %"],
            "rows": [["Exact HGR"], *([short_name(id)] for id in ids)],
            "cells": [[(digits(hgr), "–"), *pairs] for hgr, pairs in zip(exact, cells, strict=True)],
        },
    }


def _cells(estimates: pd.DataFrame, ids: Sequence[str]) -> list[tuple[str, str]]:
    columns = (estimates["id"], estimates["value"], estimates["floor_q95"])
    cells_by_id = {id: (digits(value), digits(floor)) for id, value, floor in zip(*columns, strict=True)}
    return [cells_by_id.get(id, ("…", "…")) for id in ids]


def _moving_rows(scene: Scene, *, theme: Theme) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the figure of rows and curve, and how rows and axes move with the noise.

    V is F + σ ε or, with heavy tails, the exponential of a sum of this form. The browser therefore only
    receives F, ε and their coefficients at each noise level.
    """
    u, _ = scene.draw()
    plain_scene = replace(scene, heavy_tails=False)
    (f,), (once,) = (replace(plain_scene, noise=noise).draw()[1] for noise in (0.0, 1.0))
    # Heavy tails would move −10 and 10 to 0 and to infinity, so the grid does not contain these points.
    grid = np.linspace(-10, 10, POINTS_OF_F)[1:-1]
    if scene.heavy_tails:
        grid = grid[scene.scale_u(grid) <= u.max()]
    curve = scene.named(grid)
    sample = sampled_rows(scene.n)
    u_values = scene.scale_u(grid)
    figure = scatter_figure(
        u[0][sample],
        scene.scale_v(f + scene.noise * (once - f))[sample],
        (u_values, scene.scale_v(curve)),
        title=scene.named.title,
        subtitle=f"{scene.n:,} rows"
        + (f", U tied on {scene.ties:.0%}" if scene.ties else "")
        + (", heavy tails" if scene.heavy_tails else ""),
        theme=theme,
        height=_HEIGHT,
    )
    spec = plain(figure)
    mean, of_f = 0.0, np.ones(len(NOISES))
    if scene.heavy_tails:
        mean, _ = scene.heavy_scale
        of_f = np.array([replace(scene, noise=noise).heavy_scale[1] for noise in NOISES])
    of_noise = of_f * np.array(NOISES)

    def noisy_values(f: Array, noise: Array) -> dict[str, Any]:
        components = {"parts": [lists(f - mean), lists(noise)], "exp": scene.heavy_tails}
        return components | {"shares": [of_f.tolist(), of_noise.tolist()]}

    end_points = np.stack([_ends(scene, f, once - f, curve, noise=noise) for noise in NOISES])
    x_limits = [float(min(u.min(), u_values.min())), float(max(u.max(), u_values.max()))]
    margin = 0.03 * (x_limits[1] - x_limits[0])
    spec["layout"]["xaxis"]["range"] = [x_limits[0] - margin, x_limits[1] + margin]
    spec["layout"]["yaxis"]["range"] = end_points[NOISES.index(scene.noise)].tolist()
    last = [float(replace(scene, noise=noise).scale_v(curve[-1:])[0]) for noise in NOISES]
    moves: list[dict[str, Any]] = [
        {"kind": "scale", "part": 1, "range": lists(end_points)},
        {"kind": "trace", "part": 0, "mix": noisy_values(f[sample], (once - f)[sample])},
    ]
    if scene.heavy_tails:
        moves.append({"kind": "trace", "part": 1, "mix": noisy_values(curve, np.zeros(len(curve)))})
        moves.append({"kind": "note", "part": 0, "y": last})
    return spec, moves


def _ends(scene: Scene, f: Array, noise_of: Array, curve: Array, *, noise: float) -> Array:
    """Return the lower and upper end of the axis of V at a noise level."""
    values = replace(scene, noise=noise).scale_v(np.concatenate([f + noise * noise_of, curve]))
    margin = 0.05 * float(np.ptp(values)) or 1.0
    return np.array([values.min() - margin, values.max() + margin])


def _moving_bars(
    levels: Sequence[Noise], *, at: int, theme: Theme
) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Return the bar chart, the changes of its parts with the noise, and its number of rows."""
    rows = [rows_of(level.estimates, level.groups, theme=theme) for level in levels]
    lowest = min(float(np.nanmin(x, initial=0.0)) for x in (_x(row) for row in rows))
    figure = estimates_figure(
        rows[at],
        lowest=lowest,
        title="Value of each estimator",
        subtitle="grey: noise floor (95 % of shuffled data) · ◇ as published",
        theme=theme,
    )
    ticks = list(rows[at].ticks)
    return (
        plain(figure),
        [
            {"kind": "trace", "part": 0, "x": _numbers([[bar["floor"] for bar in row.bars] for row in rows])},
            {
                "kind": "trace",
                "part": 1,
                "x": _numbers([[bar["x"] for bar in row.bars] for row in rows]),
                "colours": [{k: bar["colour"] for k, bar in enumerate(row.bars)} for row in rows],
            },
            {"kind": "trace", "part": 2, "x": [_exact(row) for row in rows]},
            {
                "kind": "trace",
                "part": 3,
                "x": _numbers([[diamond["x"] for diamond in row.diamonds] for row in rows]),
            },
            *(
                {"kind": "tick", "part": k, "text": [row.ticks[tick] for row in rows]}
                for k, tick in enumerate(ticks)
            ),
            *(
                {"kind": "note", "part": k, "text": [row.notes[k]["text"] for row in rows]}
                for k in range(len(rows[at].notes))
            ),
        ],
        rows[at].height,
    )


def _x(rows: Rows) -> Array:
    return np.array([bar["x"] for bar in rows.bars] + [diamond["x"] for diamond in rows.diamonds])


def _exact(rows: Rows) -> list[float | None]:
    return [x for value, *_ in rows.lines for x in (round(value, 5), round(value, 5), None)]


def _numbers(values: Sequence[Sequence[float]]) -> Sequence[Any]:
    return lists(np.array(values, dtype=np.float64)) if values and len(values[0]) else values
