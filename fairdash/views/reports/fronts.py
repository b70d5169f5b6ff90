"""Pareto fronts of one run, and comparison of the fronts of several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.errors import OptionError
from fairdash.evaluation import (
    DEFAULT_MEASURE,
    corrected_standard_error,
    merged_groups,
    of_sensitive,
    summarise_splits,
    trained_points,
)
from fairdash.evaluation.crossed_cells import cells_in_view, views_of
from fairdash.evaluation.figures import VERDICT, Figure, figures_of, of_measure
from fairdash.evaluation.quantile_profile import DEFAULT_GROUPS, MAX_NUMBER_OF_GROUPS
from fairdash.evaluation.result import SweepResult
from fairdash.training.baselines import MEAN, PRICE
from fairdash.training.methods import FAIR_TARIFF, PATHS, STANDARD, THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.registry import get_entry
from fairdash.utils.text import few, label

#: Axis titles by measure of error.
ERROR_TITLES: Mapping[str, str] = MappingProxyType(
    {"mse": "Test MSE ÷ MSE of the average", "deviance": "Test deviance ÷ deviance of the average"}
)


#: Maximum number of points of the front that are shown beside an existing price.
MAX_NEAREST = 3
#: Number and its standard error. The standard error is NaN if it is unknown.
Estimate = tuple[float, float]
UNKNOWN: Estimate = (math.nan, math.nan)
#: Query for the reference with the lowest error, among prices that are independent of the attribute.
WHOLE_BARYCENTRE = "method == 'barycentre' and lam == 1"


def mean_over_splits(draws: NDArray[np.float64], *, test_to_train: float) -> Estimate:
    """Return the mean over random splits, (J,), with Nadeau and Bengio's standard error."""
    spread = float(pd.Series(draws).var(ddof=1))
    error = corrected_standard_error(spread, n_splits=len(draws), test_to_train=test_to_train)
    return float(np.mean(draws)), error


def least_error_of(references: pd.DataFrame, error: str) -> Estimate:
    """Return the error of the barycentre at full strength; :data:`UNKNOWN` if it is not in `references`."""
    rows = of_measure(references, error).query(WHOLE_BARYCENTRE)
    return (float(rows["value"].iloc[0]), float(rows["se"].iloc[0])) if len(rows) else UNKNOWN


