"""The app's figures in a notebook: plotly figures of what :func:`fairdash.sweep` gives back.

Each function gives a ``plotly.graph_objects.Figure``: show it, or write it with ``figure.write_html``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.evaluation import (
    assess_predictions,
    group_averages,
    of_sensitive,
    quantile_profile,
    summarise_splits,
    transfers_by_group,
)
from fairdash.evaluation.verdict import EDGE
from fairdash.figures import data as data_figures
from fairdash.figures.front import front_without_marks, with_marks
from fairdash.figures.labels import Label
from fairdash.figures.quantile_profile import profile_figure
from fairdash.figures.theme import theme_of
from fairdash.figures.transfers import transfers_figure
from fairdash.reports.fronts import ERROR_TITLES
from fairdash.reports.numbers import label
from fairdash.training.baselines import train_baselines
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.split_kinds import SPLITS
from fairdash.training.sweep import STANDARD
from fairdash.utils.registry import get_entry

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from fairdash.api import ReferenceResult
    from fairdash.data.dataset import Dataset
    from fairdash.evaluation.result import SweepResult

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
    """Test error against dependence: a line a method, the standard model, the noise floor.

    Parameters
    ----------
    result
        What :func:`fairdash.sweep` has found.
    dataset
        What it was trained on: the benchmarks of every run (the average, a ridge or GLM, boosted trees, an
        existing price) are then fitted to the same splits and drawn, in seconds on some thousand rows.
    measure
        Along x; a measure of the sweep, its first by default.
    method
        Drawn in full, with standard errors and single splits; the first fair one by default.
    sensitive
        Which sensitive column, where the sweep had several; all together by default.
    references
        What :func:`fairdash.references` has found with the same splits, drawn apart.
    dark
        For a dark page.

    Raises
    ------
    OptionError
        The sweep has no such measure or method, or no standard model to compare with.
    """
    frame, theme = result.frame, theme_of(dark=dark)
    if STANDARD not in set(frame["method"]):
        raise OptionError.of(
            "This sweep has no standard model to compare with",
            f"Sweep again with “{STANDARD}” among the methods.",
            column="methods",
        )
    if sensitive is not None:
        frame = of_sensitive(frame, sensitive)
    measured = {id: id for id in REGISTRY if id in frame}
    measure = get_entry(measured, next(iter(measured)) if measure is None else measure, option="measure")
    method = _method(result, method)
    error = "deviance" if "deviance" in frame else "mse"
    paths = _paths(frame)
    first = result.splits[0]
    ratio = len(first.test) / len(first.train)
    means = summarise_splits(paths, test_to_train=ratio)
    test = means[means["part"] == "test"].reset_index(drop=True)
    seen = OBJECTIVES[result.sweep.objective]
    base = front_without_marks(
        test,
        paths[paths["part"] == "test"].reset_index(drop=True),
        error=error,
        error_title=ERROR_TITLES[error],
        measure=measure,
        measure_title=f"{REGISTRY[measure].symbol} between {seen.audited} and "
        f"{sensitive or 'the sensitive attribute'}",
        method=method,
        references=None
        if references is None
        else summarise_splits(references.frame[references.frame["part"] == "test"], test_to_train=ratio),
        baselines=None if dataset is None else _benchmarks(result, dataset, measure, sensitive),
        subtitle=_subtitle(result),
        theme=theme,
    )
    standard = test[(test["method"] == method) & (test["lam"] == 0)].iloc[0]
    mark = Label(
        x=float(standard[measure]),
        y=float(standard[error]),
        text="standard model",
        colour=theme.standard,
        symbol="diamond",
    )
    return with_marks(base.to_plotly_json(), [mark], edge=float(standard[f"{measure}{EDGE}"]), theme=theme)


def _benchmarks(result: SweepResult, dataset: Dataset, measure: str, sensitive: str | None) -> pd.DataFrame:
    """Means of the benchmarks' test figures over the sweep's own splits."""
    plan = result.sweep
    loss = plan.settings.loss_function
    members, predictions = train_baselines(dataset, result.splits, loss=loss, random_state=plan.random_state)
    frame = assess_predictions(
        dataset,
        predictions,
        members,
        result.splits,
        objective=plan.objective,
        loss=loss,
        measures=(measure,),
        n_permutations=0,
        random_state=plan.random_state,
        parts=("test",),
    )
    first = result.splits[0]
    own = frame if sensitive is None else of_sensitive(frame, sensitive)
    return summarise_splits(own, test_to_train=len(first.test) / len(first.train))


def profile(
    result: SweepResult,
    dataset: Dataset,
    *,
    method: str | None = None,
    lam: float | None = None,
    sensitive: str | None = None,
    by_value: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Average prediction, or residual, in quantile groups of the sensitive column: fair against standard.

    Parameters
    ----------
    result
        What :func:`fairdash.sweep` has found.
    dataset
        What it was trained on.
    method, lam
        Which model; the first fair method, and the middle one of its weights, by default.
    sensitive
        Which sensitive column; the first by default.
    by_value
        Place the groups at their average value of the sensitive column, rather than by rank.
    dark
        For a dark page.

    Raises
    ------
    OptionError
        There is no such model or sensitive column.
    """
    method, lam = _model(result, method, lam)
    column = _sensitive(dataset, sensitive)
    seen, y = OBJECTIVES[result.sweep.objective], dataset.target.to_numpy(dtype=float)
    s = dataset.sensitive[column].to_numpy(dtype=float)
    weight = None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    tables = []
    for each in ((STANDARD, 0.0), (method, lam)):
        predictions = _predictions(result, *each)
        values = np.asarray(seen.audit(np.stack(list(predictions.values())), y))
        splits = [result.splits[j] for j in predictions]
        tables.append(quantile_profile(values, s, splits, weight=weight))
    target = str(dataset.target.name)
    level = f"Average {seen.audited}" + (" (predicted − true)" if seen.uses_target else "")
    return profile_figure(
        *tables,
        chosen_name=f"λ = {lam:g}",
        by_value=by_value,
        audited=seen.audited,
        sensitive=dataset.label(column),
        level=label(level, dataset.units.get(target, "")),
        reference=0.0 if seen.uses_target else float(np.average(y, weights=weight)),
        reference_name="no error on average" if seen.uses_target else f"average {dataset.called(target)}",
        subtitle=_subtitle(result),
        theme=theme_of(dark=dark),
    )


