"""Benchmarks of every run: the training average, an actuary's linear model, trees and an existing price.

A network that does not beat them is not worth the effort. If it does not even beat the average, there is no
accuracy to lose to fairness. No benchmark trained here uses a sensitive column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.data.dataset import Dataset
from fairdash.jobs.steps import Found, Unit, at_once, independent, within
from fairdash.training.feature_encoder import EncodedRows, encode_rows
from fairdash.training.losses import Loss
from fairdash.training.splits import Split, require_varied_target, with_held_out
from fairdash.utils.trees import boosted_trees

#: Trees, at most; held-out rows choose how many are used.
MAX_TREES = 150
#: Trees that are added before each check on the held-out rows, and trees without a lower loss that end the
#: training.
TREES_AT_ONCE, PATIENCE = 40, 30
#: Weights of the squared coefficients that are compared, in units of a row: none to a constant.
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


MEAN, LINEAR, TREES, PRICE = "mean", "linear", "trees", "existing_prediction"

#: Id in a frame's column ``method`` to its name. The average is the same for everyone: fair, and of no use.
#: The linear model is ridge regression for the squared error, else a GLM of the loss's family, log link. The
#: trees follow the loss as well; for Tweedie's they take Poisson's, which aims at the same mean.
#: The existing prediction is the data set's own column. Where the loss has a log link it is a price, whose
#: level (expenses, profit, money where claims are counted) is brought to the target's mean on training rows.
BASELINES: Mapping[str, str] = MappingProxyType(
    {
        MEAN: "Average of the training rows",
        LINEAR: "Linear benchmark (ridge, GLM)",
        TREES: "Gradient boosted trees",
        PRICE: "Existing prediction",
    }
)


def train_baselines(
    dataset: Dataset,
    splits: Sequence[Split],
    *,
    loss: Loss,
    random_state: int = 0,
    leave_out: Collection[str] = (),
    unit: Unit = at_once,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fit every baseline to the training rows of each split; none uses a sensitive column.

    Parameters
    ----------
    splits
        Splits of the run. If one has no validation rows, a fifth of its training rows is held out, in whole
        groups if there are any, to choose the shrinkage of coefficients and the number of trees. The model is
        then fitted to all training rows.
    random_state
        Seed of these rows and of the trees.
    leave_out
        Ids of :data:`BASELINES` that are not fitted; trees take a second on some thousand rows, and minutes
        on a million.
    unit
        Computes ``"baselines/<number of the split>"``.

    Returns
    -------
    members, predictions
        Columns ``method`` (an id of :data:`BASELINES`; :data:`PRICE` if the data set has a price), ``lam``
        (0), ``split``, ``diverged`` (False); and (K, n) predictions in the target's units, one row of
        `members` each.
    """
    members, predictions = [], []
    of_split = partial(_of_split, dataset, loss=loss, random_state=random_state, leave_out=leave_out)
    unit = within(unit, "baselines")
    founds = independent(
        unit, {str(j): partial(unit, str(j), partial(of_split, split)) for j, split in enumerate(splits)}
    )
    for j, found in enumerate(founds):
        # Stored baselines come back in another order.
        for method in (each for each in BASELINES if each in found):
            members.append({"method": method, "lam": 0.0, "split": j, "diverged": False})
            predictions.append(found[method])
    return pd.DataFrame(members), np.stack(predictions)


def _of_split(
    dataset: Dataset, split: Split, loss: Loss, random_state: int, *, leave_out: Collection[str]
) -> Found:
    """Id of each baseline to its predictions (n,)."""
    y = dataset.target.to_numpy(dtype=float)
    weight = dataset.row_weight
    predictions = {MEAN: np.full(len(y), np.average(y[split.train], weights=weight[split.train]))}
    if not {LINEAR, TREES} <= set(leave_out):
        rows = encode_rows(dataset, split.train, loss)
        inner = with_held_out(split, random_state=random_state, groups=dataset.groups)
        require_varied_target(dataset.target, [split, inner])
        predictions[LINEAR] = rows.target_scale.undo(linear_predictions(rows, weight, split, inner, loss))
        if TREES not in leave_out:
            predictions[TREES] = rows.target_scale.undo(
                _trees(rows, weight, split, inner, loss, random_state)
            )
    if dataset.prediction is not None:
        price = dataset.prediction.to_numpy(dtype=float)
        predictions[PRICE] = price * _level(price[split.train], y[split.train], weight[split.train], loss)
    return predictions


def _level(
    price: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64], loss: Loss
) -> float:
    """Factor that scales a price to the target's mean; 1 without a log link or without positive means."""
    mean, wanted = np.average(price, weights=weight), np.average(y, weights=weight)
    return float(wanted / mean) if loss.has_log_link and mean > 0 and wanted > 0 else 1.0


def linear_predictions(
    rows: EncodedRows, weight: NDArray[np.float64], split: Split, inner: Split, loss: Loss
) -> NDArray[np.float64]:
    """Return predictions (n,), in the loss's units, of the linear model that validates best on `inner`."""
    x, held_out, model = rows.x.astype(float), inner.validation, _model(loss)

    def fit(alpha: float, train: NDArray[np.int64]) -> None:
        # A share of the rows' weight; the GLM's own is per unit of weight already.
        mass = 1.0 if loss.has_log_link else float(weight[train].sum())
        model.set_params(alpha=alpha * mass).fit(x[train], rows.y[train], sample_weight=weight[train])

    def held_out_loss(alpha: float) -> float:
        fit(alpha, inner.train)
        return loss.mean_deviance(rows.y[held_out], model.predict(x[held_out]), weight[held_out])

    fit(min(ALPHAS, key=held_out_loss), split.train)
    fitted: NDArray[np.float64] = model.predict(x)
    return fitted


def _model(loss: Loss) -> Any:
    """scikit-learn's model."""
    from sklearn.linear_model import Ridge, TweedieRegressor

    if not loss.has_log_link:
        return Ridge()
    # Newton's steps settle where L-BFGS needs thousands, in half as many from the last coefficients.
    return TweedieRegressor(
        power=loss.power, link="log", solver="newton-cholesky", max_iter=1000, tol=1e-6, warm_start=True
    )


def _trees(
    rows: EncodedRows,
    weight: NDArray[np.float64],
    split: Split,
    inner: Split,
    loss: Loss,
    random_state: int,
) -> NDArray[np.float64]:
    """Predictions (n,) in the loss's units by as many trees as are best on `inner`'s validation rows."""

    # The run's own held-out rows stop the training, because scikit-learn's split would divide groups.
    model = boosted_trees(loss=loss.of_trees, random_state=random_state, warm_start=True)

    def grow(train: NDArray[np.int64], count: int) -> None:
        model.set_params(max_iter=count)
        model.fit(rows.x[train], rows.y[train], sample_weight=weight[train])

    held_out, losses, best = inner.validation, list[float](), 0
    while len(losses) < MAX_TREES and len(losses) - best <= PATIENCE:
        grow(inner.train, min(len(losses) + TREES_AT_ONCE, MAX_TREES))
        stages = islice(model.staged_predict(rows.x[held_out]), len(losses), None)
        losses += [loss.mean_deviance(rows.y[held_out], each, weight[held_out]) for each in stages]
        best = int(np.argmin(losses))
    predictions: NDArray[np.float64]
    if inner.train is split.train:
        # The same trees, up to the chosen number.
        predictions = next(islice(model.staged_predict(rows.x), best, None))
    else:
        model.set_params(warm_start=False)
        grow(split.train, best + 1)
        predictions = model.predict(rows.x)
    return predictions
