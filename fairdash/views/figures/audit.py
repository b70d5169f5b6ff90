"""Registry of audit figures, one per table, for pages and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from fairdash.utils.text import CROSS
from fairdash.views.blocks import Chart, Picture
from fairdash.views.figures import audit_traces as traces
from fairdash.views.figures.audit_traces import Draw
from fairdash.views.figures.theme import HEIGHT, Theme, escaped, new_figure

#: Height of a figure's title, axis and margins, in pixels. The height of the rows is added to it.
_HEIGHT_WITHOUT_ROWS = 150


@dataclass(frozen=True, kw_only=True)
class AuditFigure:
    """Figure of an audit table.

    Parameters
    ----------
    title, subtitle, x, y
        Texts of the figure; roles in braces, such as ``{price}``, stand for column names
        (:attr:`Chart.names`).
    alt
        Description of the figure for readers who can't see it, to follow the title.
    draw
        Function that draws into an empty figure; its arguments are the figure, the table, the chart and the
        theme.
    height, of_a_row
        Height in pixels of the whole figure, or of each row if the figure has one line per row of the table.
    rows
        Function that selects the table's rows to draw; None for all rows.
    """

    title: str
    subtitle: str
    draw: Draw
    x: str = "{sensitive}"
    y: str = "{price}"
    alt: str = "points with intervals."
    height: int = HEIGHT
    of_a_row: int = 0
    rows: Callable[[pd.DataFrame], pd.DataFrame] | None = None


def audit_figure(chart: Chart, *, theme: Theme) -> Picture | None:
    """Draw a chart; return None if the chart's table has no figure or no rows."""
    table = chart.table
    if chart.name not in FIGURES or table.empty:
        return None
    maker = FIGURES[chart.name]
    known = dict(chart.names) | {"total": f"{100 * table['share'].sum():.1f} %" if "share" in table else ""}
    words = {key: getattr(maker, key).format(**known) for key in ("title", "subtitle", "x", "y")}
    # The figure of classes has no band and no tails, so its subtitle must not mention them.
    of_classes = "class" in table and maker.x == "{sensitive}"
    for of_numbers, instead in _REPLACED_FOR_CLASSES.items() if of_classes else ():
        words["subtitle"] = words["subtitle"].replace(of_numbers, instead)
    if maker.rows is not None:
        table = maker.rows(table)
    height = _HEIGHT_WITHOUT_ROWS + maker.of_a_row * len(table) if maker.of_a_row else maker.height
    figure = new_figure(**words, theme=theme, height=height)
    maker.draw(figure, table, chart, theme)
    if of_classes:
        where = next(column for column in ("at", "s_low", "low") if column in table)
        names = table.drop_duplicates(where)
        figure.update_xaxes(tickvals=names[where], ticktext=[escaped(name) for name in names["class"]])
    return Picture(chart.id, figure, f"{words['title']}: {maker.alt}")


_BANDED = "95 % band for smooth curves. Diamonds: mean of all rows beyond either end of the curve"
_REPLACED_FOR_CLASSES = {
    _BANDED: "95 % intervals, simultaneous for all classes",
    "at each value": "in each class",
    "a band for smooth curves": "its interval",
    "Bands of about equal exposure, 95 %": "95 %",
    ", in bands of about equal exposure": "",
    ". Markers: means of the rows below the 5th and above the 95th percentile": "",
}
_RATIOS = "Bands of about equal exposure, with 95 % intervals. Above 1, claims exceed prices"
_SIMULTANEOUS = "simultaneous 95 % limits"
_OF_MEAN = "Per cent of the mean price, 95 % intervals"
_LINE_ALT = "a line with its band."


