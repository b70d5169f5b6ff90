"""Fronts of one run, and of several runs that are comparable."""

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
from fairdash.evaluation.crossed_cells import values_of, views_of
from fairdash.evaluation.figures import VERDICT, Figure, figures_of, of_measure
from fairdash.evaluation.quantile_profile import DEFAULT_GROUPS, MAX_NUMBER_OF_GROUPS
from fairdash.evaluation.result import SweepResult
from fairdash.training.baselines import MEAN, PRICE
from fairdash.training.methods import FAIR_TARIFF, PATHS, STANDARD, THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.registry import get_entry
from fairdash.utils.text import few, label

#: Measure of error to what it is, as an axis title.
ERROR_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "mse": "Test error (MSE ÷ the average's)",
        "deviance": "Test error (deviance ÷ the average's)",
    }
)


#: Points that are shown beside an existing price.
MOST = 3
#: A number and its standard error, NaN where there is none.
Estimate = tuple[float, float]
UNKNOWN: Estimate = (math.nan, math.nan)
#: Row of the references with the lowest error under independence.
WHOLE_BARYCENTRE = "method == 'barycentre' and lam == 1"


def mean_over_splits(draws: NDArray[np.float64], *, test_to_train: float) -> Estimate:
    """Return the mean over random splits, (J,), with Nadeau and Bengio's standard error."""
    spread = float(pd.Series(draws).var(ddof=1))
    error = corrected_standard_error(spread, n_splits=len(draws), test_to_train=test_to_train)
    return float(np.mean(draws)), error


def least_error_of(references: pd.DataFrame, error: str) -> Estimate:
    """Error of the barycentre at full strength, from the references' means; :data:`UNKNOWN` without one."""
    whole = of_measure(references, error).query(WHOLE_BARYCENTRE)
    return (float(whole["value"].iloc[0]), float(whole["se"].iloc[0])) if len(whole) else UNKNOWN


