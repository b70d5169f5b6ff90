"""Plots of the results of :func:`fairdash.sweep` in a notebook, with the app's plotly figures.

Each function returns a ``plotly.graph_objects.Figure``, which you can show, or save with
``figure.write_html``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairdash.dependence.grouping import as_groups
from fairdash.errors import OptionError
from fairdash.evaluation import group_averages, of_sensitive, summarise_splits
from fairdash.evaluation.figures import ERRORS
from fairdash.training.methods import THE_STANDARD, ModelKey
from fairdash.training.sweep import STANDARD
from fairdash.utils.registry import get_entry
from fairdash.views.figures import data as data_figures
from fairdash.views.figures.theme import theme_of
from fairdash.views.reports import pictures
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.fronts import UNKNOWN, fronts_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fairdash.data.dataset import Dataset
    from fairdash.evaluation.result import ReferenceResult, SweepResult

__all__ = ["dependence", "front", "profile", "transfers"]


def front(
    result: SweepResult,
    dataset: Dataset | None = None,
    *,
    measure: str | None = None,
    method: str | None = None,
    sensitive: str | None = None,
    references: ReferenceResult | None = None,
    dark: bool = False,
) -> go.Figure:
    """Plot test error against dependence, with a point per trained model, and the noise floor.

    Parameters
    ----------
    result
        Result of :func:`fairdash.sweep`.
    dataset
        Data set of the sweep. If `dataset` is given, the figure also shows the sweep's benchmarks on the same
        splits: the average, a ridge or GLM, boosted trees, and an existing price.
    measure
        Id of the measure on the x-axis; by default the first measure of the sweep.
    method
        Method whose standard errors and single splits are also drawn; by default the first fair method.
    sensitive
        Sensitive column, if the sweep had several. By default the plot shows all columns jointly, or the
        first column if no measure of the sweep accepts several columns.
    references
        Result of :func:`fairdash.references` on the same splits; its prices are drawn in addition to the
        models.
    dark
        True uses colours that suit a dark page.

    Raises
    ------
    OptionError
        The sweep does not have this measure, method or sensitive column, or it has no standard model.
    """
    if STANDARD not in set(result.frame["method"]):
        raise OptionError.of(
            "This sweep has no standard model for comparison",
            f"Run the sweep again with “{STANDARD}” among the methods.",
            column="methods",
        )
    is_joint = sensitive is None and len(result.sensitive.columns) > 1
    first = str(result.sensitive.columns[0])
    frames = _of_all_columns(result.frames, first)
    if is_joint and (frames[result.objective]["column"] == first).any():
        paths, baselines = (_of_all_columns(table, first) for table in (result.paths, result.baselines))
        extended = replace(result, frames=frames, paths=paths, baselines=baselines)
        objective = _compared(extended, method, 0.0, None)
        seen_front = replace(objective.front, sensitive="the sensitive attribute")
    else:
        objective = _compared(result, method, 0.0, sensitive)
        seen_front = objective.front
    prices = seen_front.references.iloc[:0]
    if references is not None:
        test = references.figures[references.figures["part"] == "test"]
        test = of_sensitive(test, first if sensitive is None else sensitive)
        prices = summarise_splits(test, test_to_train=result.test_to_train)
    benchmarks = seen_front.baselines if dataset is not None else seen_front.baselines.iloc[:0]
    front_drawn = replace(seen_front, references=prices, baselines=benchmarks, least_error=UNKNOWN)
    measured = {id: id for id in front_drawn.measures}
    measure = get_entry(measured, next(iter(measured)) if measure is None else measure, option="measure")
    shown_front = replace(objective, fronts={objective.objective: front_drawn}, measure=measure)
    return pictures.front(shown_front, theme=theme_of(dark=dark)).figure


def profile(
    result: SweepResult,
    *,
    method: str | None = None,
    lam: float | None = None,
    sensitive: str | None = None,
    by_value: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Plot average predictions or residuals of a fair and the standard model, by group of the attribute.

    Parameters
    ----------
    result
        Result of :func:`fairdash.sweep`.
    method, lam
        Method and weight of the model; by default the first fair method, and the middle one of its weights.
    sensitive
        Name of the sensitive column; by default the first one.
    by_value
        Whether to place groups at their average value of the sensitive column; by default they are placed by
        rank.
    dark
        True uses colours that suit a dark page.

    Raises
    ------
    OptionError
        The sweep does not have this model or this sensitive column.
    """
    comparison = _compared(result, method, lam, sensitive)
    theme = theme_of(dark=dark)
    return pictures.profile(comparison, objective=comparison.objective, theme=theme, by_value=by_value).figure