def _pairs_with_the_first(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that combine the first attribute with exactly one other attribute."""
    is_drawn = table["sensitive"] == table["sensitive"].iloc[0]
    return table[is_drawn & ~table["other"].str.contains(CROSS, regex=False) & table["middle"].notna()]


_ratio = traces.intervals("ratio", "ci_low", "ci_high", level=1.0)
_MONEY: dict[str, Any] = {
    "subtitle": f"Per unit of exposure, in bands of about equal exposure; {_SIMULTANEOUS}",
    "y": "a unit",
    "draw": traces.intervals("per_head", "per_head_low", "per_head_high"),
}
_SEGMENTS: dict[str, Any] = {
    "subtitle": f"Per unit of exposure, ordered by the limit nearest to 0; {_SIMULTANEOUS}",
    "x": "a unit",
    "y": "",
    "alt": "points with intervals, one line per segment.",
    "of_a_row": 26,
    "draw": traces.segments,
}

#: Figures by table; other tables have no figure. The table with a question's measures is named ``measures_``
#: plus the number of the question.
FIGURES: Mapping[str, AuditFigure] = MappingProxyType(
    {
        "curve": AuditFigure(
            title="Average {price} by {sensitive}", subtitle=_BANDED, alt=_LINE_ALT, draw=traces.price_curve
        ),
        "classes": AuditFigure(
            title="Average {price} of each class of {sensitive}",
            subtitle="95 % interval of each class. Line: mean of all rows",
            x="{price}",
            y="",
            of_a_row=34,
            alt="one bar per class, with its interval.",
            draw=traces.classes,
        ),
        "class_probabilities": AuditFigure(
            title="Average {price} of each class minus the average of all other classes, from probabilities",
            subtitle="Thick lines: 95 % intervals, if price and class are unrelated among rows of equal "
            "probability. Thin lines: bounds without this assumption",
            x="{price}",
            y="",
            of_a_row=44,
            alt="one point per class, with an interval and a wider range.",
            draw=traces.by_probability,
        ),
        "crossed": AuditFigure(
            title="Average {price} by {sensitive} and a second attribute",
            subtitle="Combinations with 20 rows or more, with 95 % intervals that hold for all "
            "combinations together",
            height=460,
            alt="points with intervals for each group.",
            rows=_pairs_with_the_first,
            draw=traces.crossed,
        ),
        "dearest_curve": AuditFigure(
            title="Share of rows with the highest 5 % of {price}, by {sensitive}",
            subtitle="Share of the rows at each value that are among the highest 5 % of prices, with a "
            "band for smooth curves. Dotted: 5 %",
            y="among the highest 5 %",
            alt=_LINE_ALT,
            draw=traces.top_share,
        ),
        "candidate_curve": AuditFigure(
            title="Average {candidate} by {sensitive}",
            subtitle=_BANDED,
            y="{candidate}",
            alt=_LINE_ALT,
            draw=traces.price_curve,
        ),
        "moved_curve": AuditFigure(
            title="What has changed: average {price} by {sensitive}, as a share of the mean",
            subtitle="This audit minus the earlier audit. 95 % band for the whole curve. Diamonds: mean of "
            "all rows beyond either end of the curve",
            y="of the mean price",
            alt="a line with its band about zero.",
            draw=traces.difference_curve,
        ),
        "controlled_curve": AuditFigure(
            title="Average {price} by {sensitive}, among equals",
            subtitle=_BANDED,
            alt=_LINE_ALT,
            draw=traces.price_curve,
        ),
        "residual_curve": AuditFigure(
            title="Average {outcome} (scaled to the total of {price}) minus {price}, by {sensitive}",
            subtitle=_BANDED,
            y="{outcome} minus {price}",
            alt=_LINE_ALT,
            draw=traces.difference_curve,
        ),
        "measures_3": AuditFigure(
            title="Gap along {sensitive}: explained by expected cost, and unexplained",
            subtitle=_OF_MEAN,
            x="",
            y="",
            of_a_row=42,
            alt="bars with intervals.",
            draw=traces.bars(traces.measures, value="value"),
        ),
        "bias_surface": AuditFigure(
            title="{outcome} minus its mean at the same {price}, by {price} and {sensitive}",
            subtitle="Squares: 20 rows or more. Orange: undercharged. Blue: overcharged. Ring: beyond 2 "
            "standard errors",
            alt="squares, coloured by the amount undercharged.",
            draw=traces.surface,
        ),
        "actual_to_expected": AuditFigure(
            title="Actual ÷ expected by {sensitive}", subtitle=_RATIOS, y="actual ÷ expected", draw=_ratio
        ),
        "calibration": AuditFigure(
            title="Actual ÷ expected by {price}",
            subtitle=_RATIOS,
            x="{price}",
            y="actual ÷ expected",
            draw=_ratio,
        ),
        "drivers": AuditFigure(
            title="Through which columns {price} follows {sensitive}",
            subtitle="{sensitive} explains {total} of the variance. 95 % intervals. A column below 0 "
            "offsets others",
            x="per cent of the variance of {price}",
            y="",
            of_a_row=34,
            rows=lambda table: table.head(12),
            alt="one bar per column, with its interval.",
            draw=traces.bars(traces.features, value="share", hover="%{y}: %{x:.2f} %"),
        ),
        "premium_curves": AuditFigure(
            title="Alternative premiums by {sensitive}",
            subtitle="Means, scaled to today's mean price. Markers: means of the rows below the 5th and "
            "above the 95th percentile",
            height=460,
            alt="each premium, and today's price.",
            draw=traces.premiums,
        ),
        "premium_differences": AuditFigure(
            title="Changes of policies between premiums",
            subtitle="Thin line: 90 % of policies. Thick line: 50 %. Dot: the median",
            x="per cent of the mean price",
            y="",
            of_a_row=50,
            alt="one range per difference, with the median policy.",
            draw=traces.differences,
        ),
        "lorenz": AuditFigure(
            title="Concentration of {outcome} where {price} is high",
            subtitle="Rows ordered by {price}, lowest first. Dotted: the same price for everyone",
            x="share of the exposure",
            y="share of {outcome}",
            alt="a curve under the diagonal.",
            draw=traces.lorenz,
        ),
        "double_lift": AuditFigure(
            title="{price} and {candidate} against {outcome}",
            subtitle="Bands of the ratio of both prices. Each curve is divided by its mean. A better price "
            "follows the outcome more closely",
            x="{candidate} ÷ {price}",
            y="of its mean",
            alt="three lines.",
            draw=traces.lift,
        ),
        "money_along_s": AuditFigure(title="Price above its base, by {sensitive}", **_MONEY),
        "segments": AuditFigure(title="Segments affected most", **_SEGMENTS),
        "missing_by_price": AuditFigure(
            title="Rows in which {sensitive} is missing, by {price}",
            subtitle="Bands of about equal exposure. The audit leaves these rows out",
            x="{price}",
            y="share of the exposure",
            alt="a line.",
            draw=traces.missing,
        ),
        "reliability": AuditFigure(
            title="Change of {price} from the 10th to the 90th percentile of {sensitive}, corrected for "
            "errors",
            subtitle=f"{_OF_MEAN}. 1: the attribute as measured",
            x="reliability",
            y="% of the mean price",
            draw=traces.intervals("value", "ci_low", "ci_high", at="reliability", scale=100, reverse=True),
        ),
        "reliability_curve": AuditFigure(
            title="Average {price} by {sensitive}, corrected for errors",
            subtitle="At stated reliabilities of the attribute; hover for 95 % intervals",
            alt="one line per reliability.",
            draw=traces.reliabilities,
        ),
        "two_prices": AuditFigure(
            title="{price} beside {candidate}",
            subtitle="Per cent; hover for the difference and its paired 95 % interval",
            x="%",
            y="",
            of_a_row=34,
            rows=lambda table: table[table["ci_low"].notna()],
            alt="pairs of points.",
            draw=traces.two_prices,
        ),
        "change_along_s": AuditFigure(title="{candidate} minus {price}, by {sensitive}", **_MONEY),
        "change_segments": AuditFigure(
            title="Largest gains and losses: {candidate} minus {price}", **_SEGMENTS
        ),
    }
)
