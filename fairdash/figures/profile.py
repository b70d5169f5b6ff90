"""Average prediction, or residual, by sensitive quantile: the chosen model against the standard one."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.theme import Theme, escaped, faded, new_figure


def profile_figure(
    standard: pd.DataFrame,
    chosen: pd.DataFrame,
    *,
    chosen_name: str,
    audited: str,
    sensitive: str,
    level: str,
    reference: float,
    reference_name: str,
    subtitle: str,
    theme: Theme,
) -> go.Figure:
    """Two lines with 95 % bands over the sensitive attribute.

    Parameters
    ----------
    standard, chosen
        As :func:`fairdash.assessment.quantile_profile` gives them.
    chosen_name
        Label of the chosen model's line.
    audited
        "prediction" or "residual".
    sensitive, level
        Axis titles, with units.
    reference, reference_name
        A level line: the global mean, or zero.
    """
    name = escaped(sensitive.partition(" (")[0])
    figure = new_figure(
        title=f"Average {audited} by {sensitive.partition(' (')[0]}",
        subtitle=subtitle,
        x=sensitive,
        y=level,
        theme=theme,
    )
    figure.add_hline(
        y=reference,
        line={"color": theme.quiet, "width": 1, "dash": "dot"},
        annotation={"text": reference_name, "font": {"color": theme.quiet, "size": 12}},
        annotation_position="bottom left",
    )
    lines = (
        (standard, "standard model", theme.standard, "dash", "diamond"),
        (chosen, chosen_name, theme.chosen, "solid", "circle"),
    )
    for profile, label, colour, dash, symbol in lines:
        x = profile["s_mean"]
        figure.add_scatter(
            x=pd.concat([x, x[::-1]]),
            y=pd.concat([profile["high"], profile["low"][::-1]]),
            fill="toself",
            fillcolor=faded(colour, 0.16),
            line={"width": 0},
            hoverinfo="skip",
            name=f"{label}, 95 % interval",
        )
        figure.add_scatter(
            x=x,
            y=profile["mean"],
            mode="lines+markers",
            name=label,
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 7, "color": colour},
            customdata=profile[["s_low", "s_high", "n", "low", "high"]],
            hovertemplate=(
                f"<b>{label}</b><br>{name} %{{customdata[0]:.3~g}} to %{{customdata[1]:.3~g}}"
                "<br>average %{y:.4~g} (95 %: %{customdata[3]:.4~g} to %{customdata[4]:.4~g})"
                "<br>%{customdata[2]:.0f} test rows<extra></extra>"
            ),
        )
    _label_lines(figure, lines)
    return figure


def _label_lines(figure: go.Figure, lines: tuple) -> None:
    """Name the lines where they lie furthest apart, each on its outer side."""
    (standard, *_), (chosen, *_) = lines
    gap = (standard["mean"] - chosen["mean"]).abs().fillna(0.0)
    widest = int(gap.to_numpy().argmax())
    upper = standard["mean"].iloc[widest] >= chosen["mean"].iloc[widest]
    for (profile, label, colour, *_), above in zip(lines, (upper, not upper), strict=True):
        figure.add_annotation(
            x=profile["s_mean"].iloc[widest],
            y=profile["mean"].iloc[widest],
            text=f"<b>{escaped(label)}</b>",
            showarrow=False,
            yshift=16 if above else -16,
            font={"color": colour, "size": 13},
        )