@dataclass(frozen=True, eq=False)
class Front:
    """Figures of a run's paths for one objective and sensitive column.

    Parameters
    ----------
    objective, sensitive
        Id of the objective, and the sensitive column, a crossing or all together
        (:func:`fairdash.evaluation.crossed_cells.views_of`).
    test, validation
        Means over the splits with standard errors, one row per method, stop and measure
        (:func:`fairdash.evaluation.summarise_splits`); `validation` may be empty.
    single
        Test figures of every split.
    references
        Means of the references' test figures, empty if there are none for this objective.
    price
        Smallest increase of the error under exact independence, in units of ``mse``, and its standard error;
        NaN if unknown.
    least_error
        Estimated smallest ``mse`` of independent predictions, and its standard error; NaN if unknown.
    baselines
        Means of the baselines' test figures.
    tariffs
        Test and validation figures of every split's tariffs in a run of networks; empty if there are none.
    groups, fifths
        (n,) each row's quantile group of the sensitive column, up to 20 and up to 5 groups, each with at
        least 20 test rows of every split; see :func:`fairdash.evaluation.merged_groups`.
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
    groups: NDArray[np.intp]
    fifths: NDArray[np.intp]

    @classmethod
    def of(cls, result: SweepResult, *, objective: str, sensitive: str) -> Front:
        """Make a front from a run's result."""
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
        s = values_of(result.sensitive, sensitive)
        parts = [split.test for split in result.splits]
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
            groups=merged_groups(s, parts, n_groups=MAX_NUMBER_OF_GROUPS),
            fifths=merged_groups(s, parts, n_groups=DEFAULT_GROUPS),
        )

    @cached_property
    def _measured(self) -> set[str]:
        return set(self.test["measure"])

    @property
    def measures(self) -> list[str]:
        """Ids of the measures with figures."""
        return [id for id in REGISTRY if id in self._measured]

    @property
    def default_measure(self) -> str:
        """Measure shown by default."""
        return DEFAULT_MEASURE if DEFAULT_MEASURE in self._measured else self.measures[0]

    @property
    def error(self) -> str:
        """Measure of the prediction error: the training loss."""
        return "deviance" if "deviance" in self._measured else "mse"

    @property
    def error_title(self) -> str:
        """Axis title of `error`."""
        return ERROR_TITLES[self.error]

    @property
    def error_shown(self) -> str:
        """Measure of the error in charts and sentences; in the target's unit for squared error."""
        return "rmse" if self.error == "mse" else self.error

    def axis_of_error(self, unit: str) -> dict[str, Any]:
        """Measure of the error in charts, its axis title and its unit."""
        if self.error != "mse":
            return {"error": self.error, "error_title": self.error_title, "unit": ""}
        return {"error": "rmse", "error_title": label("Test error, RMSE", unit), "unit": unit}

    @property
    def methods(self) -> list[str]:
        return list(self.test["method"].unique())

    @cached_property
    def error_of_mean(self) -> float:
        """Error of the training average on the test rows; NaN if not known."""
        return self._of_mean(self.error)

    @cached_property
    def rmse_of_mean(self) -> float:
        """Root mean squared error of the training average, in the target's unit; NaN for another loss."""
        return self._of_mean("rmse") if self.error == "mse" else math.nan

    def _of_mean(self, error: str) -> float:
        own = of_measure(self.baselines, error)
        return float(own.loc[own["method"] == MEAN, "value"].iloc[0]) if len(own) else math.nan

    def rows(self, measure: str) -> pd.DataFrame:
        """Return the test figures of a measure or error, one row per method and stop."""
        if measure not in self._tables:
            self._tables[measure] = of_measure(self.test, measure)
        return self._tables[measure]

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        return {}

    def figure(self, measure: str, point: ModelKey) -> Figure:
        """Return the test figures of a measure at a point; NaN if it was not measured."""
        if measure not in self._measured:
            return Figure(math.nan)
        # Every path contains the standard model.
        value = self._figures.get((measure, point.method, point.lam))
        value = value or self._figures.get((measure, None, point.lam))
        if value is None:
            raise IndexError(f"no {measure} at {point}")
        return value

    @cached_property
    def opening(self) -> float:
        """Initial λ, at which half of the dependence above the floor is removed.

        It is computed from the means of the first method on validation rows, by the default measure. A
        trained weight in the middle third between the standard model and the floor is preferred; otherwise it
        is the nearest stop. Without validation rows, or without dependence to reduce, it is the middle
        trained weight, counting 0.
        """
        measure, method = self.default_measure, self.methods[0]
        if len(self.validation):
            rows = of_measure(self.validation, measure)
            rows = rows[rows["method"] == method].sort_values("lam")
            # Floors are of test rows only; the numbers of rows are similar.
            top, floor = rows["value"].iloc[0], self.rows(measure)["floor"].mean()
            if top > floor:
                gone = (top - rows["value"]) / (top - floor)
                is_middle = (rows["share"] == 0) & gone.between(1 / 3, 2 / 3)
                stops = rows[is_middle] if is_middle.any() else rows
                return float(stops["lam"].loc[(gone[stops.index] - 0.5).abs().idxmin()])
        stops = self.rows(measure)
        trained = stops.loc[(stops["method"] == method) & (stops["share"] == 0), "lam"]
        return float(trained.sort_values().iloc[len(trained) // 2])

    @cached_property
    def drawn(self) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        """Charts without the selected points, as plain values, cached with the front."""
        return {}

    @cached_property
    def _figures(self) -> dict[tuple[str, str | None, float], Figure]:
        """Map of measure, method and λ to the first figure that has them; the method None matches any."""
        figures: dict[tuple[str, str | None, float], Figure] = {}
        keys = zip(self.test["measure"], self.test["method"], self.test["lam"], strict=True)
        for (measure, method, lam), figure in zip(keys, figures_of(self.test), strict=True):
            figures.setdefault((measure, method, lam), figure)
            figures.setdefault((measure, None, lam), figure)
        return figures


def fronts_of(result: SweepResult, *, sensitive: str) -> dict[str, Front]:
    """Return the fronts of one sensitive column by objective."""
    return {each: Front.of(result, objective=each, sensitive=sensitive) for each in result.paths}


def parse_point(front: Front, text: str) -> ModelKey:
    """Parse ``"standard"``, or a method and a weight such as ``"hgr_nn:0.5"``, into a point.

    Raises
    ------
    OptionError
        The front has no such point.
    """
    asked = ModelKey.parse(text)
    point = asked if text == STANDARD else point_of(front, asked.method, asked.lam)
    return THE_STANDARD if point.is_standard else point


def point_of(front: Front, method: str, lam: float) -> ModelKey:
    """Return the point of a method's path at this weight, equal to six digits.

    Raises
    ------
    OptionError
        The front has no such point.
    """
    get_entry({id: id for id in front.methods}, method, option="method")
    stops = front.rows(front.error)
    there = stops.loc[stops["method"] == method, "lam"]
    found = [ModelKey(method, float(each)) for each in there if f"{each:g}" == f"{lam:g}"]
    if found:
        return found[0]
    nearest = sorted(there, key=lambda each: abs(each - lam))[:3]
    raise OptionError.of(
        f"The path has no point at λ = {lam:g}",
        f"The nearest are {', '.join(f'{each:g}' for each in sorted(nearest))}.",
        column="lam",
    )


def nearest_points(front: Front) -> pd.DataFrame:
    """Return the existing price and the nearest points of the front, on the same test rows.

    Returns
    -------
    DataFrame
        One row for the price, then one row per point, the nearest first: method, lam, error, error_se,
        dependence, dependence_se, floor, as means over the splits. Distances are measured after scaling the
        ranges of error and dependence, including the price's, to 1. If the run's data had no existing price,
        points from one end of the front to the other, in the order of λ.
    """
    price = front.baselines[front.baselines["method"] == PRICE]
    error, own = (
        pd.concat([of_measure(rows, each) for rows in (price, front.test) if len(rows)], ignore_index=True)
        for each in (front.error, front.default_measure)
    )
    table = error[["method", "lam"]].assign(error=error["value"], error_se=error["se"])
    table = table.assign(dependence=own["value"], dependence_se=own["se"], floor=own["floor"])
    if price.empty:
        ordered = table.sort_values("lam", kind="stable", ignore_index=True)
        return ordered.iloc[np.unique(np.linspace(0, len(ordered) - 1, MOST + 1).round().astype(int))]
    seen = table[["error", "dependence"]].to_numpy(dtype=float)
    distance = np.hypot(*((seen - seen[0]) / np.maximum(np.ptp(seen, axis=0), 1e-300)).T)
    return table.iloc[np.argsort(distance, kind="stable")[: MOST + 1]].reset_index(drop=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedRun:
    """Run in a comparison.

    Parameters
    ----------
    letter
        Name on the chart.
    title
        Name beside the chart.
    data
        What tells its data, with their rows and features, from others.
    result
        Result of the run.
    """

    letter: str
    title: str
    data: str
    result: SweepResult


def differences(runs: Sequence[ComparedRun]) -> str:
    """Explain why these runs can't share a front, in one sentence; empty if they can."""
    kinds = {
        "target": [each.result.target_name for each in runs],
        "sensitive columns": [" and ".join(each.result.sensitive.columns) for each in runs],
        "objective": [OBJECTIVES[each.result.objective].title for each in runs],
        "loss": [each.result.sweep.settings.loss for each in runs],
    }
    found = [f"{kind} ({few(dict.fromkeys(each))})" for kind, each in kinds.items() if len(set(each)) > 1]
    if not found:
        return ""
    return f"These runs can't be shown on one front, because they differ in {' and in '.join(found)}."


def remarks(runs: Sequence[ComparedRun]) -> list[str]:
    """Return notes on comparing runs on one front."""
    said = []
    if len({each.data for each in runs}) > 1:
        said.append("The runs use different data, or different rows or features of the same data.")
    if len({(each.result.sweep.n_splits, each.result.sweep.random_state) for each in runs}) > 1:
        said.append(
            "The runs are evaluated on different test rows, so differences within the standard errors may be "
            "chance."
        )
    return said


def shared_measures(fronts: Sequence[Front]) -> list[str]:
    """Return the ids of the measures that all fronts have, the first front's default first."""
    shared = [id for id in fronts[0].measures if all(id in each.measures for each in fronts)]
    return sorted(shared, key=lambda id: id != fronts[0].default_measure)


def table_of(runs: Sequence[ComparedRun], fronts: Sequence[Front], *, measure: str) -> pd.DataFrame:
    """Return every trained model of every run: means over the splits, on test rows."""
    parts = []
    symbol = REGISTRY[measure].symbol
    for run, front in zip(runs, fronts, strict=True):
        every = (front.rows(each) for each in (front.error, measure))
        rows, own = (trained_points(each, standard_of=front.methods[0]) for each in every)
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
                    symbol: own["value"].to_numpy(),
                    f"± of {symbol}": own["se"].to_numpy(),
                    "Independence below": own["edge"].to_numpy(),
                    "Link? p of one test": [front.figure(VERDICT, point).p for point in points],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)
