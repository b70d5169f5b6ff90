"""Confirmation of a selected model: one test on holdout rows, and a count of the uses of these rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdash.dependence.inference import assess_dependence
from fairdash.dependence.omnibus import independence_test
from fairdash.errors import DataError, OptionError
from fairdash.evaluation.assess import DEFAULT_MEASURE
from fairdash.evaluation.tradeoff_curve import blend, curve_points
from fairdash.evaluation.verdict import ALPHA
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.methods import PATHS, THE_STANDARD, ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.training.split_kinds import SetAside
from fairdash.training.sweep import STANDARD
from fairdash.utils.classes import attributes_of
from fairdash.utils.registry import get_entry
from fairdash.utils.rounding import varies

#: `N_PERMUTATIONS`: number of permutations for the test. `N_FOR_FLOOR`: number of permutations for the noise
#: floor.
N_PERMUTATIONS, N_FOR_FLOOR = 999, 99


@dataclass(frozen=True, kw_only=True)
class Link:
    """Dependence on one sensitive column in the holdout rows.

    Parameters
    ----------
    column
        Name of the column.
    value, floor, floor_q95
        Same meaning as in :class:`fairdash.dependence.inference.DependenceEstimate`.
    p_value
        P-value of the omnibus test (:func:`fairdash.dependence.omnibus.independence_test`), in [0, 1]. The
        p-value is valid, because the rows were not used to train or select the model. The classes of an
        attribute share one test and one p-value.
    attribute
        Name of the attribute if the column is one of its classes; otherwise empty.
    """

    column: str
    value: float
    floor: float
    floor_q95: float
    p_value: float
    attribute: str = ""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Result of one use of the holdout rows.

    Parameters
    ----------
    number
        Number of this use of the holdout rows. Only the first use, with the number 1, is a confirmation.
    point
        Selected point.
    objective
        Id of the objective that the test concerns.
    measure
        Id of the measure that the values estimate.
    links
        One result for each sensitive column.
    error
        Mean loss divided by the loss of the average of the holdout rows; 0 is perfect, and 1 is the average.
    error_of_standard
        Error of the standard model, on the same scale.
    n
        Number of holdout rows.
    """

    number: int
    point: ModelKey
    objective: str
    measure: str
    links: tuple[Link, ...]
    error: float
    error_of_standard: float
    n: int

    @property
    def p_value(self) -> float:
        """Return the p-value over all attributes by Bonferroni: the smallest p-value times their number."""
        tests = {link.attribute or link.column for link in self.links}
        return min(1.0, len(tests) * min(link.p_value for link in self.links))

    @property
    def finds_link(self) -> bool:
        """Return True if the test finds a link at the 5 % level."""
        return self.p_value <= ALPHA

    @property
    def is_first(self) -> bool:
        """Return True for the first use of the holdout rows; later uses do not confirm a model."""
        return self.number == 1

    @property
    def growth(self) -> float:
        """Return the relative increase of the error over the standard model's error; 0 if the latter is 0."""
        return self.error / self.error_of_standard - 1 if self.error_of_standard > 0 else 0.0

    def is_of(self, point: ModelKey, *, objective: str) -> bool:
        """Return True if the result belongs to this point; for every method, λ = 0 is the standard model."""
        is_same_point = self.point == point or (self.point.is_standard and point.is_standard)
        return is_same_point and self.objective == objective


def confirm_point(
    holdout: SetAside,
    *,
    method: str,
    lam: float,
    objective: str,
    before: Sequence[Confirmation] = (),
    loss: Loss = LOSSES["squared_error"],
    random_state: int = 0,
) -> Confirmation:
    """Assess a selected point of the trade-off curve on holdout rows, or return its stored assessment.

    Parameters
    ----------
    holdout
        Holdout rows, and predictions for them by models of all other rows.
    method, lam
        Method, and weight λ: a trained weight, or the λ of a blend of two neighbouring models, as in
        :func:`fairdash.evaluation.tradeoff_curve.curve_points`; λ = 0 is the standard model.
    objective
        Id in :data:`fairdash.training.settings.OBJECTIVES`.
    before
        Results of earlier uses of the same holdout rows.
    loss
        Training loss.

    Raises
    ------
    OptionError
        Raised if the point does not exist, or one of its models diverged.
    DataError
        Raised if a sensitive attribute is constant in the holdout rows, so that no test is possible.
    """
    for confirmation in before:
        if confirmation.is_of(ModelKey(method, lam), objective=objective):
            return confirmation
    audit = get_entry(OBJECTIVES, objective, option="objective").audit
    predictions = _predictions(holdout, method, lam)
    u = audit(predictions[None, :], holdout.target)[0]
    attributes = attributes_of(holdout.sensitive)
    for name, columns in attributes.items():
        if not varies(holdout.sensitive[columns].to_numpy(dtype=float).T, holdout.weight).any():
            problem = "it is constant in the holdout rows, so these rows can't confirm anything"
            raise DataError.of(problem, "Set more rows aside, or choose another column.", column=name)
    links = []
    test_options: dict[str, Any] = {
        "sample_weight": holdout.weight,
        "groups": holdout.groups,
        "random_state": random_state,
    }
    floored: dict[str, Any] = {"n_permutations": N_FOR_FLOOR, "n_bootstrap": 0, "max_rows": None}
    for name, columns in attributes.items():
        values = holdout.sensitive[columns].to_numpy(dtype=float)
        are_classes = len(columns) > 1
        s = np.array(columns)[values.argmax(axis=1)] if are_classes else values[:, 0]
        test = independence_test(u, s, n_permutations=N_PERMUTATIONS, **test_options)
        for column, of_column in zip(columns, values.T, strict=True):
            estimate = assess_dependence(DEFAULT_MEASURE, u, of_column, **floored, **test_options)
            links.append(
                Link(
                    column=column,
                    value=estimate.value,
                    floor=estimate.floor,
                    floor_q95=estimate.floor_q95,
                    p_value=test.p_value,
                    attribute=name if are_classes else "",
                )
            )
    rows = np.arange(len(holdout.rows))
    weight = np.ones(len(rows)) if holdout.weight is None else holdout.weight

    def error(y_pred: NDArray[np.float64]) -> float:
        return loss.relative(holdout.target, y_pred, weight, rows=rows, train=rows)

    return Confirmation(
        number=len(before) + 1,
        point=THE_STANDARD if lam == 0 else ModelKey(method, lam),
        objective=objective,
        measure=DEFAULT_MEASURE,
        links=tuple(links),
        error=error(predictions),
        error_of_standard=error(_predictions(holdout, STANDARD, 0.0)),
        n=len(rows),
    )


def _predictions(holdout: SetAside, method: str, lam: float) -> NDArray[np.float64]:
    """Return the predictions (m,) of the point, which is a model or a blend of two models."""
    get_entry(PATHS, method, option="method")
    members = holdout.members
    usable = members[~members["diverged"]]
    index = {
        float(lam): k
        for k, lam, method_of_row in zip(usable.index, usable["lam"], usable["method"], strict=True)
        if method_of_row in (method, STANDARD)
    }
    lams_trained = members.loc[members["method"] == method, "lam"].tolist() if lam else []
    point = next((point for point in curve_points(method, lams_trained) if point.lam == lam), None)
    if point is None or not {point.low, point.high} <= index.keys():
        raise OptionError.of(
            f"There is no point λ = {lam:g} of “{method}” to confirm",
            "Choose a trained weight, or a blend of the Trade-off page, whose models did not diverge.",
            column="lam",
        )
    return blend(holdout.predictions[index[point.low]], holdout.predictions[index[point.high]], point.share)