def transfers(
    result: SweepResult,
    *,
    method: str | None = None,
    lam: float | None = None,
    sensitive: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Plot how average predictions change from the standard to a fair model, by group of the attribute.

    The parameters are those of :func:`profile` except `by_value`, and the errors are the same.
    """
    comparison = _compared(result, method, lam, sensitive)
    return pictures.transfers(comparison, theme=theme_of(dark=dark)).figure


def dependence(dataset: Dataset, *, sensitive: str | None = None, dark: bool = False) -> go.Figure:
    """Plot the target against a sensitive column, with rows as dots and group averages as a line.

    Parameters
    ----------
    dataset
    sensitive
        Name of the sensitive column; by default the first one.
    dark
        True uses colours that suit a dark page.

    Raises
    ------
    OptionError
        The data set has no such sensitive column.
    """
    column = _sensitive(dataset.roles.sensitive, sensitive)
    y, s = dataset.target.to_numpy(dtype=float), dataset.sensitive[column].to_numpy(dtype=float)
    weight = None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    return data_figures.link_figure(
        s,
        y,
        group_averages(y, s, weight=weight, units=as_groups(dataset.groups, len(y))),
        sensitive=dataset.label(column),
        target=dataset.label(str(dataset.target.name)),
        theme=theme_of(dark=dark),
        by_exposure=weight is not None,
    )


def _compared(
    result: SweepResult, method: str | None, lam: float | None, sensitive: str | None
) -> Comparison:
    """Compare a model, by default of the first fair method, with the standard model."""
    fair = {method: method for method in result.sweep.methods if method != STANDARD} or {STANDARD: STANDARD}
    method = get_entry(fair, next(iter(fair)) if method is None else method, option="method")
    trained_lams = result.members.loc[result.members["method"] == method, "lam"]
    lams = {
        f"{value:g}": float(value) for value in sorted({0.0, *trained_lams} if lam == 0 else {*trained_lams})
    }
    chosen = list(lams)[len(lams) // 2] if lam is None else f"{lam:g}"
    if result.paths[result.objective].empty:
        # Only the standard model was trained, so there are no slider positions. Its results become the only
        # point of the path.
        paths = {objective: frame.assign(share=0.0) for objective, frame in result.frames.items()}
        result = replace(result, paths=paths)
    fronts = fronts_of(result, sensitive=_sensitive(map(str, result.sensitive.columns), sensitive))
    return Comparison(
        title="",
        plan=result.sweep,
        result=result,
        fronts=fronts,
        objective=result.objective,
        measure=fronts[result.objective].default_measure,
        a=THE_STANDARD,
        b=ModelKey(method, get_entry(lams, chosen, option="lam")),
    )


def _of_all_columns(tables: Mapping[str, pd.DataFrame], name: str) -> dict[str, pd.DataFrame]:
    """Return the results for all sensitive columns jointly, under the name of one column."""
    figures = {}
    for objective, table in tables.items():
        joint = table[table["column"] == ""]
        figures[objective] = joint.assign(column=np.where(joint["measure"].isin(ERRORS), "", name))
    return figures


def _sensitive(columns: Iterable[str], column: str | None) -> str:
    names = {column: column for column in columns}
    return get_entry(names, next(iter(names)) if column is None else column, option="sensitive column")
