"""Everything else that the trade-off page can show of the two points; drawn only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from fairdash.dependence import REGISTRY, learned_functions
from fairdash.errors import OptionError
from fairdash.figures.comparison import transformation_figure
from fairdash.reports import comparison_figures, tables, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.point_values import of_values
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.ui.frame import chart, theme
from fairdash.ui.keys import Keys
from fairdash.ui.text import label, safe
from fairdash.ui.tradeoff.find_point import show_find_point
from fairdash.ui.tradeoff.pictures import show_profile

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
            show_profile(
                comparison, objective=objective, key=KEY("averages", objective), by_value=by == "by value"
            )
    st.caption(
        "Left, what people are charged; right, by how much that is wrong. A model can be even in one and "
        "uneven in the other."
    )


def _distributions(comparison: Comparison) -> None:
    seen = comparison.objective_seen
    chart(
        comparison_figures.spread(comparison, theme=theme()),
        key=KEY("spread"),
        alt=f"How the {seen.audited} is spread in thirds of {comparison.sensitive_called}: "
        f"{comparison.called(comparison.a)} and {comparison.called(comparison.b)}.",
    )
    st.caption(
        "Equal averages can hide unequal spreads: an independent model has the same curve three times."
    )


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
            label(comparison.sensitive_called, comparison.sensitive_unit),
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
    sentence = " ".join(part for part in (words.who_pays(comparison), words.level(comparison)) if part)
    if sentence:
        st.markdown(f"**{safe(sentence)}**")
    chart(
        comparison_figures.transfers(comparison, theme=theme()),
        key=KEY("transfers"),
        alt=f"Change of the average prediction in groups of {comparison.sensitive_called}.",
    )
    st.dataframe(tables.moved(comparison), hide_index=True, alt="What moves from and to each group.")
    heads = "exposure" if comparison.result.weight is not None else "rows"
    st.caption(
        "Test rows, means over the splits. Total: the sum of the changes over a split's test rows, counted "
        f"by {heads}; the groups' totals add up to the change of the whole. What happens within a group is "
        "not seen here."
    )


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
    figure = comparison_figures.features(comparison, kind=str(kind), theme=theme())
    if figure is None:
        st.info("A first look does not measure the features; the refined run does.")
        return
    chart(
        figure,
        key=KEY("features"),
        alt=f"{comparison_figures.FEATURE_AXES[str(kind)]}, by feature, for "
        f"{comparison.called(comparison.a)} and {comparison.called(comparison.b)}.",
    )
    nearest = (
        ""
        if comparison.curve_point(comparison.b).is_trained
        else " A blend is shown by its nearest trained model."
    )
    st.caption(
        "One feature's cells are shuffled among the test rows (permutation importance, means over the "
        "splits; features that tell the same story share their weight). A fair model may use a feature to "
        "take back what others tell of the sensitive attribute: its predictions then lean on it while "
        f"shuffling it lowers the error.{nearest}"
    )


def _objectives(comparison: Comparison) -> None:
    chart(
        comparison_figures.objectives(comparison, theme=theme()),
        key=KEY("objectives"),
        alt="Test error against dependence of predictions on the left, of residuals on the right.",
    )
    st.markdown(safe(words.both_objectives(comparison)))
    st.caption(
        f"The models were trained for {OBJECTIVES[comparison.plan.objective].title.lower()}. Even "
        "predictions and "
        "even errors can't both be had where the target's average changes with the sensitive attribute."
    )


def _numbers(comparison: Comparison) -> None:
    st.dataframe(tables.side_by_side(comparison), hide_index=True, alt="The figures of both points.")
    st.caption(
        "Means over the splits, test rows only. The noise floor is what the same estimator reads "
        "when the sensitive attribute is shuffled: its mean, and in brackets the value that "
        "independence exceeds in 5 % of cases. A blend's floor lies between its neighbours'."
    )
    st.markdown("**Every method**")
    st.dataframe(tables.hypervolumes(comparison), hide_index=True, alt="How much each method's front wins.")
    st.caption(
        "Hypervolume: the share of the box between nothing and the standard model's dependence and the "
        "constant mean's error that a front wins, mean over the splits; larger is better."
    )
    st.markdown("**Every trained weight**")
    st.dataframe(
        tables.trained_weights(comparison), hide_index=True, alt="The figures of every trained weight."
    )


def _estimate(comparison: Comparison) -> None:
    for id in comparison.front.measures:
        entry = REGISTRY[id]
        st.markdown(
            f"**{safe(entry.title)}** ({safe(entry.symbol)}) · 0: {safe(entry.zero)}; 1: {safe(entry.one)}. "
            f"*It misleads when:* {safe(entry.fails_when)} *Source:* {safe(entry.source)}."
        )
    for sentence in of_values(comparison):
        st.markdown(safe(sentence))
    for id in comparison.front.methods:
        st.markdown(f"**{safe(METHODS[id].title)}**: {safe(METHODS[id].meaning)}")


_PANELS: Mapping[str, Callable[[Comparison], None]] = MappingProxyType(
    {
        "Who pays": _who_pays,
        "Averages": _averages,
        "Distributions": _distributions,
        "Where it hides": _hiding,
        "Features": _features,
        "Find the point": show_find_point,
        "Both objectives": _objectives,
        "All numbers": _numbers,
        "How to read this": _estimate,
    }
)
