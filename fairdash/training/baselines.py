"""Benchmarks of every run: the average of the training rows, and the linear model that an actuary would fit.

A network that does not beat them is not worth its trouble, and where it does not beat the average nothing
was learned that fairness could cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.training.losses import Loss
from fairdash.training.preprocessing import EncodedRows, encode_rows
from fairdash.training.splits import Split, with_held_out
from fairdash.units import Found, Unit, at_once

#: Weights of the squared coefficients that are compared, in units of a row: none to a constant.
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


MEAN, LINEAR = "mean", "linear"

#: Id in a frame's column ``method`` to its name. The average is the same for everyone: fair, and of no use.
#: The linear model is ridge regression for the squared error, else a GLM of the loss's family, log link.
BASELINES: Mapping[str, str] = MappingProxyType(
    {MEAN: "Average of the training rows", LINEAR: "Linear benchmark (ridge, GLM)"}
)


def train_baselines(
    dataset: Dataset, splits: Sequence[Split], *, loss: Loss, random_state: int = 0, unit: Unit = at_once
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fit every baseline to the training rows of each split; none sees a sensitive column.

    Parameters
    ----------
    splits
        The run's own. Where one has no validation rows, a fifth of its training rows is held out to choose
        how strongly coefficients shrink; the model is then fitted to all training rows.
    random_state
        Seed of which rows those are.
    unit
        Asked for ``"baselines"``, all of them.

    Returns
    -------
    members, predictions
        Columns ``method`` (an id of :data:`BASELINES`), ``lam`` (0), ``split``, ``diverged`` (False); and
        (K, n) predictions in the target's units, a row of `members` each.
    """
    found = unit("baselines", lambda: _trained(dataset, splits, loss, random_state))
    return found["members"], found["predictions"]


def _trained(dataset: Dataset, splits: Sequence[Split], loss: Loss, random_state: int) -> Found:
    y = dataset.target.to_numpy(dtype=float)
    weight = np.ones(len(y)) if dataset.weight is None else dataset.weight.to_numpy(dtype=float)
    members, predictions = [], []
    for j, split in enumerate(splits):
        rows = encode_rows(dataset, split.train, loss)
        mean = np.full(len(y), np.average(y[split.train], weights=weight[split.train]))
        linear = rows.target_scale.undo(_linear(rows, weight, split, loss, random_state))
        for method, y_pred in ((MEAN, mean), (LINEAR, linear)):
            members.append({"method": method, "lam": 0.0, "split": j, "diverged": False})
            predictions.append(y_pred)
    return {"members": pd.DataFrame(members), "predictions": np.stack(predictions)}


def _linear(
    rows: EncodedRows, weight: NDArray[np.float64], split: Split, loss: Loss, random_state: int
) -> NDArray[np.float64]:
    """Predictions (n,) in the loss's units by the best of the linear models."""
    inner = with_held_out(split, random_state=random_state)
    held_out = inner.validation

    def predictions(alpha: float, train: NDArray[np.int64]) -> NDArray[np.float64]:
        model = _model(loss, alpha, mass=float(weight[train].sum()))
        model.fit(rows.x[train].astype(float), rows.y[train], sample_weight=weight[train])
        fitted: NDArray[np.float64] = model.predict(rows.x.astype(float))
        return fitted

    def held_out_loss(alpha: float) -> float:
        y_pred = predictions(alpha, inner.train)[held_out]
        return loss.mean_deviance(rows.y[held_out], y_pred, weight[held_out])

    best = min(ALPHAS, key=held_out_loss)
    return predictions(best, split.train)


def _model(loss: Loss, alpha: float, *, mass: float) -> Any:
    """scikit-learn's model; `alpha` is a share of the rows' weight for both kinds."""
    from sklearn.linear_model import Ridge, TweedieRegressor

    if not loss.has_log_link:
        return Ridge(alpha=alpha * mass)
    # The GLM's own alpha is per unit of weight already. Newton's steps settle where L-BFGS needs thousands.
    return TweedieRegressor(
        power=loss.power, link="log", alpha=alpha, solver="newton-cholesky", max_iter=1000, tol=1e-6
    )
