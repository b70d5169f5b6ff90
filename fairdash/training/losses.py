"""Losses: the squared error, and deviances of the Tweedie family for prices and counts.

A network returns a number η. For squared error, the prediction is μ = η. For the other losses, the prediction
is μ = exp(η), so that prices are positive and the effects of features are multiplied. Losses are divided by
the loss of a constant model, which predicts the (weighted) mean of the training rows. The constant model
therefore has loss 1, and a perfect model has loss 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairdash.errors import OptionError, Problem
from fairdash.utils.registry import by_id, get_entry

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    #: Losses of tariffs are computed from NumPy arrays, and losses of networks from torch tensors.
    Numbers = TypeVar("Numbers", NDArray[np.float64], Tensor)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Loss of the Tweedie family (Jørgensen 1987), with variance proportional to μ raised to `power`.

    Parameters
    ----------
    id
        Id of the loss, such as ``"poisson"``.
    title
        Display name.
    meaning
        Description of the targets that the loss suits.
    power
        Power of the variance: 0 for squared error, 1 for Poisson, 2 for gamma, between 1 and 2 for compound
        Poisson–gamma.
    """

    id: str
    title: str
    meaning: str
    power: float

    @property
    def has_log_link(self) -> bool:
        """Return whether the prediction is exp(η) instead of η."""
        return self.power > 0

    @property
    def of_trees(self) -> str:
        """Return scikit-learn's loss for trees: Poisson replaces Tweedie, because both predict the mean."""
        return {0.0: "squared_error", 2.0: "gamma"}.get(self.power, "poisson")

    def prediction(self, eta: Numbers) -> Numbers:
        """Return the predictions μ for outputs η of a network, in any shape."""
        return _exp(eta) if self.has_log_link else eta

    def unit_deviance(self, eta: Numbers, y: Numbers) -> Numbers:
        """Return the deviance (0 if μ = y, otherwise positive) of each output η of a network, in any shape.

        The deviance of the squared error is the squared error. The deviances of other losses include the
        usual factor 2, as in scikit-learn's ``mean_tweedie_deviance``.
        """
        if not self.has_log_link:
            return (eta - y) ** 2
        if self.power == 1:
            return 2 * (_y_log_y(y) - y * eta - y + _exp(eta))
        if self.power == 2:
            return 2 * (eta - _log(y) + y * _exp(-eta) - 1)
        p = self.power
        return 2 * (
            y.clip(0) ** (2 - p) / ((1 - p) * (2 - p))
            - y * _exp(eta * (1 - p)) / (1 - p)
            + _exp(eta * (2 - p)) / (2 - p)
        )

    def slope(self, eta: Numbers, y: Numbers) -> Numbers:
        """Return the derivative ∂/∂η of :meth:`unit_deviance`, in any shape, computed without autograd."""
        if not self.has_log_link:
            return 2 * (eta - y)
        if self.power == 1:
            return 2 * (_exp(eta) - y)
        if self.power == 2:
            return 2 * (1 - y * _exp(-eta))
        p = self.power
        return 2 * (_exp(eta * (2 - p)) - y * _exp(eta * (1 - p)))

    def deviances(self, y: NDArray[np.float64], y_pred: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the deviance of each row, (..., n), for y (n,) and y_pred (..., n)."""
        return self.unit_deviance(np.log(y_pred) if self.has_log_link else y_pred, y)

    def mean_deviance(
        self,
        y: NDArray[np.float64],
        y_pred: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None = None,
    ) -> float:
        """Return the weighted mean deviance of y (n,) and y_pred (n,), as defined in scikit-learn."""
        # Input checks as in scikit-learn would take most of the time if they ran after each boosted tree.
        deviances = self.deviances(np.asarray(y), np.asarray(y_pred))
        return float(np.average(deviances, weights=sample_weight))

    def relative(
        self,
        y: NDArray[np.float64],
        y_pred: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rows: NDArray[np.int64],
        train: NDArray[np.int64],
    ) -> float:
        """Return the mean deviance on `rows` divided by the mean deviance of the constant model on `rows`.

        Parameters
        ----------
        y, y_pred, weight
            Arrays (n,) for all rows of the table.
        rows
            Numbers of the rows to evaluate.
        train
            Numbers of the training rows, whose mean is the prediction of the constant model.
        """
        (loss,) = self.relative_of_many(y, y_pred[None], weight, rows=rows, train=train)
        return loss

    def relative_of_many(
        self,
        y: NDArray[np.float64],
        predictions: NDArray[np.float64],
        weight: NDArray[np.float64],
        *,
        rows: NDArray[np.int64],
        train: NDArray[np.int64],
    ) -> list[float]:
        """Return the results of :meth:`relative` for the predictions (K, n) of K models."""

        def mean(values: NDArray[np.float64]) -> float:
            return float(np.average(self.deviances(y[rows], values)[0], weights=weight[rows]))

        unit = mean(np.full((1, len(rows)), np.average(y[train], weights=weight[train])))
        # Models are evaluated one at a time, because the deviances of all models may not fit in memory.
        means = [mean(predictions[k : k + 1, rows]) for k in range(len(predictions))]
        # If the target is constant, no model can predict better than the average, so the result is 1.
        return [mean_loss / unit if unit > 0 else 1.0 for mean_loss in means]

    def prediction_problem(self, y_pred: pd.Series) -> Problem | None:
        """Explain why this loss cannot be computed for predictions (n,), or return None if it can."""
        count = int((y_pred.to_numpy() <= 0).sum()) if self.has_log_link else 0
        if not count:
            return None
        return Problem(
            column=str(y_pred.name),
            count=count,
            what=f"The {self.title.lower()} needs existing predictions above 0",
            hint="Choose squared error, leave these rows out, or choose no existing prediction.",
        )

    def target_problem(self, y: NDArray[np.float64], *, column: str) -> Problem | None:
        """Explain why this loss does not suit a target (n,), or return None if it does."""
        if not self.has_log_link:
            return None
        above_zero = self.power == 2
        is_invalid = y <= 0 if above_zero else y < 0
        if not is_invalid.any():
            return None
        bound = "above 0" if above_zero else "at least 0"
        return Problem(
            column=column,
            count=int(is_invalid.sum()),
            what=f"The {self.title.lower()} needs a target of which all values are {bound}",
            hint="Choose squared error, or leave these rows out.",
        )


def _exp(x: Any) -> Any:
    return np.exp(x) if isinstance(x, np.ndarray) else x.exp()


def _log(x: Any) -> Any:
    return np.log(x) if isinstance(x, np.ndarray) else x.log()


def _y_log_y(y: Any) -> Any:
    """Return y log y, which is 0 at y = 0."""
    from scipy.special import xlogy

    return xlogy(y, y) if isinstance(y, np.ndarray) else y.xlogy(y)


LOSSES: Mapping[str, Loss] = by_id(
    Loss(id="squared_error", title="Squared error", meaning="Suits any target.", power=0),
    Loss(
        id="poisson",
        title="Poisson deviance",
        meaning="Suits counts and rates, such as claims per year. The effects of features multiply.",
        power=1,
    ),
    Loss(
        id="tweedie",
        title="Tweedie deviance",
        meaning="Suits costs that are often zero, such as yearly claims costs. The effects of features "
        "multiply.",
        power=1.5,
    ),
    Loss(
        id="gamma",
        title="Gamma deviance",
        meaning="Suits positive amounts, such as the cost of a claim. The effects of features multiply.",
        power=2,
    ),
)


def find_loss(name: str, *, tweedie_power: float = 1.5) -> Loss:
    """Return the loss with the given name; ``"tweedie"`` has the variance power `tweedie_power`.

    Raises
    ------
    OptionError
        Raised if the name is unknown, or the power of ``"tweedie"`` is not between 1 and 2.
    """
    loss = get_entry(LOSSES, name, option="loss")
    if name != "tweedie":
        return loss
    if not 1 < tweedie_power < 2:
        raise OptionError.of(
            "The power of the Tweedie deviance is not between 1 and 2",
            "Choose a number above 1 (as for Poisson) and below 2 (as for gamma).",
            column="tweedie_power",
        )
    return Loss(id=loss.id, title=loss.title, meaning=loss.meaning, power=tweedie_power)
