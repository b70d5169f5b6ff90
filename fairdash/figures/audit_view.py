"""What a figure of an audit is, and what it needs to know besides its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from fairdash.figures.theme import Theme


@dataclass(frozen=True, kw_only=True)
class AuditView:
    """What figures need to know of an audit besides their table.

    Parameters
    ----------
    names
        Role to the column's name, "" where there is none: price, sensitive, outcome, candidate.
    n
        Rows.
    mean_price, max_gap, gap_allowed
        The mean price, and the largest gap allowed as a share of it and in units of the price.
    """

    names: Mapping[str, str]
    n: int
    mean_price: float
    max_gap: float
    gap_allowed: float


@dataclass(frozen=True, kw_only=True)
class AuditFigure:
    """How a table of an audit is drawn.

    Parameters
    ----------
    title
        With the names of :attr:`AuditView.names` in braces.
    alt
        What there is to see, for who can't; the title stands before it.
    draw
        Takes the table, the title, the view and the theme.
    """

    title: str
    alt: str
    draw: Callable[[pd.DataFrame, str, AuditView, Theme], go.Figure]
