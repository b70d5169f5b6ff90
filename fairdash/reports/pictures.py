"""The pictures of a report: plotly figures on white, with their words beside them as HTML.

Groups of rows are joined with their neighbours until each holds at least 20 test rows of every split.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from fairdash.assessment.profile import ROWS_PER_GROUP
from fairdash.dependence import REGISTRY
from fairdash.figures.theme import LIGHT
from fairdash.reports import drawing, words
from fairdash.reports.comparison import Comparison, Front, Point
from fairdash.training.objectives import OBJECTIVES

#: What a title above the plot no longer needs of the figure's margin.
_TITLE_ROOM = 56
#: So that long ones fit on a phone.
_AXIS_TITLE = 13


@dataclass(frozen=True)
class Picture:
    """A figure and its words.

    Parameters
    ----------
    id
        Its name in the document.
    title, subtitle
        Plain text.
    alt
        What there is to see, for who can't.
    height
        Of the plot, in pixels.
    json
        The plotly figure without its titles.
    """

    id: str
    title: str
    subtitle: str
    alt: str
    height: int
    json: str

    @classmethod
    def of(cls, figure: go.Figure, *, id: str, alt: str) -> Picture:
        """Take titles out of a figure: as HTML they wrap on a phone and on paper."""
        title = _plain(figure.layout.title.text.removeprefix("<b>").removesuffix("</b>"))
        subtitle = _plain(figure.layout.title.subtitle.text)
        height, margin = figure.layout.height - _TITLE_ROOM, figure.layout.margin.t - _TITLE_ROOM
        figure.update_layout(title=None, height=height, margin_t=margin)
        figure.update_xaxes(title_font_size=_AXIS_TITLE).update_yaxes(title_font_size=_AXIS_TITLE)
        return cls(id, title, subtitle, alt, height, figure.to_json())


def has_groups(found: Comparison) -> bool:
    """Whether every split has the test rows of a group."""
    return min(len(split.test) for split in found.result.splits) >= ROWS_PER_GROUP


def profiles(found: Comparison, objective: str) -> dict[Point, pd.DataFrame]:
    """The averages of A and of B."""
    return {point: found.profile(point, objective=objective) for point in (found.a, found.b)}


def pictures(found: Comparison, fronts: Mapping[str, Front]) -> dict[str, Picture]:
    """All pictures of a report by id, in its order; those of groups only where there are groups."""
    makers: dict[str, Callable[[], Picture]] = {"front": lambda: _front(found)}
    if has_groups(found):
        makers |= {
            f"profile-{objective}": lambda objective=objective: _profile(found, objective)  # type: ignore[misc]
            for objective in (found.objective, *(each for each in fronts if each != found.objective))
        }
        makers["spread"] = lambda: _spread(found)
        if not found.is_of_one_point:
            makers["money"] = lambda: _money(found)
    makers["objectives"] = lambda: _objectives(found, fronts)
    if found.result.importance is not None:
        makers["features"] = lambda: _features(found)
    return {id: make() for id, make in makers.items()}


def _profile(found: Comparison, objective: str) -> Picture:
    seen, tables = OBJECTIVES[objective], profiles(found, objective)
    alt = (
        f"Two lines with 95 % bands: the average {seen.audited} in groups of {found.sensitive}, for "
        f"{found.a.title} (dashed) and {found.b.title} (solid). {_range(found, tables, seen.audited)}"
    )
    figure = drawing.profile(found, objective=objective, theme=LIGHT)
    return Picture.of(figure, id=f"profile-{objective}", alt=alt)


def _range(found: Comparison, tables: Mapping[Point, pd.DataFrame], audited: str) -> str:
    parts = [
        f"{found.called(point)}: from {tables[point]['mean'].min():.3g} to {tables[point]['mean'].max():.3g}"
        for point in dict.fromkeys((found.a, found.b))
    ]
    return f"Group averages of the {audited}, {'; '.join(parts)}."


def _front(found: Comparison) -> Picture:
    alt = (
        f"Test error against {REGISTRY[found.measure].symbol}, a line a method from the standard model to "
        f"the largest λ; points are trained models. {found.b.title}: error "
        f"{found.shown(found.front.error, found.b)}, {REGISTRY[found.measure].symbol} "
        f"{found.shown(found.measure, found.b)}."
    )
    return Picture.of(drawing.front(found, theme=LIGHT), id="front", alt=alt)


def _spread(found: Comparison) -> Picture:
    alt = (
        f"Densities of the {found.objective_seen.audited} in the low, middle and high third of "
        f"{found.sensitive}, a row a third: {found.a.title} dashed, {found.b.title} solid."
    )
    return Picture.of(drawing.spread(found, theme=LIGHT), id="spread", alt=alt)


def _money(found: Comparison) -> Picture:
    alt = f"Bars: change of the average prediction by group of {found.sensitive}. {words.who_pays(found)}"
    return Picture.of(drawing.money(found, theme=LIGHT), id="money", alt=alt.strip())


def _objectives(found: Comparison, fronts: Mapping[str, Front]) -> Picture:
    alt = (
        "Two panels, test error against dependence of predictions and of residuals along one method's path. "
        f"{words.both_objectives(found, fronts)}"
    )
    return Picture.of(drawing.objectives(found, fronts, theme=LIGHT), id="objectives", alt=alt)


def _features(found: Comparison) -> Picture:
    figure = drawing.features(found, kind="reliance", theme=LIGHT)
    assert figure is not None
    alt = (
        "How far predictions move on average when a feature is shuffled among the test rows, by feature: "
        f"{found.a.title} and {found.b.title}."
    )
    return Picture.of(figure, id="features", alt=alt)


def _plain(text: str) -> str:
    return html.unescape(text)
