"""Controls of the Trade-off page, an answer in words, and figures that change with the slider.

Further panels compare two models, the reference and the slider's model. A panel is drawn only on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import streamlit as st

from fairdash.dependence import REGISTRY, learned_functions
from fairdash.errors import OptionError
from fairdash.evaluation import knee, least_dependence, least_error, points_of_plan
from fairdash.evaluation.crossed_cells import views_of
from fairdash.runs.store import Run
from fairdash.training.methods import PATHS, THE_STANDARD, ModelKey, separation_in_words
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.ui.blocks import show_blocks, show_stage, show_table
from fairdash.ui.cached import fronts_of, result_of, stops_of
from fairdash.ui.frame import PICTURES, chart, theme
from fairdash.ui.keys import Address, Keys
from fairdash.ui.text import label, number, safe
from fairdash.utils.classes import attributes_of
from fairdash.views.blocks import Table
from fairdash.views.figures.comparison import transformation_figure
from fairdash.views.reports import content, pictures, sentences, stage, tables
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import Front, parse_point
from fairdash.views.reports.sentences import networks_and_tariffs

KEY = Keys(__file__)


def choose(run: Run) -> Comparison:
    """Show the controls above the figures. Return the comparison that controls and address select."""
    result = result_of(run)
    plan = result.sweep
    views = views_of(result.sensitive, result.paths[plan.objective])
    sensitive, *others = views
    first = sensitive
    if others:
        sensitive = st.segmented_control(
            "Dependence on",
            list(views),
            default=sensitive,
            required=True,
            # Streamlit renders the widget's labels as Markdown, so names are escaped.
            format_func=lambda column: safe(result.names.get(column, column)),
            key=Address.SENSITIVE,
            bind="query-params",
            help="“×” is the dependence on the product of two attributes' ranks. If predictions depend on "
            "neither attribute alone, it is due to their combination. The slider starts at the weight that "
            "halves the chosen dependence.",
        )
        # The widget returns None if its parameter in the address has no value.
        sensitive = first if sensitive is None else sensitive
    left, centre_column, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    with left:
        objective = _ask_for_objective(plan.objective)
    fronts = fronts_of(run, sensitive=sensitive)
    front = fronts[objective]
    method = front.methods[0]
    if len(front.methods) > 1:
        method = centre_column.selectbox(
            "Method",
            front.methods,
            format_func=lambda path: PATHS[path].title,
            key=Address.METHOD,
            bind="query-params",
        )
    measure = right.selectbox(
        "Measure of dependence",
        front.measures,
        index=front.measures.index(front.default_measure),
        format_func=lambda key: REGISTRY[key].symbol,
        key=Address.MEASURE,
        bind="query-params",
        help="\n".join(f"- {REGISTRY[key].symbol}: {REGISTRY[key].title}" for key in front.measures),
    )
    lam = lam_in_view(fronts[plan.objective], plan)
    if not ((front.test["method"] == method) & (front.test["lam"] == lam)).any():
        st.warning("The models near this weight diverged in every split. The page shows the standard model.")
        lam = 0.0
    return Comparison(
        title=run.spec.source.title,
        plan=plan,
        result=result,
        fronts=fronts,
        objective=objective,
        measure=measure,
        a=_point_a(front),
        b=ModelKey(method, lam),
    )


def _show_reference(comparison: Comparison) -> None:
    """Show buttons to compare with the slider's current model, or with the standard model again."""
    left, right, _ = st.columns([1.2, 1.2, 2], vertical_alignment="center")
    left.button(
        "Compare with this point",
        icon=":material/keep:",
        on_click=store_point,
        args=(comparison.b,),
        disabled=comparison.is_of_one_point,
        width="stretch",
        help="The page keeps this point, and compares it with the points that you then select.",
    )
    if not comparison.a.is_standard:
        right.button(
            "Compare with the standard model again",
            icon=":material/undo:",
            on_click=store_point,
            args=(THE_STANDARD,),
            width="stretch",
        )


def go_to(method: str, lam: float) -> None:
    """Move the slider to a point (a method at a weight λ), as the callback of a button."""
    st.session_state[Address.METHOD] = method
    st.query_params[Address.LAM] = f"{lam:g}"


def store_point(point: ModelKey) -> None:
    """Use this point (a method at a weight λ) as the reference of the comparison."""
    if point.is_standard:
        st.query_params.pop(Address.AGAINST, None)
    else:
        st.query_params[Address.AGAINST] = f"{point.method}:{point.lam:g}"


def _point_a(front: Front) -> ModelKey:
    """Return the reference model from the address, or else the standard model."""
    try:
        return parse_point(front, st.query_params.get(Address.AGAINST, STANDARD))
    except OptionError:
        return THE_STANDARD


