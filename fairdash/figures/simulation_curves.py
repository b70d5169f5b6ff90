"""Estimators along the noise axis: what they read, and how often they detect the link."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.parts import band, corner_note, line_up, note
from fairdash.figures.simulations import EXACT, coloured, end_name, mark_of, short_name
from fairdash.figures.theme import REFERENCE, Theme, new_figure

#: What the estimators are after, by its column, as it is written.
QUANTITIES = {"hgr": "HGR", "chi2": "χ²", "mi": "mutual information"}


def noise_axis_figure(
    lines: pd.DataFrame,
    exact: pd.DataFrame,
    *,
    ids: Sequence[str],
    evaluation: str,
    noise: float | None,
    title: str,
    subtitle: str,
    theme: Theme,
    height: int = 440,
) -> go.Figure:
    """Mean of each estimator against noise, its range over the data sets as a band, and the exact curve.

    Parameters
    ----------
    lines
        As :func:`fairdash.simulations.noise_axis.lines_of` gives them, of one pattern.
    exact
        As :func:`fairdash.simulations.noise_axis_study` gives it.
    ids
        Estimators to draw.
    evaluation
        "ours" or "published"; estimators without the latter are drawn as ours.
    noise
        Noise level to mark.
    """
    figure = new_figure(
        title=title, subtitle=subtitle, x="Noise σ (units of V)", y="Value", theme=theme, height=height
    )
    traces: list[Any] = [
        go.Scatter(
            x=exact["noise"],
            y=exact["hgr"],
            name="exact HGR",
            hovertemplate="exact HGR at σ = %{x:.2f}: %{y:.3f}<extra></extra>",
            **EXACT,
        )
    ]
    ends = [(float(exact["hgr"].iloc[-1]), coloured("<b>exact</b>", REFERENCE))]
    for id in ids:
        line = _of_way(lines[lines["id"] == id], evaluation)
        if line.empty:
            continue
        x, mean, low, high = (line[name].to_numpy() for name in ("noise", "mean", "min", "max"))
        mark = mark_of(id, theme)
        traces += [
            band(x, low, high, colour=mark.colour, name=f"{short_name(id)}, range"),
            go.Scatter(
                x=x,
                y=mean,
                **mark.line(),
                customdata=line[["min", "max", "size"]].to_numpy(),
                name=short_name(id),
                hovertemplate=f"<b>{short_name(id)}</b> at σ = %{{x:.2f}}: %{{y:.3f}}"
                "<br>%{customdata[0]:.3f} to %{customdata[1]:.3f} in %{customdata[2]} data sets"
                "<extra></extra>",
            ),
        ]
        ends.append((float(mean[-1]), mark.before(end_name(id))))
    figure.add_traces(traces)
    right = float(exact["noise"].max())
    _label_ends(figure, ends, span=1.0 / height, theme=theme)
    figure.update_layout(
        xaxis={"range": [0, right * 1.02]},
        yaxis={"range": [-0.12, 1.04]},
        shapes=[line_up(noise, colour=theme.quiet)] if noise is not None and noise <= right else [],
    )
    return figure


def fig2_figure(
    lines: pd.DataFrame,
    exact: pd.DataFrame,
    *,
    ids: Sequence[str],
    evaluation: str,
    titles: Mapping[str, str],
    quantity: str = "hgr",
    subtitle: str,
    theme: Theme,
    height: int = 640,
) -> go.Figure:
    """Small multiples of the noise axis, a panel a pattern, two by two.

    Parameters as :func:`noise_axis_figure`, and ``quantity``: the column of ``exact`` that the estimators are
    after, "hgr", "chi2" or "mi"; the last two have no upper end, and a panel's axis ends above all it shows.
    """
    exact_name = f"exact {QUANTITIES[quantity]}"
    figure = new_figure(
        title="The paper's four kinds of pattern", subtitle=subtitle, x="", y="", theme=theme, height=height
    )
    base = figure.layout.xaxis.to_plotly_json() | {"title": {"text": "", "standoff": 2}}
    y_base = figure.layout.yaxis.to_plotly_json() | {"title": {"text": "", "standoff": 2}}
    for k, pattern in enumerate(exact["pattern"].unique()):
        suffix = "" if k == 0 else str(k + 1)
        row, column = divmod(k, 2)
        x_domain = [0.0, 0.46] if column == 0 else [0.54, 1.0]
        y_domain = [0.54, 0.88] if row == 0 else [0.05, 0.39]
        figure.layout[f"xaxis{suffix}"] = base | {
            "domain": x_domain,
            "anchor": f"y{suffix}",
            "title": {"text": "Noise σ" if row else "", "standoff": 2},
            "range": [0, 9.4],
            "dtick": 3,
        }
        figure.layout[f"yaxis{suffix}"] = y_base | {
            "domain": y_domain,
            "anchor": f"x{suffix}",
            **({"range": [-0.12, 1.04], "dtick": 0.5} if quantity == "hgr" else {"rangemode": "tozero"}),
        }
        heading = f"<b>{titles.get(pattern, pattern)}</b>"
        above = {"x": x_domain[0], "y": y_domain[1], "yanchor": "bottom"}
        figure.add_annotation(corner_note(heading, colour=theme.text, size=13) | above)
        of_pattern = lines[lines["pattern"] == pattern]
        truth = exact[exact["pattern"] == pattern]
        figure.add_scatter(
            x=truth["noise"], y=truth[quantity], **EXACT, xaxis=f"x{suffix}", yaxis=f"y{suffix}",
            name=exact_name, hovertemplate=f"{exact_name} at σ = %{{x:.2f}}: %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
        for id in ids:
            line = _of_way(of_pattern[of_pattern["id"] == id], evaluation)
            mark = mark_of(id, theme)
            figure.add_scatter(
                x=line["noise"], y=line["mean"], name=short_name(id), **mark.line(size=6),
                xaxis=f"x{suffix}", yaxis=f"y{suffix}",
                hovertemplate=f"<b>{short_name(id)}</b> at σ = %{{x:.2f}}: %{{y:.3f}}<extra></extra>",
            )  # fmt: skip
    names = [coloured("exact", REFERENCE)]
    names += [mark_of(id, theme).before(end_name(id)) for id in ids]
    figure.add_annotation(corner_note(" &nbsp; ".join(names), colour=theme.text))
    return figure


def _of_way(lines: pd.DataFrame, evaluation: str) -> pd.DataFrame:
    """The line of one estimator in the way wanted, or in ours where there is no such way."""
    chosen = lines[lines["evaluation"] == evaluation]
    return chosen if len(chosen) else lines[lines["evaluation"] == "ours"]


def power_figure(
    power: pd.DataFrame, *, ids: Sequence[str], subtitle: str, theme: Theme, height: int = 440
) -> go.Figure:
    """Detection rate against noise, on a logarithmic axis, with 95 % intervals.

    Parameters
    ----------
    power
        As :func:`fairdash.simulations.power_study` gives it.
    ids
        Estimators to draw.
    """
    figure = new_figure(
        title="How often the link is detected",
        subtitle=subtitle,
        x="Noise σ (units of V, logarithmic)",
        y="Data sets in which it is detected (%)",
        theme=theme,
        height=height,
    )
    ends = []
    for id in ids:
        line = power[power["id"] == id].sort_values("noise")
        if line.empty:
            continue
        mark = mark_of(id, theme)
        name = f"{short_name(id)}, 95 % interval"
        low, high = 100 * line["low"], 100 * line["high"]
        figure.add_trace(band(line["noise"], low, high, colour=mark.colour, name=name))
        figure.add_scatter(
            x=line["noise"],
            y=100 * line["rate"],
            **mark.line(),
            customdata=100 * line[["low", "high"]].join(line["repeats"] / 100),
            name=short_name(id),
            hovertemplate=f"<b>{short_name(id)}</b> at σ = %{{x:.3g}}: %{{y:.0f}} %"
            "<br>95 %: %{customdata[0]:.0f} to %{customdata[1]:.0f} % of %{customdata[2]:.0f} data sets"
            "<extra></extra>",
        )
        ends.append(_half_way(line, mark.before(short_name(id))))
    _label_half_way(figure, ends, theme)
    figure.add_hrect(y0=0, y1=5, fillcolor=theme.floor, line_width=0, layer="below")
    above = {"xref": "paper", "xanchor": "left", "yanchor": "bottom"}
    figure.add_annotation(note("5 %: false alarms", x=0, y=5, colour=theme.quiet) | above)
    levels = sorted(power["noise"].unique())
    figure.update_xaxes(type="log", tickvals=levels, ticktext=[f"{level:g}" for level in levels])
    figure.update_yaxes(range=[-3, 104])
    return figure


def _half_way(line: pd.DataFrame, label: str) -> tuple[float, float, str]:
    """Where a line falls below one half: there lines lie apart."""
    above = line[line["rate"] >= 0.5]
    row = line.iloc[0] if above.empty else above.iloc[-1]
    return float(row["noise"]), float(100 * row["rate"]), label


def _label_half_way(figure: go.Figure, ends: list[tuple[float, float, str]], theme: Theme) -> None:
    taken: list[tuple[float, float]] = []
    for x, y, label in sorted(ends, key=lambda end: (end[0], -end[1])):
        level = y
        while any(abs(x - other) < 1e-9 and abs(level - used) < 6 for other, used in taken):
            level -= 6
        taken.append((x, level))
        beside = {"xanchor": "left", "xshift": 8, "yanchor": "bottom"}
        figure.add_annotation(note(label, x=math.log10(x), y=level, colour=theme.text) | beside)


def _label_ends(figure: go.Figure, ends: list[tuple[float, str]], *, span: float, theme: Theme) -> None:
    """Names at the right ends of the lines, moved apart where they would meet; as wide as a margin."""
    gap = 24 * span
    place = 2.0
    notes = []
    for y, label in sorted(ends, reverse=True):
        place = min(y, place - gap)
        beside = {"xref": "paper", "xanchor": "left", "xshift": 6}
        notes.append(note(label, x=1.0, y=place, colour=theme.text) | beside)
    widest = max(len(label.rpartition("</span>")[2]) for _, label in ends)
    figure.update_layout(annotations=notes, margin={"r": 30 + 7 * widest})
