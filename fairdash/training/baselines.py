"""Baselines of every run: average of the training rows, linear model, boosted trees and existing price.

A network is only worth the effort if it predicts better than the baselines. If a network does not even
predict better than the average, fairness cannot cost any accuracy. No baseline that is trained here uses a
sensitive column.
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
from fairdash.jobs.steps import Found, StepRunner, independent, run_directly, within
from fairdash.training.feature_encoder import EncodedRows, encode_rows
from fairdash.training.losses import Loss
from fairdash.training.splits import Split, require_varied_target, with_held_out
from fairdash.utils.trees import boosted_trees

#: Maximum number of trees; held-out rows determine how many trees are used.
MAX_TREES = 150
#: The loss on held-out rows is computed after every TREES_PER_CHECK added trees. Training stops if the last
#: PATIENCE trees have not reduced this loss.
TREES_PER_CHECK, PATIENCE = 40, 30
#: Candidate weights of the ridge penalty, per row, from almost no penalty to an almost constant model.
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


MEAN, LINEAR, TREES, PRICE = "mean", "linear", "trees", "existing_prediction"

#: Names of the baselines by their id in the column ``method`` of a frame. The average is the same for all
#: rows, so it is fair but useless. With the squared error, the linear model is a ridge regression; with other
#: losses, it is a GLM of the loss's family with a log link. The trees use the same loss, but the Poisson loss
#: instead of the Tweedie loss; both losses have the same optimal prediction, the mean. The existing
#: prediction is a column of the data set. For a loss with a log link, this column is treated as a price. A
#: price may include expenses and profit, or have a different unit than the target. The price is therefore
#: scaled to the target's mean on the training rows.
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
    run_step: StepRunner = run_directly,
) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Fit the baselines to the training rows of each split, without sensitive columns.

    Parameters
    ----------
    splits
        Splits of the run. The ridge penalty and the number of trees are selected on validation rows. If a
        split has no validation rows, a fifth of its training rows (whole groups, if the data set has groups)
        is used for the selection. The selected model is then fitted to all training rows.
    random_state
        Seed of the held-out rows and of the trees.
    leave_out
        Ids of :data:`BASELINES` to omit. Trees take about a second for several thousand rows and minutes for
        a million rows.
    run_step
        Function that runs the step ``"baselines/<split>"`` for each split, or returns its stored result
        (:class:`fairdash.jobs.steps.StepRunner`).

    Returns
    -------
    members, predictions
        The frame `members` has the columns ``method`` (an id of :data:`BASELINES`; :data:`PRICE` only if the
        data set has an existing price), ``lam`` (0), ``split`` and ``diverged`` (False). Each row of
        `predictions` (K, n) contains the predictions of the same row of `members`, in the target's units.
    """
    members, predictions = [], []
    fit_split = partial(_of_split, dataset, loss=loss, random_state=random_state, leave_out=leave_out)
    run_step = within(run_step, "baselines")
    by_split = independent(
        run_step,
        {str(j): partial(run_step, str(j), partial(fit_split, split)) for j, split in enumerate(splits)},
    )
    for j, predicted in enumerate(by_split):
        # Stored results may list the baselines in a different order.
        for method in (name for name in BASELINES if name in predicted):
            members.append({"method": method, "lam": 0.0, "split": j, "diverged": False})
            predictions.append(predicted[method])
    return pd.DataFrame(members), np.stack(predictions)


def _of_split(
    dataset: Dataset, split: Split, loss: Loss, random_state: int, *, leave_out: Collection[str]
) -> Found:
    """Return a dict from the id of each baseline to the predictions (n,) of the baseline."""
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
        predictions[PRICE] = price * _price_factor(
            price[split.train], y[split.train], weight[split.train], loss
        )
    return predictions


def _price_factor(
    price: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64], loss: Loss
) -> float:
    """Return the factor that scales a price to the target's mean; 1 without a log link or a positive mean."""
    mean, target_mean = np.average(price, weights=weight), np.average(y, weights=weight)
    return float(target_mean / mean) if loss.has_log_link and mean > 0 and target_mean > 0 else 1.0


def linear_predictions(
    rows: EncodedRows, weight: NDArray[np.float64], split: Split, inner: Split, loss: Loss
) -> NDArray[np.float64]:
    """Return predictions (n,) of the linear model with the best loss on the validation rows of `inner`."""
    x, held_out, model = rows.x.astype(float), inner.validation, _model(loss)

    def fit(alpha: float, train: NDArray[np.int64]) -> None:
        # The ridge objective is a sum over rows, so its penalty is multiplied by the sum of their weights.
        # The objective of a GLM is a weighted mean.
        mass = 1.0 if loss.has_log_link else float(weight[train].sum())
        model.set_params(alpha=alpha * mass).fit(x[train], rows.y[train], sample_weight=weight[train])

    def held_out_loss(alpha: float) -> float:
        fit(alpha, inner.train)
        return loss.mean_deviance(rows.y[held_out], model.predict(x[held_out]), weight[held_out])

    fit(min(ALPHAS, key=held_out_loss), split.train)
    predictions: NDArray[np.float64] = model.predict(x)
    return predictions


def _model(loss: Loss) -> Any:
    """Return an unfitted linear model of scikit-learn that minimises the given loss."""
    from sklearn.linear_model import Ridge, TweedieRegressor

    if not loss.has_log_link:
        return Ridge()
    # Newton's method converges in cases in which L-BFGS needs thousands of steps; a warm start halves the
    # number of steps.
    return TweedieRegressor(
        power=loss.power, link="log", solver="newton-cholesky", max_iter=1000, tol=1e-6, warm_start=True
    )


def _trees(
    rows: EncodedRows, weight: NDArray[np.float64], split: Split, inner: Split, loss: Loss, random_state: int
) -> NDArray[np.float64]:
    """Return predictions (n,) of boosted trees whose number is selected on the validation rows of `inner`."""

    # Early stopping uses the held-out rows of `inner`, because the random split of scikit-learn would divide
    # groups.
    model = boosted_trees(loss=loss.of_trees, random_state=random_state, warm_start=True)

    def grow(train: NDArray[np.int64], count: int) -> None:
        model.set_params(max_iter=count)
        model.fit(rows.x[train], rows.y[train], sample_weight=weight[train])

    held_out, losses, best = inner.validation, list[float](), 0
    while len(losses) < MAX_TREES and len(losses) - best <= PATIENCE:
        grow(inner.train, min(len(losses) + TREES_PER_CHECK, MAX_TREES))
        staged_predictions = islice(model.staged_predict(rows.x[held_out]), len(losses), None)
        losses += [
            loss.mean_deviance(rows.y[held_out], stage, weight[held_out]) for stage in staged_predictions
        ]
        best = int(np.argmin(losses))
    predictions: NDArray[np.float64]
    if inner.train is split.train:
        # Only the selected number of trees is used for prediction.
        predictions = next(islice(model.staged_predict(rows.x), best, None))
    else:
        model.set_params(warm_start=False)
        grow(split.train, best + 1)
        predictions = model.predict(rows.x)
    return predictions