def transfers(
    result: SweepResult,
    dataset: Dataset,
    *,
    method: str | None = None,
    lam: float | None = None,
    sensitive: str | None = None,
    dark: bool = False,
) -> go.Figure:
    """Who pays: the change a head, from the standard model to a fair one, by group of the sensitive column.

    Parameters and errors as those of :func:`profile`.
    """
    method, lam = _model(result, method, lam)
    column = _sensitive(dataset, sensitive)
    moved = transfers_by_group(
        _predictions(result, STANDARD, 0.0),
        _predictions(result, method, lam),
        dataset.sensitive[column].to_numpy(dtype=float),
        result.splits,
        weight=None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
    )
    return transfers_figure(
        moved,
        a_name="standard model",
        b_name=f"λ = {lam:g}",
        sensitive=dataset.label(column),
        unit=dataset.units.get(str(dataset.target.name), ""),
        subtitle=_subtitle(result),
        theme=theme_of(dark=dark),
    )


def dependence(dataset: Dataset, *, sensitive: str | None = None, dark: bool = False) -> go.Figure:
    """How the target follows a sensitive column before any model: rows as dots, group averages as a line.

    Parameters
    ----------
    dataset
    sensitive
        Which sensitive column; the first by default.
    dark
        For a dark page.

    Raises
    ------
    OptionError
        There is no such sensitive column.
    """
    column = _sensitive(dataset, sensitive)
    y, s = dataset.target.to_numpy(dtype=float), dataset.sensitive[column].to_numpy(dtype=float)
    weight = None if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    return data_figures.link_figure(
        s,
        y,
        group_averages(y, s, weight=weight),
        sensitive=dataset.label(column),
        target=dataset.label(str(dataset.target.name)),
        theme=theme_of(dark=dark),
        by_exposure=weight is not None,
    )


def _paths(frame: pd.DataFrame) -> pd.DataFrame:
    """The trained models as stops of each method's path, which begins with the standard model."""
    standard = frame[frame["method"] == STANDARD]
    fair = [each for each in frame["method"].unique() if each != STANDARD]
    ways = [
        pd.concat([standard.assign(method=each), frame[(frame["method"] == each) & (frame["lam"] > 0)]])
        for each in fair
    ] or [standard]
    path = pd.concat(ways, ignore_index=True)
    return path.assign(low=path["lam"], high=path["lam"], share=0.0)


def _method(result: SweepResult, method: str | None) -> str:
    fair = {each: each for each in result.sweep.methods if each != STANDARD} or {STANDARD: STANDARD}
    return get_entry(fair, next(iter(fair)) if method is None else method, option="method")


def _model(result: SweepResult, method: str | None, lam: float | None) -> tuple[str, float]:
    method = _method(result, method)
    own = result.members[result.members["method"] == method]
    lams = {f"{each:g}": float(each) for each in sorted(own["lam"].unique())}
    chosen = list(lams)[len(lams) // 2] if lam is None else f"{lam:g}"
    return method, get_entry(lams, chosen, option="lam")


def _predictions(result: SweepResult, method: str, lam: float) -> dict[int, NDArray[np.float64]]:
    """Split to predictions of all rows; splits in which the model diverged are left out."""
    own = (result.members["method"] == method) & (result.members["lam"] == lam)
    whole = result.members[own & ~result.members["diverged"].astype(bool)]
    return {int(j): result.predictions[k] for k, j in zip(whole.index, whole["split"], strict=True)}


def _sensitive(dataset: Dataset, column: str | None) -> str:
    there = {each: each for each in dataset.roles.sensitive}
    return get_entry(
        there, dataset.roles.sensitive[0] if column is None else column, option="sensitive column"
    )


def _subtitle(result: SweepResult) -> str:
    splits = SPLITS[result.sweep.split].mean_of(len(result.splits))
    objective = OBJECTIVES[result.sweep.objective].title.lower()
    return f"{len(result.splits[0].test):,} test rows, {splits}; {objective}"