@dataclass(frozen=True, eq=False)
class Front:
    """Results of all methods of a run, for one objective and one sensitive column.

    Parameters
    ----------
    objective, sensitive
        Id of the objective, and name of the sensitive column, of a combination, or of all columns together
        (:func:`fairdash.evaluation.crossed_cells.views_of`).
    test, validation
        Means over the splits with standard errors, one row per method, slider position and measure
        (:func:`fairdash.evaluation.summarise_splits`); `validation` may be empty.
    single
        Values on the test rows of each split.
    references
        Means of the references on test rows; empty if this objective has no references.
    price
        Smallest increase of ``mse`` at which predictions can be exactly independent of the attribute, and its
        standard error; NaN if unknown.
    least_error
        Estimate of the smallest ``mse`` of independent predictions, and its standard error; NaN if unknown.
    baselines
        Means of the baselines on test rows.
    tariffs
        If the run trains networks and tariffs: the tariffs' test and validation values in each split; else
        empty.
    s
        Sensitive column, or number of each row's combination, (n,).
    cells_called
        Names of the combinations, in the order of their numbers; empty for one sensitive column.
    groups, fifths
        Quantile group of each row by the sensitive column, (n,): up to 20 groups, and up to 5 groups. Each
        group has at least 20 test rows in every split (:func:`fairdash.evaluation.merged_groups`).
    """

    objective: str
    sensitive: str
    test: pd.DataFrame
    validation: pd.DataFrame
    single: pd.DataFrame
    references: pd.DataFrame
    price: Estimate
    least_error: Estimate
    baselines: pd.DataFrame
    tariffs: pd.DataFrame
    s: NDArray[np.float64]
    cells_called: tuple[str, ...]
    groups: NDArray[np.intp]
    fifths: NDArray[np.intp]

    @classmethod
    def of(cls, result: SweepResult, *, objective: str, sensitive: str) -> Front:
        """Return the Pareto front of one objective and one sensitive column, from the result of a run."""
        summarise = partial(summarise_splits, test_to_train=result.test_to_train)
        column = views_of(result.sensitive, result.paths[objective]).get(sensitive, sensitive)
        path = of_sensitive(result.paths[objective], column)
        baselines = of_sensitive(result.baselines.get(objective, path.iloc[:0]), column)
        summary = summarise(path)
        references, price = summary.iloc[:0], UNKNOWN
        if result.references is not None and not OBJECTIVES[objective].uses_target:
            references = summarise(of_sensitive(result.references, column))
            if result.price is not None:
                price = mean_over_splits(result.price, test_to_train=result.test_to_train)
        parts = [split.test for split in result.splits]
        cells = cells_in_view(result.sensitive, sensitive)
        if cells is None:
            s = result.sensitive[sensitive].to_numpy(dtype=float)
            groups, fifths = (
                merged_groups(s, parts, n_groups=count) for count in (MAX_NUMBER_OF_GROUPS, DEFAULT_GROUPS)
            )
        else:  # Combinations of attributes have no order, so neighbouring groups are not merged.
            s, groups, fifths = cells.codes.astype(float), cells.codes, cells.codes
        return cls(
            objective=objective,
            sensitive=sensitive,
            test=summary[summary["part"] == "test"],
            validation=summary[summary["part"] == "validation"],
            single=path[path["part"] == "test"],
            references=references,
            price=price,
            least_error=UNKNOWN if math.isnan(price[0]) else least_error_of(references, "mse"),
            baselines=summarise(baselines[baselines["part"] == "test"]),
            tariffs=baselines[baselines["method"] == FAIR_TARIFF],
            s=s,
            cells_called=() if cells is None else cells.names,
            groups=groups,
            fifths=fifths,
        )

    @cached_property
    def _measured(self) -> set[str]:
        return set(self.test["measure"])

    @property
    def measures(self) -> list[str]:
        """Ids of the measures that the Pareto front contains."""
        return [id for id in REGISTRY if id in self._measured]

    @property
    def default_measure(self) -> str:
        """Id of the measure shown by default."""
        return DEFAULT_MEASURE if DEFAULT_MEASURE in self._measured else self.measures[0]

    @property
    def error(self) -> str:
        """Id of the measure of prediction error: "deviance" if the run computed it, else "mse"."""
        return "deviance" if "deviance" in self._measured else "mse"

    @property
    def error_title(self) -> str:
        """Axis title of the prediction error."""
        return ERROR_TITLES[self.error]

    @property
    def error_shown(self) -> str:
        """Id of the error that charts and sentences show: "rmse" in place of "mse", or "deviance"."""
        return "rmse" if self.error == "mse" else self.error

    def axis_of_error(self, unit: str) -> dict[str, Any]:
        """Return the id of the error in charts, its axis title and its unit."""
        if self.error != "mse":
            return {"error": self.error, "error_title": self.error_title, "unit": ""}
        return {"error": "rmse", "error_title": label("Test error, RMSE", unit), "unit": unit}

    @property
    def methods(self) -> list[str]:
        return list(self.test["method"].unique())

    @cached_property
    def error_of_mean(self) -> float:
        """Test error of predicting the average of the training rows for all rows; NaN if unknown."""
        return self._of_mean(self.error)

    @cached_property
    def rmse_of_mean(self) -> float:
        """RMSE of predicting the training average, in the target's unit; NaN for other losses."""
        return self._of_mean("rmse") if self.error == "mse" else math.nan

    def _of_mean(self, error: str) -> float:
        means = of_measure(self.baselines, error)
        return float(means.loc[means["method"] == MEAN, "value"].iloc[0]) if len(means) else math.nan

    def rows(self, measure: str) -> pd.DataFrame:
        """Return a measure's or an error's test values, one row per method and position of the slider."""
        if measure not in self._tables:
            self._tables[measure] = of_measure(self.test, measure)
        return self._tables[measure]

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        return {}

    def figure(self, measure: str, point: ModelKey) -> Figure:
        """Return the test values of a measure at a point; NaN if the measure was not computed."""
        if measure not in self._measured:
            return Figure(math.nan)
        # The standard model (λ = 0) is among the rows of any method.
        value = self._figures.get((measure, point.method, point.lam))
        value = value or self._figures.get((measure, None, point.lam))
        if value is None:
            raise IndexError(f"no {measure} at {point}")
        return value

    @cached_property
    def opening(self) -> float:
        """Initial weight λ of the slider; it removes about half of the dependence above the noise floor.

        The weight is computed from means of the first method on validation rows, for the default measure. The
        initial weight is the trained weight that removes most nearly half of the excess, if it removes
        between a third and two thirds. Otherwise, the initial weight is that of the slider position that
        removes most nearly half of the excess. If there are no validation rows or no excess, the initial
        weight is the middle one of the trained weights, including 0.
        """
        measure, method = self.default_measure, self.methods[0]
        if len(self.validation):
            rows = of_measure(self.validation, measure)
            rows = rows[rows["method"] == method].sort_values("lam")
            # Only test rows have noise floors. They are used for validation rows as well, because the numbers
            # of rows are similar.
            top, floor = rows["value"].iloc[0], self.rows(measure)["floor"].mean()
            if top > floor:
                removed = (top - rows["value"]) / (top - floor)
                is_middle = (rows["share"] == 0) & removed.between(1 / 3, 2 / 3)
                stops = rows[is_middle] if is_middle.any() else rows
                return float(stops["lam"].loc[(removed[stops.index] - 0.5).abs().idxmin()])
        stops = self.rows(measure)
        trained_lams = stops.loc[(stops["method"] == method) & (stops["share"] == 0), "lam"]
        return float(trained_lams.sort_values().iloc[len(trained_lams) // 2])

    @cached_property
    def drawn(self) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        """Cache of charts, as plain values, without the points that the user selects."""
        return {}

    @cached_property
    def _figures(self) -> dict[tuple[str, str | None, float], Figure]:
        """First value found for each (measure, method, λ); the method None stands for any method."""
        figures: dict[tuple[str, str | None, float], Figure] = {}
        keys = zip(self.test["measure"], self.test["method"], self.test["lam"], strict=True)
        for (measure, method, lam), figure in zip(keys, figures_of(self.test), strict=True):
            figures.setdefault((measure, method, lam), figure)
            figures.setdefault((measure, None, lam), figure)
        return figures


def fronts_of(result: SweepResult, *, sensitive: str) -> dict[str, Front]:
    """Return the Pareto fronts for one sensitive column, by objective."""
    return {name: Front.of(result, objective=name, sensitive=sensitive) for name in result.paths}


def parse_point(front: Front, text: str) -> ModelKey:
    """Return the model with this name, such as ``"standard"`` or ``"hgr_nn:0.5"`` (method and weight).

    Raises
    ------
    OptionError
        The Pareto front does not contain this point.
    """
    key = ModelKey.parse(text)
    point = key if text == STANDARD else point_of(front, key.method, key.lam)
    return THE_STANDARD if point.is_standard else point


def point_of(front: Front, method: str, lam: float) -> ModelKey:
    """Return the method's point at weight `lam`; weights are compared to six significant digits.

    Raises
    ------
    OptionError
        The Pareto front does not contain this point.
    """
    get_entry({id: id for id in front.methods}, method, option="method")
    stops = front.rows(front.error)
    lams = stops.loc[stops["method"] == method, "lam"]
    points = [ModelKey(method, float(value)) for value in lams if f"{value:g}" == f"{lam:g}"]
    if points:
        return points[0]
    nearest = sorted(lams, key=lambda value: abs(value - lam))[:3]
    raise OptionError.of(
        f"The path has no point at λ = {lam:g}",
        f"The nearest are {', '.join(f'{value:g}' for value in sorted(nearest))}.",
        column="lam",
    )


def nearest_points(front: Front) -> pd.DataFrame:
    """Return the existing price and the nearest points of the Pareto front, on the same test rows.

    Returns
    -------
    DataFrame
        One row for the price, then one row per point, nearest first, with means over the splits: method, lam,
        error, error_se, dependence, dependence_se, floor. For distances, error and dependence are each
        divided by their range over the price and the points. If the data of the run have no existing price,
        the table has points from the smallest to the largest λ.
    """
    price = front.baselines[front.baselines["method"] == PRICE]
    error, values = (
        pd.concat([of_measure(rows, name) for rows in (price, front.test) if len(rows)], ignore_index=True)
        for name in (front.error, front.default_measure)
    )
    table = error[["method", "lam"]].assign(error=error["value"], error_se=error["se"])
    table = table.assign(dependence=values["value"], dependence_se=values["se"], floor=values["floor"])
    if price.empty:
        ordered = table.sort_values("lam", kind="stable", ignore_index=True)
        return ordered.iloc[np.unique(np.linspace(0, len(ordered) - 1, MAX_NEAREST + 1).round().astype(int))]
    coordinates = table[["error", "dependence"]].to_numpy(dtype=float)
    distance = np.hypot(*((coordinates - coordinates[0]) / np.maximum(np.ptp(coordinates, axis=0), 1e-300)).T)
    return table.iloc[np.argsort(distance, kind="stable")[: MAX_NEAREST + 1]].reset_index(drop=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedRun:
    """Run in a comparison.

    Parameters
    ----------
    letter
        Name of the run on the chart.
    title
        Full name of the run, for texts beside the chart.
    data
        Identity of the run's data, including rows and features.
    result
        Result of the run.
    """

    letter: str
    title: str
    data: str
    result: SweepResult


def differences(runs: Sequence[ComparedRun]) -> str:
    """Explain in a sentence why these runs can't be shown in one chart; "" if they can."""
    kinds = {
        "target": [run.result.target_name for run in runs],
        "sensitive columns": [" and ".join(run.result.sensitive.columns) for run in runs],
        "objective": [OBJECTIVES[run.result.objective].title for run in runs],
        "loss": [run.result.sweep.settings.loss for run in runs],
    }
    parts = [f"{kind} ({few(dict.fromkeys(each))})" for kind, each in kinds.items() if len(set(each)) > 1]
    if not parts:
        return ""
    return f"These runs can't be shown in one chart, because they differ in {' and in '.join(parts)}."


def remarks(runs: Sequence[ComparedRun]) -> list[str]:
    """Return notes on the comparison of runs in one chart."""
    notes = []
    if len({run.data for run in runs}) > 1:
        notes.append("The runs use different data, or different rows or features of the same data.")
    if len({(run.result.sweep.n_splits, run.result.sweep.random_state) for run in runs}) > 1:
        notes.append(
            "The runs are evaluated on different test rows, so differences that are smaller than the "
            "standard errors may be due to chance."
        )
    return notes


def shared_measures(fronts: Sequence[Front]) -> list[str]:
    """Return ids of measures that all Pareto fronts contain; the default of the first front comes first."""
    shared = [id for id in fronts[0].measures if all(id in front.measures for front in fronts)]
    return sorted(shared, key=lambda id: id != fronts[0].default_measure)


def table_of(runs: Sequence[ComparedRun], fronts: Sequence[Front], *, measure: str) -> pd.DataFrame:
    """Return a table of the trained models of all runs, with means over the splits on test rows."""
    parts = []
    symbol = REGISTRY[measure].symbol
    for run, front in zip(runs, fronts, strict=True):
        row_tables = (front.rows(name) for name in (front.error, measure))
        rows, values = (trained_points(table, standard_of=front.methods[0]) for table in row_tables)
        points = [ModelKey(method, lam) for method, lam in zip(rows["method"], rows["lam"], strict=True)]
        parts.append(
            pd.DataFrame(
                {
                    "Run": run.letter,
                    "Name": run.title,
                    "Method": [
                        PATHS[STANDARD if point.is_standard else point.method].title for point in points
                    ],
                    "λ": rows["lam"].to_numpy(),
                    "Splits": rows["n_splits"].to_numpy(),
                    "Test error": rows["value"].to_numpy(),
                    "± of error": rows["se"].to_numpy(),
                    symbol: values["value"].to_numpy(),
                    f"± of {symbol}": values["se"].to_numpy(),
                    "Independence below": values["edge"].to_numpy(),
                    "Link? (p of joint test)": [front.figure(VERDICT, point).p for point in points],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
