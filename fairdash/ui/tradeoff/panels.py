"""Everything else that the trade-off page can show of the two points; drawn only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from fairdash.dependence import REGISTRY, learned_functions
from fairdash.errors import OptionError
from fairdash.evaluation import Choice, knee, least_dependence, least_error
from fairdash.figures.blocks import Table
from fairdash.figures.comparison import transformation_figure
from fairdash.reports import content, pictures, tables, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.blocks import show_blocks, show_table
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.text import label, number, safe
from fairdash.ui.tradeoff.controls import go_to

KEY = Keys(__file__)


def show_panels(comparison: Comparison) -> None:
    """One control for the rest; what is not chosen costs nothing."""
    shown = st.segmented_control("Look closer", list(_PANELS), key=KEY("more"))
    if shown is not None:
        _PANELS[shown](comparison)


def _averages(comparison: Comparison) -> None:
    """Both predictions and residuals, by rank or by value."""
    by = st.segmented_control(
        "Groups of the sensitive attribute",
        ["by rank", "by value"],
        default="by rank",
        required=True,
        key=KEY("averages-by"),
        help="By rank, every group takes the same room; by value, groups lie where their members are.",
    )
    for column, objective in zip(st.columns(2), OBJECTIVES, strict=True):
        with column:
            picture = pictures.profile(
                comparison, objective=objective, theme=theme(), by_value=by == "by value"
            )
            show_blocks([picture], KEY)
    st.caption(
        "Left, what people are charged; right, by how much that is wrong. A model can be even in one and "
        "uneven in the other."
    )


def _distributions(comparison: Comparison) -> None:
    show_blocks(content.spread(comparison, theme=theme()), KEY)


def _hiding(comparison: Comparison) -> None:
    """f and g of the spline correlation, for both points."""
    seen = comparison.objective_seen
    try:
        curves = {
            comparison.called(point): learned_functions(
                "hgr_spline", *comparison.audited_of_first_split(point)
            )
            for point in (comparison.a, comparison.b)
        }
    except OptionError as error:
        st.info(safe(error))
        return
    for column, of_sensitive, title, axis in zip(
        st.columns(2),
        (False, True),
        (f"f: how the {seen.audited} is bent", f"g: how {comparison.sensitive_called} is bent"),
        (
            label(seen.audited.capitalize(), comparison.unit),
            comparison.sensitive_axis,
        ),
        strict=True,
    ):
        with column:
            chart(
                transformation_figure(
                    curves,
                    of_sensitive=of_sensitive,
                    title=title,
                    axis=axis,
                    subtitle=comparison.subtitle_of_first_split,
                    theme=theme(),
                ),
                key=KEY("hiding", "g" if of_sensitive else "f"),
                alt=f"{title}, for {comparison.called(comparison.a)} and {comparison.called(comparison.b)}.",
            )
    st.caption(
        f"Of all ways to bend the {seen.audited} and {safe(comparison.sensitive_called)}, these two make "
        "them most alike (HGR, found by splines on these very rows). Where g is steep, or turns, people "
        "differ; near independence the curves follow noise and mean nothing."
    )


def _who_pays(comparison: Comparison) -> None:
    if sentence := f"{words.who_pays(comparison)} {words.level(comparison)}".strip():
        st.markdown(f"**{safe(sentence)}**")
    show_blocks(content.who_pays(comparison, theme=theme()), KEY)


def _features(comparison: Comparison) -> None:
    titles = {"reliance": "Predictions move", "importance": "Error grows"}
    kind = st.segmented_control(
        "Shuffle one feature: how much …",
        list(titles),
        default="reliance",
        required=True,
        format_func=titles.__getitem__,
        key=KEY("features-by"),
    )
    blocks = content.features(comparison, kind=str(kind), theme=theme())
    show_blocks(blocks or ["A first look does not measure the features; the refined run does."], KEY)


def _objectives(comparison: Comparison) -> None:
    st.markdown(f"**{safe(words.both_objectives(comparison))}**")
    show_blocks(content.both_objectives(comparison, theme=theme()), KEY)


def _numbers(comparison: Comparison) -> None:
    show_blocks([tables.measures(comparison), tables.hypervolumes(comparison)], KEY)
    show_table(Table("Every trained weight", tables.trained_weights(comparison)), KEY)


def _estimate(comparison: Comparison) -> None:
    methods = {METHODS[id].title: METHODS[id].meaning for id in comparison.front.methods}
    show_blocks([content.measures(comparison), *words.of_values(comparison), methods], KEY)


WISHES = ("Dependence at most …", "Cost at most …", "The knee")


def _find_point(comparison: Comparison) -> None:
    """Ask, choose, report, and offer to go there."""
    path = comparison.front.validation
    if path.empty:
        st.info(
            "This run set no rows aside for choices, and choosing by test rows flatters. Train with a share "
            "of validation rows (Train page, Advanced) to find a point here."
        )
        return
    left, right = st.columns(2, vertical_alignment="bottom")
    wish = left.segmented_control(
        "What do you want?", WISHES, default=WISHES[0], required=True, key=KEY("wish")
    )
    choice, goal = _choose(comparison, str(wish), right)
    st.markdown(f"**{safe(words.of_choice(comparison, choice, goal))}**")
    st.caption(
        "Chosen among all methods, trained weights and blends by the means over the splits' validation rows, "
        "which no model was trained on; the figures are those of the test rows, which had no say."
    )
    st.button(
        "Go there",
        icon=":material/my_location:",
        on_click=go_to,
        args=(choice.method, choice.lam),
        disabled=Point(choice.method, choice.lam) == comparison.b,
    )


def _choose(
    comparison: Comparison, wish: str, place: st.delta_generator.DeltaGenerator
) -> tuple[Choice, str]:
    """The choice, and what was asked for in words."""
    path, measure, error = comparison.front.validation, comparison.measure, comparison.front.error
    symbol = REGISTRY[measure].symbol
    if wish == WISHES[0]:
        standard, edge = (
            comparison.mean(measure, Point(comparison.b.method, 0.0)),
            comparison.edge(comparison.b),
        )
        limit = place.number_input(
            f"{symbol} at most",
            min_value=0.0,
            value=float(f"{edge:.2g}"),
            step=float(f"{max(standard, edge) / 50:.1g}"),
            format="%.3g",
            key=KEY("limit", measure, comparison.objective),
            help=f"The standard model reads {number(standard)}; independence stays below {number(edge)} in "
            "95 % of cases, so that is the least one can ask for.",
        )
        return least_error(path, measure, at_most=limit, error=error), f"{symbol} at most {limit:g}"
    if wish == WISHES[1]:
        percent = place.number_input(
            "Error at most … % above the standard model's",
            min_value=0.0,
            value=10.0,
            step=1.0,
            key=KEY("growth"),
        )
        choice = least_dependence(path, measure, growth=percent / 100, error=error)
        return choice, f"an error at most {percent:g} % above the standard model's"
    return knee(
        path, measure, error=error
    ), "the knee, where more fairness begins to cost more than it brings"


_PANELS: Mapping[str, Callable[[Comparison], None]] = MappingProxyType(
    {
        "Who pays": _who_pays,
        "Averages": _averages,
        "Distributions": _distributions,
        "Where it hides": _hiding,
        "Features": _features,
        "Find the point": _find_point,
        "Both objectives": _objectives,
        "All numbers": _numbers,
        "How to read this": _estimate,
    }
)
