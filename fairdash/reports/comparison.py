"""Two points of a run's trade-off side by side: what pages, reports and files say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.assessment import (
    Stop,
    common_grid,
    densities,
    merged_groups,
    money_moved,
    of_sensitive,
    path_predictions,
    quantile_profile,
    stops,
    summarise_splits,
)
from fairdash.assessment.money import DEFAULT_GROUPS
from fairdash.assessment.profile import LARGEST_NUMBER_OF_GROUPS
from fairdash.dependence import REGISTRY
from fairdash.reports.numbers import number
from fairdash.runs.result import RunResult
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES, Objective
from fairdash.training.sweep import STANDARD, Sweep

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A place on a method's path; λ = 0 is the standard model, whatever the method."""

    method: str
    lam: float

    @property
    def is_standard(self) -> bool:
        return self.lam == 0 or self.method == STANDARD

    @property
    def name(self) -> str:
        """Short name for a chart's line."""
        return "standard model" if self.is_standard else f"λ = {self.lam:g}"

    @property
    def title(self) -> str:
        """Name that tells methods apart."""
        return self.name if self.is_standard else f"{METHODS[self.method].title}, λ = {self.lam:g}"


THE_STANDARD = Point(STANDARD, 0.0)


@dataclass(frozen=True, eq=False)
class Front:
    """The figures of a run's paths for one objective and sensitive column.

    Parameters
    ----------
    test, validation
        Means over the splits with standard errors, one row a method and stop; `validation` may be empty.
    single
        Test figures of every split.
    references
        Means of the references' test figures, empty if there are none or they are not for this objective.
    price
        What exact independence costs at least, in units of ``mse``; NaN if it is not known.
    groups, fifths
        (n,) each row's quantile group of the sensitive column, up to 20 and up to 5 of them, with at least
        20 test rows of every split in each; see :func:`fairdash.assessment.merged_groups`.
    """

    test: pd.DataFrame
    validation: pd.DataFrame
    single: pd.DataFrame
    references: pd.DataFrame
    price: float
    groups: NDArray[np.intp]
    fifths: NDArray[np.intp]

    @classmethod
    def of(cls, result: RunResult, *, objective: str, sensitive: str) -> Front:
        """Gather them from a run's result."""
        path = of_sensitive(result.paths[objective], sensitive)
        summary = summarise_splits(path, test_to_train=result.test_to_train)
        references, price = summary.iloc[:0], float("nan")
        if result.references is not None and not OBJECTIVES[objective].uses_target:
            references = summarise_splits(result.references, test_to_train=result.test_to_train)
            price = float(np.mean(result.price)) if result.price is not None else price
        s = result.sensitive[sensitive].to_numpy(dtype=float)
        parts = [split.test for split in result.splits]
        return cls(
            test=summary[summary["part"] == "test"].reset_index(drop=True),
            validation=summary[summary["part"] == "validation"].reset_index(drop=True),
            single=path[path["part"] == "test"].reset_index(drop=True),
            references=references,
            price=price,
            groups=merged_groups(s, parts, n_groups=LARGEST_NUMBER_OF_GROUPS),
            fifths=merged_groups(s, parts, n_groups=DEFAULT_GROUPS),
        )

    @property
    def measures(self) -> list[str]:
        """Ids of the measures that there are figures of."""
        return [id for id in REGISTRY if id in self.test]

    @property
    def error(self) -> str:
        """The column that says how wrong predictions are: the loss that was trained for."""
        return "deviance" if "deviance" in self.test else "mse"

    @property
    def methods(self) -> list[str]:
        return list(self.test["method"].unique())

    def point(self, method: str, lam: str) -> Point | None:
        """The stop of a method's path whose λ reads `lam` in six digits; None if there is none."""
        lams = self.test.loc[self.test["method"] == method, "lam"]
        return next((Point(method, float(each)) for each in lams if f"{each:g}" == lam), None)

    def row(self, point: Point) -> pd.Series:
        """The test figures of a point."""
        rows = self.test[self.test["lam"] == point.lam]
        own = rows[rows["method"] == point.method]
        # The standard model stands in every path.
        return (own if len(own) else rows).iloc[0]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Point B of a run against point A, the standard model unless another one was kept.

    Parameters
    ----------
    title
        Name of the data set.
    plan
        What was trained.
    result, front
        What was found.
    objective
        Id of the objective in view; models are trained for ``plan.objective``.
    measure
        Id of the measure in view.
    sensitive
        The sensitive column in view.
    a, b
        The two points.
    """

    title: str
    plan: Sweep
    result: RunResult
    front: Front
    objective: str
    measure: str
    sensitive: str
    a: Point
    b: Point

    @property
    def objective_seen(self) -> Objective:
        return OBJECTIVES[self.objective]

    @property
    def target(self) -> str:
        return self.result.target_name

    @property
    def unit(self) -> str:
        """The target's unit, or nothing."""
        return self.result.units.get(self.target, "")

    @property
    def sensitive_unit(self) -> str:
        return self.result.units.get(self.sensitive, "")

    @property
    def error_title(self) -> str:
        """What `front.error` is, as an axis title."""
        if self.front.error == "deviance":
            return "Test error (deviance ÷ that of the constant mean)"
        return "Test error (MSE ÷ variance of the target)"

    @property
    def target_mean(self) -> float:
        """Average of the target, by exposure where rows have one."""
        return float(np.average(self.result.target, weights=self.result.weight))

    @cached_property
    def s(self) -> Array:
        return self.result.sensitive[self.sensitive].to_numpy(dtype=float)

    def called(self, point: Point) -> str:
        """Short name of A or B, with its method where the two have different ones."""
        differ = not (self.a.is_standard or self.b.is_standard) and self.a.method != self.b.method
        return point.title if differ else point.name

    def mean(self, figure: str, point: Point) -> float:
        """A figure's mean over the splits, test rows."""
        return float(self.front.row(point)[figure])

    def shown(self, figure: str, point: Point) -> str:
        """The same, with the digits that its standard error leaves it."""
        row = self.front.row(point)
        return number(float(row[figure]), error=float(row[f"{figure}_se"]))

    @property
    def is_of_one_point(self) -> bool:
        """Whether A and B are the same model."""
        return self.a == self.b or (self.a.is_standard and self.b.is_standard)

    @property
    def growth(self) -> float:
        """How much larger B's error is than A's: 0.1 is 10 %."""
        return self.mean(self.front.error, self.b) / self.mean(self.front.error, self.a) - 1

    def splits_with_dependence(self, point: Point) -> tuple[int, int]:
        """In how many splits the measure exceeds what 95 % of independent data reach, and of how many."""
        rows = self.front.single
        rows = rows[(rows["lam"] == point.lam) & rows["method"].isin([self._path_of(point)])]
        return int((rows[self.measure] > rows[f"{self.measure}_floor_q95"]).sum()), len(rows)

    def stop(self, point: Point) -> Stop:
        """Between which trained weights a point lies."""
        lams = self.plan.lams if point.method in self.plan.methods else ()
        found = [stop for stop in stops(lams) if stop.lam == point.lam]
        return found[0] if found else Stop(0.0, 0.0, 0.0, 0.0)

    def predictions(self, point: Point) -> Mapping[int, Array]:
        """Split to the predictions (n,) of a point."""
        if point not in self._predictions:
            self._predictions[point] = path_predictions(
                self.result.predictions, self.result.members, self._path_of(point), self.stop(point)
            )
        return self._predictions[point]

    @cached_property
    def _predictions(self) -> dict[Point, Mapping[int, Array]]:
        return {}

    def profile(self, point: Point, *, objective: str | None = None) -> pd.DataFrame:
        """Averages of what an objective looks at, predictions or residuals, by quantile of the column."""
        predictions = self.predictions(point)
        seen = OBJECTIVES[objective or self.objective]
        values = seen.audit(np.stack(list(predictions.values())), self.result.target)
        splits = [self.result.splits[j] for j in predictions]
        return quantile_profile(values, self.s, splits, groups=self.front.groups, weight=self.result.weight)

    @cached_property
    def moved(self) -> pd.DataFrame:
        """What moves from and to groups of the column in view when B takes the place of A."""
        return money_moved(
            self.predictions(self.a),
            self.predictions(self.b),
            self.s,
            self.result.splits,
            weight=self.result.weight,
            groups=self.front.fifths,
        )

    @property
    def mean_change(self) -> float:
        """How far a row's prediction moves from A to B on average, in the target's unit."""
        a, b = self.predictions(self.a), self.predictions(self.b)
        changes = []
        for j in a.keys() & b.keys():
            rows = self.result.splits[j].test
            weight = None if self.result.weight is None else self.result.weight[rows]
            changes.append(np.average(np.abs(b[j][rows] - a[j][rows]), weights=weight))
        return float(np.mean(changes))

    def spreads(self) -> dict[Point, pd.DataFrame]:
        """Densities of what the objective looks at in thirds of the column, first split's test rows."""
        seen = {point: self.audited_of_first_split(point) for point in (self.a, self.b)}
        grid = common_grid(*(u for u, _ in seen.values()))
        return {point: densities(u, s, grid=grid) for point, (u, s) in seen.items()}

    def audited_of_first_split(self, point: Point) -> tuple[Array, Array]:
        """U and s of the test rows of the first split that the point has."""
        split, y_pred = next(iter(self.predictions(point).items()))
        rows = self.result.splits[split].test
        return np.asarray(self.objective_seen.audit(y_pred[rows], self.result.target[rows])), self.s[rows]

    def importance(self, kind: str = "importance") -> pd.DataFrame | None:
        """``importance`` or ``reliance`` of each feature for A and B, each at the nearest trained weight.

        Columns ``feature``, ``a``, ``b``, means over the splits; None if the run did not measure them. See
        :class:`fairdash.training.importance.Importance`.
        """
        if self.result.importance is None:
            return None
        columns = {}
        for name, point in (("a", self.a), ("b", self.b)):
            stop = self.stop(point)
            lam = stop.high if stop.share >= 0.5 else stop.low
            method = STANDARD if lam == 0 else point.method
            table = self.result.importance
            own = table[(table["method"] == method) & (table["lam"] == lam)]
            columns[name] = own.groupby("feature", sort=False)[kind].mean()
        return pd.DataFrame(columns).reset_index()

    def scored(self) -> pd.DataFrame:
        """Each split's test rows with both points' predictions."""
        a, b = self.predictions(self.a), self.predictions(self.b)
        names = {self.a.title: a, self.b.title: b}
        parts = [
            pd.DataFrame(
                {
                    "split": j + 1,
                    "row": self.result.splits[j].test + 1,
                    self.sensitive: self.s[self.result.splits[j].test],
                    self.target: self.result.target[self.result.splits[j].test],
                }
                | {name: found[j][self.result.splits[j].test] for name, found in names.items()}
            )
            for j in sorted(a.keys() & b.keys())
        ]
        return pd.concat(parts, ignore_index=True)

    def is_worse_than_both_ends(self) -> bool:
        """Whether B is a blend that shows more dependence than both its trained neighbours.

        More error it never has: see :func:`fairdash.assessment.blend`.
        """
        stop = self.stop(self.b)
        if stop.is_trained:
            return False
        ends = [self.mean(self.measure, Point(self.b.method, lam)) for lam in (stop.low, stop.high)]
        return self.mean(self.measure, self.b) > max(ends)

    def _path_of(self, point: Point) -> str:
        """The method whose path holds the point: any one holds the standard model."""
        return point.method if point.method in self.front.methods else self.front.methods[0]