def _ask_for_objective(trained_for: str) -> str:
    chosen = st.segmented_control(
        "What must not depend on the sensitive attribute?",
        list(OBJECTIVES),
        default=trained_for,
        required=True,
        format_func=lambda objective: OBJECTIVES[objective].title,
        key=Address.OBJECTIVE,
        bind="query-params",
    )
    # The widget returns None if its parameter in the address has no value.
    return str(chosen or trained_for)


def lam_in_view(front: Front, plan: Sweep) -> float:
    """Return the weight λ in the address if it is a stop of the slider, else the page's initial weight."""
    in_address = st.query_params.get(Address.LAM)
    stops = points_of_plan(plan, front.methods[0])
    lam = next((stop.lam for stop in stops if f"{stop.lam:g}" == in_address), None)
    return front.opening if lam is None else lam


def _show_subject(comparison: Comparison) -> None:
    """Show in one line which data and which objective the page is about."""
    objective, trained_for = comparison.objective_seen, OBJECTIVES[comparison.plan.objective]
    line = f"{safe(comparison.title)} · {objective.meaning}"
    if objective != trained_for:
        line += f" These models were trained for {trained_for.title.lower()}."
    columns = (comparison.target, *comparison.result.sensitive.columns)
    headers = [
        f"{comparison.called_column(column)}: column {column}"
        for column in columns
        if column in comparison.result.names
    ]
    st.caption(line, help=safe("; ".join(headers)) or None)


def show_answer(comparison: Comparison) -> None:
    """Show the findings in two or three sentences and, below them, the data and the objective."""
    st.markdown(f"**{safe(sentences.answer(comparison))}**")
    if comparison_text := networks_and_tariffs(comparison):
        st.markdown(safe(comparison_text))
    _show_subject(comparison)


def _show_notes(comparison: Comparison) -> None:
    """Show the run's warnings, and a note on dependence that the method may not remove."""
    for note in comparison.result.notes:
        st.warning(safe(note))
    if note_on_method := separation_in_words(
        comparison.b.method, len(attributes_of(comparison.result.sensitive))
    ):
        st.info(safe(note_on_method))


def show_comparison(comparison: Comparison, run: Run) -> None:
    """Show the pictures that change with the slider, buttons for the reference model, and the run's notes."""
    show_pictures(comparison, run)
    _show_reference(comparison)
    _show_notes(comparison)


def show_pictures(comparison: Comparison, run: Run) -> None:
    """Show the slider for λ with averages, the Pareto front and four numbers, which change with λ."""
    with st.skeleton(height=PICTURES):
        stops = stops_of(run, comparison)
    lam_index = stops.lams.index(f"{comparison.b.lam:g}")

    def store_position(at: int) -> None:
        st.query_params[Address.LAM] = stops.lams[at]

    stage_data = stage.stage_of(comparison, stops, at=lam_index, theme=theme())
    # The height of the figure leaves room for an answer of three lines and for two rows of controls.
    show_stage(stage_data, key=KEY("stage"), on_release=store_position)
    _describe_point(comparison)


def _describe_point(comparison: Comparison) -> None:
    """Explain the selected point if it averages two models, and list the combinations of two attributes."""
    if comparison.front.cells_called:
        cell_names = "; ".join(f"{k}: {name}" for k, name in enumerate(comparison.front.cells_called))
        st.caption(safe(f"Combinations of {comparison.sensitive_called}, by number: {cell_names}."))
    if not comparison.curve_point(comparison.b).is_trained:
        st.caption(f"The chosen point is {content.blended(comparison, comparison.b)} (hollow mark).")
    if comparison.is_more_dependent_than_its_models():
        st.warning(
            "This average of two trained models shows more dependence than either model. Choose one of the "
            "two models instead."
        )


def show_panels(comparison: Comparison) -> None:
    """Show a control for further panels, and compute only the selected panel."""
    panel = st.segmented_control("Details", list(_PANELS), key=KEY("more"))
    if panel is not None:
        _PANELS[panel](comparison)


def _averages(comparison: Comparison) -> None:
    """Show both models' average predictions and residuals by group, with groups placed by rank or value."""
    by = st.segmented_control(
        "Groups of the sensitive attribute",
        ["by rank", "by value"],
        default="by rank",
        required=True,
        key=KEY("averages-by"),
        help="By rank, groups have equal distances on the axis. By value, a group's position on the axis "
        "is given by the values of its rows.",
    )
    for column, objective in zip(st.columns(2), OBJECTIVES, strict=True):
        with column:
            picture = pictures.profile(
                comparison, objective=objective, theme=theme(), by_value=by == "by value"
            )
            show_blocks([picture], KEY)
    st.caption(
        "The left figure shows predictions, and the right figure shows their errors. Groups can have equal "
        "averages in one figure and different averages in the other."
    )


def _distributions(comparison: Comparison) -> None:
    show_blocks(content.spread(comparison, theme=theme()), KEY)


def _show_transformations(comparison: Comparison) -> None:
    """Show the functions f and g of the spline correlation for both points."""
    goal = comparison.objective_seen
    if comparison.front.cells_called:
        st.info(
            "Combinations of two attributes have no order. Choose one attribute to see its transformation."
        )
        return
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
        (f"f: transformation of the {goal.audited}", f"g: transformation of {comparison.sensitive_called}"),
        (label(goal.audited.capitalize(), comparison.unit), comparison.sensitive_axis),
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
        f"Of all transformations of the {goal.audited} and {safe(comparison.sensitive_called)}, these two "
        "have the highest correlation (HGR, by splines on the rows shown). Neighbouring groups differ "
        "most where g is steep. If the dependence is close to zero, the curves only show noise."
    )


def _who_pays(comparison: Comparison) -> None:
    if sentence := f"{sentences.who_pays(comparison)} {sentences.level(comparison)}".strip():
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
    show_blocks(
        blocks or ["A preview does not measure the importance of features. The refined run measures it."], KEY
    )


def _objectives(comparison: Comparison) -> None:
    st.markdown(f"**{safe(sentences.both_objectives(comparison))}**")
    show_blocks(content.both_objectives(comparison, theme=theme()), KEY)


def _numbers(comparison: Comparison) -> None:
    show_blocks([tables.measures(comparison), tables.hypervolumes(comparison)], KEY)
    show_table(Table("Every trained weight", tables.trained_weights(comparison)), KEY)


def _estimate(comparison: Comparison) -> None:
    methods = {PATHS[id].title: PATHS[id].meaning for id in comparison.front.methods}
    show_blocks([content.measures(comparison), *sentences.of_values(comparison), methods], KEY)


GOALS = ("Dependence at most …", "Cost at most …", "The knee")


def _find_point(comparison: Comparison) -> None:
    """Ask for a requirement, describe the best model that meets it, and show a button to select it."""
    path = comparison.front.validation
    if path.empty:
        st.info(
            "This run has no validation rows, and a point chosen on test rows looks better there than on "
            "new rows. To find a point here, train with a share of validation rows (Train page, Advanced)."
        )
        return
    left, right = st.columns(2, vertical_alignment="bottom")
    kind_of_goal = left.segmented_control(
        "What do you want?", GOALS, default=GOALS[0], required=True, key=KEY("wish")
    )
    point, is_reached, goal_text = _choose(comparison, str(kind_of_goal), right)
    st.markdown(f"**{safe(sentences.of_choice(comparison, point, goal_text, is_reached=is_reached))}**")
    st.caption(
        "We compared all methods at all weights by their means over validation rows, on which no model was "
        "trained. The figures shown here come from test rows, which were not used for the choice."
    )
    st.button(
        "Show this point",
        icon=":material/my_location:",
        on_click=go_to,
        args=(point.method, point.lam),
        disabled=point == comparison.b,
    )


def _choose(
    comparison: Comparison, kind_of_goal: str, container: st.delta_generator.DeltaGenerator
) -> tuple[ModelKey, bool, str]:
    """Return the selected model, True if it meets the requirement, and the requirement in words."""
    path, measure, error = comparison.front.validation, comparison.measure, comparison.front.error
    symbol = REGISTRY[measure].symbol
    if kind_of_goal == GOALS[0]:
        standard, edge = (
            comparison.mean(measure, ModelKey(comparison.b.method, 0.0)),
            comparison.edge(comparison.b),
        )
        limit = container.number_input(
            f"{symbol} at most",
            min_value=0.0,
            value=float(f"{edge:.2g}"),
            step=float(f"{max(standard, edge) / 50:.1g}"),
            format="%.3g",
            key=KEY("limit", measure, comparison.objective),
            help=f"The standard model's value is {number(standard)}. If predictions and attribute are "
            f"independent, the value is below {number(edge)} in 95 % of cases, so a lower limit is "
            "not useful.",
        )
        return *least_error(path, measure, at_most=limit, error=error), f"{symbol} at most {limit:g}"
    if kind_of_goal == GOALS[1]:
        percent = container.number_input(
            "Error at most … % above the standard model's",
            min_value=0.0,
            value=10.0,
            step=1.0,
            key=KEY("growth"),
        )
        choice = least_dependence(path, measure, growth=percent / 100, error=error)
        return *choice, f"an error at most {percent:g} % above the standard model's"
    return *knee(
        path, measure, error=error
    ), "the knee, after which the scaled error grows faster than the scaled dependence falls"


_PANELS: Mapping[str, Callable[[Comparison], None]] = MappingProxyType(
    {
        "Who pays": _who_pays,
        "Averages": _averages,
        "Distributions": _distributions,
        "Transformations": _show_transformations,
        "Features": _features,
        "Find the point": _find_point,
        "Both objectives": _objectives,
        "All numbers": _numbers,
        "Explanations": _estimate,
    }
)
